"""How a matrix product is cut into tasks, and where the microkernel finds its operands: the cheapest by estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from llvmlite import ir

from stele.backend.base import Precision
from stele.backend.contract import amx
from stele.backend.contract.bilinear import ONE, STRASSEN, Scheme
from stele.backend.contract.tile import LEFT, Price, Product, Tile, tiles
from stele.backend.llvm.access import Extent, Operand, size_of
from stele.backend.llvm.nest import round_up
from stele.ir.record import Record
from stele.kernel.corners import NONE, Corners
from stele.kernel.machine import Machine

Mode = Literal["in place", "task", "shared", "either"]
"""Where the microkernel finds an operand: in place, packed by each task in scratch, packed once in a temporary, or in
place in calls with few rows and packed once in others."""


FEW_ROWS, FEW_PAGES, PAGE = 256, 80, 4096
"""Packing the right operand for fewer rows costs more than it gains; or for so many, where its own rows lie a page and
more apart, so that those of a panel meet in few places of a cache."""
PASSING, RESIDENT = 30.0, 5.0
"""What sums of parts cost more than parts, a vector: where they go through memory, and where they stay near."""
AGAIN, HIDDEN = 12.0, 0.25
"""What sums cost that are made once more, a vector; and the share of a product's time behind which memory goes unseen,
where the left operand's sums of parts are more than half of the third cache."""
NEAR = 2.0
"""How many times `far` a vector costs on top, where the sums of parts of a panel fill the second-level cache."""
DRAIN, PIECE, BEGIN = 32.0, 11.0, 4000.0
"""What a row of sums costs that leaves tile registers, a piece of a vector for them, and to begin."""
MANY = 16
"""Tasks that need an operand which all of a batch share, at least."""
DEEP = 512
"""The depth of a slice, where a product is cut along its depth."""


class Gemm(Record):
    """The sizes of a matrix product; lanes run over `n`. `product` is what the microkernel computes for `x y + z`,
    `pieces` of bfloat16 stand for a number in tile registers; where one does, nothing else may compute the product.

    What corners of operands hold is zero, or not looked at; tiles in a corner of the result become zero.
    """

    batch: Extent
    m: Extent
    n: Extent
    k: Extent
    dtype: ir.Type
    product: Product | None = None
    corners: Corners = NONE
    pieces: int = amx.PIECES

    def __str__(self) -> str:
        rounded = self.product or self.pieces == 1
        return f"{self.batch}x{self.m}x{self.n}x{self.k} {'bf16' if rounded else self.dtype}"


class Schedule(Record):
    """How a product is cut: by a scheme into products of the sizes `part`; a task makes `m x n` elements of each part,
    `k` deep at a time, from a slice of depth `slice`. Where there are several parts, `k` is all of their depth.
    """

    scheme: Scheme
    part: Gemm
    tile: Tile
    m: int
    n: int
    k: int
    slice: int | None
    left: Mode
    right: Mode

    def __str__(self) -> str:
        deep = "" if self.slice is None else f", slices of {self.slice}"
        return f"{self.scheme} tiles {self.tile}, tasks {self.m}x{self.n}x{self.k}{deep}, {self.left} and {self.right}"


