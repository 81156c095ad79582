"""Programs in whose place timed ones run, each kernel of which keeps its time."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stele import pipeline
from stele.backend.base import Commit, itself
from stele.backend.buffers import Buffer
from stele.backend.cpu.program import Program
from stele.errors import SteleError
from stele.inspect.profile.record import Ran, Span, now
from stele.ir.graph import Graph

LONG = 1_000_000_000     # no second comparison of what takes so many nanoseconds
ENOUGH = 3              # comparisons that say something


@dataclass
class Beside:
    """Runs of a program at some sizes: how many there were, and nanoseconds of the timed one and of the program itself
    on the same inputs, a pair each time that their number was a power of two."""

    runs: int = 0
    pairs: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def ratio(self) -> float | None:
        """How much longer the timed one takes, by the best of both; None where they ran too seldom to tell."""
        timed, plain = zip(*self.pairs) if self.pairs else ((), ())
        return min(timed) / min(plain) if len(self.pairs) >= ENOUGH else None


@dataclass
class Twin:
    """A program, the timed one that runs in its place, and their comparison by the sizes they ran at.

    What is no native code of one device has no kernels to time, and runs itself.
    """

    program: Any
    timed: Any
    beside: dict[tuple[int, ...], Beside] = field(default_factory=dict[tuple[int, ...], Beside])

    @property
    def is_native(self) -> bool:
        return isinstance(self.timed, Program)

    def compare(self, buffers: Sequence[Buffer], sizes: Mapping[str, int]) -> None:
        """Runs both on what they are about to be called with, overwriting nothing: so they are warm, and it is known
        how much the clocks cost. What it calls in Python is called once only, by the run that counts; an error is left
        to that run, and so is memory that is not there twice.
        """
        beside = self.beside.setdefault(tuple(sizes.values()), Beside())
        beside.runs += 1
        is_long = any(max(pair) > LONG for pair in beside.pairs)
        if beside.runs & (beside.runs - 1) or is_long or not self.is_native or self.program.hosts:
            return

        spent = {True: 0, False: 0}
        first = len(beside.pairs) % 2 == 0
        with suppress(SteleError):
            for is_timed in (first, not first):
                begin = now()
                (self.timed if is_timed else self.program).run(buffers, sizes, frozenset(range(len(buffers))))
                spent[is_timed] = now() - begin
            beside.pairs.append((spent[True], spent[False]))


def twin(program: Any) -> Twin:
    """A program beside the timed one."""
    if not isinstance(program, Program):
        return Twin(program, program)
    return Twin(program, pipeline.compiled(replace(program.request, timed=True), program.blocks))


@dataclass
class Timed:
    """A program of a followed run: as the program, but its timed twin runs, and each run is told."""

    twin: Twin
    graph: Graph
    label: str
    tell: Callable[[Span], None]

    def run(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset(),
            commit: Commit = itself) -> Any:
        """As every program."""
        begin = now()
        self.twin.compare(buffers, sizes)
        twin, error = self.twin, ""
        before = times(twin.timed)
        start = now()
        self.tell(Span("profile", "runs for comparison", begin, start))
        try:
            return twin.timed.run(buffers, sizes, keep, commit)
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            end = now()
            if twin.is_native:
                twin.program.calls += 1
            self.tell(Ran("run", self.label, start, end, program=twin, graph=self.graph, sizes=dict(sizes),
                          kernels=passed(twin, before, start, end), error=error))


def times(program: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """What the kernels of a program kept so far."""
    return program.times if isinstance(program, Program) else np.zeros((0, 3), np.int64)


def passed(twin: Twin, before: np.ndarray[Any, np.dtype[np.int64]], begin: int, end: int
           ) -> np.ndarray[Any, np.dtype[np.int64]]:
    """What one run added: nanoseconds, starts, and when the last was. Without kernels the whole program is one."""
    if not twin.is_native:
        return np.array([[end - begin, 1, begin]])
    after = times(twin.timed)
    return np.column_stack([after[:, :2] - before[:, :2], after[:, 2]])
