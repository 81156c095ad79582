"""The gradient of a 3x3 kernel at Winograd's points: products of patches of both images, source channels in lanes."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Ref, Sink, Site, memory, rooms
from stele.backend.contract.conv.patches import Patches, tiled
from stele.backend.contract.conv.planes import cuts, several
from stele.backend.contract.conv.points import Maps, Points, square_in_loops
from stele.backend.contract.conv.stencil import Conv
from stele.backend.contract.tile import Price, Tile, best_tile
from stele.backend.llvm.access import Count, Extent, Operand, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import round_up, zero
from stele.backend.llvm.vectors import transpose
from stele.kernel.machine import Machine

PART = 8
"""Images whose products are summed before sums are added: as many parts as there are tasks."""
LONGEST = 128
"""Patches of several images that are summed in one row: longer sums round more."""


@dataclass(frozen=True)
class Schedule:
    """Products are made of the patches `x` and `g` of a band of some images at a time; `tile` is outputs x channels."""

    tile: Tile
    x: Patches
    g: Patches
    points: Points
    outputs: int
    channels: int

    def __str__(self) -> str:
        return f"{self.points}, tiles {self.tile}, {self.x.planes}"

    @property
    def every(self) -> int:
        """Points of a patch."""
        return self.points.count ** 2

    @property
    def pitch(self) -> int:
        """Elements from one channel to the next where patches lie end to end."""
        return round_up(self.x.count, self.tile.lanes)

    @property
    def part(self) -> int:
        """Images of a task."""
        return round_up(PART, self.x.planes.images)

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and channels, up to whole tiles."""
        return round_up(self.outputs, self.tile.rows), round_up(self.channels, self.tile.columns)

    @property
    def sums(self) -> int:
        """Elements of a task's sums."""
        return self.every * prod(self.shape)

    def matrix(self, channels: int) -> int:
        """Elements of one point's values in some channels; stores overrun the last channel by less than a vector."""
        return channels * self.pitch + self.tile.lanes


def schedule(machine: Machine, conv: Conv, points: Points, operands: tuple[Operand, Operand]
             ) -> tuple[float, Schedule]:
    """The cheapest schedule, by estimate, with its price per image in vector multiplications."""
    lanes, low = machine.lanes(size_of(conv.dtype)), (conv.padding[0][0], conv.padding[1][0])
    x = tiled(conv.size, conv.target, low, points.side, points.count)
    g = tiled(conv.target, conv.target, (0, 0), points.side, points.side)
    images = [n for n in several(conv.batch, 1, 2, 4, 8) if n == 1 or n * x.rows * x.width <= LONGEST]
    sides = ([Patches(planes, machine.squeezes) for planes in shapes]
             for shapes in (cuts(side, conv.dtype, lanes, images, range(2, x.rows + 1)) for side in (x, g)))
    return machine.choices.choose(f"winograd{points.side} weight {conv}",
                                  [_candidate(machine, conv, points, operands, *pair) for pair in zip(*sides)])


def _candidate(machine: Machine, conv: Conv, points: Points, operands: tuple[Operand, Operand], x: Patches,
               g: Patches) -> tuple[float, Schedule]:
    """One schedule with its price per image."""
    tile = best_tile(Price(machine, conv.dtype, left=1.0, drain=6.0), (conv.outputs,), (conv.channels,), x.count)
    found = Schedule(tile, x, g, points, conv.outputs, conv.channels)
    every, size = found.every, size_of(conv.dtype)
    price = Price(machine, conv.dtype, drain=6.0 if found.sums * size <= machine.l2 else 14.0)
    cost = every * price.cost((tile.rows, tile.vectors), conv.outputs, conv.channels, x.count)
    values = every * found.pitch / tile.lanes
    cost += conv.channels * (x.fill_cost(operands[0], every) + values * 7)
    cost += conv.outputs * g.fill_cost(operands[1], every)
    held = every * found.pitch * (conv.outputs + conv.channels) * size
    if held > machine.l2 * 7 // 8:
        cost += values * (conv.outputs + conv.channels) * (8 if held <= 2 * machine.l2 else 24)
    return cost * x.planes.bands / x.planes.images + found.sums / tile.lanes * 8 / found.part, found


def gradient(site: Site, conv: Conv, cut: Schedule, x: Operand, g: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c, 3, 3) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    parts: tuple[tuple[Extent, int], ...] = ((conv.batch, cut.part),)
    made = _Gradient(site, conv, cut, Maps(site.machine, cut.points), x, g, sink)
    sums = Temp(Count(cut.sums * size_of(conv.dtype), parts))
    return [made.multiply(parts), made.reduce()], [sums]


@dataclass(frozen=True)
class Places:
    """Where a task keeps: the planes of one channel, both operands at all points, one point of x turned."""

    planes: Ref
    x: Ref
    g: Ref
    turned: Ref


