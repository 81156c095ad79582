"""Products of float32 in tile registers (AMX): a number is the sum of three of bfloat16, a product six of theirs.

A number of 24 bits is cut into pieces of 8, exactly. Of the nine products of pieces those of the second with the third
and of the third with the third are left out: they are less than 2^-22 of the whole.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from llvmlite import ir

from stele.backend.llvm.access import Builder, Index, Operand, Pair
from stele.backend.llvm.launch import i8, i32, i64
from stele.backend.llvm.nest import (
    LINE,
    at,
    bytes_at,
    lanes_below,
    load,
    loop,
    prefetch,
    scaled,
    splat,
    store,
    table,
    total,
    vector,
)
from stele.backend.llvm.pack import transpose
from stele.backend.llvm.pairs import pairs

SIDE, DEEP, PIECES = 16, 32, 3
"""Rows and columns of a tile of sums, the depth of the tiles that it sums, and pieces of a number."""
WIDTH = 2 * SIDE
"""Rows and columns of the sums that are made at once: four tiles, of two from the left and two from the right."""
TILE = SIDE * SIDE
"""Elements of memory of a tile: a panel is `[depth / DEEP][piece][half][SIDE][SIDE]` pairs of bfloat16, the numbers k
and k + 16 of 32 depths; rows of tiles are positions on the left, and pairs on the right."""
SHAPE = WIDTH, 2
"""Rows and vectors of the sums."""
PRICE = {1: 300.0, PIECES: 900.0}
"""What a step of so many pieces costs, in vector multiplications, of which it stands for 2048."""
ORDER = {1: ((0, 0),), PIECES: ((0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (2, 0))}
"""The products of pieces (left, right): only one side changes from one to the next, and both are read as they lie, for
pieces lie in the order in which they are cut on the right, and the other way round on the left."""
word = ir.FloatType()
Place = Callable[[ir.Value, ir.Value], Index]
Address = Callable[[int, int], ir.Value]
"""`address(piece, half)`: where a tile begins."""


def step(pieces: int = PIECES) -> int:
    """Elements of memory of a panel `DEEP` deep."""
    return 2 * pieces * TILE


def cut(b: Builder, low: ir.Value, high: ir.Value, pieces: int = PIECES) -> list[ir.Value]:
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


def pack(b: Builder, ctx: ir.Value, operand: Operand, axis: int, place: Place, to: ir.Value, across: Pair, deep: Pair,
         side: Literal["left", "right"], pieces: int = PIECES) -> None:
    """Lays positions `across[0]..` below `across[1]`, depths `deep[0]..` below `deep[1]`, into one panel at `to`.
    `axis` is the operand's axis that runs across; what lies past an end is 0."""
    along = operand.lane_axis != axis
    with loop(b, deep[0], deep[1], DEEP) as k, loop(b, 0, 2) as half:
        tile = at(b, to, total(b, scaled(b, b.sub(k, deep[0]), step(pieces) // DEEP), scaled(b, half, TILE)), word)
        x, few = total(b, across[0], scaled(b, half, SIDE)), b.sub(deep[1], k)
        with loop(b, 0, SIDE) as r:
            pair: list[ir.Value] = []
            for start in (0, SIDE):
                if along:
                    here = place(total(b, x, r), total(b, k, start))
                    inside = b.icmp_signed("<", total(b, x, r), across[1])
                    count = b.select(inside, total(b, few, -start), i64(0))
                else:
                    here = place(x, total(b, k, r, start))
                    inside = b.icmp_signed("<", total(b, r, start), few)
                    count = b.select(inside, b.sub(across[1], x), i64(0))
                mask = lanes_below(b, count, SIDE)
                pair.append(operand.read(b, ctx, here, operand.lane_axis if along else axis, SIDE, mask))
            for piece, row in enumerate(cut(b, pair[0], pair[1], pieces)[::-1 if side == "left" else 1]):
                store(b, row, at(b, tile, total(b, scaled(b, r, SIDE), piece * 2 * TILE), word), word)
        if along != (side == "left"):
            with loop(b, 0, pieces) as piece:
                turn(b, at(b, tile, scaled(b, piece, 2 * TILE), word))


def turn(b: Builder, tile: ir.Value) -> None:
    """Transposes the pairs of one tile in memory."""
    rows = [at(b, tile, r * SIDE, word) for r in range(SIDE)]
    for row, column in zip(rows, transpose(b, [load(b, row, word, SIDE) for row in rows])):
        store(b, column, row, word)


def begin(b: Builder) -> None:
    """Shapes the tile registers of a thread: all are 16 rows of 64 bytes."""
    sizes: list[int] = [1, *[0] * 15, *[64, 0] * 8, *[0] * 16, *[SIDE] * 8, *[0] * 8]
    words = [int.from_bytes(sizes[k:k + 8], "little") for k in range(0, 64, 8)]
    shapes = b.module.globals.get("amx.shapes") or table(b.module, "amx.shapes", words)
    call(b, "ldtilecfg", shapes)


def end(b: Builder) -> None:
    """Gives the tile registers back: a thread that holds none is cheaper to interrupt."""
    call(b, "tilerelease")


def clear(b: Builder) -> None:
    """All sums are 0."""
    for number in range(4):
        call(b, "tilezero", i8(number))


def resume(b: Builder, sums: ir.Value, pitch: int) -> None:
    """Sums go on from memory, where rows are `pitch` elements apart."""
    for number, address in enumerate(_corners(b, sums, pitch)):
        call(b, "tileloadd64", i8(number), address, i64(4 * pitch))


def finish(b: Builder, sums: ir.Value, pitch: int) -> None:
    """Sums to memory."""
    for number, address in enumerate(_corners(b, sums, pitch)):
        call(b, "tilestored64", i8(number), address, i64(4 * pitch))


def _corners(b: Builder, sums: ir.Value, pitch: int) -> list[ir.Value]:
    return [at(b, sums, i * SIDE * pitch + j * SIDE, word) for i in range(2) for j in range(2)]


def multiply(b: Builder, left: Address, right: Address, pitch: int = SIDE, pieces: int = PIECES) -> None:
    """Adds the products of `DEEP` depths to the sums; rows of the right operand are `pitch` elements apart."""
    before: tuple[int | None, int | None] = None, None
    for x, y in ORDER[pieces]:
        for half in range(2):
            if x != before[0]:
                call(b, "tileloadd64", i8(4 + half), left(x, half), i64(64))
            if y != before[1]:
                call(b, "tileloadd64", i8(6 + half), right(y, half), i64(4 * pitch))
        before = x, y
        for number in range(4):
            call(b, "tdpbf16ps", i8(number), i8(4 + number // 2), i8(6 + number % 2))


def tile(b: Builder, left: ir.Value, right: ir.Value, depth: ir.Value, sums: ir.Value, first: ir.Value | None,
         coming: ir.Value, lines: int, pieces: int) -> None:
    """The products of two panels, added to sums in memory unless they are the first. At every step some `lines` of
    memory are asked for from `coming` on: few are on their way to a core at a time."""
    if first is None:
        clear(b)
    else:
        with b.if_else(first) as (new, old):
            with new:
                clear(b)
            with old:
                resume(b, sums, WIDTH)
    with loop(b, 0, depth, DEEP) as k:
        line = at(b, coming, scaled(b, k, lines * LINE // DEEP), i8)
        for number in range(lines):
            prefetch(b, bytes_at(b, line, number * LINE), level=2)
        row, column = (at(b, start, scaled(b, k, step(pieces) // DEEP), word) for start in (left, right))
        multiply(b, panel(b, row), panel(b, column), pieces=pieces)
    finish(b, sums, WIDTH)


def panel(b: Builder, start: ir.Value) -> Address:
    """The tiles of one step of a panel."""
    return lambda piece, half: at(b, start, (2 * piece + half) * TILE, word)


def call(b: Builder, name: str, *x: ir.Value) -> None:
    """One of the instructions for tiles."""
    kind = ir.FunctionType(ir.VoidType(), [v.type for v in x])
    b.call(b.module.declare_intrinsic(f"llvm.x86.{name}", fnty=kind), x)
