"""The frame of a kernel function: its context, its buffers and sizes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from llvmlite import ir

from stele.backend.llvm.dims import integer
from stele.backend.llvm.launch import BUFS, SIZES, STATUS, Builder, i64, pointer, word, word_at
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.kernel.loops import Buffer, Temporary


class Slots(Protocol):
    """Positions in the tables of a program: buffers of values, private temporaries, named sizes, sites of checks; and
    which values are the same from call to call."""

    @property
    def settled(self) -> frozenset[Value]: ...
    def of(self, v: Value | tuple[Value, int]) -> int: ...
    def temp(self, bytes_: Dim) -> int: ...
    def size(self, name: str) -> int: ...
    def site(self, v: Value) -> int: ...


class Frame:
    """A function of a context being written at `b`. What it reads once (addresses, sizes) is read in its entry block.

    `at` holds the value of each loop variable that is known at `b`.
    """

    def __init__(self, b: Builder, slots: Slots, temporaries: dict[Temporary, int]) -> None:
        self.b, self.function = b, b.function
        self.ctx = self.function.args[0]
        self.slots, self.temporaries = slots, temporaries
        self.at: dict[str, ir.Value] = {}
        self.once: dict[object, ir.Value] = {}

    @property
    def tasks(self) -> tuple[ir.Value, ir.Value]:
        """The tasks of this call of a kernel: from the first to before the second."""
        _, _, begin, end = self.function.args
        return begin, end

    def at_entry(self, key: object, make: Callable[[], ir.Value]) -> ir.Value:
        """A value computed once, in the entry block."""
        if key not in self.once:
            with self.b.goto_entry_block():
                self.once[key] = make()
        return self.once[key]

    def field(self, k: int) -> ir.Value:
        """Word k of the context."""
        return self.at_entry(k, lambda: word(self.b, self.ctx, k))

    def word(self, table: int, k: int, kind: ir.Type) -> ir.Value:
        """Entry k of a table of the context."""
        base = self.field(table)
        return self.at_entry((table, k), lambda: self.b.load(word_at(self.b, base, k), typ=kind))

    def buffer(self, x: Buffer | tuple[Value, int]) -> ir.Value:
        """The address of a buffer, or of one part of a tuple."""
        return self.word(BUFS, self.temporaries[x] if isinstance(x, Temporary) else self.slots.of(x), pointer)

    def named(self, name: str) -> ir.Value:
        """A loop variable or a named size."""
        return self.at[name] if name[0] == "%" else self.word(SIZES, self.slots.size(name), i64)

    def integer(self, x: Dim) -> ir.Value:
        return integer(self.b, x, self.named)

    def local(self, kind: ir.Type) -> ir.Value:
        """Memory of the function for one register."""
        with self.b.goto_entry_block():
            return self.b.alloca(kind)

    def report(self, code: int, value: Value, payload: ir.Value) -> None:
        """Notes (code, site, payload) in the status unless something is there already."""
        b, status = self.b, self.field(STATUS)
        first = b.extract_value(b.cmpxchg(status, i64(0), i64(code), "monotonic"), 1)
        with b.if_then(first, likely=False):
            b.store(i64(self.slots.site(value)), word_at(b, status, 1))
            b.store(payload, word_at(b, status, 2))
