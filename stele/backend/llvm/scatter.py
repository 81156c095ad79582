"""Rows combined at computed indices, in an order that shapes say: each task owns a range of target rows, or, where many
numbers go to few places, a part of the indices and places of its own."""
from __future__ import annotations

from contextlib import nullcontext

from llvmlite import ir

from stele.backend.llvm.blocks import Blocks
from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Frame, Slots
from stele.backend.llvm.launch import BUFS, Launch, i1, i8, new_kernel, pointer
from stele.backend.llvm.memory import Mask
from stele.backend.llvm.nest import each_bit, least, loop, split
from stele.backend.llvm.ordered.units import Function
from stele.backend.llvm.scalars import LLVMScalars, Scalar
from stele.ir.graph import Value
from stele.ir.sizes import Dim, ceil
from stele.ir.types import int64, product
from stele.kernel import kinds
from stele.kernel.loops import Axis
from stele.kernel.machine import Machine
from stele.ops.gather import Scatter as Op
from stele.ops.gather import ScatterAdd

RANGES = 4
"""Ranges of single numbers, at most, where they are long: each task looks at all indices."""
ROOM = 4
"""Numbers that go to each place, on average, for each part of the indices."""


def emit_scatter(module: ir.Module, name: str, kernel: kinds.Scatter, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the function of a scatter of (pre, index, post) into (pre, size, post)."""
    (y,) = kernel.results
    return Scatter(module, name, y, slots, target).emit()


def parts_of(size: Dim, count: Dim, post: Dim, target: Machine) -> int:
    """How many parts of the indices have places of their own: as many as clearing and summing these allows."""
    if post != 1 or not isinstance(size, int) or not isinstance(count, int):
        return 1
    return max(1, min(target.tasks, count // max(ROOM * size, target.grain)))


class Scatter:
    """The functions of a scatter. A task is one element of `pre` and `share` rows of the result, or a part of the
    indices; the sums of parts are added behind it."""

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> None:
        assert isinstance(y.op, Op)
        self.op = y.op
        (*onto, self.g, self.index), axis = y.args, y.op.axis
        self.y, self.x = y, onto[0] if onto else None       # what is added to: it begins as zeros without one
        self.pre, self.size, self.post = product(y.shape[:axis]), y.shape[axis], product(y.shape[axis + 1:])
        self.count = product(self.index.shape)
        self.share = max(1, target.owned // max(self.post, 1)) if isinstance(self.post, int) else 16
        sums = not onto or isinstance(self.op, ScatterAdd)
        self.parts = parts_of(self.size, self.count, self.post, target) if sums else 1
        if onto and isinstance(self.size, int):     # there is nothing to clear: as few ranges as keep all threads busy
            self.share = max(self.share, -(-self.size // target.tasks))
        is_small = isinstance(self.size, int) and self.size <= self.share
        self.is_whole = self.post == 1 and (self.parts > 1 or is_small)
        if self.post == 1 and isinstance(self.size, int):
            self.share = max(self.share, -(-self.size // RANGES))
        self.module, self.name, self.slots, self.target = module, name, slots, target
        self.own = slots.temp(self.pre * ((self.parts - 1) * self.size * y.dtype.bytes)) if self.parts > 1 else -1
        self.frame = Frame(new_kernel(module, name), slots, {})
        self.b = self.frame.b
        self.blocks = Blocks(self.frame, LLVMScalars(self.b, target.vector_bytes // max(4, y.dtype.bytes), target.fma))
        self.s, self.memory = self.blocks.s, self.blocks.memory
        self.n, self.width = self.frame.integer(self.count), self.frame.integer(self.post)

    def emit(self) -> list[Launch]:
        if self.is_whole:
            self.in_parts()
            return [Launch(self.name, self.pre * self.parts), *([self.total()] if self.parts > 1 else [])]
        self.in_ranges()
        return [Launch(self.name, self.pre * ceil(self.size, self.share))]

    def in_parts(self) -> None:
        b, parts = self.b, i64(self.parts)
        step = self.frame.integer(ceil(self.count, self.parts))
        with loop(b, *self.frame.tasks) as task:
            outer, part = b.udiv(task, parts), b.urem(task, parts)
            size = self.frame.integer(self.size)
            into, is_first = self.row(self.frame.buffer(self.y), b.mul(outer, size)), b.icmp_signed("==", part, i64(0))
            if self.parts > 1:
                place = b.add(b.mul(outer, b.sub(parts, i64(1))), b.sub(part, i64(1)))
                other = self.row(self.frame.word(BUFS, self.own, pointer), b.mul(place, size))
                into = b.select(is_first, into, other)
            if self.x is None or self.parts > 1:
                with b.if_then(b.not_(is_first)) if self.x else nullcontext():
                    self.clear(into, size)
            if self.x is not None:
                with b.if_then(is_first):
                    self.copy(self.row(self.frame.buffer(self.x), b.mul(outer, size)), into, size)
            start = b.mul(part, step)
            self.whole(start, least(b, b.add(start, step), self.n), into,
                       self.row(self.frame.buffer(self.g), b.mul(outer, self.n)))
        b.ret_void()

    def whole(self, first: ir.Value, stop: ir.Value, into: ir.Value, source: ir.Value) -> None:
        """Adds the numbers of some indices, one after the other; a vector of indices is checked at once."""
        b, lanes = self.b, self.s.lanes

        def add(at: ir.Value) -> None:
            self.add(self.row(into, self.found(at)), self.row(source, at))

        whole = b.add(first, b.mul(b.sdiv(b.sub(stop, first), i64(lanes)), i64(lanes)))
        with loop(b, first, whole, lanes) as at, b.if_then(b.not_(self.outside(at, None)), likely=True):
            for lane in range(lanes):
                add(b.add(at, i64(lane)))
        with b.if_then(b.icmp_signed("<", whole, stop)):
            mask = self.memory.lanes_below(b.sub(stop, whole))
            with b.if_then(b.not_(self.outside(whole, mask))), loop(b, whole, stop) as at:
                add(at)

    def outside(self, at: ir.Value, mask: Mask) -> ir.Value:
        """Whether a vector of indices has one that is outside, which is reported."""
        return self.check(self.indices(at, mask), mask)

    def total(self) -> Launch:
        """What the parts have found, together: a task is a range of the result."""
        f = Function(self.module, f"{self.name}.total", self.slots, self.s.lanes, self.target)
        b, dtype, ranges = f.b, self.y.dtype, ceil(self.size, self.target.owned)
        with f.units(self.pre * ranges) as unit:
            outer, part = split(b, unit, f.frame.integer(ranges))
            size, low = f.frame.integer(self.size), b.mul(part, i64(self.target.owned))
            high = least(b, b.add(low, i64(self.target.owned)), size)
            y = f.memory.offset(f.frame.buffer(self.y), b.mul(outer, size), dtype)
            others = f.memory.offset(f.shared(self.own), b.mul(outer, b.mul(size, i64(self.parts - 1))), dtype)
            with loop(b, low, high, f.lanes) as at:
                mask = f.memory.lanes_below(b.sub(high, at))
                x = f.memory.load_lanes(f.memory.offset(y, at, dtype), mask, dtype)
                for k in range(self.parts - 1):
                    place = f.memory.offset(others, b.add(at, b.mul(size, i64(k))), dtype)
                    x = f.s.cast(self.op.combine(f.s, x, f.memory.load_lanes(place, mask, dtype)), dtype)
                f.memory.store_lanes(f.memory.offset(y, at, dtype), mask, x)
        assert f.launch
        return f.launch

    def in_ranges(self) -> None:
        b, ranges = self.b, self.frame.integer(ceil(self.size, self.share))
        with loop(self.b, *self.frame.tasks) as task:
            outer, part = b.udiv(task, ranges), b.urem(task, ranges)
            low = b.mul(part, i64(self.share))
            high = least(b, b.add(low, i64(self.share)), self.frame.integer(self.size))
            rows = b.mul(outer, self.frame.integer(self.size * self.post))
            into = self.memory.offset(self.frame.buffer(self.y), rows, self.y.dtype)
            read = b.mul(outer, self.frame.integer(self.count * self.post))
            source = self.memory.offset(self.frame.buffer(self.g), read, self.y.dtype)
            if self.x is None:
                self.clear(self.row(into, low), b.mul(b.sub(high, low), self.width))
            else:
                self.copy(self.row(self.memory.offset(self.frame.buffer(self.x), rows, self.y.dtype), low),
                          self.row(into, low), b.mul(b.sub(high, low), self.width))
            self.scan(low, high, into, source)
        b.ret_void()

    def row(self, base: ir.Value, k: ir.Value) -> ir.Value:
        """The address of row k."""
        return self.memory.offset(base, self.b.mul(k, self.width), self.y.dtype)

    def clear(self, address: ir.Value, elements: ir.Value) -> None:
        if not isinstance(self.op, ScatterAdd):
            start = self.s.constant(self.op.identity(self.y.type), self.y.dtype)
            with loop(self.b, i64(0), elements) as at:
                self.memory.store(self.memory.offset(address, at, self.y.dtype), start)
            return
        size = self.b.mul(elements, i64(self.y.dtype.bytes))
        memset = self.b.module.declare_intrinsic("llvm.memset", [address.type, i64])
        self.b.call(memset, [address, i8(0), size, i1(0)])

    def copy(self, source: ir.Value, to: ir.Value, elements: ir.Value) -> None:
        """Copies what is added to, unless that lies here."""
        b = self.b
        with b.if_then(b.icmp_unsigned("!=", b.ptrtoint(source, i64), b.ptrtoint(to, i64))):
            memcpy = b.module.declare_intrinsic("llvm.memcpy", [to.type, source.type, i64])
            b.call(memcpy, [to, source, b.mul(elements, i64(self.y.dtype.bytes)), i1(0)])

    def scan(self, low: ir.Value, high: ir.Value, into: ir.Value, source: ir.Value) -> None:
        """Looks at all indices, a vector at a time, and adds the rows that belong here."""
        b, lanes = self.b, self.s.lanes
        with loop(self.b, i64(0), self.n, lanes) as at:
            mask = self.memory.lanes_below(b.sub(self.n, at))
            k = self.indices(at, mask)
            self.check(k, mask)
            mine = (k >= self.s.element(low, int64)) & (k < self.s.element(high, int64))
            bits = b.bitcast(b.and_(mine.value, mask), ir.IntType(lanes))
            each_bit(b, bits, lambda lane: self.put(k, at, lane, into, source))

    def put(self, k: Scalar, at: ir.Value, lane: ir.Value, into: ir.Value, source: ir.Value) -> None:
        """Adds the row of a lane; of short rows the index is read again, which takes less than to take it out of a
        vector."""
        b = self.b
        own = b.extract_element(k.value, lane) if self.post != 1 else self.found(b.add(at, b.zext(lane, i64)))
        self.add(self.row(into, own), self.row(source, b.add(at, b.zext(lane, i64))))

    def found(self, at: ir.Value) -> ir.Value:
        """One index."""
        place = self.memory.offset(self.frame.buffer(self.index), at, self.index.dtype)
        return self.wrapped(self.s.cast(self.memory.load(place, self.index.dtype), int64)).value

    def indices(self, at: ir.Value, mask: Mask) -> Scalar:
        """A vector of indices."""
        address = self.memory.offset(self.frame.buffer(self.index), at, self.index.dtype)
        return self.wrapped(self.s.cast(self.memory.load_lanes(address, mask, self.index.dtype), int64))

    def wrapped(self, k: Scalar) -> Scalar:
        """Indices from the beginning of the axis."""
        if not self.op.wraps:
            return k
        return self.s.select(k < 0, k + self.s.element(self.frame.integer(self.size), int64), k)

    def check(self, k: Scalar, mask: Mask) -> ir.Value:
        """Reports the first index that is outside, and says whether there is one."""
        b = self.b
        outside = (k < 0) | (k >= self.s.element(self.frame.integer(self.size), int64))
        there = outside.value if mask is None else b.and_(outside.value, mask)
        bits = b.bitcast(there, ir.IntType(self.s.lanes))
        is_one = b.icmp_unsigned("!=", bits, bits.type(0))
        with b.if_then(is_one, likely=False):
            given = k
            if self.op.wraps:       # as it was before `wrapped`
                given = self.s.select(k < 0, k - self.s.element(self.frame.integer(self.size), int64), k)
            self.frame.report(1, self.y, b.extract_element(given.value, b.cttz(bits, i1(0))))
        return is_one

    def add(self, to: ir.Value, source: ir.Value) -> None:
        """Adds one row to another, or one element."""
        dtype = self.y.dtype
        if self.post == 1:
            x, z = (self.memory.load(p, dtype) for p in (to, source))
            self.memory.store(to, self.s.cast(self.op.combine(self.s, x, z), dtype))
            return
        for _ in self.blocks.vectors(Axis("%q", self.post), 4):
            at = self.frame.at["%q"]
            for u, mask in enumerate(self.blocks.lanes.masks):
                places = [self.memory.offset(p, self.b.add(at, i64(u * self.s.lanes)), dtype) for p in (to, source)]
                x, z = (self.memory.load_lanes(p, mask, dtype) for p in places)
                self.memory.store_lanes(places[0], mask, self.s.cast(self.op.combine(self.s, x, z), dtype))
