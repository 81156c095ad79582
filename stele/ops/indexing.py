"""Reading and replacing parts of an array: x[key] and x[key] = v."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

from stele.errors import DTypeError, IndexOutOfRange, ShapeError
from stele.ir.graph import Value, literal
from stele.ir.sizes import Dim, Size
from stele.ir.types import Shape, axis_of, below, bool_, int64, number_of, product, show
from stele.ops.elementwise.arithmetic import Equal, Maximum, Select
from stele.ops.elementwise.base import meet
from stele.ops.gather import CheckIndex, Gather
from stele.ops.generate import extent, iota
from stele.ops.linear import Slice, broadcast, cast, expand_dims, full, reshape, transpose
from stele.ops.reduction import Max

Key = int | slice | None | EllipsisType | Value | tuple[Any, ...]


@dataclass
class Selection:
    """A key taken apart: a slice of every axis, the axes of the result (None is new), and integer arrays by axis."""

    starts: list[Dim] = field(default_factory=list[Dim])
    shape:  list[Dim] = field(default_factory=list[Dim])
    steps:  list[int] = field(default_factory=list[int])
    layout: list[int | None] = field(default_factory=list[int | None])
    arrays: dict[int, Value] = field(default_factory=dict[int, Value])

    def part(self, x: Value) -> Value:
        """What the slices leave of x, without the axes that ints drop."""
        sliced = x if self.is_whole(x) else self.slice()(x)
        return reshape(sliced, tuple(self.shape[a] for a in self.layout if a is not None))

    def slice(self) -> Slice:
        return Slice(tuple(self.starts), tuple(self.shape), tuple(self.steps))

    def is_whole(self, x: Value) -> bool:
        """Whether the slices leave x as it is."""
        return all(s == 0 for s in self.starts) and all(s == 1 for s in self.steps) and tuple(self.shape) == x.shape

    def result(self, inner: Shape = ()) -> Shape:
        """The shape of the result: `inner` in the place of the arrays, or in front where something parts them."""
        places = [k for k, a in enumerate(self.layout) if a in self.arrays]
        dims = [(1 if a is None else self.shape[a],) for a in self.layout if a not in self.arrays]
        at = places[0] if places and not self.is_apart() else 0
        return tuple(n for part in (*dims[:at], inner, *dims[at:]) for n in part)

    def is_apart(self) -> bool:
        """Whether something stands between the arrays of the key."""
        places = [k for k, a in enumerate(self.layout) if a in self.arrays]
        return bool(places) and places[-1] - places[0] >= len(places)


def index(x: Value, key: Key) -> Value:
    """The part x[key], for ints, slices, None, Ellipsis and integer arrays; negative positions count from the end.

    Arrays broadcast against each other; their axes stand where they stood, or in front where slices part them. Raises
    IndexOutOfRange for an int outside of its axis at once, for an array when run, and DTypeError for a bool mask, whose
    result would have a length that depends on numbers.

    >>> x = st.arange(12).reshape(3, 4)
    >>> x[0, 1::2].tolist(), x[-1, None].shape, x[st.tensor([2, 0]), 1].tolist()
    ([1, 3], (1, 4), [9, 1])
    """
    selection = taken_apart(x, key)
    part = selection.part(x)
    if not selection.arrays:
        return reshape(part, selection.result())
    kept = [a for a in selection.layout if a is not None]
    axes = [kept.index(a) for a in selection.arrays]
    if selection.is_apart():
        part = transpose(part, (*axes, *(k for k in range(part.ndim) if k not in axes)))
        axes = list(range(len(axes)))
    y, inner = gathered(part, axes[0], list(selection.arrays.values()))
    return reshape(y, selection.result(inner))


def taken_apart(x: Value, key: Key) -> Selection:
    """What a key says of each axis of x."""
    entries = list(key) if isinstance(key, tuple) else [key]
    used = sum(e is not None and e is not Ellipsis for e in entries)
    if used > x.ndim:
        raise ShapeError(f"{used} indices for an array of {x.ndim} axes {show(x.shape)}")
    spread = [k for k, e in enumerate(entries) if e is Ellipsis] or [len(entries)]
    if len(spread) > 1:
        raise ShapeError("an index has at most one ...")
    entries[spread[0]: spread[0] + 1] = [slice(None)] * (x.ndim - used)
    selection = Selection()
    for e in entries:
        note(selection, e, x)
    return selection


def note(selection: Selection, e: Any, x: Value) -> None:
    """One entry of a key, noted for the axis it meets."""
    axis = len(selection.starts)
    match e:
        case None:
            selection.layout.append(None)
            return
        case bool():
            raise DTypeError("an index cannot be True or False", hint="Write st.where(condition, x, other).")
        case slice():
            start, length, step = bounds(e, x.shape[axis])  # type: ignore[arg-type]
            selection.layout.append(axis)
        case Value():
            if e.dtype == bool_:
                raise DTypeError(f"x[mask] has a shape that depends on numbers, mask is {e.type}",
                                 hint="Write st.where(mask, x, other).")
            start, length, step = 0, x.shape[axis], 1
            selection.arrays[axis] = e
            selection.layout.append(axis)
        case _:
            start, length, step = position(e, axis, x.shape), 1, 1
    selection.starts.append(start)
    selection.shape.append(length)
    selection.steps.append(step)


def bounds(s: slice, n: Dim) -> tuple[Dim, Dim, int]:
    """Start, length and step of a slice of an axis of n."""
    step = 1 if s.step is None else number_of(dim(s.step))
    if step == 0:
        raise ShapeError("a slice needs a step other than 0")
    if s.start is None and s.stop is None:
        return (0 if step > 0 else n - 1), (n if step == 1 else (n + abs(step) - 1) // abs(step)), step
    low, high = (0, n) if step > 0 else (-1, n - 1)
    start, stop = (end if e is None else clipped(dim(e), n, low, high)
                   for e, end in ((s.start, low if step > 0 else high), (s.stop, high if step > 0 else low)))
    way = stop - start if step > 0 else start - stop
    if below(way, 0 if abs(step) == 1 else 1):      # what stands between elements is counted from the first
        return 0, 0, step
    return start, (way + abs(step) - 1) // abs(step), step


def clipped(e: Dim, n: Dim, low: Dim, high: Dim) -> Dim:
    """A bound of a slice of an axis of n, counted from the end where it is negative, within the axis."""
    e = e + n if below(e, 0) else e
    return low if below(e, low) else high if below(high, e) else e


def dim(e: Any) -> Dim:
    """A bound or a position as a dimension."""
    try:
        return e if isinstance(e, Size) else operator.index(e)
    except TypeError:
        raise DTypeError(f"an index is an int, a slice, None, ... or an integer array, "
                         f"got {type(e).__name__}: {e!r:.40}") from None


def position(e: Any, axis: int, shape: Shape) -> Dim:
    """Where one element of an axis stands; negative counts from the end."""
    k, n = dim(e), shape[axis]
    place = k + n if below(k, 0) else k
    if below(place, 0) or not below(place, n):
        raise IndexOutOfRange(f"index {k} is out of range for axis {axis} of {show(shape)}")
    return place


def gathered(x: Value, first: int, arrays: Sequence[Value]) -> tuple[Value, Shape]:
    """x read at integer arrays on the axes from `first` on, broadcast against each other, and their shape."""
    sizes = x.shape[first: first + len(arrays)]
    parts = [wrapped(i, n) for i, n in zip(arrays, sizes)]
    if len(parts) == 1:
        return Gather(first)(x, parts[0]), parts[0].shape
    parts = meet([cast(CheckIndex(n)(i), int64) for i, n in zip(parts, sizes)])
    flat = parts[0]
    for n, part in zip(sizes[1:], parts[1:]):
        flat = flat * number(n) + part
    merged = reshape(x, (*x.shape[:first], product(sizes), *x.shape[first + len(sizes):]))
    return Gather(first)(merged, flat), flat.shape


def wrapped(i: Value, n: Dim) -> Value:
    """Positions with negative ones counted from the end; unsigned ones as they are."""
    if i.dtype.kind not in "iu":
        raise DTypeError(f"an index array needs an integer dtype, got {i.type}",
                         hint="Convert with .astype('int64').")
    if i.dtype.kind == "u":
        return i
    i = i if i.dtype.bits >= 32 else cast(i, int64)
    return Select()(i < 0, i + number(n), i)


def number(n: Dim) -> int | Value:
    """A dimension as an operand."""
    return n if isinstance(n, int) else extent(n)


def take(x: Value, i: Value, *, axis: int = 0) -> Value:
    """The elements `i` of an axis: x.shape[:axis] + i.shape + x.shape[axis+1:]; negative ones count from the end.

    Elements named twice sum their gradients. Raises DTypeError for other than integers and, when run, IndexOutOfRange
    for an index outside of the axis.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.take(x, st.tensor([0, -1]), axis=1).tolist()
    [[1, 3], [4, 6]]
    >>> st.take(x, st.tensor([[0, 1], [1, 1]])).shape
    (2, 2, 3)
    """
    axis = axis_of(axis, x.ndim)
    return Gather(axis)(x, wrapped(i, x.shape[axis]))


def embedding(table: Value, i: Value) -> Value:
    """The rows `i` of a `table` (rows, width), integers of any shape: i.shape + (width,), in the table's dtype.

    Rows named twice sum their gradients. Raises DTypeError for other than integers and, when run, IndexOutOfRange for a
    row outside of 0 .. rows - 1; `take` counts negative ones from the end.

    >>> table = st.tensor([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]])
    >>> st.embedding(table, st.tensor([2, 0, 2])).tolist()
    [[2.0, 2.5], [0.0, 0.5], [2.0, 2.5]]
    """
    return Gather(0)(table, i)


def set_index(x: Value, v: Any, *, key: Key) -> Value:
    """x with x[key] replaced by v, broadcast: a key of `index`, with an integer array alone, or a bool mask.

    Where an integer array names an element twice the last one stays.
    """
    if isinstance(key, Value) and key.dtype == bool_:
        return Select()(expand_dims(key, tuple(range(key.ndim, x.ndim))), cast_like(v, x), x)
    selection = taken_apart(x, key)
    if selection.arrays:
        return set_rows(x, v, selection)
    v = cast_like(v, x)
    region = reshape(broadcast(v, selection.result()), tuple(selection.shape))
    if selection.is_whole(x):
        return region
    here = full(region.shape, True, bool_)
    (inside,), (moved,) = (selection.slice().vjp(None, part, x, x) for part in (here, region))
    return Select()(inside, moved, x)


def set_rows(x: Value, v: Any, selection: Selection) -> Value:
    """x with the elements named by one integer array on one axis replaced: the last that names an element stays."""
    if len(selection.arrays) > 1 or not selection.is_whole(x) or selection.layout != list(range(x.ndim)):
        raise ShapeError("x[key] = v takes one integer array and whole axes beside it",
                         hint="Write st.where(mask, v, x) for other places.")
    ((axis, i),) = selection.arrays.items()
    n = x.shape[axis]
    order = reshape(CheckIndex(n)(wrapped(i, n)), (-1,))
    k = order.shape[0]
    match = Equal()(reshape(iota(n), (-1, 1)), reshape(order, (1, -1)))
    last = Max((1,))(Select()(match, reshape(iota(k), (1, -1)), -1))
    rows = broadcast(cast_like(v, x), (*x.shape[:axis], *i.shape, *x.shape[axis + 1:]))
    rows = reshape(rows, (*x.shape[:axis], k, *x.shape[axis + 1:]))
    named = reshape(last >= 0, tuple(n if a == axis else 1 for a in range(x.ndim)))
    return Select()(named, Gather(axis)(rows, Maximum()(last, 0)), x)


def cast_like(v: Any, x: Value) -> Value:
    """An operand in the dtype of x."""
    return cast(v, x.dtype) if isinstance(v, Value) else literal(v, x.dtype)
