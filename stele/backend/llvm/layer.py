"""A convolution in one direction, and its weights packed for tiles of target channels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir

from stele.backend.llvm.access import Address, Builder, Count, Extent, Operand, Plain, Temp, size_of
from stele.backend.llvm.choice import images
from stele.backend.llvm.launch import Launch, i64
from stele.backend.llvm.microkernel import Tile
from stele.backend.llvm.nest import at, kernel, least, loop, scaled, split, store, total
from stele.backend.llvm.pack import Panel, masked_load, pack_panel
from stele.backend.llvm.stencil import Conv, Stencil, backward_stencil, forward_stencil


@dataclass(frozen=True)
class Layer:
    """A convolution in one direction: per group, `depth` source channels make `width` target channels.

    Weights are indexed (target, source) channel, or the other way round if `transposed`.
    """

    batch: Extent
    groups: int
    depth: int
    width: int
    stencil: Stencil
    transposed: bool
    kernel: tuple[int, int]
    dtype: ir.Type

    def __str__(self) -> str:
        s, way = self.stencil, "input" if self.transposed else "output"
        return f"{way} {images(self.batch)}x{self.groups}x{self.depth}x{s.source} {self.width}x{s.target}" \
               f"x{self.kernel} {s.phases}{s.spread}{s.low}{s.reach} {self.dtype}"


def forward(conv: Conv) -> Layer:
    """The layer that makes y from x."""
    depth, width = conv.channels // conv.groups, conv.outputs // conv.groups
    return Layer(conv.batch, conv.groups, depth, width, forward_stencil(conv), False, conv.kernel, conv.dtype)


def backward(conv: Conv) -> Layer:
    """The layer that makes the gradient of x from the gradient of y."""
    depth, width = conv.outputs // conv.groups, conv.channels // conv.groups
    return Layer(conv.batch, conv.groups, depth, width, backward_stencil(conv), True, conv.kernel, conv.dtype)


@dataclass(frozen=True)
class Weights:
    """Weights as `[group][block][source channel][kernel element][row]`: a block has as many rows as the tile."""

    layer: Layer
    operand: Operand
    tile: Tile

    @property
    def size(self) -> int:
        """Elements of one block; packing may overrun it by `lanes` rows."""
        return self.tile.rows * (self.layer.depth * prod(self.layer.kernel) + self.tile.lanes)

    @property
    def buffer(self) -> int:
        """Bytes of scratch that packing takes."""
        return self.tile.lanes * self.tile.lanes * size_of(self.layer.dtype) if self._dense() is not None else 0

    @property
    def blocks(self) -> int:
        """Blocks of a group."""
        return -(-self.layer.width // self.tile.rows)

    @property
    def temporary(self) -> Temp:
        return Temp(Count(self.layer.groups * self.blocks * self.size * size_of(self.layer.dtype)))

    def kernel(self, module: ir.Module, name: str, temp: Address) -> Launch:
        """Packs all; a task is one block."""
        with kernel(module, name) as (b, ctx, scratch, task, _):
            group, block = split(b, task, self.blocks)
            to = at(b, temp(b, ctx, 0), scaled(b, task, self.size), self.layer.dtype)
            self.pack(b, ctx, group, scaled(b, block, self.tile.rows), to, scratch)
        return Launch(name, Count(self.layer.groups * self.blocks), self.buffer, packs=(1, 0))

    def pack(self, b: Builder, ctx: ir.Value, group: ir.Value, start: ir.Value, to: ir.Value,
             scratch: ir.Value) -> None:
        """One block of one group, target channels from `start` on."""
        dense = self._dense()
        if dense is not None:
            self._pack_dense(b, ctx, dense, group, start, to, scratch)
        else:
            self._pack_any(b, ctx, group, start, to)

    def _dense(self) -> Plain | None:
        """The weights, if they are dense memory."""
        layer, (kh, kw) = self.layer, self.layer.kernel
        inner = layer.width if layer.transposed else layer.depth
        plain = self.operand.plain
        return plain if plain is not None and plain.strides == (inner * kh * kw, kh * kw, kw, 1) else None

    def _pack_dense(self, b: Builder, ctx: ir.Value, dense: Plain, group: ir.Value, start: ir.Value, to: ir.Value,
                    scratch: ir.Value) -> None:
        """One block of dense weights, transposed in registers where rows of the block are not neighbours."""
        layer, tile, taps = self.layer, self.tile, prod(self.layer.kernel)
        base = at(b, dense.base(b, ctx), scaled(b, group, layer.width * layer.depth * taps), layer.dtype)
        panel = Panel(layer.dtype, tile.lanes, tile.rows)
        slabs, across, deep, depth = 1, layer.depth * taps, 1, layer.depth * taps
        if layer.transposed and taps == 1:
            slabs, across, deep, depth = 1, 1, layer.width, layer.depth
        elif layer.transposed:
            slabs, across, deep, depth = layer.depth, taps, 1, taps
        with loop(b, 0, slabs) as slab:
            origin = at(b, base, scaled(b, slab, layer.width * taps), layer.dtype)

            def read(b, ctx, index, lane_axis, lanes, mask):
                offset = total(b, scaled(b, index[0], across), scaled(b, index[1], deep))
                return masked_load(b, at(b, origin, offset, layer.dtype), layer.dtype, mask)

            target = at(b, to, scaled(b, slab, taps * tile.rows), layer.dtype)
            pack_panel(b, ctx, panel, Operand(read, 0 if across == 1 else 1), 0, lambda x, k: (x, k), target,
                       (start, i64(layer.width)), (i64(0), i64(depth)), scratch)

    def _pack_any(self, b: Builder, ctx: ir.Value, group: ir.Value, start: ir.Value, to: ir.Value) -> None:
        """One block of weights, element by element."""
        layer, tile, (kh, kw) = self.layer, self.tile, self.layer.kernel
        with loop(b, 0, layer.depth) as s, loop(b, 0, kh) as y, loop(b, 0, kw) as x:
            number = total(b, scaled(b, total(b, scaled(b, s, kh), y), kw), x)
            row = at(b, to, scaled(b, number, tile.rows), layer.dtype)
            with loop(b, 0, tile.rows) as r:
                channel = least(b, b.add(start, r), i64(layer.width - 1))
                pair = (total(b, scaled(b, group, layer.width), channel), s)
                if layer.transposed:
                    pair = (total(b, scaled(b, group, layer.depth), s), channel)
                element = self.operand.read(b, ctx, (*pair, y, x), None, 1, None)
                store(b, element, at(b, row, r, layer.dtype), layer.dtype)
