"""Arrays computed from nothing but their index."""
from __future__ import annotations

import math
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Array, Op, Value, literal
from stele.ir.scalars import S, Scalars
from stele.ir.sizes import Dim, Size
from stele.ir.types import DType, Shape, Type, axis_of, below, float32, float64, int64, uint64
from stele.ops.elementwise.arithmetic import Equal, Maximum, Select
from stele.ops.linear import cast, reshape, slice_axis


class Generate(Op):
    """Element i of the result is `generate(s, i, *x)`: a function of its multi-index and of scalar operands."""

    family: ClassVar[str] = "generate"

    def generate(self, s: Scalars[S], i: tuple[S, ...], *x: S) -> S:
        """The element at multi-index `i` (integer elements of the builder), said to a scalar builder."""
        raise NotImplementedError(self.name)


class Iota(Generate):
    """The position of each element along `axis`.

    >>> print(Iota((2, 3), 1, int64)().type)
    int64[2,3]
    """

    shape: Shape
    axis: int
    dtype: DType

    def type(self, *x: Type) -> Type:
        axis_of(self.axis, len(self.shape))
        return Type(self.dtype, self.shape)

    def reference(self, *x: Array) -> Array:
        column = [-1 if k == self.axis else 1 for k in range(len(self.shape))]
        positions = np.arange(self.shape[self.axis]).astype(self.dtype.numpy)  # type: ignore[arg-type]
        return np.broadcast_to(positions.reshape(column), self.shape)  # type: ignore[arg-type]

    def generate(self, s: Scalars[S], i: tuple[S, ...], *x: S) -> S:
        return s.cast(i[self.axis], self.dtype)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls((2, 3), 1, int64), ()), (cls((4,), 0, float32), ())


def iota(n: Dim, dtype: DType = int64) -> Value:
    """0, 1, ... n-1."""
    return Iota((n,), 0, dtype)()


def iota_like(x: Value, axis: int, dtype: DType = int64) -> Value:
    """The position along `axis` of each element of x."""
    return Iota(x.shape, axis_of(axis, x.ndim), dtype)()


def extent(n: Dim, dtype: DType = int64) -> Value:
    """A size as a number of the graph: element n of 0, 1, ... n."""
    return literal(n, dtype) if isinstance(n, int) else reshape(slice_axis(iota(n + 1, dtype), 0, n, 1), ())


def quantity(n: Dim, dtype: DType = int64) -> Value:
    """A dimension as a number of the graph, whatever its sign."""
    if isinstance(n, int):
        return literal(n, dtype)
    parts = [extent(Size(((m, 1),)), dtype) * k if m else literal(k, dtype) for m, k in n.terms]
    return reduce(lambda a, b: a + b, parts)


def factor(n: Dim) -> int | Value:
    """A size as an operand."""
    return n if isinstance(n, int) else extent(n)


def are_whole(*numbers: Any) -> bool:
    """Whether all are ints or sizes."""
    return all(isinstance(n, int | Size) for n in numbers)


def count(start: Any, stop: Any, step: Any) -> Dim:
    """How many numbers start, start+step, ... lie before stop."""
    if (isinstance(start, Size) or isinstance(stop, Size)) and step:
        way = stop - start if step > 0 else start - stop
        return 0 if below(way, 0) else (way + abs(step) - 1) // abs(step)
    if step == 0 or not all(map(math.isfinite, (start, stop, step))):
        raise ShapeError(f"arange from {start} to {stop} needs finite numbers and a step other than 0, got step {step}")
    if are_whole(start, stop, step):
        return max(0, -(-(stop - start) // step))
    return max(0, math.ceil((stop - start) / step))


def steps(start: float, stop: float, step: float) -> Array:
    """The numbers start, start+step, ... before stop, as float64."""
    n = count(start, stop, step)
    Type(float64, (n,))     # refuses what no memory holds
    return np.arange(float(start), float(stop), float(step)) if n else np.zeros(0)


def arange(start: Dim, stop: Dim, step: int = 1, *, dtype: DType = int64) -> Value:
    """start, start+step, ... before stop.

    >>> arange(2, 8, 2).shape
    (3,)
    """
    n = count(start, stop, step)
    wide = dtype if dtype.is_float and dtype.bits >= 32 else int64   # a step may be negative, an end beyond the dtype
    wide = int64 if start == 0 and step < 0 else wide       # where a float's zero would have a sign
    if dtype == uint64 and isinstance(start, int):
        wide, start, step = uint64, start % 2**64, step % 2**64
    line = Iota((n,), 0, wide)()
    scaled = line if step == 1 else line * step
    return cast(scaled if start == 0 else scaled + quantity(start, wide), dtype)


def linspace(start: float, stop: float, count: Dim, *, dtype: DType = float32, endpoint: bool = True) -> Value:
    """`count` numbers evenly from start to stop, which is the last with `endpoint`, in float64; count may be open."""
    place, last = iota(count), Maximum()(quantity(count - endpoint), 1)
    line = cast(place, float64) * ((stop - start) / cast(last, float64)) + start
    return cast(Select()(Equal()(place, last), float(stop), line), dtype)


ALL = (Iota,)
