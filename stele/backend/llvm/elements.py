"""Elements of the loop IR as registers: one for each vector side by side, or one that is the same for all lanes."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Frame
from stele.backend.llvm.launch import i1, i32
from stele.backend.llvm.memory import STEPS, Mask, Memory
from stele.backend.llvm.nest import prefetch_lines
from stele.backend.llvm.scalars import LLVMScalars, Scalar
from stele.ir.record import Record
from stele.ir.sizes import Dim, Named, Size, of
from stele.ir.types import bool_, int64
from stele.kernel.index import coefficient, variables
from stele.kernel.loops import (
    Apply,
    Block,
    Bound,
    Check,
    Element,
    Fold,
    Generate,
    Load,
    Number,
    Position,
    Step,
    Store,
    Total,
    Within,
    inside,
)
from stele.kernel.machine import LINE
from stele.ops import generate
from stele.ops.elementwise.base import Elementwise
from stele.ops.gather import CheckCount
from stele.ops.linear import Cast

AHEAD = 2048
"""Bytes ahead of a load at which a long array is asked for."""
Registers = list[Scalar]
"""An element for each vector side by side; a single one where it is the same for all."""


class Lanes(Record):
    """The loop that runs in lanes: `masks[u]` for each vector side by side, None where all its lanes are inside.
    `strays`: none may be, and indices of other loops outside too."""

    name: str = ""
    masks: Sequence[Mask] = (None,)
    strays: bool = False


class Elements:
    """Computes elements at the builder's position; `places` says how far the address of each access is known there."""

    def __init__(self, frame: Frame, s: LLVMScalars) -> None:
        self.frame, self.b, self.s = frame, frame.b, s
        self.memory = Memory(frame, s)
        self.lanes = Lanes()
        self.values: dict[Element, Registers] = {}
        self.totals: dict[Fold, list[Registers]] = {}
        self.places: dict[Step, tuple[ir.Value, Dim]] = {}
        self.streams = frozenset[Step]()
        self.long = frozenset[Step]()
        self.side: Mapping[Step, int] = {}

    def advance(self, block: Block) -> None:
        """Moves the address of each access inside as far as the loop variables known here say."""
        for step in inside(block):
            if isinstance(step, Load | Store):
                address, rest = self.places.get(step) or (self.frame.buffer(step.value), step.offset)
                now, later = self.parted(rest, coefficient(step.offset, self.lanes.name) is not None)
                address = self.memory.offset(address, self.frame.integer(now), step.value.dtype)
                self.places[step] = address, later

    def parted(self, x: Dim, is_linear: bool) -> tuple[Dim, Dim]:
        """The terms of an expression that are known here, and the others: all that move with a lane if not in step."""
        now: Dim = 0
        later: Dim = 0
        for monomial, k in of(x).terms:
            term = Size(((monomial, k),)) if monomial else k
            known = all(n in self.frame.at for n in variables(term))
            ready = known and (is_linear or coefficient(term, self.lanes.name) == 0)
            now, later = (now + term, later) if ready else (now, later + term)
        return now, later

    def spread(self, x: Registers, count: int) -> Registers:
        """One register for each vector side by side."""
        return x * count if len(x) == 1 else x

    def element(self, step: Element) -> Registers:
        if isinstance(step, Total):
            return self.totals[step.fold][step.part]
        varies = self.lanes.name in step.depends
        return [self.register(step, u, varies) for u in range(len(self.lanes.masks) if varies else 1)]

    def register(self, step: Element, u: int, varies: bool) -> Scalar:
        """The element in vector u, or for all lanes."""
        match step:
            case Number():
                return self.s.constant(step.value, step.dtype)
            case Position():
                return self.index(step.index, u)
            case Apply(op=Elementwise() | Cast() as op):
                made = op.scalar(self.s, *(self.one(a, u) for a in step.args))
                return self.s.cast(made, step.dtype)    # float16 and bfloat16 are rounded after each op
            case Generate(op=generate.Generate() as op):
                position = tuple(self.one(i, u) for i in step.index)
                return op.generate(self.s, position, *(self.one(a, u) for a in step.args))
            case Within():
                x = self.one(step.x, u)
                return self.s.select(self.s.element(self.within(step.bounds, u), bool_), x, zero_like(self.s, x))
            case Check():
                return self.checked(step, u, varies)
            case Load():
                return self.load_lanes(step, u) if varies else self.load_one(step)
            case _:
                raise AssertionError(step)

    def one(self, x: Element, u: int) -> Scalar:
        found = self.values[x]
        return found[u] if len(found) > 1 else found[0]

    def index(self, x: Dim, u: int) -> Scalar:
        """An index expression as an int64 element."""
        lane = self.lanes.name
        step = coefficient(x, lane)
        if step == 0:
            return self.s.element(self.frame.integer(x), int64)
        if step is not None:
            base = self.s.element(self.frame.integer(x), int64)
            return base + self.s.element(self.memory.steps(1, u * self.s.lanes), int64) * \
                self.s.element(self.frame.integer(step), int64)
        total = self.s.element(i64(0), int64)
        for monomial, k in of(x).terms:
            factors = [self.index(Size((((atom,), 1),)), u) if isinstance(atom, Named)
                       else self.s.idiv(self.index(atom.x, u), atom.by) for atom in monomial]
            total = total + reduce(lambda p, q: p * q, factors, self.s.element(i64(k), int64))
        return total

    def within(self, bounds: Sequence[Bound], u: int) -> ir.Value:
        """Whether all bounds hold."""
        found: Mask = None
        for e, low, high in bounds:
            i = self.index(e, u)
            holds = (i >= self.index(low, u)) & (i < self.index(high, u))
            found = self.memory.both(found, holds.value)
        assert found is not None
        return found

    def checked(self, step: Check, u: int, varies: bool) -> Scalar:
        """An index that is inside for sure, in the dtype the step asks for; one that was not is reported."""
        x = self.s.cast(self.one(step.x, u), int64)
        bad = (x < 0) | (x >= self.s.element(self.frame.integer(step.size), int64))
        counted = self.memory.both(bad.value, self.lanes.masks[u] if varies else None,
                                   self.within(step.bounds, u) if step.bounds else None)
        assert counted is not None
        found, worst = counted, x.value
        if isinstance(counted.type, ir.VectorType):
            bits = self.b.bitcast(counted, ir.IntType(self.s.lanes))
            found = self.b.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
            lane = self.b.cttz(bits, i1(0))
            worst = self.b.extract_element(self.s.splat(x).value, lane)
        with self.b.if_then(found, likely=False):
            self.frame.report(2 if isinstance(step.value.op, CheckCount) else 1, step.value, worst)
        return self.s.cast(self.s.select(bad, 0, x), step.dtype)

    def load_one(self, step: Load) -> Scalar:
        address, rest = self.places[step]
        assert rest == 0
        for x, stride in step.computed:
            move = self.b.mul(self.one(x, 0).value, self.frame.integer(stride))
            address = self.memory.offset(address, move, step.dtype)
        inside = self.memory.both(self.within(step.bounds, 0) if step.bounds else None, self.some())
        if inside is None:
            return self.memory.load(address, step.dtype)
        return self.memory.load_if(inside, address, self.frame.buffer(step.value), step.dtype)

    def some(self) -> Mask:
        """Whether any lane is inside, where all may be outside: what is the same for all of them is read then alone."""
        (mask, *_), bits = self.lanes.masks, ir.IntType(self.s.lanes)
        if mask is None or not self.lanes.strays:
            return None
        return self.b.icmp_unsigned("!=", self.b.bitcast(mask, bits), ir.Constant(bits, 0))

    def load_lanes(self, step: Load, u: int) -> Scalar:
        address, rest = self.reached(step, u)
        mask = self.memory.both(self.lanes.masks[u], self.within(step.bounds, u) if step.bounds else None)
        mask = None if mask is None else self.s.splat(self.s.element(mask, bool_)).value
        stride = coefficient(step.offset, self.lanes.name)
        computed = [(self.one(x, u), size) for x, size in step.computed]
        scattered = any(isinstance(x.value.type, ir.VectorType) for x, _ in computed)
        if isinstance(stride, int) and stride in STEPS and not scattered:
            for x, size in computed:
                address = self.memory.offset(address, self.b.mul(x.value, self.frame.integer(size)), step.dtype)
            address = self.memory.offset(address, i64(u * self.s.lanes * stride), step.dtype)
            span = self.s.lanes * stride * step.dtype.bytes
            if step in self.long:
                begun = -u * span % LINE    # of a line that the vector before has asked for
                prefetch_lines(self.b, address, AHEAD + begun, span - begun)
            return self.memory.load_steps(address, stride, mask, step.dtype)
        offset = self.lane_offsets(rest, stride, u)
        for x, size in computed:
            offset = offset + self.s.cast(x, int64) * self.s.element(self.frame.integer(size), int64)
        return self.memory.gather(address, self.s.splat(offset).value, mask, step.dtype)

    def reached(self, step: Load, u: int) -> tuple[ir.Value, Dim]:
        """Where a load's lanes begin; the buffer where none is inside, since masks do not make up for missing pages."""
        address, rest = self.places[step]
        rows = [bound for bound in step.bounds if self.lanes.name not in frozenset().union(*map(variables, bound))]
        if rows:
            address = self.b.select(self.within(rows, u), address, self.frame.buffer(step.value))
        return address, rest

    def lane_offsets(self, rest: Dim, stride: Dim | None, u: int) -> Scalar:
        """The offsets of the lanes of vector u behind an address that counts everything but them and `rest`."""
        if stride is None or rest != 0:
            return self.index(rest, u)
        return self.s.element(self.memory.steps(1, u * self.s.lanes), int64) * \
            self.s.element(self.frame.integer(stride), int64)

    def first(self, x: Scalar) -> Scalar:
        """The one element of lanes over an axis of length 1."""
        if not isinstance(x.value.type, ir.VectorType):
            return x
        return self.s.element(self.b.extract_element(x.value, i32(0)), x.dtype)

    def store(self, step: Store, x: Registers) -> None:
        """An element to its place, as the dtype that lies there."""
        address, rest = self.places[step]
        stride = coefficient(step.offset, self.lanes.name)
        if stride == 0:
            self.store_first(address, self.s.cast(x[0], step.value.dtype))
            return
        for u, mask in enumerate(self.lanes.masks):
            value = self.s.cast(x[u] if len(x) > 1 else x[0], step.value.dtype)
            if stride == 1:
                place = self.memory.offset(address, i64(u * self.s.lanes), value.dtype)
                self.memory.store_lanes(place, mask, value, step in self.streams)
            else:
                self.memory.scatter(address, self.s.splat(self.lane_offsets(rest, stride, u)).value, mask, value)

    def store_first(self, address: ir.Value, x: Scalar) -> None:
        """The one element of lanes over an axis of length 1, unless these lanes lie behind it."""
        if (mask := self.lanes.masks[0]) is None:
            self.memory.store(address, self.first(x))
        else:
            self.memory.store_lanes(address, self.memory.both(mask, self.memory.lanes_below(i64(1))), x)

    def twins(self, block: Block) -> dict[Store, Store]:
        """Stores of lanes two elements apart, each by the one that fills the gaps, which comes later."""
        found: dict[Store, Store] = {}
        stores = [s for s in block if isinstance(s, Store) and coefficient(s.offset, self.lanes.name) == 2]
        for first, then in pairwise(stores):
            if first.value is then.value and then.offset - first.offset == 1 and first not in found:
                found[then] = first
        return found

    def store_both(self, first: Store, then: Store) -> None:
        """Two elements that lie side by side, of each lane."""
        (address, _), lanes, dtype = self.places[first], self.s.lanes, first.value.dtype
        evens, odds = (self.spread(self.values[s.x], len(self.lanes.masks)) for s in (first, then))
        for u, mask in enumerate(self.lanes.masks):
            x, z = (self.s.splat(self.s.cast(part[u], dtype)).value for part in (evens, odds))
            for half in (0, 1):
                at = [half * lanes // 2 + k // 2 for k in range(lanes)]
                value = self.memory.picked(x, z, [lane + lanes * (k % 2) for k, lane in enumerate(at)])
                inside = None if mask is None else self.memory.picked(mask, mask, at)
                place = self.memory.offset(address, i64((2 * u + half) * lanes), dtype)
                self.memory.store_lanes(place, inside, self.s.element(value, dtype))


def zero_like(s: LLVMScalars, x: Scalar) -> Scalar:
    return s.constant(0, x.dtype)
