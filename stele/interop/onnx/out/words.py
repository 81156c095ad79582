"""Bits, which are arithmetic here since ONNX has no word for them, and the functions that it has under a name."""
from __future__ import annotations

import math
from collections.abc import Callable

from stele.errors import DTypeError
from stele.interop.onnx.out.nodes import Node, Nodes
from stele.ir.scalars import Scalars
from stele.ir.types import DType, float32, float64, int32, uint32
from stele.kernel.formats import FORMATS
from stele.kernel.vocabulary import Operand

LESS = "Compute in float32: x.astype('float32')."


class Words(Nodes):
    """Nodes with the whole vocabulary."""

    def bitcast(self, x: Node, dtype: DType) -> Node:
        if x.dtype == dtype or (x.dtype.kind in "iu" and dtype.kind in "iu"):
            return self.converted(x, dtype)
        return self.float_of(x, dtype) if dtype.is_float else self.converted(self.bits_of(x), dtype)

    def unpack(self, x: Node) -> Node:
        if x.dtype.name == "bfloat16":
            return self.converted(self.converted(self.bits_of(self.widen(x)), uint32) >> 16, uint32)
        raise DTypeError("the bits of float16 have no form in ONNX", hint=LESS)

    def pack(self, bits: Node, dtype: DType) -> Node:
        if dtype.name == "bfloat16":
            return self.narrow(self.float_of(self.converted(bits << 16, int32), float32), dtype)
        raise DTypeError("the bits of float16 have no form in ONNX", hint=LESS)

    def bits_of(self, x: Node) -> Node:
        """The bits of a float as a signed integer."""
        form = FORMATS[x.dtype.bits]
        a = abs(x)
        exponent, scale = self.exponent(a, form.bias - 1)
        tiny = a < 2.0 ** (1 - form.bias)
        half, rest = form.bias // 2, form.bias - 1 - form.bias // 2     # of what brings the least number to 1
        small = self.select(tiny, a * 2.0**half, 1.0) * 2.0 ** (form.fraction + rest)
        near = self.converted(self.select(tiny, small, (a / scale - 1) * 2.0**form.fraction), form.integer)
        made = near + self.select(tiny, 0, (exponent + form.bias) << form.fraction)
        made = self.select(self.eq(a, math.inf), (2 * form.bias + 1) << form.fraction, made)
        made = self.select(self.ne(a, a), ((4 * form.bias + 3) << form.fraction - 1), made)
        return self.select(self.is_negative(x), made | -(1 << x.dtype.bits - 1), made)

    def exponent(self, a: Node, least: int) -> tuple[Node, Node]:
        """The exponent of a float that is not negative, as an integer held to the normal ones, and 2 to that power."""
        form = FORMATS[a.dtype.bits]
        inside = self.select((a > 0) & (a < math.inf), a, 1.0)
        e = self.max(self.floor(self.log(inside) * (1 / math.log(2))), -float(least))
        ratio = inside / self.two_to(e)
        e = self.max(self.select(ratio >= 2, e + 1, self.select(ratio < 1, e - 1, e)), -float(least))
        return self.converted(e, form.integer), self.two_to(e)

    def two_to(self, e: Node) -> Node:
        """2 to a whole power, of which no part over- or underflows."""
        half = self.floor(e * 0.5)
        two = self.constant(2.0, e.dtype)
        return self.node("Pow", two, half) * self.node("Pow", two, e - half)

    def float_of(self, x: Node, dtype: DType) -> Node:
        """The float of which these are the bits."""
        form = FORMATS[dtype.bits]
        x = self.converted(x, form.integer)
        magnitude = x & (1 << dtype.bits - 1) - 1
        exponent, fraction = magnitude >> form.fraction, magnitude & (1 << form.fraction) - 1
        tiny = self.eq(exponent, 0)
        whole = self.converted(self.select(tiny, fraction, fraction | 1 << form.fraction), dtype)
        power = self.converted(self.max(exponent, 1), dtype) - float(form.bias)
        y = whole * 2.0**-form.fraction * self.two_to(power)
        endless = self.select(self.eq(fraction, 0), self.constant(math.inf, dtype), math.nan)
        y = self.select(self.eq(exponent, 2 * form.bias + 1), endless, y)
        return self.select(x < 0, -y, y)

    def is_negative(self, x: Node) -> Node:
        """Whether a float has a sign, zeros among them."""
        return (x < 0) | self.eq(x, 0) & (1 / x < 0)

    def with_sign(self, magnitude: Node, x: Node) -> Node:
        a = abs(magnitude)
        return self.select(self.is_negative(x), -a, a)

    def native(self, op: str, x: Node, other: Callable[[Node], Node] | None = None) -> Node:
        """A function by its op, or for float64 by another formula where ONNX Runtime has none."""
        (x,) = self.meet(x)
        return self.node(op, x) if other is None or x.dtype != float64 else other(x)

    # fmt: off
    def exp(self, x: Node) -> Node:     return self.native("Exp", x)
    def log(self, x: Node) -> Node:     return self.native("Log", x)
    def sin(self, x: Node) -> Node:     return self.native("Sin", x)
    def cos(self, x: Node) -> Node:     return self.native("Cos", x)
    def tanh(self, x: Node) -> Node:    return self.native("Tanh", x)
    def sigmoid(self, x: Node) -> Node: return self.native("Sigmoid", x)
    def erf(self, x: Node) -> Node:     return self.native("Erf", x, super().erf)
    def tan(self, x: Node) -> Node:     return self.native("Tan", x, lambda x: self.sin(x) / self.cos(x))
    def atan(self, x: Node) -> Node:    return self.native("Atan", x, super().atan)
    def asin(self, x: Node) -> Node:    return self.native("Asin", x, super().asin)
    def acos(self, x: Node) -> Node:    return self.native("Acos", x, super().acos)
    def asinh(self, x: Node) -> Node:   return self.native("Asinh", x, super().asinh)
    def acosh(self, x: Node) -> Node:   return self.native("Acosh", x, super().acosh)
    def atanh(self, x: Node) -> Node:   return self.native("Atanh", x, super().atanh)
    def sinh(self, x: Node) -> Node:    return self.native("Sinh", x, lambda x: (self.expm1(x) - self.expm1(-x)) * 0.5)
    def cosh(self, x: Node) -> Node:    return self.native("Cosh", x, lambda x: (self.exp(x) + self.exp(-x)) * 0.5)
    # fmt: on

    def expm1(self, x: Node) -> Node:
        (x,) = self.meet(x)
        t = self.tanh(x * 0.5)
        return self.select(abs(x) < 0.5, (t + t) / (1 - t), self.exp(x) - 1)

    def log1p(self, x: Node) -> Node:
        (x,) = self.meet(x)
        u = 1 + x
        lost = u - 1
        plain = self.eq(lost, 0) | self.eq(x, math.inf)
        return self.select(plain, x, self.log(u) * (x / self.select(plain, 1.0, lost)))

    def fmod(self, x: Node, y: Operand) -> Node:
        return self.node("Mod", *self.meet(x, y), fmod=1)

    def remainder(self, x: Node, y: Operand) -> Node:
        x, y = self.meet(x, y)
        part = self.fmod(x, y)
        return self.select(self.ne(part, 0) & ((y < 0) ^ (part < 0)), part + y, part)

    def quotient(self, x: Node, y: Operand) -> Node:
        x, y = self.meet(x, y)
        plain = self.eq(y, 0) | self.eq(abs(x), math.inf) | self.eq(abs(y), math.inf)
        return self.select(plain, self.floor(x / y), self.round((x - self.remainder(x, y)) / y))

    def exp2(self, x: Node) -> Node:
        (x,) = self.meet(x)
        return self.node("Pow", self.constant(2.0, x.dtype), x)

    def log2(self, x: Node) -> Node:
        return self.log(x) * (1 / math.log(2))

    def log10(self, x: Node) -> Node:
        return self.log(x) * (1 / math.log(10))


_: type[Scalars[Node]] = Words     # it says every word of the vocabulary
