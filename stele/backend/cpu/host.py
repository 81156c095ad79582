"""Ops that a native program calls in Python: each on views of the program's own memory."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from math import prod
from sys import getrefcount
from typing import Any

import numpy as np

from stele.backend.cpu.call import Frame
from stele.backend.cpu.manifest import HostNote
from stele.backend.reference import computed
from stele.ir.graph import Array, Value
from stele.ir.types import TupleType, Type
from stele.transform.retype import changed, numbered

VIEWS = 1024
"""Views kept of one operand: a loop meets as many addresses as it has steps."""
UNSEEN = 3      # references to what nobody outside holds: of the table, of a name, of getrefcount


class Views(dict[int, Array]):
    """Arrays of one type by address. They hold no memory: whoever asks knows that it is there."""

    def __init__(self, type_: Type, is_written: bool) -> None:
        super().__init__()
        self.is_written = is_written
        self.shape: tuple[int, ...] = type_.shape   # type: ignore[assignment]
        self.dtype = type_.dtype.numpy
        self.bytes: Any = type("Bytes", (ctypes.c_char * (prod(self.shape) * self.dtype.itemsize),), {})

    def __missing__(self, address: int) -> Array:
        if len(self) == VIEWS:
            self.clear()
        view = self[address] = np.ndarray(self.shape, self.dtype, self.bytes.from_address(address))
        view.setflags(write=self.is_written)
        return view

    def let_go(self, address: int, memory: object) -> None:
        """A view that somebody keeps holds the memory from now on, and is not given again."""
        view = self[address]
        if getrefcount(view) > UNSEEN:
            del self[address]
            view.base.memory = memory   # type: ignore[union-attr]


@contextmanager
def lent(frame: Frame, *memory: object) -> Generator[None]:
    """Around a call: its memory stays if an op keeps an operand; NumPy computes without warnings, as programs do."""
    frame.memory[:] = [memory]
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        frame.memory.clear()


def crossing(v: Value, note: HostNote, sizes: Mapping[str, int], frame: Frame) -> Callable[[], None]:
    """What native code calls for a value at these sizes: it writes what the op's reference makes, all of it or nothing.

    An operand that the op keeps holds the memory of the call: it shows other numbers later, never what is another's.
    """
    addresses, memory, where = frame.buffers.data, frame.memory, v.where
    op, *types = (changed(a, numbered(sizes)) for a in (v.op, *(a.type for a in v.args)))
    kind = op.type(*types)
    is_tuple = isinstance(kind, TupleType)
    x = [(slot, Views(t, is_written=False)) for slot, t in zip(note.inputs, types)]
    y = [(slot, Views(t, is_written=True)) for slot, t in zip(note.outputs, kind.items if is_tuple else (kind,))]

    def cross() -> None:
        operands = [views[addresses[slot]].view() for slot, views in x]
        try:
            made = computed(op, kind, operands, where)
            for (slot, views), part in zip(y, made if is_tuple else (made,)):
                views[addresses[slot]][...] = part
        finally:
            made = part = None
            operands.clear()
            for slot, views in x:
                views.let_go(addresses[slot], memory[0])

    return cross
