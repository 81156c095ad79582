"""Which depths of a product a tile has to visit, where its operands or its result have corners."""
from __future__ import annotations

from stele.backend.contract.code import Code, Int
from stele.backend.contract.tile import Tile
from stele.kernel.corners import Corners


def reach(b: Code, corners: Corners, tile: Tile, i: Int, j: Int, deep: tuple[Int, Int]) -> tuple[Int, Int]:
    """The part of the depths `deep` that makes elements of a tile at (i, j); empty where that lies in a corner."""
    (low, high), (left, right, result) = deep, corners
    rows, columns = i + (tile.rows - 1), j + (tile.columns - 1)
    ends = [(c.side, rows + c.start) if c.side > 0 else (-1, i + (1 - c.start)) for c in left]
    ends += [(1, columns + c.start) if c.side < 0 else (-1, j + (1 - c.start)) for c in right]
    for side, end in ends:
        low, high = (low, b.least(high, end)) if side > 0 else (b.most(low, end), high)
    for c in result:
        near, far = (j, rows) if c.side > 0 else (i, columns)
        high = b.either(near - far >= c.start, low, high)
    return low, high
