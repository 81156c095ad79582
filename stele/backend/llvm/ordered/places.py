"""Where rows of bools hold, side by side: counts of chunks say where the places of each one go."""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import Launch, i8
from stele.backend.llvm.memory import Mask
from stele.backend.llvm.nest import at, each_bit, fold, integers, lanes_below, least, loop, most, splat, split, vector
from stele.backend.llvm.ordered.units import Function
from stele.backend.llvm.vectors import compress, masked_load, masked_store
from stele.ir.graph import Value
from stele.ir.sizes import Dim, ceil
from stele.ir.types import product
from stele.kernel.machine import Machine
from stele.ops import counting

CHUNK = 1 << 14
"""Elements of a row that one task looks at, or fills."""
GROUP = 8
"""Places that are stored at once."""


def emit_places(module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the functions: counts of chunks, counts before them, places, and what stands behind the last of a row."""
    places = Places(module, name, y, slots, target)
    return [places.counts(), places.starts(), places.moves(), places.rest()]


class Places:
    """The functions that find the places of (rows, n). A table says for each chunk of a row how many hold before it,
    and at its end how many hold in all."""

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> None:
        assert isinstance(y.op, counting.Places)
        self.module, self.name, self.slots, self.target = module, name, slots, target
        self.y, (self.x,) = y, y.args
        self.n, self.rows, self.size = self.x.shape[-1], product(self.x.shape[:-1]), y.shape[-1]
        self.chunks: Dim = ceil(self.n, CHUNK)
        self.table = slots.temp(self.rows * (self.chunks + 1) * 8)
        self.lanes = target.vector_bytes

    def function(self, suffix: str) -> Function:
        return Function(self.module, f"{self.name}.{suffix}", self.slots, self.lanes, self.target)

    def entry(self, f: Function, row: ir.Value, chunk: ir.Value) -> ir.Value:
        """The address of the number of a chunk."""
        b = f.b
        return at(b, f.shared(self.table), b.add(b.mul(row, f.frame.integer(self.chunks + 1)), chunk), i64)

    def bits(self, f: Function, place: ir.Value, mask: Mask) -> ir.Value:
        """Which ones of a vector of bools hold."""
        b = f.b
        x = b.load(place, typ=vector(i8, self.lanes), align=1) if mask is None else masked_load(b, place, i8, mask)
        return b.bitcast(b.icmp_unsigned("!=", x, splat(b, i8(0), self.lanes)), ir.IntType(self.lanes))

    def ones(self, f: Function, bits: ir.Value) -> ir.Value:
        """How many bits are set, as an i64."""
        return f.b.ctpop(bits if bits.type == i64 else f.b.zext(bits, i64))

    def span(self, f: Function, unit: ir.Value, size: Dim) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
        """The row and chunk of a unit, and its elements: from the first to before the second."""
        b = f.b
        row, chunk = split(b, unit, f.frame.integer(ceil(size, CHUNK)))
        begin = b.mul(chunk, i64(CHUNK))
        return row, chunk, begin, least(b, f.frame.integer(size), b.add(begin, i64(CHUNK)))

    def counts(self) -> Launch:
        f = self.function("counts")
        b = f.b
        with f.units(self.rows * self.chunks) as unit:
            row, chunk, begin, end = self.span(f, unit, self.n)
            base = at(b, f.frame.buffer(self.x), b.mul(row, f.frame.integer(self.n)), i8)
            whole = b.sdiv(b.sub(end, begin), i64(self.lanes))

            def add(k: ir.Value, count: list[ir.Value]) -> list[ir.Value]:
                place = at(b, base, b.add(begin, b.mul(k, i64(self.lanes))), i8)
                return [b.add(count[0], self.ones(f, self.bits(f, place, None)))]

            (count,) = fold(b, whole, [i64(0)], add)
            done = b.add(begin, b.mul(whole, i64(self.lanes)))
            mask = f.memory.lanes_below(b.sub(end, done))
            b.store(b.add(count, self.ones(f, self.bits(f, at(b, base, done, i8), mask))), self.entry(f, row, chunk))
        assert f.launch
        return f.launch

    def starts(self) -> Launch:
        f = self.function("starts")
        b = f.b
        with f.units(self.rows) as row:
            def add(chunk: ir.Value, before: list[ir.Value]) -> list[ir.Value]:
                place = self.entry(f, row, chunk)
                own = b.load(place, typ=i64)
                b.store(before[0], place)
                return [b.add(before[0], own)]

            chunks = f.frame.integer(self.chunks)
            (count,) = fold(b, chunks, [i64(0)], add)
            b.store(count, self.entry(f, row, chunks))
        assert f.launch
        return f.launch

    def moves(self) -> Launch:
        f = self.function("moves")
        b = f.b
        goes = f.frame.local(i64)
        with f.units(self.rows * self.chunks) as unit:
            row, chunk, begin, end = self.span(f, unit, self.n)
            base = at(b, f.frame.buffer(self.x), b.mul(row, f.frame.integer(self.n)), i8)
            b.store(b.load(self.entry(f, row, chunk), typ=i64), goes)
            whole = b.sub(end, b.and_(b.sub(end, begin), i64(self.lanes - 1)))
            with loop(b, begin, whole, self.lanes) as e:
                self.put(f, row, goes, e, self.bits(f, at(b, base, e, i8), None))
            with loop(b, whole, end, self.lanes) as e:
                self.put(f, row, goes, e, self.bits(f, at(b, base, e, i8), f.memory.lanes_below(b.sub(end, e))))
        assert f.launch
        return f.launch

    def put(self, f: Function, row: ir.Value, goes: ir.Value, e: ir.Value, bits: ir.Value) -> None:
        """Stores the places of the bits that are set, counted from e on, where the next one goes."""
        b, size = f.b, f.frame.integer(self.size)
        into = at(b, f.frame.buffer(self.y), b.mul(row, size), i64)

        def one(lane: ir.Value) -> None:
            place = b.load(goes, typ=i64)
            with b.if_then(b.icmp_signed("<", place, size)):
                b.store(b.add(e, b.zext(lane, i64) if lane.type != i64 else lane), at(b, into, place, i64))
            b.store(b.add(place, i64(1)), goes)

        if not self.target.squeezes:
            each_bit(b, bits, one)
            return
        for k in range(0, self.lanes, GROUP):
            own = b.trunc(b.lshr(bits, bits.type(k)), ir.IntType(GROUP))
            place, count = b.load(goes, typ=i64), self.ones(f, own)
            x = b.add(splat(b, e, GROUP), integers(i64, tuple(range(k, k + GROUP))))
            room = lanes_below(b, least(b, count, b.sub(size, place)), GROUP)
            masked_store(b, compress(b, x, b.bitcast(own, room.type)), at(b, into, place, i64), i64, room)
            b.store(b.add(place, count), goes)

    def rest(self) -> Launch:
        f = self.function("rest")
        b = f.b
        with f.units(self.rows * ceil(self.size, CHUNK)) as unit:
            row, _, begin, end = self.span(f, unit, self.size)
            n, size = f.frame.integer(self.n), f.frame.integer(self.size)
            count = b.load(self.entry(f, row, f.frame.integer(self.chunks)), typ=i64)
            into = at(b, f.frame.buffer(self.y), b.mul(row, size), i64)
            with loop(b, most(b, begin, count), end) as e:
                b.store(n, at(b, into, e, i64))
        assert f.launch
        return f.launch
