"""Winograd's convolution, forward and back to the input: 3x3 kernels at stride 1, with patches of pixels in lanes."""
from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Ref, Sink, Site, memory, rooms
from stele.backend.contract.conv.layer import Layer, Weights
from stele.backend.contract.conv.patches import Patches, tiled
from stele.backend.contract.conv.planes import Planes, cuts, several
from stele.backend.contract.conv.points import Maps, Points, square, square_in_loops
from stele.backend.contract.conv.task import Task, Tasks
from stele.backend.contract.tile import Price, Tile, best_tile, shares
from stele.backend.llvm.access import Count, Operand, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import round_up
from stele.kernel.machine import Machine


@dataclass(frozen=True)
class Schedule:
    """A task makes `blocks` blocks of `tile.rows` channels for the patches of a band of some images."""

    tile: Tile
    planes: Planes
    points: Points
    blocks: int

    def __str__(self) -> str:
        return f"{self.points}, tiles {self.tile}, {self.planes}, {self.blocks} blocks"

    @property
    def patches(self) -> Patches:
        return Patches(self.planes, self.tile.machine.squeezes)

    @property
    def pitch(self) -> int:
        """Elements from one channel to the next where patches lie end to end."""
        return round_up(self.patches.count, self.tile.columns)

    def matrix(self, channels: int) -> int:
        """Elements of one point's values in some channels; stores overrun the last channel by less than a vector."""
        return channels * self.pitch + self.tile.lanes


def schedule(machine: Machine, layer: Layer, points: Points, source: Operand) -> tuple[float, Schedule]:
    """The cheapest schedule, by estimate, with its price per image in vector multiplications."""
    given, lanes = layer.stencil, machine.lanes(size_of(layer.dtype))
    stencil = tiled(given.source, given.target, given.low, points.side, points.count)
    shapes = cuts(stencil, layer.dtype, lanes, several(layer.batch, 1, 2, 4, 8, 16), range(2, stencil.rows + 1))
    candidates = [_candidate(machine, layer, points, source, planes, parts) for planes in shapes
                  for parts in shares(layer.batch)]
    return machine.choices.choose(f"winograd{points.side} {layer}", candidates)


