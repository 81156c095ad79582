"""Images copied into flat padded planes in scratch, and taken from there, whatever is fused around them included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from stele.backend.llvm.access import Builder, Index, Operand, Pair, Plain, Write, i64, size_of
from stele.backend.llvm.nest import (
    at,
    integers,
    lanes_below,
    least,
    load,
    loop,
    round_up,
    scaled,
    shuffle,
    splat,
    store,
    total,
    zero,
)
from stele.backend.llvm.pack import masked_load
from stele.backend.llvm.stencil import Stencil


@dataclass(frozen=True)
class Planes:
    """`[channel][phase][image][row][pitch]`: a stencil's source for `images` images, `band` target rows of each."""

    stencil: Stencil
    dtype: ir.Type
    lanes: int
    images: int
    band: int

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

    def bytes(self, channels: int, overrun: int) -> int:
        """Room for the planes of `channels` channels when readers run `overrun` elements past the last."""
        return round_up((channels * self.channel + overrun + self.image) * size_of(self.dtype), 64)

    def fill(self, b: Builder, ctx: ir.Value, operand: Operand, to: ir.Value, first: Pair, counts: Pair,
             row: ir.Value, end: ir.Value | None = None) -> None:
        """Copies `counts` = (images, channels) from `first` = (image, channel) on, target rows from `row` on.

        Source rows from `end` on count as zeros.
        """
        stencil, dtype, lanes = self.stencil, self.dtype, self.lanes
        height = i64(stencil.source[0]) if end is None else least(b, i64(stencil.source[0]), end)
        with loop(b, 0, counts[1]) as c:
            plane = scaled(b, c, self.channel)
            plain = self._stretches(operand)
            if plain is not None:
                with loop(b, 0, counts[0]) as n:
                    place = at(b, to, total(b, plane, scaled(b, n, self.image)), dtype)
                    self._stretch(b, ctx, plain, place, (b.add(first[0], n), b.add(first[1], c), row), height)
            for start, count in stencil.phase_rows if plain is None else ():
                with loop(b, 0, counts[0]) as n, loop(b, 0, self.image // stencil.pitch) as r, loop(b, 0, count) as f:
                    h = total(b, scaled(b, b.add(row, r), stencil.phases[0]), f, start - stencil.low[0])
                    inside = b.icmp_unsigned("<", h, height)
                    width = b.select(inside, i64(stencil.source[1]), i64(0))
                    line = total(b, plane, scaled(b, f, stencil.phases[1] * self.phase), scaled(b, n, self.image),
                                 scaled(b, r, stencil.pitch))
                    self._row(b, ctx, operand, to, (b.add(first[0], n), b.add(first[1], c), h), width, line, start)
            with loop(b, 0, len(stencil.used)) as phase, loop(b, 0, self.margin, lanes) as m:
                past = total(b, plane, scaled(b, phase, self.phase), scaled(b, counts[0], self.image), m)
                store(b, zero(dtype, lanes), at(b, to, past, dtype), dtype)

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

    def _stretch(self, b: Builder, ctx: ir.Value, plain: Plain, to: ir.Value, index: Index,
                 height: ir.Value) -> None:
        """All rows of one image and channel at once; rows from `height` on are zeros."""
        dtype, lanes, pitch = self.dtype, self.lanes, self.stencil.pitch
        offset = total(b, *(scaled(b, i, stride) for i, stride in zip(index, plain.strides)))
        source = at(b, plain.base(b, ctx), offset, dtype)
        count = scaled(b, least(b, i64(self.band), b.sub(height, index[2])), pitch)
        whole = b.and_(count, i64(-lanes))
        with loop(b, 0, whole, lanes) as x:
            store(b, load(b, at(b, source, x, dtype), dtype, lanes), at(b, to, x, dtype), dtype)
        with loop(b, whole, i64(self.image), lanes) as x:
            vector = masked_load(b, at(b, source, x, dtype), dtype, lanes_below(b, b.sub(count, x), lanes))
            store(b, vector, at(b, to, x, dtype), dtype)

    def _row(self, b: Builder, ctx: ir.Value, operand: Operand, to: ir.Value, index: Index, width: ir.Value,
             line: ir.Value, fy: int) -> None:
        """One row of the source to every column phase."""
        stencil, lanes, step = self.stencil, self.lanes, self.stencil.phases[1]
        with loop(b, 0, stencil.pitch, lanes) as x:
            vectors = [zero(self.dtype, lanes)] * step
            for j in range(self.reads):
                w = total(b, scaled(b, x, step), j * lanes - stencil.low[1])
                vectors[j] = operand.read(b, ctx, (*index, w), 3, lanes, within(b, w, width, lanes))
            for number, phase in enumerate(stencil.used):
                if phase[0] == fy:
                    picked = regroup(b, vectors, lambda l, fx=phase[1]: divmod(l * step + fx, lanes))
                    store(b, picked, at(b, to, total(b, line, number * self.phase, x), self.dtype), self.dtype)

    def compact(self, b: Builder, source: ir.Value, to: ir.Value, offsets: ir.Value, counts: Pair, room: int) -> None:
        """Copies what each tap reads to `[channel][tap][room]`, target rows end to end, for (images, channels).

        A vector past the last is finite.
        """
        dtype, lanes, width = self.dtype, self.lanes, self.stencil.width
        taps = sum(map(len, self.stencil.taps))
        with loop(b, 0, counts[1]) as c, loop(b, 0, taps) as t:
            offset = load(b, at(b, offsets, t, i64), i64)
            plane = at(b, source, total(b, scaled(b, c, self.channel), offset), dtype)
            line = at(b, to, scaled(b, total(b, scaled(b, c, taps), t), room), dtype)
            past = scaled(b, scaled(b, counts[0], self.band), width)
            store(b, zero(dtype, lanes), at(b, line, past, dtype), dtype)
            with loop(b, 0, counts[0]) as n, loop(b, 0, self.band) as q, loop(b, 0, width, lanes) as x:
                seen = at(b, plane, total(b, scaled(b, n, self.image), scaled(b, q, self.stencil.pitch), x), dtype)
                place = at(b, line, total(b, scaled(b, total(b, scaled(b, n, self.band), q), width), x), dtype)
                store(b, load(b, seen, dtype, lanes), place, dtype)

    def drain(self, b: Builder, ctx: ir.Value, write: Write, source: Callable[[ir.Value, int], ir.Value],
              first: tuple[ir.Value, ir.Value, ir.Value], images: ir.Value, image: int, pitch: int) -> None:
        """Writes one channel of the target, `first` = (image, channel, phase row) on.

        It lies at `source(row phase, column phase)`, images `image` and rows `pitch` elements apart.
        """
        stencil, dtype, lanes = self.stencil, self.dtype, self.lanes
        (ty, tx), (height, width) = stencil.spread, stencil.target
        with loop(b, 0, images) as n, loop(b, 0, self.band) as q, loop(b, 0, ty) as fy:
            h = total(b, scaled(b, b.add(first[2], q), ty), fy)
            with b.if_then(b.icmp_signed("<", h, i64(height))):
                line = total(b, scaled(b, n, image), scaled(b, q, pitch))
                with loop(b, 0, stencil.width, lanes) as x:
                    vectors = [load(b, at(b, source(fy, fx), b.add(line, x), dtype), dtype, lanes) for fx in range(tx)]
                    for j in range(tx if stencil.width > lanes else -(-width // lanes)):
                        w = total(b, scaled(b, x, tx), j * lanes)
                        picked = regroup(b, vectors, lambda l, j=j: ((j * lanes + l) % tx, (j * lanes + l) // tx))
                        mask = None if width % (lanes * tx) == 0 else within(b, w, i64(width), lanes)
                        write(b, ctx, (b.add(first[0], n), first[1], total(b, scaled(b, h, width), w)), 2, lanes, mask,
                              picked)


def regroup(b: Builder, vectors: Sequence[ir.Value], pick: Callable[[int], tuple[int, int]]) -> ir.Value:
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


def within(b: Builder, start: ir.Value, end: ir.Value, lanes: int) -> ir.Value:
    """The mask of the lanes `l` with `0 <= start + l < end`."""
    i32 = ir.IntType(32)
    position = b.add(splat(b, b.trunc(start, i32), lanes), integers(i32, tuple(range(lanes))))
    return b.icmp_unsigned("<", position, splat(b, b.trunc(end, i32), lanes))
