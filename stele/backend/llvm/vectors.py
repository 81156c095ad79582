"""Vectors in memory under masks, and squares of vectors transposed in registers."""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.access import Builder, size_of
from stele.backend.llvm.launch import i1, i32, i64
from stele.backend.llvm.nest import at, integers, shuffle, store, suffix, undefined

MASKED = 64
"""Bytes of vectors that are stored under a mask as fast as without (AVX-512)."""


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
    """Stores the first `count` lanes; of vectors of less than 64 bytes in pieces, for what stores under a mask there
    takes ten times as long on some processors, and on others is a store of each lane."""
    lanes, start = vector.type.count, 0
    if count == lanes:
        store(b, vector, address, dtype)
        return
    if lanes * size_of(dtype) == MASKED:
        masked_store(b, vector, address, dtype, integers(i1, tuple(int(l < count) for l in range(lanes))))
        return
    for piece in (1 << k for k in reversed(range(lanes.bit_length())) if count >> k & 1):
        store(b, shuffle(b, vector, vector, range(start, start + piece)), at(b, address, start, dtype), dtype)
        start += piece


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
