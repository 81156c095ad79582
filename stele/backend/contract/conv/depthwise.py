"""Convolutions of single channels: rows of the source are read where they lie, and met by all taps in registers.

A step makes some target rows of one vector of columns. For each column of the kernel the rows that its taps read are
loaded once, at its offset; what lies beside the image is masked off, which only steps at its edges have to care about.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Ref, Sink, Site, Vectors, memory, place, read
from stele.backend.contract.conv.layer import Layer
from stele.backend.contract.conv.planes import regroup, within
from stele.backend.contract.conv.stencil import Pair, Stencil, Tap
from stele.backend.contract.tile import idle
from stele.backend.llvm.access import Count, Operand, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.nest import multiply_add, round_up, splat, zero
from stele.ir.record import Record
from stele.kernel.machine import Machine

MOST, ROWS = 128, (1, 2, 4)
"""Elements of a kernel at most: each is written out for every row of a step; and rows of a step: more
are a little faster, and their code is much longer."""
STORE, STEP = 2.0, 8.0
"""What a vector that is written, and a step, cost, in vector multiplications."""
EDGE = {True: 1.3, False: 2.2}
"""How much more a step costs that masks what it reads, where masks have registers of their own and where not."""


@dataclass(frozen=True)
class Steps:
    """A stencil made so many rows of each target phase at a time."""

    stencil: Stencil
    rows: int

    @cached_property
    def columns(self) -> dict[int, list[tuple[int, Tap]]]:
        """The taps, each with its target phase, by the shift of their columns; those of one phase behind each other."""
        every = [(f, tap) for f, taps in enumerate(self.stencil.taps) for tap in taps]
        shifts = dict.fromkeys(tap.shift[1] for _, tap in every)
        return {n: sorted((e for e in every if e[1].shift[1] == n), key=lambda e: e[1].phase[1]) for n in shifts}

    def row(self, tap: Tap, t: int = 0) -> int:
        """Which source row a tap reads for row t of a step, from that of its first row on."""
        return (t + tap.shift[0]) * self.stencil.phases[0] + tap.phase[0] - self.stencil.low[0]

    @cached_property
    def heights(self) -> list[int]:
        """Source rows that the taps of one shift read, for each shift."""
        return [len({self.row(tap, t) for _, tap in taps for t in range(self.rows)}) for taps in self.columns.values()]

    @property
    def sums(self) -> int:
        return self.rows * len(self.stencil.taps)

    @property
    def taps(self) -> int:
        return sum(map(len, self.stencil.taps))

    @property
    def reach(self) -> tuple[Pair, Pair]:
        """The first and the last source row that a step reads, and so its columns, from those of its first on."""
        rows = [self.row(tap, t) for taps in self.stencil.taps for tap in taps for t in (0, self.rows - 1)]
        columns = [n * self.stencil.phases[1] - self.stencil.low[1] for n in self.columns]
        return (min(rows), max(rows)), (min(columns), max(columns))

    def inner(self, lanes: int) -> int:
        """How many steps of an image lie within it, with all that they read."""
        reads, (down, across), (ty, tx) = self.reach, self.stencil.phases, self.stencil.spread
        (height, width), (tall, wide) = self.stencil.source, self.stencil.target
        ends = (height - reads[0][1] - 1) // down, (width - reads[1][1]) // across - lanes
        last = min(ends[0], tall // ty - self.rows), min(ends[1], wide // tx - lanes)
        first = -(reads[0][0] // down), -(reads[1][0] // across)
        rows, columns = (max(0, b // n + 1 - max(0, -(-a // n))) for a, b, n in zip(first, last, (self.rows, lanes)))
        return rows * columns

    def cost(self, machine: Machine) -> float:
        """What a step of one source channel costs, in vector multiplications."""
        each = 1.0 if self.stencil.phases[1] == 1 else 3.0
        loads = machine.pace * (sum(self.heights) * each + self.taps * (not self.has_weights(machine)))
        products = self.taps * self.rows * (1.0 if machine.fma else 2.0)
        return max(products, loads) + 0.5 * min(products, loads)

    def has_weights(self, machine: Machine) -> bool:
        """Whether the weights stay in registers."""
        return self.sums + max(self.heights) + self.taps < machine.registers

    def fits(self, machine: Machine) -> bool:
        """Whether sums and rows stay in registers."""
        return self.sums + max(self.heights) * self.stencil.phases[1] + 1 < machine.registers


@dataclass(frozen=True)
class Source:
    """Planes read where they lie: `source(b, plane, top, column, end)(row, phase)` is a vector of a row `row` below
    `top`, of every column of a phase from `column` on; 0 from column `end` on and beside the image, if there is an end.
    """

    site: Site
    stencil: Stencil
    operand: Operand
    dtype: ir.Type
    lanes: int

    def __call__(self, b: Code, plane: Ref, top: Int, column: Int, end: int | None) -> Callable[[int, int], ir.Value]:
        assert self.operand.plain is not None
        lanes, pitch = self.lanes, self.operand.plain.strides[2]
        height, step = self.stencil.source[0], self.stencil.phases[1]
        masks = [None if end is None else within(b, column + j * lanes, b.int(end), lanes) for j in range(step)]

        @cache
        def parts(row: int) -> Vectors:
            line = plane + ((top + row) * pitch + column)
            if end is not None:
                inside = b.icmp_unsigned("<", (top + row).value, b.int(height).value)
                line = Ref(b, b.select(inside, line.address, self._nothing), line.dtype)
            return [(line + j * lanes).load(lanes, mask) for j, mask in enumerate(masks)]

        @cache
        def picked(row: int, phase: int) -> ir.Value:
            return regroup(b, parts(row), lambda l: divmod(l * step + phase, lanes))

        return picked

    @cached_property
    def _nothing(self) -> ir.Value:
        """Zeros, which stand for rows above and below an image."""
        kind = ir.ArrayType(self.dtype, self.lanes * self.stencil.phases[1])
        made = ir.GlobalVariable(self.site.module, kind, f"{self.site.name}.nothing")
        made.linkage, made.global_constant = "internal", True
        made.initializer = ir.Constant(kind, None)
        return made


class Schedule(Record):
    """A task makes `band` rows of each target phase of some channels of an image."""

    steps: Steps
    channels: int
    band: int

    def __str__(self) -> str:
        return f"{self.steps.rows} rows at once, {self.channels} channels of {self.band} rows"

    @property
    def bands(self) -> int:
        return -(-self.steps.stencil.rows // self.band)


def fits(layer: Layer, source: Operand) -> bool:
    """Whether a layer can be made so: sums of few channels, each read as it lies in memory."""
    stencil, plain = layer.stencil, source.plain
    few = layer.depth == 1 or (layer.width == 1 and layer.depth <= 8)
    return few and plain is not None and plain.strides[3] == 1 and max(stencil.phases + stencil.spread) <= 2 \
        and 0 < sum(map(len, stencil.taps)) <= MOST


def schedule(machine: Machine, layer: Layer) -> tuple[float, Schedule]:
    """The cheapest schedule, by estimate, with its price per image and group in vector multiplications."""
    stencil, lanes = layer.stencil, machine.lanes(size_of(layer.dtype))
    blocks = -(-stencil.width // lanes)
    found: list[tuple[float, Schedule]] = []
    for rows in ROWS:
        steps = Steps(stencil, rows)
        if rows > 1 and not steps.fits(machine):
            continue
        row = stencil.width * len(stencil.taps)
        band = round_up(max(1, min(stencil.rows, machine.grain // row)), rows)
        channels = max(1, min(layer.groups * layer.width, machine.grain // (band * row)))
        cut = Schedule(steps, channels, band)
        step = layer.depth * steps.cost(machine) + STORE * steps.sums + STEP
        late = idle(cut.bands * layer.groups, layer.width, 1, layer.batch)
        inner, every = steps.inner(lanes), blocks * -(-stencil.rows // rows)
        found.append((late * layer.width * step * (inner + (every - inner) * EDGE[machine.squeezes]), cut))
    return machine.choices.choose(f"depthwise {layer}", found)


def convolve(site: Site, layer: Layer, cut: Schedule, source: Operand, weight: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernel of a convolution in one direction."""
    return [_Depthwise(site, layer, cut, source, weight, sink).kernel()], []


