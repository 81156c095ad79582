"""What all builders of the scalar vocabulary share: the element with its operators, and how two operands meet."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stele.errors import DTypeError
from stele.ir.scalars import Number
from stele.ir.types import DType, bool_, float32, float64, lowest, uint64, whole_in
from stele.kernel.halves import narrowed, to_odd, widened

V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class Element(Generic[V]):
    """One element under construction: its builder `s`, the builder's own `value`, and its dtype."""

    s: Vocabulary[V]
    value: V
    dtype: DType

    # fmt: off
    def __add__(self, other: Operand) -> Element[V]:      return self.s.binary("add", self, other)
    def __radd__(self, other: Operand) -> Element[V]:     return self.s.binary("add", other, self)
    def __sub__(self, other: Operand) -> Element[V]:      return self.s.binary("sub", self, other)
    def __rsub__(self, other: Operand) -> Element[V]:     return self.s.binary("sub", other, self)
    def __mul__(self, other: Operand) -> Element[V]:      return self.s.binary("mul", self, other)
    def __rmul__(self, other: Operand) -> Element[V]:     return self.s.binary("mul", other, self)
    def __truediv__(self, other: Operand) -> Element[V]:  return self.s.binary("div", self, other)
    def __rtruediv__(self, other: Operand) -> Element[V]: return self.s.binary("div", other, self)
    def __lt__(self, other: Operand) -> Element[V]:       return self.s.binary("lt", self, other)
    def __le__(self, other: Operand) -> Element[V]:       return self.s.binary("le", self, other)
    def __gt__(self, other: Operand) -> Element[V]:       return self.s.binary("gt", self, other)
    def __ge__(self, other: Operand) -> Element[V]:       return self.s.binary("ge", self, other)
    def __and__(self, other: Operand) -> Element[V]:      return self.s.binary("and", self, other)
    def __rand__(self, other: Operand) -> Element[V]:     return self.s.binary("and", other, self)
    def __or__(self, other: Operand) -> Element[V]:       return self.s.binary("or", self, other)
    def __ror__(self, other: Operand) -> Element[V]:      return self.s.binary("or", other, self)
    def __xor__(self, other: Operand) -> Element[V]:      return self.s.binary("xor", self, other)
    def __rxor__(self, other: Operand) -> Element[V]:     return self.s.binary("xor", other, self)
    def __lshift__(self, other: Operand) -> Element[V]:   return self.s.binary("shl", self, other)
    def __rshift__(self, other: Operand) -> Element[V]:   return self.s.binary("shr", self, other)
    def __neg__(self) -> Element[V]:                      return self.s.unary("neg", self)
    def __abs__(self) -> Element[V]:                      return self.s.unary("abs", self)
    def __invert__(self) -> Element[V]:                   return self.s.unary("invert", self)
    # fmt: on


Operand = Element[Any] | Number


