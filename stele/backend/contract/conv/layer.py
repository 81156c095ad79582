"""A convolution in one direction, and its weights packed for tiles of target channels."""
from __future__ import annotations

from math import prod

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Numbers, Ref, read
from stele.backend.contract.conv.stencil import Conv, Stencil, backward_stencil, forward_stencil
from stele.backend.contract.panels import Panel
from stele.backend.contract.tile import Tile
from stele.backend.llvm.access import Builder, Extent, Index, Operand, Plain
from stele.ir.record import Record
from stele.kernel.choice import images


class Channels(Record):
    """What a convolution in one direction makes of channels: per group, `depth` source channels make `width` target
    channels.

    Weights are indexed (target, source) channel, or the other way round if `transposed`.
    """

    batch: Extent
    groups: int
    depth: int
    width: int
    transposed: bool
    kernel: tuple[int, int]
    dtype: ir.Type

    @property
    def way(self) -> str:
        return "input" if self.transposed else "output"

    @property
    def taps(self) -> int:
        """Elements of a kernel."""
        return prod(self.kernel)

    def packed(self, tile: Tile) -> int:
        """Elements of the weights of a block of channels; packing may overrun them by `lanes` rows."""
        return tile.rows * (self.depth * self.taps + tile.lanes)


class Layer(Channels):
    """A convolution in one direction, of images of one size."""

    stencil: Stencil

    def __str__(self) -> str:
        s = self.stencil
        return f"{self.way} {images(self.batch)}x{self.groups}x{self.depth}x{s.source} {self.width}x{s.target}" \
               f"x{self.kernel} {s.phases}{s.spread}{s.low}{s.reach} {self.dtype}"


class Small(Channels):
    """A convolution in one direction, of 3x3 kernels at stride 1 in one group, of images whose sizes may be known at a
    call only: a target of `source` with `low` zeros before it.
    """

    source: tuple[Extent, Extent]
    target: tuple[Extent, Extent]
    low: tuple[int, int]

    def __str__(self) -> str:
        source, target = ("x".join(map(str, size)) for size in (self.source, self.target))
        low = ",".join(map(str, self.low))
        return f"{self.way} {images(self.batch)}x{self.depth}x{source} {self.width}x{target} ({low}) {self.dtype}"

    @property
    def channels(self) -> int:
        return self.depth

    @property
    def outputs(self) -> int:
        return self.width


def small(layer: Layer) -> Small:
    """A layer of 3x3 kernels at stride 1 as such."""
    s = layer.stencil
    return Small(layer.batch, 1, layer.depth, layer.width, layer.transposed, layer.kernel, layer.dtype, s.source,
                 s.target, s.low)


def forward(conv: Conv) -> Layer:
    """The layer that makes y from x."""
    depth, width = conv.channels // conv.groups, conv.outputs // conv.groups
    return Layer(conv.batch, conv.groups, depth, width, False, conv.kernel, conv.dtype, forward_stencil(conv))


def backward(conv: Conv) -> Layer:
    """The layer that makes the gradient of x from the gradient of y."""
    depth, width = conv.outputs // conv.groups, conv.channels // conv.groups
    return Layer(conv.batch, conv.groups, depth, width, True, conv.kernel, conv.dtype, backward_stencil(conv))


class Weights(Record):
    """Weights as they are packed, block by block: `[source channel][kernel element][row]`, as many rows as the tile."""

    layer: Channels
    operand: Operand
    tile: Tile

    def pack(self, b: Code, group: Int, start: Int, to: Ref, scratch: Ref) -> None:
        """One block of one group, target channels from `start` on; `scratch` has room for `lanes * lanes` elements."""
        dense = self._dense()
        if dense is not None:
            self._pack_dense(b, dense, group, start, to, scratch)
        else:
            self._pack_any(b, group, start, to)

    def _dense(self) -> Plain | None:
        """The weights, if they are dense memory."""
        layer, (kh, kw) = self.layer, self.layer.kernel
        inner = layer.width if layer.transposed else layer.depth
        plain = self.operand.plain
        return plain if plain is not None and plain.strides == (inner * kh * kw, kh * kw, kw, 1) else None

    def _pack_dense(self, b: Code, dense: Plain, group: Int, start: Int, to: Ref, scratch: Ref) -> None:
        """One block of dense weights, transposed in registers where rows of the block are not neighbours."""
        layer, tile, taps = self.layer, self.tile, self.layer.taps
        base = Ref(b, dense.base(b, b.ctx), layer.dtype) + group * (layer.width * layer.depth * taps)
        slabs, across, deep, depth = 1, layer.depth * taps, 1, layer.depth * taps
        if layer.transposed and taps == 1:
            slabs, across, deep, depth = 1, 1, layer.width, layer.depth
        elif layer.transposed:
            slabs, across, deep, depth = layer.depth, taps, 1, taps
        with b.loop(0, slabs) as slab:
            origin = base + slab * (layer.width * taps)

            def element(_: Builder, ctx: ir.Value, index: Index, lane_axis: int | None, lanes: int,
                        mask: ir.Value | None) -> ir.Value:
                x, k = (Int(b, i) for i in index)
                return (origin + (x * across + k * deep)).load(lanes, mask)

            def index(x: Number, k: Number) -> Numbers:
                return x, k

            panel = Panel(Operand(element, 0 if across == 1 else 1), 0, index, layer.dtype, tile.lanes, tile.rows)
            panel.fill(b, to + slab * (taps * tile.rows), (start, layer.width), (0, depth), scratch)

    def _pack_any(self, b: Code, group: Int, start: Int, to: Ref) -> None:
        """One block of weights, element by element."""
        layer, tile, (kh, kw) = self.layer, self.tile, self.layer.kernel
        with b.loop(0, layer.depth) as s, b.loop(0, kh) as y, b.loop(0, kw) as x:
            row = to + ((s * kh + y) * kw + x) * tile.rows
            with b.loop(0, tile.rows) as r:
                channel = b.least(start + r, layer.width - 1)
                pair = (group * layer.width + channel, s)
                if layer.transposed:
                    pair = (group * layer.depth + s, channel)
                element = read(b, self.operand, (*pair, y, x), None, 1, None)
                (row + r).store(element)
