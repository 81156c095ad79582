"""Convolutions of single pixels (1x1) as products of weights and an image, which is laid into panels."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from math import prod

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract.bilinear import ONE, STRASSEN, Scheme
from stele.backend.contract.code import Code, Int, Number, Ref, Sink, Site, Vectors, memory, rooms
from stele.backend.contract.conv.layer import Layer, Weights
from stele.backend.contract.conv.planes import regroup
from stele.backend.contract.tile import LEFT, Tile, idle, shares
from stele.backend.llvm.access import Count, Operand, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import multiply_add, round_up, splat, zero
from stele.kernel.machine import Machine

NEAR = 128
"""Bytes of a channel that come from memory together."""
FEW = 4
"""Pixels behind the last whole vector that are computed one by one, with channels in lanes."""
Gather = Callable[[Int, Int], None]
"""`gather(tile, part)`: lays the channel of the next task into panels whose turn it is before a part of a tile."""


@dataclass(frozen=True)
class Schedule:
    """A task makes `blocks` tiles of channels for some pixels of one image, from `depth` source channels.

    By the scheme, channels and pixels go in parts: `pixels` and `depth` are those of one part. Pixels are cut into
    panels of `tile.columns`, one narrower panel of the vectors left, and `few` single pixels.
    """

    scheme: Scheme
    tile: Tile
    pixels: int
    blocks: int
    depth: int

    def __str__(self) -> str:
        return f"{self.scheme}, tiles {self.tile}, {self.pixels} pixels, {self.blocks} blocks"

    @cached_property
    def few(self) -> int:
        """Pixels that are computed one by one."""
        rest = self.pixels % self.tile.lanes
        return rest if rest <= FEW else 0

    @cached_property
    def vectors(self) -> int:
        return -(-(self.pixels - self.few) // self.tile.lanes)

    @property
    def panels(self) -> list[tuple[int, int, int]]:
        """Panels of one width: (first vector, how many, vectors of each). Only the last may have part of a vector."""
        whole = self.pixels // self.tile.lanes // self.tile.vectors
        rest = self.vectors - whole * self.tile.vectors
        found = [(0, whole, self.tile.vectors), (self.vectors - rest, 1, rest)]
        return [(first, count, width) for first, count, width in found if count * width]

    @property
    def tiles(self) -> int:
        """Tiles of a block in one product that something is gathered meanwhile: those of the first panels."""
        return self.panels[0][1] if self.panels else 1

    @property
    def room(self) -> int:
        """Elements of one row of sums."""
        return self.vectors * self.tile.lanes + self.few

    @property
    def across(self) -> int:
        """Rows of a tile, up to whole vectors."""
        return round_up(self.tile.rows, self.tile.lanes)

    @property
    def panel(self) -> int:
        """Elements of the panels of one product."""
        return self.depth * self.vectors * self.tile.lanes


def fits(layer: Layer, source: Operand) -> bool:
    """Whether a layer is one of single pixels, whose images lie in memory as they are."""
    stencil, plain = layer.stencil, source.plain
    inside = all(s * (t - 1) < n for s, t, n in zip(stencil.phases, stencil.target, stencil.source))
    alike = layer.kernel == (1, 1) and layer.groups == 1 and len(stencil.taps) == 1
    as_it_lies = stencil.low == stencil.reach == (0, 0)
    return inside and alike and as_it_lies and plain is not None and plain.strides[2:] == (stencil.source[1], 1)


def schedule(machine: Machine, layer: Layer, precision: Precision) -> tuple[float, Schedule]:
    """The cheapest schedule, by estimate, with its price per image in vector multiplications. Its tile leaves registers
    for what is gathered between its steps."""
    pixels = prod(layer.stencil.target)
    spare = machine.registers - (3 if machine.fma else 4)
    tiles = [Tile(machine, layer.dtype, r, v) for v in range(1, 4) for r in range(min(layer.width, 4), 25)
             if min(layer.width, spare // 2) <= r * v <= spare - v]
    width = 1 if layer.stencil.phases == (1, 1) else layer.stencil.target[1]
    bands = [n for n in range(width, min(pixels, 1024) + 1, width) if pixels % n == 0 and n >= min(pixels, 28)]
    schemes = [ONE, STRASSEN] if precision == "fast" and layer.depth % 2 == layer.width % 2 == 0 else [ONE]
    candidates = [_candidate(machine, layer, scheme, tile, band // scheme.side, parts)
                  for scheme in schemes for tile in tiles for band in bands if band % scheme.side == 0
                  for parts in shares(layer.batch)]
    return machine.choices.choose(f"pointwise {precision} {layer}", candidates)


def _candidate(machine: Machine, layer: Layer, scheme: Scheme, tile: Tile, pixels: int, parts: int
               ) -> tuple[float, Schedule]:
    """One schedule with its price per image, in vector multiplications."""
    r, depth, side, many = tile.rows, layer.depth // scheme.side, scheme.side, scheme.products
    blocks = -(-layer.width // side // r)
    bands = prod(layer.stencil.target) // (pixels * side)
    each = -(-blocks // min(blocks, parts))
    found, size = Schedule(scheme, tile, pixels, each, depth), size_of(layer.dtype)
    panels = 2 * many * found.room * depth * size
    if panels > machine.l2 * 3 // 2 and many > 1:
        return float("inf"), found
    far = 0.35 if panels <= machine.l2 // 2 else 0.7 if panels <= machine.l2 * 3 // 2 else 2.0

    def step(v: int) -> float:
        return max(r * v, LEFT * machine.pace * r + v, machine.pending) + far * v + 0.02 * r + 0.25

    sums = sum(count * (depth * step(v) + r * v * 2 + 30) for _, count, v in found.panels)
    if found.few:
        sums += depth * max(found.few * found.across / tile.lanes, 1.5) + 4 * r * found.few
    is_far = many * r * found.room * size > machine.l1 * 3 // 4
    sums = many * sums + r * found.vectors * side * side * (10 + (4 if many > 1 else 0) + 4 * is_far)
    parted = (1.5 if machine.pace < 1 else 17.0 + 20 * (panels > machine.l2)) * (many > 1)
    read = parted + 10 * (side * pixels * size > NEAR) + (1.0 if layer.stencil.phases == (1, 1) else 8.5)
    cost = bands * (blocks * sums + min(blocks, parts) * depth * side * side * (found.vectors * read + 3))
    return cost * idle(bands, blocks, each, layer.batch), found


def convolve(site: Site, layer: Layer, cut: Schedule, source: Operand, weight: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer that `fits`: `source` (n, depth, h, w), `sink` (n, width, h * w)."""
    weights = Weights(layer, weight, cut.tile)
    made = _Product(site, layer, cut, weights, Image(layer, cut, source), sink)
    return [made.pack(), made.multiply()], [Temp(Count(made.blocks * made.block * size_of(layer.dtype)))]


