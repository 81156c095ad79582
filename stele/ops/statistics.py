"""Reductions as users write them: axes as a number, a tuple or None, kept or dropped."""
from __future__ import annotations

import math
from collections.abc import Callable

from stele.errors import ArgumentError
from stele.ir.graph import OneOrPair, Op, Value, literal
from stele.ir.types import DType, axes_of, bool_, float32, is_zero, product
from stele.ops.along import take_along
from stele.ops.arguments import whole
from stele.ops.elementwise.arithmetic import Equal, Greater, Maximum, Minimum, Select
from stele.ops.elementwise.base import Operand
from stele.ops.elementwise.signs import isclose
from stele.ops.elementwise.unary import sqrt, square
from stele.ops.generate import extent
from stele.ops.linear import Sum, broadcast, cast, full, kept_shape, reshape, rowed
from stele.ops.parts import complex as of_parts
from stele.ops.parts import conj, imag, real
from stele.ops.reduction import All, ArgMax, ArgMin, Max, Min, Position, Prod
from stele.ops.reduction import Any as AnyOf

Axes = int | tuple[int, ...] | None


def over(axis: Axes, ndim: int) -> tuple[int, ...]:
    """The axes meant by an int, a tuple or None (all of them), in order; of a number 0 and -1 name none (PyTorch's)."""
    given = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(axes_of(given, ndim))) if ndim else axes_of(given, 1)[:0]


def fold(op: Callable[[tuple[int, ...]], Op], x: Value, axis: Axes, keepdims: bool) -> Value:
    """A reduction over axes as users write them."""
    axes = over(axis, x.ndim)
    y = op(axes)(x)
    return reshape(y, kept_shape(x.shape, axes)) if keepdims else y


def in_dtype(op: Callable[[tuple[int, ...]], Op], x: Value, axis: Axes, keepdims: bool, dtype: DType | None) -> Value:
    """A reduction in a dtype, where one is given."""
    return fold(op, x, axis, keepdims) if dtype is None else cast(fold(op, cast(x, dtype), axis, keepdims), dtype)


def chosen(x: Value, where: Value | None, other: complex) -> Value:
    """x with a number in the place of those elements that `where` leaves out."""
    if where is None:
        return x
    return Select()(cast(broadcast(where, x.shape), bool_), x, literal(other, x.dtype))


def sum(x: Value, *, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None,
        initial: float | None = None, where: Value | None = None) -> Value:
    """The sum over one axis, several, or all of them; keepdims leaves them with length 1. Of no elements it is 0.

    Bools and signed integers add up as int64, unsigned ones as uint64, floats in their dtype, unless a `dtype` is
    given. The number `initial` counts too, and of x those elements alone where `where`, bools that broadcast to x, is
    True. Raises ShapeError for an axis that x does not have.

    >>> x = st.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> st.sum(x).tolist(), st.sum(x, axis=0).tolist()
    (21.0, [5.0, 7.0, 9.0])
    >>> st.sum(x, axis=(0, -1), keepdims=True).shape
    (1, 1)
    """
    y = in_dtype(Sum, chosen(x, where, 0), axis, keepdims, dtype)
    return y if initial is None else y + literal(initial, y.dtype)


