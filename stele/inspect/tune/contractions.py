"""The products and convolutions of programs, each as a graph of its own with what is fused into it."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stele.backend.llvm.emit import structure
from stele.evaluate import cut_at
from stele.follow import Follower
from stele.ir.graph import Graph, Value
from stele.ir.origin import lines
from stele.kernel.fuse import fuse
from stele.pipeline import Options, optimise


@dataclass(frozen=True)
class Contraction:
    """One kernel as a graph, the product it is about, numbers for open sizes, and how many kernels are like it."""

    graph: Graph
    anchor: Value
    sizes: Mapping[str, int]
    count: int = 1

    def __str__(self) -> str:
        v, (first, *more) = self.anchor, lines(self.anchor.where) or ("",)
        return f"{v.op.name} {', '.join(str(a.type) for a in v.args)} -> {v.type}  {first}" + \
            (f" and {len(more)} more" if more else "")


@dataclass
class Programs(Follower):
    """Collects the programs of a run, each with the sizes of its first call."""

    seen: dict[str, tuple[Graph, Mapping[str, int]]] = field(default_factory=dict)

    def evaluated(self, order: Sequence[Value], wanted: Sequence[Value]) -> None:
        graph = cut_at([v for v in order if v.data is not None], wanted)
        self.seen.setdefault(graph.digest, (graph, {}))

    def called(self, plan: Any, handles: Sequence[Any], sizes: Mapping[str, int]) -> None:
        self.seen.setdefault(plan.traced.graph.digest, (plan.traced.graph, dict(sizes)))

    def contractions(self) -> list[Contraction]:
        """The contractions of all programs, each structure once."""
        found: dict[object, Contraction] = {}
        for graph, sizes in self.seen.values():
            for key, one in contractions(optimise(graph, Options()), sizes):
                known = found.get(key)
                found[key] = one if known is None else replace(known, count=known.count + 1)
        return list(found.values())


def contractions(graph: Graph, sizes: Mapping[str, int]) -> Iterator[tuple[object, Contraction]]:
    """The contractions of an optimised graph and of its loops, each with what is the same for equal ones."""
    for kernel in fuse(graph).kernels:
        if kernel.kind == "contraction" and kernel.anchor is not None:
            alone = cut_at(kernel.inputs, kernel.results)
            yield structure(kernel, (*kernel.inputs, *kernel.body)), \
                Contraction(alone, kernel.anchor, sizes)
    for v in graph:
        for inner in v.op.graphs:
            yield from contractions(inner, sizes)
