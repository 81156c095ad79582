"""Where the first few elements of rows stand: a heap holds those so far, and vectors are asked for better ones."""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import SCRATCH, SCRATCH_BYTES, Launch, i8, word
from stele.backend.llvm.nest import at, each_bit, least, loop, splat, vector
from stele.backend.llvm.ordered.rank import Rank
from stele.backend.llvm.ordered.units import Function, share_of
from stele.backend.llvm.vectors import masked_load
from stele.ir.graph import Value
from stele.ir.types import product
from stele.kernel.machine import Machine
from stele.ops.sorting import ArgTop

SIDE = 4
"""Vectors that are asked together."""


def emit_top(module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the function that finds the places."""
    return [Top(module, name, y, slots, target).emit()]


class Top:
    """The one function of the first k of (rows, n): a unit is a row.

    An element in the heap is one word, its rank above its position; the root is the last one in order.
    """

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> None:
        assert isinstance(y.op, ArgTop)
        self.y, (self.x,), self.k = y, y.args, y.op.count
        self.n, self.rows = self.x.shape[-1], product(self.x.shape[:-1])
        self.rank = Rank(self.x.dtype, y.op.descending)
        self.wide = ir.IntType(max(32, self.x.dtype.bits))
        self.word = ir.IntType(2 * self.wide.width)
        self.lanes = target.vector_bytes * 8 // self.wide.width
        self.f = Function(module, name, slots, self.lanes, target)
        self.b, self.target = self.f.b, target

    def emit(self) -> Launch:
        b, f = self.b, self.f
        thread = f.frame.function.args[1]
        self.heap = at(b, word(b, f.frame.ctx, SCRATCH), b.mul(thread, word(b, f.frame.ctx, SCRATCH_BYTES)), i8)
        with f.units(self.rows, share_of(self.n, self.target)) as row:
            n = f.frame.integer(self.n)
            self.row = at(b, f.frame.buffer(self.x), b.mul(row, n), self.rank.bits)
            with loop(b, 0, self.k) as e:
                b.store(self.element(e), self.place(e))
            with loop(b, 0, self.k // 2) as e:
                start = b.sub(i64(self.k // 2 - 1), e)
                self.sink(b.load(self.place(start), typ=self.word), start, i64(self.k))
            side = SIDE * self.lanes
            whole = b.sdiv(b.sub(n, i64(self.k)), i64(side))
            with loop(b, 0, whole) as block:
                self.ask([b.add(b.add(i64(self.k), b.mul(block, i64(side))), i64(u * self.lanes)) for u in range(SIDE)])
            with loop(b, b.add(i64(self.k), b.mul(whole, i64(side))), n, self.lanes) as e:
                self.ask([e], f.memory.lanes_below(b.sub(n, e)))
            with loop(b, 0, self.k - 1) as m:
                last = b.sub(i64(self.k - 1), m)
                worst, end = (b.load(self.place(e), typ=self.word) for e in (i64(0), last))
                b.store(worst, self.place(last))
                self.sink(end, i64(0), last)
            to = at(b, f.frame.buffer(self.y), b.mul(row, i64(self.k)), i64)
            with loop(b, 0, self.k) as e:
                found = b.load(self.place(e), typ=self.word)
                b.store(b.trunc(found, i64) if self.wide == i64 else b.and_(found, i64(0xFFFF_FFFF)), at(b, to, e, i64))
        assert f.launch
        return Launch(f.launch.function, f.launch.tasks, scratch=max(1, self.k) * self.word.width // 8)

    def place(self, e: ir.Value) -> ir.Value:
        """The address of an element of the heap."""
        return at(self.b, self.heap, e, self.word)

    def element(self, e: ir.Value) -> ir.Value:
        """Element e of the row, as a word."""
        b, kind = self.b, self.rank.bits
        rank = self.rank.of(b, b.load(at(b, self.row, e, kind), typ=kind), self.wide)
        high = b.shl(b.zext(rank, self.word), self.word(self.wide.width))
        return b.or_(high, e if self.word == i64 else b.zext(e, self.word))

    def ask(self, places: list[ir.Value], mask: ir.Value | None = None) -> None:
        """Looks at vectors of the row: what comes before the root takes its place."""
        b, kind = self.b, self.rank.bits
        worst = b.load(self.place(i64(0)), typ=self.word)
        limit = splat(b, b.trunc(b.lshr(worst, self.word(self.wide.width)), self.wide), self.lanes)
        found: list[ir.Value] = []
        for e in places:
            start = at(b, self.row, e, kind)
            x = b.load(start, typ=vector(kind, self.lanes), align=kind.width // 8) if mask is None else \
                masked_load(b, start, kind, mask)
            is_better = b.icmp_unsigned("<", self.rank.of(b, x, self.wide), limit)
            found.append(is_better if mask is None else b.and_(is_better, mask))
        any_ = found[0]
        for other in found[1:]:
            any_ = b.or_(any_, other)
        with b.if_then(b.icmp_unsigned("!=", self.bits(any_), self.bits(any_).type(0)), likely=False):
            for e, is_better in zip(places, found):
                each_bit(b, self.bits(is_better), lambda lane, e=e: self.take(b.add(e, b.zext(lane, i64))))

    def bits(self, mask: ir.Value) -> ir.Value:
        return self.b.bitcast(mask, ir.IntType(self.lanes))

    def take(self, e: ir.Value) -> None:
        """Element e instead of the root, where it comes before."""
        b, new = self.b, self.element(e)
        with b.if_then(b.icmp_unsigned("<", new, b.load(self.place(i64(0)), typ=self.word))):
            self.sink(new, i64(0), i64(self.k))

    def sink(self, new: ir.Value, start: ir.Value, size: ir.Value) -> None:
        """Puts a word where it belongs, from a place of the heap downwards: the larger child of each place moves up."""
        b, before = self.b, self.b.block
        head, inside, up, done = (b.append_basic_block(n) for n in ("sink", "children", "up", "sunk"))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(i64)
        i.add_incoming(start, before)
        left = b.add(b.add(i, i), i64(1))
        b.cbranch(b.icmp_signed("<", left, size), inside, done)
        b.position_at_end(inside)
        right = least(b, b.add(left, i64(1)), b.sub(size, i64(1)))
        first, second = (b.load(self.place(c), typ=self.word) for c in (left, right))
        is_first = b.icmp_unsigned(">=", first, second)
        child, largest = b.select(is_first, left, right), b.select(is_first, first, second)
        b.cbranch(b.icmp_unsigned(">", largest, new), up, done)
        b.position_at_end(up)
        b.store(largest, self.place(i))
        i.add_incoming(child, up)
        b.branch(head)
        b.position_at_end(done)
        b.store(new, self.place(i))
