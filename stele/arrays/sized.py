"""Functions whose results are as long as the numbers say: imperatively as they come, in programs of a stated size."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NamedTuple, overload

import numpy as np

from stele.arrays import shapes
from stele.arrays.calling import respelling
from stele.arrays.creation import full
from stele.arrays.functions import broadcast_arrays, stack, take
from stele.arrays.opensize import opened, plain
from stele.arrays.tensor import Tensor, TensorLike, arithmetic, constant, lift, tensor
from stele.eager.evaluate import evaluate
from stele.eager.handle import TRACING
from stele.errors import ArgumentError, DTypeError, ShapeError
from stele.ir import types
from stele.ir.door import public
from stele.ops import arguments, counting, shaping
from stele.ops.elementwise import binary

__all__ = ["argwhere", "bincount", "broadcast_shapes", "masked_select", "nonzero", "repeat", "tril_indices",
           "triu_indices", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
           "where"]

LONGEST = 1 << 31       # side of a matrix whose indices are asked for

places, weighed = lift(counting.nonzero), lift(counting.bincount)
repeated, sources = lift(shaping.repeat), lift(counting.sources)
distinct, distinct_values = lift(counting.distinct), lift(counting.distinct_values)
selected = arithmetic(binary.where)
SAID = "Say how many there are at most: {}, in which what is left is filled."


class UniqueAll(NamedTuple):
    """Distinct elements, where each was first, the array in their numbers, and how often each is."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Distinct elements, and how often each is."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Distinct elements, and the array in their numbers."""

    values: Tensor
    inverse_indices: Tensor


def room(size: Any, what: str) -> Any:
    """A stated size."""
    return arguments.size(plain(size), f"size of {what}")


def counted(count: Tensor, what: str) -> int:
    """How many were found; where that is known only when a program runs, the error says what to write."""
    return int(count.one(f"the size of what {what} finds", "", SAID.format(f"st.{what}(x, size=n)")))


def at_once(*found: Tensor) -> None:
    """Numbers for all that was found, which shares most of its work, outside of compiled functions."""
    if TRACING.get() is None:
        evaluate([t.value for t in found])


def first(x: Tensor, n: int) -> Tensor:
    """The first elements of a row whose numbers are there, as a tensor of its own: its length makes no program."""
    return tensor(x.numpy()[:n].copy(), device=x.device)


@public
def nonzero(x: TensorLike, size: int | None = None, fill: int = 0) -> tuple[Tensor, ...]:
    """The positions of the elements of x that are not 0: for each axis a row of int64, in row-major order.

    As long as there are such elements. In a compiled function that is not known beforehand: there `size` says how long
    the rows are, `fill` what stands behind those that there are. Raises ShapeError for an array of no axes and, when
    run, where there are more than size; TraceError in a compiled function without a size.

    >>> rows, columns = st.nonzero(st.tensor([[0, 7], [8, 0], [0, 9]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1, 2], [1, 0, 1])
    >>> st.compile(lambda x: st.nonzero(x, size=3, fill=-1))(st.tensor([0, 5, 5, 0]))[0].tolist()
    [1, 2, -1]
    """
    x, fill = constant(x), arguments.whole(fill, "fill of nonzero")
    if size is not None or not x.ndim:
        return places(x, room(0 if size is None else size, "nonzero"), fill)
    rows, count = places(x, x.size, fill), counting_of(x)
    at_once(*rows, count)
    n = counted(count, "nonzero")
    return tuple(first(row, n) for row in rows)


counting_of = lift(counting.count_nonzero)


@overload
def where(condition: TensorLike) -> tuple[Tensor, ...]: ...
@overload
def where(condition: TensorLike, x: TensorLike, z: TensorLike) -> Tensor: ...
@public
@respelling
def where(condition: TensorLike, x: TensorLike | None = None, z: TensorLike | None = None
          ) -> Tensor | tuple[Tensor, ...]:
    """The elements of x where the condition holds, else those of z: where(condition, x, z), all three broadcast.

    x and z meet in one dtype, as in `add`; a condition of numbers holds where they are not 0. Both sides are computed,
    and a zero gradient times inf is NaN: where one side is not defined, choose its argument first. Without x and z
    it is `nonzero(condition)`, the places where it holds. Raises ArgumentError for one of the two alone.

    >>> x = st.tensor([-1.0, 4.0])
    >>> st.where(x > 0, st.sqrt(st.where(x > 0, x, 1.0)), 0.0).tolist()
    [0.0, 2.0]
    >>> st.where(x > 0)[0].tolist()
    [1]
    """
    if x is z is None:
        return nonzero(condition)
    if x is None or z is None:
        raise ArgumentError("where takes a condition and two operands, or a condition alone: got one operand",
                            hint="Write st.where(x > 0, x, 0), or st.where(x > 0) for the places.")
    return selected(condition, x, z)


@public
def argwhere(x: TensorLike, size: int | None = None, fill: int = 0) -> Tensor:
    """The positions of the elements of x that are not 0, each a row: int64 (how many, x.ndim), in row-major order.

    What `nonzero` finds, as one array; `size`, `fill` and errors are its own. A number has no axes: (0, 0) or (1, 0).
    Raises ShapeError for a negative size, DTypeError for what is no number.

    >>> st.argwhere(st.tensor([[0, 7], [8, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    x = constant(x)
    rows = stack(nonzero(x if x.ndim else x.reshape(1), size, fill), axis=1)
    return rows if x.ndim else rows[:, :0]


def known(x: TensorLike, size: int | None, what: str, axis: int | None = None) -> tuple[Tensor, ...]:
    """Distinct elements, or parts along an axis, and all that is known of them."""
    x = constant(x)
    axis = None if axis is None else types.axis_of(arguments.whole(axis, f"axis of {what}"), x.ndim)
    if size is not None:
        return distinct(x, room(size, what), axis)[:4]
    values, indices, inverse, counts, count = distinct(x, x.size if axis is None else x.shape[axis], axis)
    at_once(values, indices, inverse, counts, count)
    n = counted(count, what)
    indices = first(indices, n)
    values = take(x, indices, axis) if axis is not None or x.requires_grad else first(values, n)
    return values, indices, inverse, first(counts, n)


@public
@respelling
def unique(x: TensorLike, *, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, size: int | None = None, sorted: bool = True) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements of x in ascending order, a row; or the distinct parts along an axis, in order of rows.

    With `return_index`, `return_inverse` or `return_counts` a tuple (NumPy's and PyTorch's): the elements, where each
    stands first, in their numbers each element of x, in its shape, or each part of the axis, and how often each is
    there. In order, `sorted` or not. `size` and errors as of `unique_all`; BadAxis for an axis that x does not have.
    The elements have the dtype of x, positions and counts are int64.

    >>> values, counts = st.unique(st.tensor([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    >>> st.unique(st.tensor([[2, 1], [1, 9], [2, 1]]), axis=0).tolist()
    [[1, 9], [2, 1]]
    """
    is_asked = [arguments.flag(a, "return_index, return_inverse and return_counts of unique")
                for a in (return_index, return_inverse, return_counts)]
    if axis is None and True not in is_asked:
        return alone(x, size, "unique")
    values, *more = known(x, size, "unique", axis)
    return (values, *compress(more, is_asked)) if True in is_asked else values


def alone(x: TensorLike, size: int | None, what: str) -> Tensor:
    """The distinct elements without their places, which cost as much again."""
    x = constant(x)
    if size is not None:
        return distinct_values(x, room(size, what))[0]
    if x.requires_grad:
        return known(x, None, what)[0]
    values, count = distinct_values(x, x.size)
    at_once(values, count)
    return first(values, counted(count, what))


@public
def unique_all(x: TensorLike, size: int | None = None) -> UniqueAll:
    """The distinct elements of x in ascending order, with `indices`, `inverse_indices` and `counts`.

    indices say where each stands first in the flat array, inverse_indices (in the shape of x) which of them each
    element of x is, counts how often each is there, all of int64. NaN is distinct from NaN, 0.0 equal to -0.0. In a
    compiled function `size` says how many there are at most: behind those that there are stands the smallest again, 0
    times. Raises ShapeError, when run, where there are more; TraceError in a compiled function without a size.

    >>> found = st.unique_all(st.tensor([3, 1, 3, 3]))
    >>> found.values.tolist(), found.indices.tolist(), found.inverse_indices.tolist(), found.counts.tolist()
    ([1, 3], [1, 0], [1, 0, 1, 1], [1, 3])
    """
    return UniqueAll(*known(x, size, "unique_all"))


@public
def unique_counts(x: TensorLike, size: int | None = None) -> UniqueCounts:
    """The distinct elements of x in ascending order, and how often each is there, as int64.

    Order, `size` and errors as of `unique_all`. x has any shape. Raises ShapeError for a negative size, DTypeError for
    what is no number.

    >>> st.unique_counts(st.tensor([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    found = known(x, size, "unique_counts")
    return UniqueCounts(found[0], found[3])


@public
def unique_inverse(x: TensorLike, size: int | None = None) -> UniqueInverse:
    """The distinct elements of x in ascending order, and which of them each element of x is, as int64 in its shape.

    Order, `size` and errors as of `unique_all`. Raises ShapeError for a negative size, DTypeError for what is no
    number.

    >>> st.unique_inverse(st.tensor([[3, 1], [3, 9]])).inverse_indices.tolist()
    [[1, 0], [1, 2]]
    """
    found = known(x, size, "unique_inverse")
    return UniqueInverse(found[0], found[2])


@public
def unique_values(x: TensorLike, size: int | None = None) -> Tensor:
    """The distinct elements of x in ascending order, a row in the dtype of x.

    Order, `size` and errors as of `unique_all`. Raises ShapeError for a negative size, DTypeError for what is no
    number.

    >>> st.unique_values(st.tensor([3, 1, 3])).tolist()
    [1, 3]
    """
    return alone(x, size, "unique_values")


@public
def bincount(x: TensorLike, weights: TensorLike | None = None, minlength: int = 0, size: int | None = None) -> Tensor:
    """How often each of 0, 1, ... is among the integers x (n,), as int64; or the sums of their `weights` (n,).

    As long as the largest of x says, at least `minlength`; in a compiled function `size` says how long. Raises
    ShapeError for other than one axis, DTypeError for other than integers, IndexOutOfRange for negative ones and, when
    run, for those that size leaves no room for; TraceError in a compiled function without a size.

    >>> st.bincount(st.tensor([0, 2, 2])).tolist()
    [1, 0, 2]
    >>> st.bincount(st.tensor([0, 2, 2]), st.tensor([0.5, 1.0, 2.0]), minlength=4).tolist()
    [0.5, 0.0, 3.0, 0.0]
    """
    x, least = constant(x), arguments.whole(minlength, "minlength of bincount", 0)
    if size is None:
        is_whole = x.dtype.kind in "iu"     # of others `weighed` says what is wrong
        size = max(least, counted(x.max() + 1, "bincount") if x.size and is_whole else 0)
    return weighed(x, weights, room(size, "bincount"))


@public
@respelling
def repeat(x: TensorLike, repeats: int | Sequence[int] | Tensor, axis: int | None = None, size: int | None = None
           ) -> Tensor:
    """A tensor with each element of an axis as often as `repeats` says, one beside the other, as NumPy's repeat.

    repeats is one number for all, or an array of one for each element. Without an axis x is taken flat. The length that
    an array makes depends on its numbers, which are looked at; in a compiled function `size` says how long it is, and
    what is left is filled with the last element. In the dtype of x. Raises ShapeError for negative numbers, for another
    number of them and, when run, where they add up to more than size.

    >>> st.repeat(st.tensor([[1, 2], [3, 4]]), 2, axis=1).tolist()
    [[1, 1, 2, 2], [3, 3, 4, 4]]
    >>> st.repeat(st.tensor([1, 2, 3]), [2, 0, 1]).tolist()
    [1, 1, 3]
    """
    x, times = constant(x), constant(repeats) if isinstance(repeats, Tensor | np.ndarray | list | tuple) else None
    if times is not None and times.size and times.dtype.kind not in "iu":
        arguments.refuse("repeats of repeat", "whole numbers", repeats)
    if times is None or times.size == 1:
        return repeated(x, repeats if times is None else int(times), axis)
    axis = None if axis is None else types.axis_of(arguments.whole(axis, "axis of repeat"), x.ndim)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    if size is not None:
        if times.shape != (x.shape[axis],):
            raise ShapeError(f"repeat needs one number for each of {x.shape[axis]} elements, got {times.shape}")
        if (long := room(size, "repeat")) and x.shape[axis] == 0:
            raise ShapeError(f"repeat of no elements fills no {long}: there is no last one", hint="Write size=0.")
        return take(x, sources(times, long), axis=axis)
    counts = times.read("repeats of repeat", SAID.format("st.repeat(x, repeats, axis, size=n)"))
    if counts.shape != (x.shape[axis],) or (counts < 0).any():
        raise ShapeError(f"repeat needs one number of 0 or more for each of {x.shape[axis]} elements, got {counts}")
    return take(x, np.repeat(np.arange(counts.size), counts.astype(np.int64)), axis=axis)


@public
def masked_select(x: TensorLike, mask: TensorLike, size: int | None = None, fill: complex = 0) -> Tensor:
    """The elements of x where `mask` is true, in row-major order, as a vector; both broadcast against each other.

    As long as there are such elements; in a compiled function that is not known beforehand: there `size` says how long,
    `fill` what stands behind those that there are. Raises DTypeError for other than a bool mask and, when run,
    ShapeError where there are more than size.

    >>> x = st.tensor([[1, 2], [3, 4]])
    >>> st.masked_select(x, x > 1).tolist(), st.masked_select(x, st.tensor([True, False])).tolist()
    ([2, 3, 4], [1, 3])
    """
    mask = constant(mask)
    if mask.dtype != "bool":
        raise DTypeError(f"masked_select needs a bool mask, got {mask.dtype}", hint="Write mask != 0.")
    whole, places = broadcast_arrays(constant(x), mask)
    if size is None:
        return whole[places]
    (at,) = nonzero(places.reshape(-1), size, -1)
    if whole.size == 0:
        return full((room(size, "masked_select"),), fill, whole.dtype)
    return where(at < 0, fill, whole.reshape(-1)[at]).astype(whole.dtype)


@public
def broadcast_shapes(*given: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of all the `given` shapes broadcast to. Raises ShapeError where they do not fit.

    >>> st.broadcast_shapes((3, 1), (4,), 1)
    (3, 4)
    """
    return tuple(map(opened, types.broadcast_shapes((), *(shapes.shape_of((shape,)) for shape in given))))


@public
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and the columns of the lower triangle of a matrix (`n`, `m`): on and below diagonal `k`.

    A matrix without m is square. Both are int64, of one length. Raises ShapeError for a negative n or m.

    >>> [i.tolist() for i in st.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return corner(np.tril_indices, n, k, m)


@public
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and the columns of the upper triangle of a matrix (`n`, `m`): on and above diagonal `k`.

    A matrix without m is square. Both are int64, of one length. Raises ShapeError for a negative n or m.

    >>> [i.tolist() for i in st.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return corner(np.triu_indices, n, k, m)


def corner(f: Callable[..., Any], n: int, k: int, m: int | None) -> tuple[Tensor, Tensor]:
    """What a function of NumPy says of the triangles of matrices of a size."""
    high = arguments.whole(n, "n of a triangle", 0, LONGEST)
    wide = high if m is None else arguments.whole(m, "m of a triangle", 0, LONGEST)
    rows, columns = f(high, arguments.whole(k, "k of a triangle", -LONGEST, LONGEST), wide)
    return tensor(rows), tensor(columns)
