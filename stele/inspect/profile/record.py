"""What a profile keeps of a run: spans of time on threads, and the runs of programs among them."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import current_thread
from time import CLOCK_MONOTONIC, clock_gettime_ns
from typing import Any, Literal

import numpy as np

from stele.ir.graph import Graph

Kind = Literal["data", "tracing", "compiling", "planning", "run", "profile"]
"""What a span of time was spent on; `profile` is the profile's own work."""


def now() -> int:
    """Nanoseconds by the clock that kernels are timed by."""
    return clock_gettime_ns(CLOCK_MONOTONIC)


def thread() -> tuple[int, str]:
    """The running thread: its number, and its name."""
    running = current_thread()
    return running.native_id or 0, running.name


@dataclass(frozen=True, eq=False)
class Span:
    """Nanoseconds from `begin` to `end` on a thread that were spent on one thing."""

    kind: Kind
    what: str
    begin: int
    end: int
    thread: tuple[int, str] = field(default_factory=thread)

    @property
    def ns(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, kw_only=True, eq=False)
class Ran(Span):
    """One run of a program: the timed one that ran, or the program itself where its kernels have no clocks; the graph
    that it computed, the numbers of its open sizes; of each kernel its nanoseconds, how often it was started, and when
    it was last; and the error that ended it.
    """

    program: Any
    graph: Graph
    sizes: Mapping[str, int]
    kernels: np.ndarray[Any, np.dtype[np.int64]]
    error: str = ""
