"""Rows combined at computed indices: each task owns a range of target rows and adds to them in index order."""
from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from stele.backend.llvm.blocks import Blocks
from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Frame, Slots
from stele.backend.llvm.launch import Launch, i1, i8, new_kernel
from stele.backend.llvm.nest import least, loop
from stele.backend.llvm.scalars import LLVMScalars, Scalar
from stele.ir.graph import Value
from stele.ir.sizes import ceil
from stele.ir.types import int64, product
from stele.kernel import kinds
from stele.kernel.loops import Axis
from stele.kernel.machine import Machine
from stele.ops.gather import Scatter as Op
from stele.ops.gather import ScatterAdd


def emit_scatter(module: ir.Module, name: str, kernel: kinds.Scatter, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the function of a scatter of (pre, index, post) into (pre, size, post)."""
    (y,) = kernel.results
    scatter = Scatter(module, name, y, slots, target)
    scatter.emit()
    return [Launch(name, scatter.pre * ceil(scatter.size, scatter.share))]


class Scatter:
    """The one function of a scatter. A task is one element of `pre` and `share` rows of the result."""

    def __init__(self, module: ir.Module, name: str, y: Value, slots: Slots, target: Machine) -> None:
        assert isinstance(y.op, Op)
        self.op = y.op
        self.y, (self.g, self.index), axis = y, y.args, y.op.axis
        self.pre, self.size, self.post = product(y.shape[:axis]), y.shape[axis], product(y.shape[axis + 1:])
        self.count = product(self.index.shape)
        self.share = max(1, target.owned // max(self.post, 1)) if isinstance(self.post, int) else 16
        self.frame = Frame(new_kernel(module, name), slots, {})
        self.b = self.frame.b
        self.blocks = Blocks(self.frame, LLVMScalars(self.b, target.vector_bytes // max(4, y.dtype.bytes), target.fma))
        self.s, self.memory = self.blocks.s, self.blocks.memory
        self.n, self.width = self.frame.integer(self.count), self.frame.integer(self.post)

    def emit(self) -> None:
        b, ranges = self.b, self.frame.integer(ceil(self.size, self.share))
        with loop(self.b, *self.frame.tasks) as task:
            outer, part = b.udiv(task, ranges), b.urem(task, ranges)
            low = b.mul(part, i64(self.share))
            high = least(b, b.add(low, i64(self.share)), self.frame.integer(self.size))
            rows = b.mul(outer, self.frame.integer(self.size * self.post))
            into = self.memory.offset(self.frame.buffer(self.y), rows, self.y.dtype)
            read = b.mul(outer, self.frame.integer(self.count * self.post))
            source = self.memory.offset(self.frame.buffer(self.g), read, self.y.dtype)
            self.clear(self.row(into, low), b.mul(b.sub(high, low), self.width))
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

    def scan(self, low: ir.Value, high: ir.Value, into: ir.Value, source: ir.Value) -> None:
        """Looks at all indices, a vector at a time, and adds the rows that belong here."""
        b, lanes = self.b, self.s.lanes
        with loop(self.b, i64(0), self.n, lanes) as at:
            mask = self.memory.lanes_below(b.sub(self.n, at))
            address = self.memory.offset(self.frame.buffer(self.index), at, self.index.dtype)
            k = self.s.cast(self.memory.load_lanes(address, mask, self.index.dtype), int64)
            self.check(k, mask)
            mine = (k >= self.s.element(low, int64)) & (k < self.s.element(high, int64))
            bits = b.bitcast(b.and_(mine.value, mask), ir.IntType(lanes))
            self.each(bits, lambda lane: self.add(self.row(into, self.found(k, at, lane)),
                                                  self.row(source, b.add(at, b.zext(lane, i64)))))

    def found(self, k: Scalar, at: ir.Value, lane: ir.Value) -> ir.Value:
        """The index in a lane: of short rows it is read again, which takes less than to take it out of a vector."""
        if self.post != 1:
            return self.b.extract_element(k.value, lane)
        place = self.memory.offset(self.frame.buffer(self.index), self.b.add(at, self.b.zext(lane, i64)),
                                   self.index.dtype)
        return self.s.cast(self.memory.load(place, self.index.dtype), int64).value

    def check(self, k: Scalar, mask: ir.Value) -> None:
        """Reports the first index that is outside."""
        b = self.b
        outside = (k < 0) | (k >= self.s.element(self.frame.integer(self.size), int64))
        bits = b.bitcast(b.and_(outside.value, mask), ir.IntType(self.s.lanes))
        with b.if_then(b.icmp_unsigned("!=", bits, bits.type(0)), likely=False):
            self.frame.report(1, self.y, b.extract_element(k.value, b.cttz(bits, i1(0))))

    def each(self, bits: ir.Value, body: Callable[[ir.Value], None]) -> None:
        """`body(lane)` for each bit that is set, lowest first."""
        b, before = self.b, self.b.block
        head, inside, after = (b.append_basic_block(n) for n in ("bits", "bit", "done"))
        b.branch(head)
        b.position_at_end(head)
        left = b.phi(bits.type)
        left.add_incoming(bits, before)
        b.cbranch(b.icmp_unsigned("!=", left, bits.type(0)), inside, after)
        b.position_at_end(inside)
        body(b.cttz(left, i1(1)))
        left.add_incoming(b.and_(left, b.sub(left, bits.type(1))), b.block)
        b.branch(head)
        b.position_at_end(after)

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
