"""Running totals along an axis: sums, products, extremes, and the logarithm of sums of exponentials."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, OneOrPair, Op, Placed, Value
from stele.ir.scalars import S, Scalars
from stele.ir.sizes import Dim
from stele.ir.types import DType, Type, axis_of, bool_, float32, highest, int64, is_zero, lowest, promote, show
from stele.ops.along import in_line, put_along, take_along
from stele.ops.arguments import whole
from stele.ops.control import scan
from stele.ops.elementwise.arithmetic import Equal, NotEqual, Select
from stele.ops.elementwise.base import needs_float, needs_real
from stele.ops.elementwise.binary import logical_and, logical_or
from stele.ops.elementwise.unary import exp, isnan, log
from stele.ops.generate import iota_like, quantity
from stele.ops.linear import Sum, broadcast, cast, full, further, kept_shape, pad_axis, reshape, rowed, slice_axis
from stele.ops.shaping import concatenate, moveaxis


class Cumulative(Op):
    """`combine` of all elements up to each one along `axis`, in the type of x; of all from each one on with `reverse`.

    Halves are combined in float32, and each result is rounded once.
    """

    axis: int
    reverse: bool = False
    family: ClassVar[str] = "ordered"
    samples: ClassVar[tuple[float, float]] = (-3, 3)

    def type(self, *x: Type) -> Type:
        axis_of(self.axis, x[0].ndim)
        return x[0]

    def identity(self, x: Type) -> Any:
        """What combines with any element to that element."""
        raise NotImplementedError(self.name)

    def combine(self, s: Scalars[S], a: S, b: S) -> S:
        """Two partial results as one, said to a scalar builder; `a` is of elements that come first."""
        raise NotImplementedError(self.name)

    def running(self, x: Array, axis: int) -> Array:
        """The results of NumPy, from the first element on."""
        raise NotImplementedError(self.name)

    def reference(self, *x: Array) -> Array:
        turned = np.flip(x[0], self.axis) if self.reverse else x[0]
        y = self.running(turned, self.axis)
        return np.asarray(np.flip(y, self.axis) if self.reverse else y).astype(x[0].dtype)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return replace(self, axis=further((self.axis,), x[0][0])[0])(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(1), (Type(float32, (2, 4, 3)),)), (cls(-1, True), (Type(float32, (5,)),))


class CumSum(Cumulative):
    """The sum of all elements up to each one."""

    def type(self, *x: Type) -> Type:
        needs_number(self, x[0].dtype)
        return super().type(*x)

    def identity(self, x: Type) -> Any: return 0
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return a + b
    def running(self, x: Array, axis: int) -> Array: return np.add.accumulate(x, axis, wide(x))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return CumSum(self.axis, not self.reverse)(g),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else self(dx[0])


class CumProd(Cumulative):
    """The product of all elements up to each one; its derivatives divide by none of them, so that zeros are no matter.
    """

    def type(self, *x: Type) -> Type:
        needs_number(self, x[0].dtype)
        return super().type(*x)

    def identity(self, x: Type) -> Any: return 1
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return a * b
    def running(self, x: Array, axis: int) -> Array: return np.multiply.accumulate(x, axis, wide(x))

    def before(self, y: Value) -> Value:
        """The product of all elements that come before each one."""
        n = y.shape[axis_of(self.axis, y.ndim)]
        first = quantity(n - 1) if self.reverse else 0
        return Select()(Equal()(iota_like(y, self.axis), first), 1, moved(y, self.axis, not self.reverse))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        """Of x[j] it is what comes before, times r[j] = g[j] + x[j + 1] * r[j + 1]."""
        behind = recurrence(moved(x[0], self.axis, self.reverse), g, self.axis, not self.reverse)
        return self.before(y) * behind,

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else recurrence(x[0], self.before(y) * dx[0], self.axis, self.reverse)


class CumulativeExtreme(Cumulative):
    """The best of all elements up to each one, NaN from the first NaN on; the latest of those that tie has the
    derivative, as PyTorch's."""

    def type(self, *x: Type) -> Type:
        needs_real(self, x[0].dtype)
        return super().type(*x)

    def chosen(self, y: Value, x: Value) -> Value:
        """The position along the axis of the element that each result is."""
        hit = Equal()(x, y)
        hit = logical_or(hit, isnan(x)) if x.dtype.is_float else hit
        last = CumMin(self.axis, True) if self.reverse else CumMax(self.axis)
        none = highest(int64) if self.reverse else -1
        return last(Select()(hit, iota_like(x, self.axis), none))

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return put_along(g, self.chosen(y, x[0]), self.axis, x[0].shape),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else take_along(dx[0], self.chosen(y, x[0]), self.axis)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (*super().examples(), (cls(0), (np.array([[2, 7], [3, 1], [1, 9]]),)),
                (cls(0), (np.array([False, True, False]),)))


