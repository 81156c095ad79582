"""The kernels of a layer, whatever its algorithm: weights packed, sources laid into rooms, products of both drained."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from stele.backend.contract.code import Code, Int, Number, Ref, Scratch, Sink, Site, memory
from stele.backend.contract.conv.layer import Channels, Layer, Weights
from stele.backend.contract.conv.planes import Planes
from stele.backend.contract.tile import Tile, idle
from stele.backend.llvm.access import Count, Operand, Temp, size_of
from stele.backend.llvm.launch import Launch, i1, i8
from stele.backend.llvm.nest import round_up
from stele.ir.record import Record
from stele.ir.sizes import Dim

Span = tuple[Int, Int]


class Task(Record):
    """Some images from one on, target rows from one on, and which part of the target channels of which group. Where
    patches of all images lie end to end, some of those take the place of images.
    """

    image: Int
    images: Int
    row: Int
    group: Int
    part: Int


class Work(Record):
    """A task as it is written, and the one `after` it: its blocks, from the first to before the second, the rooms that
    hold its source, and others. Where sources are laid early, `then` is the work of the next task, whose source is laid
    meanwhile, `coming` units of it.
    """

    b: Code
    source: Operand
    sink: Sink
    task: Task
    after: Task
    blocks: Span
    held: list[Ref]
    rooms: list[Ref]
    then: Work | None = None
    coming: Number = 0


@dataclass(frozen=True)
class Schedule(ABC):
    """How an algorithm cuts a layer: a task makes `blocks` blocks of `tile.rows` target channels of a group, for a part
    of a source.
    """

    layer: Channels
    tile: Tile
    blocks: int

    @property
    def all(self) -> int:
        """Blocks of a group."""
        return -(-self.layer.width // self.tile.rows)

    @property
    def parts(self) -> int:
        """Parts of the target channels: tasks that need the same source."""
        return -(-self.all // self.blocks)

    @property
    @abstractmethod
    def tasks(self) -> Dim:
        """How many tasks there are."""

    @abstractmethod
    def task(self, b: Code, number: Int) -> Task:
        """A task by its number."""

    # The source

    @property
    def units(self) -> int:
        """What a source is laid in: its channels."""
        return self.layer.depth

    @property
    def at_once(self) -> int:
        """Units that are laid, and multiplied, at once."""
        return self.units

    @property
    def is_early(self) -> bool:
        """Whether a source is laid while the task before it multiplies."""
        return False

    @property
    @abstractmethod
    def held(self) -> tuple[int, ...]:
        """Bytes of the rooms that hold a source."""

    @property
    def spare(self) -> tuple[int, ...]:
        """Bytes of other rooms."""
        return ()

    @property
    def bytes(self) -> int:
        """Bytes of the rooms of a task, which multiplies whole depths."""
        return sum(self.held) + sum(self.spare) + memory(self.sums, self.layer.dtype)

    @abstractmethod
    def fill(self, w: Work, units: Span) -> None:
        """Lays units of the source into its rooms, from the first to before the second."""

    # Weights

    @property
    def packed(self) -> int:
        """Elements of the packed weights of a block."""
        return self.layer.packed(self.tile)

    turned = 0
    """Parts of the target channels whose weights are packed, then turned into something else."""

    def turn(self, b: Code, rows: Ref, to: Ref) -> None:
        """Makes a block's packed weights of the rows of all parts."""
        raise AssertionError(self)

    # Products

    @property
    @abstractmethod
    def sums(self) -> int:
        """Elements of the sums of a block."""

    @abstractmethod
    def multiply(self, w: Work, block: Int, left: Ref, sums: Ref, units: Span) -> None:
        """The products of a block's weights with some units of the source."""

    def drain(self, w: Work, block: Int, sums: Ref) -> None:
        """Finished sums of a block to their destination, row by row."""
        b, task, width = w.b, w.task, self.layer.width
        start = block * self.tile.rows
        with b.loop(0, b.least(self.tile.rows, width - start)) as r:
            self.put(w, task.group * width + start + r, self.finished(w, sums, r))

    @abstractmethod
    def finished(self, w: Work, sums: Ref, r: Int) -> Callable[[Number], Ref]:
        """Where each target phase of row r of a block lies."""

    @abstractmethod
    def put(self, w: Work, channel: Int, source: Callable[[Number], Ref]) -> None:
        """Writes a channel of the target, whose phase `f` lies at `source(f)`."""