@dataclass(frozen=True)
class _Depthwise:
    """The kernel; scratch holds the weights of a target channel, where they are not read where they lie."""

    site: Site
    layer: Layer
    schedule: Schedule
    source: Operand
    weight: Operand
    sink: Sink

    @cached_property
    def lanes(self) -> int:
        return self.site.machine.lanes(size_of(self.layer.dtype))

    def kernel(self) -> Launch:
        layer, cut, stencil = self.layer, self.schedule, self.layer.stencil
        every = layer.groups * layer.width
        blocks = -(-every // cut.channels)
        size = 0 if self.weight.plain else memory(layer.depth * layer.taps, layer.dtype)
        with self.site.kernel() as (b, scratch, task, _):
            room = scratch.room(size, layer.dtype)
            image, block, band = b.split(task, blocks, cut.bands)
            first, top = block * cut.channels, band * cut.band
            with b.loop(first, b.least(every, first + cut.channels)) as channel:
                weights = self._weights(b, channel, room)
                end = b.least(stencil.rows, top + cut.band)
                with b.loop(top, end, cut.steps.rows) as y, b.loop(0, stencil.width, self.lanes) as x, \
                        b.if_else(self._is_inside(b, y, x)) as (inside, beside):
                    for way, is_edge in ((inside, False), (beside, True)):
                        with way:
                            self._step(b, (image, channel, y, x), weights, is_edge)
        return self.site.launch("", Count(blocks * cut.bands, ((layer.batch, 1),)), scratch)

    def _weights(self, b: Code, channel: Int, scratch: Ref) -> Callable[[Number, Pair], ir.Value]:
        """`weights(s, (ky, kx))`: an element for source channel s of the group in all lanes."""
        layer, (tall, wide) = self.layer, self.layer.kernel
        group, inner = channel // layer.width, channel % layer.width

        def pair(s: Number) -> tuple[Int, Number]:
            return (group * layer.depth + s, inner) if layer.transposed else (channel, s)

        plain = self.weight.plain
        if plain is None:
            with b.loop(0, layer.depth) as s, b.loop(0, tall) as y, b.loop(0, wide) as x:
                (scratch + ((s * tall + y) * wide + x)).store(read(b, self.weight, (*pair(s), y, x), None, 1, None))

        def element(s: Number, at: Pair) -> ir.Value:
            if plain is None:
                found = scratch + (b.int(s) * (tall * wide) + (at[0] * wide + at[1]))
            else:
                found = place(b, self.weight, (*pair(s), *at), layer.dtype)
            return splat(b, found.load(), self.lanes)

        if layer.depth > 1 or not self.schedule.steps.has_weights(self.site.machine):
            return element
        held = {at: element(0, at) for at in product(range(tall), range(wide))}
        return lambda s, at: held[at]

    def _is_inside(self, b: Code, y: Int, x: Int) -> ir.Value:
        """Whether all that a step reads and writes lies within the images."""
        stencil, steps, lanes = self.layer.stencil, self.schedule.steps, self.lanes
        (down, across), (height, width) = stencil.phases, stencil.source
        (top, bottom), (left, right) = steps.reach
        bounds = (y * down + top >= 0, y * down + bottom < height,
                  (y + steps.rows) * stencil.spread[0] < stencil.target[0] + 1,
                  x * across + left >= 0, x * across + (right + lanes * across) < width + 1,
                  (x + lanes) * stencil.spread[1] < stencil.target[1] + 1)
        holds = bounds[0]
        for bound in bounds[1:]:
            holds = b.and_(holds, bound)
        return holds

    @cached_property
    def _source(self) -> Source:
        return Source(self.site, self.layer.stencil, self.source, self.layer.dtype, self.lanes)

    def _step(self, b: Code, at: tuple[Int, Int, Int, Int], weights: Callable[[Number, Pair], ir.Value], is_edge: bool
              ) -> None:
        """Some rows of a vector of columns of a target channel."""
        layer, sums = self.layer, self.schedule.steps.sums
        acc = [zero(layer.dtype, self.lanes)] * sums
        if layer.depth == 1:
            acc = self._channel(b, at, 0, weights, acc, is_edge)
        else:
            acc = b.fold(layer.depth, acc, lambda s, acc: self._channel(b, at, s, weights, acc, is_edge))
        self._store(b, at, acc, is_edge)

    def _channel(self, b: Code, at: tuple[Int, Int, Int, Int], s: Number, weights: Callable[[Number, Pair], ir.Value],
                 acc: Vectors, is_edge: bool) -> Vectors:
        """What one source channel adds to the sums `[target phase][row]`."""
        layer, steps, (image, channel, y, x) = self.layer, self.schedule.steps, at
        acc, (down, across) = [*acc], layer.stencil.phases
        plane = place(b, self.source, (image, channel // layer.width * layer.depth + s), layer.dtype)
        for shift, taps in steps.columns.items():
            column = (x + shift) * across - layer.stencil.low[1]
            lines = self._source(b, plane, y * down, column, layer.stencil.source[1] if is_edge else None)
            for f, tap in taps:
                w = weights(s, tap.kernel)
                for t in range(steps.rows):
                    seen = lines(steps.row(tap, t), tap.phase[1])
                    k = f * steps.rows + t
                    acc[k] = multiply_add(b, self.site.machine.fma, w, seen, acc[k])
        return acc

    def _store(self, b: Code, at: tuple[Int, Int, Int, Int], acc: Vectors, is_edge: bool) -> None:
        """The sums to their destination: columns of all phases side by side."""
        stencil, rows, lanes, (image, channel, y, x) = self.layer.stencil, self.schedule.steps.rows, self.lanes, at
        (ty, tx), (height, width) = stencil.spread, stencil.target
        for t, fy in product(range(rows), range(ty)):
            h = (y + t) * ty + fy
            vectors = [acc[(fy * tx + fx) * rows + t] for fx in range(tx)]
            for j in range(tx):
                w = x * tx + j * lanes
                picked = regroup(b, vectors, lambda l, j=j: ((j * lanes + l) % tx, (j * lanes + l) // tx))
                mask = None
                if is_edge and (height % (rows * ty) or width % (lanes * tx)):
                    mask = within(b, w, b.either(h < height, width, 0), lanes)
                self.sink.put(b, (image, channel, h * width + w), 2, mask, picked)
