"""Images copied into flat padded planes in scratch, and taken from there, whatever is fused around them included."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Pair, Ref, Sink, place, read
from stele.backend.contract.conv.stencil import Stencil
from stele.backend.llvm.access import Extent, Operand, Plain, size_of
from stele.backend.llvm.launch import i32
from stele.backend.llvm.nest import integers, round_up, shuffle, splat, zero
from stele.ir.record import Record

BANDS = 2, 3, 4, 6, 8, 12, 16, 28
"""Into how many bands an image may be cut."""


class Planes(Record):
    """`[channel][phase][image][row][pitch]`: a stencil's source for `images` images, `band` target rows of each."""

    stencil: Stencil
    dtype: ir.Type
    lanes: int
    images: int
    band: int

    def __str__(self) -> str:
        return f"{self.images} images of {self.band} rows"

    @property
    def bands(self) -> int:
        """Bands of an image."""
        return -(-self.stencil.rows // self.band)

    def batches(self, batch: Extent) -> Extent:
        """How many times so many images there are in a batch."""
        return -(-batch // self.images) if isinstance(batch, int) else batch

    @property
    def shared(self) -> int:
        """Rows of zeros below an image that are the zeros above the next."""
        stencil = self.stencil
        if self.band < stencil.rows or stencil.phases[0] > 1:
            return 0
        below = stencil.rows + stencil.reach[0] - stencil.low[0] - stencil.source[0]
        return max(0, min(stencil.low[0], stencil.reach[0], below))

    @property
    def image(self) -> int:
        """Elements of one image in one phase."""
        return (self.band + self.stencil.reach[0] - self.shared) * self.stencil.pitch

    @property
    def pixels(self) -> int:
        """Positions of all images, up to the end of the last row."""
        return (self.images - 1) * self.image + self.band * self.stencil.pitch

    @property
    def margin(self) -> int:
        """Zeros after the last image: what is read past its end is finite, and never a neighbour's."""
        return round_up(self.shared * self.stencil.pitch + self.stencil.reach[1] + self.lanes, self.lanes)

    @property
    def phase(self) -> int:
        """Elements of one phase."""
        return round_up(self.images * self.image, self.lanes) + self.margin

    @property
    def channel(self) -> int:
        return len(self.stencil.used) * self.phase

    @property
    def offsets(self) -> tuple[tuple[int, ...], ...]:
        """Where each tap reads, for each target phase."""
        used, pitch = self.stencil.used, self.stencil.pitch
        return tuple(tuple(used.index(tap.phase) * self.phase + tap.shift[0] * pitch + tap.shift[1] for tap in taps)
                     for taps in self.stencil.taps)

    @property
    def taps(self) -> int:
        """Taps of all target phases."""
        return sum(map(len, self.stencil.taps))

    def tables(self, b: Code) -> tuple[Ref, Ref]:
        """By tap of all target phases, where it reads; by phase, its first tap, and how many taps there are behind."""
        starts = [sum(map(len, self.offsets[:f])) for f in range(len(self.offsets) + 1)]
        return b.numbers("offsets", [x for phase in self.offsets for x in phase]), b.numbers("starts", starts)

    def bytes(self, channels: int, overrun: int) -> int:
        """Room for the planes of `channels` channels when readers run `overrun` elements past the last."""
        return round_up((channels * self.channel + overrun + self.image) * size_of(self.dtype), 64)

    def some(self, b: Code, image: Int, end: Callable[[], Int]) -> Int:
        """How many images there are from one on, up to `end`."""
        return b.least(self.images, end() - image) if self.images > 1 else b.int(1)

    def fill(self, b: Code, operand: Operand, to: Ref, first: tuple[Int, Int], counts: Pair, row: Int,
             end: Int | None = None) -> None:
        """Copies `counts` = (images, channels) from `first` = (image, channel) on, target rows from `row` on.

        Source rows from `end` on count as zeros.
        """
        stencil = self.stencil
        height = b.int(stencil.source[0]) if end is None else b.least(stencil.source[0], end)
        with b.loop(0, counts[1]) as c:
            plane = c * self.channel
            if plain := self._stretches(operand):
                with b.loop(0, counts[0]) as n:
                    to_image = to + (plane + n * self.image)
                    self._stretch(b, operand, to_image, (first[0] + n, first[1] + c, row), height)
            for start, count in stencil.phase_rows if plain is None else ():
                with b.loop(0, counts[0]) as n, b.loop(0, self.image // stencil.pitch) as r, b.loop(0, count) as f:
                    h = (row + r) * stencil.phases[0] + f + (start - stencil.low[0])
                    inside = b.icmp_unsigned("<", h.value, height.value)
                    width = b.either(inside, stencil.source[1], 0)
                    line = plane + f * (stencil.phases[1] * self.phase) + n * self.image + r * stencil.pitch
                    self._row(b, operand, to, (first[0] + n, first[1] + c, h), width, line, start)
            with b.loop(0, len(stencil.used)) as phase, b.loop(0, self.margin, self.lanes) as m:
                past = plane + phase * self.phase + b.int(counts[0]) * self.image + m
                (to + past).store(zero(self.dtype, self.lanes))

    @property
    def reads(self) -> int:
        """Vectors of the source that give a vector of each column phase, without those that lie behind its end."""
        stencil, step = self.stencil, self.stencil.phases[1]
        if stencil.pitch > self.lanes:
            return step
        return max(1, min(step, -(-min(stencil.pitch * step, stencil.low[1] + stencil.source[1]) // self.lanes)))

    def fill_cost(self, operand: Operand) -> float:
        """An estimate of what filling one channel takes, in units of one vector multiplication."""
        if self._stretches(operand) is not None:
            return self.images * (16 + 5.0 * self.image / self.lanes)
        stencil = self.stencil
        rows, vectors = self.images * self.image // stencil.pitch, -(-stencil.pitch // self.lanes)
        each = 4 + 6 * vectors
        if stencil.phases[1] > 2:
            each = 4 + vectors * (2 + 4 * self.reads / stencil.phases[1])
        return len(stencil.used) * rows * each

    def _stretches(self, operand: Operand) -> Plain | None:
        """The operand's memory if rows lie there as they will lie here, end to end."""
        stencil, plain = self.stencil, operand.plain
        alike = stencil.phases == (1, 1) and stencil.low == (0, 0) and stencil.reach[0] == 0 \
            and stencil.pitch == stencil.source[1]
        return plain if alike and plain is not None and plain.strides[2:] == (stencil.pitch, 1) else None

    def _stretch(self, b: Code, operand: Operand, to: Ref, index: tuple[Int, Int, Int], height: Int) -> None:
        """All rows of one image and channel at once; rows from `height` on are zeros."""
        lanes, pitch = self.lanes, self.stencil.pitch
        source = place(b, operand, index, self.dtype)
        count = b.least(self.band, height - index[2]) * pitch
        whole = count & -lanes
        with b.loop(0, whole, lanes) as x:
            vector = (source + x).load(lanes)
            (to + x).store(vector)
        with b.loop(whole, self.image, lanes) as x:
            vector = (source + x).load(lanes, b.below(count - x, lanes))
            (to + x).store(vector)

    def _row(self, b: Code, operand: Operand, to: Ref, index: tuple[Int, Int, Int], width: Int, line: Int, fy: int
             ) -> None:
        """One row of the source to every column phase."""
        stencil, lanes, step = self.stencil, self.lanes, self.stencil.phases[1]
        with b.loop(0, stencil.pitch, lanes) as x:
            vectors = [zero(self.dtype, lanes)] * step
            for j in range(self.reads):
                w = x * step + (j * lanes - stencil.low[1])
                vectors[j] = read(b, operand, (*index, w), 3, lanes, within(b, w, width, lanes))
            for number, phase in enumerate(stencil.used):
                if phase[0] == fy:
                    picked = regroup(b, vectors, lambda l, fx=phase[1]: divmod(l * step + fx, lanes))
                    (to + (line + x + number * self.phase)).store(picked)

    def compact(self, b: Code, source: Ref, to: Ref, counts: Pair, room: int) -> None:
        """Copies what each tap reads to `[channel][tap][room]`, target rows end to end, for (images, channels).

        A vector past the last is finite.
        """
        lanes, width, (offsets, _) = self.lanes, self.stencil.width, self.tables(b)
        with b.loop(0, counts[1]) as c, b.loop(0, self.taps) as t:
            plane = source + (c * self.channel + (offsets + t).number())
            line = to + (c * self.taps + t) * room
            (line + b.int(counts[0]) * self.band * width).store(zero(self.dtype, lanes))
            with b.loop(0, counts[0]) as n, b.loop(0, self.band) as q, b.loop(0, width, lanes) as x:
                seen = plane + (n * self.image + q * self.stencil.pitch + x)
                (line + ((n * self.band + q) * width + x)).store(seen.load(lanes))

    def drain(self, b: Code, sink: Sink, source: Callable[[Number], Ref], first: tuple[Int, Int, Int], images: Int,
              image: int, pitch: int) -> None:
        """Writes one channel of the target, `first` = (image, channel, phase row) on.

        Target phase `f` lies at `source(f)`, images `image` and rows `pitch` elements apart.
        """
        stencil, lanes = self.stencil, self.lanes
        (ty, tx), (height, width) = stencil.spread, stencil.target
        with b.loop(0, images) as n, b.loop(0, self.band) as q, b.loop(0, ty) as fy:
            h = (first[2] + q) * ty + fy
            with b.if_then(h < height):
                line = n * image + q * pitch
                with b.loop(0, stencil.width, lanes) as x:
                    vectors = [(source(fy * tx + fx) + (line + x)).load(lanes) for fx in range(tx)]
                    for j in range(tx if stencil.width > lanes else -(-width // lanes)):
                        w = x * tx + j * lanes
                        picked = regroup(b, vectors, lambda l, j=j: ((j * lanes + l) % tx, (j * lanes + l) // tx))
                        mask = None if width % (lanes * tx) == 0 else within(b, w, b.int(width), lanes)
                        sink.put(b, (first[0] + n, first[1], h * width + w), 2, mask, picked)


def cuts(stencil: Stencil, dtype: ir.Type, lanes: int, images: Iterable[int], bands: Iterable[int]) -> list[Planes]:
    """What a task may take of a source: so many whole images, or one of so many bands of rows of one image."""
    shapes = [(n, stencil.rows) for n in images] + [(1, -(-stencil.rows // n)) for n in bands if n <= stencil.rows]
    return [Planes(stencil, dtype, lanes, *shape) for shape in dict.fromkeys(shapes)]


def several(batch: Extent, *counts: int) -> list[int]:
    """How many images of a batch a task may take, of some counts."""
    return [n for n in counts if n == 1 or batch != 1]


def regroup(b: Code, vectors: Sequence[ir.Value], pick: Callable[[int], tuple[int, int]]) -> ir.Value:
    """The vector whose lane `l` is lane `k` of vector `v`, where `(v, k) = pick(l)`."""
    if len(vectors) == 1:
        return vectors[0]
    lanes = vectors[0].type.count
    picks = [pick(l) for l in range(lanes)]
    if all(isinstance(vector, ir.Constant) for vector in vectors[1:]):
        picks = [(min(v, 1), k) for v, k in picks]
        vectors = vectors[:2]
    lane = [k + lanes * v if v < 2 else l for l, (v, k) in enumerate(picks)]
    result = shuffle(b, vectors[0], vectors[1], lane)
    for number in range(2, len(vectors)):
        lane = [lanes + k if v == number else l for l, (v, k) in enumerate(picks)]
        result = shuffle(b, result, vectors[number], lane)
    return result


def within(b: Code, start: Int, end: Int, lanes: int) -> ir.Value:
    """The mask of the lanes `l` with `0 <= start + l < end`."""
    position = b.add(splat(b, b.trunc(start.value, i32), lanes), integers(i32, tuple(range(lanes))))
    return b.icmp_unsigned("<", position, splat(b, b.trunc(end.value, i32), lanes))
