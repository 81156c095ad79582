"""Blocks of the loop IR as LLVM IR: loops in lanes with masked tails, folds over fixed lanes in a fixed tree."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from dataclasses import dataclass

from llvmlite import ir

from ...ir.sizes import Dim, Named, Size, of
from ...ir.types import Type, bool_, int64
from ...kernel.cost import instructions
from ...kernel.index import coefficient, variables
from ...kernel.loops import (
    Apply,
    Axis,
    Block,
    Bound,
    Check,
    Element,
    Fold,
    Generate,
    Load,
    Loop,
    Number,
    Part,
    Position,
    Step,
    Store,
    Total,
    Within,
    inside,
)
from .dims import i64
from .frame import Frame, constant, i1, i32
from .memory import Mask, Memory
from .scalars import LLVMScalar, LLVMScalars

Registers = list[LLVMScalar]
"""An element for each vector side by side; a single one where it is the same for all."""


@dataclass(frozen=True)
class Lanes:
    """The loop that runs in lanes: `masks[u]` for each vector side by side, None where all its lanes are inside."""

    name: str = ""
    masks: Sequence[Mask] = (None,)


class Blocks:
    """Writes blocks into a frame."""

    def __init__(self, frame: Frame, s: LLVMScalars) -> None:
        self.frame, self.b, self.s = frame, frame.b, s
        self.memory = Memory(frame, s)
        self.lanes = Lanes()
        self.values: dict[Element, Registers] = {}
        self.totals: dict[Fold, list[Registers]] = {}
        self.places: dict[Step, tuple[ir.Value, Dim]] = {}

    def block(self, block: Block) -> None:
        """The steps of a block, for the values that its loop variables have here."""
        before, self.places = self.places, dict(self.places)
        self.advance(block)
        for step in block:
            self.step(step)
        self.places = before

    def step(self, step: Step) -> None:
        match step:
            case Loop(axis, body, True):
                for _ in self.vectors(axis, unrolled(body)):
                    self.block(body)
            case Loop(axis, body, False):
                with self.serial(axis):
                    self.block(body)
            case Fold():
                self.fold(step)
            case Store(_, _, x):
                self.store(step, self.values[x])
            case _:
                self.values[step] = self.element(step)

    def advance(self, block: Block) -> None:
        """Moves the address of each access inside as far as the loop variables known here say."""
        for step in inside(block):
            if isinstance(step, Load | Store):
                address, rest = self.places.get(step) or (self.frame.buffer(step.value), step.offset)
                now, later = self.parted(rest, coefficient(step.offset, self.lanes.name) is not None)
                address = self.memory.offset(address, self.frame.integer(now), step.value.dtype)
                self.places[step] = address, later

    def parted(self, x: Dim, is_linear: bool) -> tuple[Dim, Dim]:
        """The terms of an expression that are known here, and the others: all that move with a lane that is not linear."""
        now: Dim = 0
        later: Dim = 0
        for monomial, k in of(x).terms:
            term = Size(((monomial, k),)) if monomial else k
            known = all(n in self.frame.at for n in variables(term))
            ready = known and (is_linear or coefficient(term, self.lanes.name) == 0)
            now, later = (now + term, later) if ready else (now, later + term)
        return now, later

    # Loops

    def span(self, axis: Axis) -> tuple[ir.Value, ir.Value]:
        """Where a loop starts and stops."""
        stop = self.frame.integer(axis.extent)
        if axis.block is None:
            return i64(0), stop
        outer, length = axis.block
        start = self.b.mul(self.frame.at[outer], i64(length))
        return start, self.frame.least(self.b.add(start, i64(length)), stop)

    @contextmanager
    def serial(self, axis: Axis) -> Iterator[None]:
        """A loop over single elements."""
        with self.frame.loop(*self.span(axis)) as i:
            self.frame.at[axis.name] = i
            yield
            del self.frame.at[axis.name]

    def vectors(self, axis: Axis, many: int) -> Iterator[None]:
        """The pieces of a loop in lanes: `many` full vectors side by side while they fit, then the rest under masks."""
        outer, lanes = self.lanes, self.s.lanes
        start, stop = self.span(axis)
        first, last = constant(start), constant(stop)
        if first is not None and last is not None:
            rest = (last - first) % (lanes * many)
            if last - first > rest:
                yield from self.piece(axis, start, i64(last - rest), [None] * many)
            if rest:
                full, tail = divmod(rest, lanes)
                masks = [None] * full + ([self.memory.lanes_below(i64(tail))] if tail else [])
                yield from self.piece(axis, i64(last - rest), stop, masks)
        else:
            size = self.b.sub(stop, start)
            whole = self.b.sub(stop, self.b.srem(size, i64(lanes * many)))
            yield from self.piece(axis, start, whole, [None] * many)
            yield from self.piece(axis, whole, stop, None)
        self.lanes = outer

    def piece(self, axis: Axis, start: ir.Value, stop: ir.Value, masks: Sequence[Mask] | None) -> Iterator[None]:
        """A loop over groups of vectors; without masks over single vectors under the mask of what is left."""
        with self.frame.loop(start, stop, self.s.lanes * (1 if masks is None else len(masks))) as i:
            self.frame.at[axis.name] = i
            self.lanes = Lanes(axis.name, masks or [self.memory.lanes_below(self.b.sub(stop, i))])
            yield
            del self.frame.at[axis.name]

    # Folds

    def fold(self, fold: Fold) -> None:
        """The loops of a fold, and its totals."""
        outer = self.lanes
        many = unrolled(fold.bodies[-1]) if fold.lane and fold.axes else 1
        cells = [self.cells(part, fold, many) for part in fold.parts]
        self.nested(fold, 0, many, cells)
        self.lanes = outer
        self.totals[fold] = [self.total(part, fold, cell) for part, cell in zip(fold.parts, cells)]

    def cells(self, part: Part, fold: Fold, many: int) -> list[ir.Value]:
        """Accumulators, one for each vector side by side, that hold the identity."""
        in_lanes = bool(fold.lane and fold.axes)
        count = many if in_lanes else len(self.lanes.masks) if self.lanes.name in part.x.depends else 1
        wide = in_lanes or self.lanes.name in part.x.depends
        start = self.s.constant(part.op.identity(Type(part.dtype)), part.dtype)  # type: ignore[attr-defined]
        start = self.s.splat(start) if wide else start
        cells = [self.frame.local(start.value.type) for _ in range(count)]
        for cell in cells:
            self.b.store(start.value, cell)
        return cells

    def nested(self, fold: Fold, k: int, many: int, cells: list[list[ir.Value]]) -> None:
        """The loops of a fold from axis k on."""
        if k == len(fold.axes):
            for part, own in zip(fold.parts, cells):
                self.accumulate(part, own, fold)
            return
        if fold.lane and k == len(fold.axes) - 1:
            for _ in self.vectors(fold.axes[k], many):
                self.inner(fold, k, many, cells)
            return
        with self.serial(fold.axes[k]):
            self.inner(fold, k, many, cells)

    def inner(self, fold: Fold, k: int, many: int, cells: list[list[ir.Value]]) -> None:
        before, self.places = self.places, dict(self.places)
        for body in fold.bodies[k:]:
            self.advance(body)
        for step in fold.bodies[k]:
            self.step(step)
        self.nested(fold, k + 1, many, cells)
        self.places = before

    def accumulate(self, part: Part, cells: list[ir.Value], fold: Fold) -> None:
        """Combines the element into the accumulators; lanes outside of the loop keep theirs."""
        masks = self.lanes.masks if fold.lane and fold.axes else [None] * len(cells)
        for cell, mask, x in zip(cells, masks, self.spread(self.values[part.x], len(masks))):
            old = self.loaded(cell, part)
            new = part.op.combine(self.s, old, self.s.cast(x, part.dtype))  # type: ignore[attr-defined]
            if mask is not None:
                new = self.s.select(self.s.element(mask, bool_), new, old)
            self.b.store(self.s.together(new.value, old.value)[0], cell)

    def loaded(self, cell: ir.Value, part: Part) -> LLVMScalar:
        return self.s.element(self.b.load(cell, typ=cell.allocated_type), part.dtype)

    def total(self, part: Part, fold: Fold, cells: list[ir.Value]) -> Registers:
        """The accumulators as they are, or for a fold in lanes all combined in a fixed tree."""
        found = [self.loaded(cell, part) for cell in cells]
        if not (fold.lane and fold.axes):
            return found
        combine = lambda x, y: part.op.combine(self.s, x, y)  # type: ignore[attr-defined]
        while len(found) > 1:
            found = [combine(x, y) for x, y in zip(found[::2], found[1::2])]
        (x,), step = found, self.s.lanes
        while step > 1:
            step //= 2
            x = combine(x, self.turned(x, step))
        return [self.s.element(self.b.extract_element(x.value, i32(0)), part.dtype)]

    def turned(self, x: LLVMScalar, step: int) -> LLVMScalar:
        """Lane l of the result is lane l + step of x, around the end."""
        lanes = self.s.lanes
        picks = ir.Constant(ir.VectorType(i32, lanes), [(k + step) % lanes for k in range(lanes)])
        return self.s.element(self.b.shuffle_vector(x.value, x.value, picks), x.dtype)

    # Elements

    def spread(self, x: Registers, count: int) -> Registers:
        """One register for each vector side by side."""
        return x * count if len(x) == 1 else x

    def element(self, step: Element) -> Registers:
        if isinstance(step, Total):
            return self.totals[step.fold][step.part]
        varies = self.lanes.name in step.depends
        return [self.register(step, u, varies) for u in range(len(self.lanes.masks) if varies else 1)]

    def register(self, step: Element, u: int, varies: bool) -> LLVMScalar:
        """The element in vector u, or for all lanes."""
        match step:
            case Number():
                return self.s.constant(step.value, step.dtype)
            case Position():
                return self.index(step.index, u)
            case Apply():
                return step.op.scalar(self.s, *(self.one(a, u) for a in step.args))  # type: ignore[attr-defined]
            case Generate():
                position = tuple(self.one(i, u) for i in step.index)
                return step.op.generate(self.s, position, *(self.one(a, u) for a in step.args))  # type: ignore[attr-defined]
            case Within():
                x = self.one(step.x, u)
                return self.s.select(self.s.element(self.within(step.bounds, u), bool_), x, zero_like(self.s, x))
            case Check():
                return self.checked(step, u, varies)
            case Load():
                return self.load_lanes(step, u) if varies else self.load_one(step)
        raise AssertionError(step)

    def one(self, x: Element, u: int) -> LLVMScalar:
        found = self.values[x]
        return found[u] if len(found) > 1 else found[0]

    def index(self, x: Dim, u: int) -> LLVMScalar:
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

    def checked(self, step: Check, u: int, varies: bool) -> LLVMScalar:
        """An index that is inside for sure; one that was not is reported."""
        x = self.s.cast(self.one(step.x, u), int64)
        bad = (x < 0) | (x >= self.s.element(self.frame.integer(step.size), int64))
        counted = self.memory.both(bad.value, self.lanes.masks[u] if varies else None,
                                   self.within(step.bounds, u) if step.bounds else None)
        found, worst = counted, x.value
        if isinstance(counted.type, ir.VectorType):
            bits = self.b.bitcast(counted, ir.IntType(self.s.lanes))
            found = self.b.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
            lane = self.b.cttz(bits, i1(0))
            worst = self.b.extract_element(self.s.splat(x).value, lane)
        with self.b.if_then(found, likely=False):
            self.frame.report(1, step.value, worst)
        return self.s.select(bad, 0, x)

    # Memory

    def load_one(self, step: Load) -> LLVMScalar:
        address, rest = self.places[step]
        assert rest == 0
        for x, stride in step.computed:
            move = self.b.mul(self.one(x, 0).value, self.frame.integer(stride))
            address = self.memory.offset(address, move, step.dtype)
        if not step.bounds:
            return self.memory.load(address, step.dtype)
        return self.memory.load_if(self.within(step.bounds, 0), address, self.frame.buffer(step.value), step.dtype)

    def load_lanes(self, step: Load, u: int) -> LLVMScalar:
        address, rest = self.places[step]
        mask = self.memory.both(self.lanes.masks[u], self.within(step.bounds, u) if step.bounds else None)
        mask = None if mask is None else self.s.splat(self.s.element(mask, bool_)).value
        stride = coefficient(step.offset, self.lanes.name)
        computed = [(self.one(x, u), stride) for x, stride in step.computed]
        if stride == 1 and not any(x.is_vector for x, _ in computed):
            for x, size in computed:
                address = self.memory.offset(address, self.b.mul(x.value, self.frame.integer(size)), step.dtype)
            return self.memory.load_lanes(self.memory.offset(address, i64(u * self.s.lanes), step.dtype), mask, step.dtype)
        offset = self.lane_offsets(rest, stride, u)
        for x, size in computed:
            offset = offset + self.s.cast(x, int64) * self.s.element(self.frame.integer(size), int64)
        return self.memory.gather(address, self.s.splat(offset).value, mask, step.dtype)

    def lane_offsets(self, rest: Dim, stride: Dim | None, u: int) -> LLVMScalar:
        """The offsets of the lanes of vector u behind an address that counts everything but them and `rest`."""
        if stride is None or rest != 0:
            return self.index(rest, u)
        return self.s.element(self.memory.steps(1, u * self.s.lanes), int64) * \
            self.s.element(self.frame.integer(stride), int64)

    def store(self, step: Store, x: Registers) -> None:
        """An element to its place, as the dtype that lies there."""
        address, rest = self.places[step]
        stride = coefficient(step.offset, self.lanes.name)
        if stride == 0:
            self.memory.store(address, self.s.cast(x[0], step.value.dtype))
            return
        for u, mask in enumerate(self.lanes.masks):
            value = self.s.cast(x[u] if len(x) > 1 else x[0], step.value.dtype)
            if stride == 1:
                self.memory.store_lanes(self.memory.offset(address, i64(u * self.s.lanes), value.dtype), mask, value)
            else:
                self.memory.scatter(address, self.s.splat(self.lane_offsets(rest, stride, u)).value, mask, value)


def zero_like(s: LLVMScalars, x: LLVMScalar) -> LLVMScalar:
    return s.constant(0, x.dtype)


def unrolled(body: Block) -> int:
    """How many vectors run side by side: more where little is computed."""
    work = sum(instructions(step.op, *(a.dtype for a in step.args)) for step in inside(body) if isinstance(step, Apply))
    work += sum(64 for step in inside(body) if isinstance(step, Generate) and len(step.args) > 0)
    return 4 if work <= 8 else 2 if work <= 40 else 1
