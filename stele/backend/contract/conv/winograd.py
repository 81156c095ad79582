"""Winograd's convolution, forward and back to the input: 3x3 kernels at stride 1, with patches of pixels in lanes."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Ref, memory
from stele.backend.contract.conv.engine import Schedule, Span, Task, Work
from stele.backend.contract.conv.layer import Small
from stele.backend.contract.conv.points import Maps, Points, square, square_in_loops
from stele.backend.contract.conv.squares import Squares
from stele.backend.contract.tile import Price, best_tile, idle, shares
from stele.backend.llvm.access import Count, size_of
from stele.backend.llvm.nest import round_up
from stele.ir.sizes import Dim
from stele.kernel.machine import Machine

AWAY = 1.75
"""How many times `shared` a vector costs that has left the second cache, which gives back what was written there. Of
what a task holds for all its blocks of channels that is the share beyond the size of the cache."""
BESIDE = 1 / 8
"""What of the shorter of computing and reading weights does not run beside the longer: at 512 channels and 7x7 a pass
over 38 MB took 0.45 ms beside products of 3.4 ms, which is 0.17 of its time alone."""


@dataclass(frozen=True)
class Winograd(Schedule):
    """Products of weights and patches at every point. Weights lie as `[point][source channel][row]`, what is multiplied
    as `[point][channel][patch]`.
    """

    layer: Small
    points: Points
    squares: Squares

    def __str__(self) -> str:
        return f"{self.points}, tiles {self.tile}, {self.most} patches, {self.blocks} blocks"

    @property
    def maps(self) -> Maps:
        return Maps(self.tile.machine, self.points)

    @property
    def most(self) -> int:
        """Patches of a task."""
        return self.squares.most

    @property
    def chunks(self) -> Dim:
        """Tasks of a part of the channels."""
        return Count(1, ((self.squares.all, self.most),))

    @property
    def tasks(self) -> Dim:
        return self.chunks * self.parts

    def task(self, b: Code, number: Int) -> Task:
        """The next one makes another part of the channels of the same patches."""
        chunk, part = b.split(number, self.parts)
        first = chunk * self.most
        return Task(first, b.least(self.most, b.extent(self.squares.all) - first), b.int(0), b.int(0), part)

    @cached_property
    def along(self) -> int:
        """Elements from one channel to the next where patches lie end to end."""
        return round_up(self.most, self.tile.columns)

    def matrix(self, channels: int) -> int:
        """Elements of one point's values in some channels; stores overrun the last channel by less than a vector."""
        return channels * self.along + self.tile.lanes

    @property
    def packed(self) -> int:
        return self.points.every * self.layer.depth * self.tile.rows

    turned = 1

    def turn(self, b: Code, rows: Ref, to: Ref) -> None:
        """Kernels to the points."""
        layer, tile, count = self.layer, self.tile, self.points.count
        sign = -1 if layer.transposed else 1     # a transposed layer takes a kernel from its end
        with b.loop(0, layer.depth) as s, b.loop(0, tile.rows, tile.lanes) as part:
            r = b.least(part, max(tile.rows - tile.lanes, 0))     # the last ones may overlap
            last = (layer.taps - 1) * tile.rows if layer.transposed else 0
            corner, place = rows + s * (layer.taps * tile.rows) + (r + last), s * tile.rows + r

            def read(y: Number, x: Number) -> ir.Value:
                tap = x * (sign * tile.rows) + y * (sign * layer.kernel[1] * tile.rows)
                return (corner + tap).load(tile.lanes)

            def write(y: Number, x: Number, value: ir.Value) -> None:
                line = place + y * (count * layer.depth * tile.rows) + x * (layer.depth * tile.rows)
                (to + line).keep(value, min(tile.lanes, tile.rows))

            square_in_loops(self.maps.weight, b, layer.kernel[1], read, write)

    @property
    def held(self) -> tuple[int, ...]:
        return memory(self.points.every * self.matrix(self.layer.depth), self.layer.dtype),

    @property
    def spare(self) -> tuple[int, ...]:
        """Of the patches of a channel, and of finished phases."""
        return self.squares.bytes, memory(self.points.side ** 2 * self.matrix(1), self.layer.dtype)

    def fill(self, w: Work, units: Span) -> None:
        with w.b.loop(0, self.layer.depth) as s:
            self.squares.bring(w.b, w.source, s, w.task.image, w.task.images, w.rooms[0], self.maps.source,
                               self.points.count, w.held[0] + s * self.along, self.matrix(self.layer.depth))

    @property
    def sums(self) -> int:
        return self.points.every * self.matrix(self.tile.rows)

    def multiply(self, w: Work, block: Int, left: Ref, sums: Ref, units: Span) -> None:
        b, tile, depth, along = w.b, self.tile, self.layer.depth, self.along
        with b.loop(0, self.points.every) as point, b.loop(0, w.task.images, tile.columns) as p:
            right = w.held[0] + (point * self.matrix(depth) + p)
            acc = tile.sums(b, depth, left + point * (depth * tile.rows), right, along)
            tile.store(b, acc, sums + (point * self.matrix(tile.rows) + p), along)

    def finished(self, w: Work, sums: Ref, r: Int) -> Callable[[Number], Ref]:
        """Back from the points."""
        phases, count, side = w.rooms[1], self.points.count, self.points.side
        with w.b.loop(0, w.task.images, self.tile.lanes) as p:
            line, to = sums + (r * self.along + p), phases + p
            square(self.maps.target, w.b, count,
                   lambda y, x: (line + (y * count + x) * self.matrix(self.tile.rows)).load(self.tile.lanes),
                   lambda y, x, value: (to + (y * side + x) * self.matrix(1)).store(value))
        return lambda phase: phases + phase * self.matrix(1)

    def put(self, w: Work, channel: Int, source: Callable[[Number], Ref]) -> None:
        self.squares.drain(w.b, w.sink, source, channel, w.task.image, w.task.images)


