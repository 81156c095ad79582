"""Convolutions forward and back to the input: an outer-product tile of channels x pixels over planes in scratch."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Ref, Sink, Site, Vectors, memory, rooms
from stele.backend.contract.conv.layer import Layer, Weights
from stele.backend.contract.conv.planes import BANDS, Planes, cuts, several
from stele.backend.contract.conv.task import Task, Tasks
from stele.backend.contract.tile import LEFT, Price, Tile, best_tile, shares
from stele.backend.llvm.access import Operand, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import round_up
from stele.kernel.machine import Machine


@dataclass(frozen=True)
class Schedule:
    """A task makes `blocks` tiles of channels of one group for a band of rows of some images, from `chunk` source
    channels at a time; `compact` if what each tap reads is first laid end to end, so that nothing is computed in vain.
    """

    tile: Tile
    planes: Planes
    blocks: int
    chunk: int
    compact: bool

    def __str__(self) -> str:
        end_to_end = " end to end" if self.compact else ""
        return f"tiles {self.tile}, {self.planes}{end_to_end}, {self.blocks} blocks of {self.chunk} channels"

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

    @property
    def sums(self) -> int:
        """Elements of the sums of one block."""
        return len(self.planes.stencil.taps) * self.tile.rows * self.room

    def panel(self) -> int:
        """Elements of what is compacted of one channel."""
        return sum(map(len, self.planes.stencil.taps)) * self.room if self.compact else 0


def schedule(machine: Machine, layer: Layer, source: Operand) -> tuple[float, Schedule]:
    """The cheapest schedule, by estimate, of those whose working set stays in the second-level cache, with its price
    per image in vector multiplications.
    """
    stencil, lanes = layer.stencil, machine.lanes(size_of(layer.dtype))
    shapes = cuts(stencil, layer.dtype, lanes, several(layer.batch, 1, 2, 4, 8), BANDS)
    dense = stencil.pitch == stencil.width and stencil.reach == (0, 0)

    def those(shapes: list[Planes]) -> list[tuple[float, Schedule]]:
        found = [_candidate(machine, layer, source, planes, compact, parts) for planes in shapes
                 for compact in (False, True) for parts in shares(layer.batch) if not (compact and dense)]
        return [c for c in found if c is not None]

    one = [Planes(stencil, layer.dtype, lanes, 1, 1)]
    return machine.choices.choose(f"direct {layer}", those(shapes) or those(one))


def _candidate(machine: Machine, layer: Layer, source: Operand, planes: Planes,
               compact: bool, parts: int) -> tuple[float, Schedule] | None:
    """One schedule with its price per target position; None where even one channel at a time is too much."""
    stencil, lanes = planes.stencil, planes.lanes
    phases, every = len(stencil.taps), max(1, sum(map(len, stencil.taps)))
    taps = -(-every // phases)
    pixels = Schedule(Tile(machine, layer.dtype, 1, 1), planes, 1, 1, compact).pixels
    price = Price(machine, layer.dtype, left=LEFT * machine.pace, right=1.0 if compact else 2.0, far=0.35, drain=3.0)
    tile = best_tile(price, (layer.width,), (pixels,), layer.depth * taps)
    blocks = -(-layer.width // tile.rows)
    found = Schedule(tile, planes, -(-blocks // parts), layer.depth, compact)
    each, chunk = planes.channel + found.panel(), layer.depth
    room = machine.l2 * 5 // 8 // size_of(layer.dtype)
    if each * chunk + found.sums > room:
        chunk = (room - found.blocks * found.sums) // each
        if chunk < 1 and planes.images * planes.bands < stencil.rows:
            return None
        chunk = -(-layer.depth // -(-layer.depth // max(1, chunk)))
    rows = planes.images * planes.band * -(-stencil.width // lanes)
    copied = layer.depth * (planes.fill_cost(source) + (every * rows * 3 if compact else 0))
    cost = phases * price.cost((tile.rows, tile.vectors), layer.width, pixels, layer.depth * taps) + parts * copied \
        + phases * layer.width * (rows * 5 + (-(-layer.depth // chunk) - 1) * pixels / lanes * 3)
    return Tasks(layer, planes, blocks, found.blocks).price(cost), replace(found, chunk=chunk)


def convolve(site: Site, layer: Layer, cut: Schedule, source: Operand, weight: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a convolution in one direction."""
    weights = Weights(layer, weight, cut.tile)
    launch, packed = weights.kernel(site)
    return [launch, _Convolution(site, layer, cut, source, weights, sink).multiply()], [packed]


@dataclass(frozen=True)
class Taps:
    """By tap: where it reads in planes, in what the microkernel reads, in weights; and each phase's first tap."""

    offsets: Ref
    panels: Ref
    places: Ref
    starts: Ref


