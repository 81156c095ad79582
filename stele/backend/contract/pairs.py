"""Products in bfloat16 with sums in float32: operands are read in pairs along the depth."""
from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from stele.backend.llvm.access import Builder, Extent, Index, Operand, size_value
from stele.backend.llvm.launch import i1, i64
from stele.backend.llvm.nest import lanes_below, shuffle, splat

LANES = 16


class BFloat(ir.Type):
    """LLVM's bfloat, which llvmlite has no name for."""

    def _to_string(self) -> str: return "bfloat"
    def __eq__(self, other: object) -> bool: return isinstance(other, BFloat)
    def __hash__(self) -> int: return hash(BFloat)


floats, words = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(BFloat(), 2 * LANES)


def paired(operand: Operand, axis: int, end: Extent) -> Operand:
    """An operand whose element k along `axis` is the elements 2k and 2k + 1 of another, rounded to bfloat16;
    behind `end` they are 0. Only read in lanes.
    """
    def read(b: Builder, ctx: ir.Value, index: Index, lane_axis: int | None, lanes: int, mask: ir.Value | None
             ) -> ir.Value:
        inside = ir.Constant(ir.VectorType(i1, lanes), [1] * lanes) if mask is None else mask
        first, size = b.mul(index[axis], i64(2)), size_value(b, ctx, end)
        apart = lanes if lane_axis == axis else 1
        parts: list[ir.Value] = []
        for k in range(2):
            place = b.add(first, i64(k * apart))
            if lane_axis == axis:
                half = shuffle(b, inside, inside, [(k * lanes + l) // 2 for l in range(lanes)])
                wanted = b.and_(half, lanes_below(b, b.sub(size, place), lanes))
            else:
                wanted = b.and_(inside, splat(b, b.icmp_signed("<", place, size), lanes))
            parts.append(operand.read(b, ctx, (*index[:axis], place, *index[axis + 1:]), lane_axis, lanes, wanted))
        return b.bitcast(rounded(b, *parts), floats) if lane_axis == axis else pairs(b, *parts)

    return replace(operand, read=read, plain=None)


def pairs(b: Builder, low: ir.Value, high: ir.Value) -> ir.Value:
    """Two vectors of float32 rounded to bfloat16, side by side in pairs."""
    both = rounded(b, low, high)
    return b.bitcast(shuffle(b, both, both, [k // 2 + k % 2 * LANES for k in range(2 * LANES)]), floats)


def rounded(b: Builder, low: ir.Value, high: ir.Value) -> ir.Value:
    """Two vectors of float32 rounded to bfloat16, end to end."""
    return call(b, "cvtne2ps2bf16.512", words, high, low)


def dot(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """z plus the sum over each pair of x times that of y."""
    return call(b, "dpbf16ps.512", floats, z, b.bitcast(x, words), b.bitcast(y, words))


def call(b: Builder, name: str, result: ir.Type, *x: ir.Value) -> ir.Value:
    """One of the instructions for bfloat16."""
    kind = ir.FunctionType(result, [v.type for v in x])
    return b.call(b.module.declare_intrinsic(f"llvm.x86.avx512bf16.{name}", fnty=kind), x)
