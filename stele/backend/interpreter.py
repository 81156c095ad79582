"""Programs of the reference backend: a graph run op by op in NumPy."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stele.backend import reference
from stele.backend.base import Commit, committed, itself
from stele.backend.buffers import MEMORY, Blocks, Buffer
from stele.ir.graph import Graph, walk
from stele.ir.report import Report
from stele.ir.sizes import names
from stele.ir.types import TupleType
from stele.kernel.memory import Peak, Place, Plan


class Interpreted:
    """A graph as a program. Nothing is overwritten: every result is fresh memory."""

    def __init__(self, graph: Graph, report: Report, memory: Blocks = MEMORY) -> None:
        self.graph, self.made_by, self.blocks = graph, report, memory
        self.calls = 0

    def report(self) -> Report:
        return self.made_by

    @property
    def peak_bytes(self) -> int | Peak:
        """The bytes of every array of the graph: NumPy keeps them all, views of others and what loops hold apart."""
        given = set(self.graph.parameters)
        places = [Place("parameter" if v in given else "temp", v.type.size * v.dtype.bytes, 0, 0, None)
                  for v in walk([*self.graph.parameters, *self.graph.results]) if not isinstance(v.type, TupleType)]
        peak = Peak(Plan(tuple(places), {}, (), {}), 0)
        return peak if any(names(place.bytes) for place in places) else peak.at({})

    def run(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset(),
            commit: Commit = itself) -> Any:
        self.calls += 1
        made = reference.run(self.graph, [b.array for b in buffers], sizes)
        return committed(commit, [Buffer.of(y, self.blocks) for y in made])