@dataclass(frozen=True)
class _Convolution:
    """The kernel; scratch is `[planes of the source][what is compacted][finished sums of one block of channels]`."""

    site: Site
    layer: Layer
    schedule: Schedule
    source: Operand
    weights: Weights
    sink: Sink

    def multiply(self) -> Launch:
        """The convolution; consecutive tasks share a source, which is copied when it changes."""
        layer, cut, planes, tile = self.layer, self.schedule, self.schedule.planes, self.schedule.tile
        once, tasks = cut.chunk == layer.depth, Tasks(layer, planes, self.weights.blocks, cut.blocks)
        sizes = (planes.bytes(cut.chunk, tile.columns), memory(cut.chunk * cut.panel(), layer.dtype),
                 cut.sums * size_of(layer.dtype) * (1 if once else cut.blocks))
        tables = self._tables()
        with self.site.kernel() as (b, scratch, number, first):
            taps, task = Taps(*map(b.numbers, tables)), tasks.at(b, number)
            begin = task.part * cut.blocks
            changed = b.or_(first, task.part.equals(0)) if once else ir.IntType(1)(1)
            held, panels, sums = rooms(scratch, sizes, layer.dtype)
            with b.loop(0, layer.depth, cut.chunk) as s:
                channels = s, b.least(cut.chunk, layer.depth - s)
                with b.if_then(changed):
                    counts = task.images, channels[1]
                    planes.fill(b, self.source, held, (task.image, task.group * layer.depth + s), counts, task.row)
                    if cut.compact:
                        planes.compact(b, held, panels, taps.offsets, counts, cut.room)
                with b.loop(begin, b.least(tasks.blocks, begin + cut.blocks)) as block:
                    place = task.group * tasks.blocks + block
                    weights = self.site.room(b, 0, layer.dtype) + place * self.weights.size
                    mine = sums if once else sums + (block - begin) * cut.sums
                    self._block(b, taps, panels if cut.compact else held, weights, mine, task.images, channels)
                    with b.if_then(s + channels[1] >= layer.depth):
                        self._drain(b, mine, task, block)
        return Launch(self.site.name, tasks.count, sum(sizes))

    def _tables(self) -> list[ir.Value]:
        """The constants of `Taps`."""
        cut, planes, width = self.schedule, self.schedule.planes, self.layer.kernel[1]
        taps = [tap for phase in self.layer.stencil.taps for tap in phase]
        offsets = [offset for phase in planes.offsets for offset in phase]
        panels = [t * cut.room for t in range(len(taps))] if cut.compact else offsets
        places = [(tap.kernel[0] * width + tap.kernel[1]) * cut.tile.rows for tap in taps]
        starts = [sum(map(len, planes.offsets[:f])) for f in range(len(planes.offsets) + 1)]
        words = {"offsets": offsets, "panels": panels, "places": places, "starts": starts}
        return [self.site.table(word, values) for word, values in words.items()]

    def _block(self, b: Code, taps: Taps, source: Ref, weights: Ref, sums: Ref, images: Int,
               channels: tuple[Int, Int]) -> None:
        """All pixels of one block of channels, every target phase, added to what the channels before gave."""
        cut, planes, tile = self.schedule, self.schedule.planes, self.schedule.tile
        pixels = (images - 1) * cut.image + planes.band * cut.pitch
        previous: Callable[[ir.Value], ir.Value] | None = None
        if cut.chunk < self.layer.depth:
            begun, none = channels[0] > 0, tile.zeros()[0]
            previous = lambda old: b.select(begun, old, none)
        with b.loop(0, len(planes.offsets)) as phase, b.loop(0, pixels, tile.columns) as p:
            acc = self._shifted(b, phase, source + p, weights, taps, channels)
            tile.store(b, acc, sums + (phase * (tile.rows * cut.room) + p), cut.room, previous)

    def _shifted(self, b: Code, phase: Int, column: Ref, weights: Ref, taps: Taps, channels: tuple[Int, Int]
                 ) -> Vectors:
        """The microkernel: source channels outside, taps inside."""
        planes, tile = self.schedule.planes, self.schedule.tile
        offsets, places, pitch = taps.panels, taps.places, self.schedule.panel() or planes.channel
        some, count = channels[1], b.int(len(planes.offsets[0]))
        if len(planes.offsets) > 1:
            start = (taps.starts + phase).number()
            count = (taps.starts + (phase + 1)).number() - start
            offsets, places = offsets + start, places + start

        def channel(s: Int, acc: Vectors) -> Vectors:
            row, plane = weights + (channels[0] + s) * (self.layer.taps * tile.rows), column + s * pitch

            def tap(t: Int, acc: Vectors) -> Vectors:
                where: Number = t * tile.rows if len(planes.offsets) == 1 else (places + t).number()
                left, right = row + where, plane + (offsets + t).number()
                tile.ahead(left)
                tile.soon(right, pitch, max(map(len, planes.offsets)))
                return tile.multiply(b, acc, left, right)

            return b.fold(count, acc, tap)

        if len(planes.offsets) > 1:
            some = b.either(count > 0, some, 0)
        return b.fold(some, tile.zeros(), channel)

    def _drain(self, b: Code, sums: Ref, task: Task, block: Int) -> None:
        """Finished sums of one block to their destination, channel by channel."""
        layer, cut, planes, tile = self.layer, self.schedule, self.schedule.planes, self.schedule.tile
        start = block * tile.rows
        with b.loop(0, b.least(tile.rows, layer.width - start)) as r:
            planes.drain(b, self.sink, lambda phase: sums + (phase * tile.rows + r) * cut.room,
                         (task.image, task.group * layer.width + start + r, task.row), task.images, cut.image,
                         cut.pitch)
