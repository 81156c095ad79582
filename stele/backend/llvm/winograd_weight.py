"""The gradient of a 3x3 kernel at Winograd's points: products of tiles of both images, source channels in lanes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir

from stele.backend.llvm.access import (
    Address,
    Builder,
    Count,
    Extent,
    Operand,
    Temp,
    Write,
    blocks_of,
    size_of,
    size_value,
)
from stele.backend.llvm.launch import Launch, i64
from stele.backend.llvm.machine import Machine
from stele.backend.llvm.microkernel import Price, Tile, best_tile
from stele.backend.llvm.nest import (
    at,
    bytes_at,
    fold,
    kernel,
    lanes_below,
    least,
    load,
    loop,
    round_up,
    scaled,
    split,
    store,
    total,
    zero,
)
from stele.backend.llvm.pack import transpose
from stele.backend.llvm.planes import Planes
from stele.backend.llvm.points import Maps, Points, square_in_loops
from stele.backend.llvm.stencil import Conv
from stele.backend.llvm.tiles import Tiles, tiled

PART = 8
"""Images whose products are summed before sums are added: as many parts as there are tasks."""
LONGEST = 128
"""Tiles of several images that are summed in one row: longer sums round more."""


@dataclass(frozen=True)
class Blocking:
    """Products are made of the tiles `x` and `g` of a band of some images at a time; `tile` is outputs x channels."""

    tile: Tile
    x: Tiles
    g: Tiles
    points: Points
    outputs: int
    channels: int

    @property
    def every(self) -> int:
        """Points of a tile."""
        return self.points.count ** 2

    @property
    def pitch(self) -> int:
        """Elements from one channel to the next where tiles lie end to end."""
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


def plan(machine: Machine, conv: Conv, points: Points, operands: tuple[Operand, Operand]) -> tuple[float, Blocking]:
    """The cheapest blocking, by estimate, with its price per image in vector multiplications."""
    lanes, low = machine.lanes(size_of(conv.dtype)), (conv.padding[0][0], conv.padding[1][0])
    x = tiled(conv.size, conv.target, low, points.tile, points.count)
    g = tiled(conv.target, conv.target, (0, 0), points.tile, points.tile)
    shapes = [(images, x.rows) for images in (1, 2, 4, 8)
              if images == 1 or (conv.batch != 1 and images * x.rows * x.width <= LONGEST)]
    shapes += [(1, -(-x.rows // bands)) for bands in range(2, x.rows + 1)]
    sides = ([Tiles(Planes(side, conv.dtype, lanes, *shape)) for side in (x, g)] for shape in dict.fromkeys(shapes))
    return machine.choices.choose(f"winograd{points.tile} weight {conv}",
                                  [_candidate(machine, conv, points, operands, *pair) for pair in sides])


def _candidate(machine: Machine, conv: Conv, points: Points, operands: tuple[Operand, Operand], x: Tiles,
               g: Tiles) -> tuple[float, Blocking]:
    """One blocking with its price per image."""
    tile = best_tile(Price(machine, conv.dtype, left=1.0, drain=6.0), (conv.outputs,), (conv.channels,), x.count)
    blocking = Blocking(tile, x, g, points, conv.outputs, conv.channels)
    every, size = blocking.every, size_of(conv.dtype)
    price = Price(machine, conv.dtype, drain=6.0 if blocking.sums * size <= machine.l2 else 14.0)
    cost = every * price.cost((tile.rows, tile.vectors), conv.outputs, conv.channels, x.count)
    values = every * blocking.pitch / tile.lanes
    cost += conv.channels * (x.fill_cost(operands[0], every) + values * 7)
    cost += conv.outputs * g.fill_cost(operands[1], every)
    held = every * blocking.pitch * (conv.outputs + conv.channels) * size
    if held > machine.l2 * 7 // 8:
        cost += values * (conv.outputs + conv.channels) * (8 if held <= 2 * machine.l2 else 24)
    bands = -(-x.planes.stencil.rows // x.planes.band)
    return cost * bands / x.planes.images + blocking.sums / tile.lanes * 8 / blocking.part, blocking


def weight_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, blocking: Blocking, x: Operand,
                    g: Operand, write: Write, temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c, 3, 3) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    return _WeightGradient(module, name, conv, blocking, Maps(machine, blocking.points), x, g, write, temp).emit()


@dataclass(frozen=True)
class Places:
    """Where a task keeps: the planes of one channel, both operands at all points, one point of x turned."""

    planes: ir.Value
    x: ir.Value
    g: ir.Value
    turned: ir.Value


@dataclass(frozen=True)
class _WeightGradient:
    """Sums lie as `[part][point][output][channel]`, values at the points as `[point][channel][tile]`."""

    module: ir.Module
    name: str
    conv: Conv
    blocking: Blocking
    maps: Maps
    x: Operand
    g: Operand
    write: Write
    temp: Address

    def emit(self) -> tuple[list[Launch], list[Temp]]:
        parts: tuple[tuple[Extent, int], ...] = ((self.conv.batch, self.blocking.part),)
        sums = Temp(Count(self.blocking.sums * size_of(self.conv.dtype), parts))
        return [self._multiply(parts), self._reduce()], [sums]

    def _rooms(self) -> tuple[int, int, int, int]:
        """Bytes of the parts of scratch, in the order of `Places`."""
        blocking, size = self.blocking, size_of(self.conv.dtype)
        outputs, channels = blocking.shape
        return (max(side.planes.bytes(1, side.planes.lanes) for side in (blocking.x, blocking.g)),
                round_up(blocking.every * blocking.matrix(channels) * size, 64),
                round_up(blocking.every * blocking.matrix(outputs) * size, 64),
                round_up(blocking.pitch * channels * size, 64))

    def _multiply(self, parts: tuple[tuple[Extent, int], ...]) -> Launch:
        """Sums of one part of the images, a few at a time."""
        conv, blocking, rooms = self.conv, self.blocking, self._rooms()
        planes, sides = blocking.x.planes, (blocking.x, blocking.g)
        tables = [side.tables(self.module, f"{self.name}.{word}") for side, word in zip(sides, "xg")]
        with kernel(self.module, self.name) as (b, ctx, scratch, task, _):
            batch, begin = size_value(b, ctx, conv.batch), scaled(b, task, blocking.part)
            end = least(b, batch, total(b, begin, blocking.part))
            places = Places(*(bytes_at(b, scratch, sum(rooms[:k])) for k in range(len(rooms))))
            sums = at(b, self.temp(b, ctx, 0), scaled(b, task, blocking.sums), conv.dtype)
            with loop(b, begin, end, planes.images) as image, loop(b, 0, planes.stencil.rows, planes.band) as row:
                images = least(b, i64(planes.images), b.sub(end, image)) if planes.images > 1 else i64(1)
                self._evaluate(b, ctx, places, tables, image, images, row)
                first = b.and_(b.icmp_signed("==", image, begin), b.icmp_signed("==", row, i64(0)))
                with loop(b, 0, blocking.every) as point:
                    self._turn(b, places, point)
                    self._products(b, places, point, scaled(b, images, blocking.x.each), sums, first)
        return Launch(self.name, Count(1, parts), sum(rooms))

    def _evaluate(self, b: Builder, ctx: ir.Value, places: Places, tables: list[list[ir.Value]], image: ir.Value,
                  images: ir.Value, row: ir.Value) -> None:
        """All channels of both operands at the points."""
        blocking = self.blocking
        for side, words, operand, apply, to, count, room in (
            (blocking.x, tables[0], self.x, self.maps.source, places.x, self.conv.channels, blocking.shape[1]),
            (blocking.g, tables[1], self.g, self.maps.cotangent, places.g, self.conv.outputs, blocking.shape[0]),
        ):
            with loop(b, 0, count) as channel:
                line = at(b, to, scaled(b, channel, blocking.pitch), self.conv.dtype)
                side.evaluate(b, ctx, operand, (image, channel), images, row, places.planes, words, apply,
                              blocking.points.count, line, blocking.matrix(room))

    def _turn(self, b: Builder, places: Places, point: ir.Value) -> None:
        """One point of x as `[tile][channel]`."""
        blocking, dtype, lanes = self.blocking, self.conv.dtype, self.blocking.tile.lanes
        channels = blocking.shape[1]
        source = at(b, places.x, scaled(b, point, blocking.matrix(channels)), dtype)
        with loop(b, 0, channels, lanes) as c, loop(b, 0, blocking.pitch, lanes) as t:
            corner = at(b, source, total(b, scaled(b, c, blocking.pitch), t), dtype)
            rows = [load(b, at(b, corner, r * blocking.pitch, dtype), dtype, lanes) for r in range(lanes)]
            to = at(b, places.turned, total(b, scaled(b, t, channels), c), dtype)
            for k, column in enumerate(transpose(b, rows)):
                store(b, column, at(b, to, k * channels, dtype), dtype)

    def _products(self, b: Builder, places: Places, point: ir.Value, tiles: ir.Value, sums: ir.Value,
                  first: ir.Value) -> None:
        """All sums over the tiles at one point, added to those of the images before."""
        blocking, tile, dtype = self.blocking, self.blocking.tile, self.conv.dtype
        outputs, channels = blocking.shape
        none = tile.zeros()[0]
        left = at(b, places.g, scaled(b, point, blocking.matrix(outputs)), dtype)
        to = at(b, sums, scaled(b, point, outputs * channels), dtype)
        with loop(b, 0, channels, tile.columns) as c, loop(b, 0, outputs, tile.rows) as o:
            rows, columns = at(b, left, scaled(b, o, blocking.pitch), dtype), at(b, places.turned, c, dtype)

            step = lambda t, acc: tile.multiply(
                b, acc, at(b, rows, t, dtype), at(b, columns, scaled(b, t, channels), dtype), blocking.pitch)
            place = at(b, to, total(b, scaled(b, o, channels), c), dtype)
            tile.store(b, fold(b, tiles, tile.zeros(), step), place, channels,
                       lambda old: b.select(first, none, old))

    def _reduce(self) -> Launch:
        """Adds the parts in order and comes back from the points; a task is one output."""
        conv, blocking, lanes, name = self.conv, self.blocking, self.blocking.tile.lanes, f"{self.name}.sum"
        outputs, channels = blocking.shape
        with kernel(self.module, name) as (b, ctx, scratch, output, _):
            parts = blocks_of(b, size_value(b, ctx, conv.batch), blocking.part)
            source = at(b, self.temp(b, ctx, 0), scaled(b, output, channels), conv.dtype)
            with loop(b, 0, conv.channels, lanes) as c:
                with loop(b, 0, blocking.every) as point:

                    def add(part, acc, c=c, point=point):
                        place = total(b, scaled(b, part, blocking.sums), scaled(b, point, outputs * channels), c)
                        return [b.fadd(acc[0], load(b, at(b, source, place, conv.dtype), conv.dtype, lanes))]

                    done = fold(b, parts, [zero(conv.dtype, lanes)], add)[0]
                    store(b, done, at(b, scratch, scaled(b, point, lanes), conv.dtype), conv.dtype)
                mask = lanes_below(b, b.sub(i64(conv.channels), c), lanes)

                def read(y, x):
                    column = at(b, scratch, scaled(b, x, lanes), conv.dtype)
                    return load(b, at(b, column, y * blocking.points.count * lanes, conv.dtype), conv.dtype, lanes)

                def write(y, x, value):
                    line = at(b, scratch, scaled(b, y, conv.kernel[1] * lanes), conv.dtype)
                    store(b, value, at(b, line, x * lanes, conv.dtype), conv.dtype)

                square_in_loops(self.maps.gradient, b, blocking.points.count, read, write)
                with loop(b, 0, prod(conv.kernel)) as tap:
                    y, x = split(b, tap, conv.kernel[1])
                    value = load(b, at(b, scratch, scaled(b, tap, lanes), conv.dtype), conv.dtype, lanes)
                    self.write(b, ctx, (output, c, y, x), 1, lanes, mask, value)
        return Launch(name, Count(conv.outputs), blocking.every * lanes * size_of(conv.dtype))