def schedule(machine: Machine, spec: Gemm, left: Operand, right: Operand, precision: Precision = "fast") -> Schedule:
    """The schedule of a product: a function of the machine and of the sizes that are known."""
    lanes = machine.lanes(size_of(spec.dtype))
    rows = (spec.m,) if isinstance(spec.m, int) else (32, 64, 96)
    columns = (spec.n,) if isinstance(spec.n, int) else (32, 64, 96)
    depth = spec.k if isinstance(spec.k, int) else 256
    lies = right.plain is not None and right.plain.strides[2] == 1
    either = lies and not isinstance(spec.m, int) and not right.batched and not right.steady
    few = lies and (either or rows[-1] <= few_rows(machine, spec, right))
    whole = few and isinstance(spec.n, int) and spec.n % lanes == 0
    batch = spec.batch if isinstance(spec.batch, int) else 1
    large = Price(machine, spec.dtype, left=LEFT * machine.pace, far=machine.far)
    price = replace(large, pack=2.0) if rows[-1] > FEW_ROWS else Price(machine, spec.dtype, pack=2.0)
    found = tiles(price, rows, columns, depth, whole)
    candidates: list[tuple[float, Tile | Schedule]] = [*found]
    if whole and _in_place(machine, spec, left, 1, spec.m, 1):
        near = Price(machine, spec.dtype, left=LEFT * machine.pace, step=1.0, row=40.0, tile=600.0)
        candidates = [(_in_tasks(near, tile, batch, rows, columns, depth), tile) for _, tile in found]
    if precision == "fast" and not few and spec.product is None and isinstance(spec.dtype, ir.FloatType):
        candidates += by_parts(machine, spec, right, large)
    if machine.amx and precision != "strict" and spec.product is None and isinstance(spec.dtype, ir.FloatType):
        in_tiles = Tile(machine, spec.dtype, *amx.SHAPE, pieces=spec.pieces)
        candidates = [*(candidates if spec.pieces > 1 else ()), (_in_tiles(in_tiles, rows, columns, depth), in_tiles)]
    tile = machine.choices.choose(f"gemm {spec}", candidates)[1]
    if isinstance(tile, Schedule):
        return tile
    tile = replace(tile, product=spec.product)
    blocks = max(-(-depth // (machine.l2 // 2048 * 4 // tile.bytes)), 1)     # of a sum over nothing too
    block_k = round_up(-(-depth // blocks), tile.deep) if isinstance(spec.k, int) else 256
    m, n = _task(tile, batch, rows[-1], columns[-1], depth)
    slice = None
    if spec.batch == 1 and _is_deep(machine, spec, depth):
        m, n = round_up(rows[-1], tile.rows), round_up(columns[-1], tile.columns)
        slice, block_k = _slice(tile, spec.k)
    across = slice is not None and left.plain is not None and left.plain.strides[1] == 1 and rows[-1] % tile.rows == 0
    left_lies = across or _in_place(machine, spec, left, 1, spec.m, tile.rows)
    right_lies = whole or _in_place(machine, spec, right, 2, spec.n, tile.columns)
    return Schedule(ONE, spec, tile, m, n, block_k, slice,
                    _mode(tile, left_lies, -(-columns[-1] // n) if left.batched else MANY),
                    "either" if whole and either and not tile.pieces else
                    _mode(tile, right_lies, -(-rows[-1] // m) if right.batched else MANY))


def few_rows(machine: Machine, spec: Gemm, right: Operand) -> int:
    """As many rows as are few for a right operand that lies in rows of vectors: none for one that is packed once for
    all calls and that no cache near a core holds, since panels come in one stream, and pieces of rows do not."""
    assert right.plain is not None
    row = right.plain.strides[1] * size_of(spec.dtype)
    kept = right.steady and not right.batched and isinstance(spec.k, int) and spec.k * row > machine.l2
    return 0 if kept else FEW_ROWS if row < PAGE else FEW_PAGES


def by_parts(machine: Machine, spec: Gemm, right: Operand, price: Price) -> list[tuple[float, Schedule]]:
    """Schedules with prices for seven products of parts instead of eight: sums of parts of a panel of the right operand
    stay with a task in the second-level cache as far as they find room, those of the left are packed once and pass by.
    Operands whose parts take much memory are left whole.
    """
    even = [x for x in (spec.m, spec.n, spec.k) if isinstance(x, int) and x % 2 == 0]
    if len(even) < 3 or spec.corners != NONE or 7 * even[0] * even[2] > 4 * machine.l3:
        return []
    m, n, k = even
    part, found = replace(spec, m=m // 2, n=n // 2, k=k // 2), list[tuple[float, Schedule]]()
    for tile in [tile for _, tile in tiles(price, (m // 2,), (n // 2,), k // 2) if tile.vectors > 1]:
        near = replace(price, far=price.far * (1 + NEAR * min(14 * tile.columns * k / machine.l2, 1.0)))
        products = 7 * near.cost((tile.rows, tile.vectors), m // 2, n // 2, k // 2)
        most, stream = m // 2 // tile.rows, 7 / 8 * m * k * n / tile.columns / tile.lanes * machine.memory
        least = max(1, min(most, machine.tasks // -(-n // 2 // tile.columns))) if right.plain else 1
        near_rows = max(least, min(most, -(-7 * m * k * size_of(spec.dtype) // (2 * machine.l3))))
        sums = (PASSING * m * k + RESIDENT * (least * k * n + m * n)) / tile.lanes
        for down in {least, near_rows} if right.plain else {1}:
            again = AGAIN * (down - least) * k * n / tile.lanes
            waits = max(stream - HIDDEN * products, 0.0) / 2 if down < near_rows else 0.0
            rows = round_up(-(-m // 2 // down), tile.rows)
            cut = Schedule(STRASSEN, part, tile, rows, tile.columns, k // 2, None, "shared", "task")
            found.append((products + sums + again + waits, cut))
    return found


def _in_tiles(tile: Tile, rows: Sequence[int], columns: Sequence[int], k: int) -> float:
    """The price of a product in tile registers: its steps, its sums, and the pieces of both operands."""
    steps = -(-k // amx.DEEP)
    down, across = [-(-n // amx.WIDTH) for n in rows], [-(-n // amx.WIDTH) for n in columns]
    tiles, panels = sum(down) * sum(across), sum(down) * len(columns) + sum(across) * len(rows)
    vectors = panels * steps * amx.DEEP * amx.WIDTH / amx.SIDE
    return BEGIN + tiles * (steps * amx.PRICE[tile.pieces] + DRAIN * amx.WIDTH) + vectors * tile.pieces * PIECE


def _is_deep(machine: Machine, spec: Gemm, depth: int) -> bool:
    """Whether depth is what there is to share out: each task then packs a slice of its own of both operands."""
    if not (isinstance(spec.m, int) and isinstance(spec.n, int)):
        return False
    small = spec.m * spec.n * size_of(spec.dtype) <= machine.l2 // 4 and max(spec.m, spec.n) <= DEEP
    return small and (not isinstance(spec.k, int) or depth >= max(8 * max(spec.m, spec.n), 4 * DEEP))


def _in_tasks(price: Price, tile: Tile, batch: int, rows: Sequence[int], columns: Sequence[int], k: int) -> float:
    """The price of a product of operands in place, each task of it cut into whole tiles."""
    def cut(counts: Sequence[int], task: int) -> list[int]:
        return [min(task, count - start) for count in counts for start in range(0, count, task)]

    m, n = _task(tile, batch, rows[-1], columns[-1], k)
    far = tile.machine.far if tile.is_far(k) else 0.0
    down, across = cut(rows, m), cut(columns, n)
    if len(down) * len(across) == 2:    # they run side by side, and the larger one ends last
        down, across = [max(down)] * len(down), [max(across)] * len(across)
    return replace(price, far=far).costs((tile.rows, tile.vectors), down, across, k)


def _slice(tile: Tile, k: Extent) -> tuple[int, int]:
    """The depth of a slice, and of a block of it."""
    if not isinstance(k, int):
        return DEEP, DEEP
    slice = round_up(-(-k // (8 * -(-k // (24 * DEEP)))), tile.deep)
    return slice, round_up(-(-slice // -(-slice // DEEP)), tile.deep)


def _task(tile: Tile, batch: int, m: int, n: int, k: int) -> tuple[int, int]:
    """The part of C one task makes: its rows of the left operand fill half of a cache, for as many columns as leave
    room for panels of the right one; small enough that there are as many as the machine asks for. Tile registers are
    fed from memory that all cores share unless a task is large."""
    machine = tile.machine
    work, rows, columns, tasks, each = 2 * batch * m * n * k, m, 192, machine.tasks, 1_000_000
    if tile.pieces:
        rows, columns, tasks, each = 4 * tile.rows, 1024, machine.tasks // 2, 64_000_000
    wanted = min(tasks, max(1 + (work >= machine.fork), work // each))
    down, right = -(-m // (machine.l2 // 2 // (DEEP * tile.bytes))), -(-n // columns)
    while batch * down * right < wanted:
        if n // right >= m // down and n // right > tile.columns and m // down <= rows:
            right *= 2
        elif m // down > tile.rows:
            down *= 2
        else:
            break
    return round_up(-(-m // down), tile.rows), round_up(-(-n // right), tile.columns)


def _mode(tile: Tile, lies: bool, readers: int) -> Mode:
    """In place where memory `lies` as the microkernel wants it, else packed by the task when no other task needs the
    same panels; two tasks pack pieces twice, for these are larger than the operand."""
    if lies and not tile.pieces:
        return "in place"
    return "task" if readers <= 1 + bool(tile.pieces) else "shared"


def _in_place(machine: Machine, spec: Gemm, operand: Operand, axis: int, extent: Extent, width: int) -> bool:
    """Whether memory already lies as the microkernel wants it."""
    plain, size = operand.plain, size_of(spec.dtype)
    if plain is None or not isinstance(spec.k, int):
        return False
    across, deep = plain.strides[axis], plain.strides[3 - axis]
    whole = isinstance(extent, int) and extent % width == 0
    apart = max(across, deep) * size
    small = isinstance(extent, int) and spec.k * extent * size <= machine.l1
    near = small or (apart % 2048 != 0 and apart * (width if deep == 1 else spec.k) <= machine.l2)
    return near and ((deep == 1 and axis == 1) or (whole and (axis == 1 or across == 1)))
