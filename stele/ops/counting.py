"""What is found in an array, where how much that is depends on its numbers: places, distinct elements, counts."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, Op, Placed, Value, literal
from stele.ir.sizes import Dim
from stele.ir.types import Type, bool_, float32, int64, is_zero, product, promote, show
from stele.ops.along import put_along
from stele.ops.arguments import number, positive, refuse, sequence
from stele.ops.control import scan
from stele.ops.cumulative import CumSum, diff
from stele.ops.elementwise.arithmetic import Equal, Maximum, NotEqual, Select
from stele.ops.elementwise.base import Numbers
from stele.ops.elementwise.binary import logical_and, logical_or
from stele.ops.gather import CheckCount, Gather, ScatterAdd
from stele.ops.generate import iota, quantity
from stele.ops.linear import Sum, cast, full, pad_axis, reshape, slice_axis, transpose
from stele.ops.parts import imag, real
from stele.ops.shaping import moveaxis
from stele.ops.sorting import ArgSort, Search, Sort
from stele.ops.statistics import Axes, any, max, min, sum

Edges = Any         # how many bins, or their edges


def count_nonzero(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """How many elements over one axis, several, or all of them are not 0, as int64; NaN is not 0.

    x has any dtype. Raises ShapeError for an axis that x does not have.

    >>> st.count_nonzero(st.tensor([[0, 1], [2, 3]]), axis=0).tolist()
    [1, 2]
    """
    return sum(cast(truth(x), int64), axis=axis, keepdims=keepdims)


def truth(x: Value) -> Value:
    """Whether each element is not 0."""
    return x if x.dtype == bool_ else NotEqual()(x, 0)


class Places(Op):
    """Where rows of bools (..., n) hold, as int64 (..., size): the first of them, and n where there are no more."""

    size: Dim
    family: ClassVar[str] = "ordered"

    def type(self, *x: Type) -> Type:
        if x[0].dtype != bool_ or not x[0].ndim:
            raise DTypeError(f"{self.name} needs rows of bools, got {x[0]}")
        return Type(int64, (*x[0].shape[:-1], self.size), x[0].device)

    def reference(self, *x: Array) -> Array:
        n = x[0].shape[-1]
        y = np.full((*x[0].shape[:-1], self.size), n)   # type: ignore[arg-type]
        for k in np.ndindex(x[0].shape[:-1]):
            first = np.flatnonzero(x[0][k])[:y.shape[-1]]
            y[k][:first.size] = first
        return y

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        return self(x[0][0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        rows = np.arange(90).reshape(2, 45) % 7 < 3
        return (cls(3), (rows,)), (cls(50), (rows[1],)), (cls(2), (np.array([False, True, False]),))


class Found(NamedTuple):
    """The places where a row of bools holds: as many as asked for, n where there are no more; which of them there are,
    and how many hold in all."""

    at: Value
    is_one: Value
    count: Value


def found(mask: Value, size: Dim) -> Found:
    """The first `size` places of a mask (n,); more are an error when the program runs."""
    count = Sum((0,))(cast(mask, int64))
    count = count if size == mask.shape[0] else CheckCount(size + 1)(count)
    return Found(Places(size)(mask), iota(size) < count, count)


def sources(counts: Value, *, size: Dim) -> Value:
    """Of so many elements of each number in turn as `counts` (n,) say, the numbers, int64[size]; behind them the last.

    More than size are an error when the program runs; negative counts are 0.
    """
    ends = CumSum(0)(Maximum()(cast(counts, int64), 0))
    n, order = counts.shape[0], iota(size)
    total = CheckCount(size + 1)(reshape(slice_axis(ends, 0, n - 1, 1), ()))
    return Select()(order < total, Search(True)(ends, order), quantity(n - 1))


def nonzero(x: Value, *, size: Dim, fill: int = 0) -> tuple[Value, ...]:
    """The positions of elements that are not 0, for each axis a row int64[size], in row-major order; behind them
    `fill`."""
    if not x.ndim:
        raise ShapeError("nonzero needs an array of one axis or more, got a number",
                         hint="Write st.nonzero(x.reshape(1)).")
    places = found(reshape(truth(x), (-1,)), size)
    rows: list[Value] = []
    for k, n in enumerate(x.shape):
        inner = product(x.shape[k + 1:])
        at = places.at if inner == 1 else places.at // times(inner)
        rows.append(Select()(places.is_one, at if k == 0 else at % times(n), fill))
    return tuple(rows)


def times(n: Dim) -> int | Value:
    """A size as an operand that is divided by: at least 1."""
    return n if isinstance(n, int) and n else Maximum()(quantity(n), 1)


def distinct(x: Value, *, size: Dim, axis: int | None = None) -> tuple[Value, ...]:
    """Distinct elements in order [size], or parts of an axis, where each was first, x in their numbers, how often each
    is, how many there are. Behind them stands the smallest again, as often as 0."""
    if axis is not None:
        lead = moveaxis(x, axis, 0)
        table = reshape(lead, (lead.shape[0], product(lead.shape[1:])))
        values, *known = numbered(table, order_of_rows(table), size)
        return moveaxis(reshape(values, (size, *lead.shape[1:])), 0, axis), *known
    row = reshape(x, (-1,))
    values, at, inverse, *known = numbered(row, order_of(row), size)
    return values, at, reshape(inverse, x.shape), *known


def numbered(row: Value, order: Value, size: Dim) -> tuple[Value, ...]:
    """What `distinct` says of elements, or of rows of a table, whose order is known."""
    n = row.shape[0]
    inside = Gather(0)(row, order)
    starts = is_first(inside)
    places = found(starts, size)
    after = slice_axis(Places(size + 1)(starts), 0, 1, size)
    at = Select()(places.is_one, places.at, 0)
    inverse = put_along(CumSum(0)(cast(starts, int64)) - 1, order, 0, (n,))
    return Gather(0)(inside, at), Gather(0)(order, at), inverse, after - places.at, places.count


def order_of_rows(table: Value) -> Value:
    """Where the rows of a table (n, k) stand in order of their first elements, then of their second, and so on."""
    def step(carries: Sequence[Value], columns: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        return [Gather(0)(carries[0], order_of(Gather(0)(columns[0], carries[0])))], []
    return scan(step, [iota(table.shape[0])], [transpose(table, (1, 0))], reverse=True)[0][0]


def distinct_values(x: Value, *, size: Dim) -> tuple[Value, ...]:
    """Distinct elements in order [size], and how many there are."""
    row = reshape(x, (-1,))
    row = Gather(0)(row, order_of(row)) if row.dtype.kind == "c" else Sort()(row)
    places = found(is_first(row), size)
    return Gather(0)(row, Select()(places.is_one, places.at, 0)), places.count


def order_of(row: Value) -> Value:
    """Where the elements of a row stand in order: complex ones by their real parts, then by their imaginary ones."""
    if row.dtype.kind != "c":
        return ArgSort()(row)
    below = ArgSort()(imag(row))
    return Gather(0)(below, ArgSort()(Gather(0)(real(row), below)))


def is_first(row: Value) -> Value:
    """Whether each element of a sorted row, or row of a sorted table, differs from the one before."""
    differs = NotEqual()(row, pad_axis(row, 0, 1, -1))
    return logical_or(Equal()(iota(row.shape[0]), 0), differs if row.ndim == 1 else any(differs, axis=1))


def bincount(x: Value, weights: Value | None, size: Dim) -> Value:
    """How often each of 0 .. size - 1 is among the integers x (n,), as int64; or the sums of their `weights` (n,)."""
    if x.ndim != 1:
        raise ShapeError(f"bincount needs one axis, got {show(x.shape)}", hint="Write x.flatten().")
    return ScatterAdd(0, size)(full(x.shape, 1, int64) if weights is None else weights, x)


def histogram(x: Value, bins: Edges = 10, *, range: Numbers | None = None, weights: Value | None = None,
              density: bool = False) -> tuple[Value, Value]:
    """How many elements of x fall into each of `bins`, and the edges of the bins (NumPy's histogram).

    bins is a number of equal bins between the two ends `range`, the smallest and the largest element where it is not
    given, or the edges themselves, ascending. A bin holds its left edge, the last its right one too. Counts are int64;
    with `weights`, of the shape of x, they are sums of these; `density` divides them by their sum and by the widths of
    bins. Elements outside, and NaN, count nowhere. Raises ShapeError for no bins, and for a range that is not two.

    >>> counts, edges = st.histogram(st.tensor([1.0, 2.0, 1.0, 4.0]), 3)
    >>> counts.tolist(), edges.tolist()
    ([2, 1, 1], [1.0, 2.0, 3.0, 4.0])
    """
    row = reshape(x if x.dtype.is_float else cast(x, float32), (-1,))
    edges = edges_of(row, bins, range)
    dtype = promote(edges.dtype, row.dtype)
    given, edges, row = edges, cast(edges, dtype), cast(row, dtype)
    n = edges.shape[0] - 1
    last = slice_axis(edges, 0, n, 1)
    at = Search(True)(edges, row) - 1
    at = Select()(Equal()(row, last), quantity(n - 1), at)
    is_inside = logical_and(at >= 0, row <= last)
    parts = full(row.shape, 1, int64) if weights is None else reshape(weights, (-1,))
    counts = slice_axis(ScatterAdd(0, n + 1)(parts, Select()(is_inside, at, quantity(n))), 0, 0, n)
    if density:
        counts = cast(counts, dtype) / sum(cast(counts, dtype)) / diff(edges)
    return counts, given


def edges_of(row: Value, bins: Value | int, range: Any) -> Value:
    """The edges that are given, or of so many equal bins from end to end of a row."""
    edges = bins if isinstance(bins, Value) else even_edges(row, positive(bins, "bins of histogram"), range)
    if edges.ndim != 1:
        raise ShapeError(f"histogram needs edges (n + 1,) of its bins, got {show(edges.shape)}",
                         hint=None if edges.ndim else "Write int(bins) for so many equal ones.")
    return edges


def even_edges(row: Value, bins: int, ends: Numbers | None) -> Value:
    """The edges of equal bins from one end to the other."""
    if ends is not None:
        if isinstance(ends, Value) and ends.shape == (2,):
            ends = tuple(reshape(slice_axis(ends, 0, k, 1), ()) for k in (0, 1))
        if len(pair := sequence(ends, "range of histogram", "two numbers (low, high)")) != 2:
            refuse("range of histogram", "two numbers (low, high)", ends)
        low, high = (cast(n, row.dtype) if isinstance(n, Value) and not n.shape else
                     literal(number(n, "every end of range"), row.dtype) for n in pair)
    elif is_zero(row.shape[0]):
        low, high = (literal(n, row.dtype) for n in (0, 1))
    else:
        low, high = min(row), max(row)
    is_point = Equal()(low, high)
    low, high = Select()(is_point, low - 0.5, low), Select()(is_point, high + 0.5, high)
    place = iota(bins + 1)
    line = low + (high - low) * (cast(place, row.dtype) / bins)
    return Select()(Equal()(place, bins), high, line)


ALL = (Places,)
