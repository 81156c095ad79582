"""What `x[key]` and `x[key] = v` mean: slices and integers move, integer arrays gather."""
from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from .errors import IndexOutOfRange, ShapeError, TraceError
from .ir.graph import Value
from .ir.sizes import Dim, Size
from .ir.types import Shape, bool_, broadcast_shapes, int64, show
from .ops.elementwise.arithmetic import Equal, Less, Maximum, Select
from .ops.generate import Iota, iota
from .ops.linear import Gather, Pad, Slice, broadcast, cast, flip, full, reshape, transpose
from .ops.reduction import Max


@dataclass(frozen=True)
class Selection:
    """A key sorted out: a rectangular part, integer arrays by axis of that part, and the axes of the result."""

    starts: tuple[Dim, ...]
    lengths: Shape
    steps: tuple[int, ...]
    arrays: dict[int, Value]
    axes: tuple[int | None, ...]

    def part(self, x: Value) -> Value:
        """The rectangular part of x."""
        whole = all(a == 0 and b == 1 for a, b in zip(self.starts, self.steps)) and self.lengths == x.shape
        return x if whole else Slice(self.starts, self.lengths, self.steps)(x)

    def shape(self) -> Shape:
        """The result's shape where no integer array takes part."""
        return tuple(1 if a is None else self.lengths[a] for a in self.axes)


def select(x: Value, key: Any) -> Selection:
    """The selection that a key means on x; raises where it does not fit."""
    parts = list(key) if isinstance(key, tuple) else [key]
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    if taken > x.ndim:
        raise ShapeError(f"{taken} indices for an array of shape {show(x.shape)}")
    dots = [k for k, p in enumerate(parts) if p is Ellipsis]
    if len(dots) > 1:
        raise ShapeError("an index has at most one '...'")
    at = dots[0] if dots else len(parts)
    parts[at: at + len(dots)] = [slice(None)] * (x.ndim - taken)
    bounds: list[tuple[Dim, Dim, int]] = []
    arrays: dict[int, Value] = {}
    axes: list[int | None] = []
    for p in parts:
        if p is None:
            axes.append(None)
            continue
        axis, n = len(bounds), x.shape[len(bounds)]
        if isinstance(p, Value):
            arrays[axis] = index_array(p, n)
            axes.append(axis)
            bounds.append((0, n, 1))
        elif isinstance(p, slice):
            bounds.append(slice_bounds(p, n))
            axes.append(axis)
        else:
            bounds.append((position(p, n), 1, 1))
    starts, lengths, steps = (tuple(b[k] for b in bounds) for k in range(3))
    return Selection(starts, lengths, steps, arrays, tuple(axes))


def position(p: Any, n: Dim) -> Dim:
    """A possibly negative integer index as a position from the front."""
    if isinstance(p, bool) or not hasattr(p, "__index__"):
        raise TypeError(f"an index is an integer, a slice, None, '...' or an integer tensor, got {type(p).__name__}: {p!r:.40}")
    k = p.__index__()
    if isinstance(n, int) and not -n <= k < n:
        raise IndexOutOfRange(f"index {k} is out of range for an axis of {n}")
    return k if k >= 0 else n + k


def slice_bounds(p: slice, n: Dim) -> tuple[Dim, Dim, int]:
    """Start, length and step of a slice of an axis of n."""
    step = 1 if p.step is None else int(p.step)
    if isinstance(n, int):
        positions = range(*p.indices(n))
        return (positions.start if len(positions) else 0), len(positions), step
    start = edge(p.start, n, 0 if step > 0 else n - 1)
    stop = edge(p.stop, n, n) if step > 0 or p.stop is not None else -1
    span = (stop - start if step > 0 else start - stop) + abs(step) - 1
    return start, span // abs(step), step


def edge(bound: Any, n: Size, default: Dim) -> Dim:
    """One end of a slice of an axis whose size is symbolic: counted from the front, or from the back if negative."""
    if bound is None:
        return default
    if isinstance(bound, Size):
        return bound
    return n + int(bound) if int(bound) < 0 else int(bound)


def index_array(p: Value, n: Dim) -> Value:
    """An integer array with its negative entries counted from the back."""
    if p.dtype == bool_:
        raise TraceError("a bool mask selects a number of elements that is not known beforehand",
                         hint="Write st.where(mask, x, other), or index with st.tensor(np.flatnonzero(mask)).")
    if not isinstance(n, int) or p.dtype.kind == "u":
        return p
    return Select()(Less()(p, 0), p + n, p)


