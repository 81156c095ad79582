"""Programs of the reference backend: a graph run op by op in NumPy."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stele.backend import reference
from stele.backend.base import Commit, committed, itself
from stele.backend.buffers import MEMORY, Blocks, Buffer
from stele.ir.graph import Graph
from stele.ir.report import Report


class Interpreted:
    """A graph as a program. Nothing is overwritten: every result is fresh memory."""

    def __init__(self, graph: Graph, report: Report, memory: Blocks = MEMORY) -> None:
        self.graph, self.made_by, self.blocks = graph, report, memory
        self.calls = 0

    def report(self) -> Report:
        return self.made_by

    def run(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset(),
            commit: Commit = itself) -> Any:
        self.calls += 1
        made = reference.run(self.graph, [b.array for b in buffers], sizes)
        return committed(commit, [Buffer.of(y, self.blocks) for y in made])
