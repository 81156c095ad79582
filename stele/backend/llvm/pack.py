"""Operands copied into panels `[depth][width]`, with whatever is fused in front of them, transposed in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from stele.backend.llvm.access import Builder, Index, Operand, Pair, size_of
from stele.backend.llvm.launch import i1, i32, i64
from stele.backend.llvm.nest import (
    at,
    integers,
    lanes_below,
    load,
    loop,
    round_up,
    scaled,
    shuffle,
    store,
    suffix,
    total,
    undefined,
)

Place = Callable[[ir.Value, ir.Value], Index]
"""`place(x, k)`: the operand's index at position `x` across the panel and depth `k`."""


@dataclass(frozen=True)
class Panel:
    """How panels of one operand lie: `width` elements across, stored at every depth."""

    dtype: ir.Type
    lanes: int
    width: int

    def depth(self, k: int) -> int:
        """Depths a panel has room for: packing writes whole vectors of depths."""
        return round_up(k, self.lanes)

    def size(self, k: int) -> int:
        return self.depth(k) * self.width


def pack_panel(b: Builder, ctx: ir.Value, panel: Panel, operand: Operand, axis: int, place: Place, to: ir.Value,
               across: Pair, deep: Pair, buffer: ir.Value) -> None:
    """Copies positions `across[0]..` below `across[1]`, depths `deep[0]..` below `deep[1]`, to one panel at `to`.

    `axis` is the operand's axis that runs across the panel. Positions past the end become zeros. `buffer` has room for
    `lanes * lanes` elements and is used when the operand is contiguous in depth, to transpose.
    """
    if operand.lane_axis == axis:
        _copy(b, ctx, panel, operand, axis, place, to, across, deep)
    else:
        _transpose(b, ctx, panel, operand, place, to, across, deep, buffer)


def _copy(b: Builder, ctx: ir.Value, panel: Panel, operand: Operand, axis: int, place: Place, to: ir.Value,
          across: Pair, deep: Pair) -> None:
    """Reads along the panel, one depth after another."""
    parts = [(x0, total(b, across[0], x0)) for x0 in range(0, panel.width, panel.lanes)]
    masks = [lanes_below(b, b.sub(across[1], x), panel.lanes) for _, x in parts]
    with loop(b, deep[0], deep[1]) as k:
        row = at(b, to, scaled(b, b.sub(k, deep[0]), panel.width), panel.dtype)
        for (x0, x), mask in zip(parts, masks):
            vector = operand.read(b, ctx, place(x, k), axis, panel.lanes, mask)
            store_lanes(b, vector, at(b, row, x0, panel.dtype), panel.dtype, min(panel.lanes, panel.width - x0))


def _transpose(b: Builder, ctx: ir.Value, panel: Panel, operand: Operand, place: Place, to: ir.Value,
               across: Pair, deep: Pair, buffer: ir.Value) -> None:
    """Reads squares along the depth and stores their columns."""
    lanes, dtype = panel.lanes, panel.dtype
    with loop(b, deep[0], deep[1], lanes) as k, loop(b, 0, panel.width, lanes) as x0:
        with loop(b, 0, lanes) as r:
            x = total(b, across[0], x0, r)
            inside = b.and_(b.icmp_signed("<", x, across[1]), b.icmp_signed("<", b.add(x0, r), i64(panel.width)))
            mask = lanes_below(b, b.select(inside, b.sub(deep[1], k), i64(0)), lanes)
            vector = operand.read(b, ctx, place(x, k), operand.lane_axis, lanes, mask)
            store(b, vector, at(b, buffer, scaled(b, r, lanes), dtype), dtype)
        columns = transpose(b, [load(b, at(b, buffer, r * lanes, dtype), dtype, lanes) for r in range(lanes)])
        row = at(b, to, total(b, scaled(b, b.sub(k, deep[0]), panel.width), x0), dtype)
        rest = b.sub(i64(panel.width), x0)
        for i, vector in enumerate(columns):
            target = at(b, row, i * panel.width, dtype)
            if panel.width % lanes == 0:
                store(b, vector, target, dtype)
            else:
                masked_store(b, vector, target, dtype, lanes_below(b, rest, lanes))


def transpose(b: Builder, rows: list[ir.Value]) -> list[ir.Value]:
    """The columns of a square of vectors: one exchange of halves of blocks per power of two."""
    n, half = len(rows), len(rows) // 2
    while half:
        low = [l if l & half == 0 else n + l - half for l in range(n)]
        high = [l + half if l & half == 0 else n + l for l in range(n)]
        result = list(rows)
        for i in range(n):
            if i & half == 0:
                result[i] = shuffle(b, rows[i], rows[i + half], low)
                result[i + half] = shuffle(b, rows[i], rows[i + half], high)
        rows, half = result, half // 2
    return rows


def store_lanes(b: Builder, vector: ir.Value, address: ir.Value, dtype: ir.Type, count: int) -> None:
    """Stores the first `count` lanes."""
    lanes = vector.type.count
    if count == lanes:
        store(b, vector, address, dtype)
        return
    masked_store(b, vector, address, dtype, integers(i1, tuple(int(l < count) for l in range(lanes))))


def masked_store(b: Builder, vector: ir.Value, address: ir.Value, dtype: ir.Type, mask: ir.Value) -> None:
    """Stores the lanes of `vector` that `mask` selects."""
    if isinstance(dtype, ir.IntType) and dtype.width < 64:
        mask = opaque(b, mask)
    kind = ir.FunctionType(ir.VoidType(), [vector.type, address.type, i32, mask.type])
    function = b.module.declare_intrinsic(f"llvm.masked.store.{suffix(vector.type)}.p0", fnty=kind)
    b.call(function, [vector, address, i32(size_of(dtype)), mask])


def opaque(b: Builder, mask: ir.Value) -> ir.Value:
    """A mask that LLVM cannot know: under a constant mask of one lane, LLVM 22 stores integers it should narrow
    first at their full width, over what lies behind them (AVX-512)."""
    bits = ir.IntType(mask.type.count)
    word = b.zext(b.bitcast(mask, bits), i64)
    hidden = b.asm(ir.FunctionType(i64, [i64]), "", "=r,0", [word], side_effect=False)
    return b.bitcast(b.trunc(hidden, bits), mask.type)


def masked_load(b: Builder, address: ir.Value, dtype: ir.Type, mask: ir.Value) -> ir.Value:
    """The elements at `address` where `mask` selects, and 0 elsewhere."""
    vector = ir.VectorType(dtype, mask.type.count)
    kind = ir.FunctionType(vector, [address.type, i32, mask.type, vector])
    function = b.module.declare_intrinsic(f"llvm.masked.load.{suffix(vector)}.p0", fnty=kind)
    return b.call(function, [address, i32(size_of(dtype)), mask, ir.Constant(vector, None)])


def compress(b: Builder, vector: ir.Value, mask: ir.Value) -> ir.Value:
    """The lanes of `vector` that `mask` selects, moved together to the front; the others are undefined."""
    kind = ir.FunctionType(vector.type, [vector.type, mask.type, vector.type])
    function = b.module.declare_intrinsic(f"llvm.experimental.vector.compress.{suffix(vector.type)}", fnty=kind)
    return b.call(function, [vector, mask, undefined(vector.type.element, vector.type.count)])
