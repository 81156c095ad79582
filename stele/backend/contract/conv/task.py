"""What a task of a convolution makes: some images, a band of target rows, blocks of the channels of a group."""
from __future__ import annotations

from dataclasses import dataclass

from stele.backend.contract.code import Code, Int
from stele.backend.contract.conv.layer import Layer
from stele.backend.contract.conv.planes import Planes
from stele.backend.contract.tile import idle
from stele.backend.llvm.access import Count
from stele.ir.sizes import Dim


@dataclass(frozen=True)
class Task:
    """Some images from one on, target rows from one on, and which part of the target channels of which group."""

    image: Int
    images: Int
    row: Int
    group: Int
    part: Int


@dataclass(frozen=True)
class Tasks:
    """The tasks of a layer: `each` of the `blocks` of target channels of a group for the `planes` of the source."""

    layer: Layer
    planes: Planes
    blocks: int
    each: int

    @property
    def parts(self) -> int:
        """Parts of the target channels."""
        return -(-self.blocks // self.each)

    @property
    def count(self) -> Dim:
        """How many there are."""
        return Count(self.layer.groups * self.planes.bands * self.parts, ((self.layer.batch, self.planes.images),))

    def at(self, b: Code, number: Int, parts_first: bool = False) -> Task:
        """A task by its number: the next ones make other parts of the same rows, or the same part of the next."""
        layer, planes = self.layer, self.planes
        if parts_first:
            step, group, part, band = b.split(number, layer.groups, self.parts, planes.bands)
        else:
            step, group, band, part = b.split(number, layer.groups, planes.bands, self.parts)
        image, row = step * planes.images, band * planes.band
        return Task(image, planes.some(b, image, lambda: b.extent(layer.batch)), row, group, part)

    def own(self, b: Code, task: Task) -> tuple[Int, Int]:
        """The blocks of a task: from the first to before the second."""
        begin = task.part * self.each
        return begin, b.least(self.blocks, begin + self.each)

    def price(self, cost: float) -> float:
        """The price of an image, of that of a task's images and rows for all blocks: threads that wait included."""
        planes = self.planes
        late = idle(planes.bands * self.layer.groups, self.blocks, self.each, planes.batches(self.layer.batch))
        return cost * (late * planes.bands / planes.images)
