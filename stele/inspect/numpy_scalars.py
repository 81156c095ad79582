"""The scalar vocabulary on NumPy arrays: an op's `scalar` tried without a compiler."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stele.errors import DTypeError
from stele.ir.scalars import Number, Scalars
from stele.ir.types import DType, bool_, uint32
from stele.kernel.exact import product_error, two_sum
from stele.kernel.functions import Functions
from stele.kernel.vocabulary import Element, Operand, result_dtype

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[[Array, Array], Array]


class NumpyScalars(Functions[Array]):
    """Computes at once what other builders write down; with `fused` the same bits as a machine with fma.

    >>> s = NumpyScalars()
    >>> s.exp(s.element(np.zeros(2, "float32"))).value
    array([1., 1.], dtype=float32)
    """

    def __init__(self, fused: bool = True) -> None:
        self.fused = fused

    def element(self, value: Array) -> Element[Array]:
        """An array as an element; single numbers are `constant`."""
        return self._made(value, DType(value.dtype.name, value.dtype.kind, value.dtype.itemsize * 8))

    def _made(self, value: Any, dtype: DType) -> Element[Array]:
        return Element(self, np.asarray(value), dtype)

    def constant(self, value: Number, dtype: DType) -> Element[Array]:
        if dtype.kind in "iu" and int(value) != value:
            raise DTypeError(f"{value} is no {dtype}; cast the element to a float dtype first")
        wrapped = int(value) % 2**dtype.bits if dtype.kind == "u" else value
        return self._made(dtype.array(wrapped), dtype)

    def convert(self, x: Element[Array], dtype: DType) -> Element[Array]:
        if dtype == bool_:
            return self._made(x.value != 0, dtype)
        with np.errstate(over="ignore"):
            return self._made(x.value.astype(dtype.numpy), dtype)

    def unpack(self, x: Element[Array]) -> Element[Array]:
        return self._made(x.value.view(np.uint16).astype(np.uint32), uint32)

    def pack(self, bits: Element[Array], dtype: DType) -> Element[Array]:
        return self._made(bits.value.astype(np.uint16).view(dtype.numpy), dtype)

    def bitcast(self, x: Element[Array], dtype: DType) -> Element[Array]:
        if x.dtype.bits != dtype.bits:
            raise DTypeError(f"bitcast needs dtypes of one width, got {x.dtype} and {dtype}; cast converts a value")
        return self._made(x.value.view(dtype.numpy), dtype)

    def select(self, c: Element[Array], x: Operand, y: Operand) -> Element[Array]:
        x, y = self.meet(x, y)
        return self._made(np.where(c.value, x.value, y.value), x.dtype)

    def rare(self, mask: Element[Array], slow: Callable[[], Element[Array]], fast: Element[Array]) -> Element[Array]:
        return self.select(mask, slow(), fast) if mask.value.any() else fast

    def fma(self, x: Operand, y: Operand, z: Operand) -> Element[Array]:
        x, y, z = self.meet(x, y, z)
        if not (self.fused and x.dtype.is_float):
            return x * y + z
        with np.errstate(all="ignore"):
            fused = fma32 if x.dtype.bits == 32 else fma64
            return self._made(fused(x.value, y.value, z.value), x.dtype)

    def unary(self, name: str, x: Operand) -> Element[Array]:
        (x,) = self.meet(x)
        if name in ("floor", "ceil", "trunc", "round") and not x.dtype.is_float:
            return x
        with np.errstate(all="ignore"):
            return self._made(UNARY[name](x.value), x.dtype)

    def binary(self, name: str, x: Operand, y: Operand) -> Element[Array]:
        x, y = self.meet(x, y)
        if name not in BINARY or (x.dtype.is_float and name in ("mulhi", "and", "or", "xor", "shl", "shr")):
            raise DTypeError(f"{name} has no meaning on {x.dtype}; cast the operands first")
        with np.errstate(all="ignore"):
            return self._made(BINARY[name](x.value, y.value), result_dtype(name, x.dtype))


_: type[Scalars[Element[Array]]] = NumpyScalars     # it says every word of the vocabulary


def fma32(x: Array, y: Array, z: Array) -> Array:
    """x*y + z of float32, rounded once: the product is exact in float64, the sum is rounded to odd before the last."""
    return sum_to_odd(x.astype(np.float64) * y, z.astype(np.float64)).astype(np.float32)


def fma64(x: Array, y: Array, z: Array) -> Array:
    """x*y + z of float64, rounded once unless a part of it over- or underflows."""
    product = x * y
    error = product_error(x, y, product)
    total, rest = map(np.asarray, two_sum(product, z))
    missing = sum_to_odd(rest, np.asarray(error))
    return np.where(np.isfinite(missing) & (missing != 0), total + missing, total)


def sum_to_odd(x: Array, y: Array) -> Array:
    """x + y in float64; what is not exact goes to the neighbour with an odd last bit, so that it rounds well again."""
    total, error = map(np.asarray, two_sum(x, y))
    bits = total.view(np.int64)
    step = np.where((error > 0) == (total > 0), 1, -1)
    inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    return np.where(inexact, bits + step, bits).view(np.float64)


def extreme(better: Function) -> Function:
    """max or min; of equal zeros and with NaN it answers what the compare-and-pick instruction of a machine does."""
    def pick(x: Array, y: Array) -> Array:
        x, y = (y, x) if y.ndim == 0 and y == y else (x, y)
        best = np.where(better(x, y), x, y)
        return best if x.ndim == 0 and x == x else np.where(x != x, x, best)
    return pick


def floor_divide(x: Array, y: Array) -> Array:
    """x / y rounded down; for integers 0 where y is 0."""
    if x.dtype.kind == "f":
        return np.floor(x / y)
    return np.where(y == 0, 0, np.floor_divide(x, np.where(y == 0, 1, y))).astype(x.dtype)


def multiply_high(x: Array, y: Array) -> Array:
    return (x.astype(np.uint64) * y >> np.uint64(32)).astype(np.uint32)


UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative, "abs": np.abs, "invert": np.invert, "sqrt": np.sqrt,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
}
BINARY: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "idiv": floor_divide, "mulhi": multiply_high, "max": extreme(np.greater), "min": extreme(np.less),
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}
