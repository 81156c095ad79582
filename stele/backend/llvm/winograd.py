"""Winograd's convolution, forward and back to the input: 3x3 kernels at stride 1, with tiles of pixels in lanes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir

from stele.backend.llvm.access import Address, Builder, Count, Index, Operand, Temp, Write, size_of, size_value
from stele.backend.llvm.launch import Launch, i64
from stele.backend.llvm.layer import Layer, Weights
from stele.backend.llvm.machine import Machine
from stele.backend.llvm.microkernel import Price, Tile, best_tile, idle, shares
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
    store,
    total,
)
from stele.backend.llvm.pack import store_lanes
from stele.backend.llvm.planes import Planes
from stele.backend.llvm.points import Maps, Points, square, square_in_loops
from stele.backend.llvm.tiles import Tiles, tiled


@dataclass(frozen=True)
class Blocking:
    """A task makes `blocks` blocks of `tile.rows` channels for the tiles of a band of some images."""

    tile: Tile
    planes: Planes
    points: Points
    blocks: int

    @property
    def tiles(self) -> Tiles:
        return Tiles(self.planes)

    @property
    def pitch(self) -> int:
        """Elements from one channel to the next where tiles lie end to end."""
        return round_up(self.tiles.count, self.tile.columns)

    def matrix(self, channels: int) -> int:
        """Elements of one point's values in some channels; stores overrun the last channel by less than a vector."""
        return channels * self.pitch + self.tile.lanes


