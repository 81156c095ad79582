"""Who follows a run: told of looks at numbers, evaluations, calls of compiled functions and layers, optimiser steps,
batches and what is made; and asked what is to run."""
from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from stele.backend import garbage
from stele.ir.graph import Graph, Value


class Follower:
    """Hears what is about to happen; says nothing back, but which program is to run."""

    def looked(self, v: Value) -> None:
        """Python asks for the numbers of a value."""

    def evaluated(self, order: Sequence[Value], wanted: Sequence[Value]) -> None:
        """Pending values are computed: all they need, operands first, and those that somebody wants."""

    def called(self, plan: Any, handles: Sequence[Any], sizes: Mapping[str, int]) -> None:
        """A compiled function runs its plan on these handles, with these numbers for its open sizes."""

    def passed(self, module: Any, y: Any) -> None:
        """A module has made y of its input."""

    def stepped(self, optimizer: Any) -> None:
        """An optimiser moves its parameters."""

    def replays(self, wanted: Sequence[Value]) -> bool:
        """Whether values that are about to get numbers may get them as others of their structure did, untold."""
        return False

    def running(self, program: Any, what: Graph | Sequence[Value]) -> Any:
        """The program that runs in the place of this one, which computes this graph, or values of which the first is
        the first of its results.
        """
        return program

    def making(self, what: str) -> AbstractContextManager[None]:
        """Around tracing or compiling, as its name says."""
        return nullcontext()

    def reading(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches that a loop is about to go over."""
        return batches


FOLLOWER: ContextVar[Follower | None] = ContextVar("follower", default=None)


def replaying(wanted: Sequence[Value]) -> bool:
    """Whether nobody follows who wants to be told of each of these."""
    return (follower := FOLLOWER.get()) is None or follower.replays(wanted)


@contextmanager
def making(what: str) -> Generator[None]:
    """Around tracing or compiling: who follows is told."""
    follower = FOLLOWER.get()
    with garbage.kept(), nullcontext() if follower is None else follower.making(what):
        yield


def reading(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches of a loop, through the hands of who follows."""
    return batches if (follower := FOLLOWER.get()) is None else follower.reading(batches)
