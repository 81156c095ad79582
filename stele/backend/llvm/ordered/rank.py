"""Elements as unsigned integers of the same order: NaN is largest, zeros are equal."""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.launch import Builder
from stele.backend.llvm.nest import splat
from stele.ir.record import Record
from stele.ir.types import DType

INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F80_0000, "float64": 0x7FF0_0000_0000_0000}
"""The bits of infinity: of NaN, without the sign, there are more."""


class Rank(Record):
    """How elements of a dtype become ranks; of `descending` order the complement. Ranks that keep the signs of zeros
    can be taken back."""

    dtype: DType
    descending: bool
    keeps_zeros: bool = False

    @property
    def bits(self) -> ir.IntType:
        """An element in memory."""
        return ir.IntType(self.dtype.bits)

    def of(self, b: Builder, x: ir.Value, wide: ir.IntType) -> ir.Value:
        """The ranks of bits, one or a vector of them, as integers of a width."""
        kind, lanes = x.type, getattr(x.type, "count", 1)
        n, top = self.dtype.bits, 1 << (self.dtype.bits - 1)

        def number(k: int) -> ir.Value:
            return splat(b, ir.Constant(self.bits, k), lanes)

        if self.dtype.is_float:
            twice, sign = b.shl(x, number(1)), b.ashr(x, number(n - 1))
            y = b.xor(x, b.or_(sign, number(top)))
            y = y if self.keeps_zeros else b.select(b.icmp_unsigned("==", twice, number(0)), number(top), y)
            y = b.select(b.icmp_unsigned(">", twice, number(2 * INFINITY[self.dtype.name])), number(2 * top - 1), y)
        else:
            y = b.xor(x, number(top)) if self.dtype.kind == "i" else x
        y = b.xor(y, number(2 * top - 1)) if self.descending else y
        return y if wide == self.bits else b.zext(y, ir.VectorType(wide, lanes) if kind != self.bits else wide)

    def back(self, b: Builder, y: ir.Value) -> ir.Value:
        """The bits whose ranks are given, as integers of any width."""
        lanes, top = getattr(y.type, "count", 1), 1 << (self.dtype.bits - 1)

        def number(k: int) -> ir.Value:
            return splat(b, ir.Constant(self.bits, k), lanes)

        y = b.trunc(y, ir.VectorType(self.bits, lanes)) if y.type.element != self.bits else y
        y = b.xor(y, number(2 * top - 1)) if self.descending else y
        if self.dtype.is_float:
            return b.xor(y, b.or_(b.xor(b.ashr(y, number(self.dtype.bits - 1)), number(2 * top - 1)), number(top)))
        return b.xor(y, number(top)) if self.dtype.kind == "i" else y
