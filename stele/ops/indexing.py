"""Reading and replacing parts of an array: x[key] and x[key] = v."""
from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

import numpy as np

from stele.errors import BadKey, DTypeError, IndexOutOfRange, ShapeError
from stele.ir.graph import Array, Constant, Value, literal
from stele.ir.sizes import Dim, Size
from stele.ir.types import Shape, below, bool_, int64, is_zero, number_of, product, show
from stele.ops.arguments import choice
from stele.ops.elementwise.arithmetic import Maximum, Minimum, Select
from stele.ops.elementwise.base import meet
from stele.ops.elementwise.binary import Remainder
from stele.ops.gather import CheckIndex, Gather, ScatterOnto, ScatterPut, from_beginning
from stele.ops.generate import factor
from stele.ops.linear import Slice, broadcast, cast, full, reshape, transpose

LARGE = 1 << 16
"""Elements of an array from which on few of them are written where they lie: less is part of other kernels."""
MANY = 1 << 10
"""Places that a program holds as numbers, at most."""
Key = int | slice | None | EllipsisType | Value | tuple[Any, ...]


@dataclass
class Selection:
    """A key taken apart: a slice of every axis, the axes of the result (None is new), arrays by axis, and of each entry
    in order whether it is an array or an int.
    """

    starts: list[Dim] = field(default_factory=list[Dim])
    shape:  list[Dim] = field(default_factory=list[Dim])
    steps:  list[int] = field(default_factory=list[int])
    layout: list[int | None] = field(default_factory=list[int | None])
    arrays: dict[int, Value] = field(default_factory=dict[int, Value])
    points: list[bool] = field(default_factory=list[bool])

    def part(self, x: Value) -> Value:
        """What the slices leave of x, without the axes that ints drop."""
        sliced = x if self.is_whole(x) else self.slice()(x)
        return reshape(sliced, tuple(self.shape[a] for a in self.layout if a is not None))

    def slice(self) -> Slice:
        return Slice(tuple(self.starts), tuple(self.shape), tuple(self.steps))

    def is_whole(self, x: Value) -> bool:
        """Whether the slices leave x as it is."""
        return all(s == 0 for s in self.starts) and all(s == 1 for s in self.steps) and tuple(self.shape) == x.shape

    def few(self, x: Value) -> tuple[int, int, Array] | None:
        """Where slices name few elements of a large x: the axes they cut, from and to, and places on these as one."""
        cut = [k for k, n in enumerate(x.shape) if (self.starts[k], self.shape[k], self.steps[k]) != (0, n, 1)]
        first, behind = cut[0], cut[-1] + 1
        sizes, lengths, starts = ([n for n in dims[first:behind] if isinstance(n, int)]
                                  for dims in (x.shape, self.shape, self.starts))
        if not len(sizes) == len(lengths) == len(starts) == behind - first:
            return None
        count, all_ = math.prod(lengths), product(x.shape)
        if not 0 < count <= MANY or 8 * count > math.prod(sizes) or not isinstance(all_, int) or all_ < LARGE:
            return None
        axes = [start + step * np.arange(n) for start, n, step in zip(starts, lengths, self.steps[first:behind])]
        return first, behind, np.ravel_multi_index(np.ix_(*axes), sizes).reshape(-1)

    def order(self) -> tuple[int, ...]:
        """The axes of `part` with those of the arrays beside each other: in front where something parts the arrays."""
        kept = [a for a in self.layout if a is not None]
        axes = [kept.index(a) for a in self.arrays]
        return (*axes, *(k for k in range(len(kept)) if k not in axes)) if self.is_apart() else (*range(len(kept)),)

    def place(self) -> int:
        """Where the arrays' axes stand in the result: where they stood, or in front where something parts them."""
        return 0 if self.is_apart() else next((k for k, a in enumerate(self.layout) if a in self.arrays), 0)

    def result(self, inner: Shape = ()) -> Shape:
        """The shape of the result, with `inner` in the place of the arrays."""
        dims = [1 if a is None else self.shape[a] for a in self.layout if a not in self.arrays]
        return (*dims[:self.place()], *inner, *dims[self.place():])

    def is_apart(self) -> bool:
        """Whether something stands between the arrays and ints of a key with arrays."""
        places = [k for k, is_point in enumerate(self.points) if is_point]
        return bool(self.arrays) and places[-1] - places[0] >= len(places)


