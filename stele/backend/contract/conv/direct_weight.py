"""The gradient of a convolution's weight: products of planes, lanes along pixels, summed across lanes at the end."""
from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Ref, Sink, Site, Vectors, rooms
from stele.backend.contract.conv.planes import BANDS, Planes, cuts, several
from stele.backend.contract.conv.stencil import Conv, Stencil, Tap, forward_stencil
from stele.backend.contract.tile import Price, Tile, best_tile
from stele.backend.llvm.access import Count, Extent, Operand, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import round_up, shuffle, zero
from stele.kernel.machine import Machine


@dataclass(frozen=True)
class Schedule:
    """A task makes `outputs x channels` of the kernel's planes from `part` images (None: from all of them).

    If `compact`, what each tap reads of x is first laid end to end, like g then, so that no products are in vain.
    """

    tile: Tile
    x: Planes
    g: Planes
    outputs: int
    channels: int
    part: int | None
    compact: bool

    def __str__(self) -> str:
        end_to_end, part = " end to end" if self.compact else "", f" of {self.part}" if self.part else ""
        return f"tiles {self.tile}, {self.x}{part}{end_to_end}, {self.outputs}x{self.channels} channels"

    @property
    def taps(self) -> int:
        return len(self.x.stencil.taps[0])

    @property
    def room(self) -> int:
        """Elements of one row of a compact panel."""
        return round_up(self.g.pixels, self.tile.lanes) + self.tile.lanes

    @property
    def panel(self) -> int:
        """Elements of what is compacted of one channel."""
        return self.taps * self.room if self.compact else 0

    @property
    def blocks(self) -> tuple[int, int]:
        """Tiles of one task, down and across."""
        return -(-self.outputs // self.tile.rows), -(-self.channels * self.taps // self.tile.vectors)

    @property
    def sums(self) -> int:
        """Elements of one finished tile."""
        return round_up(self.tile.rows * self.tile.vectors, self.tile.lanes)

    @property
    def task(self) -> int:
        """Elements of a task's sums."""
        return self.blocks[0] * self.blocks[1] * self.sums


def schedule(machine: Machine, conv: Conv, operands: tuple[Operand, Operand]) -> tuple[float, Schedule]:
    """The cheapest schedule, by estimate, of those whose planes of x and g stay in the second-level cache, with its
    price per image in vector multiplications.
    """
    stencil, lanes = forward_stencil(conv), machine.lanes(size_of(conv.dtype))
    whole = (stencil.rows + stencil.reach[0]) * stencil.pitch
    images = [n for n in several(conv.batch, 1, 2, 3, 4, 6, 8, 12, 16) if n == 1 or n * whole <= 96 * lanes]
    shapes = cuts(stencil, conv.dtype, lanes, images, BANDS)
    outputs, channels = conv.outputs // conv.groups, conv.channels // conv.groups
    fits = machine.l2 * 3 // 4
    candidates: list[tuple[float, Schedule]] = []
    while not candidates:
        for x in shapes:
            for compact in (False, True) if stencil.reach != (0, 0) else (False,):
                g = _gradient_planes(x, compact)
                panel = Schedule(Tile(machine, conv.dtype, 1, 1), x, g, 1, 1, None, compact).panel
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
               operands: tuple[Operand, Operand], compact: bool) -> tuple[float, Schedule]:
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
    return cost * splits * x.bands / x.images, Schedule(tile, x, g, outputs, channels, part, compact)


