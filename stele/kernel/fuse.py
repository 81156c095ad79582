"""Which values become one kernel: producers join their readers where one pass over rows serves all."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stele.errors import GraphError
from stele.ir.graph import Graph, Value
from stele.ir.origin import Where
from stele.ir.sizes import Dim
from stele.ir.types import product
from stele.kernel.corners import NONE, Corners, Finding
from stele.kernel.index import Splits, regroup, variable, variables
from stele.kernel.inline import CHEAP, LARGEST, Inlining
from stele.kernel.space import Space, Unfit, follow, is_fold, measured
from stele.ops.contraction import MatMul
from stele.ops.linear import Pad

WIDE = 1 << 16
"""Elements of a row that stay in cache between the passes over it; also of what one thread may well do alone."""
ENOUGH = 16
"""Rows that keep any machine busy."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """Results computed together: `body` in order, results included; `inputs` are read from memory.

    `kind` is "nest" (loops of our own), "contraction", "scan", "library" or "host"; the last four are about `anchor`.
    `corners` are those of the operands and of the result of a matrix product.
    """

    kind: str
    results: tuple[Value, ...]
    inputs: tuple[Value, ...]
    body: tuple[Value, ...]
    anchor: Value | None
    where: Where
    corners: Corners = NONE


@dataclass(frozen=True, eq=False)
class Fused:
    """Kernels in the order they run; `views` maps values to those whose buffer they share."""

    kernels: tuple[Kernel, ...]
    views: dict[Value, Value]


@dataclass(eq=False)
class Group:
    """A kernel in the making."""

    results: list[Value]
    body: set[Value]
    anchor: Value | None = None
    inputs: set[Value] = field(default_factory=set)


def show_kernel(kernel: Kernel) -> str:
    """A kernel as one line: its kind, what it reads, what it computes and what of that it stores.

    >>> from stele.ir.graph import parameter
    >>> from stele.ir.types import Type, float32
    >>> from stele.ops import operators
    >>> x = parameter("x", Type(float32, (3,)))
    >>> print(*map(show_kernel, fuse(Graph((x,), (x * x + 1,))).kernels))
    nest (float32[3]) -> Mul Broadcast Add -> (float32[3])
    """
    inputs, results = (", ".join(str(v.type) for v in side) for side in (kernel.inputs, kernel.results))
    return f"{kernel.kind} ({inputs}) -> {' '.join(v.op.name for v in kernel.body)} -> ({results})"


def fuse(graph: Graph) -> Fused:
    """The kernels of a graph without composite ops.

    Two elementwise ops are one kernel: `c = b * a; d = c + 1` makes one with `d` as its only result.
    """
    fusion = Fusion(graph)
    fusion.form()
    fusion.join_producers()
    fusion.join_epilogues()
    fusion.join_siblings()
    return Fused(tuple(fusion.kernels()), fusion.views)


class Fusion:
    """The groups of one graph while they are formed."""

    def __init__(self, graph: Graph) -> None:
        self.values = Inlining(graph)
        self.order, self.kind, self.views = self.values.order, self.values.kind, self.values.views
        self.wanted = {self.values.seen_through(v) for v in graph.results}
        self.corners = Finding(self.values.users, graph.results)
        self.groups: dict[Group, None] = {}
        self.made: dict[Value, Group] = {}
        self.readers: dict[Value, set[Group]] = {}
        self.before: dict[Group, set[Group]] = {}
        self.latest: dict[Group, int] = {}

    # Groups

    def form(self) -> None:
        """A group for each value in memory that has to be computed."""
        for v in self.values.made():
            own = self.kind[v] in ("inline", "fold", "number")
            group = Group([v], self.values.inlined(v), None if own else v)
            self.groups[group] = None
            self.made[v] = group
            self.latest[group] = self.order[v]
        for group in self.groups:
            self.connect(group)

    def connect(self, group: Group) -> None:
        """Notes what a group reads from memory, and who reads what."""
        group.inputs = {a for v in group.body for a in v.args
                        if a not in group.body and (self.kind[a] != "number" or a in self.values.roots)}
        for v in group.inputs:
            self.readers.setdefault(self.values.seen_through(v), set()).add(group)

    def disconnect(self, group: Group) -> None:
        """Forgets what a group reads."""
        for v in group.inputs:
            self.readers[self.values.seen_through(v)].discard(group)

    def maker(self, v: Value) -> Group | None:
        """The group that computes what v is or is a view of."""
        return self.made.get(self.values.seen_through(v))

    def needs(self, group: Group) -> set[Group]:
        """The groups that must run before."""
        if group not in self.before:
            self.before[group] = {g for v in group.inputs if (g := self.maker(v)) is not None and g is not group}
        return self.before[group]

    def comes_before(self, first: Group, then: Group) -> bool:
        """Whether `then` depends on `first` by a way that has other groups on it."""
        limit = self.latest[first]
        seen: set[Group] = set()
        stack = [g for g in self.needs(then) if g is not first]
        while stack:
            g = stack.pop()
            if g in seen or self.latest[g] < limit:
                continue
            seen.add(g)
            before = self.needs(g)
            if first in before:
                return True
            stack += before
        return False

    def delay(self, group: Group, latest: int) -> None:
        """Notes that what a group computes or depends on reaches so far in the order of values, and who depends on it:
        a group that depends on another one never has less."""
        stack = [group]
        while stack:
            g = stack.pop()
            if self.latest.get(g, -1) < latest:
                self.latest[g] = latest
                stack += (r for v in g.results for r in self.readers.get(v, ()))

    # Joining

    def join_producers(self) -> None:
        """Takes groups into those that read their results, in order, so that rows are known before they are shared."""
        for group in [*self.groups]:
            if group.anchor is not None or group not in self.groups:
                continue
            refused: set[Group] = set()
            while candidates := [g for g in self.needs(group) - refused if g.anchor is None]:
                before = max(candidates, key=lambda g: self.order[g.results[-1]])
                refused = set() if self.join(before, group) else refused | {before}

    def join_epilogues(self) -> None:
        """Takes loops over the result of a contraction into its store."""
        for group in [*self.groups]:
            if (v := group.anchor) is None or self.kind[v] != "contraction":
                continue
            for reader in sorted(self.readers.get(v, ()), key=lambda g: self.order[g.results[-1]]):
                if self.stores(group, v, reader):
                    self.unite(group, reader, self.united_body(group, reader), anchor=v)
                    group = reader

    def stores(self, group: Group, v: Value, reader: Group) -> bool:
        """Whether all that a group computes is computed from the same element of v and what else there is in memory."""
        body = self.united_body(group, reader)
        at = tuple(variable(f"c{k}") for k in range(v.ndim))
        if reader.anchor is not None or any(r.type.size != v.type.size for r in reader.results):
            return False
        other = {u.op.family for u in reader.body} - {"elementwise", "movement", "generate"}
        if other or any(isinstance(u.op, Pad) for u in reader.body) or self.comes_before(group, reader):
            return False
        try:
            splits = Splits(f"%c{v.ndim - 1}")
            found = follow(reader.results, body, at, v.shape, splits)
            once = all(found[r] == {regroup(at, v.shape, r.shape, splits)} for r in reader.results)
            return once and found.get(v) == {at}
        except Unfit:
            return False

    def join_siblings(self) -> None:
        """Joins groups over the same space that read the same memory."""
        by_shape: dict[object, list[Group]] = {}
        for group in self.groups:
            if group.anchor is None:
                by_shape.setdefault(tuple(self.domain(group)), []).append(group)
        for alike in by_shape.values():
            for k, group in enumerate(alike):
                for other in alike[k + 1:k + 9]:
                    shared = any(a.shape == self.domain(group) for a in group.inputs & other.inputs)
                    if shared and other in self.groups and group in self.groups and other not in self.needs(group):
                        self.join(group, other)

    def domain(self, group: Group) -> tuple[Dim, ...]:
        """The shape that a group's loops go over."""
        v = group.results[0]
        return v.args[0].shape if is_fold(v) else v.shape

    def united_body(self, first: Group, then: Group) -> set[Value]:
        """All that is computed when `then` no longer reads the results of `first` from memory."""
        return first.body | then.body | {u for v in then.inputs for u in self.way(v, first)}

    def united_results(self, first: Group, then: Group) -> list[Value]:
        """What of two groups others need, in order."""
        kept = [v for v in (*first.results, *then.results)
                if v in self.wanted or self.readers.get(v, set()) - {first, then}]
        return sorted(kept, key=self.order.__getitem__)

    def join(self, first: Group, then: Group) -> bool:
        """Makes one group of two, if one space serves both and it pays."""
        body = self.united_body(first, then)
        folds = any(self.kind[v] == "fold" for v in body)
        alike = product(first.results[-1].shape) == product(self.domain(then))
        if not alike and any(self.values.is_padded_outcome(v) or (not folds and self.values.weight(v) > CHEAP)
                             for v in first.results):
            return False
        if len(body) > LARGEST or self.comes_before(first, then) or self.comes_before(then, first):
            return False
        space = measured(self.united_results(first, then), body)
        if space is None or not self.pays(space, first):
            return False
        self.unite(first, then, body, None)
        return True

    def unite(self, first: Group, then: Group, body: set[Value], anchor: Value | None) -> None:
        """Makes one group of two, in the place of the second."""
        results = self.united_results(first, then)
        self.disconnect(first)
        self.disconnect(then)
        for v in (*first.results, *then.results):
            self.made.pop(v)
        then.results, then.body, then.anchor = results, body, anchor
        for v in results:
            self.made[v] = then
        del self.groups[first]
        self.connect(then)
        self.delay(then, max(self.latest.pop(first), self.latest.pop(then)))
        for group in {then, *(g for v in results for g in self.readers.get(v, ()))}:
            self.before.pop(group, None)

    def way(self, v: Value, group: Group) -> list[Value]:
        """The views through which v shows a result of the group."""
        found: list[Value] = []
        while v in self.views:
            found.append(v)
            v = self.views[v]
        return found if v in group.results else []

    def pays(self, space: Space, first: Group) -> bool:
        """Whether rows are many and short enough, and nothing dear is computed again for each element. Where results
        lie in another order than the rows, each row stores short stretches all over them: only small ones may.
        """
        for v in first.results:
            if self.values.weight(v) > CHEAP and not space.once(v):
                return False
        if not space.folds:
            return True
        rows = product(tuple(space.ranges[r] for r in space.rows))
        passes = [s.loops for s in space.stages if s.loops] + [f.loops for f in space.folds.values()]
        work = [product(tuple(space.ranges[n] for n in loops)) for loops in passes]
        kept_inside = any(variables(e) - set(space.rows) for index in space.stores.values() for e in index)
        one_pass = len(set(map(id, space.folds.values()))) == 1 and not any(s.loops for s in space.stages)
        if one_pass and not kept_inside:
            return True
        longest = max((w if isinstance(w, int) else 0 for w in work), default=1)
        if isinstance(rows, int):
            outer = set[str]().union(*(variables(index[0]) for index in space.stores.values() if index))
            apart = bool(space.rows) and not outer <= set(space.rows)
            fits = WIDE if rows >= ENOUGH and not apart else WIDE // max(rows, 1)
            return all(isinstance(w, int) for w in work) and longest <= fits
        return longest <= WIDE

    # The outcome

    def kernels(self) -> Iterable[Kernel]:
        """The groups in an order in which they can run; raises GraphError if they wait for each other."""
        done: set[Group] = set()
        waiting: set[Group] = set()
        for group in sorted(self.groups, key=lambda g: self.order[g.results[-1]]):
            stack = [group]
            while stack:
                top = stack[-1]
                waits = [g for g in self.needs(top) if g not in done]
                if waits and top in waiting:
                    names = ", ".join(f"{v.op.name} : {v.type}" for g in (top, *waits) for v in g.results)
                    raise GraphError(f"kernels were joined so that they wait for each other: {names}",
                                     hint="This is a fault of kernel/fuse.py; please report it with the program.")
                waiting.add(top)
                stack += sorted(waits, key=lambda g: self.order[g.results[-1]], reverse=True)
                if not waits:
                    stack.pop()
                    if top not in done:
                        done.add(top)
                        yield self.kernel(top)

    def kernel(self, group: Group) -> Kernel:
        body = tuple(sorted(group.body, key=self.order.__getitem__))
        kind = "nest" if group.anchor is None else self.kind[group.anchor]
        where: Where = frozenset().union(*(v.where for v in body))
        inputs = tuple(sorted(group.inputs, key=self.order.__getitem__))
        corners = (self.corners.of(group.anchor),) if group.anchor and isinstance(group.anchor.op, MatMul) else ()
        return Kernel("nest" if kind == "scatter" else kind, tuple(group.results), inputs, body, group.anchor, where,
                      *corners)


