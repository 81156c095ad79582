"""Kernels as LLVM functions, and how they are launched."""
from __future__ import annotations

from llvmlite import ir

from ...ir.types import float64, product
from ...kernel.fuse import Kernel
from ...kernel.loops import Load, Nest, Store, Temporary, inside
from ...kernel.lower import lower
from ...ops.linear import ScatterAdd
from .blocks import Blocks
from .dims import i64
from .frame import Frame, Slots, new_kernel
from .glue import emit_contraction
from .launch import Launch, Target
from .scalars import LLVMScalars
from .scatter import emit_scatter


def emit(module: ir.Module, name: str, kernel: Kernel, slots: Slots, target: Target) -> list[Launch]:
    """Adds the functions of a kernel to a module; returns the launches, each after the one before."""
    if kernel.kind == "contraction":
        return emit_contraction(module, name, kernel, slots, target)
    if kernel.anchor is not None and isinstance(kernel.anchor.op, ScatterAdd):
        return emit_scatter(module, name, kernel, slots, target)
    nests = lower(kernel)
    temporaries = {buffer: slots.temp(product(buffer.shape) * buffer.dtype.bytes)
                   for nest in nests for step in inside(nest.body)
                   if isinstance(step, Store) and isinstance(buffer := step.value, Temporary)}
    launches: list[Launch] = []
    for k, nest in enumerate(nests):
        function = name if len(nests) == 1 else f"{name}.{k}"
        emit_nest(Frame(new_kernel(module, function), slots, temporaries), nest, target)
        launches.append(Launch(function, nest.tasks))
    return launches


def emit_nest(frame: Frame, nest: Nest, target: Target) -> None:
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


def lanes_of(nest: Nest, target: Target) -> int:
    """Lanes of a vector: of float64 where most memory is, else of float32."""
    widths = [step.value.dtype == float64 for step in inside(nest.body) if isinstance(step, Load | Store)]
    return target.vector_bytes // (8 if 2 * sum(widths) > len(widths) else 4)
