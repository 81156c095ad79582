"""Which depths of a product a tile has to visit, where its operands or its result have corners."""

from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.access import Builder, Pair
from stele.backend.llvm.launch import i64
from stele.backend.llvm.microkernel import Tile
from stele.backend.llvm.nest import least, most, total
from stele.kernel.corners import Corners


def reach(b: Builder, corners: Corners, tile: Tile, i: ir.Value, j: ir.Value, deep: Pair) -> Pair:
    """The part of the depths `deep` that makes elements of a tile at (i, j); empty where that lies in a corner."""
    (low, high), (left, right, result) = deep, corners
    rows, columns = total(b, i, tile.rows - 1), total(b, j, tile.columns - 1)
    ends = [(c.side, total(b, rows, c.start)) if c.side > 0 else (-1, total(b, i, 1 - c.start)) for c in left]
    ends += [(1, total(b, columns, c.start)) if c.side < 0 else (-1, total(b, j, 1 - c.start)) for c in right]
    for side, end in ends:
        low, high = (low, least(b, high, end)) if side > 0 else (most(b, low, end), high)
    for c in result:
        near, far = (j, rows) if c.side > 0 else (i, columns)
        high = b.select(b.icmp_signed(">=", b.sub(near, far), i64(c.start)), low, high)
    return low, high
