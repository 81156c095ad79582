"""Reductions as users write them: axes as a number, a tuple or None, kept or dropped."""
from __future__ import annotations

import builtins
from collections.abc import Callable

from stele.ir.graph import Op, Value
from stele.ir.types import axis_of, float32, product
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.unary import sqrt, square
from stele.ops.generate import extent
from stele.ops.linear import Sum, cast, kept_shape, reshape
from stele.ops.reduction import All, Any, ArgMax, ArgMin, Max, Min, Prod

Axes = int | tuple[int, ...] | None


def over(axis: Axes, ndim: int) -> tuple[int, ...]:
    """The axes meant by an int, a tuple or None (all of them), in order."""
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(sorted({axis_of(a, ndim) for a in axes}))


def fold(op: Callable[[tuple[int, ...]], Op], x: Value, axis: Axes, keepdims: bool) -> Value:
    """A reduction over axes as users write them."""
    axes = over(axis, x.ndim)
    y = op(axes)(x)
    return reshape(y, kept_shape(x.shape, axes)) if keepdims else y


def sum(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Sum over axes (all by default); bool and integers add up as int64."""
    return fold(Sum, x, axis, keepdims)


def max(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The largest element over axes; NaN if any is NaN."""
    return fold(Max, x, axis, keepdims)


def min(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The smallest element over axes; NaN if any is NaN."""
    return fold(Min, x, axis, keepdims)


def prod(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The product over axes; bool and integers multiply as int64."""
    return fold(Prod, x, axis, keepdims)


def all(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Whether every element over axes is true."""
    return fold(All, x, axis, keepdims)


def any(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """Whether any element over axes is true."""
    return fold(Any, x, axis, keepdims)


def mean(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The arithmetic mean over axes; integers are averaged as float32, and 16-bit floats add up in float32."""
    wide = widened(x)
    return narrowed(sum(wide, axis=axis, keepdims=keepdims) / count(wide, axis), x)


def widened(x: Value) -> Value:
    """x in a dtype that a sum of many elements, or their number, fits in: float32 at least."""
    return x if x.dtype.is_float and x.dtype.bits >= 32 else cast(x, float32)


def narrowed(y: Value, x: Value) -> Value:
    """What came of `widened(x)`, in the dtype of x if that is a float."""
    return cast(y, x.dtype) if x.dtype.is_float else y


def count(x: Value, axis: Axes) -> int | Value:
    """How many elements of x one reduced element stands for."""
    n = product(tuple(x.shape[a] for a in over(axis, x.ndim)))
    return n if isinstance(n, int) else extent(n, x.dtype)


def var(x: Value, *, axis: Axes = None, keepdims: bool = False, correction: int = 0) -> Value:
    """The variance over axes, around the mean, divided by n - correction."""
    return narrowed(spread(widened(x), axis, keepdims, correction), x)


def std(x: Value, *, axis: Axes = None, keepdims: bool = False, correction: int = 0) -> Value:
    """The standard deviation over axes; its gradient where all elements are equal is 0."""
    squared = spread(widened(x), axis, keepdims, correction)
    is_zero = Equal()(squared, 0)
    return narrowed(Select()(is_zero, 0.0, sqrt(Select()(is_zero, 1.0, squared))), x)


def spread(x: Value, axis: Axes, keepdims: bool, correction: int) -> Value:
    """The variance of wide floats."""
    n = count(x, axis) - correction
    centred = x - mean(x, axis=axis, keepdims=True)
    return sum(square(centred), axis=axis, keepdims=keepdims) / (n if isinstance(n, Value) else builtins.max(n, 0))


def argmax(x: Value, *, axis: int | None = None) -> Value:
    """The position of the first largest element along an axis, or in the flat array."""
    return ArgMax(0)(reshape(x, (-1,))) if axis is None else ArgMax(axis_of(axis, x.ndim))(x)


def argmin(x: Value, *, axis: int | None = None) -> Value:
    """The position of the first smallest element along an axis, or in the flat array."""
    return ArgMin(0)(reshape(x, (-1,))) if axis is None else ArgMin(axis_of(axis, x.ndim))(x)
