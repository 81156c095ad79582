"""Tiles of images brought to the points of Winograd's convolution: gathered from planes, laid end to end in lanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from llvmlite import ir

from stele.backend.llvm.access import Builder, Operand, Pair
from stele.backend.llvm.launch import i64
from stele.backend.llvm.nest import at, load, loop, store, table
from stele.backend.llvm.pack import compress
from stele.backend.llvm.planes import Planes
from stele.backend.llvm.points import Map, square
from stele.backend.llvm.stencil import Stencil, Tap

Vector = tuple[int, int, int]


def tiled(source: tuple[int, int], target: tuple[int, int], low: tuple[int, int], tile: int, read: int) -> Stencil:
    """The stencil whose taps are the `read x read` elements of each tile, and its target phases `tile x tile`."""
    places = [(y, x) for y in range(read) for x in range(read)]
    taps = tuple(Tap((y, x), (y % tile, x % tile), (y // tile, x // tile)) for y, x in places)
    return Stencil(source, target, (tile, tile), (tile, tile), low, (taps,))


@dataclass(frozen=True)
class Tiles:
    """The tiles of a band of some images, one channel at a time."""

    planes: Planes

    @property
    def each(self) -> int:
        """Tiles of one image."""
        return self.planes.band * self.planes.stencil.width

    @property
    def count(self) -> int:
        return self.planes.images * self.each

    @property
    def read(self) -> int:
        """Rows and columns that a tile reads."""
        return self.planes.stencil.taps[0][-1].kernel[0] + 1

    @cached_property
    def vectors(self) -> list[Vector]:
        """What covers the tiles in a plane: (position of the first lane, tiles before it, lanes that are tiles)."""
        planes, lanes = self.planes, self.planes.lanes
        image, pitch, width = planes.image, planes.stencil.pitch, planes.stencil.width
        places = [n * image + y * pitch + x for n in range(planes.images) for y in range(planes.band)
                  for x in range(width)]
        found: list[Vector] = []
        done = 0
        while done < len(places):
            here = [p - places[done] for p in places[done:done + lanes] if p - places[done] < lanes]
            found.append((places[done], done, sum(1 << k for k in here)))
            done += len(here)
        return found

    def tables(self, module: ir.Module, name: str) -> list[ir.Value]:
        """The vectors as constants of the module, column by column."""
        words = "places", "starts", "lanes"
        return [table(module, f"{name}.{word}", column) for word, column in zip(words, zip(*self.vectors))]

    def fill_cost(self, operand: Operand, points: int) -> float:
        """An estimate of what a channel takes on its way to the points, in units of one vector multiplication."""
        return self.planes.fill_cost(operand) + len(self.vectors) * (points * 6 + self.read ** 2 * 3)

    def evaluate(self, b: Builder, ctx: ir.Value, operand: Operand, first: Pair, images: ir.Value, row: ir.Value,
                 scratch: ir.Value, tables: list[ir.Value], apply: Map, count: int, to: ir.Value, pitch: int) -> None:
        """Channel `first[1]` of the images from `first[0]` on, tile rows from `row` on: its values at point `k`, of
        `count x count`, come to lie at `k * pitch` elements after `to`, and up to a vector of anything after them.
        """
        planes, dtype, lanes = self.planes, self.planes.dtype, self.planes.lanes
        planes.fill(b, ctx, operand, scratch, first, (images, i64(1)), row)
        is_dense = all(place == start and bits & bits + 1 == 0 for place, start, bits in self.vectors)
        with loop(b, 0, len(self.vectors)) as q:
            place, start, bits = (load(b, at(b, words, q, i64), i64) for words in tables)
            mask = b.bitcast(b.trunc(bits, ir.IntType(lanes)), ir.VectorType(ir.IntType(1), lanes))
            corner, target = at(b, scratch, place, dtype), at(b, to, start, dtype)

            def read(y, x, corner=corner):
                return load(b, at(b, corner, planes.offsets[0][y * self.read + x], dtype), dtype, lanes)

            def write(y, x, value, target=target, mask=mask):
                to = at(b, target, (y * count + x) * pitch, dtype)
                store(b, value if is_dense else compress(b, value, mask), to, dtype)

            square(apply, b, self.read, read, write)
