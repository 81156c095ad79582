"""Convolutions of single pixels (1x1) as products of weights and an image, which is laid into panels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from math import prod

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.llvm.access import (
    Address,
    Builder,
    Count,
    Index,
    Near,
    Operand,
    Pair,
    Plain,
    Temp,
    Write,
    i64,
    size_of,
)
from stele.backend.llvm.launch import Launch, i8
from stele.backend.llvm.layer import Layer, Weights
from stele.backend.llvm.machine import Machine
from stele.backend.llvm.microkernel import LEFT, Tile, idle, multiply_add, shares
from stele.backend.llvm.nest import (
    at,
    bytes_at,
    fold,
    kernel,
    lanes_below,
    least,
    load,
    loop,
    prefetch,
    round_up,
    scaled,
    splat,
    split,
    store,
    total,
    zero,
)
from stele.backend.llvm.pack import masked_load, store_lanes
from stele.backend.llvm.planes import regroup
from stele.backend.llvm.schemes import ONE, STRASSEN, Scheme

NEAR = 128
"""Bytes of a channel that come from memory together."""
FEW = 4
"""Pixels behind the last whole vector that are computed one by one, with channels in lanes."""
Gather = Callable[[ir.Value, ir.Value], None]
"""`gather(tile, part)`: lays the channel of the next task into panels whose turn it is before a part of a tile."""


@dataclass(frozen=True)
class Blocking:
    """A task makes `blocks` tiles of channels for some pixels of one image, from `depth` source channels.

    By the scheme, channels and pixels go in parts: `pixels` and `depth` are those of one part. Pixels are cut into
    panels of `tile.columns`, one narrower panel of the vectors left, and `few` single pixels.
    """

    scheme: Scheme
    tile: Tile
    pixels: int
    blocks: int
    depth: int

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


def fits(layer: Layer, source: Operand) -> bool:
    """Whether a layer is one of single pixels, whose images lie in memory as they are."""
    stencil, plain = layer.stencil, source.plain
    inside = all(s * (t - 1) < n for s, t, n in zip(stencil.phases, stencil.target, stencil.source))
    alike = layer.kernel == (1, 1) and layer.groups == 1 and len(stencil.taps) == 1
    as_it_lies = stencil.low == stencil.reach == (0, 0)
    return inside and alike and as_it_lies and plain is not None and plain.strides[2:] == (stencil.source[1], 1)


def plan(machine: Machine, layer: Layer, precision: Precision) -> tuple[float, Blocking]:
    """The cheapest blocking, by estimate, with its price per image in vector multiplications. Its tile leaves registers
    for what is gathered between its steps."""
    pixels = layer.stencil.target[0] * layer.stencil.target[1]
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
               ) -> tuple[float, Blocking]:
    """One blocking with its price per image, in vector multiplications."""
    r, depth, side, many = tile.rows, layer.depth // scheme.side, scheme.side, scheme.products
    blocks = -(-layer.width // side // r)
    bands = layer.stencil.target[0] * layer.stencil.target[1] // (pixels * side)
    each = -(-blocks // min(blocks, parts))
    whole, size = Blocking(scheme, tile, pixels, each, depth), size_of(layer.dtype)
    panels = 2 * many * whole.room * depth * size
    if panels > machine.l2 * 3 // 2 and many > 1:
        return float("inf"), whole
    far = 0.35 if panels <= machine.l2 // 2 else 0.7 if panels <= machine.l2 * 3 // 2 else 2.0
    step = lambda v: max(r * v, LEFT * machine.pace * r + v, 8.0) + far * v + 0.02 * r + 0.25
    sums = sum(count * (depth * step(v) + r * v * 2 + 30) for _, count, v in whole.panels)
    if whole.few:
        sums += depth * max(whole.few * whole.across / tile.lanes, 1.5) + 4 * r * whole.few
    is_far = many * r * whole.room * size > machine.l1 * 3 // 4
    sums = many * sums + r * whole.vectors * side * side * (10 + (4 if many > 1 else 0) + 4 * is_far)
    parted = (1.5 if machine.pace < 1 else 17.0 + 20 * (panels > machine.l2)) * (many > 1)
    read = parted + 10 * (side * pixels * size > NEAR) + (1.0 if layer.stencil.phases == (1, 1) else 8.5)
    cost = bands * (blocks * sums + min(blocks, parts) * depth * side * side * (whole.vectors * read + 3))
    return cost * idle(bands, blocks, each, layer.batch), whole


def product(module: ir.Module, name: str, layer: Layer, blocking: Blocking, source: Operand, weight: Operand,
            write: Write, near: Near, temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer that `fits`: `source` (n, depth, h, w), `write` (n, width, h * w)."""
    weights = Weights(layer, weight, blocking.tile)
    assert source.plain is not None
    image = Image(layer, blocking, source.plain)
    return _Product(module, name, layer, blocking, weights, image, write, near, temp).emit()