class Vocabulary(ABC, Generic[V]):
    """A builder of scalar code in terms of a few primitives; implements the protocol `ir.scalars.Scalars`.

    float16 and bfloat16 are storage types: an operation widens them to float32 and answers in float32;
    `cast` (or `narrow`) rounds back. Python numbers take the dtype of the other side.
    """

    fused: bool  # whether fma rounds once

    @abstractmethod
    def constant(self, value: Number, dtype: DType) -> Element[V]:
        """The number as an element."""

    @abstractmethod
    def convert(self, x: Element[V], dtype: DType) -> Element[V]:
        """`cast` between two different dtypes that are no 16-bit floats; a float is whole once truncated, and fits."""

    @abstractmethod
    def unpack(self, x: Element[V]) -> Element[V]:
        """The bits of a 16-bit float as a uint32."""

    @abstractmethod
    def pack(self, bits: Element[V], dtype: DType) -> Element[V]:
        """The 16-bit float whose bits are the low half of a uint32."""

    @abstractmethod
    def bitcast(self, x: Element[V], dtype: DType) -> Element[V]:
        """The same bits as another dtype of the same width."""

    @abstractmethod
    def select(self, c: Element[V], x: Operand, y: Operand) -> Element[V]:
        """x where c holds, else y."""

    @abstractmethod
    def fma(self, x: Element[V], y: Operand, z: Operand) -> Element[V]:
        """x*y + z, rounded once where the machine has fma."""

    @abstractmethod
    def rare(self, mask: Element[V], slow: Callable[[], Element[V]], fast: Element[V]) -> Element[V]:
        """`slow()` where mask else `fast`: the slow path runs only if an element needs it."""

    @abstractmethod
    def unary(self, name: str, x: Element[V]) -> Element[V]:
        """neg, abs, invert, sqrt, floor, ceil, trunc or round (to even) of x."""

    @abstractmethod
    def binary(self, name: str, x: Operand, y: Operand) -> Element[V]:
        """add, sub, mul, div, idiv, mulhi, max, min, and, or, xor, shl, shr; compared: lt, le, gt, ge, eq, ne."""

    # fmt: off
    def eq(self, x: Element[V], y: Operand) -> Element[V]:    return self.binary("eq", x, y)
    def ne(self, x: Element[V], y: Operand) -> Element[V]:    return self.binary("ne", x, y)
    def max(self, x: Element[V], y: Operand) -> Element[V]:   return self.binary("max", x, y)
    def min(self, x: Element[V], y: Operand) -> Element[V]:   return self.binary("min", x, y)
    def mulhi(self, x: Element[V], y: Operand) -> Element[V]: return self.binary("mulhi", x, y)
    def idiv(self, x: Element[V], y: Operand) -> Element[V]:  return self.binary("idiv", x, y)
    def sqrt(self, x: Element[V]) -> Element[V]:              return self.unary("sqrt", x)
    def floor(self, x: Element[V]) -> Element[V]:             return self.unary("floor", x)
    def ceil(self, x: Element[V]) -> Element[V]:              return self.unary("ceil", x)
    def trunc(self, x: Element[V]) -> Element[V]:             return self.unary("trunc", x)
    def round(self, x: Element[V]) -> Element[V]:             return self.unary("round", x)
    # fmt: on

    def cast(self, x: Element[V], dtype: DType) -> Element[V]:
        """Conversion of value: float to integer truncates, to bool tests != 0, to a 16-bit float goes by float32.

        NaN and what does not fit the signed integer on the way, `whole_in(dtype)`, is its least number.
        """
        if x.dtype == dtype:
            return x
        if is_half(dtype):
            exact = x.dtype.bits < 32 or x.dtype == float32
            return self.narrow(self.cast(x, float32) if exact else to_odd(self, self.cast(x, float64)), dtype)
        x = self.widen(x)
        if x.dtype.is_float and dtype.kind in "iu":
            x = self.whole(x, dtype)
        return x if x.dtype == dtype else self.convert(x, dtype)

    def whole(self, x: Element[V], dtype: DType) -> Element[V]:
        """A float as the signed integer it becomes on its way to an integer dtype."""
        signed = whole_in(dtype)
        end = 2.0 ** (signed.bits - 1)
        upper = x >= end if dtype == uint64 else None
        x = x if upper is None else self.select(upper, x - end, x)
        y = self.convert(self.select((x >= -end) & (x < end), x, -end), signed)
        return y if upper is None else self.select(upper, y ^ int(lowest(signed)), y)

    def widen(self, x: Element[V]) -> Element[V]:
        """x ready to compute with: float16 and bfloat16 become float32, anything else stays."""
        return widened(self, self.unpack(x), x.dtype) if is_half(x.dtype) else x

    def narrow(self, x: Element[V], dtype: DType) -> Element[V]:
        """A float32 rounded to float16 or bfloat16, to the nearest even."""
        return self.pack(narrowed(self, x, dtype), dtype)

    def meet(self, *operands: Operand) -> tuple[Element[V], ...]:
        """The operands as elements of one dtype, numbers made constants, 16-bit floats widened."""
        elements = [self.widen(x) for x in operands if isinstance(x, Element)]
        dtypes = {x.dtype for x in elements}
        if len(dtypes) != 1:
            names = ", ".join(sorted(map(str, dtypes))) or "numbers only"
            raise DTypeError(f"scalar operands need one dtype, got {names}; cast them first with s.cast(x, dtype)")
        known = iter(elements)
        return tuple(next(known) if isinstance(x, Element) else self.constant(x, elements[0].dtype) for x in operands)


def is_half(dtype: DType) -> bool:
    """Whether dtype is a 16-bit float, stored but never computed in."""
    return dtype.kind == "f" and dtype.bits == 16


def result_dtype(name: str, dtype: DType) -> DType:
    """The dtype of a binary operation on operands of `dtype`."""
    return bool_ if name in ("lt", "le", "gt", "ge", "eq", "ne") else dtype