MASKED = 20.0, 1.0
"""What a store under a mask costs more, without masks in registers and with them."""
MOST = 2, 3, 4, 6, 8, 12
"""Vectors of patches of a task."""


def schedule(machine: Machine, layer: Small, points: Points) -> tuple[float, Winograd]:
    """The cheapest schedule, by estimate, with its price per image in vector multiplications: per patch, where images
    have any size."""
    lanes = machine.lanes(size_of(layer.dtype))
    one = Squares(layer, points.side, points.count, lanes, lanes)
    counts, across = {n * lanes for n in MOST}, one.grid[1]
    if isinstance(across, int):
        counts |= {n // across * across for n in counts if n >= across}
    if one.known is not None:
        counts = {min(n, one.known) for n in counts} | {-(-one.known // n) for n in (1, 2, 4, 8)}
        counts = {n for n in counts if n <= MOST[-1] * lanes}
    candidates = [_candidate(machine, replace(one, most=n), points, parts)
                  for n in sorted(counts) for parts in shares(layer.batch)]
    return machine.choices.choose(f"winograd{points.side} {layer}", candidates)


def _candidate(machine: Machine, squares: Squares, points: Points, parts: int) -> tuple[float, Winograd]:
    """One schedule with its price per image, or per patch."""
    layer, most, every, size = squares.layer, squares.most, points.every, size_of(squares.layer.dtype)
    price = Price(machine, layer.dtype, far=1.5, drain=2.0)
    tile = best_tile(price, (layer.width,), (most,), layer.depth)
    blocks, vectors = -(-layer.width // tile.rows), -(-most // squares.lanes)
    found = Winograd(layer, tile, -(-blocks // parts), points, squares)
    cost = every * price.cost((tile.rows, tile.vectors), layer.width, most, layer.depth)
    cost += parts * layer.depth * squares.cost(every)
    written, whole = squares.written
    row = 12 + 3 * written + MASKED[machine.squeezes] * (written - whole)
    cost += layer.width * (vectors * every * 6 + squares.stretched * points.side * row)
    held = every * size * (found.matrix(layer.depth) + found.matrix(tile.rows))
    gone = AWAY * machine.shared * max(1 - machine.l2 / held, 0.0)
    beyond = 7.5 * machine.memory * (held > 4 * machine.l2)
    cost += every * layer.depth * vectors * ((blocks + 1) * gone + beyond)
    weights = every * layer.depth * layer.width
    near = layer.batch != 1 and weights * size <= machine.l3 // 4    # which others use too, as they do memory
    reading = weights / squares.lanes * (machine.shared if near else 2 * machine.memory)
    cost = max(cost, reading) + BESIDE * min(cost, reading)
    each = squares.each or 1
    if squares.known is None:
        return cost * each / most, found
    chunks = -(-squares.known // most)
    return cost * chunks * idle(chunks, blocks, found.blocks, 1) / (squares.known // each), found
