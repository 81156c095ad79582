"""Convolutions of float32 in tile registers (AMX): weights times planes of the source, both cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from llvmlite import ir

from stele.backend.llvm import amx
from stele.backend.llvm.access import (
    Address,
    Builder,
    Count,
    Near,
    Operand,
    Pair,
    Plain,
    Temp,
    Write,
    i64,
    size_of,
    size_value,
)
from stele.backend.llvm.amx import DEEP, SIDE, WIDTH, word
from stele.backend.llvm.conv_tiles_plan import Blocking
from stele.backend.llvm.launch import Launch, i8
from stele.backend.llvm.layer import Layer, Weights
from stele.backend.llvm.machine import Machine
from stele.backend.llvm.microkernel import Tile
from stele.backend.llvm.nest import (
    LINE,
    at,
    bytes_at,
    kernel,
    lanes_below,
    least,
    load,
    loop,
    prefetch,
    scaled,
    split,
    store,
    table,
    total,
)
from stele.backend.llvm.pack import masked_load
from stele.backend.llvm.stencil import Tap

FEW = 8
"""Steps of a tile up to which its destination is asked for: where there are more, the machine sees by itself."""


def layer(module: ir.Module, name: str, layer: Layer, blocking: Blocking, source: Operand, weight: Operand,
          write: Write, near: Near, temp: Address) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer: `source` (n, depth, h, w), `write` (n, width, h' * w')."""
    stencil = blocking.planes.stencil
    if source.plain is not None and stencil.source != layer.stencil.source:
        strides = (*source.plain.strides[:2], stencil.source[1], 1)
        source = replace(source, plain=Plain(source.plain.base, strides))
    taps = [tap for phase in stencil.taps for tap in phase]
    pack, packed = _pack(module, f"{name}.pack", layer, weight, taps, temp)
    return [pack, _Convolution(module, name, layer, blocking, source, write, near, temp).multiply()], [packed]