def _candidate(machine: Machine, layer: Layer, points: Points, source: Operand,
               planes: Planes, parts: int) -> tuple[float, Schedule]:
    """One schedule with its price per image."""
    every, size = points.count ** 2, size_of(layer.dtype)
    count = Patches(planes, machine.squeezes).count
    price = Price(machine, layer.dtype, far=1.5, drain=2.0)
    tile = best_tile(price, (layer.width,), (count,), layer.depth)
    blocks, vectors = -(-layer.width // tile.rows), -(-count // planes.lanes)
    found = Schedule(tile, planes, points, -(-blocks // parts))
    cost = every * price.cost((tile.rows, tile.vectors), layer.width, count, layer.depth)
    cost += parts * layer.depth * found.patches.fill_cost(source, every)
    cost += layer.width * (vectors * every * 6 + planes.images * planes.band * points.side * 24)
    held = every * size * (found.matrix(layer.depth) + found.matrix(tile.rows))
    if held > machine.l2 * 7 // 8:
        away = 2 * machine.shared if held <= 4 * machine.l2 else 7.5 * machine.memory
        cost += every * layer.depth * vectors * (blocks * machine.shared / 2 + away)
    weights = every * layer.depth * layer.width
    near = layer.batch != 1 and weights * size <= machine.l3 // 4    # which others use too, as they do memory
    cost = max(cost, weights / planes.lanes * (machine.shared if near else 2 * machine.memory))
    return Tasks(layer, planes, blocks, found.blocks).price(cost), found


def convolve(site: Site, layer: Layer, cut: Schedule, source: Operand, weight: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer: `source` (n, depth, h, w), `sink` (n, width, h' * w')."""
    made = _Winograd(site, layer, cut, Maps(site.machine, cut.points), source, Weights(layer, weight, cut.tile), sink)
    packed = Temp(Count(made.weights.blocks * made.block * size_of(layer.dtype)))
    return [made.pack(), made.multiply()], [packed]


@dataclass(frozen=True)
class Places:
    """Where a task keeps: the planes of one channel, the source and the sums at all points, finished phases."""

    planes: Ref
    source: Ref
    sums: Ref
    phases: Ref


@dataclass(frozen=True)
class _Winograd:
    """Both kernels. Weights lie as `[block][point][source channel][row]`, values as `[point][channel][patch]`."""

    site: Site
    layer: Layer
    schedule: Schedule
    maps: Maps
    source: Operand
    weights: Weights
    sink: Sink

    @property
    def every(self) -> int:
        """Points of a patch."""
        return self.schedule.points.count ** 2

    @property
    def block(self) -> int:
        """Elements of one block of weights."""
        return self.every * self.layer.depth * self.schedule.tile.rows

    def pack(self) -> Launch:
        """Kernels at the points; a task is one block. Scratch is `[transposing buffer][kernels]`."""
        layer, tile, weights, count = self.layer, self.schedule.tile, self.weights, self.schedule.points.count
        sign = -1 if layer.transposed else 1     # a transposed layer takes a kernel from its end
        with self.site.kernel(".pack") as (b, scratch, task, _):
            to = self.site.room(b, 0, layer.dtype) + task * self.block
            kernels = scratch.bytes(weights.buffer).of(layer.dtype)
            weights.pack(b, b.int(0), task * tile.rows, kernels, scratch)
            with b.loop(0, layer.depth) as s:
                row = kernels + s * (layer.taps * tile.rows)
                with b.loop(0, tile.rows, tile.lanes) as part:
                    r = b.least(part, max(tile.rows - tile.lanes, 0))     # the last ones may overlap
                    corner = row + (r + ((layer.taps - 1) * tile.rows if layer.transposed else 0))
                    place = s * tile.rows + r

                    def read(y: Number, x: Number, corner: Ref = corner) -> ir.Value:
                        tap = x * (sign * tile.rows) + y * (sign * layer.kernel[1] * tile.rows)
                        return (corner + tap).load(tile.lanes)

                    def write(y: Number, x: Number, value: ir.Value, place: Int = place) -> None:
                        line = place + y * (count * layer.depth * tile.rows) + x * (layer.depth * tile.rows)
                        (to + line).keep(value, min(tile.lanes, tile.rows))

                    square_in_loops(self.maps.weight, b, layer.kernel[1], read, write)
        held = weights.buffer + weights.size * size_of(layer.dtype)
        return Launch(f"{self.site.name}.pack", Count(weights.blocks), held, packs=(1, 0))

    def multiply(self) -> Launch:
        """The convolution; consecutive tasks share a source, which is brought to the points when it changes."""
        layer, cut, planes, sizes = self.layer, self.schedule, self.schedule.planes, self._rooms()
        tasks, tables = Tasks(layer, planes, self.weights.blocks, cut.blocks), cut.patches.tables(self.site)
        with self.site.kernel() as (b, scratch, number, first):
            task, places = tasks.at(b, number), Places(*rooms(scratch, sizes, layer.dtype))
            with b.if_then(b.or_(first, task.part.equals(0))), b.loop(0, layer.depth) as s:
                cut.patches.fill(b, self.source, (task.image, s), task.images, task.row, places.planes, tables,
                                 self.maps.source, cut.points.count, places.source + s * cut.pitch,
                                 cut.matrix(layer.depth))
            with b.loop(*tasks.own(b, task)) as block:
                self._products(b, self.site.room(b, 0, layer.dtype) + block * self.block, places)
                self._finish(b, places, task, block)
        return Launch(self.site.name, tasks.count, sum(sizes))

    def _rooms(self) -> list[int]:
        """Bytes of the parts of scratch, in the order of `Places`."""
        layer, cut, points = self.layer, self.schedule, self.schedule.points
        return [cut.planes.bytes(1, cut.tile.lanes), *(memory(n, layer.dtype) for n in (
            self.every * cut.matrix(layer.depth), self.every * cut.matrix(cut.tile.rows),
            points.side ** 2 * cut.matrix(1)))]

    def _products(self, b: Code, weights: Ref, places: Places) -> None:
        """Sums over the source channels of one block at all points."""
        cut, tile, depth, pitch = self.schedule, self.schedule.tile, self.layer.depth, self.schedule.pitch
        with b.loop(0, self.every) as point, b.loop(0, pitch, tile.columns) as p:
            left, right = weights + point * (depth * tile.rows), places.source + (point * cut.matrix(depth) + p)

            def step(s: Int, acc: list[ir.Value]) -> list[ir.Value]:
                row, column = left + s * tile.rows, right + s * pitch
                tile.ahead(row)
                tile.soon(column, pitch)
                return tile.multiply(b, acc, row, column)

            to = places.sums + (point * cut.matrix(tile.rows) + p)
            tile.store(b, b.fold(depth, tile.zeros(), step), to, pitch)

    def _finish(self, b: Code, places: Places, task: Task, block: Int) -> None:
        """One block of channels back from the points, to its destination."""
        cut, planes, tile = self.schedule, self.schedule.planes, self.schedule.tile
        start, count, side = block * tile.rows, self.schedule.points.count, self.schedule.points.side
        with b.loop(0, b.least(tile.rows, self.layer.width - start)) as r:
            with b.loop(0, cut.patches.count, tile.lanes) as p:
                sums, phases = places.sums + (r * cut.pitch + p), places.phases + p
                square(self.maps.target, b, count,
                       lambda y, x: (sums + (y * count + x) * cut.matrix(tile.rows)).load(tile.lanes),
                       lambda y, x, value: (phases + (y * side + x) * cut.matrix(1)).store(value))
            planes.drain(b, self.sink, lambda phase: places.phases + phase * cut.matrix(1),
                         (task.image, start + r, task.row), task.images, cut.patches.each, planes.stencil.width)
