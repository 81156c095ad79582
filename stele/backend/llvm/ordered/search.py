"""Binary search of sorted rows, a vector of wanted elements at a time, without a branch."""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import Launch, i1
from stele.backend.llvm.nest import fold, least, loop, split
from stele.backend.llvm.ordered.units import Function, share_of
from stele.backend.llvm.scalars import Scalar
from stele.ir.graph import Value
from stele.ir.sizes import ceil
from stele.ir.types import bool_, int64, product
from stele.kernel.machine import Machine
from stele.ops.sorting import Search

PART = 1024
"""Wanted elements of a unit."""
SIDE = 4
"""Vectors side by side: each waits for what it reads."""


def emit_search(module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the function that finds the places of z (rows, m) in x (rows, n)."""
    assert isinstance(y.op, Search)
    (x, z), right = y.args, y.op.right
    rows, n, m = product(x.shape[:-1]), x.shape[-1], z.shape[-1]
    f = Function(module, name, slots, target.vector_bytes // 8, target)
    b, parts = f.b, ceil(m, PART)
    with f.units(rows * parts, share_of(m, target)) as unit:
        row, part = split(b, unit, f.frame.integer(parts))
        size, wanted = f.frame.integer(n), f.frame.integer(m)
        sorted_ = f.memory.offset(f.frame.buffer(x), b.mul(row, size), x.dtype)
        first = b.mul(part, i64(PART))
        stop = least(b, b.add(first, i64(PART)), wanted)
        bits = b.sub(i64(64), b.ctlz(size, i1(0)))
        with loop(b, first, stop, SIDE * f.lanes) as at:
            base = b.add(b.mul(row, wanted), at)
            masks = [f.memory.lanes_below(b.sub(stop, b.add(at, i64(u * f.lanes)))) for u in range(SIDE)]
            places = [b.add(base, i64(u * f.lanes)) for u in range(SIDE)]
            keys = [f.memory.load_lanes(f.memory.offset(f.frame.buffer(z), p, z.dtype), mask, z.dtype)
                    for p, mask in zip(places, masks)]

            def step(k: ir.Value, found: list[ir.Value]) -> list[ir.Value]:
                half = f.s.splat(f.s.element(b.shl(i64(1), b.sub(b.sub(bits, i64(1)), k)), int64))
                made: list[ir.Value] = []
                for own, key, mask in zip(found, keys, masks):
                    before = f.s.element(own, int64)
                    probe = before + half
                    inside = b.and_((probe <= f.s.element(size, int64)).value, mask)
                    x_there = f.memory.gather(sorted_, (probe - 1).value, inside, x.dtype)
                    goes_on = b.and_(comes_before(f, x_there, key, right).value, inside)
                    made.append(f.s.select(f.s.element(goes_on, bool_), probe, before).value)
                return made

            zero = f.s.splat(f.s.constant(0, int64)).value
            for p, mask, found in zip(places, masks, fold(b, bits, [zero] * SIDE, step)):
                f.memory.store_lanes(f.memory.offset(f.frame.buffer(y), p, int64), mask, f.s.element(found, int64))
    assert f.launch
    return [f.launch]


def comes_before(f: Function, x: Scalar, z: Scalar, or_equal: bool) -> Scalar:
    """Whether x stands before z; NaN is behind all numbers."""
    y = x <= z if or_equal else x < z
    if not x.dtype.is_float:
        return y
    is_last = f.s.ne(z, z)
    return y | (is_last if or_equal else is_last & f.s.eq(x, x))
