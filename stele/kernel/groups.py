"""Kernels in the making: groups of values, what each reads from memory, and what has to run before it."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from stele.ir.graph import Graph, Value
from stele.ir.origin import Origin, Where
from stele.ir.report import Report
from stele.ir.sizes import Dim
from stele.kernel.alike import Alike
from stele.kernel.corners import Finding
from stele.kernel.inline import ALONE, Inlining
from stele.kernel.kinds import Contraction, Kernel, Nest, Place
from stele.kernel.machine import Machine
from stele.kernel.space import is_fold
from stele.ops.contraction import MatMul
from stele.ops.linear import Broadcast

SHOWN = 4
"""Results that a report names of a group."""


@dataclass(eq=False)
class Group:
    """A kernel in the making."""

    results: list[Value]
    body: set[Value]
    anchor: Value | None = None
    inputs: set[Value] = field(default_factory=set[Value])
    is_plain: bool = False
    """Whether all of it is elementwise ops over one shape, and numbers: then one pass over that serves it."""

    def __str__(self) -> str:
        more = f" and {len(self.results) - SHOWN} more" if len(self.results) > SHOWN else ""
        return ", ".join(f"{v.op.name} {v.type}" for v in self.results[:SHOWN]) + more

    @property
    def where(self) -> Where:
        return frozenset[Origin]().union(*(v.where for v in self.results))

    @property
    def domain(self) -> tuple[Dim, ...]:
        """The shape that its loops go over."""
        v = self.results[0]
        return v.args[0].shape if is_fold(v) else v.shape


class Refusal(NamedTuple):
    """Why two groups stay apart, and the price that decided it beside its limit, where there is one."""

    reason: str
    price: float | None = None
    limit: float | None = None


class Groups:
    """The groups of one graph: one for each value in memory that has to be computed, until some are united."""

    def __init__(self, graph: Graph, machine: Machine, report: Report) -> None:
        self.values, self.machine, self.report = Inlining(graph, machine, report), machine, report
        self.order, self.role, self.views = self.values.order, self.values.role, self.values.views
        self.wanted = {self.values.seen_through(v) for v in graph.results}
        self.refusals = Alike[Refusal | None]()
        self.corners = Finding(self.values.users, frozenset(graph.results))
        self.groups: dict[Group, None] = {}
        self.made: dict[Value, Group] = {}
        self.readers: dict[Value, set[Group]] = {}
        self.before: dict[Group, set[Group]] = {}
        self.latest: dict[Group, int] = {}
        for v in self.values.made():
            own = isinstance(self.role[v], Place)
            group = Group([v], body := self.values.inlined(v), None if own else v, is_plain=own and plain(v, body))
            self.groups[group] = None
            self.made[v] = group
            self.latest[group] = self.order[v]
        for group in self.groups:
            self.connect(group)

    def connect(self, group: Group) -> None:
        """Notes what a group reads from memory, and who reads what."""
        is_alone = group.anchor is not None and self.role[group.anchor] in ALONE    # then no number is written into it
        group.inputs = {a for v in group.body for a in v.args if a not in group.body and (
                        self.role[a] is not Place.NUMBER or a in self.values.roots or is_alone)}
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

    def taking(self, group: Group) -> set[Group]:
        """The groups that must run behind."""
        return {r for v in group.results for r in self.readers.get(v, ())} - {group}

    def comes_before(self, first: Group, then: Group) -> bool:
        """Whether `then` depends on `first` by a way that has other groups on it. It is looked for from both ends by
        turns: often there is little to look at from one of them."""
        low, high = self.latest[first], self.latest[then]
        back = met(self.needs, then, first, lambda g: self.latest[g] >= low)
        return any(either or other for either, other in zip(
            back, met(self.taking, first, then, lambda g: self.latest[g] <= high)))

    def delay(self, group: Group, latest: int) -> None:
        """Notes that what a group computes or depends on reaches so far in the order of values, and who depends on it:
        a group that depends on another one never has less."""
        stack = [group]
        while stack:
            g = stack.pop()
            if self.latest.get(g, -1) < latest:
                self.latest[g] = latest
                stack += self.taking(g)

    def united_body(self, first: Group, then: Group) -> set[Value]:
        """All that is computed when `then` no longer reads the results of `first` from memory."""
        return first.body | then.body | {u for v in then.inputs for u in self.way(v, first)}

    def united_results(self, first: Group, then: Group) -> list[Value]:
        """What of two groups others need, in order."""
        kept = [v for v in (*first.results, *then.results)
                if v in self.wanted or self.readers.get(v, set()) - {first, then}]
        return sorted(kept, key=self.order.__getitem__)

    def unite(self, first: Group, then: Group, body: set[Value], anchor: Value | None) -> None:
        """Makes one group of two, in the place of the second."""
        results = self.united_results(first, then)
        then.is_plain &= first.is_plain and first.domain == then.domain and len(body) == len(first.body | then.body)
        self.disconnect(first)
        self.disconnect(then)
        for v in (*first.results, *then.results):
            self.made.pop(v)
        then.results, then.body, then.anchor = results, body, anchor
        for v in results:
            self.made[v] = then
        del self.groups[first]
        self.connect(then)
        readers = self.taking(then)
        for group in {then, *readers}:
            self.before.pop(group, None)
        own = self.latest.pop(first), self.latest.pop(then)
        unheard = min((self.latest[g] for g in readers), default=max(own))     # those who depend on it may have as much
        self.delay(then, max([min(unheard, max(own)), *(self.latest[g] for g in self.needs(then))]))

    def way(self, v: Value, group: Group) -> list[Value]:
        """The views through which v shows a result of the group."""
        found: list[Value] = []
        while v in self.views:
            found.append(v)
            v = self.views[v]
        return found if v in group.results else []

    def kernel(self, group: Group) -> Kernel:
        body = tuple(sorted(group.body, key=self.order.__getitem__))
        where: Where = frozenset[Origin]().union(*(v.where for v in body))
        inputs = tuple(sorted(group.inputs, key=self.order.__getitem__))
        found, anchor = (tuple(group.results), inputs, body, where), group.anchor
        made = Nest if anchor is None else self.role[anchor]
        assert not isinstance(made, Place), "what is computed where it is read has no kernel"
        if made is Nest or anchor is None:
            return Nest(*found, anchor)
        if made is Contraction and isinstance(anchor.op, MatMul):
            return Contraction(*found, anchor, self.corners.of(anchor))
        return made(*found, anchor)


def met(beside: Callable[[Group], set[Group]], start: Group, end: Group, near: Callable[[Group], bool]
        ) -> Iterator[bool]:
    """Walks from group to group by what is beside each: whether `end` is, for each on the way but the start."""
    seen: set[Group] = {end}
    stack = [*beside(start)]
    while stack:
        if (g := stack.pop()) not in seen and near(g):
            seen.add(g)
            found = beside(g)
            yield end in found
            stack += found


def plain(v: Value, body: set[Value]) -> bool:
    """Whether a value is computed by elementwise ops over its own shape alone, of what is in memory and of numbers."""
    return all(u.shape == v.shape and (
        u.op.family == "elementwise" or (isinstance(u.op, Broadcast) and not u.args[0].ndim)) for u in body)