def index(x: Value, key: Key) -> Value:
    """The part x[key], for ints, slices, None, Ellipsis and integer arrays; negative positions count from the end.

    Arrays broadcast against each other; their axes stand where they stood, or in front where slices part them, from
    each other or from ints (NumPy's rule). Raises IndexOutOfRange for an int outside of its axis at once, for an array
    when run, BadKey for more entries than axes, and DTypeError for a bool mask of a program, whose
    result would have a length that depends on numbers.

    >>> x = st.arange(12).reshape(3, 4)
    >>> x[0, 1::2].tolist(), x[-1, None].shape, x[st.tensor([2, 0]), 1].tolist()
    ([1, 3], (1, 4), [9, 1])
    """
    selection = taken_apart(x, key)
    part = selection.part(x)
    if not selection.arrays:
        return reshape(part, selection.result())
    if any(i.dtype == bool_ for i in selection.arrays.values()):
        raise DTypeError("x[mask] has a shape that depends on numbers, which a program knows only when it runs",
                         hint="Write st.mean(x, where=mask) for x[mask].mean(), st.where(mask, f(x), x) for "
                              "x[mask] = f(x[mask]), or x[st.nonzero(mask, size=n)] with the most there may be.")
    merged, first = front(part, selection)
    flat, inner = flattened(selection)
    return reshape(Gather(first)(merged, flat), selection.result(inner))


def front(part: Value, selection: Selection) -> tuple[Value, int]:
    """What slices leave, with the axes of arrays as one, and which it is."""
    many, order = len(selection.arrays), selection.order()
    first = order.index([a for a in selection.layout if a is not None].index(next(iter(selection.arrays))))
    part = transpose(part, order)
    behind = first + many
    return reshape(part, (*part.shape[:first], product(part.shape[first: behind]), *part.shape[behind:])), first


def taken_apart(x: Value, key: Key) -> Selection:
    """What a key says of each axis of x."""
    entries = list(key) if isinstance(key, tuple) else [key]
    used = sum(e is not None and e is not Ellipsis for e in entries)
    if used > x.ndim:
        raise BadKey(f"{used} indices for an array of {x.ndim} axes {show(x.shape)}")
    if sum(e is Ellipsis for e in entries) > 1:
        raise BadKey("an index has at most one ...")
    if not any(e is Ellipsis for e in entries):
        entries.append(...)
    selection = Selection()
    for e in entries:
        note(selection, e, x, x.ndim - used)
    return selection


def note(selection: Selection, e: Any, x: Value, rest: int) -> None:
    """One entry of a key, noted for the axis it meets; `...` meets the `rest` of the axes."""
    axis = len(selection.starts)
    selection.points.append(isinstance(e, Value) or not (e is None or e is Ellipsis or isinstance(e, slice)))
    match e:
        case None:
            selection.layout.append(None)
        case EllipsisType():
            for a in range(axis, axis + rest):
                met(selection, 0, x.shape[a], 1)
        case bool():
            raise DTypeError("an index of values is not True or False", hint="Write st.where(condition, x, other).")
        case slice():
            met(selection, *bounds(e, x.shape[axis]))  # type: ignore[arg-type]
        case Value():
            selection.arrays[axis] = e
            met(selection, 0, x.shape[axis], 1)
        case _:
            met(selection, position(e, axis, x.shape), 1, 1, is_kept=False)


def met(selection: Selection, start: Dim, length: Dim, step: int, is_kept: bool = True) -> None:
    """A slice of the next axis, noted."""
    if is_kept:
        selection.layout.append(len(selection.starts))
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


def flattened(selection: Selection) -> tuple[Value, Shape]:
    """Positions on the axes of arrays taken as one, from arrays broadcast against each other, and their shape."""
    sizes = [selection.shape[a] for a in selection.arrays]
    if len(sizes) == 1:
        (i,) = selection.arrays.values()
        return wrapped(i, sizes[0]), i.shape
    parts = meet([cast(checked(i, n), int64) for i, n in zip(selection.arrays.values(), sizes)])
    flat = parts[0]
    for n, part in zip(sizes[1:], parts[1:]):
        flat = flat * factor(n) + part
    return flat, flat.shape


def integral(i: Value) -> Value:
    """Positions themselves; raises DTypeError for other than integers."""
    if i.dtype.kind not in "iu":
        raise DTypeError(f"an index array needs an integer dtype, got {i.type}",
                         hint="Convert with .astype('int64').")
    return i


def wrapped(i: Value, n: Dim) -> Value:
    """Positions with negative ones counted from the end; unsigned ones as they are."""
    return i if integral(i).dtype.kind == "u" else from_beginning(i, n)


