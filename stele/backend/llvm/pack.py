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
    prefetch,
    scaled,
    shuffle,
    store,
    suffix,
    total,
    undefined,
)
from stele.backend.llvm.schemes import ONE, Scheme

LATER, ROWS_LATER = 64, 16
"""How many depths ahead an operand is asked for, where they lie side by side and where they are rows of memory."""
Place = Callable[[ir.Value, ir.Value], Index]
"""`place(x, k)`: the operand's index at position `x` across the panel and depth `k`."""


@dataclass(frozen=True)
class Panel:
    """How panels of one operand lie: `width` elements across, stored at every depth. Packing writes whole vectors of
    depths."""

    dtype: ir.Type
    lanes: int
    width: int


@dataclass(frozen=True)
class Parts:
    """Packs sums of an operand's parts, each sum `apart` elements after the one before.

    A scheme cuts the operand, a matrix of the axes 1 and 2, of which `axis` runs across a panel; the parts are `sizes`
    (across, deep) large.
    """

    scheme: Scheme = ONE
    axis: int = 1
    sizes: tuple[int | ir.Value, int | ir.Value] = (0, 0)
    apart: int | ir.Value = 0

    def sums(self, b: Builder, ctx: ir.Value, operand: Operand, place: Place, position: Pair, axis: int, lanes: int,
             mask: ir.Value) -> list[ir.Value]:
        """The sums at a position (across, deep) of all parts. Of several parts what comes later is asked for, too:
        their rows lie in memory pages of their own."""
        vectors: list[ir.Value] = []
        for q in range(self.scheme.side ** 2):
            digits = divmod(q, self.scheme.side)
            x = total(b, position[0], scaled(b, self.sizes[0], digits[self.axis - 1]))
            k = total(b, position[1], scaled(b, self.sizes[1], digits[2 - self.axis]))
            if operand.plain is not None and self.scheme is not ONE:
                later = place(x, total(b, k, ROWS_LATER if axis == self.axis else LATER))
                offset = total(b, *(scaled(b, i, stride) for i, stride in zip(later, operand.plain.strides)))
                prefetch(b, at(b, operand.plain.base(b, ctx), offset, ir.FloatType()))
            vectors.append(operand.read(b, ctx, place(x, k), axis, lanes, mask))
        return (self.scheme.left if self.axis == 1 else self.scheme.right)(b, vectors)


WHOLE = Parts()


def pack_panel(b: Builder, ctx: ir.Value, panel: Panel, operand: Operand, axis: int, place: Place, to: ir.Value,
               across: Pair, deep: Pair, buffer: ir.Value, parts: Parts = WHOLE) -> None:
    """Copies positions `across[0]..` below `across[1]`, depths `deep[0]..` below `deep[1]`, to one panel at `to`, or
    sums of these positions in all parts to a panel each.

    `axis` is the operand's axis that runs across the panel. Positions past the end become zeros. `buffer` has room for
    `lanes * lanes` elements of each sum and is used when the operand is contiguous in depth, to transpose.
    """
    if operand.lane_axis == axis:
        _copy(b, ctx, panel, operand, axis, place, to, across, deep, parts)
    else:
        _transpose(b, ctx, panel, operand, place, to, across, deep, buffer, parts)


def _copy(b: Builder, ctx: ir.Value, panel: Panel, operand: Operand, axis: int, place: Place, to: ir.Value,
          across: Pair, deep: Pair, parts: Parts) -> None:
    """Reads along the panel, one depth after another."""
    places = [(x0, total(b, across[0], x0)) for x0 in range(0, panel.width, panel.lanes)]
    pieces = [(x0, x, lanes_below(b, b.sub(across[1], x), panel.lanes)) for x0, x in places]
    with loop(b, deep[0], deep[1]) as k:
        row = at(b, to, scaled(b, b.sub(k, deep[0]), panel.width), panel.dtype)
        for x0, x, mask in pieces:
            for p, vector in enumerate(parts.sums(b, ctx, operand, place, (x, k), axis, panel.lanes, mask)):
                target = at(b, row, total(b, scaled(b, parts.apart, p), x0), panel.dtype)
                store_lanes(b, vector, target, panel.dtype, min(panel.lanes, panel.width - x0))


def _transpose(b: Builder, ctx: ir.Value, panel: Panel, operand: Operand, place: Place, to: ir.Value,
               across: Pair, deep: Pair, buffer: ir.Value, parts: Parts) -> None:
    """Reads squares along the depth and stores their columns."""
    lanes, dtype, square = panel.lanes, panel.dtype, panel.lanes ** 2
    with loop(b, deep[0], deep[1], lanes) as k, loop(b, 0, panel.width, lanes) as x0:
        with loop(b, 0, lanes) as r:
            x = total(b, across[0], x0, r)
            inside = b.and_(b.icmp_signed("<", x, across[1]), b.icmp_signed("<", b.add(x0, r), i64(panel.width)))
            mask = lanes_below(b, b.select(inside, b.sub(deep[1], k), i64(0)), lanes)
            x = b.select(inside, x, across[0])      # lanes left out of a page never touched cost 100 ns all the same
            for p, vector in enumerate(parts.sums(b, ctx, operand, place, (x, k), operand.lane_axis, lanes, mask)):
                store(b, vector, at(b, buffer, total(b, scaled(b, r, lanes), p * square), dtype), dtype)
        rest = b.sub(i64(panel.width), x0)
        with loop(b, 0, parts.scheme.products) as p:
            made = at(b, buffer, scaled(b, p, square), dtype)
            columns = transpose(b, [load(b, at(b, made, r * lanes, dtype), dtype, lanes) for r in range(lanes)])
            start = total(b, scaled(b, p, parts.apart), scaled(b, b.sub(k, deep[0]), panel.width), x0)
            for i, vector in enumerate(columns):
                target = at(b, to, total(b, start, i * panel.width), dtype)
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
