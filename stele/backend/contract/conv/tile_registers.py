"""Convolutions of float32 in tile registers (AMX): weights times planes of the source, both cut into pieces."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract import amx
from stele.backend.contract.amx import DEEP, PIECES, PRICE, SIDE, TILE, WIDTH, word
from stele.backend.contract.code import Code, Int, Number, Ref, memory
from stele.backend.contract.conv import pointwise
from stele.backend.contract.conv.engine import Banded, Span, Work
from stele.backend.contract.conv.layer import Layer
from stele.backend.contract.conv.planes import Planes, cuts, several
from stele.backend.contract.tile import Tile, shares
from stele.backend.llvm.access import Builder, Index, Operand, size_of
from stele.backend.llvm.nest import round_up
from stele.kernel.choice import MANY
from stele.kernel.machine import LINE, Machine

STEP = amx.step()
"""Elements of a panel of one chunk of channels."""
FEW = 8
"""Steps of a tile up to which its destination is asked for: where there are more, the machine sees by itself."""
DRAIN, PIECE = 34.0, 80.0
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
class Tiles(Banded):
    """Products of pieces, which lie as `[chunk of source channels][piece][pair][channel plane]`; `early` if a source is
    cut into pieces while the task before multiplies, and the one behind is on its way from memory.
    """

    early: bool

    def __str__(self) -> str:
        return f"{self.planes} of {self.planes.stencil.source}, {self.blocks} blocks{', early' if self.early else ''}"

    @property
    def is_early(self) -> bool:
        return self.early

    @property
    def chunks(self) -> int:
        """Steps of source channels."""
        return -(-self.layer.depth // DEEP)

    @property
    def is_dense(self) -> bool:
        """Whether tiles read what lies in planes as it lies, so that pieces may lie in panels."""
        return {offset for phase in self.planes.offsets for offset in phase} <= {0}

    @cached_property
    def line(self) -> int:
        """Elements of a channel that are cut."""
        return round_up(self.planes.pixels if self.is_dense else self.planes.channel, WIDTH)

    @property
    def between(self) -> int:
        """Elements from one pair to the next: of planes an odd number of cache lines, so that pairs do not push each
        other out."""
        return SIDE if self.is_dense else self.line + SIDE

    @property
    def apart(self) -> tuple[int, int, int]:
        """Elements from one tile of positions, piece and half of a tile to the next."""
        return (STEP, 2 * TILE, TILE) if self.is_dense else (WIDTH, SIDE * self.between, SIDE)

    @property
    def chunk(self) -> int:
        """Elements of the pieces of a chunk."""
        return PIECES * SIDE * (self.line if self.is_dense else self.between)

    @property
    def span(self) -> int:
        """Chunks that are summed together: the sums of all are sums of a few such sums, which rounds less."""
        return max(1, SPAN // max(1, *map(len, self.planes.stencil.taps)))

    @property
    def lines(self) -> int:
        """Cache lines of a channel that lies densely."""
        return -(-self.planes.pixels * size_of(word) // LINE)

    @property
    def units(self) -> int:
        """Pairs of source channels."""
        return self.chunks * SIDE

    @property
    def held(self) -> tuple[int, ...]:
        return memory(self.chunks * self.chunk + self.planes.image + 2 * WIDTH, word),

    @property
    def spare(self) -> tuple[int, ...]:
        """Of two planes of the source."""
        return self.planes.bytes(2, WIDTH),

    @property
    def sums(self) -> int:
        return (len(self.planes.stencil.taps) + (self.span < self.chunks)) * WIDTH * self.room

    @property
    def packed(self) -> int:
        return self.chunks * self.planes.taps * STEP

    turned = 1

    def turn(self, b: Code, rows: Ref, to: Ref) -> None:
        """Weights as panels `[chunk][tap]` of pieces."""
        layer, taps = self.layer, [tap.kernel for phase in self.layer.stencil.taps for tap in phase]
        numbers = b.numbers("taps", [y * layer.kernel[1] + x for y, x in taps])
        with b.loop(0, self.chunks) as c, b.loop(0, len(taps)) as t:
            number = (numbers + t).number()

            def element(_: Builder, ctx: ir.Value, index: Index, lane_axis: int | None, lanes: int,
                        mask: ir.Value | None) -> ir.Value:
                x, k = (Int(b, i) for i in index)
                return (rows + ((k * layer.taps + number) * WIDTH + x)).load(lanes, mask)

            start, here = c * DEEP, c * len(taps) + t
            deep = start, b.least(layer.depth, start + DEEP)
            amx.pack(b, Operand(element, 0), 0, lambda x, k: (x, k), to + here * STEP, (b.int(0), b.int(WIDTH)), deep,
                     "left")

    def fill(self, w: Work, units: Span) -> None:
        """The pieces of pairs of source channels."""
        b, planes, task, raw, depth = w.b, self.planes, w.task, w.rooms[0], self.layer.depth
        source, (tiles, pieces, halves) = self._flat(w.source), self.apart
        with b.loop(*units) as pair:
            chunk, row = b.split(pair, SIDE)
            channel = chunk * DEEP + row
            with b.loop(0, 2) as n:
                k = channel + n * SIDE
                counts = task.images, b.either(k < depth, 1, 0)
                planes.fill(b, source, raw + n * planes.channel, (task.image, k), counts, task.row)
            masks = [b.below((depth - (channel + n)) * SIDE, SIDE) for n in (0, SIDE)]
            line = w.held[0] + (chunk * self.chunk + row * self.between)
            with b.loop(0, self.line // WIDTH) as t:
                tile = line + t * tiles
                for half in range(2):
                    places = [t * WIDTH + (half * SIDE + n * planes.channel) for n in range(2)]
                    both = [(raw + place).load(SIDE, mask) for place, mask in zip(places, masks)]
                    for piece, vector in enumerate(amx.cut(b, both[0], both[1])):
                        (tile + (piece * pieces + half * halves)).store(vector)

    def _flat(self, source: Operand) -> Operand:
        """The source, in rows as planes have them."""
        plain, width = source.plain, self.planes.stencil.source[1]
        if plain is None or width == self.layer.stencil.source[1]:
            return source
        return replace(source, plain=replace(plain, strides=(*plain.strides[:2], width, 1)))

    def multiply(self, w: Work, block: Int, left: Ref, sums: Ref, units: Span) -> None:
        b, phases, chunks = w.b, len(self.planes.offsets), self.chunks
        tiles, (offsets, starts) = (self.positions(w) + (WIDTH - 1)) // WIDTH, self.planes.tables(b)
        every = tiles * (phases * chunks)
        with b.loop(0, phases) as phase, b.loop(0, tiles) as t:
            start, end = ((starts + (phase + n)).number() for n in (0, 1))
            place = sums + (phase * (WIDTH * self.room) + t * WIDTH)
            with b.loop(0, chunks, self.span) as first:
                amx.clear(b)
                with b.loop(first, b.least(chunks, first + self.span)) as c:
                    step = (phase * tiles + t) * chunks + c
                    self._beside(w, (block - w.blocks[0]) * every + step, every)
                    if phases == 1 and chunks * self.planes.taps <= FEW:
                        self._approach(w, block, t, c)
                    row, column = left + c * (self.planes.taps * STEP), c * self.chunk + t * self.apart[0]
                    with b.loop(start, end) as tap:
                        self._step(b, row + tap * STEP, w.held[0] + (column + (offsets + tap).number()))
                self._finish(b, place, first)

    def _step(self, b: Code, left: Ref, right: Ref) -> None:
        """The products of one tap and one chunk."""
        _, pieces, halves = self.apart
        amx.multiply(b, amx.panel(left), lambda piece, half: right + (piece * pieces + half * halves), self.between)

    def _finish(self, b: Code, sums: Ref, chunk: Int) -> None:
        """Sums to memory: what was summed from a chunk on goes where the next phase will be, and is added to what the
        chunks before it gave."""
        if self.span >= self.chunks:
            amx.finish(b, sums, self.room)
            return
        more, is_first = sums + WIDTH * self.room, chunk.equals(0)
        amx.finish(b, replace(sums, address=b.select(is_first, sums.address, more.address)), self.room)
        with b.if_then(b.not_(is_first)), b.loop(0, WIDTH) as r, b.loop(0, WIDTH, SIDE) as x:
            places = [start + (r * self.room + x) for start in (sums, more)]
            places[0].store(b.fadd(*(place.load(SIDE) for place in places)))

    def _beside(self, w: Work, step: Int, every: Int) -> None:
        """What is done for the tasks after this one beside one of its steps, of which a block has `every`."""
        b, plain = w.b, w.source.plain
        if w.then is None or plain is None:
            return
        steps = (w.blocks[1] - w.blocks[0]) * every
        low, high = (w.coming * (step + n) // steps for n in (0, 1))
        self.fill(w.then, (low, high))
        lines = self.layer.depth * self.lines
        few = -(-lines // (self.blocks * self.chunks * -(-self.planes.pixels // WIDTH)))
        corner = w.then.after.image, b.int(0), w.then.after.row
        start = sum(i * stride for i, stride in zip(corner, plain.strides))
        for n in range(few):
            channel, line = b.split(b.least(step * few + n, lines - 1), self.lines)
            place: Number = start + channel * plain.strides[1] + line * (LINE // size_of(word))
            (Ref(b, plain.base(b, b.ctx), word) + place).prefetch(level=2)

    def _approach(self, w: Work, block: Int, t: Int, c: Int) -> None:
        """Asks for a share of a tile's destination."""
        b, planes, rows = w.b, self.planes, -(-WIDTH // self.chunks)
        pitch = planes.stencil.pitch
        for p in (0, SIDE):
            image, q, x = b.split(t * WIDTH + p, planes.image // pitch, pitch)
            pixel = (w.task.row + q) * planes.stencil.width + x
            for r in range(rows):
                channel = b.least(block * WIDTH + c * rows + r, self.layer.width - 1)
                w.sink.near(b, (w.task.image + image, channel, pixel))


def fits(machine: Machine, layer: Layer, precision: Precision) -> bool:
    """Whether a layer can be computed so."""
    return machine.amx and precision == "fast" and isinstance(layer.dtype, ir.FloatType) and layer.groups == 1


def schedule(machine: Machine, layer: Layer, source: Operand) -> tuple[float, Tiles]:
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
        rows = [n for n in range(2, 65) if pixels % n == 0 and pixels >= n * WIDTH]
        shapes = [(1, n) for n in images] + [(n, 1) for n in rows]
        return [Planes(stencil.flat(n), word, SIDE, images, 1) for n, images in shapes]
    return cuts(stencil, word, SIDE, images, range(2, 29))


def _is_flat(layer: Layer, source: Operand) -> bool:
    """Whether the images of a layer of single pixels lie as they are read, end to end."""
    return layer.stencil.phases == (1, 1) and pointwise.fits(layer, source)


def _candidate(machine: Machine, layer: Layer, source: Operand, planes: Planes, each: int, early: bool
               ) -> tuple[float, Tiles]:
    """One schedule with its price per image."""
    stencil, blocks = planes.stencil, -(-layer.width // WIDTH)
    tile = Tile(machine, layer.dtype, *amx.SHAPE, pieces=PIECES)
    found, tiles = Tiles(layer, tile, each, planes, early), -(-planes.pixels // WIDTH)
    many = layer.batch if isinstance(layer.batch, int) else MANY
    panel = found.chunks * planes.taps * STEP * size_of(word)
    held, step = panel + found.bytes, PRICE[PIECES] + (0.0 if found.is_dense else SHIFT)
    cutting = layer.depth * planes.fill_cost(source) + found.units * found.line // SIDE * PIECE
    missed = cutting + (layer.depth * found.lines * FAR if _is_flat(layer, source) else 0.0)
    if early:
        held += sum(found.held) + layer.depth * found.lines * LINE
        step += BESIDE + EVICTED * _within(2 * held / machine.l2 - 1)
        cutting = cutting / 2 + missed * min(0.5, 1 / (planes.bands * found.parts * many))
    else:
        step, cutting = step + CROWDED * _within(2 * held / machine.l2 - 1.5), missed
    step += HELD * held / machine.l2
    cost = blocks * tiles * (found.chunks * planes.taps * step + len(stencil.taps) * WIDTH * DRAIN)
    cost += found.parts * cutting + (blocks * panel / LINE * STREAM if blocks * panel > machine.l2 // 2 else 0.0)
    return max(found.price(cost), blocks * panel / LINE * MEMORY / many), found


def _within(x: float) -> float:
    """The number from 0 to 1 that is nearest to x."""
    return min(1.0, max(0.0, x))