def winograd(module: ir.Module, name: str, machine: Machine, layer: Layer, blocking: Blocking, source: Operand,
             weight: Operand, write: Write, temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer: `source` (n, depth, h, w), `write` (n, width, h', w')."""
    return _Winograd(module, name, layer, blocking, Maps(machine, blocking.points), source, weight, write, temp).emit()


def plan(machine: Machine, layer: Layer, points: Points, source: Operand) -> tuple[float, Blocking]:
    """The cheapest blocking, by estimate, with its price per image in vector multiplications."""
    given, lanes = layer.stencil, machine.lanes(size_of(layer.dtype))
    stencil = tiled(given.source, given.target, given.low, points.tile, points.count)
    shapes = [(images, stencil.rows) for images in (1, 2, 4, 8, 16) if layer.batch != 1 or images == 1]
    shapes += [(1, -(-stencil.rows // bands)) for bands in range(2, stencil.rows + 1)]
    candidates = [_candidate(machine, layer, points, source, Planes(stencil, layer.dtype, lanes, *shape), parts)
                  for shape in dict.fromkeys(shapes) for parts in shares(layer.batch)]
    return machine.choices.choose(f"winograd{points.tile} {layer}", candidates)


def _candidate(machine: Machine, layer: Layer, points: Points, source: Operand,
               planes: Planes, parts: int) -> tuple[float, Blocking]:
    """One blocking with its price per image."""
    lanes, every, size = planes.lanes, points.count ** 2, size_of(layer.dtype)
    tiles = Tiles(planes).count
    price = Price(machine, layer.dtype, far=1.5, drain=2.0)
    tile = best_tile(price, (layer.width,), (tiles,), layer.depth)
    blocks, bands = -(-layer.width // tile.rows), -(-planes.stencil.rows // planes.band)
    batches = -(-layer.batch // planes.images) if isinstance(layer.batch, int) else layer.batch
    blocking = Blocking(tile, planes, points, -(-blocks // parts))
    vectors = -(-tiles // lanes)
    cost = every * price.cost((tile.rows, tile.vectors), layer.width, tiles, layer.depth)
    cost += parts * layer.depth * blocking.tiles.fill_cost(source, every)
    cost += layer.width * (vectors * every * 6 + planes.images * planes.band * points.tile * 24)
    held = every * size * (blocking.matrix(layer.depth) + blocking.matrix(tile.rows))
    if held > machine.l2 * 7 // 8:
        cost += every * layer.depth * vectors * (blocks + (4 if held <= 4 * machine.l2 else 60))
    if every * layer.depth * layer.width * size > machine.l2 // 2:
        cost += every * layer.depth * layer.width / lanes * (6 if layer.batch == 1 else 2)
    return cost * idle(bands, blocks, blocking.blocks, batches) * bands / planes.images, blocking


@dataclass(frozen=True)
class Places:
    """Where a task keeps: the planes of one channel, the source and the sums at all points, finished phases."""

    planes: ir.Value
    source: ir.Value
    sums: ir.Value
    phases: ir.Value


@dataclass(frozen=True)
class _Winograd:
    """Both kernels. Weights lie as `[block][point][source channel][row]`, values as `[point][channel][tile]`."""

    module: ir.Module
    name: str
    layer: Layer
    blocking: Blocking
    maps: Maps
    source: Operand
    weight: Operand
    write: Write
    temp: Address

    @property
    def every(self) -> int:
        """Points of a tile."""
        return self.blocking.points.count ** 2

    @property
    def block(self) -> int:
        """Elements of one block of weights."""
        return self.every * self.layer.depth * self.blocking.tile.rows

    def emit(self) -> tuple[list[Launch], list[Temp]]:
        blocks = -(-self.layer.width // self.blocking.tile.rows)
        packed = Temp(Count(blocks * self.block * size_of(self.layer.dtype)))
        return [self._pack(blocks), self._multiply(blocks)], [packed]

    def _pack(self, blocks: int) -> Launch:
        """Kernels at the points; a task is one block. Scratch is `[transposing buffer][kernels]`."""
        layer, tile, name = self.layer, self.blocking.tile, f"{self.name}.pack"
        weights, taps = Weights(layer, self.weight, tile), prod(layer.kernel)
        sign = -1 if layer.transposed else 1     # a transposed layer takes a kernel from its end
        with kernel(self.module, name) as (b, ctx, scratch, task, _):
            to = at(b, self.temp(b, ctx, 0), scaled(b, task, self.block), layer.dtype)
            kernels = bytes_at(b, scratch, weights.buffer)
            weights.pack(b, ctx, i64(0), scaled(b, task, tile.rows), kernels, scratch)
            with loop(b, 0, layer.depth) as s:
                row = at(b, kernels, scaled(b, s, taps * tile.rows), layer.dtype)
                with loop(b, 0, tile.rows, tile.lanes) as part:
                    r = least(b, part, i64(max(tile.rows - tile.lanes, 0)))     # the last ones may overlap
                    corner = at(b, row, total(b, r, (taps - 1) * tile.rows if layer.transposed else 0), layer.dtype)
                    place = total(b, scaled(b, s, tile.rows), r)

                    def read(y, x, corner=corner):
                        tap = total(b, scaled(b, x, sign * tile.rows), sign * y * layer.kernel[1] * tile.rows)
                        return load(b, at(b, corner, tap, layer.dtype), layer.dtype, tile.lanes)

                    def write(y, x, value, place=place):
                        line = total(b, place, scaled(b, y, self.blocking.points.count * layer.depth * tile.rows),
                                     x * layer.depth * tile.rows)
                        store_lanes(b, value, at(b, to, line, layer.dtype), layer.dtype, min(tile.lanes, tile.rows))

                    square_in_loops(self.maps.weight, b, layer.kernel[1], read, write)
        return Launch(name, Count(blocks), weights.buffer + weights.size * size_of(layer.dtype), packs=(1, 0))

    def _multiply(self, blocks: int) -> Launch:
        """The convolution; consecutive tasks share a source, which is brought to the points when it changes."""
        layer, blocking, planes = self.layer, self.blocking, self.blocking.planes
        bands, parts = -(-planes.stencil.rows // planes.band), -(-blocks // blocking.blocks)
        rooms = self._rooms()
        tables = blocking.tiles.tables(self.module, self.name)
        with kernel(self.module, self.name) as (b, ctx, scratch, task, first):
            step, band, part = split(b, task, bands, parts)
            image, row = scaled(b, step, planes.images), scaled(b, band, planes.band)
            images = i64(1)
            if planes.images > 1:
                images = least(b, i64(planes.images), b.sub(size_value(b, ctx, layer.batch), image))
            places = Places(*(bytes_at(b, scratch, sum(rooms[:k])) for k in range(len(rooms))))
            with b.if_then(b.or_(first, b.icmp_signed("==", part, i64(0)))), loop(b, 0, layer.depth) as s:
                to = at(b, places.source, scaled(b, s, blocking.pitch), layer.dtype)
                blocking.tiles.evaluate(b, ctx, self.source, (image, s), images, row, places.planes, tables,
                                        self.maps.source, blocking.points.count, to, blocking.matrix(layer.depth))
            begin = scaled(b, part, blocking.blocks)
            with loop(b, begin, least(b, i64(blocks), total(b, begin, blocking.blocks))) as block:
                self._products(b, at(b, self.temp(b, ctx, 0), scaled(b, block, self.block), layer.dtype), places)
                self._finish(b, ctx, places, (image, block, row), images)
        return Launch(self.name, Count(bands * parts, ((layer.batch, planes.images),)), sum(rooms))

    def _rooms(self) -> tuple[int, int, int, int]:
        """Bytes of the parts of scratch, in the order of `Places`."""
        layer, blocking, size = self.layer, self.blocking, size_of(self.layer.dtype)
        lanes, rows = blocking.tile.lanes, blocking.tile.rows
        return (blocking.planes.bytes(1, lanes),
                round_up(self.every * blocking.matrix(layer.depth) * size, 64),
                round_up(self.every * blocking.matrix(rows) * size, 64),
                round_up(blocking.points.tile ** 2 * blocking.matrix(1) * size, 64))

    def _products(self, b: Builder, weights: ir.Value, places: Places) -> None:
        """Sums over the source channels of one block at all points."""
        blocking, tile, dtype, pitch = self.blocking, self.blocking.tile, self.layer.dtype, self.blocking.pitch
        with loop(b, 0, self.every) as point, loop(b, 0, pitch, tile.columns) as p:
            left = at(b, weights, scaled(b, point, self.layer.depth * tile.rows), dtype)
            right = at(b, places.source, total(b, scaled(b, point, blocking.matrix(self.layer.depth)), p), dtype)

            def step(s, acc):
                row, column = at(b, left, scaled(b, s, tile.rows), dtype), at(b, right, scaled(b, s, pitch), dtype)
                tile.ahead(b, row)
                tile.soon(b, column, pitch)
                return tile.multiply(b, acc, row, column)

            to = at(b, places.sums, total(b, scaled(b, point, blocking.matrix(tile.rows)), p), dtype)
            tile.store(b, fold(b, self.layer.depth, tile.zeros(), step), to, pitch)

    def _finish(self, b: Builder, ctx: ir.Value, places: Places, corner: Index, images: ir.Value) -> None:
        """One block of channels back from the points, to its destination."""
        layer, blocking, planes, dtype = self.layer, self.blocking, self.blocking.planes, self.layer.dtype
        tile, (image, block, row) = blocking.tile, corner
        start = scaled(b, block, tile.rows)
        with loop(b, 0, least(b, i64(tile.rows), b.sub(i64(layer.width), start))) as r:
            with loop(b, 0, blocking.tiles.count, tile.lanes) as p:
                sums = at(b, places.sums, total(b, scaled(b, r, blocking.pitch), p), dtype)
                phases, count, m = at(b, places.phases, p, dtype), blocking.points.count, blocking.points.tile

                def read(y, x, sums=sums):
                    return load(b, at(b, sums, (y * count + x) * blocking.matrix(tile.rows), dtype), dtype, tile.lanes)

                def write(y, x, value, phases=phases):
                    store(b, value, at(b, phases, (y * m + x) * blocking.matrix(1), dtype), dtype)

                square(self.maps.target, b, count, read, write)

            def source(fy: ir.Value, fx: int) -> ir.Value:
                phase = total(b, scaled(b, fy, blocking.points.tile), fx)
                return at(b, places.phases, scaled(b, phase, blocking.matrix(1)), dtype)

            planes.drain(b, ctx, self.write, source, (image, total(b, start, r), row), images,
                         blocking.tiles.each, planes.stencil.width)