class CumMax(CumulativeExtreme):
    """The largest of all elements up to each one."""

    def identity(self, x: Type) -> Any: return lowest(x.dtype)
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return s.max(a, b)
    def running(self, x: Array, axis: int) -> Array: return np.maximum.accumulate(x, axis)


class CumMin(CumulativeExtreme):
    """The smallest of all elements up to each one."""

    def identity(self, x: Type) -> Any: return highest(x.dtype)
    def combine(self, s: Scalars[S], a: S, b: S) -> S: return s.min(a, b)
    def running(self, x: Array, axis: int) -> Array: return np.minimum.accumulate(x, axis)


class LogCumSumExp(Cumulative):
    """The logarithm of the sum of exponentials of all elements up to each one; none of them overflows."""

    def type(self, *x: Type) -> Type:
        needs_float(self, x[0].dtype)
        return super().type(*x)

    def identity(self, x: Type) -> Any: return lowest(x.dtype)

    def combine(self, s: Scalars[S], a: S, b: S) -> S:
        top = s.max(a, b)
        apart = s.select(s.eq(a, b), 0, -abs(a - b))     # of equal infinities too
        return s.select(s.eq(top, float("-inf")), top, top + s.log1p(s.exp(apart)))

    def running(self, x: Array, axis: int) -> Array:
        return np.logaddexp.accumulate(x.astype(np.float64), axis)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        """Of x[j] the sum of g[k] * exp(x[j] - y[k]), of the gradients of either sign by themselves."""
        back = LogCumSumExp(self.axis, not self.reverse)
        return weighed(back, g, y, x[0]) - weighed(back, -g, y, x[0]),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        return weighed(self, dx[0], -x[0], -y) - weighed(self, -dx[0], -x[0], -y)


def weighed(op: LogCumSumExp, g: Value, y: Value, x: Value) -> Value:
    """exp(x) times the running sum of g * exp(-y), of those g that are positive; nothing where y is -inf."""
    none = lowest(g.dtype)
    is_some = logical_and(g > 0, y > none)
    total = op(Select()(is_some, log(Select()(is_some, g, 1)) - Select()(is_some, y, 0), none))
    return exp(Select()(total > none, total + x, none))


def needs_number(op: Op, dtype: DType) -> None:
    """Raises DTypeError for bools, which do not add up."""
    if dtype == bool_:
        raise DTypeError(f"{op.name} needs numbers, got bool", hint="Convert with .astype('int64').")


def wide(x: Array) -> Any:
    """What running totals of an array are exact enough in."""
    return x.dtype if x.dtype.kind in "iuc" else np.float64


def moved(x: Value, axis: int, ahead: bool) -> Value:
    """Each element where the next one along an axis was (the one before, unless `ahead`), 0 where there is none."""
    return pad_axis(x, axis_of(axis, x.ndim), *((1, -1) if ahead else (-1, 1)))


