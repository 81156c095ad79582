"""From kernels to loops: each element computed at the outermost loop where all that it depends on is known."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from stele.ir.graph import Constant, Literal, Value, walk
from stele.ir.record import Record
from stele.ir.sizes import Dim
from stele.ir.types import DType, Shape, float32, int64, product
from stele.kernel import kinds
from stele.kernel.collapse import collapse
from stele.kernel.index import Splits, linear, regroup, strides, variable, variables
from stele.kernel.loops import (
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
    Nest,
    Number,
    Part,
    Position,
    Step,
    Store,
    Total,
    Within,
    show,
)
from stele.kernel.space import Index, Space, Stage, is_fold, measure, needs, reduced
from stele.ops.gather import CheckIndex, Gather
from stele.ops.linear import Cast, Concatenate
from stele.ops.random import RandomBits

Bounds = tuple[Bound, ...]


def here(v: Value, index: Index) -> tuple[Value, Index]:
    """Where a result goes: where it is."""
    return v, index


@dataclass(frozen=True, eq=False)
class Raw:
    """All stages of a space one after the other in each row, before anything is decided about how they run; `place`
    says where results go. Prints as loops."""

    results: tuple[Value, ...]
    body: frozenset[Value]
    place: Callable[[Value, Index], tuple[Value, Index]] = here
    written: dict[bool | None, Nest] = field(default_factory=dict[bool | None, Nest])

    @cached_property
    def space(self) -> Space:
        """Its rows and stages."""
        return measure(self.results, self.body)

    @property
    def question(self) -> str:
        """How it runs, as a question: what it computes, and a number for its structure, whatever is around it."""
        number: dict[Value, int] = {}
        lines = [str(self.place is here)]
        for v in walk(self.results, stop=lambda v: v not in self.body):
            inside = v in self.body or isinstance(v.op, Literal)
            lines.append(f"{v.op!r} {[number[a] for a in v.args]} : {v.type}" if inside else str(v.type))
            number[v] = len(number)
        ops = " ".join(v.op.name for v in number if v in self.body)
        code = sha256("\n".join(lines).encode()).hexdigest()[:8]
        return f"nest {ops:.40} -> {', '.join(str(v.type) for v in self.results):.40} {code}"

    def __str__(self) -> str:
        return show(self.loops())

    @property
    def crosses(self) -> bool:
        """Whether lanes may run over the last row axis."""
        return bool(self.space.rows) and self.place is here and not any(stage.sums for stage in self.space.stages)

    def loops(self, across: bool | None = None) -> Nest:
        """The nest, with lanes over the last row axis or inside of rows, or without."""
        if across not in self.written:
            self.written[across] = collapse(Lowering(self.space, self.body, across).nest(self.place))
        return self.written[across]


def lower(kernel: kinds.Nest) -> list[Raw]:
    """The raw nests of a kernel, to be run in order."""
    (result, *_) = kernel.results
    if isinstance(result.op, Concatenate) and kernel.anchor is result:
        return [joined(result, k, kernel.body) for k in range(len(result.args))]
    turns = {part: (v, k) for v in kernel.results for k, part in enumerate(kinds.woven(v))}
    if not turns:
        return [Raw(tuple(kernel.results), frozenset(kernel.body))]
    wholes = {v for v, _ in turns.values()}
    return [Raw(kinds.unwoven(kernel.results), frozenset(kernel.body) - wholes, lambda v, index: taking_turns(
        *turns[v], index) if v in turns else (v, index))]


def taking_turns(v: Value, k: int, index: Index) -> tuple[Value, Index]:
    """Where an element of part k of a woven value goes."""
    return v, (*index[:-1], k)


def joined(v: Value, k: int, body: Collection[Value]) -> Raw:
    """The raw nest that writes operand k of a concatenation into its part of the result."""
    part, inner = v.args[k], frozenset(body) - {v}
    axis = v.op.axis % v.ndim  # type: ignore[attr-defined]
    start = sum((a.shape[axis] for a in v.args[:k]), 0)
    return Raw((part,), inner,
               lambda _, index: (v, tuple(i + start if n == axis else i for n, i in enumerate(index))))


class Given(Element):
    """An element that whoever runs the block brings along."""


class Piece(Record):
    """A block without loops over the variables of one index; `x` is what it makes of it, or what it is given.

    `quotients` says what further variables mean: an expression divided by another.
    """

    block: Block
    x: Element
    quotients: Mapping[str, tuple[Dim, Dim]]


def operand(v: Value, body: Collection[Value], shape: Shape) -> Piece:
    """The element of an operand at the index (%c0, %c1 ...) of its elements seen as `shape`."""
    lowering, index = at_point(body, shape, {})
    x = lowering.element(v, regroup(index, shape, v.shape, {}))
    return Piece(lowering.close(), x, {})


def outcome(v: Value, results: Collection[Value], body: Collection[Value], shape: Shape) -> Piece:
    """What happens to element (%c0, %c1 ...) of v, seen as `shape`: results are computed from it and stored."""
    splits = Splits(f"%c{len(shape) - 1}")
    lowering, index = at_point(frozenset(body) - {v}, shape, splits)
    given = Given(accumulator(v), frozenset[str]().union(*map(variables, index)))
    lowering.known[v, regroup(index, shape, v.shape, splits), ()] = lowering.converted(given, v.dtype)
    for r in results:
        at = regroup(index, shape, r.shape, splits)
        lowering.store(r, at, lowering.element(r, at))
    return Piece(lowering.close(), given, splits.meaning)


def at_point(body: Collection[Value], shape: Shape, ranges: dict[str, Dim]) -> tuple[Lowering, Index]:
    """A lowering inside of one scope, whose variables are an index of `shape`."""
    index = tuple(variable(f"c{k}") for k in range(len(shape)))
    lowering = Lowering(Space(ranges), body, False)
    lowering.open(*(f"%c{k}" for k in range(len(shape))))
    lowering.floor = 1
    return lowering, index


@dataclass
class Scope:
    """An open loop: its variables with those around it, and the steps so far."""

    variables: frozenset[str]
    steps: list[Step] = field(default_factory=list[Step])


class Lowering:
    """Writes the loops of one space. `across` runs lanes over the last row axis, False inside of rows, None nowhere."""

    def __init__(self, space: Space, body: Collection[Value], across: bool | None) -> None:
        self.space, self.body, self.across = space, frozenset(body), across
        self.scopes = [Scope(frozenset())]
        self.known: dict[object, Element] = {}
        self.stored: set[Value] = set()
        self.place = here
        self.floor = 0

    def nest(self, place: Callable[[Value, Index], tuple[Value, Index]]) -> Nest:
        """All stages one after the other in each row; `place` says where results go."""
        self.place = place
        rows, extents = self.space.rows, self.space.ranges
        outer = rows[:-1] if self.across else rows
        self.open(*outer)
        if self.across:
            self.open(rows[-1])
        for stage in self.space.stages:
            self.stage(stage)
        if self.across:
            self.close_loop(rows[-1], True)
        body, prelude = self.close(), self.close()
        if self.space.folds and not rows:
            body, prelude = Block(prelude.steps + body.steps), Block(())
        return Nest(tuple(Axis(r, extents[r]) for r in outer), 1, prelude, body)

    def open(self, *names: str) -> None:
        """A loop begins inside the innermost one."""
        self.scopes.append(Scope(self.scopes[-1].variables | frozenset(names)))

    def close(self) -> Block:
        return Block(tuple(self.scopes.pop().steps))

    def close_loop(self, name: str, lane: bool) -> None:
        """The innermost loop ends and becomes a step of the one around it."""
        body = self.close()
        self.scopes[-1].steps.append(Loop(Axis(name, self.space.ranges[name]), body, lane))

    def stage(self, stage: Stage) -> None:
        for name in stage.loops:
            self.open(name)
        for v in stage.results:
            x = self.element(v, stage.index)
            self.store(*self.place(v, stage.index), x)
        for v in stage.sums:
            x, over = self.element(v.args[0], stage.index), reduced(v)
            kept = tuple(i for k, i in enumerate(stage.index) if k not in over)
            self.scopes[-1].steps.append(Store(v, linear(kept, v.shape), x, adds=True))
        for k, name in enumerate(reversed(stage.loops)):
            self.close_loop(name, k == 0 and self.across is False)

    def store(self, v: Value, index: Index, x: Element) -> None:
        offset = linear(index, v.shape)
        self.home(variables(offset) | x.depends).steps.append(Store(v, offset, x))

    def home(self, depends: frozenset[str]) -> Scope:
        """The outermost loop in which all of `depends` is known."""
        if self.floor:
            return self.scopes[self.floor]
        return next(s for s in self.scopes if depends <= s.variables)

    def placed(self, x: Element) -> Element:
        self.home(x.depends).steps.append(x)
        return x

    def element(self, v: Value, index: Index, bounds: Bounds = ()) -> Element:
        """Element `index` of v, computed once; outside of `bounds` it may be anything, but touches no memory."""
        key = (v, index, bounds)
        if key not in self.known:
            inside = v in self.body and v.op.family != "leaf"
            self.known[key] = self.computed(v, index, bounds) if inside else self.read(v, index, bounds)
        if not bounds and v not in self.stored and self.space.stores.get(v) == index:
            self.stored.add(v)
            self.store(*self.place(v, index), self.known[key])
        return self.known[key]

    def read(self, v: Value, index: Index, bounds: Bounds) -> Element:
        """An element from memory, or a number."""
        if isinstance(v.op, Literal):
            return self.placed(Number(v.dtype, frozenset(), v.op.value))
        if isinstance(v.op, Constant) and v.op.array.size == 1:
            return self.placed(Number(v.dtype, frozenset(), v.op.array.item()))
        offset = linear(index, v.shape)
        return self.placed(Load(v.dtype, depending(offset, bounds=bounds), v, offset, (), bounds))

    def computed(self, v: Value, index: Index, bounds: Bounds) -> Element:
        """An element from other elements."""
        if is_fold(v):
            return self.known.get((v, self.space.folds[v].index, ())) or self.total(v)
        if isinstance(v.op, Gather):
            return self.gathered(v, v.op.axis % v.args[0].ndim, index, bounds)
        operands = needs(v, index, self.space.ranges)
        if v.op.family == "movement":
            (need,) = operands
            x = self.element(need.x, need.at, bounds + need.bounds)
            if not need.bounds or isinstance(x, Load):
                return x
            return self.placed(Within(v.dtype, depending(bounds=need.bounds) | x.depends, x, need.bounds))
        args = tuple(self.element(n.x, n.at, bounds) for n in operands)
        if v.op.family == "generate":
            return self.generated(v, index, args)
        if isinstance(v.op, CheckIndex):
            (x,) = args
            return self.placed(Check(x.dtype, depending(bounds=bounds, of=args), x, v.op.size, v, bounds))
        return self.placed(Apply(v.dtype, depending(of=args), v.op, args))

    def converted(self, x: Element, dtype: DType) -> Element:
        """x as an element of `dtype`."""
        return x if x.dtype == dtype else self.placed(Apply(dtype, x.depends, Cast(dtype), (x,)))

    def generated(self, v: Value, index: Index, args: tuple[Element, ...]) -> Element:
        """An element from its index; of random bits from its row-major position, so that loops can be merged."""
        op = v.op
        if isinstance(op, RandomBits):
            op, index = RandomBits((product(v.shape),)), (linear(index, v.shape),)
        positions = tuple(self.placed(Position(int64, variables(i), i)) for i in index)
        return self.placed(Generate(v.dtype, depending(of=(*positions, *args)), op, positions, args))

    def gathered(self, v: Value, axis: int, index: Index, bounds: Bounds) -> Element:
        """An element at a computed index of one axis, which is checked."""
        x, at = v.args
        found = self.element(at, index[axis:axis + at.ndim], bounds)
        depends = found.depends | depending(bounds=bounds)
        checked = self.placed(Check(int64, depends, found, x.shape[axis], v, bounds))
        offset = linear((*index[:axis], 0, *index[axis + at.ndim:]), x.shape)
        computed = ((checked, strides(x.shape)[axis]),)
        return self.placed(Load(v.dtype, depending(offset, bounds, (checked,)), x, offset, computed, bounds))

    def total(self, v: Value) -> Element:
        """The result of a reduction: its loops are written where its rows are known, for all of its class at once."""
        cls = self.space.folds[v]
        home = self.home(frozenset[str]().union(*map(variables, cls.index)))
        opened = [Scope(home.variables | frozenset(cls.loops[:k + 1])) for k in range(len(cls.loops))]
        depth = len(self.scopes)
        self.scopes += opened
        parts = tuple(Part(m.op, accumulator(m), self.element(m.args[0], cls.operand)) for m in cls.members)
        del self.scopes[depth:]
        axes = tuple(Axis(n, self.space.ranges[n]) for n in cls.loops)
        fold = Fold(axes, tuple(Block(tuple(s.steps)) for s in opened), parts, self.across is False)
        home.steps.append(fold)
        for k, m in enumerate(cls.members):
            total = self.placed(Total(accumulator(m), home.variables, fold, k))
            self.known[m, cls.index, ()] = self.converted(total, m.dtype)
        return self.known[v, cls.index, ()]


def accumulator(v: Value) -> DType:
    """What a reduction adds up in: its result's dtype, float32 for narrower floats."""
    return float32 if v.dtype.is_float and v.dtype.bits < 32 else v.dtype


def depending(offset: Dim = 0, bounds: Bounds = (), of: tuple[Element, ...] = ()) -> frozenset[str]:
    """The loop variables of an offset, of bounds and of other elements."""
    return variables(offset).union(*(variables(e) for b in bounds for e in b), *(x.depends for x in of))
