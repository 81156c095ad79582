"""What every backend offers the front: programs that turn buffers into buffers."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from stele.backend.buffers import Buffer
from stele.ir.graph import Graph
from stele.ir.report import Report

if TYPE_CHECKING:   # what plans memory is loaded with the first program
    from stele.kernel.memory import Peak

Commit = Callable[[list[Buffer]], Any]

Precision = Literal["fast", "strict", "bf16"]
"""How convolutions and products round: `strict` takes direct algorithms only, others at most twelve times their mean
error, and programs that have some count subnormal numbers as zero. `bf16` keeps
activations in memory as bfloat16, and multiplies matrices of them where a CPU can."""


def itself(results: list[Buffer]) -> list[Buffer]:
    """The commit of a program that has nothing to write back."""
    return results


def committed(commit: Commit, results: list[Buffer]) -> Any:
    """What `commit` makes of results that nothing was overwritten for: once it has begun it comes to its end."""
    try:
        return commit(results)
    except BaseException:
        commit(results)
        raise


class Run(Protocol):
    """A program as a function of buffers."""

    def __call__(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset(),
                 commit: Commit = itself) -> Any:
        """What `commit` makes of the results for these parameters. A donated parameter is overwritten unless somebody
        holds a lease on its memory, or it is listed in `keep`. Raises IndexOutOfRange and the like with no parameter
        changed. `commit` may be called twice: once parameters are overwritten, no exception keeps it from being called.
        """
        ...


class Program(Protocol):
    """A graph made executable. `calls` says how often it ran, `graph` what was asked for."""

    calls: int
    graph: Graph

    @property
    def run(self) -> Run:
        """The program as a function."""
        ...

    @property
    def peak_bytes(self) -> int | Peak:
        """The bytes of all arrays there are at once while a call runs, what it is given among them, known before the
        first; with open sizes a formula that prints, and is a number `at` some."""
        ...

    def report(self) -> Report:
        """What the compiler did and why: `print` shows it."""
        ...
