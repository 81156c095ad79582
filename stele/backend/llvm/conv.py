"""Convolutions forward and back to the input: an outer-product tile of channels x pixels over planes in scratch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from stele.backend.llvm.access import (
    Address,
    Count,
    Extent,
    Index,
    Launch,
    Machine,
    Operand,
    Temp,
    Write,
    i64,
    size_of,
    size_value,
)
from stele.backend.llvm.microkernel import Tile, choose_tile
from stele.backend.llvm.nest import at, bytes_at, fold, kernel, least, load, loop, round_up, scaled, split, store, table, total
from stele.backend.llvm.planes import Planes
from stele.backend.llvm.stencil import Conv, Stencil, backward_stencil, forward_stencil


@dataclass(frozen=True)
class Layer:
    """A convolution in one direction: per group, `depth` source channels make `width` target channels."""

    batch: Extent
    groups: int
    depth: int
    width: int
    stencil: Stencil
    weight: Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], tuple[ir.Value, ir.Value]]
    dtype: ir.Type


@dataclass(frozen=True)
class Blocking:
    """A task makes `blocks` tiles of channels of one group for a band of rows of some images."""

    tile: Tile
    planes: Planes
    blocks: int

    @property
    def pixels(self) -> int:
        """Flat positions of a task, up to the end of the last row."""
        planes = self.planes
        return (planes.images - 1) * planes.image + planes.band * planes.stencil.pitch

    @property
    def room(self) -> int:
        """Elements of one row of finished sums; draining may overrun a row by a vector."""
        return round_up(self.pixels, self.tile.columns) + self.tile.lanes


def convolution(module: ir.Module, name: str, machine: Machine, conv: Conv, x: Operand, w: Operand, write: Write,
                temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of `y = x * w`: `x` (n, c, h, w), `w` (o, c / groups, kh, kw), `write` (n, o, h', w')."""
    depth, width = conv.channels // conv.groups, conv.outputs // conv.groups
    layer = Layer(conv.batch, conv.groups, depth, width, forward_stencil(conv),
                  lambda b, g, t, s: (total(b, scaled(b, g, width), t), s), conv.dtype)
    return _Convolution(module, name, machine, layer, x, w, write, temp).emit()


