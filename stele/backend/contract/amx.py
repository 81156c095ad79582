"""Products of float32 in tile registers (AMX): a number is the sum of three of bfloat16, a product six of theirs.

A number of 24 bits is cut into pieces of 8, exactly. Of the nine products of pieces those of the second with the third
and of the third with the third are left out: they are less than 2^-22 of the whole.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from llvmlite import ir

from stele.backend.contract.code import Code, Number, Numbers, Pair, Ref, Vectors, read
from stele.backend.contract.pairs import pairs
from stele.backend.llvm.access import Operand
from stele.backend.llvm.launch import i8, i32, i64
from stele.backend.llvm.nest import splat, table, vector
from stele.backend.llvm.vectors import transpose
from stele.kernel.machine import LINE

SIDE, DEEP, PIECES = 16, 32, 3
"""Rows and columns of a tile of sums, the depth of the tiles that it sums, and pieces of a number."""
WIDTH = 2 * SIDE
"""Rows and columns of the sums that are made at once: four tiles, of two from the left and two from the right."""
TILE = SIDE * SIDE
"""Elements of memory of a tile: a panel is `[depth / DEEP][piece][half][SIDE][SIDE]` pairs of bfloat16, the numbers k
and k + 16 of 32 depths; rows of tiles are positions on the left, and pairs on the right."""
SHAPE = WIDTH, 2
"""Rows and vectors of the sums."""
PRICE = {1: 300.0, PIECES: 1530.0}
"""What a step of so many pieces costs, in vector multiplications, of which it stands for 2048. That of three is what it
costs where the core's other thread works too: it waits for tiles 2.5 times as long there, for vectors 1.45 times; alone
it costs 900."""
ORDER = {1: ((0, 0),), PIECES: ((0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (2, 0))}
"""The products of pieces (left, right): only one side changes from one to the next, and both are read as they lie, for
pieces lie in the order in which they are cut on the right, and the other way round on the left."""
word = ir.FloatType()
Address = Callable[[int, int], Ref]
"""`address(piece, half)`: where a tile begins."""


def step(pieces: int = PIECES) -> int:
    """Elements of memory of a panel `DEEP` deep."""
    return 2 * pieces * TILE


def cut(b: Code, low: ir.Value, high: ir.Value, pieces: int = PIECES) -> Vectors:
    """The pieces of two vectors of float32, side by side in pairs: one, rounded, or three that are the whole number.
    What is not finite becomes not-a-number."""
    if pieces == 1:
        return [pairs(b, low, high)]
    kind = vector(i32, SIDE)
    top, half, bits = (splat(b, i32(n), SIDE) for n in (-(1 << 16), 1 << 15, 16))
    rest, found = [low, high], list[ir.Value]()
    for piece in range(pieces):
        words = [b.bitcast(x, kind) for x in rest]
        if piece == 1:
            words = [b.add(x, half) for x in words]
        tops = [b.and_(x, top) for x in words]
        found.append(b.bitcast(b.or_(b.lshr(words[0], bits), tops[1]), vector(word, SIDE)))
        if piece < pieces - 1:
            rest = [b.fsub(x, b.bitcast(t, x.type)) for x, t in zip(rest, tops)]
    return found


def pack(b: Code, operand: Operand, axis: int, index: Callable[[Number, Number], Numbers], to: Ref, across: Pair,
         deep: Pair, side: Literal["left", "right"], pieces: int = PIECES) -> None:
    """Lays positions `across[0]..` below `across[1]`, depths `deep[0]..` below `deep[1]`, into one panel at `to`.
    `axis` is the operand's axis that runs across; what lies past an end is 0."""
    along = operand.lane_axis != axis
    with b.loop(*deep, DEEP) as k, b.loop(0, 2) as half:
        tile = to + ((k - deep[0]) * (step(pieces) // DEEP) + half * TILE)
        x, few = across[0] + half * SIDE, deep[1] - k
        with b.loop(0, SIDE) as r:
            pair: Vectors = []
            for start in (0, SIDE):
                if along:
                    here = index(x + r, k + start)
                    inside = x + r < across[1]
                    count = b.either(inside, few + -start, 0)
                else:
                    here = index(x, k + r + start)
                    inside = r + start < few
                    count = b.either(inside, across[1] - x, 0)
                mask = b.below(count, SIDE)
                pair.append(read(b, operand, here, operand.lane_axis if along else axis, SIDE, mask))
            for piece, row in enumerate(cut(b, pair[0], pair[1], pieces)[::-1 if side == "left" else 1]):
                (tile + (r * SIDE + piece * 2 * TILE)).store(row)
        if along != (side == "left"):
            with b.loop(0, pieces) as piece:
                turn(b, tile + piece * (2 * TILE))


def turn(b: Code, tile: Ref) -> None:
    """Transposes the pairs of one tile in memory."""
    rows = [tile + r * SIDE for r in range(SIDE)]
    for row, column in zip(rows, transpose(b, [row.load(SIDE) for row in rows])):
        row.store(column)


def begin(b: Code) -> None:
    """Shapes the tile registers of a thread: all are 16 rows of 64 bytes."""
    sizes: list[int] = [1, *[0] * 15, *[64, 0] * 8, *[0] * 16, *[SIDE] * 8, *[0] * 8]
    words = [int.from_bytes(sizes[k:k + 8], "little") for k in range(0, 64, 8)]
    shapes = b.module.globals.get("amx.shapes") or table(b.module, "amx.shapes", words)
    call(b, "ldtilecfg", shapes)


def end(b: Code) -> None:
    """Gives the tile registers back: a thread that holds none is cheaper to interrupt."""
    call(b, "tilerelease")


def clear(b: Code) -> None:
    """All sums are 0."""
    for number in range(4):
        call(b, "tilezero", i8(number))


def move(b: Code, name: Literal["tileloadd64", "tilestored64"], sums: Ref, pitch: int) -> None:
    """Sums from memory, or to it, where rows are `pitch` elements apart."""
    corners = [sums + (i * SIDE * pitch + j * SIDE) for i in range(2) for j in range(2)]
    for number, corner in enumerate(corners):
        call(b, name, i8(number), corner.address, i64(4 * pitch))


def finish(b: Code, sums: Ref, pitch: int) -> None:
    """Sums to memory."""
    move(b, "tilestored64", sums, pitch)


def multiply(b: Code, left: Address, right: Address, pitch: int = SIDE, pieces: int = PIECES) -> None:
    """Adds the products of `DEEP` depths to the sums; rows of the right operand are `pitch` elements apart."""
    before: tuple[int | None, int | None] = None, None
    for x, y in ORDER[pieces]:
        for half in range(2):
            if x != before[0]:
                call(b, "tileloadd64", i8(4 + half), left(x, half).address, i64(64))
            if y != before[1]:
                call(b, "tileloadd64", i8(6 + half), right(y, half).address, i64(4 * pitch))
        before = x, y
        for number in range(4):
            call(b, "tdpbf16ps", i8(number), i8(4 + number // 2), i8(6 + number % 2))


def tile(b: Code, left: Ref, right: Ref, depth: Number, sums: Ref, first: ir.Value | None, coming: Ref, lines: int,
         pieces: int) -> None:
    """The products of two panels, added to sums in memory unless they are the first. At every step some `lines` of
    memory are asked for from `coming` on: few are on their way to a core at a time."""
    if first is None:
        clear(b)
    else:
        with b.if_else(first) as (new, old):
            with new:
                clear(b)
            with old:
                move(b, "tileloadd64", sums, WIDTH)
    with b.loop(0, depth, DEEP) as k:
        line = coming.bytes(k * (lines * LINE // DEEP))
        for number in range(lines):
            line.bytes(number * LINE).prefetch(level=2)
        row, column = (start + k * (step(pieces) // DEEP) for start in (left, right))
        multiply(b, panel(row), panel(column), pieces=pieces)
    finish(b, sums, WIDTH)


def panel(start: Ref) -> Address:
    """The tiles of one step of a panel."""
    return lambda piece, half: start + (2 * piece + half) * TILE


def call(b: Code, name: str, *x: ir.Value) -> None:
    """One of the instructions for tiles."""
    kind = ir.FunctionType(ir.VoidType(), [v.type for v in x])
    b.call(b.module.declare_intrinsic(f"llvm.x86.{name}", fnty=kind), x)
