"""Convolutions of single pixels (1x1) as products of weights and an image, which is laid into panels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.llvm.access import (
    Address,
    Builder,
    Count,
    Index,
    Machine,
    Near,
    Operand,
    Pair,
    Plain,
    Temp,
    Write,
    i64,
    size_of,
)
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.layer import Layer, Weights
from stele.backend.llvm.microkernel import Tile, idle, multiply_add, shares
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

LATER = 8
"""How many channels ahead a source is asked for: its channels lie in memory pages of their own."""
FEW = 4
"""Pixels behind the last whole vector that are computed one by one, with channels in lanes."""
Previous = Callable[[ir.Value], ir.Value] | None


@dataclass(frozen=True)
class Blocking:
    """A task makes `blocks` tiles of channels for some pixels of one image, from `chunk` source channels at a time.

    By the scheme, channels and pixels go in parts: `pixels` and `chunk` are those of one part. Pixels are cut into
    panels of `tile.columns`, one narrower panel of the vectors left, and `few` single pixels.
    """

    scheme: Scheme
    tile: Tile
    pixels: int
    blocks: int
    chunk: int

    @property
    def few(self) -> int:
        """Pixels that are computed one by one."""
        rest = self.pixels % self.tile.lanes
        return rest if rest <= FEW else 0

    @property
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
    alike = layer.kernel == (1, 1) and layer.groups == 1 and len(stencil.taps) == 1 and stencil.low == (0, 0)
    return inside and alike and plain is not None and plain.strides[2:] == (stencil.source[1], 1)


def plan(machine: Machine, layer: Layer, precision: Precision) -> Blocking:
    """The cheapest blocking, by estimate."""
    pixels = layer.stencil.target[0] * layer.stencil.target[1]
    spare = machine.registers - (2 if machine.fma else 3)
    tiles = [Tile(machine, layer.dtype, r, v) for v in range(1, 4) for r in range(min(layer.width, 4), 25)
             if min(layer.width, spare // 2) <= r * v <= spare - v]
    width = 1 if layer.stencil.phases == (1, 1) else layer.stencil.target[1]
    bands = [n for n in range(width, min(pixels, 1024) + 1, width) if pixels % n == 0 and n >= min(pixels, 28)]
    schemes = [ONE, STRASSEN] if precision == "fast" and layer.depth % 2 == layer.width % 2 == 0 else [ONE]
    candidates = [_candidate(machine, layer, scheme, tile, band // scheme.side, parts)
                  for scheme in schemes for tile in tiles for band in bands if band % scheme.side == 0
                  for parts in shares(layer.batch)]
    return machine.choices.choose(f"pointwise {precision} {layer}", candidates)[1]


def _candidate(machine: Machine, layer: Layer, scheme: Scheme, tile: Tile, pixels: int, parts: int
               ) -> tuple[float, Blocking]:
    """One blocking with its price per image, in vector multiplications."""
    r, depth, side, many = tile.rows, layer.depth // scheme.side, scheme.side, scheme.products
    blocks = -(-layer.width // side // r)
    bands = layer.stencil.target[0] * layer.stencil.target[1] // (pixels * side)
    each = -(-blocks // min(blocks, parts))
    room = machine.l2 * 3 // 4 // size_of(layer.dtype)
    whole = Blocking(scheme, tile, pixels, each, depth)
    chunks = -(-depth // max(1, room // (whole.room * many)))
    if chunks > 1 and many > 1:
        return float("inf"), whole
    far = 0.35 if 2 * many * whole.room * depth // chunks * size_of(layer.dtype) <= machine.l2 else 0.7
    step = lambda v: max(r * v, 0.5 * r + v, 8.0) + far * v + 0.02 * r + 0.25
    sums = sum(count * (depth * step(v) + chunks * r * v * 2 + 30) for _, count, v in whole.panels)
    if whole.few:
        sums += depth * max(whole.few * whole.across / tile.lanes, 1.5) + 4 * r * whole.few
    is_far = many * r * whole.room * size_of(layer.dtype) > machine.l1 * 3 // 4
    sums = many * sums + r * whole.vectors * side * side * (10 + (4 if many > 1 else 0) + 4 * (chunks - 1 + is_far))
    if chunks > 1 and each * r * whole.room > room // 2:
        sums *= 2
    read = (2.5 if layer.stencil.phases == (1, 1) else 10.0) + (1.5 if many > 1 else 0)
    cost = bands * (blocks * sums + min(blocks, parts) * depth * side * side * (whole.vectors * read + 12))
    return cost * idle(bands, blocks, each, layer.batch), Blocking(scheme, tile, pixels, each, -(-depth // chunks))


def product(module: ir.Module, name: str, layer: Layer, blocking: Blocking, source: Operand, weight: Operand,
            write: Write, near: Near, temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer that `fits`: `source` (n, depth, h, w), `write` (n, width, h * w)."""
    weights = Weights(layer, weight, blocking.tile)
    assert source.plain is not None
    image = Image(layer, blocking, source.plain)
    return _Product(module, name, layer, blocking, weights, image, write, near, temp).emit()