def input_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, g: Operand, w: Operand, write: Write,
                   temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of x: `g` (n, o, h', w'), `w` as in `convolution`, `write` (n, c, h, w)."""
    depth, width = conv.outputs // conv.groups, conv.channels // conv.groups
    layer = Layer(conv.batch, conv.groups, depth, width, backward_stencil(conv),
                  lambda b, k, t, s: (total(b, scaled(b, k, depth), s), t), conv.dtype)
    return _Convolution(module, name, machine, layer, g, w, write, temp).emit()


def plan(machine: Machine, layer: Layer) -> Blocking:
    """The blocking of a convolution: planes of a task fill at most half of the second-level cache."""
    stencil, lanes = layer.stencil, machine.lanes(layer.dtype)
    fits = machine.l2 // 2 // size_of(layer.dtype) // layer.depth
    band = stencil.rows
    while band > 1 and Planes(stencil, layer.dtype, lanes, 1, band).channel > fits:
        band -= 1
    bands = -(-stencil.rows // band)
    band = -(-stencil.rows // bands)
    images = 1
    if bands == 1 and layer.batch != 1:
        while images < 8 and images * band * stencil.pitch < 12 * lanes \
                and Planes(stencil, layer.dtype, lanes, 2 * images, band).channel <= fits:
            images *= 2
    planes = Planes(stencil, layer.dtype, lanes, images, band)
    pixels = (images - 1) * planes.image + band * stencil.pitch
    taps = max(1, sum(map(len, stencil.taps)) // len(stencil.taps))
    tile = choose_tile(machine, layer.dtype, (layer.width,), (pixels,), layer.depth * taps, right=2.0, drain=6.0)
    blocks = -(-layer.width // tile.rows)
    wanted = min(blocks, max(1, 8 // (bands * layer.groups)), max(1, layer.width * taps // 64))
    return Blocking(tile, planes, -(-blocks // wanted))


@dataclass(frozen=True)
class _Convolution:
    """Both kernels; scratch is `[planes of the source][finished sums of one block of channels]`."""

    module: ir.Module
    name: str
    machine: Machine
    layer: Layer
    source: Operand
    weight: Operand
    write: Write
    temp: Address

    def emit(self) -> tuple[list[Launch], list[Temp]]:
        layer, blocking = self.layer, plan(self.machine, self.layer)
        blocks = -(-layer.width // blocking.tile.rows)
        size = size_of(layer.dtype)
        packed = layer.groups * blocks * self._block_size(blocking.tile) * size
        return [self._pack(blocking, blocks), self._multiply(blocking, blocks)], [Temp(Count(packed))]

    def _block_size(self, tile: Tile) -> int:
        return tile.rows * self.layer.depth * sum(map(len, self.layer.stencil.taps))

    def _pack(self, blocking: Blocking, blocks: int) -> Launch:
        """Weights to `[group][block][target phase][source channel][tap][row]`; a task is one block."""
        layer, tile, name = self.layer, blocking.tile, f"{self.name}.pack"
        taps = [(tap, start, len(phase), i) for start, phase in zip(self._starts(), layer.stencil.taps)
                for i, tap in enumerate(phase)]
        kernel_y = table(self.module, f"{name}.y", [tap.kernel[0] for tap, *_ in taps])
        kernel_x = table(self.module, f"{name}.x", [tap.kernel[1] for tap, *_ in taps])
        place = table(self.module, f"{name}.place", [start * layer.depth + i for _, start, _, i in taps])
        step = table(self.module, f"{name}.step", [count for *_, count, _ in taps])
        with kernel(self.module, name) as (b, ctx, _, task, _):
            group, block = split(b, task, blocks)
            to = at(b, self.temp(b, ctx, 0), scaled(b, task, self._block_size(tile)), layer.dtype)
            with loop(b, 0, layer.depth) as s, loop(b, 0, len(taps)) as t:
                y, x, at0, each = (load(b, at(b, data, t, i64), i64) for data in (kernel_y, kernel_x, place, step))
                row = at(b, to, scaled(b, b.add(at0, b.mul(s, each)), tile.rows), layer.dtype)
                with loop(b, 0, tile.rows) as r:
                    channel = least(b, total(b, scaled(b, block, tile.rows), r), i64(layer.width - 1))
                    index: Index = (*layer.weight(b, group, channel, s), y, x)
                    store(b, self.weight.read(b, ctx, index, None, 1, None), at(b, row, r, layer.dtype), layer.dtype)
        return Launch(name, Count(layer.groups * blocks), 0)

    def _starts(self) -> list[int]:
        """Number of the first tap of each target phase."""
        counts = [len(phase) for phase in self.layer.stencil.taps]
        return [sum(counts[:f]) for f in range(len(counts))]

    def _multiply(self, blocking: Blocking, blocks: int) -> Launch:
        """The convolution; consecutive tasks share a source, which is copied when it changes."""
        layer, planes, tile = self.layer, blocking.planes, blocking.tile
        bands, parts = -(-layer.stencil.rows // planes.band), -(-blocks // blocking.blocks)
        held = planes.bytes(layer.depth, tile.columns)
        with kernel(self.module, self.name) as (b, ctx, scratch, task, first):
            step, group, band, part = split(b, task, layer.groups, bands, parts)
            image, row = scaled(b, step, planes.images), scaled(b, band, planes.band)
            images = i64(1)
            if planes.images > 1:
                images = least(b, i64(planes.images), b.sub(size_value(b, ctx, layer.batch), image))
            with b.if_then(b.or_(first, b.icmp_signed("==", part, i64(0)))):
                channel = scaled(b, group, layer.depth)
                planes.fill(b, ctx, self.source, scratch, (image, channel), (images, i64(layer.depth)), row)
            sums = bytes_at(b, scratch, held)
            begin = scaled(b, part, blocking.blocks)
            with loop(b, begin, least(b, i64(blocks), total(b, begin, blocking.blocks))) as block:
                number = total(b, scaled(b, group, blocks), block)
                weights = at(b, self.temp(b, ctx, 0), scaled(b, number, self._block_size(tile)), layer.dtype)
                self._block(b, blocking, scratch, weights, sums, images)
                self._drain(b, ctx, blocking, sums, (image, group, block, row), images)
        tasks = Count(layer.groups * bands * parts, ((layer.batch, planes.images),))
        finished = len(layer.stencil.taps) * tile.rows * blocking.room * size_of(layer.dtype)
        return Launch(self.name, tasks, held + finished)

    def _block(self, b, blocking: Blocking, scratch, weights, sums, images) -> None:
        """All pixels of one block of channels, every target phase."""
        planes, tile, dtype = blocking.planes, blocking.tile, self.layer.dtype
        pitch = planes.band * planes.stencil.pitch
        pixels = total(b, scaled(b, b.sub(images, i64(1)), planes.image), pitch)
        counts = [len(offsets) for offsets in planes.offsets]
        tables = (table(self.module, f"{self.name}.offsets", [o for offsets in planes.offsets for o in offsets] or [0]),
                  table(self.module, f"{self.name}.starts", [*self._starts(), sum(counts)]))
        with loop(b, 0, len(counts)) as phase, loop(b, 0, pixels, tile.columns) as p:
            column = at(b, scratch, p, dtype)
            acc = self._shifted(b, blocking, phase, column, weights, tables)
            place = total(b, scaled(b, phase, tile.rows * blocking.room), p)
            tile.store(b, acc, at(b, sums, place, dtype), blocking.room)

    def _shifted(self, b, blocking: Blocking, phase, column, weights, tables) -> list[ir.Value]:
        """The microkernel: source channels outside, taps inside."""
        planes, tile, dtype, depth = blocking.planes, blocking.tile, self.layer.dtype, self.layer.depth

        def step(acc, row, source):
            return tile.step(b, acc, lambda r: tile.broadcast(b, at(b, row, r, dtype)),
                             lambda v: load(b, at(b, source, v * tile.lanes, dtype), dtype, tile.lanes))

        offsets, starts = tables
        count: int | ir.Value = len(planes.offsets[0])
        if len(planes.offsets) > 1:
            start = load(b, at(b, starts, phase, i64), i64)
            count = b.sub(load(b, at(b, starts, total(b, phase, 1), i64), i64), start)
            weights = at(b, weights, scaled(b, start, depth * tile.rows), dtype)
            offsets = at(b, offsets, start, i64)

        def channel(s, acc):
            row = at(b, weights, scaled(b, scaled(b, s, count), tile.rows), dtype)
            plane = at(b, column, scaled(b, s, planes.channel), dtype)
            return fold(b, count, acc, lambda t, acc: step(
                acc, at(b, row, scaled(b, t, tile.rows), dtype), at(b, plane, load(b, at(b, offsets, t, i64), i64), dtype)))

        return fold(b, depth, tile.zeros(), channel)

    def _drain(self, b, ctx, blocking: Blocking, sums, corner, images) -> None:
        """Finished sums of one block to their destination, channel by channel."""
        layer, planes, tile = self.layer, blocking.planes, blocking.tile
        image, group, block, row = corner
        start = scaled(b, block, tile.rows)
        with loop(b, 0, least(b, i64(tile.rows), b.sub(i64(layer.width), start))) as r:
            channel = total(b, scaled(b, group, layer.width), start, r)

            def source(fy, fx):
                phase = total(b, scaled(b, fy, layer.stencil.spread[1]), fx)
                return at(b, sums, scaled(b, total(b, scaled(b, phase, tile.rows), r), blocking.room), layer.dtype)

            planes.drain(b, ctx, self.write, source, (image, channel, row), images)
