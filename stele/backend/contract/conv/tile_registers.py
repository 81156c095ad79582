"""Convolutions of float32 in tile registers (AMX): weights times planes of the source, both cut into pieces."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract import amx
from stele.backend.contract.amx import DEEP, PIECES, PRICE, SIDE, TILE, WIDTH, word
from stele.backend.contract.code import Code, Int, Number, Ref, Sink, Site
from stele.backend.contract.conv import pointwise
from stele.backend.contract.conv.layer import Layer, Weights
from stele.backend.contract.conv.planes import Planes, cuts, several
from stele.backend.contract.conv.stencil import Tap
from stele.backend.contract.conv.task import Task, Tasks
from stele.backend.contract.tile import Tile, shares
from stele.backend.llvm.access import Builder, Count, Index, Operand, Plain, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import round_up
from stele.kernel.choice import MANY
from stele.kernel.machine import LINE, Machine

STEP = amx.step()
"""Elements of a panel of one chunk of channels."""
FEW = 8
"""Steps of a tile up to which its destination is asked for: where there are more, the machine sees by itself."""
DRAIN, PIECE = 16.0, 20.0
"""What a row of a tile of sums costs that goes to its destination, and a vector that is cut into pieces."""
SPAN = 24
"""Steps whose products are summed together, one by one."""
SHIFT, BESIDE = 120.0, 120.0
"""What a step costs more that reads rows that lie apart, and one beside which the next source is cut."""
FAR, MEMORY, STREAM = 20.0, 50.0, 3.0
"""What a cache line costs: of a source that was not asked for before it is cut, of weights once a call, and of weights
that are read again from the third-level cache."""
HELD, CROWDED, EVICTED = 70.0, 600.0, 1500.0
"""What a step costs more for as much as the second-level cache holds, where that holds no more than half of what a
task keeps, and where that of two tasks, and a third one's source, are to stay there."""


