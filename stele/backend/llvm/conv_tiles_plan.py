"""How a convolution in tile registers (AMX) is cut into tasks, and how its operands lie: the cheapest by estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.llvm import amx, pointwise
from stele.backend.llvm.access import Operand, size_of
from stele.backend.llvm.amx import DEEP, SIDE, WIDTH, word
from stele.backend.llvm.choice import MANY
from stele.backend.llvm.layer import Layer
from stele.backend.llvm.machine import Machine
from stele.backend.llvm.microkernel import idle, shares
from stele.backend.llvm.nest import LINE, round_up
from stele.backend.llvm.planes import Planes

DRAIN, PIECE = 16.0, 20.0
"""What a row of a tile of sums costs that goes to its destination, and a vector that is cut into pieces."""
SPAN = 24
"""Steps whose products are summed together, one by one."""
SHIFT, BESIDE = 120.0, 120.0
"""What a step costs more that reads rows that lie apart, and one beside which the next source is cut."""
FAR, MEMORY, STREAM = 20.0, 50.0, 3.0
"""What a cache line costs: of a source that was not asked for before it is cut, of weights once a call, and of weights
that are read again from the third-level cache."""
HELD, CROWDED, EVICTED = 70.0, 600.0, 1500.0
"""What a step costs more for as much as the second-level cache holds, where that holds no more than half of what a
task keeps, and where that of two tasks, and a third one's source, are to stay there."""