@dataclass(frozen=True)
class Places:
    """Where a task keeps: panels, single pixels, pixels of a channel that lie apart, sums, and sums of single pixels
    with channels in lanes.
    """

    panels: ir.Value
    few: ir.Value
    line: ir.Value
    sums: ir.Value
    across: ir.Value


@dataclass(frozen=True)
class Band:
    """Where the source of a task begins, and how far behind that of the task after it does, in elements."""

    start: ir.Value
    ahead: ir.Value


@dataclass(frozen=True)
class Image:
    """The image of a layer on its way into panels."""

    layer: Layer
    blocking: Blocking
    memory: Plain

    @property
    def line(self) -> int:
        """Elements of a channel's pixels end to end; writing overruns the last by less than a vector."""
        return self.blocking.pixels * self.blocking.scheme.side + self.blocking.tile.lanes

    def start(self, b: Builder, image: ir.Value, pixel: ir.Value) -> ir.Value:
        """Where the source of a band begins that makes the pixels from one on, in elements."""
        start = scaled(b, image, self.memory.strides[0])
        if self.steps == (1, 1):
            return b.add(start, pixel)
        row = b.udiv(pixel, i64(self.layer.stencil.target[1]))
        return b.add(start, scaled(b, row, self.steps[0] * self.layer.stencil.source[1]))

    def gather(self, b: Builder, ctx: ir.Value, band: Band, channels: Pair, places: Places) -> None:
        """Panels of the channels from the first to before the second; the band after this one is asked for."""
        blocking, dtype, lanes = self.blocking, self.layer.dtype, self.blocking.tile.lanes
        base = at(b, self.memory.base(b, ctx), band.start, dtype)
        with loop(b, *channels) as c:
            lines: list[ir.Value] = []
            for part in range(blocking.scheme.side):
                line = at(b, base, scaled(b, total(b, c, part * blocking.depth), self.memory.strides[1]), dtype)
                if self.steps != (1, 1):
                    line = self._straighten(b, line, at(b, places.line, part * self.line, dtype), band)
                lines += [at(b, line, half * blocking.pixels, dtype) for half in range(blocking.scheme.side)]
            for first, number, width in blocking.panels:
                with loop(b, 0, number) as p:
                    start = scaled(b, total(b, scaled(b, p, width), first), lanes)
                    row = total(b, scaled(b, start, blocking.depth), scaled(b, c, width * lanes))
                    for v in range(width):
                        left = lanes if number > 1 else blocking.pixels - (first + v) * lanes
                        place = total(b, start, v * lanes)
                        read = [self._read(b, at(b, line, place, dtype), left, band) for line in lines]
                        for k, vector in enumerate(blocking.scheme.right(b, read)):
                            place = total(b, row, k * blocking.depth * blocking.vectors * lanes + v * lanes)
                            store(b, vector, at(b, places.panels, place, dtype), dtype)
            if blocking.few:
                rest = blocking.vectors * lanes
                read = [self._read(b, at(b, line, rest, dtype), blocking.few, band) for line in lines]
                for k, vector in enumerate(blocking.scheme.right(b, read)):
                    place = total(b, scaled(b, c, blocking.few), k * blocking.depth * blocking.few)
                    store_lanes(b, vector, at(b, places.few, place, dtype), dtype, blocking.few)

    @property
    def steps(self) -> tuple[int, int]:
        """The strides of the convolution."""
        return self.layer.stencil.phases

    def _straighten(self, b: Builder, line: ir.Value, to: ir.Value, band: Band) -> ir.Value:
        """The pixels that a band reads of one channel, end to end at `to`."""
        dtype, lanes, (sy, sx) = self.layer.dtype, self.blocking.tile.lanes, self.steps
        width, target = self.layer.stencil.source[1], self.layer.stencil.target[1]
        with loop(b, 0, self.blocking.pixels * self.blocking.scheme.side // target) as q:
            row = at(b, line, scaled(b, q, sy * width), dtype)
            for x in range(0, target, lanes):
                starts = [x * sx + j * lanes for j in range(sx)]
                vectors = [self._read(b, at(b, row, k, dtype), max(0, width - k), band) for k in starts]
                picked = regroup(b, vectors, lambda l: divmod(l * sx, lanes))
                store(b, picked, at(b, to, total(b, scaled(b, q, target), x), dtype), dtype)
        return to

    def _read(self, b: Builder, address: ir.Value, left: int, band: Band) -> ir.Value:
        """A vector at an address, no more of it than the `left` elements there are."""
        dtype, lanes = self.layer.dtype, self.blocking.tile.lanes
        prefetch(b, at(b, address, band.ahead, dtype))
        return load(b, address, dtype, lanes) if left >= lanes else \
            masked_load(b, address, dtype, lanes_below(b, i64(left), lanes))


@dataclass(frozen=True)
class _Product:
    """Both kernels. Weights lie as `[block][product][source channel][row]`, panels as
    `[product][panel][source channel][column]`, sums as `[product][row][pixel]`.
    """

    module: ir.Module
    name: str
    layer: Layer
    blocking: Blocking
    weights: Weights
    image: Image
    write: Write
    near: Near
    temp: Address

    @property
    def _blocks(self) -> int:
        """Blocks of target channels in a part."""
        return -(-self.layer.width // self.blocking.scheme.side // self.blocking.tile.rows)

    @property
    def _block_size(self) -> int:
        """Elements of a block of weights, and what loads may overrun it."""
        tile, scheme = self.blocking.tile, self.blocking.scheme
        return tile.rows * (scheme.products * self.layer.depth // scheme.side + tile.lanes)

    def emit(self) -> tuple[list[Launch], list[Temp]]:
        packed = Temp(Count(self._blocks * self._block_size * size_of(self.layer.dtype)))
        return [self._pack(), self._multiply()], [packed]

    def _pack(self) -> Launch:
        """Sums of parts of the weights; a task is one block. Scratch is `[transposing buffer][rows of each part]`."""
        layer, tile, scheme, weights = self.layer, self.blocking.tile, self.blocking.scheme, self.weights
        name, dtype, depth = f"{self.name}.pack", self.layer.dtype, self.layer.depth // self.blocking.scheme.side
        with kernel(self.module, name) as (b, ctx, scratch, block, _):
            to = at(b, self.temp(b, ctx, 0), scaled(b, block, self._block_size), dtype)
            rows = bytes_at(b, scratch, weights.buffer)
            for part in range(scheme.side):
                start = total(b, scaled(b, block, tile.rows), part * layer.width // scheme.side)
                weights.pack(b, ctx, i64(0), start, at(b, rows, part * weights.size, dtype), scratch)
            with loop(b, 0, depth) as k:
                for r in range(0, tile.rows, tile.lanes):
                    places = [total(b, scaled(b, k, tile.rows), i * weights.size + j * depth * tile.rows + r)
                              for i in range(scheme.side) for j in range(scheme.side)]
                    parts = [load(b, at(b, rows, place, dtype), dtype, tile.lanes) for place in places]
                    for p, value in enumerate(scheme.left(b, parts)):
                        place = total(b, scaled(b, k, tile.rows), p * depth * tile.rows + r)
                        store_lanes(b, value, at(b, to, place, dtype), dtype, min(tile.lanes, tile.rows - r))
        scratch_bytes = weights.buffer + scheme.side * weights.size * size_of(dtype)
        return Launch(name, Count(self._blocks), scratch_bytes, packs=(1, 0))

    def _multiply(self) -> Launch:
        """The products; while it makes them, a task lays the source of its thread's next one into panels."""
        layer, blocking, blocks = self.layer, self.blocking, self._blocks
        pixels, many = blocking.pixels * blocking.scheme.side, blocking.scheme.products
        bands, parts = prod(layer.stencil.target) // pixels, -(-blocks // blocking.blocks)
        with kernel(self.module, self.name) as (b, ctx, scratch, task, first):
            tasks = [split(b, total(b, task, k), parts, bands) for k in range(3)]
            starts = [self.image.start(b, image, scaled(b, band, pixels)) for image, _, band in tasks]
            now, then = (Band(start, b.sub(after, start)) for start, after in pairwise(starts))
            odd = b.and_(task, i64(1))
            here, there = (self._places(b, scratch, half) for half in (odd, b.xor(odd, i64(1))))
            with b.if_then(first):
                self.image.gather(b, ctx, now, (i64(0), i64(blocking.depth)), here)
            is_last = b.icmp_signed("==", total(b, task, 1), b.function.args[3])
            coming = b.select(is_last, i64(0), i64(blocking.depth))
            image, part, band = tasks[0]
            begin = scaled(b, part, blocking.blocks)
            end = least(b, i64(blocks), total(b, begin, blocking.blocks))
            every = scaled(b, b.sub(end, begin), many * blocking.tiles)
            with loop(b, begin, end) as block:
                corner = image, scaled(b, block, blocking.tile.rows), scaled(b, band, pixels)
                with loop(b, 0, many) as p:
                    number = scaled(b, total(b, scaled(b, b.sub(block, begin), many), p), blocking.tiles)

                    def gather(tile: ir.Value, part: ir.Value, number: ir.Value = number) -> None:
                        c = total(b, scaled(b, part, every), number, tile)
                        with b.if_then(b.icmp_signed("<", c, coming)):
                            self.image.gather(b, ctx, then, (c, total(b, c, 1)), there)

                    self._block(b, ctx, self._of(b, here, p), self._left(b, ctx, block, p), self._quarter(b, corner, p),
                                every, gather)
                self._drain(b, ctx, here.sums, corner)
        return Launch(self.name, Count(bands * parts, ((layer.batch, 1),)), sum(self._rooms()) + self._twice)

    @property
    def _twice(self) -> int:
        """Bytes of the first parts of scratch, which there are two of: for a task, and for the one after it."""
        return sum(self._rooms()[:2])

    def _places(self, b: Builder, scratch: ir.Value, half: ir.Value) -> Places:
        """The places of a task in the first or the other half of what there are two of."""
        rooms = self._rooms()
        starts = [at(b, scratch, scaled(b, half, self._twice), i8)] * 2 + [bytes_at(b, scratch, self._twice)] * 3
        return Places(*(bytes_at(b, start, sum(rooms[:k])) for k, start in enumerate(starts)))

    def _left(self, b: Builder, ctx: ir.Value, block: ir.Value, p: ir.Value) -> ir.Value:
        """The weights of one product of a block."""
        product = scaled(b, p, self.blocking.depth * self.blocking.tile.rows)
        return at(b, self.temp(b, ctx, 0), total(b, scaled(b, block, self._block_size), product), self.layer.dtype)

    def _of(self, b: Builder, places: Places, p: ir.Value) -> Places:
        """The places of one product."""
        blocking, tile, dtype = self.blocking, self.blocking.tile, self.layer.dtype
        panels = at(b, places.panels, scaled(b, p, blocking.depth * blocking.vectors * blocking.tile.lanes), dtype)
        return replace(places, panels=panels, few=at(b, places.few, scaled(b, p, blocking.depth * blocking.few), dtype),
                       sums=at(b, places.sums, scaled(b, p, tile.rows * blocking.room), dtype))

    def _quarter(self, b: Builder, corner: Index, p: ir.Value) -> Index:
        """Where a part of the result begins that is written behind the products, one for each of the first."""
        side, (image, channel, pixel) = self.blocking.scheme.side, corner
        if side == 1:
            return corner
        across, down = b.and_(p, i64(1)), b.and_(b.lshr(p, i64(1)), i64(1))
        return (image, b.add(channel, scaled(b, down, self.layer.width // side)),
                b.add(pixel, scaled(b, across, self.blocking.pixels)))

    def _rooms(self) -> tuple[int, ...]:
        """Bytes of the parts of scratch, in the order of `Places`."""
        blocking, tile = self.blocking, self.blocking.tile
        scheme = blocking.scheme
        sums = tile.rows * blocking.room * scheme.products + tile.lanes
        line = 0 if self.image.steps == (1, 1) else scheme.side * self.image.line
        return tuple(round_up(n * size_of(self.layer.dtype), 64) for n in (
            scheme.products * blocking.depth * blocking.vectors * tile.lanes,
            scheme.products * blocking.depth * blocking.few, line, sums, blocking.few * blocking.across))

    def _block(self, b: Builder, ctx: ir.Value, places: Places, left: ir.Value, corner: Index, every: ir.Value,
               gather: Gather) -> None:
        """A product for one block of channels; before every so many source channels, something is gathered."""
        blocking, tile, dtype, lanes = self.blocking, self.blocking.tile, self.layer.dtype, self.blocking.tile.lanes
        depth, parts = blocking.depth, b.udiv(total(b, every, blocking.depth - 1), every)
        for first, count, width in blocking.panels:
            part = Tile(tile.machine, dtype, tile.rows, width)
            with loop(b, 0, count) as p:
                start = scaled(b, total(b, scaled(b, p, width), first), lanes)
                right = at(b, places.panels, scaled(b, start, blocking.depth), dtype)
                self._approach(b, ctx, corner, start, width)

                def step(k, acc, part=part, right=right):
                    row = at(b, left, scaled(b, k, part.rows), dtype)
                    column = at(b, right, scaled(b, k, part.columns), dtype)
                    part.ahead(b, row)
                    if part.is_far(depth):
                        part.soon(b, column, part.columns)
                    return part.multiply(b, acc, row, column)

                def some(j, acc, p=p, step=step):
                    gather(p, j)
                    begin = scaled(b, j, every)
                    count = least(b, every, b.sub(i64(depth), begin))
                    return fold(b, count, acc, lambda k, acc: step(total(b, begin, k), acc))

                zeros = part.zeros()
                acc = fold(b, parts, zeros, some) if first == 0 else fold(b, depth, zeros, step)
                part.store(b, acc, at(b, places.sums, start, dtype), blocking.room)
        if not blocking.panels:
            with loop(b, 0, parts) as j:
                gather(i64(0), j)
        if blocking.few:
            self._few(b, left, places)

    def _approach(self, b: Builder, ctx: ir.Value, corner: Index, start: ir.Value, width: int) -> None:
        """Asks for the memory of a tile's destination while the tile is computed."""
        image, channel, pixel = corner
        with loop(b, 0, least(b, i64(self.blocking.tile.rows), b.sub(i64(self.layer.width), channel))) as r:
            for v in range(width):
                self.near(b, ctx, (image, b.add(channel, r), total(b, pixel, start, v * self.blocking.tile.lanes)))

    def _few(self, b: Builder, left: ir.Value, places: Places) -> None:
        """The single pixels, with channels in lanes."""
        blocking, dtype, lanes, few = self.blocking, self.layer.dtype, self.blocking.tile.lanes, self.blocking.few
        tile, parts = self.blocking.tile, range(0, self.blocking.across, self.blocking.tile.lanes)
        count = few * len(parts)
        apart = 1 if count > 2 or blocking.depth % 4 else 4

        def body(k, acc):
            made: list[ir.Value] = []
            for step in range(apart):
                k1 = total(b, scaled(b, k, apart), step)
                row, column = at(b, left, scaled(b, k1, tile.rows), dtype), at(b, places.few, scaled(b, k1, few), dtype)
                rows = [load(b, at(b, row, r, dtype), dtype, lanes) for r in parts]
                pixels = [splat(b, load(b, at(b, column, j, dtype), dtype), lanes) for j in range(few)]
                pairs = [(pixel, row) for pixel in pixels for row in rows]
                made += [multiply_add(b, tile.machine, *pair, sum_) for pair, sum_ in zip(pairs, acc[step * count:])]
            return made

        acc = fold(b, blocking.depth // apart, [zero(dtype, lanes)] * (count * apart), body)
        for k in range(count):
            place = at(b, places.across, k * lanes, dtype)
            store(b, reduce(b.fadd, acc[k::count]), place, dtype)
        with loop(b, 0, tile.rows) as r, loop(b, 0, few) as j:
            new = load(b, at(b, places.across, total(b, scaled(b, j, blocking.across), r), dtype), dtype)
            place = at(b, places.sums, total(b, scaled(b, r, blocking.room), j, blocking.vectors * lanes), dtype)
            store(b, new, place, dtype)

    def _drain(self, b: Builder, ctx: ir.Value, sums: ir.Value, corner: Index) -> None:
        """Finished sums of one block to their destination, `corner` = (image, channel, pixel) on."""
        blocking, dtype, lanes = self.blocking, self.layer.dtype, self.blocking.tile.lanes
        image, channel, pixel = corner
        width, scheme = self.layer.width // blocking.scheme.side, blocking.scheme
        rest = blocking.pixels % lanes
        whole = blocking.pixels - rest
        with loop(b, 0, least(b, i64(blocking.tile.rows), b.sub(i64(width), channel))) as r:
            row = scaled(b, r, blocking.room)
            for start, stop, mask in ((0, whole, None), (whole, blocking.pixels, lanes_below(b, i64(rest), lanes))):
                if start == stop:
                    continue
                with loop(b, start, stop, lanes) as x:
                    places = [total(b, row, x, p * blocking.tile.rows * blocking.room) for p in range(scheme.products)]
                    made = scheme.result(b, [load(b, at(b, sums, place, dtype), dtype, lanes) for place in places])
                    for k, vector in enumerate(made):
                        down, across = divmod(k, scheme.side)
                        index = image, total(b, channel, r, down * width), total(b, pixel, x, across * blocking.pixels)
                        self.write(b, ctx, index, 2, lanes, mask, vector)
