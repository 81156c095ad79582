"""The iteration space of a kernel: rows that its reductions share, loops of its results, axes of its folds."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stele.ir.graph import Value, walk
from stele.ir.record import Record
from stele.ir.sizes import Dim
from stele.ir.types import Shape, product
from stele.kernel.index import (
    Opaque,
    Refine,
    coefficient,
    is_inside,
    linear,
    plain,
    regroup,
    substitute,
    variable,
    variables,
)
from stele.kernel.loops import Bound
from stele.ops.gather import Gather
from stele.ops.linear import Movement, Reshape, Sum
from stele.ops.reduction import Reduction

Index = tuple[Dim, ...]


class Unfit(Exception):
    """These values have no common iteration space."""


class Need(NamedTuple):
    """An operand and the index at which it is needed, within bounds."""

    x: Value
    at: Index
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class FoldClass:
    """Reductions that share their loops: same rows, operand shape and axes, none needing another."""

    index: Index
    operand: Index
    loops: tuple[str, ...]
    members: list[Value] = field(default_factory=list[Value])


class Stage(Record):
    """Results computed by the loops `loops` inside a row; `sums` add up what they sum at `index` over all rows."""

    results: tuple[Value, ...]
    index: Index
    loops: tuple[str, ...]
    sums: tuple[Value, ...] = ()


@dataclass
class Space:
    """Extents of the loop variables; `rows` come first; each stage stores values of one shape at one index."""

    ranges: dict[str, Dim] = field(default_factory=dict[str, Dim])
    rows: tuple[str, ...] = ()
    stages: list[Stage] = field(default_factory=list[Stage])
    stores: dict[Value, Index] = field(default_factory=dict[Value, Index])
    folds: dict[Value, FoldClass] = field(default_factory=dict[Value, FoldClass])
    once: Callable[[Value], bool] = lambda v: True
    """Whether no element of a value is computed more than once in any pass over a row."""


def is_fold(v: Value) -> bool:
    return v.op.family == "reduction"


def needs(v: Value, index: Index, ranges: dict[str, Dim]) -> list[Need]:
    """What element `index` of an inlined value is computed from; of a gather, where its index is."""
    op = v.op
    match op:
        case Reshape():
            return [Need(v.args[0], regroup(index, v.shape, v.args[0].shape, ranges))]
        case Gather(axis):
            at = axis % v.args[0].ndim
            return [Need(v.args[1], index[at:at + v.args[1].ndim])]
    if op.family == "movement":
        assert isinstance(op, Movement), v      # concatenations have nests of their own
        source = op.source(index, v.args[0].type)
        at = tuple(0 if n == 1 else i for i, n in zip(source.index, v.args[0].shape))
        return [Need(v.args[0], at, tuple(b for b in source.bounds if not is_inside(b[0], b[1], b[2], ranges)))]
    if op.family == "contraction":
        return []
    if op.family == "generate":
        return [Need(a, ()) for a in v.args]
    return [Need(a, index if a.ndim else ()) for a in v.args]


def fetches(v: Value, body: Collection[Value]) -> bool:
    """Whether any element of a value computed here may be needed for one of v: it has to be in memory before."""
    return isinstance(v.op, Gather) and v.args[0] in body


def measure(results: Sequence[Value], body: Collection[Value]) -> Space:
    """The space in which `results` are computed when the values of `body` (results included) are not read from memory.

    Raises Unfit if there is none.
    """
    splits: dict[str, tuple[Dim, ...]] = {}
    while len(splits) < 16:
        try:
            return Measuring(results, body, splits).space()
        except Refine as split:
            splits[split.name] = split.extents
        except Opaque:
            break
    raise Unfit


def follow(results: Sequence[Value], body: Collection[Value], index: Index, shape: Shape,
           ranges: dict[str, Dim]) -> dict[Value, set[Index]]:
    """All indices at which values of `body` are needed for the element of each result that `index` of `shape` means.

    Raises Unfit where that takes a reduction, or loops other than those of `index`.
    """
    found: dict[Value, set[Index]] = {}
    try:
        stack = [(v, regroup(index, shape, v.shape, ranges)) for v in results]
        while stack:
            v, at = stack.pop()
            if v not in body or at in found.setdefault(v, set()):
                continue
            if is_fold(v) or fetches(v, body):
                raise Unfit
            found[v].add(at)
            stack += [(n.x, n.at) for n in needs(v, at, ranges)]
    except (Opaque, Refine):
        raise Unfit from None
    return found


def depths(results: Sequence[Value], body: Collection[Value]) -> dict[Value, int]:
    """Through how many folds each value comes."""
    found: dict[Value, int] = {}
    for v in walk(results, stop=lambda v: v not in body):
        if v in body or v in results:
            found[v] = max((found.get(a, 0) for a in v.args), default=0) + is_fold(v)
    return found


def leading(results: Sequence[Value], depth: Mapping[Value, int]) -> tuple[list[Value], tuple[Value, ...]]:
    """The results that no other one is made of, and those of them that one loop stores, of the shape of the one behind
    folds, or with most axes. Each of the others, but for sums over that loop, has a loop of its own.
    """
    used = {a for v in depth for a in v.args}
    leads = [v for v in results if v not in used]
    first = max(leads, key=lambda v: (depth[v] > 0, v.ndim))
    return leads, tuple(v for v in leads if v.shape == first.shape)


def measured(results: Sequence[Value], body: Collection[Value]) -> Space | None:
    """The space that `measure` finds, or None."""
    try:
        return measure(results, body)
    except Unfit:
        return None


class Measuring:
    """One attempt to find a space, with the loops in `splits` split."""

    def __init__(self, results: Sequence[Value], body: Collection[Value], splits: dict[str, tuple[Dim, ...]]) -> None:
        self.results, self.body, self.splits = results, body, splits
        self.found = Space()
        self.at: dict[Value, dict[Index, bool]] = {}
        self.covered: dict[tuple[Index, Shape], frozenset[str] | None] = {}
        self.classes: dict[tuple[object, ...], FoldClass] = {}
        self.depth = depths(results, body)
        if any(fetches(a, body) for v in self.depth for a in (v, *v.args)):
            raise Unfit

    def space(self) -> Space:
        leads, group = leading(self.results, self.depth)
        shape = group[0].shape
        index = self.axes("a", shape)
        for v in group:
            self.demand(v, index)
        self.find_rows(index)
        sums = self.sums([v for v in leads if v not in group], index, shape)
        for k in sorted({v.args[0].ndim for v in sums} | {len(index)}, reverse=True):
            self.add_stage(group if k == len(index) else (), index[:k], tuple(v for v in sums if v.args[0].ndim == k))
        for n, v in enumerate(v for v in leads if v not in group and v not in sums):
            index = self.beside(v.shape, f"b{n}")
            self.demand(v, index)
            self.find_rows(index)
            self.add_stage((v,), index)
        for v in self.results:
            if v not in leads:
                self.found.stores[v] = self.store_index(v)
        self.found.once = self.once
        return self.found

    def axes(self, name: str, shape: Shape) -> Index:
        """An index with a loop variable for each axis longer than 1."""
        return tuple(0 if n == 1 else self.axis(f"{name}.{k}", n) for k, n in enumerate(shape))

    def axis(self, name: str, extent: Dim) -> Dim:
        """A loop variable, or the variables it is split into."""
        if (parts := self.splits.get(f"%{name}")) is None:
            self.found.ranges[f"%{name}"] = extent
            return variable(name)
        return linear([self.axis(f"{name}.{k}", n) for k, n in enumerate(parts)], parts)

    def beside(self, shape: Shape, name: str) -> Index:
        """The index of another result in the same rows."""
        rows = self.found.rows
        if not rows or tuple(self.found.ranges[r] for r in rows) != shape[:len(rows)]:
            raise Unfit
        return (*(variable(r[1:]) for r in rows), *self.axes(name, shape[len(rows):]))

    def demand(self, v: Value, index: Index) -> None:
        """Notes that v is needed at an index, and all that follows from it."""
        stack = [(v, index, False)]
        while stack:
            v, index, bounded = stack.pop()
            if v not in self.body or self.at.setdefault(v, {}).get(index, 2) <= bounded:
                continue
            seen = index in self.at[v]
            self.at[v][index] = bounded
            if not is_fold(v):
                stack += [(n.x, n.at, bounded or bool(n.bounds)) for n in needs(v, index, self.found.ranges)]
            elif not seen:
                stack.append((v.args[0], self.fold(v, index).operand, False))

    def fold(self, v: Value, index: Index) -> FoldClass:
        """The loops of a reduction."""
        if v in self.found.folds:
            raise Unfit
        axes, shape = reduced(v), v.args[0].shape
        key = (self.depth[v], index, shape, axes)
        if key not in self.classes:
            before = set(self.found.ranges)
            kept = iter(index)
            own = self.axes(f"r{len(self.classes)}", tuple(shape[k] for k in axes))
            inner = dict(zip(axes, own))
            operand = tuple(inner[k] if k in inner else next(kept) for k in range(len(shape)))
            loops = tuple(r for r in self.found.ranges if r not in before)
            self.classes[key] = FoldClass(index, operand, loops)
        self.classes[key].members.append(v)
        self.found.folds[v] = self.classes[key]
        return self.classes[key]

    def find_rows(self, index: Index) -> None:
        """The variables that all reductions keep; they must be loops of the results."""
        loops = tuple(dict.fromkeys(n for e in index for n in self.found.ranges if n in variables(e)))
        kept = {self.covering(v, cls.index) for v, cls in self.found.folds.items()}
        if len(kept) > 1 or None in kept or not all(rows <= set(loops) for rows in kept if rows is not None):
            raise Unfit
        for rows in kept:
            self.found.rows = tuple(n for n in loops if n in (rows or ()))

    def sums(self, leads: Sequence[Value], index: Index, shape: Shape) -> tuple[Value, ...]:
        """Which results sum over just the rows what is computed at an index of `shape`, or at its start."""
        found = [v for v in leads if self.adds_rows(v, index, shape)]
        for v in found:
            self.demand(v.args[0], index[:v.args[0].ndim])
        if found:
            self.find_rows(index)
        return tuple(found)

    def adds_rows(self, v: Value, index: Index, shape: Shape) -> bool:
        (x,) = v.args if isinstance(v.op, Sum) else (None,)
        if x is None or x.dtype != v.dtype or not v.dtype.is_float or v.dtype.bits < 32 or x.shape != shape[:x.ndim]:
            return False
        over = frozenset[str]().union(*(variables(index[k]) for k in reduced(v)))
        return bool(self.found.rows) and over == frozenset(self.found.rows)

    def add_stage(self, group: tuple[Value, ...], index: Index, sums: tuple[Value, ...] = ()) -> None:
        loops = [n for e in index for n in self.found.ranges if n in variables(e)]
        self.found.stages.append(Stage(group, index, tuple(n for n in loops if n not in self.found.rows), sums))

    def covering(self, v: Value, index: Index) -> frozenset[str] | None:
        """The variables of an index that meets every element of v exactly once; None if it does not."""
        if (key := (index, v.shape)) not in self.covered:
            self.covered[key] = self.meets(index, v.shape)
        return self.covered[key]

    def meets(self, index: Index, shape: Shape) -> frozenset[str] | None:
        names = [plain(e) for e, n in zip(index, shape) if n != 1]
        if None not in names and len(set(names)) == len(names) and \
                all(self.found.ranges[str(name)] == n for name, n in zip(names, (n for n in shape if n != 1))):
            return frozenset(map(str, names))
        offset = linear(index, shape)
        left = set(variables(offset))
        size: Dim = 1
        while left:
            name = next((n for n in left if coefficient(offset, n) == size), None)
            if name is None:
                return None
            left.remove(name)
            size = size * self.found.ranges[name]
        start = substitute(offset, dict.fromkeys(variables(offset), 0))
        return frozenset(variables(offset)) if (start, size) == (0, product(shape)) else None

    def once(self, v: Value) -> bool:
        """Whether each loop that asks for v asks once for each element, in step with rows."""
        rows = frozenset(self.found.rows)
        every = rows.union(self.found.stages[0].loops)
        covers = [self.covering(v, index) for index in self.at.get(v, ())]
        return all(c is not None and c >= rows and (bool(self.found.folds) or c == every) for c in covers)

    def store_index(self, v: Value) -> Index:
        """Where on the way a result that others here need is stored: at an index that meets each element once, and is
        met: a loop around it that may have no steps (an empty axis, an open size) would store nothing.
        """
        rows = frozenset(self.found.rows)
        every = rows.union(self.found.stages[0].loops)
        passes = [s.loops for s in self.found.stages] + [f.loops for f in self.found.folds.values()]
        for index in (i for i, bounded in self.at[v].items() if not bounded):
            found = self.covering(v, index)
            if found is None or not found >= rows or not (self.found.folds or found == every):
                continue
            beside = {n for loops in passes if found & set(loops) for n in loops} - found
            if all(isinstance(steps := self.found.ranges[n], int) and steps for n in beside):
                return index
        raise Unfit


def reduced(v: Value) -> tuple[int, ...]:
    """The axes that a reduction drops."""
    assert isinstance(v.op, Sum | Reduction), v
    return tuple(sorted(a % v.args[0].ndim for a in v.op.axes))