def _pack(module: ir.Module, name: str, layer: Layer, weight: Operand, taps: list[Tap], temp: Address
          ) -> tuple[Launch, Temp]:
    """Weights as panels `[block][chunk][tap]` of pieces; a task is one block."""
    weights = Weights(layer, weight, Tile(Machine(), word, *amx.SHAPE))
    numbers = table(module, f"{name}.taps", [tap.kernel[0] * layer.kernel[1] + tap.kernel[1] for tap in taps] or [0])
    chunks, elements = -(-layer.depth // DEEP), prod(layer.kernel)
    size = chunks * len(taps) * amx.step()
    with kernel(module, name) as (b, ctx, scratch, block, _):
        rows, to = bytes_at(b, scratch, weights.buffer), at(b, temp(b, ctx, 0), scaled(b, block, size), word)
        weights.pack(b, ctx, i64(0), scaled(b, block, WIDTH), rows, scratch)
        with loop(b, 0, chunks) as c, loop(b, 0, len(taps)) as t:
            number = load(b, at(b, numbers, t, i64), i64)

            def read(b, ctx, index, lane_axis, lanes, mask, number=number):
                row = scaled(b, total(b, scaled(b, index[1], elements), number), WIDTH)
                return masked_load(b, at(b, rows, total(b, row, index[0]), word), word, mask)

            start, here = scaled(b, c, DEEP), total(b, scaled(b, c, len(taps)), t)
            deep = start, least(b, i64(layer.depth), total(b, start, DEEP))
            amx.pack(b, ctx, Operand(read, 0), 0, lambda x, k: (x, k), at(b, to, scaled(b, here, amx.step()), word),
                     (i64(0), i64(WIDTH)), deep, "left")
    held = weights.buffer + weights.size * size_of(word)
    return Launch(name, Count(weights.blocks), held, packs=(1, 0)), Temp(Count(weights.blocks * size * size_of(word)))


@dataclass(frozen=True)
class Part:
    """What a task makes: some images from one on, target rows from one on, and which part of the target channels."""

    image: ir.Value
    images: ir.Value
    row: ir.Value
    number: ir.Value


@dataclass(frozen=True)
class Task:
    """A task as it runs: what it makes, what the next ones do, and how many pairs of channels are cut for the next; its
    blocks (first, how many); where it keeps two planes, pieces of its source and of the next, and sums of a block.
    """

    part: Part
    then: Part
    later: Part
    coming: ir.Value
    blocks: Pair
    planes: ir.Value
    pieces: Pair
    sums: ir.Value


@dataclass(frozen=True)
class _Convolution:
    """The products. If sources are cut early, pairs of channels are cut beside steps of the task before, while the
    source of the task behind is on its way from memory.
    """

    module: ir.Module
    name: str
    layer: Layer
    blocking: Blocking
    source: Operand
    write: Write
    near: Near
    temp: Address

    @property
    def _blocks(self) -> int:
        """Blocks of target channels."""
        return -(-self.layer.width // WIDTH)

    @property
    def _counts(self) -> tuple[int, int]:
        """Bands of an image, and parts of the target channels."""
        planes = self.blocking.planes
        return -(-planes.stencil.rows // planes.band), -(-self._blocks // self.blocking.blocks)

    def multiply(self) -> Launch:
        """The products of all tasks; consecutive ones share a source, if it is not cut early."""
        blocking, rooms = self.blocking, self.blocking.rooms
        counts = [len(phase) for phase in blocking.planes.offsets]
        tables = (table(self.module, f"{self.name}.offsets", [x for f in blocking.planes.offsets for x in f] or [0]),
                  table(self.module, f"{self.name}.starts", [sum(counts[:f]) for f in range(len(counts) + 1)]))
        with kernel(self.module, self.name) as (b, ctx, scratch, number, first):
            task = self._task(b, ctx, scratch, number)
            is_new = first if blocking.early else b.or_(first, b.icmp_signed("==", task.part.number, i64(0)))
            with b.if_then(is_new), loop(b, 0, blocking.pairs) as pair:
                self._cut(b, ctx, task.part, pair, task.planes, task.pieces[0])
            amx.begin(b)
            with loop(b, 0, task.blocks[1]) as block:
                self._block(b, ctx, task, block, tables)
                self._drain(b, ctx, task, block)
            amx.end(b)
        bands, parts = self._counts
        return Launch(self.name, Count(bands * parts, ((self.layer.batch, blocking.planes.images),)),
                      sum(rooms) + blocking.early * rooms[2])

    def _task(self, b: Builder, ctx: ir.Value, scratch: ir.Value, number: ir.Value) -> Task:
        """A task by its number."""
        blocking, rooms = self.blocking, self.blocking.rooms
        now, then, after = (self._part(b, ctx, total(b, number, k)) for k in range(3))
        odd = b.and_(number, i64(int(blocking.early)))
        pieces = bytes_at(b, scratch, rooms[0] + rooms[1])
        here, there = (at(b, pieces, scaled(b, half, rooms[2]), i8) for half in (odd, b.xor(odd, i64(1))))
        is_last = b.icmp_signed("==", total(b, number, 1), b.function.args[3])
        begin = scaled(b, now.number, blocking.blocks)
        count = b.sub(least(b, i64(self._blocks), total(b, begin, blocking.blocks)), begin)
        return Task(now, then, after, b.select(is_last, i64(0), i64(blocking.pairs)),
                    (begin, count), scratch, (here, there), bytes_at(b, scratch, rooms[0]))

    def _part(self, b: Builder, ctx: ir.Value, number: ir.Value) -> Part:
        """What a task makes. Where sources are cut early, that of the next task is another one."""
        planes, (bands, parts) = self.blocking.planes, self._counts
        if self.blocking.early:
            step, part, band = split(b, number, parts, bands)
        else:
            step, band, part = split(b, number, bands, parts)
        image, images = scaled(b, step, planes.images), i64(1)
        if planes.images > 1:
            images = least(b, i64(planes.images), b.sub(size_value(b, ctx, self.layer.batch), image))
        return Part(image, images, scaled(b, band, planes.band), part)

    def _cut(self, b: Builder, ctx: ir.Value, part: Part, pair: ir.Value, raw: ir.Value, to: ir.Value) -> None:
        """The pieces of one pair of source channels."""
        blocking, planes = self.blocking, self.blocking.planes
        chunk, row = split(b, pair, SIDE)
        channel, (tiles, pieces, halves) = total(b, scaled(b, chunk, DEEP), row), blocking.apart
        with loop(b, 0, 2) as n:
            k = total(b, channel, scaled(b, n, SIDE))
            some = b.select(b.icmp_signed("<", k, i64(blocking.depth)), i64(1), i64(0))
            plane = at(b, raw, scaled(b, n, planes.channel), word)
            planes.fill(b, ctx, self.source, plane, (part.image, k), (part.images, some), part.row)
        left = [scaled(b, b.sub(i64(blocking.depth), total(b, channel, n)), SIDE) for n in (0, SIDE)]
        masks = [lanes_below(b, x, SIDE) for x in left]
        line = at(b, to, total(b, scaled(b, chunk, blocking.chunk), scaled(b, row, blocking.pitch)), word)
        with loop(b, 0, blocking.line // WIDTH) as t:
            tile = at(b, line, scaled(b, t, tiles), word)
            for half in range(2):
                places = [total(b, scaled(b, t, WIDTH), half * SIDE + n * planes.channel) for n in range(2)]
                read = [masked_load(b, at(b, raw, x, word), word, mask) for x, mask in zip(places, masks)]
                for piece, vector in enumerate(amx.cut(b, read[0], read[1])):
                    store(b, vector, at(b, tile, piece * pieces + half * halves, word), word)

    def _block(self, b: Builder, ctx: ir.Value, task: Task, block: ir.Value, tables: Pair) -> None:
        """The products of one block of target channels."""
        blocking, planes, (offsets, starts) = self.blocking, self.blocking.planes, tables
        pixels = total(b, scaled(b, b.sub(task.part.images, i64(1)), planes.image), planes.band * planes.stencil.pitch)
        tiles, phases = b.udiv(total(b, pixels, WIDTH - 1), i64(WIDTH)), len(planes.offsets)
        every = scaled(b, tiles, phases * blocking.chunks)
        size, number = blocking.chunks * blocking.taps * amx.step(), total(b, task.blocks[0], block)
        weights = at(b, self.temp(b, ctx, 0), scaled(b, number, size), word)
        with loop(b, 0, phases) as phase, loop(b, 0, tiles) as t:
            start, end = (load(b, at(b, starts, total(b, phase, n), i64), i64) for n in (0, 1))
            sums = total(b, scaled(b, phase, WIDTH * blocking.room), scaled(b, t, WIDTH))
            with loop(b, 0, blocking.chunks, blocking.span) as first:
                amx.clear(b)
                with loop(b, first, least(b, i64(blocking.chunks), total(b, first, blocking.span))) as c:
                    step = total(b, scaled(b, total(b, scaled(b, phase, tiles), t), blocking.chunks), c)
                    self._beside(b, ctx, task, total(b, scaled(b, block, every), step), every)
                    if phases == 1 and blocking.chunks * blocking.taps <= FEW:
                        self._approach(b, ctx, task.part, number, t, c)
                    left = at(b, weights, scaled(b, c, blocking.taps * amx.step()), word)
                    right = total(b, scaled(b, c, blocking.chunk), scaled(b, t, blocking.apart[0]))
                    with loop(b, start, end) as tap:
                        place = total(b, right, load(b, at(b, offsets, tap, i64), i64))
                        self._step(b, at(b, left, scaled(b, tap, amx.step()), word), at(b, task.pieces[0], place, word))
                self._finish(b, at(b, task.sums, sums, word), first)

    def _finish(self, b: Builder, sums: ir.Value, chunk: ir.Value) -> None:
        """Sums to memory: what was summed from a chunk on goes where the next phase will be, and is added to what the
        chunks before it gave."""
        room = self.blocking.room
        if self.blocking.span >= self.blocking.chunks:
            amx.finish(b, sums, room)
            return
        more, is_first = at(b, sums, WIDTH * room, word), b.icmp_signed("==", chunk, i64(0))
        amx.finish(b, b.select(is_first, sums, more), room)
        with b.if_then(b.not_(is_first)), loop(b, 0, WIDTH) as r, loop(b, 0, WIDTH, SIDE) as x:
            places = [at(b, start, total(b, scaled(b, r, room), x), word) for start in (sums, more)]
            store(b, b.fadd(*(load(b, place, word, SIDE) for place in places)), places[0], word)

    def _step(self, b: Builder, left: ir.Value, right: ir.Value) -> None:
        """The products of one tap and one chunk."""
        _, pieces, halves = self.blocking.apart
        amx.multiply(b, amx.panel(b, left), lambda piece, half: at(b, right, piece * pieces + half * halves, word),
                     self.blocking.pitch)

    def _beside(self, b: Builder, ctx: ir.Value, task: Task, step: ir.Value, every: ir.Value) -> None:
        """What is done for the tasks after this one beside one of its steps, of which a block has `every`."""
        blocking, plain = self.blocking, self.source.plain
        if not blocking.early or plain is None:
            return
        steps = scaled(b, task.blocks[1], every)
        low, high = (b.udiv(scaled(b, task.coming, total(b, step, n)), steps) for n in (0, 1))
        with loop(b, low, high) as pair:
            self._cut(b, ctx, task.then, pair, task.planes, task.pieces[1])
        lines = blocking.depth * blocking.lines
        few = -(-lines // (blocking.blocks * blocking.chunks * -(-blocking.pixels // WIDTH)))
        corner = task.later.image, i64(0), task.later.row
        start = total(b, *(scaled(b, i, stride) for i, stride in zip(corner, plain.strides)))
        for n in range(few):
            channel, line = split(b, least(b, total(b, scaled(b, step, few), n), i64(lines - 1)), blocking.lines)
            place = total(b, start, scaled(b, channel, plain.strides[1]), scaled(b, line, LINE // size_of(word)))
            prefetch(b, at(b, plain.base(b, ctx), place, word), level=2)

    def _approach(self, b: Builder, ctx: ir.Value, part: Part, block: ir.Value, t: ir.Value, c: ir.Value) -> None:
        """Asks for a share of a tile's destination."""
        planes, rows = self.blocking.planes, -(-WIDTH // self.blocking.chunks)
        for p in (0, SIDE):
            image, q, x = split(b, total(b, scaled(b, t, WIDTH), p), planes.image // planes.stencil.pitch,
                                planes.stencil.pitch)
            pixel = total(b, scaled(b, total(b, part.row, q), planes.stencil.width), x)
            for r in range(rows):
                channel = total(b, scaled(b, block, WIDTH), scaled(b, c, rows), r)
                self.near(b, ctx, (total(b, part.image, image), least(b, channel, i64(self.layer.width - 1)), pixel))

    def _drain(self, b: Builder, ctx: ir.Value, task: Task, block: ir.Value) -> None:
        """Finished sums of a block to their destination, channel by channel."""
        blocking, planes, part = self.blocking, self.blocking.planes, task.part
        start = scaled(b, total(b, task.blocks[0], block), WIDTH)
        with loop(b, 0, least(b, i64(WIDTH), b.sub(i64(self.layer.width), start))) as r:

            def source(fy, fx):
                phase = total(b, scaled(b, fy, planes.stencil.spread[1]), fx)
                return at(b, task.sums, scaled(b, total(b, scaled(b, phase, WIDTH), r), blocking.room), word)

            planes.drain(b, ctx, self.write, source, (part.image, total(b, start, r), part.row), part.images,
                         planes.image, planes.stencil.pitch)
