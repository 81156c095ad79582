"""The gradient of a convolution's weight: products of planes, lanes along pixels, summed across lanes at the end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from llvmlite import ir

from stele.backend.llvm.access import (
    Address,
    Builder,
    Count,
    Extent,
    Operand,
    Pair,
    Temp,
    Write,
    blocks_of,
    i64,
    size_of,
    size_value,
)
from stele.backend.llvm.launch import Launch
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
    shuffle,
    split,
    store,
    table,
    total,
    zero,
)
from stele.backend.llvm.planes import Planes
from stele.backend.llvm.stencil import Conv, Stencil, Tap, forward_stencil


@dataclass(frozen=True)
class Blocking:
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

    @property
    def pixels(self) -> int:
        """Positions of g in a task, up to the end of the last row."""
        return (self.g.images - 1) * self.g.image + self.g.band * self.g.stencil.pitch

    @property
    def room(self) -> int:
        """Elements of one row of a compact panel."""
        return round_up(self.pixels, self.tile.lanes) + self.tile.lanes

    @property
    def panel(self) -> int:
        """Elements of what is compacted of one channel."""
        return len(self.x.stencil.taps[0]) * self.room if self.compact else 0


def weight_gradient(module: ir.Module, name: str, machine: Machine, conv: Conv, x: Operand, g: Operand, write: Write,
                    temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c / groups, kh, kw) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    return _WeightGradient(module, name, conv, plan(machine, conv, (x, g))[1], x, g, write, temp).emit()


def plan(machine: Machine, conv: Conv, operands: tuple[Operand, Operand]) -> tuple[float, Blocking]:
    """The cheapest blocking, by estimate, of those whose planes of x and g stay in the second-level cache, with its
    price per image in vector multiplications.
    """
    stencil, lanes = forward_stencil(conv), machine.lanes(size_of(conv.dtype))
    whole = (stencil.rows + stencil.reach[0]) * stencil.pitch
    shapes = [(images, stencil.rows) for images in (1, 2, 3, 4, 6, 8, 12, 16)
              if images == 1 or (conv.batch != 1 and images * whole <= 96 * lanes)]
    shapes += [(1, -(-stencil.rows // bands)) for bands in (2, 3, 4, 6, 8, 12, 16, 28) if bands <= stencil.rows]
    outputs, channels = conv.outputs // conv.groups, conv.channels // conv.groups
    fits = machine.l2 * 3 // 4
    candidates: list[tuple[float, Blocking]] = []
    everything = outputs + channels
    while not candidates:
        for images, band in shapes:
            for compact in (False, True) if stencil.reach != (0, 0) else (False,):
                x = Planes(stencil, conv.dtype, lanes, images, band)
                g = _gradient_planes(x, compact)
                panel = Blocking(Tile(machine, conv.dtype, 1, 1), x, g, 1, 1, None, compact).panel
                for shape in product(_parts(outputs), _parts(channels)):
                    used = (shape[1] * (x.channel + panel) + shape[0] * g.channel) * size_of(conv.dtype)
                    if used <= fits and (3 * used >= fits or sum(shape) == everything):
                        candidates.append(_candidate(machine, conv, (x, g), shape, operands, compact))
        fits *= 2
    return machine.choices.choose(f"direct weight {conv}", candidates)


def _parts(count: int) -> list[int]:
    """Sizes of the parts `count` may be cut into."""
    return sorted({-(-count // cuts) for cuts in (1, 2, 3, 4, 8, 16, 32)})


def _candidate(machine: Machine, conv: Conv, planes: tuple[Planes, Planes], shape: tuple[int, int],
               operands: tuple[Operand, Operand], compact: bool) -> tuple[float, Blocking]:
    """One blocking with its price per image."""
    (x, g), (outputs, channels), lanes = planes, shape, planes[0].lanes
    taps = len(x.stencil.taps[0])
    price = Price(machine, conv.dtype, left=2.25, right=1.0 if taps == 1 or compact else 2.0, drain=8.0)
    steps = -(-((g.images - 1) * g.image + g.band * g.stencil.pitch) // lanes)
    tile = best_tile(price, (outputs,), (channels * taps * lanes,), steps)
    cost = price.cost((tile.rows, tile.vectors), outputs, channels * taps * lanes, steps) \
        + channels * x.fill_cost(operands[0]) + outputs * g.fill_cost(operands[1])
    if compact:
        cost += channels * taps * (x.images * x.band * -(-x.stencil.width // lanes) * 3 + 8)
    splits = -(-(conv.outputs // conv.groups) // outputs) * -(-(conv.channels // conv.groups) // channels)
    part = None if conv.groups * splits >= 8 else round_up(2, x.images)
    bands = -(-x.stencil.rows // x.band)
    return cost * splits * bands / x.images, Blocking(tile, x, g, outputs, channels, part, compact)


def _gradient_planes(x: Planes, compact: bool) -> Planes:
    """Planes of the target: end to end, or like those of the source with zeros wherever no target is."""
    target, pitch = x.stencil.target, x.stencil.pitch
    shift = (0, 0) if compact else (x.image // pitch - x.band, pitch - target[1])
    alike = Stencil(target, target, (1, 1), (1, 1), (0, 0), ((Tap((0, 0), (0, 0), shift),),))
    return Planes(alike, x.dtype, x.lanes, x.images, x.band)


@dataclass(frozen=True)
class _WeightGradient:
    """Sums `[part][group][block of outputs][block of columns][tile]`; a column is a channel and a tap.

    Scratch is `[planes of x][planes of g][compact panels of x]`.
    """

    module: ir.Module
    name: str
    conv: Conv
    blocking: Blocking
    x: Operand
    g: Operand
    write: Write
    temp: Address

    @property
    def taps(self) -> int:
        return len(self.blocking.x.stencil.taps[0])

    @property
    def group(self) -> tuple[int, int]:
        """Outputs and channels of one group."""
        return self.conv.outputs // self.conv.groups, self.conv.channels // self.conv.groups

    @property
    def splits(self) -> tuple[int, int]:
        """How many tasks share a group's outputs, its channels."""
        return -(-self.group[0] // self.blocking.outputs), -(-self.group[1] // self.blocking.channels)

    @property
    def blocks(self) -> tuple[int, int]:
        """Tiles of one task, down and across."""
        blocking = self.blocking
        return (-(-blocking.outputs // blocking.tile.rows),
                -(-blocking.channels * self.taps // blocking.tile.vectors))

    @property
    def sums(self) -> int:
        """Elements of one finished tile."""
        tile = self.blocking.tile
        return round_up(tile.rows * tile.vectors, tile.lanes)

    @property
    def task(self) -> int:
        """Elements of a task's sums."""
        return self.blocks[0] * self.blocks[1] * self.sums

    def parts(self) -> tuple[tuple[Extent, int], ...]:
        return () if self.blocking.part is None else ((self.conv.batch, self.blocking.part),)

    def emit(self) -> tuple[list[Launch], list[Temp]]:
        everything = self.conv.groups * self.splits[0] * self.splits[1]
        sums = Temp(Count(everything * self.task * size_of(self.conv.dtype), self.parts()))
        return [self._multiply(everything), self._reduce(everything)], [sums]

    def _multiply(self, everything: int) -> Launch:
        """Sums of one task over its images, a few at a time."""
        conv, blocking = self.conv, self.blocking
        x, g, tile = blocking.x, blocking.g, blocking.tile
        held, kept = x.bytes(blocking.channels, tile.lanes), g.bytes(round_up(blocking.outputs, tile.rows), tile.lanes)
        with kernel(self.module, self.name) as (b, ctx, scratch, task, _):
            part, group, down, across = split(b, task, conv.groups, *self.splits)
            batch = size_value(b, ctx, conv.batch)
            begin = i64(0) if blocking.part is None else scaled(b, part, blocking.part)
            end = batch if blocking.part is None else least(b, batch, total(b, begin, blocking.part))
            output, channel = scaled(b, down, blocking.outputs), scaled(b, across, blocking.channels)
            outputs = least(b, i64(blocking.outputs), b.sub(i64(self.group[0]), output))
            channels = least(b, i64(blocking.channels), b.sub(i64(self.group[1]), channel))
            output, channel = (total(b, scaled(b, group, n), at0) for n, at0 in zip(self.group, (output, channel)))
            sums = at(b, self.temp(b, ctx, 0), scaled(b, task, self.task), conv.dtype)
            places = scratch, bytes_at(b, scratch, held), bytes_at(b, scratch, held + kept)
            planes = places[2 if blocking.compact else 0], places[1]
            offsets = table(self.module, f"{self.name}.offsets", x.offsets[0])
            with loop(b, begin, end, x.images) as image, loop(b, 0, x.stencil.rows, x.band) as row:
                images = least(b, i64(x.images), b.sub(end, image)) if x.images > 1 else i64(1)
                x.fill(b, ctx, self.x, places[0], (image, channel), (images, channels), row)
                if blocking.compact:
                    x.compact(b, places[0], places[2], offsets, (images, channels), blocking.room)
                g.fill(b, ctx, self.g, planes[1], (image, output), (images, outputs), row, total(b, row, x.band))
                first = b.and_(b.icmp_signed("==", image, begin), b.icmp_signed("==", row, i64(0)))
                pixels = total(b, scaled(b, b.sub(images, i64(1)), g.image), g.band * g.stencil.pitch)
                self._tiles(b, planes, offsets, sums, (outputs, channels), pixels, first)
        panels = blocking.channels * blocking.panel * size_of(conv.dtype)
        return Launch(self.name, Count(everything, self.parts()), held + kept + panels)

    def _tiles(self, b: Builder, planes: Pair, offsets: ir.Value, sums: ir.Value, counts: Pair, pixels: ir.Value,
               first: ir.Value) -> None:
        """All tiles of a task over the planes in scratch, added to the sums before."""
        blocking, tile, dtype, taps = self.blocking, self.blocking.tile, self.conv.dtype, self.taps
        last = b.sub(scaled(b, counts[1], taps), i64(1))
        steps = blocks_of(b, pixels, tile.lanes)
        with loop(b, 0, total(b, last, 1), tile.vectors) as j0:
            columns = []
            for v in range(tile.vectors):
                j = least(b, total(b, j0, v), last)
                if blocking.compact:
                    columns.append(at(b, planes[0], scaled(b, j, blocking.room), dtype))
                    continue
                offset = load(b, at(b, offsets, b.urem(j, i64(taps)), i64), i64)
                plane = scaled(b, b.udiv(j, i64(taps)), blocking.x.channel)
                columns.append(at(b, planes[0], total(b, plane, offset), dtype))
            with loop(b, 0, counts[0], tile.rows) as r0:
                rows = at(b, planes[1], scaled(b, r0, blocking.g.channel), dtype)

                def step(p, acc, rows=rows, columns=columns):
                    here = scaled(b, p, tile.lanes)
                    row = at(b, rows, here, dtype)
                    return tile.step(
                        b, acc, lambda r: load(b, at(b, row, r * blocking.g.channel, dtype), dtype, tile.lanes),
                        lambda v: load(b, at(b, columns[v], here, dtype), dtype, tile.lanes))

                acc = fold(b, steps, tile.zeros(), step)
                number = b.add(scaled(b, b.udiv(r0, i64(tile.rows)), self.blocks[1]), b.udiv(j0, i64(tile.vectors)))
                self._add(b, acc, at(b, sums, scaled(b, number, self.sums), dtype), first)

    def _add(self, b: Builder, acc: list[ir.Value], to: ir.Value, first: ir.Value) -> None:
        """The sum over the lanes of each accumulator, added to memory unless it is the first."""
        lanes, dtype = self.blocking.tile.lanes, self.conv.dtype
        none = zero(dtype, lanes)
        for start in range(0, self.sums, lanes):
            vectors = [*acc[start:start + lanes], *[none] * (start + lanes - len(acc))]
            place = at(b, to, start, dtype)
            before = b.select(first, none, load(b, place, dtype, lanes))
            store(b, b.fadd(before, sum_lanes(b, vectors)), place, dtype)

    def _reduce(self, everything: int) -> Launch:
        """Adds the parts in order; a task is one row of tiles."""
        conv, blocking, tile, name = self.conv, self.blocking, self.blocking.tile, f"{self.name}.sum"
        down, across = self.blocks
        with kernel(self.module, name) as (b, ctx, scratch, task, _):
            group, block_o, block_c, block = split(b, task, *self.splits, down)
            batch = size_value(b, ctx, conv.batch)
            parts = least(b, batch, i64(1)) if blocking.part is None else blocks_of(b, batch, blocking.part)
            source = at(b, self.temp(b, ctx, 0), scaled(b, task, across * self.sums), conv.dtype)
            with loop(b, 0, across) as number:
                tile_at = at(b, source, scaled(b, number, self.sums), conv.dtype)
                with loop(b, 0, self.sums, tile.lanes) as q:

                    def add(p, acc, tile_at=tile_at, q=q):
                        place = total(b, scaled(b, p, everything * self.task), q)
                        return [b.fadd(acc[0], load(b, at(b, tile_at, place, conv.dtype), conv.dtype, tile.lanes))]

                    done = fold(b, parts, [zero(conv.dtype, tile.lanes)], add)[0]
                    store(b, done, at(b, scratch, q, conv.dtype), conv.dtype)
                self._write(b, ctx, scratch, group, (block_o, block), (block_c, number))
        return Launch(name, Count(everything * down), (self.sums + tile.lanes) * size_of(conv.dtype))

    def _write(self, b: Builder, ctx: ir.Value, sums: ir.Value, group: ir.Value, down: Pair, across: Pair) -> None:
        """One finished tile to its destination, element by element."""
        blocking, tile, dtype = self.blocking, self.blocking.tile, self.conv.dtype
        first = scaled(b, down[1], tile.rows)
        start = b.add(scaled(b, down[0], blocking.outputs), first)
        rows = least(b, least(b, i64(tile.rows), b.sub(i64(blocking.outputs), first)), b.sub(i64(self.group[0]), start))
        column = scaled(b, across[1], tile.vectors)
        held = least(b, i64(blocking.channels), b.sub(i64(self.group[1]), scaled(b, across[0], blocking.channels)))
        columns = least(b, i64(tile.vectors), b.sub(scaled(b, held, self.taps), column))
        axis, wide = self._run()
        with loop(b, 0, rows) as r, loop(b, 0, columns, wide) as v:
            channel, y, x = split(b, b.add(column, v), *self.conv.kernel)
            index = (total(b, scaled(b, group, self.group[0]), start, r),
                     total(b, scaled(b, across[0], blocking.channels), channel), y, x)
            place = at(b, sums, total(b, scaled(b, r, tile.vectors), v), dtype)
            if axis is None:
                self.write(b, ctx, index, None, 1, None, load(b, place, dtype))
            else:
                mask = lanes_below(b, least(b, i64(wide), b.sub(columns, v)), tile.lanes)
                self.write(b, ctx, index, axis, tile.lanes, mask, load(b, place, dtype, tile.lanes))

    def _run(self) -> tuple[int | None, int]:
        """The axis along which neighbours in a tile are neighbours in w, and how many are."""
        tile, width = self.blocking.tile, self.conv.kernel[1]
        if self.taps == 1:
            return 1, min(tile.vectors, tile.lanes)
        return (3, width) if tile.vectors % width == 0 and width <= tile.lanes else (None, 1)


def sum_lanes(b: Builder, vectors: list[ir.Value]) -> ir.Value:
    """Lane `i` of the result is the sum over the lanes of `vectors[i]`, in a fixed tree."""
    lanes = len(vectors)
    even, odd = list(range(0, 2 * lanes, 2)), list(range(1, 2 * lanes, 2))
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2])
        vectors = [b.fadd(shuffle(b, x, y, even), shuffle(b, x, y, odd)) for x, y in pairs]
    return vectors[0]
