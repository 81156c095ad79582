"""Changes of shape in the habits of the user, where they differ from those of values."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.arrays.opensize import plain
from stele.errors import ArgumentError, ShapeError
from stele.ir.graph import Value
from stele.ir.types import DTYPES, DType, Shape, axis_of, product, show
from stele.ir.types import dtype as dtype_named
from stele.ops import bits, linear, shaping
from stele.ops.arguments import shape, wholes
from stele.ops.statistics import over

Sizes = Any     # whole numbers one by one, or one sequence of them
SizesOrDType = Any


def order_of(given: tuple[Any, ...], what: str = "axis") -> tuple[Any, ...]:
    """Whole numbers, given as one sequence or as several."""
    return wholes(plain(given[0] if len(given) == 1 else given), f"every {what}")


def shape_of(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """A shape, given as one sequence of sizes or as several sizes."""
    return shape(plain(given[0] if len(given) == 1 else given))


def reshape(x: Value, shape: Sizes, *more: Sizes, copy: bool | None = None) -> Value:
    """The same elements in row-major order under another `shape`, given as one sequence or as this size and `more`.

    One size may be -1: what is left. Values never change, so it is all the same whether they are to be a `copy`. In the
    dtype of x. Raises ShapeError where the numbers of elements differ, or two sizes are -1.

    >>> x = st.arange(6)
    >>> st.reshape(x, (2, 3)).tolist(), st.reshape(x, 3, -1).shape
    ([[0, 1, 2], [3, 4, 5]], (3, 2))
    """
    wanted = order_of((shape, *more), "size")
    if sum(n == -1 for n in wanted) > 1:
        raise ShapeError(f"reshape to {show(wanted)} leaves more than one size open; write -1 once")
    return linear.reshape(x, wanted)


def view(x: Value, *shape: SizesOrDType, dtype: DType | None = None) -> Value:
    """The same elements under another `shape`, as of `reshape`; or, given a `dtype` alone, their bits as its elements.

    Bits stay as they are in memory, the lowest bytes first: along the last axis there are more elements of a narrower
    dtype, and fewer of a wider one. Of complex numbers the real part comes first, and a byte is a true bool unless it
    is 0. No gradient passes to another dtype. `float`, `int` and `complex` are those of the width of x. Raises
    ShapeError where sizes do not fit, DTypeError for what is no dtype, ArgumentError for a shape and a dtype.

    >>> x = st.tensor([[1.0, -2.0]])
    >>> x.view(2).shape, x.view("int32").tolist(), x.view(st.uint16).tolist()
    ((2,), [[1065353216, -1073741824]], [[0, 16256, 0, 49152]])
    """
    if dtype is None and len(shape) == 1 and isinstance(shape[0], str | type | DType | np.dtype):
        shape, dtype = (), of_width(x.dtype, shape[0])
    if dtype is None:
        return reshape(x, *shape) if shape else x
    if shape:
        raise ArgumentError(f"view takes a shape or a dtype, got both: {show(order_of(shape, 'size'))} and {dtype}",
                            hint="Write x.view(dtype).view(shape).")
    return bits.seen_as(x, dtype)


def of_width(own: DType, named: Any) -> DType:
    """The dtype that is named; of a Python type that whose numbers are as wide as those of another one."""
    kind = {float: "f", int: "i", complex: "c"}.get(named) if isinstance(named, type) else None
    wide = (d for d in (own, own.real, own.complex, *DTYPES.values()) if d.real.bits == own.real.bits)
    return next((d for d in wide if d.kind == kind), None) or dtype_named(named)


def permute(x: Value, axes: Sizes = (), *more: Sizes) -> Value:
    """The array with its axes in the order of `axes`, one sequence or this number and `more`; reversed without them.

    Axis k of the result is axis axes[k] of x. In the dtype of x. Raises ShapeError unless each axis is named once.

    >>> x = st.zeros((2, 3, 5))
    >>> st.permute(x, 0, 2, 1).shape, st.permute(x).shape
    ((2, 5, 3), (5, 3, 2))
    """
    return shaping.permute(x, *order_of((axes, *more)))


def transpose(x: Value, *axes: Sizes) -> Value:
    """The array with two axes exchanged, or with all of its `axes` in another order; reversed without any.

    Two numbers are the axes to exchange, as PyTorch's; a tuple, or as many as there are, are their order, as NumPy's.
    In the dtype of x. Raises ShapeError for axes that x does not have, and unless the order names each once.

    >>> x = st.zeros((2, 3, 5))
    >>> st.transpose(x, 0, 2).shape, x.transpose(1, 2, 0).shape, x.transpose().shape
    ((5, 3, 2), (3, 5, 2), (5, 3, 2))
    """
    order = order_of(axes)
    return shaping.swapaxes(x, *order) if len(axes) == 2 else shaping.permute(x, *order)


def flatten(x: Value, *, start: int = 0, end: int = -1) -> Value:
    """The array with the axes from `start` to `end`, both included, as one; of no axes it becomes (1,).

    In the dtype of x. Raises ShapeError for an axis that x does not have, and where end stands before start.

    >>> x = st.zeros((8, 3, 5, 5))
    >>> st.flatten(x).shape, st.flatten(x, 1).shape, st.flatten(x, 2, 3).shape
    ((600,), (8, 75), (8, 3, 25))
    """
    if x.ndim == 0:
        return linear.reshape(x, (1,))
    first, last = axis_of(start, x.ndim), axis_of(end, x.ndim)
    if last < first:
        raise ShapeError(f"flatten needs axes in order, got start={start} and end={end} for shape {show(x.shape)}")
    return linear.reshape(x, (*x.shape[:first], product(x.shape[first: last + 1]), *x.shape[last + 1:]))


def unsqueeze(x: Value, *, axis: int | Sequence[int]) -> Value:
    """The array with axes of length 1 put in, at the positions that axis gives them in the result: one, or several.

    In the dtype of x. Raises ShapeError for a position that the result does not have.

    >>> x = st.zeros((2, 3))
    >>> st.unsqueeze(x, 0).shape, st.unsqueeze(x, (0, -1)).shape
    ((1, 2, 3), (1, 2, 3, 1))
    """
    return linear.expand_dims(x, (axis,) if isinstance(axis, int) else tuple(axis))


def expand(x: Value, *sizes: Sizes) -> Value:
    """The array repeated to a shape by NumPy's rule, given as one sequence or as several `sizes`; -1 keeps an axis.

    >>> st.tensor([[1], [2]]).expand(-1, 3).tolist()
    [[1, 1, 1], [2, 2, 2]]
    """
    wanted = order_of(sizes, "size")
    old = (1,) * (len(wanted) - x.ndim) + x.shape
    return linear.broadcast(x, tuple(n if w == -1 else w for w, n in zip(wanted, old)))


def broadcast_to(x: Value, shape: Shape) -> Value:
    """The array repeated to a `shape` by NumPy's rule: along axes of length 1, and along new ones in front.

    Nothing is copied where a program reads it. In the dtype of x. Raises ShapeError where the shapes do not fit.

    >>> st.broadcast_to(st.tensor([1, 2]), (3, 2)).tolist()
    [[1, 2], [1, 2], [1, 2]]
    """
    return linear.broadcast(x, tuple(shape))


def flip(x: Value, *, axis: int | Sequence[int] | None = None) -> Value:
    """The array with the order along one axis, several, or all of them reversed; a number as it is.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.flip(x).tolist(), st.flip(x, axis=1).tolist()
    ([[6, 5, 4], [3, 2, 1]], [[3, 2, 1], [6, 5, 4]])
    """
    return linear.flip(x, over(axis if axis is None or isinstance(axis, int) else tuple(axis), x.ndim))


def transposed(x: Value) -> Value:
    """The array with its axes reversed: the transpose of a matrix.

    >>> st.tensor([[1, 2, 3], [4, 5, 6]]).T.tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    return shaping.permute(x)


def copied(x: Value) -> Value:
    """The array itself: values never change, so a copy is the same value under another handle.

    >>> x = st.tensor([1, 2])
    >>> y = x.clone()
    >>> y += 1
    >>> x.tolist(), y.tolist()
    ([1, 2], [2, 3])
    """
    return x