def within(i: Value, n: Dim, mode: str) -> Value:
    """Positions on an axis of n, by NumPy's `mode`: "raise" leaves those outside, "wrap" counts round, "clip" moves
    them to the nearest."""
    if choice(mode, "mode", ("raise", "wrap", "clip")) == "raise":
        return wrapped(i, n)
    i, count = cast(integral(i), int64), factor(n)
    return Remainder()(i, count) if mode == "wrap" else Minimum()(Maximum()(i, 0), count - 1)


def checked(i: Value, n: Dim) -> Value:
    """Positions on an axis of n, from its beginning; one outside is an error when the program runs."""
    return CheckIndex(n)(wrapped(i, n))


def set_index(x: Value, v: Any, *, key: Key, adds: bool = False) -> Value:
    """x with x[key] replaced by v, broadcast: a key of `index`, in which one array may be a bool mask of one axis.

    Where integer arrays name an element twice the last one stays; if v `adds` to what is there, all of them do.
    """
    selection = taken_apart(x, key)
    v = cast_like(v, x)
    part = selection.part(x)
    if not selection.arrays:
        v = repeated(v, selection.result())
        return written(x, reshape(reshape(part, v.shape) + v if adds else v, tuple(selection.shape)), selection)
    merged, first = front(part, selection)
    if any(i.dtype == bool_ for i in selection.arrays.values()):
        made = chosen(merged, first, v, selection)
    else:
        flat, inner = flattened(selection)
        rows = repeated(v, selection.result(inner))
        rows = reshape(rows, (*merged.shape[:first], product(inner), *merged.shape[first + 1:]))
        made = (put_sum if adds else put)(merged, first, reshape(flat, (-1,)), rows)
    order = selection.order()
    back = reshape(made, tuple(part.shape[k] for k in order))
    back = transpose(back, tuple(order.index(k) for k in range(part.ndim)))
    return written(x, reshape(back, tuple(selection.shape)), selection)


def repeated(v: Value, shape: Shape) -> Value:
    """v broadcast to a shape; axes of length 1 in front, beyond those of the shape, are dropped."""
    while v.ndim > len(shape) and v.shape[0] == 1:
        v = reshape(v, v.shape[1:])
    return broadcast(v, shape)


def written(x: Value, region: Value, selection: Selection) -> Value:
    """x with what slices leave of it replaced."""
    if selection.is_whole(x):
        return region
    if (few := selection.few(x)) is not None:
        first, behind, at = few
        merged, parts = (reshape(v, (*v.shape[:first], product(v.shape[first:behind]), *v.shape[behind:]))
                         for v in (x, region))
        return reshape(ScatterPut(first, merged.shape[first])(merged, parts, Constant(at)()), x.shape)
    here = full(region.shape, True, bool_)
    (inside,), (moved,) = (selection.slice().vjp(None, part, x, x) for part in (here, region))
    return Select()(inside, moved, x)


def chosen(x: Value, axis: int, v: Value, selection: Selection) -> Value:
    """x with v where a mask of an axis is true: one value for all of them, or one row for each in order."""
    mask, *others = selection.arrays.values()
    behind = len(selection.result()) - selection.place()
    if others or (v.ndim > behind and v.shape[-1 - behind] != 1):
        raise DTypeError("x[mask] = v takes one value for all places of a mask whose numbers a program knows only when "
                         "it runs, and no other array beside it",
                         hint="Write x[st.nonzero(mask, size=n)] = v with the most there may be, or "
                              "st.where(mask, v, x).")
    rows = reshape(repeated(v, selection.result((1,))), (*x.shape[:axis], 1, *x.shape[axis + 1:]))
    return Select()(reshape(mask, along(axis, x)), rows, x)


def along(axis: int, x: Value) -> Shape:
    """The shape of one number for each element of an axis of x."""
    return tuple(-1 if a == axis else 1 for a in range(x.ndim))


def put(x: Value, axis: int, i: Value, rows: Value) -> Value:
    """x with its elements i of an axis replaced by `rows`: of those that name one the last stays."""
    n, k = x.shape[axis], i.shape[0]
    if is_zero(k):
        return x
    return ScatterPut(axis, n)(x, rows, CheckIndex(n)(i))


def put_sum(x: Value, axis: int, i: Value, rows: Value) -> Value:
    """x with `rows` added to its elements i of an axis, in order."""
    n = x.shape[axis]
    return ScatterOnto(axis, n)(x, rows, CheckIndex(n)(i))


def cast_like(v: Any, x: Value) -> Value:
    """An operand in the dtype of x."""
    return cast(v, x.dtype) if isinstance(v, Value) else literal(v, x.dtype)