def joined(part: Value, arrays: dict[int, Value], first: int) -> tuple[Value, Value]:
    """The indexed axes of `part` as the one axis `first`, and the index into it."""
    axes = sorted(arrays)
    rest = [k for k in range(part.ndim) if k not in arrays]
    before = [k for k in rest if k < first]
    part = transpose(part, (*before, *axes, *(k for k in rest if k not in before)))
    sizes = part.shape[first: first + len(axes)]
    if len(axes) == 1:
        return part, arrays[axes[0]]
    shape = broadcast_shapes(*(v.shape for v in arrays.values()))
    index = full(shape, 0, int64)
    for a, n in zip(axes, sizes):
        index = index * n + inside(broadcast(cast(arrays[a], int64), shape), n)
    total = reduce(lambda a, b: a * b, sizes)
    return reshape(part, (*part.shape[:first], total, *part.shape[first + len(axes):])), index


def inside(index: Value, n: Dim) -> Value:
    """An index of several into one: one out of its own axis is sent out of all."""
    outside = (index < 0) | (index >= n)
    return Select()(outside, full(index.shape, -(1 << 40), int64), index)


def read_at(x: Value, key: Any) -> Value:
    """x[key].

    Integers drop their axis, slices keep it, None adds one; integer arrays put their own axes in place of theirs
    (in front, where other axes stand between them).
    """
    s = select(x, key)
    part = s.part(x)
    if not s.arrays:
        return reshape(part, s.shape())
    places = [k for k, a in enumerate(s.axes) if a in s.arrays]
    adjacent = places[-1] - places[0] == len(places) - 1
    first = min(s.arrays) if adjacent else 0
    y, index = joined(part, s.arrays, first)
    y = Gather(first)(y, index)
    shape: list[Dim] = [] if adjacent else list(index.shape)
    for k, a in enumerate(s.axes):
        if a not in s.arrays:
            shape.append(1 if a is None else s.lengths[a])
        elif adjacent and k == places[0]:
            shape.extend(index.shape)
    return reshape(y, tuple(shape))


def write_at(x: Value, v: Value, key: Any) -> Value:
    """x with v, broadcast, at key; of several values for one row the last one stands."""
    s = select(x, key)
    if s.arrays:
        return write_rows(x, v, s)
    v = reshape(broadcast(cast(v, x.dtype), s.shape()), s.lengths)
    down = tuple(k for k, b in enumerate(s.steps) if b < 0)
    low = tuple(a + (n - 1) * b if b < 0 else a for a, n, b in zip(s.starts, s.lengths, s.steps))
    gaps = tuple(abs(b) - 1 for b in s.steps)
    if any(n == 0 for n in s.lengths):
        return x
    high = tuple(total - a - (n - 1) * (gap + 1) - 1 for total, a, n, gap in zip(x.shape, low, s.lengths, gaps))
    if not any(map(lambda e: e != 0, (*low, *high, *gaps))):
        return flip(v, down) if down else v
    placed = Pad(low, high, gaps)(flip(v, down) if down else v)
    return Select()(Pad(low, high, gaps)(full(s.lengths, True, bool_)), placed, x)


def write_rows(x: Value, v: Value, s: Selection) -> Value:
    """x with whole elements of its leading axes replaced where one integer array stands in front."""
    whole = all(a == 0 and b == 1 for a, b in zip(s.starts, s.steps)) and s.lengths == x.shape
    if list(s.arrays) != [0] or not whole:
        raise TraceError("assignment through an integer tensor takes it as the first and only index",
                         hint="Write st.where(mask, new, x), or build the rows with st.concatenate.")
    index = s.arrays[0]
    rows = broadcast(cast(v, x.dtype), (*index.shape, *x.shape[1:]))
    place = reshape(index, (-1,))
    count = place.shape[0]
    place = Gather(0)(iota(x.shape[0]), place)
    table = (x.shape[0], count)
    hits = Equal()(Iota(table, 0, int64)(), broadcast(place, table))
    last = Max((1,))(Select()(hits, Iota(table, 1, int64)(), -1))
    chosen = Gather(0)(reshape(rows, (count, *x.shape[1:])), Maximum()(last, 0))
    hit = reshape(last >= 0, (x.shape[0], *(1,) * (x.ndim - 1)))
    return Select()(broadcast(hit, x.shape), chosen, x)