def recurrence(a: Value, b: Value, axis: int, reverse: bool = False) -> Value:
    """y with y[k] = a[k] * y[k - 1] + b[k] along an axis, from 0 on; y[k + 1] where it runs in reverse."""
    def step(carries: Sequence[Value], slices: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        y = slices[0] * carries[0] + slices[1]
        return [y], [y]

    first, second = moveaxis(a, axis, 0), moveaxis(b, axis, 0)
    start = full(first.shape[1:], 0, first.dtype)
    return moveaxis(scan(step, [start], [first, second], reverse=reverse)[1][0], 0, axis)


def the_axis(x: Value, axis: int | None, name: str) -> int:
    """The axis of a running total, which may be left out where there is no more than one."""
    if axis is None and x.ndim > 1:
        raise ShapeError(f"{name} needs an axis of {show(x.shape)}",
                         hint=f"Write axis=0 or another, or {name}(x.flatten()) for all elements one after the other.")
    return axis_of(0 if axis is None else axis, max(x.ndim, 1))


def of_the_type(op: type[Cumulative], x: Value, axis: int | None, name: str) -> Value:
    """A running total in the type of x."""
    return reshape(op(the_axis(x, axis, name))(rowed(x)), x.shape)


def accumulated(op: type[Cumulative], x: Value, axis: int | None, dtype: DType | None, include_initial: bool,
                name: str) -> Value:
    """A running sum or product as the standard has it."""
    axis = the_axis(x, axis, name)
    line = rowed(x)
    line = cast(line, dtype or Sum((axis,)).type(line.type).dtype)
    y = op(axis)(line)
    if include_initial:
        start = full(kept_shape(line.shape, (axis,)), op(axis).identity(line.type), line.dtype)
        return concatenate([start, y], axis=axis)
    return reshape(y, x.shape)


def cumulative_sum(x: Value, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
                   ) -> Value:
    """The sum of all elements up to each one along an axis: y[k] = x[0] + ... + x[k].

    The shape of x, with one element more along the axis where `include_initial` puts a 0 in front. Integers and bools
    add up in the dtype of their `sum` and floats in their own, unless a `dtype` is given. The axis may be left out
    where there is no more than one (the array API standard's rule). Elements are added in an order that depends on the
    shape alone. Raises ShapeError for an axis that x does not have.

    >>> st.cumulative_sum(st.tensor([1, 2, 3])).tolist()
    [1, 3, 6]
    >>> st.cumulative_sum(st.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0, include_initial=True).tolist()
    [[0.0, 0.0], [1.0, 2.0], [4.0, 6.0]]
    """
    return accumulated(CumSum, x, axis, dtype, include_initial, "cumulative_sum")


def cumsum(x: Value, *, axis: int | None = None, dtype: DType | None = None) -> Value:
    """The running sums of `cumulative_sum`, as NumPy has them: of all elements in a row where no axis is given.

    `dtype` and errors as there. Raises ShapeError for an axis that x does not have.

    >>> x = st.tensor([[1, 2], [3, 4]])
    >>> st.cumsum(x).tolist(), st.cumsum(x, axis=0).tolist()
    ([1, 3, 6, 10], [[1, 2], [4, 6]])
    """
    x, axis = in_line(x, axis)
    return cumulative_sum(x, axis=axis, dtype=dtype)


def cumulative_prod(x: Value, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
                    ) -> Value:
    """The product of all elements up to each one along an axis: y[k] = x[0] * ... * x[k].

    Shape, dtype, axis, `dtype` and `include_initial`, which puts a 1 in front, as of `cumulative_sum`. The gradient is
    right where elements are 0 too. Raises ShapeError for an axis that x does not have and for more axes without one,
    DTypeError for another dtype than there is.

    >>> st.cumulative_prod(st.tensor([2.0, 3.0, 4.0])).tolist()
    [2.0, 6.0, 24.0]
    >>> st.grad(lambda x: st.cumulative_prod(x).sum())(st.tensor([0.0, 3.0, 4.0])).tolist()
    [16.0, 0.0, 0.0]
    """
    return accumulated(CumProd, x, axis, dtype, include_initial, "cumulative_prod")


def cumprod(x: Value, *, axis: int | None = None, dtype: DType | None = None) -> Value:
    """The running products of `cumulative_prod`, as NumPy has them: of all elements in a row where no axis is given.

    `dtype` and errors as there. Raises ShapeError for an axis that x does not have.

    >>> st.cumprod(st.tensor([[1, 2], [3, 4]])).tolist()
    [1, 2, 6, 24]
    """
    x, axis = in_line(x, axis)
    return cumulative_prod(x, axis=axis, dtype=dtype)


def cummax(x: Value, *, axis: int | None = None, return_indices: bool = False) -> OneOrPair:
    """The largest of all elements up to each one along an axis: y[k] = max(x[0], ..., x[k]), in the type of x.

    The axis may be left out where there is no more than one. From the first NaN on it is NaN. Values alone, as of
    `st.max`, NumPy's `maximum.accumulate` and JAX's `cummax`; with `return_indices` their positions too, as int64, as
    of PyTorch's. Of elements that tie the latest counts, which has the gradient. Raises ShapeError for an axis that x
    does not have.

    >>> x = st.tensor([[3.0, 1.0, 4.0], [1.0, 5.0, 2.0]])
    >>> st.cummax(x, axis=1).tolist()
    [[3.0, 3.0, 4.0], [1.0, 5.0, 5.0]]
    >>> st.grad(lambda x: st.cummax(x, axis=1).sum())(x).tolist()
    [[2.0, 0.0, 1.0], [1.0, 2.0, 0.0]]
    """
    return best(CumMax(the_axis(x, axis, "cummax")), x, return_indices)


def best(op: CumulativeExtreme, x: Value, with_places: bool) -> OneOrPair:
    """The best elements up to each one, and where they stand."""
    row = rowed(x)
    y = op(row)
    return (reshape(y, x.shape), reshape(op.chosen(y, row), x.shape)) if with_places else reshape(y, x.shape)


def cummin(x: Value, *, axis: int | None = None, return_indices: bool = False) -> OneOrPair:
    """The smallest of all elements up to each one along an axis: y[k] = min(x[0], ..., x[k]), in the type of x.

    Axis, NaN, ties, `return_indices` and errors as of `cummax`. Raises ShapeError for an axis that x does not have and
    for more axes without one, DTypeError for complex numbers.

    >>> st.cummin(st.tensor([[3, 1, 4], [1, 5, 2]]), axis=1).tolist()
    [[3, 1, 1], [1, 1, 1]]
    """
    return best(CumMin(the_axis(x, axis, "cummin")), x, return_indices)


def logcumsumexp(x: Value, *, axis: int | None = None) -> Value:
    """The numbers log(exp(x[0]) + ... + exp(x[k])) along an axis, in the type of x; no x overflows.

    The axis may be left out where there is no more than one. Raises DTypeError for other dtypes than floats, and
    ShapeError for an axis that x does not have.

    >>> st.logcumsumexp(st.tensor([1000.0, 1000.0]))
    tensor([1000.    , 1000.6932])
    """
    return of_the_type(LogCumSumExp, x, axis, "logcumsumexp")


def diff(x: Value, *, n: int = 1, axis: int = -1, prepend: Value | None = None, append: Value | None = None) -> Value:
    """The differences of neighbours along an axis, x[k + 1] - x[k], taken `n` times over.

    `prepend` and `append` are joined to x first, unless n is 0: arrays that fit it but along the axis, or numbers. The
    axis is shorter by n, at least empty; integers keep their dtype and wrap, bools tell whether neighbours differ.
    Raises ShapeError for an axis that x does not have and for n < 0.

    >>> st.diff(st.tensor([1, 4, 9, 16])).tolist(), st.diff(st.tensor([1, 4, 9, 16]), n=2).tolist()
    ([3, 5, 7], [2, 2])
    >>> st.diff(st.tensor([1, 4, 9]), prepend=st.tensor([0])).tolist()
    [1, 3, 5]
    """
    axis = axis_of(axis, x.ndim)
    if whole(n, "n of diff", 0) == 0:
        return x
    kept = kept_shape(x.shape, (axis,))
    parts = [broadcast(v, kept) if not v.ndim else v for v in (prepend, x, append) if v is not None]
    y = concatenate(parts, axis=axis)
    for _ in range(n):
        size = y.shape[axis]
        if is_zero(size):
            return y
        ahead, behind = (slice_axis(y, axis, start, size - 1) for start in (1, 0))
        y = NotEqual()(ahead, behind) if y.dtype == bool_ else ahead - behind
    return y


def trapezoid(y: Value, x: Value | None = None, *, dx: float = 1.0, axis: int = -1) -> Value:
    """The integral of `y` along an axis by the trapezoidal rule: the sum of (y[k] + y[k + 1]) / 2 times their distance.

    The distance is `dx`, or that of neighbours of `x`, which holds positions in the shape of y or of its axis alone.
    Integers become float32. Raises ShapeError for an axis that y does not have.

    >>> st.trapezoid(st.tensor([1.0, 2.0, 3.0])).tolist()
    4.0
    >>> st.trapezoid(st.tensor([1.0, 2.0, 3.0]), st.tensor([4.0, 6.0, 8.0])).tolist()
    8.0
    """
    axis = axis_of(axis, y.ndim)
    n = y.shape[axis]
    y = y if y.dtype.is_float else cast(y, float32)
    ahead, behind = (slice_axis(y, axis, start, n - 1) if not is_zero(n) else y for start in (1, 0))
    if x is None:
        return Sum((axis,))(ahead + behind) * (dx / 2)
    if x.ndim == 1:
        x = reshape(x, tuple(-1 if k == axis else 1 for k in range(y.ndim)))
    step = diff(cast(x, promote(x.dtype, y.dtype)), axis=axis - y.ndim)
    return Sum((axis,))((ahead + behind) * step) * 0.5


ALL = (CumSum, CumProd, CumMax, CumMin, LogCumSumExp)
