"""Convolutions forward and back to the input: an outer-product tile of channels x pixels over planes in scratch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from llvmlite import ir

from stele.backend.llvm.access import (
    Address,
    Builder,
    Count,
    Index,
    Operand,
    Pair,
    Temp,
    Write,
    i64,
    size_of,
    size_value,
)
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.layer import Layer, Weights
from stele.backend.llvm.machine import Machine
from stele.backend.llvm.microkernel import LEFT, Price, Tile, best_tile, idle, shares
from stele.backend.llvm.nest import (
    at,
    bytes_at,
    fold,
    kernel,
    least,
    load,
    loop,
    round_up,
    scaled,
    split,
    table,
    total,
)
from stele.backend.llvm.planes import Planes


@dataclass(frozen=True)
class Blocking:
    """A task makes `blocks` tiles of channels of one group for a band of rows of some images, from `chunk` source
    channels at a time; `compact` if what each tap reads is first laid end to end, so that nothing is computed in vain.
    """

    tile: Tile
    planes: Planes
    blocks: int
    chunk: int
    compact: bool

    @property
    def pitch(self) -> int:
        """Elements between target rows in the sums."""
        return self.planes.stencil.width if self.compact else self.planes.stencil.pitch

    @property
    def image(self) -> int:
        """Elements between images in the sums."""
        return self.planes.band * self.pitch if self.compact else self.planes.image

    @property
    def pixels(self) -> int:
        """Positions of a task in the sums, up to the end of the last row."""
        return (self.planes.images - 1) * self.image + self.planes.band * self.pitch

    @property
    def room(self) -> int:
        """Elements of one row of sums or of a compact panel; copying may overrun a row by a vector."""
        return round_up(self.pixels, self.tile.columns) + self.tile.lanes

    def panel(self) -> int:
        """Elements of what is compacted of one channel."""
        return sum(map(len, self.planes.stencil.taps)) * self.room if self.compact else 0


@dataclass(frozen=True)
class Tables:
    """By tap: where it reads in planes, in what the microkernel reads, in weights; and each phase's first tap."""

    offsets: ir.Value
    panels: ir.Value
    places: ir.Value
    starts: ir.Value


