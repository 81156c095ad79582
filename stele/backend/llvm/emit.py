"""Kernels as LLVM functions, and how they are launched."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from llvmlite import ir

from ...ir.sizes import Dim
from ...ir.types import float64, product
from ...kernel.fuse import Kernel
from ...kernel.loops import Load, Nest, Store, Temporary, inside
from ...kernel.lower import lower
from .blocks import Blocks
from .dims import i64
from .frame import Frame, Slots
from .scalars import LLVMScalars


class Machine(Protocol):
    """What emission asks of a target."""

    @property
    def vector_bytes(self) -> int: ...
    @property
    def fma(self) -> bool: ...


@dataclass(frozen=True)
class Launch:
    """One function to run as `tasks` independent tasks; each thread needs `scratch` bytes of its own."""

    function: str
    tasks: Dim
    scratch: Dim = 0


def emit(module: ir.Module, name: str, kernel: Kernel, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the functions of a kernel to a module; returns the launches, each after the one before."""
    nests = lower(kernel)
    temporaries = {buffer: slots.temp(product(buffer.shape) * buffer.dtype.bytes)
                   for nest in nests for step in inside(nest.body)
                   if isinstance(step, Store) and isinstance(buffer := step.value, Temporary)}
    launches: list[Launch] = []
    for k, nest in enumerate(nests):
        function = name if len(nests) == 1 else f"{name}.{k}"
        emit_nest(Frame(module, function, slots, temporaries), nest, target)
        launches.append(Launch(function, nest.tasks))
    return launches


def emit_nest(frame: Frame, nest: Nest, target: Machine) -> None:
    """The function of one nest: its tasks are `grain` rows each."""
    blocks = Blocks(frame, LLVMScalars(frame.b, lanes_of(nest, target), target.fma))
    blocks.block(nest.prelude)
    extents = [frame.integer(axis.extent) for axis in nest.rows]
    rows = frame.integer(product(tuple(axis.extent for axis in nest.rows)))
    start = frame.b.mul(frame.begin, i64(nest.grain))
    stop = frame.least(frame.b.mul(frame.end, i64(nest.grain)), rows)
    with frame.loop(start, stop) as row:
        for axis, extent in zip(reversed(nest.rows[1:]), reversed(extents[1:])):
            frame.at[axis.name] = frame.b.urem(row, extent)
            row = frame.b.udiv(row, extent)
        if nest.rows:
            frame.at[nest.rows[0].name] = row
        blocks.block(nest.body)
    frame.b.ret_void()


def lanes_of(nest: Nest, target: Machine) -> int:
    """Lanes of a vector: of float64 where most memory is, else of float32."""
    widths = [step.value.dtype == float64 for step in inside(nest.body) if isinstance(step, Load | Store)]
    return target.vector_bytes // (8 if 2 * sum(widths) > len(widths) else 4)