@dataclass(frozen=True)
class Places:
    """Where a task keeps: pixels of a channel that lie apart, panels, single pixels, sums, and sums of single pixels
    with channels in lanes.
    """

    line: ir.Value
    panels: ir.Value
    few: ir.Value
    sums: ir.Value
    across: ir.Value


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

    def gather(self, b: Builder, ctx: ir.Value, corner: Index, count: ir.Value, places: Places) -> None:
        """Panels of `count` channels from `corner` = (image, channel, pixel) on."""
        blocking, dtype, lanes = self.blocking, self.layer.dtype, self.blocking.tile.lanes
        image, channel, pixel = corner
        start = scaled(b, image, self.memory.strides[0])
        if self.steps == (1, 1):
            start = b.add(start, pixel)
        else:
            row = b.udiv(pixel, i64(self.layer.stencil.target[1]))
            start = b.add(start, scaled(b, row, self.steps[0] * self.layer.stencil.source[1]))
        base = at(b, self.memory.base(b, ctx), start, dtype)
        with loop(b, 0, count) as c:
            lines: list[ir.Value] = []
            for part in range(blocking.scheme.side):
                own = total(b, channel, c, part * self.layer.depth // blocking.scheme.side)
                line = at(b, base, scaled(b, own, self.memory.strides[1]), dtype)
                if self.steps != (1, 1):
                    line = self._straighten(b, line, at(b, places.line, part * self.line, dtype))
                lines += [at(b, line, half * blocking.pixels, dtype) for half in range(blocking.scheme.side)]
            for first, number, width in blocking.panels:
                with loop(b, 0, number) as p:
                    start = scaled(b, total(b, scaled(b, p, width), first), lanes)
                    row = total(b, scaled(b, start, blocking.chunk), scaled(b, c, width * lanes))
                    for v in range(width):
                        left = lanes if number > 1 else blocking.pixels - (first + v) * lanes
                        read = [self._read(b, at(b, line, total(b, start, v * lanes), dtype), left) for line in lines]
                        for k, vector in enumerate(blocking.scheme.right(b, read)):
                            place = total(b, row, k * blocking.chunk * blocking.vectors * lanes + v * lanes)
                            store(b, vector, at(b, places.panels, place, dtype), dtype)
            if blocking.few:
                read = [self._read(b, at(b, line, blocking.vectors * lanes, dtype), blocking.few) for line in lines]
                for k, vector in enumerate(blocking.scheme.right(b, read)):
                    place = total(b, scaled(b, c, blocking.few), k * blocking.chunk * blocking.few)
                    store_lanes(b, vector, at(b, places.few, place, dtype), dtype, blocking.few)

    def coming(self, b: Builder, ctx: ir.Value, corner: Index, is_first: ir.Value) -> Pair:
        """Where the source of the next task begins, and how far apart its channels are for its first block."""
        image, channel, pixel = corner
        strides = self.memory.strides
        offset = total(b, scaled(b, image, strides[0]), scaled(b, channel, strides[1]), pixel)
        apart = i64(strides[1] if self.steps == (1, 1) else 0)
        return at(b, self.memory.base(b, ctx), offset, self.layer.dtype), b.select(is_first, apart, i64(0))

    def quarter(self, b: Builder, coming: Pair, p: ir.Value) -> Pair:
        """The part of it that is asked for while a product is made."""
        if self.blocking.scheme.side == 1:
            return coming
        across, down = b.and_(p, i64(1)), b.and_(b.lshr(p, i64(1)), i64(1))
        offset = total(b, scaled(b, down, self.layer.depth // 2 * self.memory.strides[1]),
                       scaled(b, across, self.blocking.pixels))
        return at(b, coming[0], offset, self.layer.dtype), coming[1]

    @property
    def steps(self) -> tuple[int, int]:
        """The strides of the convolution."""
        return self.layer.stencil.phases

    def _straighten(self, b: Builder, line: ir.Value, to: ir.Value) -> ir.Value:
        """The pixels that a band reads of one channel, end to end at `to`."""
        dtype, lanes, (sy, sx) = self.layer.dtype, self.blocking.tile.lanes, self.steps
        width, target = self.layer.stencil.source[1], self.layer.stencil.target[1]
        with loop(b, 0, self.blocking.pixels * self.blocking.scheme.side // target) as q:
            row = at(b, line, scaled(b, q, sy * width), dtype)
            for x in range(0, target, lanes):
                starts = [x * sx + j * lanes for j in range(sx)]
                vectors = [self._read(b, at(b, row, k, dtype), max(0, width - k)) for k in starts]
                picked = regroup(b, vectors, lambda l: divmod(l * sx, lanes))
                store(b, picked, at(b, to, total(b, scaled(b, q, target), x), dtype), dtype)
        return to

    def _read(self, b: Builder, address: ir.Value, left: int) -> ir.Value:
        """A vector at an address, no more of it than the `left` elements there are; a later channel is asked for."""
        dtype, lanes = self.layer.dtype, self.blocking.tile.lanes
        prefetch(b, at(b, address, LATER * self.memory.strides[1], dtype))
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
    def once(self) -> bool:
        """Whether all source channels are taken at a time."""
        return self.blocking.chunk * self.blocking.scheme.side == self.layer.depth

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
        """The products; consecutive tasks share a source, which is laid into panels when it changes."""
        layer, blocking, blocks, rooms = self.layer, self.blocking, self._blocks, self._rooms()
        side, rows = blocking.scheme.side, blocking.tile.rows
        pixels = layer.stencil.target[0] * layer.stencil.target[1]
        bands, parts = pixels // (blocking.pixels * side), -(-blocks // blocking.blocks)
        with kernel(self.module, self.name) as (b, ctx, scratch, task, first):
            image, band, part = split(b, task, bands, parts)
            next_image, next_band, _ = split(b, b.add(task, i64(parts)), bands, parts)
            pixel, begin = scaled(b, band, blocking.pixels * side), scaled(b, part, blocking.blocks)
            changed = b.or_(first, b.icmp_signed("==", part, i64(0))) if self.once else ir.IntType(1)(1)
            places = Places(*(bytes_at(b, scratch, sum(rooms[:k])) for k in range(len(rooms))))
            with loop(b, 0, layer.depth // side, blocking.chunk) as s:
                count = least(b, i64(blocking.chunk), b.sub(i64(layer.depth // side), s))
                with b.if_then(changed):
                    self.image.gather(b, ctx, (image, s, pixel), count, places)
                with loop(b, begin, least(b, i64(blocks), total(b, begin, blocking.blocks))) as block:
                    own = i64(0) if self.once else b.sub(block, begin)
                    start = next_image, s, scaled(b, next_band, blocking.pixels * side)
                    coming = self.image.coming(b, ctx, start, b.icmp_signed("==", block, begin))
                    sums = at(b, places.sums, scaled(b, own, rows * blocking.room), layer.dtype)
                    corner = image, scaled(b, block, rows), pixel
                    with loop(b, 0, blocking.scheme.products) as p:
                        left = total(b, scaled(b, block, self._block_size), scaled(b, p, layer.depth // side * rows),
                                     scaled(b, s, rows))
                        self._block(b, ctx, at(b, self.temp(b, ctx, 0), left, layer.dtype), self._of(b, places, p),
                                    at(b, sums, scaled(b, p, rows * blocking.room), layer.dtype), (s, count),
                                    self._quarter(b, corner, p), self.image.quarter(b, coming, p))
                    with b.if_then(b.icmp_signed(">=", b.add(s, count), i64(layer.depth // side))):
                        self._drain(b, ctx, sums, corner)
        return Launch(self.name, Count(bands * parts, ((layer.batch, 1),)), sum(rooms))

    def _of(self, b: Builder, places: Places, p: ir.Value) -> Places:
        """The places of one product."""
        blocking, dtype = self.blocking, self.layer.dtype
        panels = at(b, places.panels, scaled(b, p, blocking.chunk * blocking.vectors * blocking.tile.lanes), dtype)
        return replace(places, panels=panels, few=at(b, places.few, scaled(b, p, blocking.chunk * blocking.few), dtype))

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
        sums = tile.rows * blocking.room * (scheme.products if self.once else blocking.blocks) + tile.lanes
        line = 0 if self.image.steps == (1, 1) else scheme.side * self.image.line
        return tuple(round_up(n * size_of(self.layer.dtype), 64) for n in (
            line, scheme.products * blocking.chunk * blocking.vectors * tile.lanes,
            scheme.products * blocking.chunk * blocking.few, sums, blocking.few * blocking.across))

    def _block(self, b: Builder, ctx: ir.Value, left: ir.Value, places: Places, sums: ir.Value, channels: Pair,
               corner: Index, coming: Pair) -> None:
        """All pixels of one block of channels, added to what the channels before gave."""
        blocking, tile, dtype, lanes = self.blocking, self.blocking.tile, self.layer.dtype, self.blocking.tile.lanes
        depth, previous = blocking.chunk, None
        if not self.once:
            depth, begun = channels[1], b.icmp_signed(">", channels[0], i64(0))
            previous = lambda old: b.select(begun, old, zero(dtype, lanes))
        for first, count, width in blocking.panels:
            part = Tile(tile.machine, dtype, tile.rows, width)
            with loop(b, 0, count) as p:
                start = scaled(b, total(b, scaled(b, p, width), first), lanes)
                right = at(b, places.panels, scaled(b, start, blocking.chunk), dtype)
                self._approach(b, ctx, corner, start, width)

                def body(k, acc, part=part, right=right, start=start):
                    row = at(b, left, scaled(b, k, part.rows), dtype)
                    column = at(b, right, scaled(b, k, part.columns), dtype)
                    part.ahead(b, row)
                    for v in range(part.vectors):
                        later = total(b, scaled(b, k, coming[1]), start, v * lanes)
                        prefetch(b, at(b, coming[0], later, dtype))
                    return part.step(b, acc, lambda r: part.broadcast(b, at(b, row, r, dtype)),
                                     lambda v: load(b, at(b, column, v * lanes, dtype), dtype, lanes))

                part.store(b, fold(b, depth, part.zeros(), body), at(b, sums, start, dtype), blocking.room, previous)
        if blocking.few:
            self._few(b, left, places, sums, depth, previous)

    def _approach(self, b: Builder, ctx: ir.Value, corner: Index, start: ir.Value, width: int) -> None:
        """Asks for the memory of a tile's destination while the tile is computed."""
        image, channel, pixel = corner
        with loop(b, 0, least(b, i64(self.blocking.tile.rows), b.sub(i64(self.layer.width), channel))) as r:
            for v in range(width):
                self.near(b, ctx, (image, b.add(channel, r), total(b, pixel, start, v * self.blocking.tile.lanes)))

    def _few(self, b: Builder, left: ir.Value, places: Places, sums: ir.Value, depth: int | ir.Value,
             previous: Previous) -> None:
        """The single pixels, with channels in lanes."""
        blocking, dtype, lanes, few = self.blocking, self.layer.dtype, self.blocking.tile.lanes, self.blocking.few
        tile, parts = self.blocking.tile, range(0, self.blocking.across, self.blocking.tile.lanes)
        count = few * len(parts)
        apart = 1 if not isinstance(depth, int) or count > 2 or depth % 4 else 4

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

        times = depth // apart if isinstance(depth, int) else depth
        acc = fold(b, times, [zero(dtype, lanes)] * (count * apart), body)
        for k in range(count):
            place = at(b, places.across, k * lanes, dtype)
            store(b, reduce(b.fadd, acc[k::count]), place, dtype)
        with loop(b, 0, tile.rows) as r, loop(b, 0, few) as j:
            new = load(b, at(b, places.across, total(b, scaled(b, j, blocking.across), r), dtype), dtype)
            place = at(b, sums, total(b, scaled(b, r, blocking.room), j, blocking.vectors * lanes), dtype)
            if previous is not None:
                old = previous(splat(b, load(b, place, dtype), lanes))
                new = b.fadd(b.extract_element(old, i64(0)), new)
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
