"""Arrays joined into one and split into several, as users write them."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations as subsets
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from stele.errors import BadKey, ShapeError
from stele.ir.graph import Constant, Value
from stele.ir.sizes import Dim, Size
from stele.ir.types import DType, axis_of, below, is_zero, number_of, same, show
from stele.ops.arguments import positive, refuse, times, whole
from stele.ops.gather import Gather
from stele.ops.linear import Concatenate, broadcast, cast, expand_dims, pad_axis, reshape, slice_axis, transpose

Places = Any        # an int, a slice, or a list of ints or bools


def concatenate(xs: Sequence[Value], *, axis: int | None = 0, dtype: DType | None = None) -> Value:
    """The arrays `xs`, a list of one or more, one behind the other along an axis; dtypes meet as in `add`.

    In another `dtype` where one is given. Without an axis their elements in row-major order. A part (0,) beside arrays
    of more axes adds nothing, as of PyTorch. Raises ShapeError for no arrays, and where shapes differ along another
    axis.

    >>> x = st.tensor([[1, 2], [3, 4]])
    >>> st.concatenate([x, x[:1]]).tolist(), st.concatenate([x, x], axis=-1).shape
    ([[1, 2], [3, 4], [1, 2]], (2, 4))
    """
    if not xs:
        raise ShapeError("concatenate needs at least one array, got none")
    if axis is None:
        xs, axis = [reshape(x, (-1,)) for x in xs], 0
    xs = xs if dtype is None else [cast(x, dtype) for x in xs]
    xs = [x for x in xs if x.shape != (0,) or all(z.ndim < 2 for z in xs)]
    joined = Concatenate(axis_of(axis, xs[0].ndim))
    return xs[0] if len(xs) == 1 else joined(*xs)


def stack(xs: Sequence[Value], *, axis: int = 0, dtype: DType | None = None) -> Value:
    """The arrays `xs`, a list of one or more of one shape, side by side along a new axis; dtypes meet as in `add`.

    In another `dtype` where one is given. Raises ShapeError for no arrays, and for shapes that differ.

    >>> st.stack([st.tensor([1, 2]), st.tensor([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    if not xs:
        raise ShapeError("stack needs at least one array, got none")
    axis = axis_of(axis, xs[0].ndim + 1)
    return concatenate([expand_dims(x, (axis,)) for x in xs], axis=axis, dtype=dtype)


def split(x: Value, size: int | Sequence[int], *, axis: int = 0) -> tuple[Value, ...]:
    """The parts of an array along an axis, as a tuple: of `size` elements each, or of the sizes that it lists.

    The last of equal parts may be shorter. In the dtype of x. Raises ShapeError for sizes that do not add up to the
    length of the axis.

    >>> [part.tolist() for part in st.split(st.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    >>> [part.shape for part in st.split(st.zeros((2, 5)), (1, 4), axis=1)]
    [(2, 1), (2, 4)]
    """
    axis = axis_of(axis, x.ndim)
    total = x.shape[axis]
    sizes = list(cut(total, positive(size, "size of split"))) if isinstance(size, int | Size) else list(size)
    if not same(sum(sizes), total):
        raise ShapeError(f"split sizes {sizes} add up to {sum(sizes)}, but axis {axis} of {show(x.shape)} has {total}")
    return tuple(slice_axis(x, axis, sum(sizes[:k]), n) for k, n in enumerate(sizes))


def cut(total: Dim, size: Dim) -> Iterator[Dim]:
    """Sizes that add up to the total, all but the last of them `size`."""
    while below(size, total):
        yield size
        total = total - size
    if below(0, total):
        yield total


def least(x: Value, ndim: int) -> Value:
    """An array with as many axes or more: a vector of three is (1, n, 1), a matrix (n, m, 1), as NumPy has it."""
    front = ndim == 3 and x.ndim < 2
    wide = reshape(x, (1, *x.shape)) if 0 < x.ndim < ndim and (ndim == 2 or front) else x
    return reshape(wide, (*wide.shape, *(1,) * (ndim - wide.ndim))) if wide.ndim < ndim else wide


def at_least(ndim: int, xs: Sequence[Value]) -> Value | tuple[Value, ...]:
    """One array or several, each with as many axes or more."""
    wide = tuple(least(x, ndim) for x in xs)
    return wide[0] if len(wide) == 1 else wide


def atleast_1d(*xs: Value) -> Value | tuple[Value, ...]:
    """The arrays `xs` with one axis or more: a number becomes (1,). Of one array it is one, of several a tuple.

    In their dtypes. Raises ArgumentError for what is neither an array nor a number.

    >>> st.atleast_1d(st.tensor(3)).shape
    (1,)
    """
    return at_least(1, xs)


def atleast_2d(*xs: Value) -> Value | tuple[Value, ...]:
    """The arrays `xs` with two axes or more: a vector becomes a row (1, n). Of one array it is one, of several a tuple.

    In their dtypes. Raises ArgumentError for what is neither an array nor a number.

    >>> st.atleast_2d(st.zeros(3)).shape
    (1, 3)
    """
    return at_least(2, xs)


def atleast_3d(*xs: Value) -> Value | tuple[Value, ...]:
    """The arrays `xs` with three axes or more: (n,) becomes (1, n, 1), and (n, m) becomes (n, m, 1), as in NumPy.

    In their dtypes. Raises ArgumentError for what is neither an array nor a number.

    >>> st.atleast_3d(st.zeros(3)).shape, st.atleast_3d(st.zeros((2, 3))).shape
    ((1, 3, 1), (2, 3, 1))
    """
    return at_least(3, xs)


def vstack(xs: Sequence[Value], *, dtype: DType | None = None) -> Value:
    """The arrays `xs` below each other, vectors as rows: along the first axis.

    Dtypes meet, unless a `dtype` is given, as in `concatenate`. Raises ShapeError for no arrays, and where shapes
    differ along another axis.

    >>> st.vstack([st.tensor([1, 2]), st.tensor([[3, 4], [5, 6]])]).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    return concatenate([least(x, 2) for x in xs], axis=0, dtype=dtype)


def hstack(xs: Sequence[Value], *, dtype: DType | None = None) -> Value:
    """The arrays `xs` beside each other: along the second axis, vectors along their own.

    Dtypes meet, unless a `dtype` is given, as in `concatenate`. Raises ShapeError for no arrays, and where shapes
    differ along another axis.

    >>> st.hstack([st.tensor([1, 2]), st.tensor([3])]).tolist()
    [1, 2, 3]
    """
    wide = [least(x, 1) for x in xs]
    return concatenate(wide, axis=int(bool(wide) and wide[0].ndim > 1), dtype=dtype)


def dstack(xs: Sequence[Value]) -> Value:
    """The arrays `xs` behind each other: along the third axis, as `atleast_3d` makes them.

    Dtypes meet as in `concatenate`. Raises ShapeError for no arrays, and where shapes differ along another axis.

    >>> st.dstack([st.zeros(2), st.ones(2)]).shape
    (1, 2, 2)
    """
    return concatenate([least(x, 3) for x in xs], axis=2)


def column_stack(xs: Sequence[Value]) -> Value:
    """The vectors `xs` as columns of a matrix; arrays of more axes beside them.

    Dtypes meet as in `concatenate`. Raises ShapeError for no arrays, and where shapes differ along another axis.

    >>> st.column_stack([st.tensor([1, 2]), st.tensor([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
    return concatenate([reshape(x, (-1, 1)) if x.ndim < 2 else x for x in xs], axis=1)


def append(x: Value, values: Value, *, axis: int | None = None) -> Value:
    """The array with `values` behind it along an axis; without one the elements of both in row-major order.

    Dtypes meet as in `concatenate`. Raises ShapeError for an axis that x does not have and where shapes differ along
    another.

    >>> st.append(st.tensor([1, 2]), st.tensor([[3], [4]])).tolist()
    [1, 2, 3, 4]
    """
    return concatenate([x, values], axis=axis)


def array_split(x: Value, sections: int | Sequence[int], *, axis: int = 0) -> tuple[Value, ...]:
    """The array in so many `sections` along an axis, the first ones longer by one, or cut before each place it lists.

    NumPy's array_split, PyTorch's tensor_split; `split` takes the sizes of parts. In the dtype of x. Raises ShapeError
    for an axis that x does not have and for no sections.

    >>> [part.tolist() for part in st.array_split(st.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    >>> [part.tolist() for part in st.array_split(st.arange(5), [1, 3])]
    [[0], [1, 2], [3, 4]]
    """
    axis = axis_of(axis, x.ndim)
    if isinstance(sections, Sequence):
        spans = [None, *sections, None]
        lead = (slice(None),) * axis
        return tuple(x[(*lead, slice(a, b))] for a, b in pairwise(spans))
    n, k = number_of(x.shape[axis]), times(sections, "sections of array_split", 1)
    return split(x, [n // k + (part < n % k) for part in range(k)], axis=axis)


def chunk(x: Value, chunks: int, *, axis: int = 0) -> tuple[Value, ...]:
    """The array in as many parts as `chunks` along an axis, or fewer: all but the last have ceil(n / chunks) elements.

    In the dtype of x. Raises ShapeError for an axis that x does not have and for no chunks.

    >>> [part.tolist() for part in st.chunk(st.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
    axis = axis_of(axis, x.ndim)
    n, k = x.shape[axis], times(chunks, "chunks", 1)
    return (x,) * k if is_zero(n) else split(x, -(-n // k) if isinstance(n, int) else (n + k - 1) // k, axis=axis)


def cut_evenly(x: Value, sections: int | Sequence[int], axes: int, name: str, axis: int | None = None
               ) -> tuple[Value, ...]:
    """`array_split` whose equal parts have no rest, along the last of so many axes, or a given one."""
    if x.ndim < axes:
        raise ShapeError(f"{name} needs an array of {axes} axes or more, got {show(x.shape)}")
    axis = axes - 1 if axis is None else axis
    if not isinstance(sections, Sequence) and number_of(x.shape[axis]) % positive(sections, f"sections of {name}"):
        raise ShapeError(f"{name} into {sections} parts needs an axis that divides by it, got {show(x.shape)}",
                         hint="Write st.array_split for parts that differ by one.")
    return array_split(x, sections, axis=axis)


def hsplit(x: Value, sections: int | Sequence[int]) -> tuple[Value, ...]:
    """The array in equal `sections` along its second axis (a vector along its own), or cut before the places it lists.

    In the dtype of x. Raises ShapeError where the axis does not divide.

    >>> [part.shape for part in st.hsplit(st.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return cut_evenly(x, sections, min(max(x.ndim, 1), 2), "hsplit")


def vsplit(x: Value, sections: int | Sequence[int]) -> tuple[Value, ...]:
    """The array, of two axes or more, in equal `sections` along its first, or cut before the places it lists.

    In the dtype of x. Raises ShapeError where the axis does not divide.

    >>> [part.shape for part in st.vsplit(st.zeros((4, 2)), [1])]
    [(1, 2), (3, 2)]
    """
    return cut_evenly(x, sections, 2, "vsplit", 0)


def dsplit(x: Value, sections: int | Sequence[int]) -> tuple[Value, ...]:
    """The array in equal `sections` along its third axis, or cut before the places it lists.

    In the dtype of x. Raises ShapeError where the axis does not divide.

    >>> [part.shape for part in st.dsplit(st.zeros((2, 2, 4)), 2)]
    [(2, 2, 2), (2, 2, 2)]
    """
    return cut_evenly(x, sections, 3, "dsplit")


def unstack(x: Value, *, axis: int = 0) -> tuple[Value, ...]:
    """The parts of an array along an axis, which they lose, as a tuple: the inverse of `stack`.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> [part.tolist() for part in st.unstack(st.tensor([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    axis = axis_of(axis, x.ndim)
    rest = (*x.shape[:axis], *x.shape[axis + 1:])
    return tuple(reshape(slice_axis(x, axis, k, 1), rest) for k in range(number_of(x.shape[axis])))


def block_diag(*xs: Value) -> Value:
    """The matrices `xs` along the diagonal of one, with zeros elsewhere; a vector is a row, a number (1, 1).

    Dtypes meet as in `concatenate`. Raises ShapeError for more than two axes and for no
    arrays.

    >>> st.block_diag(st.tensor([[1, 2]]), st.tensor(3)).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """
    blocks = [least(x, 2) for x in xs]
    if not blocks or any(x.ndim > 2 for x in blocks):
        raise ShapeError(f"block_diag takes matrices, 1 or more, got {', '.join(show(x.shape) for x in xs) or 'none'}")
    widths: list[Dim] = [x.shape[1] for x in blocks]
    total = sum(widths[1:], widths[0])
    before: list[Dim] = [sum(widths[:k], 0) for k in range(len(widths))]
    return concatenate([pad_axis(x, 1, low, total - low - x.shape[1]) for x, low in zip(blocks, before)])


def places(n: Dim, change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]], asked: str) -> Value:
    """What a function of NumPy makes of the positions of an axis."""
    try:
        return Constant(change(np.arange(number_of(n))))()
    except (IndexError, ValueError) as error:
        raise BadKey(f"{asked}: {error}") from None


def rows_of(x: Value, i: Any, axis: int | None, name: str) -> tuple[Value, int, Any]:
    """An array and the axis along which it changes, flat without one; and places as NumPy takes them."""
    x, axis = (reshape(x, (-1,)), 0) if axis is None else (x, axis)
    try:
        return x, axis_of(axis, x.ndim), i if isinstance(i, slice) else np.asarray(i, bool if is_mask(i) else np.int64)
    except (TypeError, ValueError, OverflowError):
        refuse(f"places of {name}", "whole numbers, a list of them or a slice", i)


def is_mask(i: Any) -> bool:
    """Whether places are said by a list of bools."""
    return isinstance(i, Sequence) and len(i) > 0 and all(isinstance(k, bool) for k in i)   # type: ignore[reportUnknownVariableType]


def delete(x: Value, i: Places, *, axis: int | None = None) -> Value:
    """The array without its elements `i` of an axis, an int, a list or a slice (NumPy's delete); flat without an axis.

    In the dtype of x. Raises BadKey for a place that there is not.

    >>> st.delete(st.arange(5), [0, -1]).tolist(), st.delete(st.zeros((2, 3)), 1, axis=1).shape
    ([1, 2, 3], (2, 2))
    """
    x, axis, i = rows_of(x, i, axis, "delete")
    return Gather(axis)(x, places(x.shape[axis], lambda k: np.delete(k, i), "delete"))


def insert(x: Value, i: Places, values: Value, *, axis: int | None = None) -> Value:
    """The array with `values` put in before its elements `i` of an axis, an int, a list or a slice (NumPy's insert).

    Without an axis x is taken flat. values are cast to the dtype of x and broadcast. Raises BadKey for a place that
    there is not.

    >>> st.insert(st.tensor([1, 2, 3]), 1, 9).tolist()
    [1, 9, 2, 3]
    >>> st.insert(st.zeros((2, 2)), [0, 2], st.ones((2, 1)), axis=1).tolist()
    [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]
    """
    x, axis, i = rows_of(x, i, axis, "insert")
    v = reshape(cast(values, x.dtype), (*(1,) * (x.ndim - values.ndim), *values.shape))
    if not isinstance(i, slice) and i.ndim == 0:
        v = transpose(v, (*range(1, axis + 1), 0, *range(axis + 1, v.ndim)))
    n = number_of(x.shape[axis])
    many = len(range(*i.indices(n))) if isinstance(i, slice) else i.sum() if i.dtype == bool else i.size
    count = number_of(v.shape[axis]) if many == 1 else int(many)
    v = broadcast(v, (*x.shape[:axis], count, *x.shape[axis + 1:]))
    order = places(n, lambda k: np.insert(k, i, n + np.arange(count)), "insert")
    return Gather(axis)(concatenate([x, v], axis=axis), order)


def cartesian_prod(*xs: Value) -> Value:
    """Every choice of one element of each of the vectors `xs`, as rows; of one vector that vector.

    Dtypes meet as in `stack`. Raises ShapeError for other than vectors.

    >>> st.cartesian_prod(st.tensor([1, 2]), st.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    if any(x.ndim != 1 for x in xs) or not xs:
        raise ShapeError(f"cartesian_prod takes vectors, got {', '.join(show(x.shape) for x in xs) or 'none'}")
    shape = tuple(x.shape[0] for x in xs)
    wide = [broadcast(expand_dims(x, tuple(a for a in range(len(xs)) if a != k)), shape) for k, x in enumerate(xs)]
    return xs[0] if len(xs) == 1 else stack([reshape(w, (-1,)) for w in wide], axis=1)


def combinations(x: Value, *, r: int = 2, with_replacement: bool = False) -> Value:
    """Every choice of `r` elements of a vector in their order, as rows; `with_replacement` one may stand several times.

    In the dtype of x. Raises ShapeError where x is no vector, and for a negative r.

    >>> st.combinations(st.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    if x.ndim != 1:
        raise ShapeError(f"combinations takes a vector, got {show(x.shape)}")
    every = list((combinations_with_replacement if with_replacement else subsets)(
        range(number_of(x.shape[0])), whole(r, "r of combinations", 0)))
    return Gather(0)(x, Constant(np.array(every, np.int64).reshape(len(every), r))())
