"""Patches of images brought to the points of Winograd's convolution: gathered from planes, laid end to end in lanes."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Ref
from stele.backend.contract.conv.planes import Planes
from stele.backend.contract.conv.points import Map, square
from stele.backend.contract.conv.stencil import Stencil, Tap
from stele.backend.llvm.access import Operand
from stele.backend.llvm.launch import i1
from stele.backend.llvm.vectors import compress

Vector = tuple[int, int, int]


def tiled(source: tuple[int, int], target: tuple[int, int], low: tuple[int, int], side: int, read: int) -> Stencil:
    """The stencil whose taps are the `read x read` elements of each patch, and its target phases `side x side`."""
    places = [(y, x) for y in range(read) for x in range(read)]
    taps = tuple(Tap((y, x), (y % side, x % side), (y // side, x // side)) for y, x in places)
    return Stencil(source, target, (side, side), (side, side), low, (taps,))


@dataclass(frozen=True)
class Patches:
    """The patches of a band of some images, one channel at a time; with `squeezed`, a vector goes on over what lies
    between two rows, which is squeezed out.
    """

    planes: Planes
    squeezed: bool

    @property
    def each(self) -> int:
        """Patches of one image."""
        return self.planes.band * self.planes.stencil.width

    @property
    def count(self) -> int:
        return self.planes.images * self.each

    @property
    def read(self) -> int:
        """Rows and columns that a patch reads."""
        return self.planes.stencil.taps[0][-1].kernel[0] + 1

    @cached_property
    def vectors(self) -> list[Vector]:
        """What covers the patches in a plane: (position of the first lane, patches before it, lanes that are patches).
        """
        planes, lanes = self.planes, self.planes.lanes
        image, pitch, width = planes.image, planes.stencil.pitch, planes.stencil.width
        places = [n * image + y * pitch + x for n in range(planes.images) for y in range(planes.band)
                  for x in range(width)]
        found: list[Vector] = []
        done = 0
        while done < len(places):
            apart = [p - places[done] for p in places[done:done + lanes]]
            here = [p for k, p in enumerate(apart) if p < lanes and (self.squeezed or p == k)]
            found.append((places[done], done, sum(1 << k for k in here)))
            done += len(here)
        return found

    def fill_cost(self, operand: Operand, points: int) -> float:
        """An estimate of what a channel takes on its way to the points, in units of one vector multiplication."""
        return self.planes.fill_cost(operand) + len(self.vectors) * (points * 6 + self.read ** 2 * 3)

    def fill(self, b: Code, operand: Operand, first: tuple[Int, Int], images: Number, row: Int, scratch: Ref,
             apply: Map, count: int, to: Ref, pitch: int) -> None:
        """Channel `first[1]` of the images from `first[0]` on, rows of patches from `row` on: its values at point `k`,
        of `count x count`, come to lie at `k * pitch` elements after `to`, and up to a vector of anything after them.
        """
        planes, lanes = self.planes, self.planes.lanes
        planes.fill(b, operand, scratch, first, (images, 1), row)
        words = (f"{word}{self.read}" for word in ("places", "starts", "lanes"))
        tables = [b.numbers(word, column) for word, column in zip(words, zip(*self.vectors))]
        is_dense = all(bits & bits + 1 == 0 for _, _, bits in self.vectors)     # the next one writes over the rest
        with b.loop(0, len(self.vectors)) as q:
            place, start, bits = ((table + q).number() for table in tables)
            mask = b.bitcast(b.trunc(bits.value, ir.IntType(lanes)), ir.VectorType(i1, lanes))
            corner, target = scratch + place, to + start

            def write(y: int, x: int, value: ir.Value) -> None:
                (target + (y * count + x) * pitch).store(value if is_dense else compress(b, value, mask))

            square(apply, b, self.read, lambda y, x: (corner + planes.offsets[0][y * self.read + x]).load(lanes), write)