@dataclass(frozen=True)
class Blocking:
    """A task makes `blocks` blocks of target channels for a band of rows of some images. `early` if its source is cut
    into pieces while the task before it multiplies.

    Pieces lie as `[chunk of source channels][piece][pair][channel plane]`, sums as `[target phase][channel][room]`.
    """

    planes: Planes
    depth: int
    blocks: int
    early: bool

    @property
    def chunks(self) -> int:
        """Steps of source channels."""
        return -(-self.depth // DEEP)

    @property
    def pairs(self) -> int:
        """Pairs of source channels."""
        return self.chunks * SIDE

    @property
    def is_dense(self) -> bool:
        """Whether tiles read what lies in planes as it lies, so that pieces may lie in panels."""
        return {offset for phase in self.planes.offsets for offset in phase} <= {0}

    @cached_property
    def line(self) -> int:
        """Elements of a channel that are cut."""
        return round_up(self.pixels if self.is_dense else self.planes.channel, WIDTH)

    @property
    def pitch(self) -> int:
        """Elements from one pair to the next: of planes an odd number of cache lines, so that pairs do not push each
        other out."""
        return SIDE if self.is_dense else self.line + SIDE

    @property
    def apart(self) -> tuple[int, int, int]:
        """Elements from one tile of positions, piece and half of a tile to the next."""
        return (amx.step(), 2 * amx.TILE, amx.TILE) if self.is_dense else (WIDTH, SIDE * self.pitch, SIDE)

    @property
    def chunk(self) -> int:
        """Elements of the pieces of a chunk."""
        return amx.PIECES * SIDE * (self.line if self.is_dense else self.pitch)

    @property
    def pixels(self) -> int:
        """Positions of a task, up to the end of the last row."""
        return (self.planes.images - 1) * self.planes.image + self.planes.band * self.planes.stencil.pitch

    @property
    def room(self) -> int:
        """Elements of one row of sums."""
        return round_up(self.pixels, WIDTH) + SIDE

    @cached_property
    def taps(self) -> int:
        """Taps of all target phases."""
        return sum(map(len, self.planes.stencil.taps))

    @property
    def span(self) -> int:
        """Chunks that are summed together: the sums of all are sums of a few such sums, which rounds less."""
        return max(1, SPAN // max(1, *map(len, self.planes.stencil.taps)))

    @property
    def lines(self) -> int:
        """Cache lines of a channel that lies densely."""
        return -(-self.pixels * size_of(word) // LINE)

    @property
    def rooms(self) -> tuple[int, int, int]:
        """Bytes of scratch for two planes of the source, sums, and the pieces of one task."""
        planes, sums = self.planes, len(self.planes.stencil.taps) + (self.span < self.chunks)
        return (planes.bytes(2, WIDTH), round_up(sums * WIDTH * self.room * size_of(word), LINE),
                round_up((self.chunks * self.chunk + planes.image + 2 * WIDTH) * size_of(word), LINE))


def fits(machine: Machine, layer: Layer, precision: Precision) -> bool:
    """Whether a layer can be computed so."""
    return machine.amx and precision == "fast" and isinstance(layer.dtype, ir.FloatType) and layer.groups == 1


def plan(machine: Machine, layer: Layer, source: Operand) -> tuple[float, Blocking]:
    """The cheapest blocking, by estimate, with its price per image in vector multiplications."""
    blocks, flat = -(-layer.width // WIDTH), _is_flat(layer, source)
    candidates = [_candidate(machine, layer, source, planes, each, early) for planes in _shapes(layer, flat)
                  for each in dict.fromkeys(-(-blocks // parts) for parts in shares(layer.batch))
                  for early in ((False, True) if flat and planes.images == 1 else (False,))]
    return machine.choices.choose(f"tiles {layer}", candidates)


def _shapes(layer: Layer, flat: bool) -> list[Planes]:
    """What a task may make: several images, or a band of rows; of dense images of single pixels any part of one."""
    stencil, alone = layer.stencil, layer.batch == 1
    several = [n for n in (1, 2, 3, 4, 5, 8) if n == 1 or not alone]
    if flat:
        pixels = prod(stencil.target)
        cut = {n: replace(stencil, source=(n, pixels // n), target=(n, pixels // n))
               for n in range(1, 65) if pixels % n == 0 and (n == 1 or pixels >= n * WIDTH)}
        shapes = [(cut[1], n, 1) for n in several] + [(cut[n], 1, 1) for n in cut if n > 1]
        return [Planes(some, word, SIDE, *shape) for some, *shape in shapes]
    bands = dict.fromkeys(-(-stencil.rows // n) for n in range(2, 29) if n <= stencil.rows)
    whole = [(n, stencil.rows) for n in several]
    return [Planes(stencil, word, SIDE, *shape) for shape in [*whole, *((1, band) for band in bands)]]


def _is_flat(layer: Layer, source: Operand) -> bool:
    """Whether the images of a layer of single pixels lie as they are read, end to end."""
    return layer.stencil.phases == (1, 1) and pointwise.fits(layer, source)


def _candidate(machine: Machine, layer: Layer, source: Operand, planes: Planes, each: int, early: bool
               ) -> tuple[float, Blocking]:
    """One blocking with its price per image."""
    stencil, blocks = planes.stencil, -(-layer.width // WIDTH)
    blocking, parts = Blocking(planes, layer.depth, each, early), -(-blocks // each)
    bands, tiles = -(-stencil.rows // planes.band), -(-blocking.pixels // WIDTH)
    batches = -(-layer.batch // planes.images) if isinstance(layer.batch, int) else layer.batch
    many = layer.batch if isinstance(layer.batch, int) else MANY
    panel = blocking.chunks * blocking.taps * amx.step() * size_of(word)
    held, step = panel + sum(blocking.rooms), amx.PRICE[amx.PIECES] + (0.0 if blocking.is_dense else SHIFT)
    cutting = layer.depth * planes.fill_cost(source) + blocking.pairs * blocking.line // SIDE * PIECE
    missed = cutting + (layer.depth * blocking.lines * FAR if _is_flat(layer, source) else 0.0)
    if early:
        held += blocking.rooms[2] + layer.depth * blocking.lines * LINE
        step += BESIDE + EVICTED * _within(2 * held / machine.l2 - 1)
        cutting = cutting / 2 + missed * min(0.5, 1 / (bands * parts * many))
    else:
        step, cutting = step + CROWDED * _within(2 * held / machine.l2 - 1.5), missed
    step += HELD * held / machine.l2
    cost = blocks * tiles * (blocking.chunks * blocking.taps * step + len(stencil.taps) * WIDTH * DRAIN)
    cost += parts * cutting + (blocks * panel / LINE * STREAM if blocks * panel > machine.l2 // 2 else 0.0)
    cost *= idle(bands, blocks, blocking.blocks, batches) * bands / planes.images
    return max(cost, blocks * panel / LINE * MEMORY / many), blocking


def _within(x: float) -> float:
    """The number from 0 to 1 that is nearest to x."""
    return min(1.0, max(0.0, x))