def max(x: Value, *, axis: Axes = None, keepdims: bool = False, return_indices: bool = False,
        initial: float | None = None, where: Value | None = None) -> OneOrPair:
    """The largest element over one axis, several, or all of them, as in `sum`, in the dtype of x; NaN if any is NaN.

    Elements that tie share the gradient evenly, as of PyTorch's amax. With `return_indices` a pair, of the elements
    that `argmax` finds along one axis or in the flat array and of their positions, as of PyTorch's max: these have the
    gradient alone. `initial` and `where` as of `sum`: which elements count is asked beside an initial alone. Raises
    ShapeError where there is no element, and no initial; ArgumentError for where without it, or positions beside them.

    >>> x = st.tensor([[1.0, 7.0], [7.0, 2.0]])
    >>> st.max(x).tolist(), st.max(x, axis=1).tolist()
    (7.0, [7.0, 7.0])
    >>> st.grad(st.max)(x).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    return extreme((Max, Maximum, ArgMax), x, axis, keepdims, return_indices, initial, where)


def min(x: Value, *, axis: Axes = None, keepdims: bool = False, return_indices: bool = False,
        initial: float | None = None, where: Value | None = None) -> OneOrPair:
    """The smallest element over one axis, several, or all of them, as in `sum`, in the dtype of x; NaN if any is NaN.

    Elements that tie share the gradient evenly, as of PyTorch's amin. `return_indices` as of `max`, with `argmin`;
    `initial` and `where` too. Raises ShapeError where there is no element, and no initial.

    >>> st.min(st.tensor([[1.0, 7.0], [5.0, 2.0]]), axis=0, keepdims=True).tolist()
    [[1.0, 2.0]]
    """
    return extreme((Min, Minimum, ArgMin), x, axis, keepdims, return_indices, initial, where)


def extreme(ops: tuple[Callable[[tuple[int, ...]], Op], type[Op], type[Position]], x: Value, axis: Axes,
            keepdims: bool, places: bool, initial: float | None, where: Value | None) -> OneOrPair:
    """The extreme element of those that count, and of a number beside them, which is all there is of no elements."""
    op, beside, place = ops
    if initial is None and where is None:
        return picked(place, x, axis, keepdims) if places else fold(op, x, axis, keepdims)
    if initial is None or places:
        raise ArgumentError("extremes of some elements need a number that stands beside them, and have no positions",
                            hint="Give initial=, and leave return_indices out.")
    first, like = literal(initial, x.dtype), fold(Sum, x, axis, keepdims).shape
    if is_zero(product(tuple(x.shape[a] for a in over(axis, x.ndim)))):
        return broadcast(first, like)
    return beside()(fold(op, chosen(x, where, initial), axis, keepdims), first)


def picked(op: type[Position], x: Value, axis: Axes, keepdims: bool) -> tuple[Value, Value]:
    """The element at a position along an axis, or in the flat array, and the position."""
    line = reshape(x, (-1,)) if axis is None else rowed(x)
    along = 0 if axis is None else whole(axis, "axis with return_indices")
    i = placed(op, line, along, True)
    axes = over(axis, x.ndim)
    shape = kept_shape(x.shape, axes) if keepdims else tuple(n for k, n in enumerate(x.shape) if k not in axes)
    return reshape(take_along(line, i, along), shape), reshape(i, shape)


def prod(x: Value, *, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None,
         initial: float | None = None, where: Value | None = None) -> Value:
    """The product over one axis, several, or all of them, with `initial` and `where` as in `sum`. Of no elements: 1.

    Integers multiply as they add up, and wrap, unless a `dtype` is given. The gradient of an element is the product of
    the others, also beside zeros, where dividing the product by the element would be 0 / 0. Raises ShapeError for an
    axis that x does not have, DTypeError for another `dtype` than there is.

    >>> st.prod(st.tensor([2.0, 3.0, 4.0])).tolist()
    24.0
    >>> st.grad(st.prod)(st.tensor([0.0, 3.0, 4.0])).tolist()
    [12.0, 0.0, 0.0]
    """
    y = in_dtype(Prod, chosen(x, where, 1), axis, keepdims, dtype)
    return y if initial is None else y * literal(initial, y.dtype)


def all(x: Value, *, axis: Axes = None, keepdims: bool = False, where: Value | None = None) -> Value:
    """Whether every element over one axis, several, or all of them is true (not 0), as bools. Of no elements: True.

    x has any dtype; `where` as of `sum`. Raises ShapeError for an axis that x does not have.

    >>> x = st.tensor([[1, 2], [0, 3]])
    >>> st.all(x).tolist(), st.all(x, axis=1).tolist()
    (False, [True, False])
    """
    return fold(All, chosen(x, where, 1), axis, keepdims)


def any(x: Value, *, axis: Axes = None, keepdims: bool = False, where: Value | None = None) -> Value:
    """Whether any element over one axis, several, or all of them is true (not 0), as bools. Of no elements: False.

    x has any dtype; `where` as of `sum`. Raises ShapeError for an axis that x does not have.

    >>> st.any(st.tensor([[1.0, -2.0], [3.0, 4.0]]) < 0, axis=1).tolist()
    [True, False]
    """
    return fold(AnyOf, chosen(x, where, 0), axis, keepdims)


def allclose(x: Operand, z: Operand, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Value:
    """Whether all of |x - z| <= `atol` + `rtol` * |z|, with x and z broadcast, as one bool; see `isclose`.

    A NaN is close to nothing, but to a NaN with `equal_nan`. Raises ShapeError where shapes do not broadcast.

    >>> st.allclose(st.tensor([1.0, 2.0]), st.tensor([1.000001, 2.0])).tolist()
    True
    """
    return all(isclose(x, z, rtol=rtol, atol=atol, equal_nan=equal_nan))


def mean(x: Value, *, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None,
         where: Value | None = None) -> Value:
    """The arithmetic mean over one axis, several, or all of them, with `where` as in `sum`. Of no elements it is NaN.

    Integers and bools are averaged as float32; float16 and bfloat16 add up in float32 and are rounded once. Where a
    `dtype` is given x is turned into it first. Parts of complex numbers are averaged each by itself: a NaN in one
    leaves the other. Raises ShapeError for an axis that x does not have, DTypeError for another dtype than there is.

    >>> x = st.tensor([[1, 2], [3, 6]])
    >>> st.mean(x).tolist(), st.mean(x, axis=1, keepdims=True).tolist()
    (3.0, [[1.5], [4.5]])
    """
    if dtype is not None:
        return cast(mean(cast(x, dtype), axis=axis, keepdims=keepdims, where=where), dtype)
    if x.dtype.is_complex:
        return of_parts(*(mean(part, axis=axis, keepdims=keepdims, where=where) for part in (real(x), imag(x))))
    wide = widened(x)
    return narrowed(sum(wide, axis=axis, keepdims=keepdims, where=where) / count(wide, axis, keepdims, where), x)


def widened(x: Value) -> Value:
    """x in a dtype that a sum of many elements, or their number, fits in: float32 at least."""
    return x if x.dtype.is_float and x.dtype.bits >= 32 else cast(x, float32)


def narrowed(y: Value, x: Value) -> Value:
    """What came of `widened(x)`, in the dtype of x if that is a float."""
    return cast(y, x.dtype) if x.dtype.kind == "f" else y


def count(x: Value, axis: Axes, keepdims: bool, where: Value | None) -> int | Value:
    """How many elements of x one reduced element stands for."""
    if where is not None:
        return sum(chosen(full(x.shape, 1, x.dtype), where, 0), axis=axis, keepdims=keepdims)
    n = product(tuple(x.shape[a] for a in over(axis, x.ndim)))
    return n if isinstance(n, int) else extent(n, x.dtype)


def var(x: Value, *, axis: Axes = None, keepdims: bool = False, correction: float = 0, dtype: DType | None = None,
        where: Value | None = None) -> Value:
    """The variance over one axis, several, or all of them, as in `sum`: the mean square distance from the mean.

    The squares are divided by n - `correction`: 0, the default, as in NumPy; PyTorch's default is 1, the unbiased
    estimate. NaN where that is not positive, as the array API standard has it; NumPy and PyTorch divide by 0. n counts
    the elements where `where` is True, as of `sum`. Integers and bools become float32; 16-bit floats add up in float32;
    a `dtype` is what x is turned into first. Of complex numbers it is real: the squares are those of distances. Raises
    ShapeError for an axis that x does not have, DTypeError for another dtype than there is.

    >>> x = st.tensor([1.0, 2.0, 3.0, 4.0])
    >>> st.var(x), st.var(x, correction=1)
    (tensor(1.25), tensor(1.6666666))
    """
    x = x if dtype is None else cast(x, dtype)
    return narrowed(spread(widened(x), axis, keepdims, correction, where), x)


def std(x: Value, *, axis: Axes = None, keepdims: bool = False, correction: float = 0, dtype: DType | None = None,
        where: Value | None = None) -> Value:
    """The standard deviation over one axis, several, or all of them: the root of `var`, with the same `correction`.

    `dtype` and `where` too. The gradient where all elements are equal is 0, where that of a root would be NaN. Integers
    become float32. Raises ShapeError for an axis that x does not have.

    >>> st.std(st.tensor([[1.0, 3.0], [2.0, 8.0]]), axis=1).tolist()
    [1.0, 3.0]
    """
    x = x if dtype is None else cast(x, dtype)
    return narrowed(root(spread(widened(x), axis, keepdims, correction, where)), x)


def root(x: Value) -> Value:
    """The square root, without a derivative at 0."""
    is_zero = Equal()(x, 0)
    return Select()(is_zero, 0.0, sqrt(Select()(is_zero, 1.0, x)))


def spread(x: Value, axis: Axes, keepdims: bool, correction: float, where: Value | None) -> Value:
    """The variance of wide floats."""
    x = chosen(x, where, 0)
    y = squares(x - mean(x, axis=axis, keepdims=True, where=where))
    n = count(y, axis, keepdims, where) - correction
    n = Select()(Greater()(n, 0), n, math.nan) if isinstance(n, Value) else n if n > 0 else math.nan
    return sum(y, axis=axis, keepdims=keepdims, where=where) / n


def squares(x: Value) -> Value:
    """The square of the size of each element, a real number."""
    return real(x * conj(x)) if x.dtype.is_complex else square(x)


def argmax(x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    """The position of the largest element along an axis, or in the flat array, as int64.

    The axis is dropped, or left with length 1 by `keepdims`. The first of those that tie, and of NaN, which count as
    largest (NumPy's rules). Raises ShapeError along an axis of
    length 0.

    >>> x = st.tensor([[1.0, 7.0, 7.0], [9.0, 2.0, 0.0]])
    >>> st.argmax(x).tolist(), st.argmax(x, axis=1).tolist()
    (3, [1, 0])
    """
    return placed(ArgMax, x, axis, keepdims)


def argmin(x: Value, *, axis: int | None = None, keepdims: bool = False) -> Value:
    """The position of the smallest element along an axis, or in the flat array, as int64.

    The axis is dropped, or left with length 1 by `keepdims`. The first of those that tie, and of NaN, which count as
    smallest (NumPy's rules). Raises ShapeError along an axis of
    length 0.

    >>> st.argmin(st.tensor([[1.0, 7.0], [9.0, 2.0]]), axis=0).tolist()
    [0, 1]
    """
    return placed(ArgMin, x, axis, keepdims)


def placed(op: type[Position], x: Value, axis: int | None, keepdims: bool) -> Value:
    """A position along an axis, or in the flat array."""
    axes = over(axis, x.ndim)
    y = op(0)(reshape(x, (-1,))) if axis is None or not axes else op(axes[0])(x)
    return reshape(y, kept_shape(x.shape, axes)) if keepdims else y


def var_mean(x: Value, *, axis: Axes = None, keepdims: bool = False, correction: float = 0) -> tuple[Value, Value]:
    """The variance and the mean over one axis, several, or all of them: `var`, with the same `correction`, and `mean`.

    Integers become float32. Raises ShapeError for an axis that x does not have.

    >>> variance, mean = st.var_mean(st.tensor([1.0, 3.0]))
    >>> float(variance), float(mean)
    (1.0, 2.0)
    """
    return var(x, axis=axis, keepdims=keepdims, correction=correction), mean(x, axis=axis, keepdims=keepdims)


def std_mean(x: Value, *, axis: Axes = None, keepdims: bool = False, correction: float = 0) -> tuple[Value, Value]:
    """The standard deviation and the mean over one axis, several, or all of them, with the `correction` of `var`.

    Integers become float32. Raises ShapeError for an axis that x does not have.

    >>> deviation, mean = st.std_mean(st.tensor([1.0, 3.0]))
    >>> float(deviation), float(mean)
    (1.0, 2.0)
    """
    return std(x, axis=axis, keepdims=keepdims, correction=correction), mean(x, axis=axis, keepdims=keepdims)
