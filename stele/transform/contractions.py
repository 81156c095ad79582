"""Contractions of open sizes that no kernel takes: convolutions as products that read what each tap of them meets."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stele.ir.graph import Graph, Value, walk
from stele.ir.origin import inherit
from stele.ir.rewrite import everywhere, substituted
from stele.ir.sizes import Dim
from stele.ir.types import Shape
from stele.ir.types import product as size_of
from stele.ops.contraction import Conv2d, Conv2dInputGrad, Conv2dWeightGrad, Convolution, MatMul, Pair
from stele.ops.linear import Pad, Sum, broadcast, flip, pad_axis, reshape, slice_axis, swap_last, transpose
from stele.ops.windows import Taps, Window

Sides = tuple[Dim, Dim]


def open_contractions(graph: Graph) -> Graph:
    """The graph without convolutions whose channels, heights or widths are open, and without products of several open
    batch axes."""
    return everywhere(opened, graph)


def opened(graph: Graph) -> Graph:
    """The same for one graph."""
    becomes: dict[Value, Value] = {}
    for v in walk(graph.results):
        if (make := other(v)) is not None:
            with inherit(v.where):
                becomes[v] = make(v)
    return substituted(graph, becomes) if becomes else graph


def other(v: Value) -> Callable[[Value], Value] | None:
    """What makes a contraction of other ops, where that needs to be."""
    if isinstance(v.op, Convolution) and not all(isinstance(n, int) for x in (v, *v.args) for n in x.shape[1:]):
        return convolution
    if isinstance(v.op, MatMul) and not all(isinstance(n, int) for n in v.shape[1:-2]):
        return batched
    return None


def batched(v: Value) -> Value:
    """A product of several batch axes as one of a single one."""
    x, w = (reshape(a, (size_of(a.shape[:-2]), *a.shape[-2:])) for a in v.args)
    return reshape(MatMul()(x, w), v.shape)


@dataclass(frozen=True)
class Walk:
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


def scattered(op: Conv2dInputGrad, low: Sides, g: Value, w: Value, shape: Shape) -> Value:
    """The cotangent of images: for each phase of the stride, a correlation of g with the taps of w that reach it. All
    phases are channels of one product, and of the images once they are computed.
    """
    (sh, sw), _, dilation, groups = op.attributes
    if (sh, sw) != (1, 1):
        w, dilation = Pad((0,) * 4, (0,) * 4, (0, 0, dilation[0] - 1, dilation[1] - 1))(w), (1, 1)
    (kh, kw), (o, c) = kernel_of(w), w.shape[:2]
    ph, pw, down, across = min(kh, sh), min(kw, sw), -(-kh // sh), -(-kw // sw)     # phases with taps, taps of a phase
    w = Pad((0,) * 4, (0, 0, down * ph - kh, across * pw - kw), (0,) * 4)(w)
    taps = reshape(w, (groups, o // groups, c, down, ph, across, pw))
    taps = transpose(flip(taps, (3, 5)), (0, 4, 6, 2, 1, 3, 5))
    first = [n // s for n, s in zip(low, op.stride)]        # phases that hold the first pixel, and the last one
    last = [(h - 1 + n) // s for h, n, s in zip(shape[2:], low, op.stride)]
    rows, columns = (b - a + 1 for a, b in zip(first, last))
    reach = [d * (k - 1) - a for d, k, a in zip(dilation, (down, across), first)]
    walk = Walk((down, across), (1, 1), dilation, (reach[0], reach[1]), (rows, columns))
    y = walk.convolved(g, reshape(taps, (groups * ph * pw * c, o // groups, down, across)), groups)
    y = transpose(reshape(y, (shape[0], groups, ph, pw, c, rows, columns)), (0, 1, 4, 5, 2, 6, 3))
    y = pad_axis(pad_axis(y, 4, 0, sh - ph), 6, 0, sw - pw)
    y = reshape(y, (*shape[:2], rows * sh, columns * sw))
    starts = [n - a * s for n, a, s in zip(low, first, op.stride)]
    return slice_axis(slice_axis(y, 2, starts[0], shape[2]), 3, starts[1], shape[3])
