"""Contractions of open sizes that no kernel takes: convolutions as products that read what each tap of them meets."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import gcd
from typing import Any

from stele.ir.graph import Graph, Value
from stele.ir.origin import inherit
from stele.ir.record import Record
from stele.ir.rewrite import everywhere, substituted
from stele.ir.sizes import Dim
from stele.ir.types import Shape, float64
from stele.ir.types import product as size_of
from stele.ops.contraction import (
    Conv2d,
    Conv2dInputGrad,
    Conv2dWeightGrad,
    Convolution,
    MatMul,
    Pair,
    has_patches,
)
from stele.ops.linear import (
    Concatenate,
    Pad,
    Sum,
    broadcast,
    flip,
    pad_axis,
    reshape,
    slice_axis,
    swap_last,
    transpose,
    zeros_like,
)
from stele.ops.windows import Taps, Window

Sides = tuple[Dim, Dim]
LARGEST = 1 << 22
"""Bytes of a kernel's gradient at Winograd's points, at most: every task adds to them, from a cache."""


def open_contractions(graph: Graph, direct: bool = False) -> Graph:
    """The graph without convolutions whose channels, heights or widths are open, but for those that Winograd's
    algorithm computes unless all are to be `direct`, and without products of several open batch axes."""
    return everywhere(partial(opened, direct=direct), graph)


def opened(graph: Graph, direct: bool) -> Graph:
    """The same for one graph."""
    becomes: dict[Value, Value] = {}
    for v in graph.values:
        if (make := other(v, direct)) is not None:
            with inherit(v.where):
                becomes[v] = make(v)
    return substituted(graph, becomes) if becomes else graph


def other(v: Value, direct: bool) -> Callable[[Value], Value] | None:
    """What makes a contraction of other ops, where that needs to be."""
    if isinstance(v.op, Convolution) and not all(isinstance(n, int) for x in (v, *v.args) for n in x.shape[1:]):
        return None if not direct and by_patches(v, v.op) else convolution
    if isinstance(v.op, MatMul) and not all(isinstance(n, int) for n in v.shape[1:-2]):
        return batched
    return None


def by_patches(v: Value, op: Convolution) -> bool:
    """Whether Winograd's algorithm computes a convolution of open heights and widths, and is cheaper than a product.

    In vectors of patches, 36 products take the place of 144 for every pair of channels; on their way to the points a
    channel costs 400, and back 300.
    """
    image, kernel = (v.args[1], v) if isinstance(op, Conv2dWeightGrad) else (v, v.args[1])
    outs, ins = kernel.shape[:2] if all(isinstance(n, int) for n in (*kernel.shape, image.shape[1])) else (0, 0)
    if not has_patches(kernel.shape[2:], *op.attributes) or v.dtype == float64:
        return False
    if isinstance(op, Conv2dWeightGrad) and 144 * outs * ins > LARGEST:
        return False
    return 108 * outs * ins > 400 * ins + 300 * outs


def batched(v: Value) -> Value:
    """A product of several batch axes as one of a single one."""
    x, w = (reshape(a, (size_of(a.shape[:-2]), *a.shape[-2:])) for a in v.args)
    return reshape(MatMul()(x, w), v.shape)


class Walk(Record):
    """How a kernel walks over images: the results `out` lie in rows as wide as the grid that all taps need."""

    kernel: Pair
    stride: Pair
    dilation: Pair
    low: Sides
    out: Sides

    @property
    def grid(self) -> Sides:
        """Height and width of a phase of the images: every tap of every result lies in it."""
        down, across = (n + (k - 1) * d // s for n, k, d, s in zip(self.out, self.kernel, self.dilation, self.stride))
        return down, across

    @property
    def length(self) -> Dim:
        """Positions from the first result to the last, row behind row."""
        return (self.out[0] - 1) * self.grid[1] + self.out[1]

    def taps(self, x: Value, groups: int) -> Value:
        """(N, C, H, W), padded, as (N, groups, C/groups*KH*KW, length)."""
        (down, across), (sh, sw), (n, c) = self.grid, self.stride, x.shape[:2]
        high = tuple(g * s - h - low for g, s, h, low in zip(self.grid, self.stride, x.shape[2:], self.low))
        if any(e != 0 for e in (*self.low, *high)):
            x = Pad((0, 0, *self.low), (0, 0, *high), (0,) * 4)(x)
        x = transpose(reshape(x, (n, c, down, sh, across, sw)), (0, 1, 3, 5, 2, 4))
        met = Taps(self.kernel, self.dilation, across, self.length)(reshape(x, (n, c, sh, sw, down * across)))
        return reshape(met, (n, groups, c * self.kernel[0] * self.kernel[1] // groups, self.length))

    def image(self, y: Value) -> Value:
        """(N, O, length) as (N, O, *out)."""
        if self.grid[1] == self.out[1]:
            return reshape(y, (*y.shape[:2], *self.out))
        return Window(2, self.out[1], self.grid[1], 1)(y)

    def line(self, y: Value) -> Value:
        """(N, O, *out) as (N, O, length), with zeros between the rows."""
        rows = pad_axis(y, 3, 0, self.grid[1] - self.out[1])
        return slice_axis(reshape(rows, (*y.shape[:2], self.out[0] * self.grid[1])), 2, 0, self.length)

    def convolved(self, x: Value, w: Value, groups: int) -> Value:
        """The cross-correlation of images with w (O, C/groups, KH, KW)."""
        met, rows = self.taps(x, groups), w.shape[0]
        w = reshape(w, (1, groups, rows // groups, met.shape[2]))
        y = MatMul()(broadcast(w, (met.shape[0], *w.shape[1:])), met)
        return self.image(reshape(y, (met.shape[0], rows, self.length)))


def kernel_of(w: Value) -> Pair:
    """Height and width of a kernel."""
    return int(w.shape[2]), int(w.shape[3])


def convolution(v: Value) -> Value:
    """What a convolution is in other ops."""
    op: Any = v.op
    stride, padding, dilation, groups = op.attributes
    low: Sides = padding[0][0], padding[1][0]
    match op:
        case Conv2d():
            x, w = v.args
            y = Walk(kernel_of(w), stride, dilation, low, v.shape[2:]).convolved(x, w, groups)
        case Conv2dInputGrad():
            g, w = v.args
            y = scattered(op, low, g, w, v.shape)
        case Conv2dWeightGrad():
            g, x = v.args
            over = Walk(kernel_of(v), stride, dilation, low, g.shape[2:])
            line = reshape(over.line(g), (g.shape[0], groups, g.shape[1] // groups, over.length))
            y = Sum((0,))(MatMul()(line, swap_last(over.taps(x, groups))))
        case _:
            raise AssertionError(v)
    return reshape(y, v.shape)


class Reached(Record):
    """Phases of one axis that `count` taps of a kernel reach, every `step`-th from each of `starts` on: `apart` places
    of a phase from one to the next, the first of them `away` from where it stands."""

    count: int
    away: int
    step: int
    apart: int
    stride: int
    dilation: int
    starts: tuple[int, ...]

    @property
    def numbers(self) -> list[int]:
        """Which phases they are."""
        return [i * self.dilation % self.stride for i in self.starts]

    @property
    def reach(self) -> int:
        """How far before a result the first tap reads, once they are turned around."""
        return (self.count - 1) * self.apart + self.away

    def taps(self, w: Value, axis: int, start: int) -> Value:
        """Those of one phase, the last one first."""
        return flip(slice_axis(w, axis, start, self.count, self.step), (axis,))


def phases(k: int, stride: int, dilation: int) -> list[Reached]:
    """The phases of a stride that k taps reach; each tap is that of one."""
    common = gcd(stride, dilation)
    step, found = stride // common, dict[tuple[int, int], list[int]]()
    for start in range(min(k, step)):
        found.setdefault((len(range(start, k, step)), start * dilation // stride), []).append(start)
    return [Reached(count, away, step, dilation // common, stride, dilation, tuple(starts))
            for (count, away), starts in found.items()]


def joined(parts: Sequence[Value], axis: int) -> Value:
    """Arrays one behind the other; one by itself as it is."""
    return parts[0] if len(parts) == 1 else Concatenate(axis)(*parts)


def ordered(y: Value, axis: int, stride: int, reached: Sequence[Reached]) -> Value:
    """All phases of an axis in order, from those that taps reach: the others are zero."""
    numbers = [n for r in reached for n in r.numbers]
    if numbers != list(range(len(numbers))):
        none = zeros_like(slice_axis(y, axis, 0, 1))
        return joined([slice_axis(y, axis, numbers.index(n), 1) if n in numbers else none for n in range(stride)], axis)
    return pad_axis(y, axis, 0, stride - len(numbers))


def scattered(op: Conv2dInputGrad, low: Sides, g: Value, w: Value, shape: Shape) -> Value:
    """The cotangent of images: for each phase of the stride, a correlation of g with the taps of w that reach it.

    Phases that as many taps reach, from as far, are channels of one product, and of the images once they are computed:
    no number meets a tap that is not there.
    """
    (sh, sw), _, dilation, groups = op.attributes
    down, across = (phases(k, s, d) for k, s, d in zip(kernel_of(w), op.stride, dilation))
    first = [n // s for n, s in zip(low, op.stride)]        # phases that hold the first pixel, and the last one
    last = [(h - 1 + n) // s for h, n, s in zip(shape[2:], low, op.stride)]
    rows, columns = (b - a + 1 for a, b in zip(first, last))

    def met(tall: Reached, wide: Reached) -> Value:
        """(N, groups, phases down, phases across, C/groups, rows, columns) of some phases of each axis."""
        taps = joined([joined([tall.taps(wide.taps(w, 3, j), 2, i) for j in wide.starts], 1) for i in tall.starts], 1)
        taps = reshape(taps, (groups, taps.shape[0] // groups, taps.shape[1], tall.count, wide.count))
        taps = reshape(transpose(taps, (0, 2, 1, 3, 4)), (groups * taps.shape[2], taps.shape[1], *taps.shape[3:]))
        before = tall.reach - first[0], wide.reach - first[1]
        walk = Walk((tall.count, wide.count), (1, 1), (tall.apart, wide.apart), before, (rows, columns))
        y = walk.convolved(g, taps, groups)
        return reshape(y, (shape[0], groups, len(tall.starts), len(wide.starts), w.shape[1], rows, columns))

    y = joined([joined([met(tall, wide) for wide in across], 3) for tall in down], 2)
    y = ordered(ordered(y, 2, sh, down), 3, sw, across)
    y = reshape(transpose(y, (0, 1, 4, 5, 2, 6, 3)), (*shape[:2], rows * sh, columns * sw))
    starts = [n - a * s for n, a, s in zip(low, first, op.stride)]
    return slice_axis(slice_axis(y, 2, starts[0], shape[2]), 3, starts[1], shape[3])
