"""The register-blocked tile every contraction runs on, and the cost function that picks its shape."""
from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache

from llvmlite import ir

from stele.backend.contract import amx
from stele.backend.contract.code import Code, Int, Number, Ref, Vectors
from stele.backend.llvm.access import Builder, Extent, size_of
from stele.backend.llvm.nest import multiply_add, prefetch_lines, splat, zero
from stele.kernel.machine import Machine

LEFT = 1.1
"""What an element of the left operand costs, in loads of a vector."""
AHEAD, SOON = 8192, 8
"""How far ahead a left operand is asked for, in bytes, and a right one, in steps."""
Product = Callable[[Builder, ir.Value, ir.Value, ir.Value], ir.Value]


@dataclass(frozen=True)
class Tile:
    """`rows x vectors` accumulators of `lanes` elements each, in registers; `product` stands in for `x y + z`. With
    `pieces` they are the sums of tile registers, of products of so many pieces of bfloat16 (`amx.py`).
    """

    machine: Machine
    dtype: ir.Type
    rows: int
    vectors: int
    product: Product | None = None
    pieces: int = 0

    def __str__(self) -> str:
        return f"{self.rows}x{self.vectors}" + (f" in {self.pieces} pieces" if self.pieces else "")

    @cached_property
    def lanes(self) -> int:
        return self.machine.lanes(size_of(self.dtype))

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def size(self) -> int:
        return self.rows * self.columns

    @property
    def deep(self) -> int:
        """Depths that are packed, and multiplied, together."""
        return amx.DEEP if self.pieces else self.lanes

    @property
    def bytes(self) -> int:
        """Bytes of an element in a panel."""
        return 2 * self.pieces or size_of(self.dtype)

    @contextmanager
    def ready(self, b: Code) -> Generator[None]:
        """The tile registers, if sums are there, have their shapes meanwhile."""
        if self.pieces:
            amx.begin(b)
        yield
        if self.pieces:
            amx.end(b)

    def room(self, width: int, depth: int = 1) -> int:
        """Elements of memory that a panel takes, `width` across."""
        return width * depth * self.bytes // size_of(self.dtype)

    def zeros(self) -> Vectors:
        return [zero(self.dtype, self.lanes)] * (self.rows * self.vectors)

    def step(self, b: Builder, acc: Vectors, left: Callable[[int], ir.Value], right: Callable[[int], ir.Value]
             ) -> Vectors:
        """`acc[r, v] + left(r) * right(v)` for every accumulator."""
        columns = [right(v) for v in range(self.vectors)]
        result: Vectors = []
        for r in range(self.rows):
            x = left(r)
            for v, y in enumerate(columns):
                z = acc[r * self.vectors + v]
                result.append(self.product(b, x, y, z) if self.product else multiply_add(b, self.machine.fma, x, y, z))
        return result

    def multiply(self, b: Code, acc: Vectors, row: Ref, column: Ref, across: int = 1) -> Vectors:
        """The step for operands in memory: left elements `across` apart from `row` on, right ones from `column` on."""
        return self.step(b, acc, lambda r: splat(b, (row + r * across).load(), self.lanes),
                         lambda v: (column + v * self.lanes).load(self.lanes))

    def sums(self, b: Code, depth: Number, left: Ref, right: Ref, pitch: int, near: bool = False,
             acc: Vectors | None = None) -> Vectors:
        """The sums of a depth, added to those before: left operands lie row by row, right ones `pitch` elements apart,
        and are asked for early unless they are near."""
        def step(k: Int, acc: Vectors) -> Vectors:
            row, column = left + k * self.rows, right + k * pitch
            self.ahead(row)
            if not near:
                self.soon(column, pitch)
            return self.multiply(b, acc, row, column)

        return b.fold(depth, self.zeros() if acc is None else acc, step)

    def ahead(self, row: Ref) -> None:
        """Asks for the left operand of some steps after `row`: what the machine foresees ends with a page."""
        prefetch_lines(row.b, row.address, AHEAD, self.rows * size_of(self.dtype))

    def soon(self, column: Ref, pitch: int, steps: int = 1) -> None:
        """Asks for the right operand of `SOON` steps after `column`, where `steps` of them are `pitch` elements: from
        the second cache a vector comes late, and few are on their way unless asked for."""
        prefetch_lines(column.b, column.address, -(-SOON // steps) * pitch * size_of(self.dtype),
                       self.columns * size_of(self.dtype))

    def is_far(self, depth: int) -> bool:
        """Whether a panel of the right operand leaves the first cache no room for anything else."""
        return self.columns * depth * size_of(self.dtype) > self.machine.l1 * 3 // 4

    def store(self, b: Code, acc: Vectors, to: Ref, pitch: int, previous: Callable[[ir.Value], ir.Value] | None = None
              ) -> None:
        """Accumulators to memory with rows `pitch` elements apart, added to what `previous` makes of the memory."""
        for k, value in enumerate(acc):
            place = to + (k // self.vectors * pitch + k % self.vectors * self.lanes)
            place.store(value if previous is None else b.fadd(previous(place.load(self.lanes)), value))


@dataclass(frozen=True)
class Price:
    """What a product on tiles costs, in units of one vector multiplication.

    A step costs its multiplications or its loads, whichever is more, and `step`: `left` and `right` are the costs of a
    left (broadcast) and a right (vector) load; a right one costs `far` besides where it comes from a larger cache. A
    tile costs `tile`, each of its rows `row`, an accumulator `drain` at the end, a row of a left panel `pack` a step.
    Rows and columns are cut into whole tiles, so what a tile computes in vain is part of the price.
    """

    machine: Machine
    dtype: ir.Type
    left: float = 0.5
    right: float = 1.0
    far: float = 0.0
    step: float = 0.25
    tile: float = 24.0
    row: float = 0.0
    drain: float = 4.0
    pack: float = 0.0

    @cached_property
    def lanes(self) -> int:
        return self.machine.lanes(size_of(self.dtype))

    def cost(self, shape: tuple[int, int], rows: int, columns: int, depth: int) -> float:
        """The price of `rows x columns` sums of `depth` products on tiles of `shape` (rows, vectors)."""
        return self.costs(shape, (rows,), (columns,), depth)

    def costs(self, shape: tuple[int, int], rows: Sequence[int], columns: Sequence[int], depth: int) -> float:
        """The price of products of every number of rows with every number of columns."""
        (r, v), lanes = shape, self.lanes
        multiplications, loads = r * v * (1.0 if self.machine.fma else 2.0), r * self.left + v * self.right
        step = max(multiplications, loads, float(self.machine.pending)) + self.step
        tile = depth * (step + v * self.far + 0.02 * (r + 2 * v)) + r * (v * self.drain + self.row) + self.tile
        down, across = sum([-(-n // r) for n in rows]), sum([-(-n // (v * lanes)) for n in columns])
        return down * (across * tile + len(columns) * depth * self.pack * -(-r // lanes))


def shares(batch: Extent) -> tuple[int, ...]:
    """Into how many parts it may pay to cut the channels of a layer, so that all threads have work."""
    return (1, 2, 4, 8) if isinstance(batch, int) and batch < 8 else (1,)


def idle(bands: int, blocks: int, each: int, batch: Extent) -> float:
    """How much longer a layer takes because two or four threads cannot share its tasks out evenly: there are as many as
    an image has bands and its `blocks` of channels have parts of `each`.
    """
    parts = -(-blocks // each)
    if not isinstance(batch, int) or bands * parts * batch >= 64:
        return 1.0
    tasks = bands * parts * batch
    return parts * each / blocks * sum(-(-tasks // threads) * threads / tasks for threads in (2, 2, 4)) / 3


@lru_cache(maxsize=4096)
def best_tile(price: Price, rows: tuple[int, ...], columns: tuple[int, ...], depth: int) -> Tile:
    """The cheapest tile for these numbers of rows and columns (several: for the sum over them)."""
    lanes = price.lanes
    down = steps(rows, 1, 29)
    shapes = [(r, v) for v in steps(columns, lanes, 9) for r in down if fits(price.machine, r, v)]
    return Tile(price.machine, price.dtype, *min(shapes, key=lambda shape: price.costs(shape, rows, columns, depth)))


def steps(counts: Sequence[int], unit: int, end: int) -> list[int]:
    """The numbers of units below `end` that cut some count into fewer parts than one unit less: others cost more."""
    parts = [tuple([-(-n // (k * unit)) for n in counts]) for k in range(1, end)]
    return [k for k in range(1, end) if k == 1 or parts[k - 1] != parts[k - 2]]


def fits(machine: Machine, rows: int, vectors: int) -> bool:
    """Whether a tile's accumulators stay in registers, beside a right operand and one or two more."""
    return rows * vectors + vectors <= machine.registers - (1 if machine.fma else 2)


def tiles(price: Price, rows: tuple[int, ...], columns: tuple[int, ...], depth: int, whole: bool = False
          ) -> tuple[tuple[float, Tile], ...]:
    """All tiles with their prices; with `whole`, those that divide the columns."""
    lanes = price.lanes
    widths = [v for v in range(1, 9) if not (whole and any(n % (v * lanes) for n in columns))]
    shapes = [(r, v) for v in widths for r in range(1, 29) if fits(price.machine, r, v)]
    return tuple((price.costs(shape, rows, columns, depth), Tile(price.machine, price.dtype, *shape))
                 for shape in shapes)
