"""The order of elements along an axis: sorting, choosing the first, and finding places among what is sorted."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, OneOrPair, Op, Placed, Value, literal
from stele.ir.sizes import Dim
from stele.ir.types import (
    DType,
    Type,
    axis_of,
    below,
    bool_,
    broadcast_shapes,
    float32,
    int32,
    int64,
    product,
    promote,
    same,
    show,
)
from stele.ops.along import in_line, put_along, take_along
from stele.ops.arguments import choice, whole
from stele.ops.elementwise.arithmetic import Equal, Minimum
from stele.ops.elementwise.base import Operand, meet
from stele.ops.elementwise.unary import logical_not
from stele.ops.gather import Gather
from stele.ops.generate import quantity
from stele.ops.indexing import checked
from stele.ops.linear import along, broadcast, cast, expand_dims, full, reshape, rowed, slice_axis
from stele.ops.reduction import Any as Any_
from stele.ops.shaping import moveaxis

FEW = 8
"""An order of so many times as many elements as are asked for is not worth its while."""


MOST = 2**32
"""Elements of a row whose positions take more than half a word."""


class Ordering(Op):
    """About the elements of rows, along the last axis, in ascending or `descending` order.

    NaN is larger than any number, 0.0 and -0.0 are equal, and equal elements stay in the order they have.
    """

    descending: bool = False
    family: ClassVar[str] = "ordered"

    def type(self, *x: Type) -> Type:
        needs_order(self, x[0].dtype)
        if not x[0].ndim:
            raise ShapeError(f"{self.name} needs rows (..., n), got a number")
        if isinstance(n := x[0].shape[-1], int) and n >= MOST:
            raise ShapeError(f"{self.name} orders rows of less than 2**32 elements, got {show(x[0].shape)}",
                             hint="Order parts of the row, and find their places among each other by st.searchsorted.")
        return x[0]

    def order(self, x: Array) -> Array:
        """Where the elements stand that come first, second, and so on."""
        key = ranks(x)
        return np.argsort(~key if self.descending else key, -1, kind="stable")

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (2, 3, 4)),)), (cls(True), (np.array([1, 3, 3, 2]),)), \
               (cls(), (np.array([True, False, True]),))


class Sort(Ordering):
    """The elements in order."""

    def reference(self, *x: Array) -> Array:
        return np.take_along_axis(x[0], self.order(x[0]), -1)

    def vjp(self, d: Any, g: Value, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return put_along(g, ArgSort(self.descending)(x[0]), -1, x[0].shape),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else take_along(dx[0], ArgSort(self.descending)(x[0]), -1)


class ArgSort(Ordering):
    """Where the elements stand that come first, second, and so on, as int64."""

    def type(self, *x: Type) -> Type: return super().type(*x).with_dtype(int64)
    def reference(self, *x: Array) -> Array: return self.order(x[0])


class ArgTop(Ordering):
    """Where so many elements stand that come first, in order, as int64 (..., count)."""

    count: int = 1

    def type(self, *x: Type) -> Type:
        kind = super().type(*x)
        if below(kind.shape[-1], self.count):
            raise ShapeError(f"{self.name} of {self.count} needs as many elements in a row, got {show(kind.shape)}")
        return Type(int64, (*kind.shape[:-1], self.count), kind.device)

    def reference(self, *x: Array) -> Array: return self.order(x[0])[..., :self.count]

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(False, 3), (Type(float32, (2, 3, 4)),)), (cls(True, 2), (np.array([1, 3, 3, 2]),))


class Search(Op):
    """How many elements of each sorted row x (..., n) come before each element of z (..., m), as int64 (..., m): those
    that are less, or with `right` those that are not greater."""

    right: bool
    family: ClassVar[str] = "ordered"

    def type(self, *x: Type) -> Type:
        needs_order(self, x[0].dtype)
        if x[0].ndim != x[1].ndim or not all(same(a, b) for a, b in zip(x[0].shape[:-1], x[1].shape[:-1])):
            raise ShapeError(f"{self.name} needs as many rows to search as rows of what is searched, got "
                             f"{show(x[0].shape)} and {show(x[1].shape)}")
        return x[1].with_dtype(int64)

    def reference(self, *x: Array) -> Array:
        rows, wanted = (ranks(a).reshape(math.prod(a.shape[:-1]), a.shape[-1]) for a in x)
        side = "right" if self.right else "left"
        y = [np.searchsorted(row, z, side) for row, z in zip(rows, wanted)]
        return np.array(y, np.int64).reshape(x[1].shape)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(*(along(a, n) for a in x))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        row = np.array([[-2, -1, 0, 0, 1.5], [-1, 0, 1, 2, 3]], np.float32)
        return (cls(False), (row, Type(float32, (2, 3)))), (cls(True), (row[0], Type(float32, (4,))))


def needs_order(op: Op, dtype: DType) -> None:
    """Raises DTypeError for complex numbers, which have no order."""
    if dtype.kind == "c":
        raise DTypeError(f"{op.name} needs real numbers, got {dtype}", hint="Order their real parts, or st.abs(x).")


def ranks(x: Array) -> Array:
    """Unsigned integers in the order of the elements: NaN is largest, zeros are equal."""
    bits = np.dtype(f"u{x.dtype.itemsize}")
    key, top = np.array(x, order="C").view(bits), bits.type(1 << (8 * bits.itemsize - 1))
    if x.dtype.kind in "bu":
        return key
    if x.dtype.kind == "i":
        return key ^ top
    key = np.where(x == 0, bits.type(0), key)
    key = np.where(key & top, ~key, key | top)
    return np.where(np.isnan(x), bits.type(np.iinfo(bits).max), key)


KINDS = "quicksort", "mergesort", "heapsort", "stable"       # NumPy's words


def sort(x: Value, *, axis: int | None = -1, descending: bool = False, stable: bool = True,
         return_indices: bool = False, kind: str = "stable") -> OneOrPair:
    """The elements along an axis, of the flat array for None, in ascending order, or `descending`; in the dtype of x.

    NaN is larger than any number: last of ascending, first of descending elements. 0.0 and -0.0 are equal, and equal
    elements stay in the order they have, `stable` or not and whatever `kind` NumPy is told. With `return_indices` also
    their positions, as `argsort` gives them: a pair, PyTorch's result. The gradient goes where the elements came from.
    Raises ShapeError for an axis that x does not have, DTypeError for complex numbers, OptionError for another kind
    than NumPy has.

    >>> st.sort(st.tensor([3.0, float("nan"), 1.0])).tolist()
    [1.0, 3.0, nan]
    >>> st.sort(st.tensor([[3, 1], [2, 4]]), axis=0, descending=True).tolist()
    [[3, 4], [2, 1]]
    """
    choice(kind, "kind of sort", KINDS)
    x, axis = in_line(x, axis)
    if not return_indices:
        return in_rows(Sort(descending), x, axis)
    i = in_rows(ArgSort(descending), x, axis)
    return along_axis(x, i, axis), i


def along_axis(x: Value, i: Value, axis: int) -> Value:
    """The elements at positions along an axis that are there, in the shape of these."""
    return reshape(take_along(rowed(x), rowed(i), axis), i.shape)


def argsort(x: Value, *, axis: int | None = -1, descending: bool = False, stable: bool = True, kind: str = "stable"
            ) -> Value:
    """The positions along an axis of the elements in order, as int64: x at these positions is `sort(x)`.

    Without an axis those in the flat array. Order, ties, `descending`, `stable`, `kind` and errors as of `sort`. Raises
    ShapeError for an axis that x does not have, DTypeError for complex numbers.

    >>> st.argsort(st.tensor([30, 10, 20, 10])).tolist()
    [1, 3, 2, 0]
    """
    choice(kind, "kind of argsort", KINDS)
    return in_rows(ArgSort(descending), *in_line(x, axis))


def in_rows(op: Ordering, x: Value, axis: int) -> Value:
    """An op of rows along an axis; that of a number is 0 or -1, as PyTorch has it."""
    row = rowed(x)
    return reshape(moveaxis(op(moveaxis(row, axis, row.ndim - 1)), row.ndim - 1, axis), ()) if not x.ndim else \
        moveaxis(op(moveaxis(x, axis, x.ndim - 1)), x.ndim - 1, axis)


class TopK(NamedTuple):
    """The first elements of an order, and where they stand."""

    values: Value
    indices: Value


def topk(x: Value, k: int, *, axis: int = -1, largest: bool = True, sorted: bool = True) -> TopK:
    """The `k` largest elements along an axis, largest first, and their positions; or the smallest, not `largest`.

    Both have the shape of x but for k along the axis; positions are int64. NaN counts as largest, and of equal elements
    the first come first; in order, `sorted` or not. Of a number, along axis 0 or -1, it is itself where k is 1. Raises
    ShapeError for an axis that x does not have, and unless k is from 0 to its length.

    >>> values, positions = st.topk(st.tensor([1.0, 9.0, 3.0, 9.0]), 3)
    >>> values.tolist(), positions.tolist()
    ([9.0, 9.0, 3.0], [1, 3, 2])
    """
    row = rowed(x)
    axis = axis_of(axis, row.ndim)
    n = row.shape[axis]
    k = whole(k, "k of topk", 0, n if isinstance(n, int) else None)
    i = first(row, axis, k, largest)
    i = i if x.ndim or k == 0 else reshape(i, ())
    return TopK(along_axis(x, i, axis), i)


def first(x: Value, axis: int, k: int, descending: bool = False) -> Value:
    """Positions along an axis of the k elements that come first in order."""
    n = x.shape[axis]
    if isinstance(n, int) and 0 < FEW * k <= n:
        return in_rows(ArgTop(descending, k), x, axis)
    return slice_axis(in_rows(ArgSort(descending), x, axis), axis, 0, k)


def top_k(x: Value, k: int, *, axis: int = -1, mode: str = "largest") -> TopK:
    """The `k` elements along an axis that are the "largest", or the "smallest" in another `mode`, and their indices.

    Shapes, dtypes, order and errors are those of `topk`; this is what the array API standard's draft calls it. Raises
    OptionError for another mode.

    >>> st.top_k(st.tensor([1.0, 9.0, 3.0]), 2).indices.tolist()
    [1, 2]
    >>> st.top_k(st.tensor([1.0, 9.0, 3.0]), 2, mode="smallest").values.tolist()
    [1.0, 3.0]
    """
    return TopK(*topk(x, k, axis=axis, largest=choice(mode, "mode of top_k", ("largest", "smallest")) == "largest"))


def kthvalue(x: Value, k: int, *, axis: int = -1, keepdims: bool = False) -> tuple[Value, Value]:
    """The element along an axis that is the `k`-th in ascending order, from 1 on, and its position, as int64.

    The axis is dropped, or left with length 1 by `keepdims`. Order as of `sort`. Raises ShapeError unless k is from 1
    to the length of the axis.

    >>> value, position = st.kthvalue(st.tensor([30.0, 10.0, 20.0]), 2)
    >>> float(value), int(position)
    (20.0, 2)
    """
    row = rowed(x)
    axis = axis_of(axis, row.ndim)
    n = row.shape[axis]
    k = whole(k, "k of kthvalue", 1, n if isinstance(n, int) else None)
    i = slice_axis(first(row, axis, k), axis, k - 1, 1)
    i = reshape(i, i.shape if keepdims and x.ndim else (*x.shape[:axis], *x.shape[axis + 1:]))
    return reshape(take_along(row, i if keepdims and x.ndim else expand_dims(i, (axis,)), axis), i.shape), i


def searchsorted(x: Value, z: Operand, *, side: str = "left", sorter: Value | None = None, right: bool = False,
                 out_int32: bool = False) -> Value:
    """Where the elements of `z` would go into sorted x so that it stays sorted: positions from 0 to n, as int64.

    Of equal elements in front of the first ("left") or behind the last (`side` "right", PyTorch's `right`). x is one
    row (n,), in ascending order, or in that of the positions `sorter`; z has any shape, which is that of the result.
    Rows x (..., n) are searched for rows z (..., m) each (PyTorch's form). Order as of `sort`; dtypes meet as in `add`.
    int32 with `out_int32`. Raises OptionError for another side, and ShapeError for a number x and for other numbers of
    rows.

    >>> x = st.tensor([10, 20, 20, 30])
    >>> st.searchsorted(x, st.tensor([20, 35])).tolist(), st.searchsorted(x, 20, side="right").tolist()
    ([1, 4], 3)
    """
    is_right = choice(side, "side", ("left", "right")) == "right" or right
    if not x.ndim:
        raise ShapeError("searchsorted needs a sorted row (n,), got a number")
    x, z = operands_of(x, z)
    if sorter is not None:
        if sorter.ndim != x.ndim or not all(map(same, sorter.shape, x.shape)):
            raise ShapeError(f"sorter of searchsorted needs a position for each of {show(x.shape)} elements, got "
                             f"{show(sorter.shape)}")
        x = take_along(x, checked(sorter, x.shape[-1]), x.ndim - 1)
    y = reshape(Search(is_right)(x, reshape(z, (-1,)) if x.ndim == 1 else z), z.shape)
    return cast(y, int32) if out_int32 else y


def bucketize(x: Operand, boundaries: Value, *, out_int32: bool = False, right: bool = False) -> Value:
    """The number of the bucket that each element of x falls into, between ascending `boundaries` (n,), from 0 to n.

    `searchsorted(boundaries, x)` with PyTorch's order of arguments: bucket k holds what is above boundary k - 1 and not
    above boundary k, with `right` what is below it and not below k - 1. int64, or int32 with `out_int32`. Raises
    ShapeError unless boundaries are one row, DTypeError for complex numbers.

    >>> st.bucketize(st.tensor([1, 5, 9]), st.tensor([1, 5])).tolist()
    [0, 1, 2]
    """
    return searchsorted(boundaries, x, right=right, out_int32=out_int32)


def isin(x: Operand, z: Operand, *, assume_unique: bool = False, invert: bool = False) -> Value:
    """Whether each element of x is one of the elements of `z`, or with `invert` none of them, as bools in x's shape.

    NaN is no element of anything. Dtypes meet as in `equal`; `assume_unique` changes nothing. One of both is an array.
    Raises DTypeError for what is no number.

    >>> st.isin(st.tensor([[1, 2], [3, 4]]), st.tensor([4, 1])).tolist()
    [[True, False], [False, True]]
    """
    x, z = operands_of(x, z)
    if same(product(z.shape), 0):
        return full(x.shape, invert, bool_)
    if x.dtype.kind == "c":
        is_one = Any_((x.ndim,))(Equal()(expand_dims(x, (x.ndim,)), reshape(z, (-1,))))
        return logical_not(is_one) if invert else is_one
    row, wanted = Sort()(reshape(z, (-1,))), reshape(x, (-1,))
    at = Minimum()(Search(False)(row, wanted), quantity(row.shape[0] - 1))
    found = reshape(Equal()(Gather(0)(row, at), wanted), x.shape)
    return logical_not(found) if invert else found


def operands_of(x: Operand, z: Operand) -> tuple[Value, Value]:
    """Two operands in the dtype they meet in, each in its own shape."""
    x, z = (a if isinstance(a, Value) else meet((literal(0, b.dtype), a))[1] if isinstance(b, Value) else literal(a)
            for a, b in ((x, z), (z, x)))
    dtype = promote(x.dtype, z.dtype)
    return cast(x, dtype), cast(z, dtype)


def take_along_axis(x: Value, i: Value, *, axis: int | None = -1) -> Value:
    """The elements of x at the positions `i` along an axis, an own position for each place beside it.

    y[a, k, b] = x[a, i[a, k, b], b] for an axis in the middle: `argsort` gives such positions. x and i broadcast
    against each other beside the axis; negative positions count from the end; with None for the axis both are taken
    flat. Positions named twice sum their gradients. Raises ShapeError where the numbers of axes differ, DTypeError for
    other than integers and, when run, IndexOutOfRange for a position outside of the axis.

    >>> x = st.tensor([[30, 10, 20], [1, 3, 2]])
    >>> st.take_along_axis(x, st.argsort(x), axis=1).tolist()
    [[10, 20, 30], [1, 2, 3]]
    """
    if axis is None:
        x, i, axis = reshape(x, (-1,)), reshape(i, (-1,)), 0
    if x.ndim != i.ndim:
        raise ShapeError(f"take_along_axis needs as many axes of i as of x, got {show(i.shape)} and {show(x.shape)}",
                         hint="For the same positions everywhere write st.take(x, i, axis=axis).")
    axis = axis_of(axis, x.ndim)
    beside = broadcast_shapes(*((*v.shape[:axis], 1, *v.shape[axis + 1:]) for v in (x, i)))
    x, i = (broadcast(v, (*beside[:axis], v.shape[axis], *beside[axis + 1:])) for v in (x, i))
    return take_along(x, checked(i, x.shape[axis]), axis)


ALL = (Sort, ArgSort, ArgTop, Search)
