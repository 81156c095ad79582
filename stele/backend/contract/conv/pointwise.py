"""Convolutions of single pixels (1x1) as products of weights and an image, which is laid into panels."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract.bilinear import ONE, STRASSEN, Scheme
from stele.backend.contract.code import Code, Int, Number, Ref, Vectors, memory, place
from stele.backend.contract.conv.engine import Banded, Span, Task, Work
from stele.backend.contract.conv.layer import Layer
from stele.backend.contract.conv.planes import Planes, regroup
from stele.backend.contract.tile import LEFT, Tile, idle, shares
from stele.backend.llvm.access import Operand, size_of
from stele.backend.llvm.nest import multiply_add, round_up, splat, zero
from stele.kernel.machine import Machine

NEAR = 128
"""Bytes of a channel that come from memory together."""
FEW = 4
"""Pixels behind the last whole vector that are computed one by one, with channels in lanes."""


@dataclass(frozen=True)
class Pointwise(Banded):
    """A band of an image is laid into panels of `tile.columns` pixels, a narrower one of the vectors left, and `few`
    single pixels. By the scheme, channels and pixels go in parts: `pixels` and `depth` are those of one part.

    Weights lie as `[product][source channel][row]`, panels as `[product][panel][source channel][column]`, sums as
    `[product][row][pixel]`.
    """

    scheme: Scheme

    def __str__(self) -> str:
        return f"{self.scheme}, tiles {self.tile}, {self.pixels} pixels, {self.blocks} blocks"

    @property
    def side(self) -> int:
        """Parts of the channels, and of the pixels."""
        return self.scheme.side

    @cached_property
    def pixels(self) -> int:
        return self.planes.band * self.planes.stencil.target[1] // self.side

    @property
    def depth(self) -> int:
        """Source channels of a part."""
        return self.layer.depth // self.side

    @property
    def all(self) -> int:
        return -(-self.layer.width // self.side // self.tile.rows)

    @cached_property
    def few(self) -> int:
        """Pixels that are computed one by one."""
        rest = self.pixels % self.tile.lanes
        return rest if rest <= FEW else 0

    @cached_property
    def vectors(self) -> int:
        return -(-(self.pixels - self.few) // self.tile.lanes)

    @property
    def panels(self) -> list[tuple[int, int, int]]:
        """Panels of one width: (first vector, how many, vectors of each). Only the last may have part of a vector."""
        whole = self.pixels // self.tile.lanes // self.tile.vectors
        rest = self.vectors - whole * self.tile.vectors
        found = [(0, whole, self.tile.vectors), (self.vectors - rest, 1, rest)]
        return [(first, count, width) for first, count, width in found if count * width]

    @property
    def room(self) -> int:
        return self.vectors * self.tile.lanes + self.few

    @property
    def across(self) -> int:
        """Rows of a tile, up to whole vectors."""
        return round_up(self.tile.rows, self.tile.lanes)

    @property
    def panel(self) -> int:
        """Elements of the panels of one product."""
        return self.depth * self.vectors * self.tile.lanes

    # Weights

    @property
    def packed(self) -> int:
        """Loads may overrun a block by `lanes` rows."""
        return self.tile.rows * (self.scheme.products * self.depth + self.tile.lanes)

    @property
    def turned(self) -> int:
        return self.side

    def turn(self, b: Code, rows: Ref, to: Ref) -> None:
        """Sums of the parts."""
        tile, apart = self.tile, self.layer.packed(self.tile)
        with b.loop(0, self.depth) as k:
            for r in range(0, tile.rows, tile.lanes):
                places = [k * tile.rows + (i * apart + j * self.depth * tile.rows + r)
                          for i in range(self.side) for j in range(self.side)]
                parts = [(rows + place).load(tile.lanes) for place in places]
                for p, value in enumerate(self.scheme.left(b, parts)):
                    here = to + (k * tile.rows + (p * self.depth * tile.rows + r))
                    here.keep(value, min(tile.lanes, tile.rows - r))

    # The image

    @property
    def is_early(self) -> bool:
        return True

    @property
    def units(self) -> int:
        """Channels of a part."""
        return self.depth

    @property
    def held(self) -> tuple[int, ...]:
        """Bytes of panels, and of single pixels."""
        many, dtype = self.scheme.products, self.layer.dtype
        return memory(many * self.panel, dtype), memory(many * self.depth * self.few, dtype)

    @property
    def line(self) -> int:
        """Elements of a channel's pixels end to end, where they lie apart; overrun by less than a vector."""
        return 0 if self.planes.stencil.phases == (1, 1) else self.pixels * self.side + self.tile.lanes

    @property
    def spare(self) -> tuple[int, ...]:
        """Bytes of pixels of a channel that lie apart, and of sums of single pixels with channels in lanes."""
        return memory(self.side * self.line, self.layer.dtype), memory(self.few * self.across, self.layer.dtype)

    def fill(self, w: Work, units: Span) -> None:
        """Panels of some channels; what the task after this one reads at the same places is asked for."""
        b, lanes, image = w.b, self.tile.lanes, place(w.b, w.source, (), self.layer.dtype)
        start, after = (self._start(w.source, task) for task in (w.task, w.after))

        with b.loop(*units) as c:
            lines = self._lines(w, image + start, c, after - start)

            def lay(x: Number, left: int, to: Ref, count: int, apart: int) -> None:
                """A vector of every part, no more of it than the pixels that are left, as sums."""
                vectors = [self._read(b, line + x, left, after - start) for line in lines]
                for k, vector in enumerate(self.scheme.right(b, vectors)):
                    (to + k * apart).keep(vector, count)

            for first, number, width in self.panels:
                with b.loop(0, number) as p:
                    here = (p * width + first) * lanes
                    row = w.held[0] + (here * self.depth + c * (width * lanes))
                    for v in range(width):
                        left = lanes if number > 1 else self.pixels - (first + v) * lanes
                        lay(here + v * lanes, left, row + v * lanes, lanes, self.panel)
            if self.few:
                lay(self.vectors * lanes, self.few, w.held[1] + c * self.few, self.few, self.depth * self.few)

    def _start(self, source: Operand, task: Task) -> Int:
        """Where the source of a task begins, in elements."""
        assert source.plain is not None
        stencil = self.planes.stencil
        return task.image * source.plain.strides[0] + task.row * (stencil.phases[0] * stencil.source[1])

    def _lines(self, w: Work, image: Ref, c: Int, ahead: Int) -> list[Ref]:
        """Where the pixels of a channel lie, end to end: of every part of the channels, every part of the pixels."""
        assert w.source.plain is not None
        lines: list[Ref] = []
        for part in range(self.side):
            line = image + (c + part * self.depth) * w.source.plain.strides[1]
            if self.line:
                line = self._straighten(w.b, line, w.rooms[0] + part * self.line, ahead)
            lines += [line + half * self.pixels for half in range(self.side)]
        return lines

    def _straighten(self, b: Code, line: Ref, to: Ref, ahead: Int) -> Ref:
        """The pixels that a band reads of one channel, end to end at `to`."""
        lanes, (sy, sx) = self.tile.lanes, self.planes.stencil.phases
        width, target = self.planes.stencil.source[1], self.planes.stencil.target[1]
        with b.loop(0, self.planes.band) as q:
            row = line + q * (sy * width)
            for x in range(0, target, lanes):
                starts = [x * sx + j * lanes for j in range(sx)]
                vectors = [self._read(b, row + k, max(0, width - k), ahead) for k in starts]
                (to + (q * target + x)).store(regroup(b, vectors, lambda l: divmod(l * sx, lanes)))
        return to

    def _read(self, b: Code, here: Ref, left: int, ahead: Int) -> ir.Value:
        """A vector, no more of it than the `left` elements there are."""
        (here + ahead).prefetch()
        return here.load(self.tile.lanes, None if left >= self.tile.lanes else b.below(left, self.tile.lanes))

    # Products

    @property
    def sums(self) -> int:
        return self.tile.rows * self.room * self.scheme.products + self.tile.lanes

    def multiply(self, w: Work, block: Int, left: Ref, sums: Ref, units: Span) -> None:
        b, tile, many = w.b, self.tile, self.scheme.products
        tiles = self.panels[0][1] if self.panels else 1
        every = (w.blocks[1] - w.blocks[0]) * (many * tiles)
        with b.loop(0, many) as p:
            corner = self._corner(w, block, p >> 1 & 1, p & 1)
            row, to = left + p * (self.depth * tile.rows), sums + p * (tile.rows * self.room)
            number = ((block - w.blocks[0]) * many + p) * tiles
            for first, count, width in self.panels:
                panel = replace(tile, vectors=width)
                with b.loop(0, count) as t:
                    start = (t * width + first) * tile.lanes
                    self._approach(w, corner, start, width)
                    right = w.held[0] + (p * self.panel + start * self.depth)
                    acc = self._sums(w, panel, row, right, number + t, every if first == 0 else None)
                    panel.store(b, acc, to + start, self.room)
            if not self.panels:
                with b.loop(0, (every + (self.depth - 1)) // every) as j:
                    self._lay(w, j * every + number)
            if self.few:
                self._few(b, row, w.held[1] + p * (self.depth * self.few), w.rooms[1], to)

    def _sums(self, w: Work, tile: Tile, left: Ref, right: Ref, number: Int, every: Int | None) -> Vectors:
        """The sums of a tile; if `every` is given, a channel of the next source is laid before every so many: from
        `number` on, so many apart."""
        b, depth, near = w.b, self.depth, not tile.is_far(self.depth)
        if every is None:
            return tile.sums(b, depth, left, right, tile.columns, near)

        def some(j: Int, acc: Vectors) -> Vectors:
            self._lay(w, j * every + number)
            begin = j * every
            row, column = left + begin * tile.rows, right + begin * tile.columns
            return tile.sums(b, b.least(every, depth - begin), row, column, tile.columns, near, acc)

        return b.fold((every + (depth - 1)) // every, tile.zeros(), some)

    def _lay(self, w: Work, channel: Int) -> None:
        """Lays a channel of the next source, if there is one."""
        assert w.then is not None
        with w.b.if_then(channel < w.coming):
            self.fill(w.then, (channel, channel + 1))

    def _corner(self, w: Work, block: Int, down: Number, across: Number) -> tuple[Int, Int, Int]:
        """Where a block of a part of the result begins: image, channel, pixel."""
        channel = block * self.tile.rows + down * (self.layer.width // self.side)
        return w.task.image, channel, w.task.row * self.planes.stencil.target[1] + across * self.pixels

    def _approach(self, w: Work, corner: tuple[Int, Int, Int], start: Int, width: int) -> None:
        """Asks for the memory of a tile's destination while the tile is computed."""
        image, channel, pixel = corner
        with w.b.loop(0, w.b.least(self.tile.rows, self.layer.width - channel)) as r:
            for v in range(width):
                w.sink.near(w.b, (image, channel + r, pixel + start + v * self.tile.lanes))

    def _few(self, b: Code, left: Ref, pixels: Ref, across: Ref, sums: Ref) -> None:
        """The single pixels, with channels in lanes."""
        tile, lanes, few, depth = self.tile, self.tile.lanes, self.few, self.depth
        parts = range(0, self.across, lanes)
        count = few * len(parts)
        apart = 1 if count > 2 or depth % 4 else 4

        def body(k: Int, acc: Vectors) -> Vectors:
            made: Vectors = []
            for step in range(apart):
                row, column = left + (k * apart + step) * tile.rows, pixels + (k * apart + step) * few
                rows = [(row + r).load(lanes) for r in parts]
                each = [splat(b, (column + j).load(), lanes) for j in range(few)]
                pairs = [(pixel, row) for pixel in each for row in rows]
                made += [multiply_add(b, tile.machine.fma, *pair, z) for pair, z in zip(pairs, acc[step * count:])]
            return made

        acc = b.fold(depth // apart, [zero(tile.dtype, lanes)] * (count * apart), body)
        for k in range(count):
            (across + k * lanes).store(reduce(b.fadd, acc[k::count]))
        with b.loop(0, tile.rows) as r, b.loop(0, few) as j:
            (sums + (r * self.room + j + self.vectors * lanes)).store((across + (j * self.across + r)).load())

    def drain(self, w: Work, block: Int, sums: Ref) -> None:
        """Sums of products to where each part belongs."""
        b, lanes, scheme, rest = w.b, self.tile.lanes, self.scheme, self.pixels % self.tile.lanes
        corners = [self._corner(w, block, *divmod(k, self.side)) for k in range(self.side ** 2)]
        whole = self.pixels - rest
        with b.loop(0, b.least(self.tile.rows, self.layer.width // self.side - corners[0][1])) as r:
            row = r * self.room
            for start, stop, mask in ((0, whole, None), (whole, self.pixels, b.below(rest, lanes))):
                if start == stop:
                    continue
                with b.loop(start, stop, lanes) as x:
                    places = [row + x + p * self.tile.rows * self.room for p in range(scheme.products)]
                    made = scheme.result(b, [(sums + place).load(lanes) for place in places])
                    for (image, channel, pixel), vector in zip(corners, made):
                        w.sink.put(b, (image, channel + r, pixel + x), 2, mask, vector)


def fits(layer: Layer, source: Operand) -> bool:
    """Whether a layer is one of single pixels, whose images lie in memory as they are."""
    stencil, plain = layer.stencil, source.plain
    inside = all(s * (t - 1) < n for s, t, n in zip(stencil.phases, stencil.target, stencil.source))
    alike = layer.kernel == (1, 1) and layer.groups == 1 and len(stencil.taps) == 1
    as_it_lies = stencil.low == stencil.reach == (0, 0)
    return inside and alike and as_it_lies and plain is not None and plain.strides[2:] == (stencil.source[1], 1)


def band(layer: Layer, lanes: int, pixels: int) -> Planes:
    """A band of so many pixels: of whole rows, where they lie apart."""
    stencil = layer.stencil
    if stencil.phases == (1, 1):
        return Planes(stencil.flat(prod(stencil.target) // pixels), layer.dtype, lanes, 1, 1)
    return Planes(stencil, layer.dtype, lanes, 1, pixels // stencil.target[1])


def schedule(machine: Machine, layer: Layer, precision: Precision) -> tuple[float, Pointwise]:
    """The cheapest schedule, by estimate, with its price per image in vector multiplications. Its tile leaves registers
    for what is gathered between its steps."""
    pixels = prod(layer.stencil.target)
    spare = machine.registers - (3 if machine.fma else 4)
    tiles = [Tile(machine, layer.dtype, r, v) for v in range(1, 4) for r in range(min(layer.width, 4), 25)
             if min(layer.width, spare // 2) <= r * v <= spare - v]
    width = 1 if layer.stencil.phases == (1, 1) else layer.stencil.target[1]
    bands = [n for n in range(width, min(pixels, 1024) + 1, width) if pixels % n == 0 and n >= min(pixels, 28)]
    schemes = [ONE, STRASSEN] if precision == "fast" and layer.depth % 2 == layer.width % 2 == 0 else [ONE]
    planes = {n: band(layer, machine.lanes(size_of(layer.dtype)), n) for n in bands}
    candidates = [found for scheme in schemes for tile in tiles for n in bands if n % scheme.side == 0
                  for found in _candidates(machine, layer, scheme, tile, n, planes[n])]
    return machine.choices.choose(f"pointwise {precision} {layer}", candidates)


def _candidates(machine: Machine, layer: Layer, scheme: Scheme, tile: Tile, n: int, planes: Planes
                ) -> list[tuple[float, Pointwise]]:
    """The schedules of bands of `n` pixels, whose blocks of channels are shared out in several ways, with their prices
    per image, in vector multiplications."""
    r, depth, side, many = tile.rows, layer.depth // scheme.side, scheme.side, scheme.products
    blocks, bands = -(-layer.width // side // r), prod(layer.stencil.target) // n
    found, size = Pointwise(layer, tile, blocks, planes, scheme), size_of(layer.dtype)
    panels = 2 * many * found.room * depth * size
    if panels > machine.l2 * 3 // 2 and many > 1:
        return []
    far = 0.35 if panels <= machine.l2 // 2 else 0.7 if panels <= machine.l2 * 3 // 2 else 2.0

    def step(v: int) -> float:
        return max(r * v, LEFT * machine.pace * r + v, machine.pending) + far * v + 0.02 * r + 0.25

    sums = sum(count * (depth * step(v) + r * v * 2 + 30) for _, count, v in found.panels)
    if found.few:
        sums += depth * max(found.few * found.across / tile.lanes, 1.5) + 4 * r * found.few
    is_far = many * r * found.room * size > machine.l1 * 3 // 4
    sums = many * sums + r * found.vectors * side * side * (10 + (4 if many > 1 else 0) + 4 * is_far)
    parted = (1.5 if machine.pace < 1 else 17.0 + 20 * (panels > machine.l2)) * (many > 1)
    read = parted + 10 * (n * size > NEAR) + (1.0 if layer.stencil.phases == (1, 1) else 8.5)
    result: list[tuple[float, Pointwise]] = []
    for parts in dict.fromkeys([min(blocks, parts) for parts in shares(layer.batch)]):
        each = -(-blocks // parts)
        cost = bands * (blocks * sums + parts * depth * side * side * (found.vectors * read + 3))
        result.append((cost * idle(bands, blocks, each, layer.batch), Pointwise(layer, tile, each, planes, scheme)))
    return result
