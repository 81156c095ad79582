"""Convolutions forward and back to the input: an outer-product tile of channels x pixels over planes in scratch."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from llvmlite import ir

from stele.backend.contract.code import Code, Int, Number, Ref, Vectors, memory
from stele.backend.contract.conv.engine import Banded, Span, Work
from stele.backend.contract.conv.layer import Layer
from stele.backend.contract.conv.planes import BANDS, Planes, cuts, several
from stele.backend.contract.tile import LEFT, Price, Tile, best_tile, shares
from stele.backend.llvm.access import Operand, size_of
from stele.kernel.machine import Machine


@dataclass(frozen=True)
class Direct(Banded):
    """Planes are multiplied as they are held, `chunk` source channels at a time; `compact` if what each tap reads is
    first laid end to end, so that nothing is computed in vain.
    """

    chunk: int
    compact: bool

    def __str__(self) -> str:
        end_to_end = " end to end" if self.compact else ""
        return f"tiles {self.tile}, {self.planes}{end_to_end}, {self.blocks} blocks of {self.chunk} channels"

    @property
    def pitch(self) -> int:
        return self.planes.stencil.width if self.compact else self.planes.stencil.pitch

    @property
    def image(self) -> int:
        return self.planes.band * self.pitch if self.compact else self.planes.image

    @property
    def panel(self) -> int:
        """Elements of what is compacted of one channel."""
        return self.planes.taps * self.room if self.compact else 0

    @property
    def at_once(self) -> int:
        return self.chunk

    @property
    def held(self) -> tuple[int, ...]:
        compact = (memory(self.chunk * self.panel, self.layer.dtype),) if self.compact else ()
        return self.planes.bytes(self.chunk, self.tile.columns), *compact

    def fill(self, w: Work, units: Span) -> None:
        first = w.task.image, w.task.group * self.layer.depth + units[0]
        counts = w.task.images, units[1] - units[0]
        self.planes.fill(w.b, w.source, w.held[0], first, counts, w.task.row)
        if self.compact:
            self.planes.compact(w.b, w.held[0], w.held[1], counts, self.room)

    def multiply(self, w: Work, block: Int, left: Ref, sums: Ref, units: Span) -> None:
        """Every target phase, added to what the channels before gave."""
        b, tile = w.b, self.tile
        previous: Callable[[ir.Value], ir.Value] | None = None
        if self.chunk < self.layer.depth:
            begun, none = units[0] > 0, tile.zeros()[0]
            previous = lambda old: b.select(begun, old, none)
        with b.loop(0, len(self.planes.offsets)) as phase, b.loop(0, self.positions(w), tile.columns) as p:
            acc = self._shifted(b, phase, left, w.held[-1] + p, units)
            tile.store(b, acc, sums + (phase * (tile.rows * self.room) + p), self.room, previous)

    def _shifted(self, b: Code, phase: Int, weights: Ref, column: Ref, units: Span) -> Vectors:
        """The microkernel: source channels outside, taps inside."""
        tile, phases, pitch = self.tile, self.planes.offsets, self.panel or self.planes.channel
        offsets, starts = self.planes.tables(b)
        if self.compact:
            offsets = b.numbers("panels", range(0, self.panel, self.room))
        some, count, places = units[1] - units[0], b.int(len(phases[0])), self._places(b)
        if len(phases) > 1:
            start = (starts + phase).number()
            count = (starts + (phase + 1)).number() - start
            some, offsets, places = b.either(count > 0, some, 0), offsets + start, places + start

        def channel(s: Int, acc: Vectors) -> Vectors:
            row, plane = weights + (units[0] + s) * (self.layer.taps * tile.rows), column + s * pitch

            def tap(t: Int, acc: Vectors) -> Vectors:
                where: Number = t * tile.rows if len(phases) == 1 else (places + t).number()
                left, right = row + where, plane + (offsets + t).number()
                tile.ahead(left)
                tile.soon(right, pitch, max(map(len, phases)))
                return tile.multiply(b, acc, left, right)

            return b.fold(count, acc, tap)

        return b.fold(some, tile.zeros(), channel)

    def _places(self, b: Code) -> Ref:
        """Where weights lie, by tap of all phases."""
        taps = [tap.kernel for phase in self.layer.stencil.taps for tap in phase]
        return b.numbers("places", [(y * self.layer.kernel[1] + x) * self.tile.rows for y, x in taps])


def schedule(machine: Machine, layer: Layer, source: Operand) -> tuple[float, Direct]:
    """The cheapest schedule, by estimate, of those whose working set stays in the second-level cache, with its price
    per image in vector multiplications.
    """
    stencil, lanes = layer.stencil, machine.lanes(size_of(layer.dtype))
    shapes = cuts(stencil, layer.dtype, lanes, several(layer.batch, 1, 2, 4, 8), BANDS)
    dense = stencil.pitch == stencil.width and stencil.reach == (0, 0)

    def those(shapes: list[Planes]) -> list[tuple[float, Direct]]:
        found = [_candidate(machine, layer, source, planes, compact, parts) for planes in shapes
                 for compact in (False, True) for parts in shares(layer.batch) if not (compact and dense)]
        return [c for c in found if c is not None]

    one = [Planes(stencil, layer.dtype, lanes, 1, 1)]
    return machine.choices.choose(f"direct {layer}", those(shapes) or those(one))


def _candidate(machine: Machine, layer: Layer, source: Operand, planes: Planes,
               compact: bool, parts: int) -> tuple[float, Direct] | None:
    """One schedule with its price per target position; None where even one channel at a time is too much."""
    stencil, lanes = planes.stencil, planes.lanes
    phases, every = len(stencil.taps), max(1, sum(map(len, stencil.taps)))
    taps = -(-every // phases)
    pixels = Direct(layer, Tile(machine, layer.dtype, 1, 1), 1, planes, 1, compact).pixels
    price = Price(machine, layer.dtype, left=LEFT * machine.pace, right=1.0 if compact else 2.0, far=0.35, drain=3.0)
    tile = best_tile(price, (layer.width,), (pixels,), layer.depth * taps)
    blocks = -(-layer.width // tile.rows)
    found = Direct(layer, tile, -(-blocks // parts), planes, layer.depth, compact)
    each, chunk = planes.channel + found.panel, layer.depth
    room = machine.l2 * 5 // 8 // size_of(layer.dtype)
    if each * chunk + found.sums > room:
        chunk = (room - found.blocks * found.sums) // each
        if chunk < 1 and planes.images * planes.bands < stencil.rows:
            return None
        chunk = -(-layer.depth // -(-layer.depth // max(1, chunk)))
    rows = planes.images * planes.band * -(-stencil.width // lanes)
    copied = layer.depth * (planes.fill_cost(source) + (every * rows * 3 if compact else 0))
    cost = phases * price.cost((tile.rows, tile.vectors), layer.width, pixels, layer.depth * taps) + parts * copied \
        + phases * layer.width * (rows * 5 + (-(-layer.depth // chunk) - 1) * pixels / lanes * 3)
    return found.price(cost), replace(found, chunk=chunk)