@dataclass(frozen=True)
class Banded(Schedule):
    """Tasks take what `planes` hold of a source: a band of rows of some images."""

    layer: Layer
    planes: Planes

    @property
    def tasks(self) -> Dim:
        return Count(self.layer.groups * self.planes.bands * self.parts, ((self.layer.batch, self.planes.images),))

    def task(self, b: Code, number: Int) -> Task:
        """The next ones make other parts of the same rows."""
        layer, planes = self.layer, self.planes
        step, group, band, part = b.split(number, layer.groups, planes.bands, self.parts)
        image, row = step * planes.images, band * planes.band
        return Task(image, planes.some(b, image, lambda: b.extent(layer.batch)), row, group, part)

    def price(self, cost: float) -> float:
        """The price of an image, of that of a task's images and rows for all blocks: threads that wait included."""
        planes = self.planes
        late = idle(planes.bands * self.layer.groups, self.all, self.blocks, planes.batches(self.layer.batch))
        return cost * (late * planes.bands / planes.images)

    @property
    def image(self) -> int:
        """Elements between images in a row of sums."""
        return self.planes.image

    @property
    def pitch(self) -> int:
        """Elements between the target's rows in a row of sums."""
        return self.planes.stencil.pitch

    @property
    def pixels(self) -> int:
        """Positions in a row of sums, up to the end of the target's last row."""
        return (self.planes.images - 1) * self.image + self.planes.band * self.pitch

    @property
    def room(self) -> int:
        """Elements of a row of sums; copying may overrun it by a vector."""
        return round_up(self.pixels, self.tile.columns) + self.tile.lanes

    @property
    def sums(self) -> int:
        return len(self.planes.stencil.taps) * self.tile.rows * self.room

    def positions(self, w: Work) -> Int:
        """Those of the images that there are."""
        return (w.task.images - 1) * self.image + self.planes.band * self.pitch

    def finished(self, w: Work, sums: Ref, r: Int) -> Callable[[Number], Ref]:
        return lambda phase: sums + (phase * self.tile.rows + r) * self.room

    def put(self, w: Work, channel: Int, source: Callable[[Number], Ref]) -> None:
        first = w.task.image, channel, w.task.row
        self.planes.drain(w.b, w.sink, source, first, w.task.images, self.image, self.pitch)


def convolve(site: Site, cut: Schedule, source: Operand, weight: Operand, sink: Sink
             ) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of a layer: `source` (n, depth, h, w), `sink` (n, width, h' * w')."""
    layer, weights = cut.layer, Weights(cut.layer, weight, cut.tile)
    size = size_of(layer.dtype)
    with site.kernel(".pack") as (b, scratch, number, _):
        group, block = b.split(number, cut.all)
        to, buffer = site.room(b, 0, layer.dtype) + number * cut.packed, scratch.room(cut.tile.lanes ** 2 * size, i8)
        start, each = block * cut.tile.rows, layer.packed(cut.tile)
        rows = scratch.room(cut.turned * each * size, layer.dtype) if cut.turned else to
        for part in range(max(1, cut.turned)):
            weights.pack(b, group, start + part * layer.width // max(1, cut.turned), rows + part * each, buffer)
        if cut.turned:
            cut.turn(b, rows, to)
    blocks = Count(layer.groups * cut.all)
    pack = site.launch(".pack", blocks, scratch, packs=(1, 0))
    return [pack, _multiply(site, cut, source, sink)], [Temp(blocks * cut.packed * size)]


def _multiply(site: Site, cut: Schedule, source: Operand, sink: Sink) -> Launch:
    """The products of all tasks; consecutive ones share a source, which is laid when it changes."""
    once = cut.at_once == cut.units
    with site.kernel() as (b, scratch, number, first):
        w = _work(b, cut, source, sink, scratch, number)
        changed = i1(1) if not once else first if cut.is_early else b.or_(first, w.task.part.equals(0))
        sums = scratch.room(memory(cut.sums * (1 if once else cut.blocks), cut.layer.dtype), cut.layer.dtype)
        with b.loop(0, cut.units, cut.at_once) as s:
            units = s, b.least(cut.units, s + cut.at_once)
            with b.if_then(changed):
                cut.fill(w, units)
            with cut.tile.ready(b), b.loop(*w.blocks) as block:
                left = site.room(b, 0, cut.layer.dtype) + (w.task.group * cut.all + block) * cut.packed
                mine = sums if once else sums + (block - w.blocks[0]) * cut.sums
                cut.multiply(w, block, left, mine, units)
                with b.if_then(units[1] >= cut.units):
                    cut.drain(w, block, mine)
    return site.launch("", cut.tasks, scratch, together=cut.parts)


def _work(b: Code, cut: Schedule, source: Operand, sink: Sink, scratch: Scratch, number: Int) -> Work:
    """A task by its number. Where sources are laid early, two are held, in turn: the last of the tasks that share one
    lays the next."""
    size, which = sum(cut.held), number // cut.parts
    odd = which & 1 if cut.is_early else b.int(0)
    start = scratch.room(size * (1 + cut.is_early), i8)
    rooms = scratch.rooms(cut.spare, cut.layer.dtype)

    first = (which + 1) * cut.parts
    tasks = [cut.task(b, n) for n in (number, first, first + cut.parts)[:3 if cut.is_early else 1]]

    def work(k: int, half: Int) -> Work:
        begin = tasks[k].part * cut.blocks
        blocks, held = (begin, b.least(cut.all, begin + cut.blocks)), Scratch(start.bytes(half * size))
        return Work(b, source, sink, tasks[k], tasks[-1], blocks, held.rooms(cut.held, cut.layer.dtype), rooms)

    now = work(0, odd)
    if not cut.is_early:
        return now
    goes_on = b.and_((number + 1).equals(first), number + 1 < Int(b, b.function.args[3]))
    return replace(now, after=tasks[1], then=work(1, odd ^ 1), coming=b.either(goes_on, cut.units, 0))
