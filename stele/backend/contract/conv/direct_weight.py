"""The gradient of a convolution's weight: products of planes, lanes along pixels, summed across lanes at the end."""
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Pair, Ref, Scratch, Sink, Vectors
from stele.backend.contract.conv.gradient import Band, Gradient
from stele.backend.contract.conv.planes import BANDS, Planes, cuts, several
from stele.backend.contract.conv.stencil import Conv, Stencil, Tap, forward_stencil
from stele.backend.contract.tile import Price, Tile, best_tile
from stele.backend.llvm.access import Operand, size_of
from stele.backend.llvm.launch import i64
from stele.backend.llvm.nest import round_up, shuffle
from stele.kernel.machine import Machine


@dataclass(frozen=True)
class DirectWeight(Gradient):
    """A task makes `outputs x channels` of the kernel's planes; a column of its tiles is a channel and a tap. If
    `compact`, what each tap reads of x is first laid end to end, like g then, so that no products are in vain.
    """

    conv: Conv
    planes: Planes
    g: Planes
    outputs: int
    channels: int
    compact: bool

    def __str__(self) -> str:
        end_to_end, part = " end to end" if self.compact else "", f" of {self.part}" if self.part else ""
        return f"tiles {self.tile}, {self.planes}{part}{end_to_end}, {self.outputs}x{self.channels} channels"

    @property
    def room(self) -> int:
        """Elements of one row of a compact panel."""
        return round_up(self.g.pixels, self.tile.lanes) + self.tile.lanes

    @property
    def panel(self) -> int:
        """Elements of what is compacted of one channel."""
        return self.planes.taps * self.room if self.compact else 0

    @property
    def blocks(self) -> tuple[int, int]:
        """Tiles of one task, down and across."""
        return -(-self.outputs // self.tile.rows), -(-self.channels * self.planes.taps // self.tile.vectors)

    @property
    def each(self) -> int:
        """Elements of one finished tile."""
        return round_up(self.tile.rows * self.tile.vectors, self.tile.lanes)

    @property
    def rows(self) -> int:
        return self.blocks[0]

    @property
    def sums(self) -> int:
        return self.blocks[0] * self.blocks[1] * self.each

    @property
    def group(self) -> tuple[int, int]:
        """Outputs and channels of one group."""
        return self.conv.outputs // self.conv.groups, self.conv.channels // self.conv.groups

    @property
    def splits(self) -> tuple[int, int]:
        return -(-self.group[0] // self.outputs), -(-self.group[1] // self.channels)

    @property
    def rooms(self) -> tuple[int, ...]:
        lanes = self.tile.lanes
        return (self.planes.bytes(self.channels, lanes), self.g.bytes(round_up(self.outputs, self.tile.rows), lanes),
                self.channels * self.panel * size_of(self.conv.dtype))

    @contextmanager
    def bands(self, b: Code, begin: Int, end: Int) -> Generator[tuple[Int, Int, Int, ir.Value]]:
        planes = self.planes
        with b.loop(begin, end, planes.images) as image, b.loop(0, planes.stencil.rows, planes.band) as row:
            first = b.and_(image.equals(begin), row.equals(0))
            yield image, planes.some(b, image, lambda: end), row, first

    def add(self, band: Band) -> None:
        b, x, (held, kept, compact), (group, down, across) = band.b, self.planes, band.rooms, band.part
        output, channel = down * self.outputs, across * self.channels
        outputs = b.least(self.outputs, self.group[0] - output)
        channels = b.least(self.channels, self.group[1] - channel)
        output, channel = group * self.group[0] + output, group * self.group[1] + channel
        x.fill(b, band.x, held, (band.image, channel), (band.images, channels), band.row)
        if self.compact:
            x.compact(b, held, compact, (band.images, channels), self.room)
        self.g.fill(b, band.g, kept, (band.image, output), (band.images, outputs), band.row, band.row + x.band)
        pixels = (band.images - 1) * self.g.image + self.g.band * self.g.stencil.pitch
        self._tiles(b, compact if self.compact else held, kept, band, outputs, channels * x.taps, pixels)

    def _tiles(self, b: Code, x: Ref, g: Ref, band: Band, outputs: Int, columns: Int, pixels: Int) -> None:
        """All tiles of a task over the planes in scratch, added to the sums before."""
        tile, plane = self.tile, self.g.channel
        with b.loop(0, columns, tile.vectors) as j0:
            lines = [self._line(b, x, b.least(j0 + v, columns - 1)) for v in range(tile.vectors)]
            with b.loop(0, outputs, tile.rows) as r0:
                number = r0 // tile.rows * self.blocks[1] + j0 // tile.vectors
                places = [g + r0 * plane, band.sums + number * self.each, *lines]
                is_first = Int(b, b.zext(band.first, i64))
                b.apart("tile", places, (b.blocks(pixels, tile.lanes), is_first), self._tile)

    def _tile(self, b: Code, places: list[Ref], numbers: list[Int]) -> None:
        """One tile over all pixels."""
        tile, plane, (first, sums, *lines), (steps, is_first) = self.tile, self.g.channel, places, numbers

        def step(p: Int, acc: Vectors) -> Vectors:
            here = p * tile.lanes
            row = first + here
            return tile.step(b, acc, lambda r: (row + r * plane).load(tile.lanes),
                             lambda v: (lines[v] + here).load(tile.lanes))

        self._store(b, b.fold(steps, tile.zeros(), step), sums, is_first > 0)

    def _line(self, b: Code, x: Ref, column: Int) -> Ref:
        """What a channel and a tap read."""
        if self.compact:
            return x + column * self.room
        taps, (offsets, _) = self.planes.taps, self.planes.tables(b)
        return x + (column // taps * self.planes.channel + (offsets + column % taps).number())

    def _store(self, b: Code, acc: Vectors, to: Ref, first: ir.Value) -> None:
        """The sum over the lanes of each accumulator, added to memory unless it is the first."""
        lanes, none = self.tile.lanes, self.tile.zeros()[0]
        for start in range(0, self.each, lanes):
            vectors, place = [*acc[start:start + lanes], *[none] * (start + lanes - len(acc))], to + start
            before = b.select(first, none, place.load(lanes))
            place.store(b.fadd(before, sum_lanes(b, vectors)))

    def finish(self, b: Code, sums: Ref, row: Int, scratch: Scratch, sink: Sink) -> None:
        """A row of tiles, element by element."""
        group, down, across, block = b.split(row, *self.splits, self.blocks[0])
        lanes, columns = self.tile.lanes, self.blocks[1]
        here = scratch.room((self.each + lanes) * size_of(self.conv.dtype), self.conv.dtype)
        with b.loop(0, columns) as number:
            with b.loop(0, self.each, lanes) as q:
                (here + q).store(self.total(b, sums + (row * columns + number) * self.each + q))
            self._write(b, here, group, (down, block), (across, number), sink)

    def _write(self, b: Code, sums: Ref, group: Int, down: Pair, across: Pair, sink: Sink) -> None:
        """One finished tile to its destination."""
        tile, first = self.tile, down[1] * self.tile.rows
        start = down[0] * self.outputs + first
        rows = b.least(b.least(tile.rows, self.outputs - first), self.group[0] - start)
        column = across[1] * tile.vectors
        held = b.least(self.channels, self.group[1] - across[0] * self.channels)
        columns = b.least(tile.vectors, held * self.planes.taps - column)
        axis, wide = self._run()
        with b.loop(0, rows) as r, b.loop(0, columns, wide) as v:
            channel, y, x = b.split(column + v, *self.conv.kernel)
            index = group * self.group[0] + start + r, across[0] * self.channels + channel, y, x
            mask = None if axis is None else b.below(b.least(wide, columns - v), tile.lanes)
            vector = (sums + (r * tile.vectors + v)).load(1 if axis is None else tile.lanes)
            sink.put(b, index, axis, mask, vector)

    def _run(self) -> tuple[int | None, int]:
        """The axis along which neighbours in a tile are neighbours in w, and how many are."""
        tile, width = self.tile, self.conv.kernel[1]
        if self.planes.taps == 1:
            return 1, min(tile.vectors, tile.lanes)
        return (3, width) if tile.vectors % width == 0 and width <= tile.lanes else (None, 1)


def schedule(machine: Machine, conv: Conv, operands: tuple[Operand, Operand]) -> tuple[float, DirectWeight]:
    """The cheapest schedule, by estimate, of those whose planes of x and g stay in the second-level cache, with its
    price per image in vector multiplications.
    """
    stencil, lanes = forward_stencil(conv), machine.lanes(size_of(conv.dtype))
    whole = (stencil.rows + stencil.reach[0]) * stencil.pitch
    images = [n for n in several(conv.batch, 1, 2, 3, 4, 6, 8, 12, 16) if n == 1 or n * whole <= 96 * lanes]
    shapes = cuts(stencil, conv.dtype, lanes, images, BANDS)
    outputs, channels = conv.outputs // conv.groups, conv.channels // conv.groups
    fits = machine.l2 * 3 // 4
    candidates: list[tuple[float, DirectWeight]] = []
    while not candidates:
        for x in shapes:
            for compact in (False, True) if stencil.reach != (0, 0) else (False,):
                g = _gradient_planes(x, compact)
                panel = DirectWeight(conv, Tile(machine, conv.dtype, 1, 1), None, x, g, 1, 1, compact).panel
                for shape in product(_parts(outputs), _parts(channels)):
                    used = (shape[1] * (x.channel + panel) + shape[0] * g.channel) * size_of(conv.dtype)
                    if used <= fits and (3 * used >= fits or sum(shape) == outputs + channels):
                        candidates.append(_candidate(machine, conv, (x, g), shape, operands, compact))
        fits *= 2
    return machine.choices.choose(f"direct weight {conv}", candidates)


def _parts(count: int) -> list[int]:
    """Sizes of the parts `count` may be cut into."""
    return sorted({-(-count // cuts) for cuts in (1, 2, 3, 4, 8, 16, 32)})


def _candidate(machine: Machine, conv: Conv, planes: tuple[Planes, Planes], shape: tuple[int, int],
               operands: tuple[Operand, Operand], compact: bool) -> tuple[float, DirectWeight]:
    """One schedule with its price per image."""
    (x, g), (outputs, channels), lanes = planes, shape, planes[0].lanes
    taps = len(x.stencil.taps[0])
    price = Price(machine, conv.dtype, left=2.25, right=1.0 if taps == 1 or compact else 2.0, drain=8.0)
    steps = -(-g.pixels // lanes)
    tile = best_tile(price, (outputs,), (channels * taps * lanes,), steps)
    cost = price.cost((tile.rows, tile.vectors), outputs, channels * taps * lanes, steps) \
        + channels * x.fill_cost(operands[0]) + outputs * g.fill_cost(operands[1])
    if compact:
        cost += channels * taps * (x.images * x.band * -(-x.stencil.width // lanes) * 3 + 8)
    splits = -(-(conv.outputs // conv.groups) // outputs) * -(-(conv.channels // conv.groups) // channels)
    part = None if conv.groups * splits >= 8 else round_up(2, x.images)
    return cost * splits * x.bands / x.images, DirectWeight(conv, tile, part, x, g, outputs, channels, compact)


def _gradient_planes(x: Planes, compact: bool) -> Planes:
    """Planes of the target: end to end, or like those of the source with zeros wherever no target is."""
    target, pitch = x.stencil.target, x.stencil.pitch
    shift = (0, 0) if compact else (x.image // pitch - x.band, pitch - target[1])
    alike = Stencil(target, target, (1, 1), (1, 1), (0, 0), ((Tap((0, 0), (0, 0), shift),),))
    return Planes(alike, x.dtype, x.lanes, x.images, x.band)


def sum_lanes(b: Code, vectors: Vectors) -> ir.Value:
    """Lane `i` of the result is the sum over the lanes of `vectors[i]`, in a fixed tree."""
    lanes = len(vectors)
    even, odd = list(range(0, 2 * lanes, 2)), list(range(1, 2 * lanes, 2))
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2])
        vectors = [b.fadd(shuffle(b, x, y, even), shuffle(b, x, y, odd)) for x, y in pairs]
    return vectors[0]
