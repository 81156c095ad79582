"""The gradient of a 3x3 kernel at Winograd's points: products of patches of both images, source channels in lanes."""
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Ref, Scratch, Sink, memory
from stele.backend.contract.conv.gradient import Band, Gradient
from stele.backend.contract.conv.layer import Small
from stele.backend.contract.conv.points import Maps, Points, square_in_loops
from stele.backend.contract.conv.squares import Squares
from stele.backend.contract.tile import Price, best_tile
from stele.backend.llvm.access import Extent, size_of
from stele.backend.llvm.nest import round_up
from stele.backend.llvm.vectors import transpose
from stele.kernel.machine import Machine

PART = 512
"""Patches whose products are summed before sums are added, about: as many parts as there are tasks."""
LONGEST = 128
"""Patches that are summed in one row: longer sums round more."""


@dataclass(frozen=True)
class WinogradWeight(Gradient):
    """Products of patches of both images, some at a time; `tile` is outputs x channels. Sums lie as
    `[point][output][channel]`, values at the points as `[point][channel][patch]`.
    """

    conv: Small
    points: Points
    x: Squares
    g: Squares

    def __str__(self) -> str:
        return f"{self.points}, tiles {self.tile}, {self.x.most} patches of {self.part}"

    @property
    def all(self) -> Extent:
        return self.x.all

    @contextmanager
    def bands(self, b: Code, begin: Int, end: Int) -> Generator[tuple[Int, Int, Int, ir.Value]]:
        with b.loop(begin, end, self.x.most) as first:
            yield first, b.least(self.x.most, end - first), b.int(0), first.equals(begin)

    @property
    def maps(self) -> Maps:
        return Maps(self.tile.machine, self.points)

    @property
    def pitch(self) -> int:
        """Elements from one channel to the next where patches lie end to end."""
        return round_up(self.x.most, self.tile.lanes)

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and channels, up to whole tiles."""
        return round_up(self.conv.outputs, self.tile.rows), round_up(self.conv.channels, self.tile.columns)

    @property
    def rows(self) -> int:
        return self.conv.outputs

    @property
    def sums(self) -> int:
        return self.points.every * prod(self.shape)

    def matrix(self, channels: int) -> int:
        """Elements of one point's values in some channels; stores overrun the last channel by less than a vector."""
        return channels * self.pitch + self.tile.lanes

    @property
    def rooms(self) -> tuple[int, ...]:
        """Bytes of what a channel is laid in, both operands at all points, one point of x turned."""
        values = (*(self.points.every * self.matrix(n) for n in self.shape[::-1]), self.pitch * self.shape[1])
        return max(self.x.bytes, self.g.bytes), *(memory(n, self.conv.dtype) for n in values)

    def add(self, band: Band) -> None:
        b, (laid, x, g, turned), (outputs, channels) = band.b, band.rooms, self.shape
        for side, operand, apply, to, count, room in (
            (self.x, band.x, self.maps.source, x, self.conv.channels, channels),
            (self.g, band.g, self.maps.cotangent, g, self.conv.outputs, outputs),
        ):
            with b.loop(0, count) as channel:
                side.bring(b, operand, channel, band.image, band.images, laid, apply, self.points.count,
                           to + channel * self.pitch, self.matrix(room))
        with b.loop(0, self.points.every) as point:
            self._turn(b, x + point * self.matrix(channels), turned)
            self._products(band, g + point * self.matrix(outputs), turned, band.sums + point * (outputs * channels))

    def _turn(self, b: Code, x: Ref, turned: Ref) -> None:
        """One point of x as `[patch][channel]`."""
        lanes, channels = self.tile.lanes, self.shape[1]
        with b.loop(0, channels, lanes) as c, b.loop(0, self.pitch, lanes) as p:
            rows, to = x + (c * self.pitch + p), turned + (p * channels + c)
            columns = transpose(b, [(rows + r * self.pitch).load(lanes) for r in range(lanes)])
            for k, column in enumerate(columns):
                (to + k * channels).store(column)

    def _products(self, band: Band, left: Ref, right: Ref, sums: Ref) -> None:
        """All sums over the patches at one point, added to those of the images before."""
        b, tile, (outputs, channels), none = band.b, self.tile, self.shape, self.tile.zeros()[0]
        with b.loop(0, channels, tile.columns) as c, b.loop(0, outputs, tile.rows) as o:
            rows, columns = left + o * self.pitch, right + c
            acc = b.fold(band.images, tile.zeros(), lambda t, acc: tile.multiply(
                b, acc, rows + t, columns + t * channels, self.pitch))
            tile.store(b, acc, sums + (o * channels + c), channels, lambda old: b.select(band.first, none, old))

    def finish(self, b: Code, sums: Ref, row: Int, scratch: Scratch, sink: Sink) -> None:
        """One output comes back from the points."""
        conv, lanes, count, (outputs, channels) = self.conv, self.tile.lanes, self.points.count, self.shape
        here = scratch.room(self.points.every * lanes * size_of(conv.dtype), conv.dtype)
        with b.loop(0, conv.channels, lanes) as c:
            with b.loop(0, self.points.every) as point:
                (here + point * lanes).store(self.total(b, sums + (row * channels + point * (outputs * channels) + c)))
            mask = b.below(conv.channels - c, lanes)

            def write(y: Number, x: Number, value: ir.Value) -> None:
                (here + y * (conv.kernel[1] * lanes) + x * lanes).store(value)

            square_in_loops(self.maps.gradient, b, count,
                            lambda y, x: (here + x * lanes + y * (count * lanes)).load(lanes), write)
            with b.loop(0, prod(conv.kernel)) as tap:
                y, x = b.split(tap, conv.kernel[1])
                sink.put(b, (row, c, y, x), 1, mask, (here + tap * lanes).load(lanes))


