"""Programs of the reference backend: a graph run op by op in NumPy."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from stele.backend import reference
from stele.backend.base import Commit, Precision, itself
from stele.backend.buffers import Buffer
from stele.ir.graph import Graph


class Interpreted:
    """A graph as a program. Nothing is overwritten: every result is fresh memory."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.calls = 0

    def run(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset(),
            commit: Commit = itself) -> Any:
        self.calls += 1
        results = [Buffer.of(y) for y in reference.run(self.graph, [b.array for b in buffers])]
        try:
            return commit(results)
        except BaseException:
            commit(results)
            raise


def compile(traced: Graph, optimise: Callable[[Graph], Graph], donate: Mapping[int, int], steady: Collection[int],
            precision: Precision, options: str) -> Interpreted:
    """The optimised graph, ready to be interpreted."""
    return Interpreted(optimise(traced))
