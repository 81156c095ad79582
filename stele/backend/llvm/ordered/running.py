"""Running totals: columns side by side in lanes; rows in blocks, whose totals are known before any is written."""
from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import Launch, i32
from stele.backend.llvm.memory import Mask
from stele.backend.llvm.nest import fold, least, loop, shuffle, split
from stele.backend.llvm.ordered.units import Function, share_of
from stele.backend.llvm.scalars import Scalar
from stele.ir.graph import Value
from stele.ir.sizes import Dim, ceil
from stele.ir.types import Type, axis_of, bool_, float32, product, uint8
from stele.kernel.machine import Machine
from stele.ops.cumulative import Cumulative

BLOCK = 1 << 14
"""Elements of a row that one task goes through."""
SIDE = 4
"""Vectors side by side, of columns or of partial totals."""


def emit_running(module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the functions of a running total."""
    running = Running(module, name, y, slots, target)
    if running.post != 1:
        return [running.columns()]
    return running.rows()


class Running:
    """The functions of a running total of (pre, n, post)."""

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> None:
        assert isinstance(y.op, Cumulative)
        self.op, self.y, (self.x,) = y.op, y, y.args
        axis = axis_of(y.op.axis, y.ndim)
        self.pre, self.n, self.post = product(y.shape[:axis]), y.shape[axis], product(y.shape[axis + 1:])
        self.dtype = y.dtype
        self.own = float32 if y.dtype.is_float and y.dtype.bits < 32 else uint8 if y.dtype == bool_ else y.dtype
        self.lanes = target.vector_bytes // max(4, self.own.bytes)
        self.module, self.name, self.slots, self.target = module, name, slots, target

    def function(self, suffix: str = "") -> Function:
        return Function(self.module, f"{self.name}{suffix}", self.slots, self.lanes, self.target)

    def identity(self, f: Function) -> Scalar:
        """What combines with any element to that element, in every lane."""
        return f.s.splat(f.s.constant(self.op.identity(Type(self.own)), self.own))

    def load(self, f: Function, at: ir.Value, mask: Mask) -> Scalar:
        return f.s.cast(f.memory.load_lanes(f.memory.offset(f.frame.buffer(self.x), at, self.dtype), mask, self.dtype),
                        self.own)

    def store(self, f: Function, at: ir.Value, mask: Mask, x: Scalar) -> None:
        f.memory.store_lanes(f.memory.offset(f.frame.buffer(self.y), at, self.dtype), mask, f.s.cast(x, self.dtype))

    def combine(self, f: Function, x: Scalar, y: Scalar) -> Scalar:
        return f.s.cast(self.op.combine(f.s, x, y), self.own)

    # Columns

    def columns(self) -> Launch:
        """A unit goes down some columns at once."""
        f = self.function()
        b, post = f.b, f.frame.integer(self.post)
        side = min(SIDE, max(1, -(-self.post // self.lanes))) if isinstance(self.post, int) else SIDE
        wide = self.lanes * side
        parts = ceil(self.post, wide)
        work = self.n * wide if isinstance(self.n, int) else self.n
        with f.units(self.pre * parts, share_of(work, self.target)) as unit:
            outer, part = split(b, unit, f.frame.integer(parts))
            n, first = f.frame.integer(self.n), b.mul(part, i64(wide))
            base = b.add(b.mul(b.mul(outer, n), post), first)
            even = isinstance(self.post, int) and self.post % wide == 0
            masks = [None if even else f.memory.lanes_below(b.sub(post, b.add(first, i64(u * self.lanes))))
                     for u in range(side)]

            def row(i: ir.Value, totals: list[ir.Value]) -> list[ir.Value]:
                k = b.sub(b.sub(n, i64(1)), i) if self.op.reverse else i
                made: list[ir.Value] = []
                for u, (mask, total) in enumerate(zip(masks, totals)):
                    at = b.add(b.add(base, b.mul(k, post)), i64(u * self.lanes))
                    new = self.combine(f, f.s.element(total, self.own), self.load(f, at, mask))
                    self.store(f, at, mask, new)
                    made.append(new.value)
                return made

            fold(b, n, [self.identity(f).value] * side, row)
        assert f.launch
        return f.launch

    # Rows

    def rows(self) -> list[Launch]:
        """The totals of blocks, what comes before each of them, and the blocks; a row of one block needs the last
        alone."""
        if isinstance(self.n, int) and self.n <= BLOCK:
            return [self.blocks(None, 1)]
        blocks = ceil(self.n, BLOCK)
        position = self.slots.temp(self.pre * blocks * self.own.bytes)
        return [self.totals(position, blocks), self.starts(position, blocks), self.blocks(position, blocks)]

    def place(self, f: Function, position: int, at: ir.Value) -> ir.Value:
        """The address of the number of a block."""
        return f.memory.offset(f.shared(position), at, self.own)

    def totals(self, position: int, blocks: Dim) -> Launch:
        """A unit is a block but the last of a row: its total."""
        f = self.function(".totals")
        b = f.b
        with f.units(self.pre * (blocks - 1)) as unit:
            row, k = split(b, unit, f.frame.integer(blocks - 1))
            n = f.frame.integer(self.n)
            at = b.mul(k, i64(BLOCK))
            start = b.add(b.mul(row, n), b.sub(b.sub(n, at), i64(BLOCK)) if self.op.reverse else at)

            def step(i: ir.Value, totals: list[ir.Value]) -> list[ir.Value]:
                first = b.add(start, b.mul(i, i64(SIDE * self.lanes)))
                return [self.combine(f, f.s.element(t, self.own), self.load(f, b.add(first, i64(u * self.lanes)),
                                                                            None)).value
                        for u, t in enumerate(totals)]

            found = [f.s.element(v, self.own) for v in fold(b, BLOCK // (SIDE * self.lanes),
                                                            [self.identity(f).value] * SIDE, step)]
            while len(found) > 1:
                found = [self.combine(f, x, y) for x, y in zip(found[::2], found[1::2])]
            total, apart = found[0], self.lanes
            while apart > 1:
                apart //= 2
                picks = [(lane + apart) % self.lanes for lane in range(self.lanes)]
                total = self.combine(f, total, f.s.element(shuffle(b, total.value, total.value, picks), self.own))
            whole = f.s.element(b.extract_element(total.value, i32(0)), self.own)
            f.memory.store(self.place(f, position, b.add(b.mul(row, f.frame.integer(blocks)), k)), whole)
        assert f.launch
        return f.launch

    def starts(self, position: int, blocks: Dim) -> Launch:
        """A unit is a row: the total of each block becomes that of all blocks before it."""
        f = self.function(".starts")
        b = f.b
        with f.units(self.pre) as row:
            count = f.frame.integer(blocks)
            base = b.mul(row, count)
            first = f.s.constant(self.op.identity(Type(self.own)), self.own)

            def step(k: ir.Value, before: list[ir.Value]) -> list[ir.Value]:
                place = self.place(f, position, b.add(base, k))
                total, total_before = f.memory.load(place, self.own), f.s.element(before[0], self.own)
                f.memory.store(place, total_before)
                return [self.combine(f, total_before, total).value]

            last = fold(b, b.sub(count, i64(1)), [first.value], step)
            with b.if_then(b.icmp_signed(">", count, i64(0))):
                place = self.place(f, position, b.add(base, b.sub(count, i64(1))))
                f.memory.store(place, f.s.element(last[0], self.own))
        assert f.launch
        return f.launch

    def blocks(self, position: int | None, blocks: Dim) -> Launch:
        """A unit is a block, which starts from what comes before it."""
        f = self.function("" if position is None else ".blocks")
        b = f.b
        work = self.n if position is None else BLOCK
        with f.units(self.pre * blocks, share_of(work, self.target)) as unit:
            row, k = split(b, unit, f.frame.integer(blocks))
            n = f.frame.integer(self.n)
            begin = b.mul(k, i64(BLOCK))
            size = least(b, b.sub(n, begin), i64(BLOCK))
            start = self.identity(f) if position is None else f.s.splat(f.memory.load(self.place(f, position, unit),
                                                                                      self.own))
            base, whole = b.mul(row, n), b.sdiv(size, i64(self.lanes))
            go = self.vector(f, base, n)

            def step(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
                return [go(b.add(begin, b.mul(i, i64(self.lanes))), None, carried[0])]

            carried = fold(b, whole, [start.value], step)
            done = b.mul(whole, i64(self.lanes))
            with loop(b, done, size, self.lanes) as e:
                go(b.add(begin, e), f.memory.lanes_below(b.sub(size, e)), carried[0])
        assert f.launch
        return f.launch

    def vector(self, f: Function, base: ir.Value, n: ir.Value) -> Callable[[ir.Value, Mask, ir.Value], ir.Value]:
        """What is done with a vector of a row: its elements are combined in a tree and with what comes before."""
        b, lanes = f.b, self.lanes
        back = [lanes - 1 - lane for lane in range(lanes)]

        def turned(x: ir.Value) -> ir.Value:
            return shuffle(b, x, x, back) if self.op.reverse else x

        def go(e: ir.Value, mask: Mask, before: ir.Value) -> ir.Value:
            at = b.add(base, b.sub(b.sub(n, e), i64(lanes)) if self.op.reverse else e)
            mask = None if mask is None else turned(mask)
            x = f.s.element(turned(self.load(f, at, mask).value), self.own)
            none = self.identity(f).value
            apart = 1
            while apart < lanes:
                picks = [lane - apart if lane >= apart else lanes + lane for lane in range(lanes)]
                x = self.combine(f, f.s.element(shuffle(b, x.value, none, picks), self.own), x)
                apart *= 2
            y = self.combine(f, f.s.element(before, self.own), x)
            self.store(f, at, mask, f.s.element(turned(y.value), self.own))
            total = f.s.element(shuffle(b, x.value, x.value, [lanes - 1] * lanes), self.own)
            return self.combine(f, f.s.element(before, self.own), total).value

        return go
