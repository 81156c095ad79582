"""Sorting long rows by digits of their ranks, the lowest first: counts of each digit say where its elements go."""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import SCRATCH, SCRATCH_BYTES, Launch, i8, i32, word
from stele.backend.llvm.nest import at, fold, least, loop, split
from stele.backend.llvm.ordered.rank import Rank
from stele.backend.llvm.ordered.units import Function
from stele.ir.graph import Value
from stele.ir.record import Record
from stele.ir.sizes import ceil
from stele.ir.types import product, uint32
from stele.kernel.machine import Machine
from stele.ops.sorting import ArgSort, Ordering

CHUNK = 1 << 16
"""Elements of a row that one task counts and moves."""
DIGIT = 11
"""Bits of a digit: the ends of 2**11 runs of elements stay in the first cache."""


class Place(Record):
    """Where elements are between two passes: in memory of the program, or in one or two temporaries."""

    value: Value | None = None
    first: int = -1
    second: int = -1


def emit_radix(module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the functions that sort the rows of x, or say where their elements stand in order."""
    return Radix(module, name, y, slots, target).passes()


class Radix:
    """The passes of a sort of (rows, n). An element on its way is itself; for positions it is its rank and position, in
    one word, or in two where a rank takes a whole one."""

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> None:
        assert isinstance(y.op, Ordering)
        self.module, self.name, self.slots, self.target = module, name, slots, target
        self.y, (self.x,) = y, y.args
        self.rank = Rank(self.x.dtype, y.op.descending)
        self.finds = isinstance(y.op, ArgSort)
        self.n, self.count = self.x.shape[-1], product(self.x.shape[:-1])
        self.wide = ir.IntType(max(32, self.x.dtype.bits))
        self.is_pair = self.finds and self.x.dtype.bits == 64
        bits = self.x.dtype.bits
        self.passes_ = -(-bits // DIGIT)
        self.digit = -(-bits // self.passes_)
        self.bins = 1 << self.digit
        self.chunks = 1 if isinstance(self.n, int) and self.n <= CHUNK else ceil(self.n, CHUNK)
        self.tables = slots.temp(self.count * self.chunks * self.bins * 4)
        self.bases = slots.temp(self.count * self.bins * 4)

    def passes(self) -> list[Launch]:
        """For each digit: how often it is in each chunk, where its elements go, and their move."""
        between = [self.temporary() for _ in range(min(2, self.passes_ - 1))]
        found: list[Launch] = []
        source = Place(self.x)
        for k in range(self.passes_):
            to = Place(self.y) if k == self.passes_ - 1 else between[k % 2]
            found += [self.counts(k, source), self.starts(k), self.moves(k, source, to)]
            source = to
        return found

    def temporary(self) -> Place:
        size = self.count * self.n
        if not self.finds:
            return Place(first=self.slots.temp(size * self.x.dtype.bytes))
        return Place(first=self.slots.temp(size * 8), second=self.slots.temp(size * 4) if self.is_pair else -1)

    def function(self, suffix: str) -> Function:
        return Function(self.module, f"{self.name}.{suffix}", self.slots, self.target.vector_bytes // 4, self.target)

    def start(self, f: Function, place: Place, second: bool = False) -> ir.Value:
        """Where elements begin."""
        if place.value is not None:
            return f.frame.buffer(place.value)
        return f.shared(place.second if second else place.first)

    def read(self, f: Function, place: Place, i: ir.Value, within: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Element i, which is `within` its row, and its rank."""
        b, base = f.b, self.start(f, place)
        if place.value is not None:
            x = b.load(at(b, base, i, self.rank.bits), typ=self.rank.bits)
            rank = self.rank.of(b, x, self.wide)
            return (self.joined(f, rank, within) if self.finds else x), rank
        if not self.finds:
            x = b.load(at(b, base, i, self.rank.bits), typ=self.rank.bits)
            return x, self.rank.of(b, x, self.wide)
        x = b.load(at(b, base, i, i64), typ=i64)
        return x, (x if self.is_pair else b.trunc(b.lshr(x, i64(32)), i32))

    def joined(self, f: Function, rank: ir.Value, within: ir.Value) -> ir.Value:
        """A rank and a position in one word, or the rank alone."""
        b = f.b
        return rank if self.is_pair else b.or_(b.shl(b.zext(rank, i64), i64(32)), within)

    def position(self, f: Function, place: Place, x: ir.Value, i: ir.Value, within: ir.Value) -> ir.Value:
        """The position of element i, as an i64."""
        b = f.b
        if place.value is not None:
            return within
        if self.is_pair:
            return b.zext(b.load(at(b, self.start(f, place, second=True), i, i32), typ=i32), i64)
        return b.and_(x, i64(0xFFFF_FFFF))

    def write(self, f: Function, place: Place, i: ir.Value, x: ir.Value, position: ir.Value | None) -> None:
        """Puts an element where it goes."""
        b, base = f.b, self.start(f, place)
        if position is None:
            b.store(x, at(b, base, i, self.rank.bits))
        elif place.value is not None:
            b.store(position, at(b, base, i, i64))
        else:
            b.store(x, at(b, base, i, i64))
            if self.is_pair:
                b.store(b.trunc(position, i32), at(b, self.start(f, place, second=True), i, i32))

    def bin(self, f: Function, rank: ir.Value, k: int) -> ir.Value:
        """Digit k of a rank, as an i64."""
        b = f.b
        low = b.and_(b.lshr(rank, self.wide(k * self.digit)), self.wide(self.bins - 1))
        return low if self.wide == i64 else b.zext(low, i64)

    def span(self, f: Function, unit: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Where the row of a unit begins, and the elements of its chunk: from the first to before the second."""
        b = f.b
        row, chunk = split(b, unit, f.frame.integer(self.chunks))
        n, begin = f.frame.integer(self.n), b.mul(chunk, i64(CHUNK))
        return b.mul(row, n), begin, least(b, n, b.add(begin, i64(CHUNK)))

    def counts(self, k: int, source: Place) -> Launch:
        """A unit is a chunk: how often each digit is there."""
        f = self.function(f"counts{k}")
        b = f.b
        with f.units(self.count * self.chunks) as unit:
            table = at(b, f.shared(self.tables), b.mul(unit, i64(self.bins)), i32)
            memset = b.module.declare_intrinsic("llvm.memset", [table.type, i64])
            b.call(memset, [table, i8(0), i64(self.bins * 4), ir.IntType(1)(0)])
            base, begin, end = self.span(f, unit)
            with loop(b, begin, end) as e:
                _, rank = self.read(f, source, b.add(base, e), e)
                place = at(b, table, self.bin(f, rank, k), i32)
                b.store(b.add(b.load(place, typ=i32), i32(1)), place)
        assert f.launch
        return f.launch

    def starts(self, k: int) -> Launch:
        """A unit is a row: counts become those of the chunks before, and totals where each digit begins."""
        f = self.function(f"starts{k}")
        b, bins = f.b, self.bins
        with f.units(self.count) as row:
            chunks = f.frame.integer(self.chunks)
            tables = at(b, f.shared(self.tables), b.mul(row, b.mul(chunks, i64(bins))), i32)
            bases = at(b, f.shared(self.bases), b.mul(row, i64(bins)), i32)
            with loop(b, 0, bins, f.lanes) as bin_:
                def add(chunk: ir.Value, total: list[ir.Value], bin_: ir.Value = bin_) -> list[ir.Value]:
                    place = at(b, tables, b.add(b.mul(chunk, i64(bins)), bin_), i32)
                    own, before = f.memory.load_lanes(place, None, uint32), f.s.element(total[0], uint32)
                    f.memory.store_lanes(place, None, before)
                    return [(before + own).value]

                none = f.s.splat(f.s.constant(0, uint32)).value
                (total,) = fold(b, chunks, [none], add)
                f.memory.store_lanes(at(b, bases, bin_, i32), None, f.s.element(total, uint32))

            def begin(bin_: ir.Value, before: list[ir.Value]) -> list[ir.Value]:
                place = at(b, bases, bin_, i32)
                own = b.load(place, typ=i32)
                b.store(before[0], place)
                return [ir.IRBuilder.add(b, before[0], own)]

            fold(b, bins, [i32(0)], begin)
        assert f.launch
        return f.launch

    def moves(self, k: int, source: Place, to: Place) -> Launch:
        """A unit is a chunk: its elements go, in order, where those of their digit are."""
        f = self.function(f"moves{k}")
        b, bins = f.b, self.bins
        thread = f.frame.function.args[1]
        offset = b.mul(thread, word(b, f.frame.ctx, SCRATCH_BYTES))
        ends = at(b, word(b, f.frame.ctx, SCRATCH), offset, i8)
        with f.units(self.count * self.chunks) as unit:
            row, _ = split(b, unit, f.frame.integer(self.chunks))
            table = at(b, f.shared(self.tables), b.mul(unit, i64(bins)), i32)
            bases = at(b, f.shared(self.bases), b.mul(row, i64(bins)), i32)
            with loop(b, 0, bins, f.lanes) as bin_:
                x, z = (f.memory.load_lanes(at(b, p, bin_, i32), None, uint32) for p in (table, bases))
                f.memory.store_lanes(at(b, ends, bin_, i32), None, x + z)
            base, begin, end = self.span(f, unit)
            with loop(b, begin, end) as e:
                i = b.add(base, e)
                x, rank = self.read(f, source, i, e)
                position = self.position(f, source, x, i, e) if self.finds else None
                place = at(b, ends, self.bin(f, rank, k), i32)
                goes = b.load(place, typ=i32)
                b.store(ir.IRBuilder.add(b, goes, i32(1)), place)
                self.write(f, to, b.add(base, b.zext(goes, i64)), x, position)
        assert f.launch
        return Launch(f.launch.function, f.launch.tasks, scratch=self.bins * 4)