def layer(module: ir.Module, name: str, machine: Machine, layer: Layer, source: Operand, weight: Operand, write: Write,
          temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a convolution in one direction."""
    return _Convolution(module, name, machine, layer, source, weight, write, temp).emit()


def plan(machine: Machine, layer: Layer, source: Operand) -> tuple[float, Blocking]:
    """The cheapest blocking, by estimate, of those whose working set stays in the second-level cache, with its price
    per image in vector multiplications.
    """
    stencil, lanes = layer.stencil, machine.lanes(size_of(layer.dtype))
    alone = layer.batch == 1
    shapes = [(images, stencil.rows) for images in (1, 2, 4, 8) if not (alone and images > 1)]
    shapes += [(1, -(-stencil.rows // bands)) for bands in (2, 3, 4, 6, 8, 12, 16, 28) if bands <= stencil.rows]
    dense = stencil.pitch == stencil.width and stencil.reach == (0, 0)

    def those(shapes: list[tuple[int, int]]) -> list[tuple[float, Blocking]]:
        found = [_candidate(machine, layer, source, Planes(stencil, layer.dtype, lanes, *shape), compact, parts)
                 for shape in shapes for compact in (False, True) for parts in shares(layer.batch)
                 if not (compact and dense)]
        return [c for c in found if c is not None]

    return machine.choices.choose(f"direct {layer}", those(shapes) or those([(1, 1)]))


def _candidate(machine: Machine, layer: Layer, source: Operand, planes: Planes,
               compact: bool, parts: int) -> tuple[float, Blocking] | None:
    """One blocking with its price per target position; None where even one channel at a time is too much."""
    stencil, lanes = planes.stencil, planes.lanes
    phases, every = len(stencil.taps), max(1, sum(map(len, stencil.taps)))
    taps = -(-every // phases)
    pixels = Blocking(Tile(machine, layer.dtype, 1, 1), planes, 1, 1, compact).pixels
    price = Price(machine, layer.dtype, left=LEFT * machine.pace, right=1.0 if compact else 2.0, far=0.35, drain=3.0)
    tile = best_tile(price, (layer.width,), (pixels,), layer.depth * taps)
    blocks, bands = -(-layer.width // tile.rows), -(-stencil.rows // planes.band)
    blocking = Blocking(tile, planes, -(-blocks // parts), layer.depth, compact)
    each, sums = planes.channel + blocking.panel(), phases * tile.rows * blocking.room
    room = machine.l2 * 5 // 8 // size_of(layer.dtype)
    chunk = layer.depth
    if each * chunk + sums > room:
        chunk = (room - blocking.blocks * sums) // each
        if chunk < 1 and planes.images * bands < stencil.rows:
            return None
        chunk = -(-layer.depth // -(-layer.depth // max(1, chunk)))
    rows = planes.images * planes.band * -(-stencil.width // lanes)
    copied = layer.depth * (planes.fill_cost(source) + (every * rows * 3 if compact else 0))
    cost = phases * price.cost((tile.rows, tile.vectors), layer.width, pixels, layer.depth * taps) + parts * copied \
        + phases * layer.width * (rows * 5 + (-(-layer.depth // chunk) - 1) * pixels / lanes * 3)
    batches = -(-layer.batch // planes.images) if isinstance(layer.batch, int) else layer.batch
    cost *= idle(bands * layer.groups, blocks, blocking.blocks, batches) * bands / planes.images
    return cost, replace(blocking, chunk=chunk)


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
        layer, blocking = self.layer, plan(self.machine, self.layer, self.source)[1]
        weights = Weights(layer, self.weight, blocking.tile)
        return [weights.kernel(self.module, f"{self.name}.pack", self.temp),
                self._multiply(blocking, weights.blocks)], [weights.temporary]

    def _multiply(self, blocking: Blocking, blocks: int) -> Launch:
        """The convolution; consecutive tasks share a source, which is copied when it changes."""
        layer, planes, tile = self.layer, blocking.planes, blocking.tile
        bands, parts = -(-layer.stencil.rows // planes.band), -(-blocks // blocking.blocks)
        depth, once = i64(layer.depth), blocking.chunk == layer.depth
        held = planes.bytes(blocking.chunk, tile.columns)
        panel = round_up(blocking.chunk * blocking.panel() * size_of(layer.dtype), 64)
        sums = len(layer.stencil.taps) * tile.rows * blocking.room
        tables, size = self._tables(blocking), Weights(layer, self.weight, tile).size
        with kernel(self.module, self.name) as (b, ctx, scratch, task, first):
            step, group, band, part = split(b, task, layer.groups, bands, parts)
            image, row = scaled(b, step, planes.images), scaled(b, band, planes.band)
            images = i64(1)
            if planes.images > 1:
                images = least(b, i64(planes.images), b.sub(size_value(b, ctx, layer.batch), image))
            begin = scaled(b, part, blocking.blocks)
            changed = b.or_(first, b.icmp_signed("==", part, i64(0))) if once else ir.IntType(1)(1)
            places = [bytes_at(b, scratch, offset) for offset in (0, held, held + panel)]
            with loop(b, 0, layer.depth, blocking.chunk) as s:
                count = least(b, i64(blocking.chunk), b.sub(depth, s))
                with b.if_then(changed):
                    channel = total(b, scaled(b, group, layer.depth), s)
                    planes.fill(b, ctx, self.source, places[0], (image, channel), (images, count), row)
                    if blocking.compact:
                        planes.compact(b, places[0], places[1], tables.offsets, (images, count), blocking.room)
                with loop(b, begin, least(b, i64(blocks), total(b, begin, blocking.blocks))) as block:
                    number = total(b, scaled(b, group, blocks), block)
                    weights = at(b, self.temp(b, ctx, 0), scaled(b, number, size), layer.dtype)
                    mine = places[2] if once else at(b, places[2], scaled(b, b.sub(block, begin), sums), layer.dtype)
                    source = places[1] if blocking.compact else places[0]
                    self._block(b, blocking, tables, source, weights, mine, images, (s, count))
                    with b.if_then(b.icmp_signed(">=", b.add(s, count), depth)):
                        self._drain(b, ctx, blocking, mine, (image, group, block, row), images)
        tasks = Count(layer.groups * bands * parts, ((layer.batch, planes.images),))
        finished = sums * size_of(layer.dtype) * (1 if once else blocking.blocks)
        return Launch(self.name, tasks, held + panel + finished)

    def _tables(self, blocking: Blocking) -> Tables:
        """The constant tables of a blocking."""
        planes, width = blocking.planes, self.layer.kernel[1]
        taps = [tap for phase in self.layer.stencil.taps for tap in phase]
        offsets = [offset for phase in planes.offsets for offset in phase]
        panels = [t * blocking.room for t in range(len(taps))] if blocking.compact else offsets
        places = [(tap.kernel[0] * width + tap.kernel[1]) * blocking.tile.rows for tap in taps]
        counts = [len(phase) for phase in planes.offsets]
        starts = [sum(counts[:f]) for f in range(len(counts) + 1)]
        words = {"offsets": offsets, "panels": panels, "places": places, "starts": starts}
        return Tables(*(table(self.module, f"{self.name}.{word}", values or [0]) for word, values in words.items()))

    def _block(self, b: Builder, blocking: Blocking, tables: Tables, source: ir.Value, weights: ir.Value,
               sums: ir.Value, images: ir.Value, channels: Pair) -> None:
        """All pixels of one block of channels, every target phase, added to what the channels before gave."""
        planes, tile, dtype = blocking.planes, blocking.tile, self.layer.dtype
        pixels = total(b, scaled(b, b.sub(images, i64(1)), blocking.image), planes.band * blocking.pitch)
        previous = None
        if blocking.chunk < self.layer.depth:
            begun, none = b.icmp_signed(">", channels[0], i64(0)), tile.zeros()[0]
            previous = lambda old: b.select(begun, old, none)
        with loop(b, 0, len(planes.offsets)) as phase, loop(b, 0, pixels, tile.columns) as p:
            column = at(b, source, p, dtype)
            acc = self._shifted(b, blocking, phase, column, weights, tables, channels)
            place = total(b, scaled(b, phase, tile.rows * blocking.room), p)
            tile.store(b, acc, at(b, sums, place, dtype), blocking.room, previous)

    def _shifted(self, b: Builder, blocking: Blocking, phase: ir.Value, column: ir.Value, weights: ir.Value,
                 tables: Tables, channels: Pair) -> list[ir.Value]:
        """The microkernel: source channels outside, taps inside."""
        planes, tile, dtype = blocking.planes, blocking.tile, self.layer.dtype

        offsets, places, starts = tables.panels, tables.places, tables.starts
        pitch = blocking.panel() or planes.channel
        count: int | ir.Value = len(planes.offsets[0])
        if len(planes.offsets) > 1:
            start = load(b, at(b, starts, phase, i64), i64)
            count = b.sub(load(b, at(b, starts, total(b, phase, 1), i64), i64), start)
            offsets, places = at(b, offsets, start, i64), at(b, places, start, i64)

        def channel(s, acc):
            row = at(b, weights, scaled(b, b.add(channels[0], s), prod(self.layer.kernel) * tile.rows), dtype)
            plane = at(b, column, scaled(b, s, pitch), dtype)

            def tap(t, acc):
                place = scaled(b, t, tile.rows) if len(planes.offsets) == 1 else load(b, at(b, places, t, i64), i64)
                left, right = at(b, row, place, dtype), at(b, plane, load(b, at(b, offsets, t, i64), i64), dtype)
                tile.ahead(b, left)
                tile.soon(b, right, pitch, max(map(len, planes.offsets)))
                return tile.multiply(b, acc, left, right)

            return fold(b, count, acc, tap)

        some = channels[1]
        if not isinstance(count, int):
            some = b.select(b.icmp_signed(">", count, i64(0)), some, i64(0))
        return fold(b, some, tile.zeros(), channel)

    def _drain(self, b: Builder, ctx: ir.Value, blocking: Blocking, sums: ir.Value, corner: Index,
               images: ir.Value) -> None:
        """Finished sums of one block to their destination, channel by channel."""
        layer, planes, tile = self.layer, blocking.planes, blocking.tile
        image, group, block, row = corner
        start = scaled(b, block, tile.rows)
        with loop(b, 0, least(b, i64(tile.rows), b.sub(i64(layer.width), start))) as r:
            channel = total(b, scaled(b, group, layer.width), start, r)

            def source(fy, fx):
                phase = total(b, scaled(b, fy, layer.stencil.spread[1]), fx)
                return at(b, sums, scaled(b, total(b, scaled(b, phase, tile.rows), r), blocking.room), layer.dtype)

            planes.drain(b, ctx, self.write, source, (image, channel, row), images, blocking.image, blocking.pitch)