@dataclass(frozen=True)
class Schedule:
    """A task makes `blocks` blocks of target channels for a band of rows of some images. `early` if its source is cut
    into pieces while the task before it multiplies.

    Pieces lie as `[chunk of source channels][piece][pair][channel plane]`, sums as `[target phase][channel][room]`.
    """

    planes: Planes
    depth: int
    blocks: int
    early: bool

    def __str__(self) -> str:
        return f"{self.planes} of {self.planes.stencil.source}, {self.blocks} blocks{', early' if self.early else ''}"

    @property
    def chunks(self) -> int:
        """Steps of source channels."""
        return -(-self.depth // DEEP)

    @property
    def pairs(self) -> int:
        """Pairs of source channels."""
        return self.chunks * SIDE

    @property
    def is_dense(self) -> bool:
        """Whether tiles read what lies in planes as it lies, so that pieces may lie in panels."""
        return {offset for phase in self.planes.offsets for offset in phase} <= {0}

    @cached_property
    def line(self) -> int:
        """Elements of a channel that are cut."""
        return round_up(self.planes.pixels if self.is_dense else self.planes.channel, WIDTH)

    @property
    def pitch(self) -> int:
        """Elements from one pair to the next: of planes an odd number of cache lines, so that pairs do not push each
        other out."""
        return SIDE if self.is_dense else self.line + SIDE

    @property
    def apart(self) -> tuple[int, int, int]:
        """Elements from one tile of positions, piece and half of a tile to the next."""
        return (STEP, 2 * TILE, TILE) if self.is_dense else (WIDTH, SIDE * self.pitch, SIDE)

    @property
    def chunk(self) -> int:
        """Elements of the pieces of a chunk."""
        return PIECES * SIDE * (self.line if self.is_dense else self.pitch)

    @property
    def room(self) -> int:
        """Elements of one row of sums."""
        return round_up(self.planes.pixels, WIDTH) + SIDE

    @cached_property
    def taps(self) -> int:
        """Taps of all target phases."""
        return sum(map(len, self.planes.stencil.taps))

    @property
    def span(self) -> int:
        """Chunks that are summed together: the sums of all are sums of a few such sums, which rounds less."""
        return max(1, SPAN // max(1, *map(len, self.planes.stencil.taps)))

    @property
    def lines(self) -> int:
        """Cache lines of a channel that lies densely."""
        return -(-self.planes.pixels * size_of(word) // LINE)

    @property
    def rooms(self) -> tuple[int, int, int]:
        """Bytes of scratch for two planes of the source, sums, and the pieces of one task."""
        planes, sums = self.planes, len(self.planes.stencil.taps) + (self.span < self.chunks)
        return (planes.bytes(2, WIDTH), round_up(sums * WIDTH * self.room * size_of(word), LINE),
                round_up((self.chunks * self.chunk + planes.image + 2 * WIDTH) * size_of(word), LINE))


def fits(machine: Machine, layer: Layer, precision: Precision) -> bool:
    """Whether a layer can be computed so."""
    return machine.amx and precision == "fast" and isinstance(layer.dtype, ir.FloatType) and layer.groups == 1


def schedule(machine: Machine, layer: Layer, source: Operand) -> tuple[float, Schedule]:
    """The cheapest schedule, by estimate, with its price per image in vector multiplications."""
    blocks, flat = -(-layer.width // WIDTH), _is_flat(layer, source)
    candidates = [_candidate(machine, layer, source, planes, each, early) for planes in _shapes(layer, flat)
                  for each in dict.fromkeys(-(-blocks // parts) for parts in shares(layer.batch))
                  for early in ((False, True) if flat and planes.images == 1 else (False,))]
    return machine.choices.choose(f"tiles {layer}", candidates)


def _shapes(layer: Layer, flat: bool) -> list[Planes]:
    """What a task may make: several images, or a band of rows; of dense images of single pixels any part of one."""
    stencil, images = layer.stencil, several(layer.batch, 1, 2, 3, 4, 5, 8)
    if flat:
        pixels = prod(stencil.target)
        cut = {n: replace(stencil, source=(n, pixels // n), target=(n, pixels // n))
               for n in range(1, 65) if pixels % n == 0 and (n == 1 or pixels >= n * WIDTH)}
        shapes = [(cut[1], n, 1) for n in images] + [(cut[n], 1, 1) for n in cut if n > 1]
        return [Planes(some, word, SIDE, *shape) for some, *shape in shapes]
    return cuts(stencil, word, SIDE, images, range(2, 29))


def _is_flat(layer: Layer, source: Operand) -> bool:
    """Whether the images of a layer of single pixels lie as they are read, end to end."""
    return layer.stencil.phases == (1, 1) and pointwise.fits(layer, source)


def _candidate(machine: Machine, layer: Layer, source: Operand, planes: Planes, each: int, early: bool
               ) -> tuple[float, Schedule]:
    """One schedule with its price per image."""
    stencil, blocks = planes.stencil, -(-layer.width // WIDTH)
    found, tiles = Schedule(planes, layer.depth, each, early), -(-planes.pixels // WIDTH)
    tasks = Tasks(layer, planes, blocks, each)
    many = layer.batch if isinstance(layer.batch, int) else MANY
    panel = found.chunks * found.taps * STEP * size_of(word)
    held, step = panel + sum(found.rooms), PRICE[PIECES] + (0.0 if found.is_dense else SHIFT)
    cutting = layer.depth * planes.fill_cost(source) + found.pairs * found.line // SIDE * PIECE
    missed = cutting + (layer.depth * found.lines * FAR if _is_flat(layer, source) else 0.0)
    if early:
        held += found.rooms[2] + layer.depth * found.lines * LINE
        step += BESIDE + EVICTED * _within(2 * held / machine.l2 - 1)
        cutting = cutting / 2 + missed * min(0.5, 1 / (planes.bands * tasks.parts * many))
    else:
        step, cutting = step + CROWDED * _within(2 * held / machine.l2 - 1.5), missed
    step += HELD * held / machine.l2
    cost = blocks * tiles * (found.chunks * found.taps * step + len(stencil.taps) * WIDTH * DRAIN)
    cost += tasks.parts * cutting + (blocks * panel / LINE * STREAM if blocks * panel > machine.l2 // 2 else 0.0)
    cost = tasks.price(cost)
    return max(cost, blocks * panel / LINE * MEMORY / many), found


def _within(x: float) -> float:
    """The number from 0 to 1 that is nearest to x."""
    return min(1.0, max(0.0, x))


def convolve(site: Site, layer: Layer, cut: Schedule, source: Operand, weight: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer: `source` (n, depth, h, w), `sink` (n, width, h' * w')."""
    stencil = cut.planes.stencil
    if source.plain is not None and stencil.source != layer.stencil.source:
        strides = (*source.plain.strides[:2], stencil.source[1], 1)
        source = replace(source, plain=Plain(source.plain.base, strides))
    pack, packed = _pack(site, layer, weight, [tap for phase in stencil.taps for tap in phase])
    tasks = Tasks(layer, cut.planes, -(-layer.width // WIDTH), cut.blocks)
    return [pack, _Convolution(site, layer, cut, tasks, source, sink).multiply()], [packed]


def _pack(site: Site, layer: Layer, weight: Operand, taps: list[Tap]) -> tuple[Launch, Temp]:
    """Weights as panels `[block][chunk][tap]` of pieces; a task is one block."""
    weights = Weights(layer, weight, Tile(Machine(), word, *amx.SHAPE))
    numbers = site.table("pack.taps", [tap.kernel[0] * layer.kernel[1] + tap.kernel[1] for tap in taps])
    chunks, size = -(-layer.depth // DEEP), -(-layer.depth // DEEP) * len(taps) * STEP
    with site.kernel(".pack") as (b, scratch, block, _):
        rows, to = scratch.bytes(weights.buffer).of(word), site.room(b, 0, word) + block * size
        weights.pack(b, b.int(0), block * WIDTH, rows, scratch)
        with b.loop(0, chunks) as c, b.loop(0, len(taps)) as t:
            number = (b.numbers(numbers) + t).number()

            def element(_: Builder, ctx: ir.Value, index: Index, lane_axis: int | None, lanes: int,
                        mask: ir.Value | None, number: Int = number) -> ir.Value:
                x, k = (Int(b, i) for i in index)
                row = (k * layer.taps + number) * WIDTH
                return (rows + (row + x)).load(lanes, mask)

            start, here = c * DEEP, c * len(taps) + t
            deep = start, b.least(layer.depth, start + DEEP)
            amx.pack(b, Operand(element, 0), 0, lambda x, k: (x, k), to + here * STEP, (b.int(0), b.int(WIDTH)), deep,
                     "left")
    held = weights.buffer + weights.size * size_of(word)
    return Launch(f"{site.name}.pack", Count(weights.blocks), held, packs=(1, 0)), \
        Temp(Count(weights.blocks * size * size_of(word)))


@dataclass(frozen=True)
class Work:
    """A task as it runs: what it makes, what the next ones do, and how many pairs of channels are cut for the next; its
    blocks (first, how many); where it keeps two planes, pieces of its source and of the next, and sums of a block.
    """

    task: Task
    then: Task
    later: Task
    coming: Int
    blocks: tuple[Int, Int]
    planes: Ref
    pieces: tuple[Ref, Ref]
    sums: Ref


@dataclass(frozen=True)
class _Convolution:
    """The products. If sources are cut early, pairs of channels are cut beside steps of the task before, while the
    source of the task behind is on its way from memory.
    """

    site: Site
    layer: Layer
    schedule: Schedule
    tasks: Tasks
    source: Operand
    sink: Sink

    def multiply(self) -> Launch:
        """The products of all tasks; consecutive ones share a source, if it is not cut early."""
        cut, offsets = self.schedule, self.schedule.planes.offsets
        tables = (self.site.table("offsets", [x for phase in offsets for x in phase]),
                  self.site.table("starts", [sum(map(len, offsets[:f])) for f in range(len(offsets) + 1)]))
        with self.site.kernel() as (b, scratch, number, first):
            work = self._work(b, scratch, number)
            is_new = first if cut.early else b.or_(first, work.task.part.equals(0))
            with b.if_then(is_new), b.loop(0, cut.pairs) as pair:
                self._cut(b, work.task, pair, work.planes, work.pieces[0])
            amx.begin(b)
            with b.loop(0, work.blocks[1]) as block:
                self._block(b, work, block, *map(b.numbers, tables))
                self._drain(b, work, block)
            amx.end(b)
        return Launch(self.site.name, self.tasks.count, sum(cut.rooms) + cut.early * cut.rooms[2])

    def _work(self, b: Code, scratch: Ref, number: Int) -> Work:
        """A task by its number. Where sources are cut early, that of the next task is another one."""
        cut, (planes, sums, each) = self.schedule, self.schedule.rooms
        now, then, later = (self.tasks.at(b, number + k, parts_first=cut.early) for k in range(3))
        odd = number & int(cut.early)
        pieces = scratch.bytes(planes + sums)
        here, there = (pieces.bytes(half * each).of(word) for half in (odd, odd ^ 1))
        is_last = (number + 1).equals(Int(b, b.function.args[3]))
        begin, end = self.tasks.own(b, now)
        return Work(now, then, later, b.either(is_last, 0, cut.pairs), (begin, end - begin), scratch.of(word),
                    (here, there), scratch.bytes(planes).of(word))

    def _cut(self, b: Code, task: Task, pair: Int, raw: Ref, to: Ref) -> None:
        """The pieces of one pair of source channels."""
        cut, planes, (tiles, pieces, halves) = self.schedule, self.schedule.planes, self.schedule.apart
        chunk, row = b.split(pair, SIDE)
        channel = chunk * DEEP + row
        with b.loop(0, 2) as n:
            k = channel + n * SIDE
            some = b.either(k < cut.depth, 1, 0)
            planes.fill(b, self.source, raw + n * planes.channel, (task.image, k), (task.images, some), task.row)
        left = [(cut.depth - (channel + n)) * SIDE for n in (0, SIDE)]
        masks = [b.below(x, SIDE) for x in left]
        line = to + (chunk * cut.chunk + row * cut.pitch)
        with b.loop(0, cut.line // WIDTH) as t:
            tile = line + t * tiles
            for half in range(2):
                places = [t * WIDTH + (half * SIDE + n * planes.channel) for n in range(2)]
                both = [(raw + place).load(SIDE, mask) for place, mask in zip(places, masks)]
                for piece, vector in enumerate(amx.cut(b, both[0], both[1])):
                    (tile + (piece * pieces + half * halves)).store(vector)

    def _block(self, b: Code, work: Work, block: Int, offsets: Ref, starts: Ref) -> None:
        """The products of one block of target channels."""
        cut, planes, phases = self.schedule, self.schedule.planes, len(self.schedule.planes.offsets)
        pixels = (work.task.images - 1) * planes.image + planes.band * planes.stencil.pitch
        tiles = (pixels + (WIDTH - 1)) // WIDTH
        every = tiles * (phases * cut.chunks)
        number = work.blocks[0] + block
        weights = self.site.room(b, 0, word) + number * (cut.chunks * cut.taps * STEP)
        with b.loop(0, phases) as phase, b.loop(0, tiles) as t:
            start, end = ((starts + (phase + n)).number() for n in (0, 1))
            sums = phase * (WIDTH * cut.room) + t * WIDTH
            with b.loop(0, cut.chunks, cut.span) as first:
                amx.clear(b)
                with b.loop(first, b.least(cut.chunks, first + cut.span)) as c:
                    step = (phase * tiles + t) * cut.chunks + c
                    self._beside(b, work, block * every + step, every)
                    if phases == 1 and cut.chunks * cut.taps <= FEW:
                        self._approach(b, work.task, number, t, c)
                    left, right = weights + c * (cut.taps * STEP), c * cut.chunk + t * cut.apart[0]
                    with b.loop(start, end) as tap:
                        place = right + (offsets + tap).number()
                        self._step(b, left + tap * STEP, work.pieces[0] + place)
                self._finish(b, work.sums + sums, first)

    def _finish(self, b: Code, sums: Ref, chunk: Int) -> None:
        """Sums to memory: what was summed from a chunk on goes where the next phase will be, and is added to what the
        chunks before it gave."""
        room = self.schedule.room
        if self.schedule.span >= self.schedule.chunks:
            amx.finish(b, sums, room)
            return
        more, is_first = sums + WIDTH * room, chunk.equals(0)
        amx.finish(b, replace(sums, address=b.select(is_first, sums.address, more.address)), room)
        with b.if_then(b.not_(is_first)), b.loop(0, WIDTH) as r, b.loop(0, WIDTH, SIDE) as x:
            places = [start + (r * room + x) for start in (sums, more)]
            places[0].store(b.fadd(*(place.load(SIDE) for place in places)))

    def _step(self, b: Code, left: Ref, right: Ref) -> None:
        """The products of one tap and one chunk."""
        _, pieces, halves = self.schedule.apart
        amx.multiply(b, amx.panel(left), lambda piece, half: right + (piece * pieces + half * halves),
                     self.schedule.pitch)

    def _beside(self, b: Code, work: Work, step: Int, every: Int) -> None:
        """What is done for the tasks after this one beside one of its steps, of which a block has `every`."""
        cut, plain = self.schedule, self.source.plain
        if not cut.early or plain is None:
            return
        steps = work.blocks[1] * every
        low, high = (work.coming * (step + n) // steps for n in (0, 1))
        with b.loop(low, high) as pair:
            self._cut(b, work.then, pair, work.planes, work.pieces[1])
        lines = cut.depth * cut.lines
        few = -(-lines // (cut.blocks * cut.chunks * -(-cut.planes.pixels // WIDTH)))
        corner = work.later.image, b.int(0), work.later.row
        start = sum(i * stride for i, stride in zip(corner, plain.strides))
        for n in range(few):
            channel, line = b.split(b.least(step * few + n, lines - 1), cut.lines)
            place: Number = start + channel * plain.strides[1] + line * (LINE // size_of(word))
            (Ref(b, plain.base(b, b.ctx), word) + place).prefetch(level=2)

    def _approach(self, b: Code, task: Task, block: Int, t: Int, c: Int) -> None:
        """Asks for a share of a tile's destination."""
        planes, rows = self.schedule.planes, -(-WIDTH // self.schedule.chunks)
        pitch = planes.stencil.pitch
        for p in (0, SIDE):
            image, q, x = b.split(t * WIDTH + p, planes.image // pitch, pitch)
            pixel = (task.row + q) * planes.stencil.width + x
            for r in range(rows):
                channel = b.least(block * WIDTH + c * rows + r, self.layer.width - 1)
                self.sink.near(b, (task.image + image, channel, pixel))

    def _drain(self, b: Code, work: Work, block: Int) -> None:
        """Finished sums of a block to their destination, channel by channel."""
        cut, planes, task = self.schedule, self.schedule.planes, work.task
        start = (work.blocks[0] + block) * WIDTH
        with b.loop(0, b.least(WIDTH, self.layer.width - start)) as r:
            planes.drain(b, self.sink, lambda phase: work.sums + (phase * WIDTH + r) * cut.room,
                         (task.image, start + r, task.row), task.images, planes.image, planes.stencil.pitch)