def schedule(machine: Machine, conv: Small, points: Points) -> tuple[float, WinogradWeight]:
    """The cheapest schedule, by estimate, with its price per image in vector multiplications: per patch, where images
    have any size."""
    lanes = machine.lanes(size_of(conv.dtype))
    return machine.choices.choose(f"winograd{points.side} weight {conv}", [
        _candidate(machine, conv, points, lanes, n * lanes) for n in (1, 2, 3, 4, 6, 8) if n * lanes <= LONGEST])


def _candidate(machine: Machine, conv: Small, points: Points, lanes: int, most: int) -> tuple[float, WinogradWeight]:
    """One schedule with its price per image, or per patch."""
    tile = best_tile(Price(machine, conv.dtype, left=1.0, drain=6.0), (conv.outputs,), (conv.channels,), most)
    x = Squares(conv, points.side, points.count, lanes, most)
    g = Squares(replace(conv, source=conv.target, low=(0, 0)), points.side, points.side, lanes, most)
    found = WinogradWeight(conv, tile, _part(x), points, x, g)
    every, size = points.every, size_of(conv.dtype)
    price = Price(machine, conv.dtype, drain=6.0 if found.sums * size <= machine.l2 else 14.0)
    cost = every * price.cost((tile.rows, tile.vectors), conv.outputs, conv.channels, most)
    values = every * found.pitch / tile.lanes
    cost += conv.channels * (x.cost(every) + values * 7) + conv.outputs * g.cost(every)
    held = every * found.pitch * (conv.outputs + conv.channels) * size
    if held > machine.l2 * 7 // 8:
        cost += values * (conv.outputs + conv.channels) * (8 if held <= 2 * machine.l2 else 24)
    return (cost / most + found.sums / tile.lanes * 8 / (found.part or PART)) * (x.each or 1), found


def _part(x: Squares) -> int:
    """Patches of a part: about `PART`, and of an even number of parts, where it is known how many there are."""
    if x.known is None:
        return round_up(PART, x.most)
    parts = max(2, 2 * round(x.known / (2 * PART)))
    return round_up(-(-x.known // parts), x.most)