@dataclass(frozen=True)
class Places:
    """Where a task keeps: panels, single pixels, pixels of a channel that lie apart, sums, and sums of single pixels
    with channels in lanes.
    """

    panels: Ref
    few: Ref
    line: Ref
    sums: Ref
    across: Ref


@dataclass(frozen=True)
class Band:
    """Where the source of a task begins, and how far behind that of the task after it does, in elements."""

    start: Int
    ahead: Int


@dataclass(frozen=True)
class Image:
    """The image of a layer on its way into panels."""

    layer: Layer
    schedule: Schedule
    operand: Operand

    @property
    def strides(self) -> tuple[int, ...]:
        assert self.operand.plain is not None
        return self.operand.plain.strides

    @property
    def steps(self) -> tuple[int, int]:
        """The strides of the convolution."""
        return self.layer.stencil.phases

    @property
    def line(self) -> int:
        """Elements of a channel's pixels end to end; writing overruns the last by less than a vector."""
        return self.schedule.pixels * self.schedule.scheme.side + self.schedule.tile.lanes

    def start(self, b: Code, image: Int, pixel: Int) -> Int:
        """Where the source of a band begins that makes the pixels from one on, in elements."""
        start = image * self.strides[0]
        if self.steps == (1, 1):
            return start + pixel
        return start + pixel // self.layer.stencil.target[1] * (self.steps[0] * self.layer.stencil.source[1])

    def gather(self, b: Code, band: Band, channels: tuple[Int, Int], places: Places) -> None:
        """Panels of the channels from the first to before the second; the band after this one is asked for."""
        cut, lanes, scheme = self.schedule, self.schedule.tile.lanes, self.schedule.scheme
        assert self.operand.plain is not None
        base = Ref(b, self.operand.plain.base(b, b.ctx), self.layer.dtype) + band.start
        with b.loop(*channels) as c:
            lines: list[Ref] = []
            for part in range(scheme.side):
                line = base + (c + part * cut.depth) * self.strides[1]
                if self.steps != (1, 1):
                    line = self._straighten(b, line, places.line + part * self.line, band)
                lines += [line + half * cut.pixels for half in range(scheme.side)]
            for first, number, width in cut.panels:
                with b.loop(0, number) as p:
                    start = (p * width + first) * lanes
                    row = start * cut.depth + c * (width * lanes)
                    for v in range(width):
                        left = lanes if number > 1 else cut.pixels - (first + v) * lanes
                        place = start + v * lanes
                        sums = scheme.right(b, [self._read(b, line + place, left, band) for line in lines])
                        for k, vector in enumerate(sums):
                            (places.panels + (row + (k * cut.panel + v * lanes))).store(vector)
            if cut.few:
                rest = cut.vectors * lanes
                sums = scheme.right(b, [self._read(b, line + rest, cut.few, band) for line in lines])
                for k, vector in enumerate(sums):
                    (places.few + (c * cut.few + k * cut.depth * cut.few)).keep(vector, cut.few)

    def _straighten(self, b: Code, line: Ref, to: Ref, band: Band) -> Ref:
        """The pixels that a band reads of one channel, end to end at `to`."""
        lanes, (sy, sx) = self.schedule.tile.lanes, self.steps
        width, target = self.layer.stencil.source[1], self.layer.stencil.target[1]
        with b.loop(0, self.schedule.pixels * self.schedule.scheme.side // target) as q:
            row = line + q * (sy * width)
            for x in range(0, target, lanes):
                starts = [x * sx + j * lanes for j in range(sx)]
                vectors = [self._read(b, row + k, max(0, width - k), band) for k in starts]
                picked = regroup(b, vectors, lambda l: divmod(l * sx, lanes))
                (to + (q * target + x)).store(picked)
        return to

    def _read(self, b: Code, place: Ref, left: int, band: Band) -> ir.Value:
        """A vector at an address, no more of it than the `left` elements there are."""
        lanes = self.schedule.tile.lanes
        (place + band.ahead).prefetch()
        return place.load(lanes, None if left >= lanes else b.below(left, lanes))


@dataclass(frozen=True)
class _Product:
    """Both kernels. Weights lie as `[block][product][source channel][row]`, panels as
    `[product][panel][source channel][column]`, sums as `[product][row][pixel]`.
    """

    site: Site
    layer: Layer
    schedule: Schedule
    weights: Weights
    image: Image
    sink: Sink

    @property
    def blocks(self) -> int:
        """Blocks of target channels in a part."""
        return -(-self.layer.width // self.schedule.scheme.side // self.schedule.tile.rows)

    @property
    def block(self) -> int:
        """Elements of a block of weights, and what loads may overrun it."""
        tile, scheme = self.schedule.tile, self.schedule.scheme
        return tile.rows * (scheme.products * self.layer.depth // scheme.side + tile.lanes)

    def pack(self) -> Launch:
        """Sums of parts of the weights; a task is one block. Scratch is `[transposing buffer][rows of each part]`."""
        layer, tile, scheme, weights = self.layer, self.schedule.tile, self.schedule.scheme, self.weights
        depth, side = self.schedule.depth, scheme.side
        with self.site.kernel(".pack") as (b, scratch, block, _):
            to = self.site.room(b, 0, layer.dtype) + block * self.block
            rows = scratch.bytes(weights.buffer).of(layer.dtype)
            for part in range(side):
                start = block * tile.rows + part * layer.width // side
                weights.pack(b, b.int(0), start, rows + part * weights.size, scratch)
            with b.loop(0, depth) as k:
                for r in range(0, tile.rows, tile.lanes):
                    places = [k * tile.rows + (i * weights.size + j * depth * tile.rows + r)
                              for i in range(side) for j in range(side)]
                    parts = [(rows + place).load(tile.lanes) for place in places]
                    for p, value in enumerate(scheme.left(b, parts)):
                        (to + (k * tile.rows + (p * depth * tile.rows + r))).keep(value, min(tile.lanes, tile.rows - r))
        held = weights.buffer + side * weights.size * size_of(layer.dtype)
        return Launch(f"{self.site.name}.pack", Count(self.blocks), held, packs=(1, 0))

    def multiply(self) -> Launch:
        """The products; while it makes them, a task lays the source of its thread's next one into panels."""
        cut, tile, many = self.schedule, self.schedule.tile, self.schedule.scheme.products
        pixels = cut.pixels * cut.scheme.side
        bands, parts = prod(self.layer.stencil.target) // pixels, -(-self.blocks // cut.blocks)
        with self.site.kernel() as (b, scratch, task, first):
            tasks = [b.split(task + k, parts, bands) for k in range(3)]
            starts = [self.image.start(b, image, band * pixels) for image, _, band in tasks]
            now, then = (Band(start, after - start) for start, after in pairwise(starts))
            odd = task & 1
            here, there = (self._places(scratch, half) for half in (odd, odd ^ 1))
            with b.if_then(first):
                self.image.gather(b, now, (b.int(0), b.int(cut.depth)), here)
            is_last = (task + 1).equals(Int(b, b.function.args[3]))
            coming = b.either(is_last, 0, cut.depth)
            image, part, band = tasks[0]
            begin = part * cut.blocks
            end = b.least(self.blocks, begin + cut.blocks)
            every = (end - begin) * (many * cut.tiles)
            with b.loop(begin, end) as block:
                corner = image, block * tile.rows, band * pixels
                with b.loop(0, many) as p:
                    number = ((block - begin) * many + p) * cut.tiles

                    def gather(tile: Int, part: Int, number: Int = number) -> None:
                        c = part * every + number + tile
                        with b.if_then(c < coming):
                            self.image.gather(b, then, (c, c + 1), there)

                    self._block(b, self._of(here, p), self._left(b, block, p), self._quarter(corner, p), every, gather)
                self._drain(b, here.sums, corner)
        return Launch(self.site.name, Count(bands * parts, ((self.layer.batch, 1),)), sum(self._rooms()) + self._twice)

    def _rooms(self) -> tuple[int, ...]:
        """Bytes of the parts of scratch, in the order of `Places`."""
        cut, scheme = self.schedule, self.schedule.scheme
        sums = cut.tile.rows * cut.room * scheme.products + cut.tile.lanes
        line = 0 if self.image.steps == (1, 1) else scheme.side * self.image.line
        return tuple(memory(n, self.layer.dtype) for n in (
            scheme.products * cut.panel, scheme.products * cut.depth * cut.few, line, sums, cut.few * cut.across))

    @property
    def _twice(self) -> int:
        """Bytes of the first parts of scratch, which there are two of: for a task, and for the one after it."""
        return sum(self._rooms()[:2])

    def _places(self, scratch: Ref, half: Int) -> Places:
        """The places of a task in the first or the other half of what there are two of."""
        sizes, dtype = self._rooms(), self.layer.dtype
        first = rooms(scratch.bytes(half * self._twice), sizes[:2], dtype)
        return Places(*first, *rooms(scratch.bytes(self._twice), sizes, dtype)[2:])

    def _left(self, b: Code, block: Int, p: Int) -> Ref:
        """The weights of one product of a block."""
        product = p * (self.schedule.depth * self.schedule.tile.rows)
        return self.site.room(b, 0, self.layer.dtype) + (block * self.block + product)

    def _of(self, places: Places, p: Int) -> Places:
        """The places of one product."""
        cut = self.schedule
        return replace(places, panels=places.panels + p * cut.panel, few=places.few + p * (cut.depth * cut.few),
                       sums=places.sums + p * (cut.tile.rows * cut.room))

    def _quarter(self, corner: tuple[Int, Int, Int], p: Int) -> tuple[Int, Int, Int]:
        """Where a part of the result begins that is written behind the products, one for each of the first."""
        side, (image, channel, pixel) = self.schedule.scheme.side, corner
        if side == 1:
            return corner
        across, down = p & 1, p >> 1 & 1
        return image, channel + down * (self.layer.width // side), pixel + across * self.schedule.pixels

    def _block(self, b: Code, places: Places, left: Ref, corner: tuple[Int, Int, Int], every: Int, gather: Gather
               ) -> None:
        """A product for one block of channels; before every so many source channels, something is gathered."""
        cut, depth, lanes = self.schedule, self.schedule.depth, self.schedule.tile.lanes
        parts = (every + (depth - 1)) // every
        for first, count, width in cut.panels:
            tile = replace(cut.tile, vectors=width)
            with b.loop(0, count) as p:
                start = (p * width + first) * lanes
                right = places.panels + start * depth
                self._approach(b, corner, start, width)

                def step(k: Int, acc: Vectors, tile: Tile = tile, right: Ref = right) -> Vectors:
                    row, column = left + k * tile.rows, right + k * tile.columns
                    tile.ahead(row)
                    if tile.is_far(depth):
                        tile.soon(column, tile.columns)
                    return tile.multiply(b, acc, row, column)

                def some(j: Int, acc: Vectors, p: Int = p, step: Callable[[Int, Vectors], Vectors] = step) -> Vectors:
                    gather(p, j)
                    begin = j * every
                    count = b.least(every, depth - begin)
                    return b.fold(count, acc, lambda k, acc: step(k + begin, acc))

                zeros = tile.zeros()
                acc = b.fold(parts, zeros, some) if first == 0 else b.fold(depth, zeros, step)
                tile.store(b, acc, places.sums + start, cut.room)
        if not cut.panels:
            with b.loop(0, parts) as j:
                gather(b.int(0), j)
        if cut.few:
            self._few(b, left, places)

    def _approach(self, b: Code, corner: tuple[Int, Int, Int], start: Int, width: int) -> None:
        """Asks for the memory of a tile's destination while the tile is computed."""
        image, channel, pixel = corner
        with b.loop(0, b.least(self.schedule.tile.rows, self.layer.width - channel)) as r:
            for v in range(width):
                self.sink.near(b, (image, channel + r, pixel + start + v * self.schedule.tile.lanes))

    def _few(self, b: Code, left: Ref, places: Places) -> None:
        """The single pixels, with channels in lanes."""
        cut, tile, lanes, few = self.schedule, self.schedule.tile, self.schedule.tile.lanes, self.schedule.few
        parts = range(0, cut.across, lanes)
        count = few * len(parts)
        apart = 1 if count > 2 or cut.depth % 4 else 4

        def body(k: Int, acc: Vectors) -> Vectors:
            made: Vectors = []
            for step in range(apart):
                depth: Number = k * apart + step
                row, column = left + depth * tile.rows, places.few + depth * few
                rows = [(row + r).load(lanes) for r in parts]
                pixels = [splat(b, (column + j).load(), lanes) for j in range(few)]
                pairs = [(pixel, row) for pixel in pixels for row in rows]
                made += [multiply_add(b, tile.machine.fma, *pair, z) for pair, z in zip(pairs, acc[step * count:])]
            return made

        acc = b.fold(cut.depth // apart, [zero(tile.dtype, lanes)] * (count * apart), body)
        for k in range(count):
            place = places.across + k * lanes
            place.store(reduce(b.fadd, acc[k::count]))
        with b.loop(0, tile.rows) as r, b.loop(0, few) as j:
            new = (places.across + (j * cut.across + r)).load()
            (places.sums + (r * cut.room + j + cut.vectors * lanes)).store(new)

    def _drain(self, b: Code, sums: Ref, corner: tuple[Int, Int, Int]) -> None:
        """Finished sums of one block to their destination, `corner` = (image, channel, pixel) on."""
        cut, lanes, scheme = self.schedule, self.schedule.tile.lanes, self.schedule.scheme
        image, channel, pixel = corner
        width, rest = self.layer.width // scheme.side, cut.pixels % lanes
        whole = cut.pixels - rest
        with b.loop(0, b.least(cut.tile.rows, width - channel)) as r:
            row = r * cut.room
            for start, stop, mask in ((0, whole, None), (whole, cut.pixels, b.below(rest, lanes))):
                if start == stop:
                    continue
                with b.loop(start, stop, lanes) as x:
                    places = [row + x + p * cut.tile.rows * cut.room for p in range(scheme.products)]
                    made = scheme.result(b, [(sums + place).load(lanes) for place in places])
                    for k, vector in enumerate(made):
                        down, across = divmod(k, scheme.side)
                        self.sink.put(b, (image, channel + r + down * width, pixel + x + across * cut.pixels), 2, mask,
                                      vector)
