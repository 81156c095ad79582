"""The products, convolutions and large loops of programs, each as a graph of its own with what is fused into it."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from stele.backend.cpu.build import settled
from stele.backend.cpu.tuned import here
from stele.backend.llvm.emit import structure
from stele.call.plan import Plan, steady
from stele.eager.follow import Follower
from stele.eager.live import is_there
from stele.ir.graph import Graph, Value, closed
from stele.ir.origin import lines
from stele.ir.sizes import at, names
from stele.kernel import kinds
from stele.kernel.fuse import fuse
from stele.kernel.slots import bytes_of
from stele.pipeline import Options, optimise


@dataclass(frozen=True)
class Contraction:
    """One kernel as a graph, the product it is about or the last value of its loops, numbers for open sizes, the
    parameters that stay the same from call to call, and how many kernels are like it.
    """

    graph: Graph
    anchor: Value
    sizes: Mapping[str, int]
    steady: tuple[int, ...]
    count: int = 1

    def __str__(self) -> str:
        v, (first, *more) = self.anchor, lines(self.anchor.where) or ("",)
        return f"{v.op.name} {', '.join(str(a.type) for a in v.args)} -> {v.type}  {first}" + \
            (f" and {len(more)} more" if more else "")


class Program(NamedTuple):
    """A program as it was traced, with the sizes of its first call, and the parameters that stay the same."""

    graph: Graph
    sizes: Mapping[str, int]
    steady: tuple[int, ...] = ()


@dataclass
class Programs(Follower):
    """Collects the programs of a run."""

    seen: dict[str, Program] = field(default_factory=dict[str, Program])

    def evaluated(self, order: Sequence[Value], wanted: Sequence[Value]) -> None:
        graph = closed([v for v in order if is_there(v)], wanted)
        self.seen.setdefault(graph.digest, Program(graph, {}))

    def called(self, plan: Plan, handles: Sequence[Any], sizes: Mapping[str, int]) -> None:
        traced = plan.traced
        unchanged = steady(traced, [h for h in traced.handles if id(h) in plan.argument])
        self.seen.setdefault(traced.graph.digest, Program(traced.graph, dict(sizes), unchanged))

    def contractions(self) -> list[Contraction]:
        """The contractions of all programs, each structure once."""
        found: dict[object, Contraction] = {}
        for graph, sizes, unchanged in self.seen.values():
            optimised = optimise(graph, Options())
            for key, one in contractions(optimised, sizes, settled(optimised, unchanged)):
                known = found.get(key)
                found[key] = one if known is None else replace(known, count=known.count + 1)
        return list(found.values())


def contractions(program: Graph, sizes: Mapping[str, int], same: Collection[Value] = ()
                 ) -> Iterator[tuple[object, Contraction]]:
    """The contractions and large loops of an optimised graph and of its own loops, each with what is the same for equal
    ones; `same` are the values that stay from call to call.
    """
    for kernel in fuse(program, here()).kernels:
        if isinstance(kernel, kinds.Contraction) or (isinstance(kernel, kinds.Nest) and is_large(kernel, sizes)):
            unchanged = tuple(k for k, v in enumerate(kernel.inputs) if v in same)
            graph, about = closed(kernel.inputs, kernel.results), kernel.anchor or kernel.results[-1]
            yield (structure(kernel), unchanged), Contraction(
                graph, about, sizes, unchanged)
    for v in program:
        for inner in v.op.graphs:
            yield from contractions(inner, sizes)


def is_large(kernel: kinds.Nest, sizes: Mapping[str, int]) -> bool:
    """Whether no second cache holds what loops read and write, so that it matters how they run."""
    bytes_ = [bytes_of(v.type) for v in (*kernel.inputs, *kernel.results)]
    return sum(at(n, sizes) for n in bytes_ if names(n) <= sizes.keys()) > here().l2
