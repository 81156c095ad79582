"""Kernels in another order, some of them more than once: those that run again make values of their own."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from stele.ir.graph import Graph, Item, Value, walk
from stele.kernel.fuse import Fused
from stele.kernel.kinds import Kernel


def rerun(graph: Graph, fused: Fused, order: Sequence[int]) -> tuple[Graph, Fused]:
    """The graph and its kernels, by their numbers, in an order in which some come again: what reads a value reads the
    one that was made last."""
    latest, ran = Latest(fused.views), set[int]()
    wanted = {latest.seen_through(v) for v in graph.results}
    kernels: list[Kernel] = []
    for k in order:
        kernels.append(latest.kernel(fused.kernels[k], k in ran, wanted))
        ran.add(k)
    return Graph(graph.parameters, tuple(map(latest.of, graph.results))), Fused(tuple(kernels), latest.views)


@dataclass
class Latest:
    """What stands for each value now: `made` by kernels, and views of that."""

    views: dict[Value, Value]
    made: dict[Value, Value] = field(default_factory=dict[Value, Value])
    seen: dict[tuple[Value, Value], Value] = field(default_factory=dict[tuple[Value, Value], Value])

    def __post_init__(self) -> None:
        self.views = dict(self.views)

    def seen_through(self, v: Value) -> Value:
        """The value of a kernel whose memory v is a view or a part of."""
        while v in self.views:
            v = self.views[v]
        return v.args[0] if isinstance(v.op, Item) else v

    def of(self, v: Value) -> Value:
        """What is read in the place of v."""
        if v in self.made:
            return self.made[v]
        base = self.views.get(v) or (v.args[0] if isinstance(v.op, Item) else v)
        if base is v or (now := self.of(base)) is base:
            return v
        if (v, now) not in self.seen:
            self.seen[v, now] = new = Value(v.op, tuple(now if a is base else a for a in v.args), v.type, v.where)
            if v in self.views:
                self.views[new] = now
        return self.seen[v, now]

    def kernel(self, kernel: Kernel, again: bool, wanted: set[Value]) -> Kernel:
        """The kernel on what its operands are now; where it runs again, what it makes is new, but for what the graph
        gives."""
        given = {v: now for v in kernel.inputs if (now := self.of(v)) is not v}
        if not given and not again:
            return kernel
        kernel = without(kernel, wanted) if again else kernel
        new = dict(given)
        for v in kernel.body:
            args = tuple(new.get(a, a) for a in v.args)
            if again or any(map(is_other, args, v.args)):
                new[v] = Value(v.op, args, v.type, v.where)
        self.made |= {v: new[v] for v in kernel.results if v in new}
        now = [tuple(new.get(v, v) for v in part) for part in (kernel.results, kernel.inputs, kernel.body)]
        return replace(kernel, results=now[0], inputs=now[1], body=now[2],
                       anchor=kernel.anchor and new.get(kernel.anchor, kernel.anchor))


def without(kernel: Kernel, wanted: Collection[Value]) -> Kernel:
    """The kernel without results that a graph gives, and what only they need."""
    results = tuple(v for v in kernel.results if v not in wanted)
    if len(results) == len(kernel.results) or not results:
        return kernel
    inside = set(kernel.body)
    needed = set(walk(results, stop=lambda v: v not in inside))
    if kernel.anchor is not None and kernel.anchor not in needed:
        return kernel
    return replace(kernel, results=results, inputs=tuple(v for v in kernel.inputs if v in needed),
                   body=tuple(v for v in kernel.body if v in needed))


def is_other(a: Value, b: Value) -> bool:
    return a is not b
