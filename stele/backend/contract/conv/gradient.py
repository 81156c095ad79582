"""The kernels of a weight's gradient, whatever its algorithm: products of what two sources hold, sums of all images."""
from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Ref, Scratch, Sink, Site
from stele.backend.contract.conv.layer import Small
from stele.backend.contract.conv.stencil import Conv
from stele.backend.contract.tile import Tile
from stele.backend.llvm.access import Count, Extent, Operand, Temp, size_of
from stele.backend.llvm.launch import Launch
from stele.ir.record import Record


class Band(Record):
    """A band of rows of some images, as a task meets it: where its sums are, which are new if the band is the `first`,
    which rooms it has, and of which (group, part of the outputs, part of the channels) its products are."""

    b: Code
    x: Operand
    g: Operand
    image: Int
    images: Int
    row: Int
    first: ir.Value
    part: tuple[Int, Int, Int]
    sums: Ref
    rooms: list[Ref]


@dataclass(frozen=True)
class Gradient(ABC):
    """How an algorithm cuts the gradient of a weight: a task adds the products of `part` images (None: of all), band by
    band. Sums lie in temporary 0 as `[part][task]`, and are `total` in the end. Where patches of all images lie end to
    end, they take the place of images.
    """

    conv: Conv | Small
    tile: Tile
    part: int | None

    @property
    def all(self) -> Extent:
        """How many images there are."""
        return self.conv.batch

    @property
    def splits(self) -> tuple[int, int]:
        """How many tasks share a group's outputs, and its channels."""
        return 1, 1

    @property
    def tasks(self) -> int:
        """Tasks for some images."""
        return self.conv.groups * self.splits[0] * self.splits[1]

    @property
    def parts(self) -> tuple[tuple[Extent, int], ...]:
        return () if self.part is None else ((self.all, self.part),)

    @property
    @abstractmethod
    def sums(self) -> int:
        """Elements of a task's sums."""

    @property
    @abstractmethod
    def rooms(self) -> tuple[int, ...]:
        """Bytes of the rooms of a task."""

    @abstractmethod
    def bands(self, b: Code, begin: Int, end: Int) -> AbstractContextManager[tuple[Int, Int, Int, ir.Value]]:
        """The bands of some images, as loops: of how many images from one on, from which row on, whether it is the
        first."""

    @abstractmethod
    def add(self, band: Band) -> None:
        """Adds the products of a band to the sums."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Rows of sums of a task, each of which is finished alone."""

    @abstractmethod
    def finish(self, b: Code, sums: Ref, row: Int, scratch: Scratch, sink: Sink) -> None:
        """One row of all sums to its destination."""

    def total(self, b: Code, place: Ref) -> ir.Value:
        """A vector of sums of all parts, the first of which is at a place: added in order."""
        all = b.extent(self.all)
        parts = b.least(all, 1) if self.part is None else b.blocks(all, self.part)
        return b.total(parts, place, self.tasks * self.sums, self.tile.lanes)


def gradient(site: Site, cut: Gradient, x: Operand, g: Operand, sink: Sink) -> tuple[list[Launch], list[Temp]]:
    """Appends the kernels of the gradient of w (o, c / groups, kh, kw) from `x` (n, c, h, w) and `g` (n, o, h', w')."""
    conv = cut.conv
    with site.kernel() as (b, scratch, task, _):
        number, *part = b.split(task, conv.groups, *cut.splits)
        all = b.extent(cut.all)
        begin = b.int(0) if cut.part is None else number * cut.part
        end = all if cut.part is None else b.least(all, begin + cut.part)
        rooms, sums = scratch.rooms(cut.rooms, conv.dtype), site.room(b, 0, conv.dtype) + task * cut.sums
        with cut.bands(b, begin, end) as (image, images, row, first):
            cut.add(Band(b, x, g, image, images, row, first, (part[0], part[1], part[2]), sums, rooms))
    multiply = site.launch("", Count(cut.tasks, cut.parts), scratch)
    with site.kernel(".sum") as (b, scratch, row, _):
        cut.finish(b, site.room(b, 0, conv.dtype), row, scratch, sink)
    finish = site.launch(".sum", Count(cut.tasks * cut.rows), scratch)
    return [multiply, finish], [Temp(Count(cut.tasks * cut.sums * size_of(conv.dtype), cut.parts))]
