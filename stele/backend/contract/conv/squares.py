"""Patches of images on their way to the points of Winograd's convolution, and results on their way back. The patches of
all images lie end to end, in lanes, whatever the sizes are, which may be known at a call only."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from stele.backend.contract.code import Code, Int, Number, Ref, Sink, memory, raw, read
from stele.backend.contract.conv.layer import Small
from stele.backend.contract.conv.planes import regroup, within
from stele.backend.contract.conv.points import Map, square
from stele.backend.llvm.access import Count, Extent, Length, Operand
from stele.backend.llvm.launch import i1
from stele.backend.llvm.nest import zero
from stele.ir.record import Record
from stele.ir.sizes import Dim


class Stretch(Record):
    """Patches of one row that a vector holds: `done` before them, `some` from `column` on."""

    done: Int
    some: Int
    image: Int
    row: Int
    column: Int


class Squares(Record):
    """Patches of the images of a layer, row behind row, of which a task takes `most`: each reads `read x read` elements
    of the source and makes `side x side` of the target. One channel is laid at a time, as `[row][column][patch]`.
    """

    layer: Small
    side: int
    read: int
    lanes: int
    most: int

    @property
    def grid(self) -> tuple[Extent, Extent]:
        """Rows of patches of an image, and patches of a row."""
        down, across = (self._over(Count(1, ((n, self.side),)), lambda b, n=n: b.blocks(b.extent(n), self.side))
                        for n in self.layer.target)
        return down, across

    @property
    def each(self) -> int | None:
        """Patches of an image, where that is known."""
        down, across = self.grid
        return down * across if isinstance(down, int) and isinstance(across, int) else None

    @property
    def all(self) -> Extent:
        """Patches of all images."""
        sizes = self.layer.batch, *self.grid
        count = Count(1, tuple((n, 1) for n in sizes))
        return self._over(count, lambda b: b.extent(sizes[0]) * b.extent(sizes[1]) * b.extent(sizes[2]))

    @property
    def known(self) -> int | None:
        """How many those are, where that is known."""
        batch = self.layer.batch
        return batch * self.each if self.each is not None and isinstance(batch, int) else None

    @staticmethod
    def _over(size: Dim, emit: Callable[[Code], Int]) -> Extent:
        return size if isinstance(size, int) else Length(size, lambda b, ctx: raw(emit(b)))  # type: ignore[arg-type]

    @property
    def widest(self) -> int:
        """Patches of a stretch, at most."""
        across = self.grid[1]
        return min(self.lanes, across) if isinstance(across, int) else self.lanes

    @property
    def reads(self) -> int:
        """Vectors of a row that a stretch reads."""
        return -(-((self.widest - 1) * self.side + self.read) // self.lanes)

    @property
    def along(self) -> int:
        """Elements from one of a patch to the next: stores overrun the last patch by less than a vector."""
        return self.most + self.lanes

    @property
    def bytes(self) -> int:
        return memory(self.read ** 2 * self.along, self.layer.dtype)

    @property
    def is_even(self) -> bool:
        """Whether all stretches are known to be as wide as the widest."""
        across = self.grid[1]
        return isinstance(across, int) and across % self.widest == self.most % self.widest == 0

    @property
    def written(self) -> tuple[int, int]:
        """Vectors of a row that a stretch writes, and how many of them are known to lie in the image as a whole."""
        reach, width = self.widest * self.side, self.layer.target[1]
        is_full = self.is_even and isinstance(width, int) and width % self.side == 0
        return -(-reach // self.lanes), reach // self.lanes if is_full else 0

    @property
    def stretched(self) -> float:
        """Stretches of a task, about."""
        return self.most / self.widest + (not self.is_even)

    def cost(self, points: int) -> float:
        """An estimate of what a channel takes on its way to the points, in units of one vector multiplication."""
        row = self.reads * 3 + self.read * (2 + 1.5 * (min(self.reads, self.side) - 1))
        return self.stretched * self.side * row + -(-self.most // self.lanes) * (points * 6 + self.read ** 2 * 3)

    def stretches(self, b: Code, first: Int, count: Int, body: Callable[[Stretch], None]) -> None:
        """So many patches from the first on, as stretches."""
        down, across = (b.extent(n) for n in self.grid)

        def step(now: list[Int]) -> list[Int]:
            done, image, row, column = now
            some = b.least(b.least(count - done, across - column), self.lanes)
            body(Stretch(done, some, image, row, column))
            is_end = (column + some).equals(across)
            below = b.either(is_end, row + 1, row)
            is_last = below.equals(down)
            return [done + some, b.either(is_last, image + 1, image), b.either(is_last, 0, below),
                    b.either(is_end, 0, column + some)]

        b.carry([b.int(0), *b.split(first, down, across)], lambda now: now[0] < count, step)

    def lay(self, b: Code, operand: Operand, channel: Int, first: Int, count: Int, to: Ref) -> None:
        """A channel of some patches. The first rows of a patch are the last ones of that above."""
        height, width = (b.extent(n) for n in self.layer.source)
        across, shared, line = b.extent(self.grid[1]), self.read - self.side, self.read * self.along

        def lay(here: Stretch) -> None:
            is_below = b.and_(here.done >= across, here.row > 0) if shared else i1(0)
            with b.if_then(is_below), b.loop(0, shared) as y, b.loop(0, self.read) as x:
                place = to + (y * line + x * self.along + here.done)
                place.store((place + (self.side * line - across)).load(self.lanes))
            with b.loop(b.either(is_below, shared, 0), self.read) as y:
                h = here.row * self.side + y - self.layer.low[0]
                end = b.either(b.icmp_unsigned("<", h.value, height.value), width, 0)
                starts = [here.column * self.side + (j * self.lanes - self.layer.low[1]) for j in range(self.reads)]
                vectors = [read(b, operand, (here.image, channel, h, start), 3, self.lanes,
                                within(b, start, end, self.lanes)) for start in starts]
                vectors += [zero(self.layer.dtype, self.lanes)] * (self.side + 1 - self.reads)
                for x in range(self.read):
                    place = to + (y * line + (here.done + x * self.along))
                    place.store(regroup(b, vectors, lambda l, x=x: divmod(l * self.side + x, self.lanes)))

        self.stretches(b, first, count, lay)

    def bring(self, b: Code, operand: Operand, channel: Int, first: Int, count: Int, room: Ref, apply: Map, points: int,
              to: Ref, pitch: int) -> None:
        """A channel of some patches, laid in a room, to the points, which lie `pitch` elements apart."""
        self.lay(b, operand, channel, first, count, room)
        with b.loop(0, count, self.lanes) as p:
            square(apply, b, self.read, lambda y, x: (room + (p + (y * self.read + x) * self.along)).load(self.lanes),
                   lambda y, x, value: (to + (p + (y * points + x) * pitch)).store(value))

    def drain(self, b: Code, sink: Sink, source: Callable[[Number], Ref], channel: Int, first: Int, count: Int) -> None:
        """Writes a channel of the target, whose phase `f` lies at `source(f)`, patch behind patch. Rows that are known
        are written one behind the other."""
        side, lanes, (height, width) = self.side, self.lanes, (b.extent(n) for n in self.layer.target)
        written, whole = self.written

        def put(here: Stretch) -> None:
            start, end = here.column * side, b.least((here.column + here.some) * side, width)
            with b.loop(0, b.least(side, height - here.row * side)) as y:
                vectors = [(source(y * side + x) + here.done).load(lanes) for x in range(side)]
                h = here.row * side + y
                for j in range(written):
                    w = start + j * lanes
                    mask = None if j < whole else within(b, w, end, lanes)
                    with nullcontext() if mask is None else b.if_then(w < end):
                        picked = regroup(b, vectors, lambda l, j=j: ((j * lanes + l) % side, (j * lanes + l) // side))
                        place = (h * width + w,) if self.each is not None else (h, w)
                        sink.put(b, (here.image, channel, *place), 1 + len(place), mask, picked)

        self.stretches(b, first, count, put)
