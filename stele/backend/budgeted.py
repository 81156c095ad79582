"""Programs of open sizes with a budget of memory: planned anew for sizes that would take more."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stele.backend.base import Commit, Program, itself
from stele.backend.buffers import Buffer
from stele.backend.newest import Newest
from stele.ir.graph import Graph
from stele.ir.report import Report
from stele.kernel.memory import Peak

MOST = 1 << 10      # sizes of one function of which is known which program runs them


class Budgeted:
    """A program at any sizes: of those that were planned the one with the fewest kernels that takes no more than the
    budget, or a new one. Raises OutOfMemory, before anything runs, at sizes for which there is no plan."""

    def __init__(self, graph: Graph, budget: int, plan: Callable[[Mapping[str, int]], Program],
                 sizes: Mapping[str, int]) -> None:
        self.graph, self.budget, self.plan = graph, budget, plan
        self.programs: list[Program] = []
        self.calls = 0
        self.known: Newest[tuple[int, ...], Program] = Newest(MOST)
        if sizes:
            self.at(sizes)

    def at(self, sizes: Mapping[str, int]) -> Program:
        """The program for these sizes."""
        key = tuple(sizes[name] for name in sorted(sizes))
        if (program := self.known.get(key)) is None:
            fits = [p for p in self.programs if bytes_of(p, sizes) <= self.budget]
            program = min(fits, key=lambda p: len(p.report().kernels)) if fits else self.plan(sizes)
            if not fits:
                self.programs.append(program)
            self.known[key] = program
        return program

    def run(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset(),
            commit: Commit = itself) -> Any:
        self.calls += 1
        return self.at(sizes).run(buffers, sizes, keep, commit)

    @property
    def peak_bytes(self) -> int | Peak:
        """Of the latest plan; the budget where there is none yet."""
        return self.programs[-1].peak_bytes if self.programs else self.budget

    def report(self) -> Report:
        """Of the latest plan."""
        return self.programs[-1].report() if self.programs else Report()


def bytes_of(program: Program, sizes: Mapping[str, int]) -> int:
    """The bytes of a call at these sizes."""
    peak = program.peak_bytes
    return peak if isinstance(peak, int) else peak.at(sizes)
