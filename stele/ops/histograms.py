"""Histograms of points of several coordinates, and the bins of numbers."""
from __future__ import annotations

from functools import reduce
from typing import Any

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import float32, int64, is_zero, product, promote, same, show
from stele.ops.arguments import is_series, sequence
from stele.ops.counting import Edges, edges_of
from stele.ops.cumulative import diff
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.base import Numbers
from stele.ops.elementwise.binary import logical_and
from stele.ops.gather import ScatterAdd
from stele.ops.generate import quantity
from stele.ops.joining import stack
from stele.ops.linear import cast, flip, full, reshape, slice_axis
from stele.ops.sorting import Search
from stele.ops.statistics import sum

Bins = Any      # a number, the edges of bins, or such for each axis


def histogram_bin_edges(x: Value, bins: Edges = 10, *, range: Numbers | None = None) -> Value:
    """The edges of the `bins` of `histogram`: so many equal ones from end to end of `range`, or those that are given.

    In the dtype of `histogram`'s edges; x has any shape. Raises ShapeError for no bins, DTypeError for complex numbers.

    >>> st.histogram_bin_edges(st.tensor([0.0, 3.0]), 3).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    row = reshape(x if x.dtype.is_float else cast(x, float32), (-1,))
    return edges_of(row, bins, range)


def digitize(x: Value, bins: Value, *, right: bool = False) -> Value:
    """In which of the `bins` (n,), edges that ascend or descend, each element lies, as int64: 0 before the first.

    Bin k is between bins[k - 1] and bins[k], of which the smaller one belongs to it; with `right` the larger one does.
    Raises ShapeError unless bins are one row, DTypeError for complex numbers.

    >>> st.digitize(st.tensor([0.2, 1.0, 6.4]), st.tensor([0.0, 1.0, 2.5])).tolist()
    [1, 2, 3]
    """
    if bins.ndim != 1:
        raise ShapeError(f"digitize needs edges (n,), got {show(bins.shape)}")
    if is_zero(bins.shape[0]):
        return full(x.shape, 0, int64)
    dtype = promote(x.dtype, bins.dtype)
    row, bins = reshape(cast(x, dtype), (-1,)), cast(bins, dtype)
    rising = Search(not right)(bins, row)
    falling = quantity(bins.shape[0]) - Search(not right)(flip(bins, (0,)), row)
    is_rising = slice_axis(bins, 0, 0, 1) <= slice_axis(bins, 0, bins.shape[0] - 1, 1)
    return reshape(Select()(is_rising, rising, falling), x.shape)


def histogramdd(sample: Value, bins: Bins = 10, *, range: Numbers | None = None, weights: Value | None = None,
                density: bool = False) -> tuple[Value, tuple[Value, ...]]:
    """How many of the points `sample` (n, d) fall into each bin of a grid, and the edges along each coordinate.

    `bins` is a number of equal bins, or for each coordinate a number or its edges; `range` has two ends for each, its
    least and its largest number where there is none. `weights` (n,) and `density` as of `histogram`. The counts are
    int64, of `weights` in their dtype; integers have edges of float32. Raises ShapeError for other shapes.

    >>> counts, edges = st.histogramdd(st.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]]), 2)
    >>> counts.tolist(), edges[0].tolist()
    ([[1, 0], [0, 2]], [0.0, 0.5, 1.0])
    """
    if sample.ndim != 2 or same(sample.shape[1], 0):
        raise ShapeError(f"histogramdd needs points (n, d) of a coordinate or more, got {show(sample.shape)}")
    x = sample if sample.dtype.is_float else cast(sample, float32)
    d: Any = x.shape[1]
    many: list[Any] = list(bins) if is_series(bins) else [bins] * d
    ends = [None] * d if range is None else sequence(range, "range of histogramdd", "a pair of ends for each")
    if len(many) != d or len(ends) != d:
        raise ShapeError(f"histogramdd of {d} coordinates needs bins and ranges for each, got {len(many)}, {len(ends)}")
    columns = [reshape(slice_axis(x, 1, k, 1), (-1,)) for k, _ in enumerate(many)]
    edges = tuple(histogram_bin_edges(c, b, range=e) for c, b, e in zip(columns, many, ends))
    sizes = [e.shape[0] - 1 for e in edges]
    at, inside = zip(*(bin_of(c, e) for c, e in zip(columns, edges)))
    flat = reduce(lambda a, pair: a * quantity(pair[1]) + pair[0], zip(at[1:], sizes[1:]), at[0])
    total = product(tuple(sizes))
    parts = full((x.shape[0],), 1, int64) if weights is None else weights
    sums = ScatterAdd(0, total + 1)(parts, Select()(reduce(logical_and, inside), flat, quantity(total)))
    counts = reshape(slice_axis(sums, 0, 0, total), tuple(sizes))
    if density:
        counts = cast(counts, x.dtype) / sum(cast(counts, x.dtype))
        for k, e in enumerate(edges):
            counts = counts / reshape(diff(e), tuple(-1 if k == a else 1 for a, _ in enumerate(edges)))
    return counts, edges


def bin_of(x: Value, edges: Value) -> tuple[Value, Value]:
    """In which bin each number is, the last of which holds its right edge, and whether it is in one."""
    n = edges.shape[0] - 1
    edges = cast(edges, x.dtype)
    last = slice_axis(edges, 0, n, 1)
    at = Select()(Equal()(x, last), quantity(n - 1), Search(True)(edges, x) - 1)
    return at, logical_and(at >= 0, x <= last)


def histogram2d(x: Value, y: Value, bins: Bins = 10, *, range: Numbers | None = None,
                weights: Value | None = None, density: bool = False) -> tuple[Value, Value, Value]:
    """How many of the points (x, y), rows of one length, fall into each bin of a grid, and the edges along both.

    `bins`, `range`, `weights` and `density` as of `histogramdd`. Raises ShapeError for other shapes and for no bins,
    DTypeError for complex numbers.

    >>> st.histogram2d(st.tensor([0.0, 1.0, 1.0]), st.tensor([0.0, 1.0, 1.0]), 2)[0].tolist()
    [[1, 0], [0, 2]]
    """
    counts, edges = histogramdd(stack([x, y], axis=1), [bins] * 2 if isinstance(bins, Value) else bins, range=range,
                                weights=weights, density=density)
    return counts, *edges   # type: ignore[return-value]