@dataclass(frozen=True)
class _Gradient:
    """Sums lie as `[part][point][output][channel]`, values at the points as `[point][channel][patch]`."""

    site: Site
    conv: Conv
    schedule: Schedule
    maps: Maps
    x: Operand
    g: Operand
    sink: Sink

    def _rooms(self) -> list[int]:
        """Bytes of the parts of scratch, in the order of `Places`."""
        cut, (outputs, channels) = self.schedule, self.schedule.shape
        return [max(side.planes.bytes(1, side.planes.lanes) for side in (cut.x, cut.g)),
                *(memory(n, self.conv.dtype) for n in (
                    cut.every * cut.matrix(channels), cut.every * cut.matrix(outputs), cut.pitch * channels))]

    def multiply(self, parts: tuple[tuple[Extent, int], ...]) -> Launch:
        """Sums of one part of the images, a few at a time."""
        conv, cut, planes, sizes = self.conv, self.schedule, self.schedule.x.planes, self._rooms()
        tables = [side.tables(self.site, f"{word}.") for side, word in zip((cut.x, cut.g), "xg")]
        with self.site.kernel() as (b, scratch, task, _):
            batch, begin = b.extent(conv.batch), task * cut.part
            end = b.least(batch, begin + cut.part)
            places = Places(*rooms(scratch, sizes, conv.dtype))
            sums = self.site.room(b, 0, conv.dtype) + task * cut.sums
            with b.loop(begin, end, planes.images) as image, b.loop(0, planes.stencil.rows, planes.band) as row:
                images = planes.some(b, image, lambda: end)
                self._evaluate(b, places, tables, image, images, row)
                first = b.and_(image.equals(begin), row.equals(0))
                with b.loop(0, cut.every) as point:
                    self._turn(b, places, point)
                    self._products(b, places, point, images * cut.x.each, sums, first)
        return Launch(self.site.name, Count(1, parts), sum(sizes))

    def _evaluate(self, b: Code, places: Places, tables: list[list[ir.Value]], image: Int, images: Int, row: Int
                  ) -> None:
        """All channels of both operands at the points."""
        cut = self.schedule
        for side, words, operand, apply, to, count, room in (
            (cut.x, tables[0], self.x, self.maps.source, places.x, self.conv.channels, cut.shape[1]),
            (cut.g, tables[1], self.g, self.maps.cotangent, places.g, self.conv.outputs, cut.shape[0]),
        ):
            with b.loop(0, count) as channel:
                side.fill(b, operand, (image, channel), images, row, places.planes, words, apply, cut.points.count,
                          to + channel * cut.pitch, cut.matrix(room))

    def _turn(self, b: Code, places: Places, point: Int) -> None:
        """One point of x as `[patch][channel]`."""
        cut, lanes, channels = self.schedule, self.schedule.tile.lanes, self.schedule.shape[1]
        source = places.x + point * cut.matrix(channels)
        with b.loop(0, channels, lanes) as c, b.loop(0, cut.pitch, lanes) as p:
            rows = source + (c * cut.pitch + p)
            columns = transpose(b, [(rows + r * cut.pitch).load(lanes) for r in range(lanes)])
            to = places.turned + (p * channels + c)
            for k, column in enumerate(columns):
                (to + k * channels).store(column)

    def _products(self, b: Code, places: Places, point: Int, count: Int, sums: Ref, first: ir.Value) -> None:
        """All sums over the patches at one point, added to those of the images before."""
        cut, tile, (outputs, channels) = self.schedule, self.schedule.tile, self.schedule.shape
        none = tile.zeros()[0]
        left, to = places.g + point * cut.matrix(outputs), sums + point * (outputs * channels)
        with b.loop(0, channels, tile.columns) as c, b.loop(0, outputs, tile.rows) as o:
            rows, columns = left + o * cut.pitch, places.turned + c
            place = to + (o * channels + c)
            acc = b.fold(count, tile.zeros(), lambda t, acc: tile.multiply(
                b, acc, rows + t, columns + t * channels, cut.pitch))
            tile.store(b, acc, place, channels, lambda old: b.select(first, none, old))

    def reduce(self) -> Launch:
        """Adds the parts in order and comes back from the points; a task is one output."""
        conv, cut, lanes, count = self.conv, self.schedule, self.schedule.tile.lanes, self.schedule.points.count
        outputs, channels = cut.shape
        with self.site.kernel(".sum") as (b, scratch, output, _):
            parts, here = b.blocks(b.extent(conv.batch), cut.part), scratch.of(conv.dtype)
            source = self.site.room(b, 0, conv.dtype) + output * channels
            with b.loop(0, conv.channels, lanes) as c:
                with b.loop(0, cut.every) as point:
                    done = b.fold(parts, [zero(conv.dtype, lanes)], lambda part, acc: [b.fadd(acc[0], (
                        source + (part * cut.sums + point * (outputs * channels) + c)).load(lanes))])
                    (here + point * lanes).store(done[0])
                mask = b.below(conv.channels - c, lanes)

                def write(y: Number, x: Number, value: ir.Value) -> None:
                    (here + y * (conv.kernel[1] * lanes) + x * lanes).store(value)

                square_in_loops(self.maps.gradient, b, count,
                                lambda y, x: (here + x * lanes + y * (count * lanes)).load(lanes), write)
                with b.loop(0, prod(conv.kernel)) as tap:
                    y, x = b.split(tap, conv.kernel[1])
                    self.sink.put(b, (output, c, y, x), 1, mask, (here + tap * lanes).load(lanes))
        return Launch(f"{self.site.name}.sum", Count(conv.outputs), cut.every * lanes * size_of(conv.dtype))