def _gradient_planes(x: Planes, compact: bool) -> Planes:
    """Planes of the target: end to end, or like those of the source with zeros wherever no target is."""
    target, pitch = x.stencil.target, x.stencil.pitch
    shift = (0, 0) if compact else (x.image // pitch - x.band, pitch - target[1])
    alike = Stencil(target, target, (1, 1), (1, 1), (0, 0), ((Tap((0, 0), (0, 0), shift),),))
    return Planes(alike, x.dtype, x.lanes, x.images, x.band)


def gradient(site: Site, conv: Conv, cut: Schedule, x: Operand, g: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c / groups, kh, kw) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    made = _Gradient(site, conv, cut, x, g, sink)
    sums = Temp(Count(made.everything * cut.task * size_of(conv.dtype), made.parts()))
    return [made.multiply(), made.reduce()], [sums]


@dataclass(frozen=True)
class _Gradient:
    """Sums `[part][group][block of outputs][block of columns][tile]`; a column is a channel and a tap.

    Scratch is `[planes of x][planes of g][compact panels of x]`.
    """

    site: Site
    conv: Conv
    schedule: Schedule
    x: Operand
    g: Operand
    sink: Sink

    @property
    def group(self) -> tuple[int, int]:
        """Outputs and channels of one group."""
        return self.conv.outputs // self.conv.groups, self.conv.channels // self.conv.groups

    @property
    def splits(self) -> tuple[int, int]:
        """How many tasks share a group's outputs, its channels."""
        return -(-self.group[0] // self.schedule.outputs), -(-self.group[1] // self.schedule.channels)

    @property
    def everything(self) -> int:
        """Tasks for some images."""
        return self.conv.groups * self.splits[0] * self.splits[1]

    def parts(self) -> tuple[tuple[Extent, int], ...]:
        return () if self.schedule.part is None else ((self.conv.batch, self.schedule.part),)

    def multiply(self) -> Launch:
        """Sums of one task over its images, a few at a time."""
        conv, cut, (x, g) = self.conv, self.schedule, (self.schedule.x, self.schedule.g)
        dtype, sizes = conv.dtype, (x.bytes(cut.channels, cut.tile.lanes),
                                    g.bytes(round_up(cut.outputs, cut.tile.rows), cut.tile.lanes),
                                    cut.channels * cut.panel * size_of(conv.dtype))
        with self.site.kernel() as (b, scratch, task, _):
            part, group, down, across = b.split(task, conv.groups, *self.splits)
            batch = b.extent(conv.batch)
            begin = b.int(0) if cut.part is None else part * cut.part
            end = batch if cut.part is None else b.least(batch, begin + cut.part)
            output, channel = down * cut.outputs, across * cut.channels
            outputs = b.least(cut.outputs, self.group[0] - output)
            channels = b.least(cut.channels, self.group[1] - channel)
            output, channel = group * self.group[0] + output, group * self.group[1] + channel
            sums = self.site.room(b, 0, dtype) + task * cut.task
            held, kept, compact = rooms(scratch, sizes, dtype)
            offsets = b.numbers(self.site.table("offsets", x.offsets[0]))
            with b.loop(begin, end, x.images) as image, b.loop(0, x.stencil.rows, x.band) as row:
                images = x.some(b, image, lambda: end)
                x.fill(b, self.x, held, (image, channel), (images, channels), row)
                if cut.compact:
                    x.compact(b, held, compact, offsets, (images, channels), cut.room)
                g.fill(b, self.g, kept, (image, output), (images, outputs), row, row + x.band)
                first = b.and_(image.equals(begin), row.equals(0))
                pixels = (images - 1) * g.image + g.band * g.stencil.pitch
                self._tiles(b, compact if cut.compact else held, kept, offsets, sums, outputs, channels, pixels, first)
        return Launch(self.site.name, Count(self.everything, self.parts()), sum(sizes))

    def _tiles(self, b: Code, x: Ref, g: Ref, offsets: Ref, sums: Ref, outputs: Int, channels: Int, pixels: Int,
               first: ir.Value) -> None:
        """All tiles of a task over the planes in scratch, added to the sums before."""
        cut, tile, taps = self.schedule, self.schedule.tile, self.schedule.taps
        last, steps = channels * taps - 1, b.blocks(pixels, tile.lanes)
        with b.loop(0, last + 1, tile.vectors) as j0:
            columns: list[Ref] = []
            for v in range(tile.vectors):
                j = b.least(j0 + v, last)
                if cut.compact:
                    columns.append(x + j * cut.room)
                else:
                    offset = (offsets + j % taps).number()
                    columns.append(x + (j // taps * cut.x.channel + offset))
            with b.loop(0, outputs, tile.rows) as r0:
                rows = g + r0 * cut.g.channel

                def step(p: Int, acc: Vectors) -> Vectors:
                    here = p * tile.lanes
                    row = rows + here
                    return tile.step(b, acc, lambda r: (row + r * cut.g.channel).load(tile.lanes),
                                     lambda v: (columns[v] + here).load(tile.lanes))

                acc = b.fold(steps, tile.zeros(), step)
                number = r0 // tile.rows * cut.blocks[1] + j0 // tile.vectors
                self._add(b, acc, sums + number * cut.sums, first)

    def _add(self, b: Code, acc: Vectors, to: Ref, first: ir.Value) -> None:
        """The sum over the lanes of each accumulator, added to memory unless it is the first."""
        lanes, none = self.schedule.tile.lanes, self.schedule.tile.zeros()[0]
        for start in range(0, self.schedule.sums, lanes):
            vectors, place = [*acc[start:start + lanes], *[none] * (start + lanes - len(acc))], to + start
            before = b.select(first, none, place.load(lanes))
            place.store(b.fadd(before, sum_lanes(b, vectors)))

    def reduce(self) -> Launch:
        """Adds the parts in order; a task is one row of tiles."""
        conv, cut, lanes, (down, across) = self.conv, self.schedule, self.schedule.tile.lanes, self.schedule.blocks
        with self.site.kernel(".sum") as (b, scratch, task, _):
            group, block_o, block_c, block = b.split(task, *self.splits, down)
            batch, here = b.extent(conv.batch), scratch.of(conv.dtype)
            parts = b.least(batch, 1) if cut.part is None else b.blocks(batch, cut.part)
            source = self.site.room(b, 0, conv.dtype) + task * (across * cut.sums)
            with b.loop(0, across) as number:
                tile = source + number * cut.sums
                with b.loop(0, cut.sums, lanes) as q:
                    done = b.fold(parts, [zero(conv.dtype, lanes)], lambda p, acc: [
                        b.fadd(acc[0], (tile + (p * (self.everything * cut.task) + q)).load(lanes))])
                    (here + q).store(done[0])
                self._write(b, here, group, (block_o, block), (block_c, number))
        return Launch(f"{self.site.name}.sum", Count(self.everything * down), (cut.sums + lanes) * size_of(conv.dtype))

    def _write(self, b: Code, sums: Ref, group: Int, down: tuple[Int, Int], across: tuple[Int, Int]) -> None:
        """One finished tile to its destination, element by element."""
        cut, tile = self.schedule, self.schedule.tile
        first = down[1] * tile.rows
        start = down[0] * cut.outputs + first
        rows = b.least(b.least(tile.rows, cut.outputs - first), self.group[0] - start)
        column = across[1] * tile.vectors
        held = b.least(cut.channels, self.group[1] - across[0] * cut.channels)
        columns = b.least(tile.vectors, held * cut.taps - column)
        axis, wide = self._run()
        with b.loop(0, rows) as r, b.loop(0, columns, wide) as v:
            channel, y, x = b.split(column + v, *self.conv.kernel)
            index = group * self.group[0] + start + r, across[0] * cut.channels + channel, y, x
            place = sums + (r * tile.vectors + v)
            mask = None if axis is None else b.below(b.least(wide, columns - v), tile.lanes)
            self.sink.put(b, index, axis, mask, place.load(1 if axis is None else tile.lanes))

    def _run(self) -> tuple[int | None, int]:
        """The axis along which neighbours in a tile are neighbours in w, and how many are."""
        tile, width = self.schedule.tile, self.conv.kernel[1]
        if self.schedule.taps == 1:
            return 1, min(tile.vectors, tile.lanes)
        return (3, width) if tile.vectors % width == 0 and width <= tile.lanes else (None, 1)


def sum_lanes(b: Code, vectors: Vectors) -> ir.Value:
    """Lane `i` of the result is the sum over the lanes of `vectors[i]`, in a fixed tree."""
    lanes = len(vectors)
    even, odd = list(range(0, 2 * lanes, 2)), list(range(1, 2 * lanes, 2))
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2])
        vectors = [b.fadd(shuffle(b, x, y, even), shuffle(b, x, y, odd)) for x, y in pairs]
    return vectors[0]
