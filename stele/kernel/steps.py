"""What a program does in order: kernels at their clocks, and the loops and branches around them."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stele.ir import sizes
from stele.ir.graph import Value
from stele.ir.record import Record, Single
from stele.ir.sizes import Dim, ceil
from stele.ir.types import DType
from stele.kernel.kinds import Host, Launched


class Run(Single):
    """A kernel at its clock."""

    kernel: Launched
    clock: int


class Crossing(Single):
    """A call into Python at its clock."""

    kernel: Host
    clock: int


class Carry(Record):
    """What a loop hands from step to step: read at `inside`, made at `new`, starting from `start`.

    New values go to the places of a `ring` by turns: `counted`, so that the last step writes the first of two, which is
    `final`; else each to the one behind that of the old value. Without a ring what is new stays where it was made, or
    is. The last one is copied to `final` if it is not there, or `shown` is where it is.
    """

    inside: int
    new: int
    start: int
    final: int
    ring: tuple[int, ...]
    bytes: Dim
    counted: bool = True
    shown: int | None = None


@dataclass(eq=False)
class Rows:
    """Rows of a loop that do not meet: tasks of `grain` of the `total` rows each run the whole loop by themselves.

    A task's part of a slot in `shifted` begins so many bytes per row in, that of one in `spaces` so many per task.
    Tasks are at different steps at one time, so their temporaries live from clock `first` to `last`, the whole loop.
    """

    name: str
    total: Dim
    grain: int
    first: int
    last: int = 0
    shifted: dict[int, Dim] = field(default_factory=dict[int, Dim])
    spaces: dict[int, Dim] = field(default_factory=dict[int, Dim])

    @property
    def tasks(self) -> Dim:
        return ceil(self.total, self.grain)

    def whole(self, bytes_: Dim) -> Dim:
        """Bytes for all rows, from those for some."""
        return sizes.replaced(bytes_, self.name, self.total)

    def step(self, bytes_: Dim) -> Dim:
        """Bytes from one row to the next in a buffer of this many bytes; 0 if it is the same for all rows."""
        return sizes.replaced(bytes_, self.name, 1) - sizes.replaced(bytes_, self.name, 0)


Copies = tuple[tuple[int, int, Dim], ...]
"""What is copied: (to, from, bytes)."""
Shown = tuple[tuple[int, int], ...]
"""Places that show from now on what others have: (to, from)."""


class Loop(Single):
    """A `Scan` at its clock: `moving` slots step through outer arrays, `copies` and what is `shown` close each
    step."""

    length: Dim
    reverse: bool
    moving: tuple[tuple[int, int, Dim], ...]
    carries: tuple[Carry, ...]
    copies: Copies
    shown: Shown
    body: tuple[Step, ...]
    value: Value
    rows: Rows | None
    clock: int


class Way(Record):
    """One branch: its steps, and what is copied and shown behind them."""

    body: tuple[Step, ...]
    copies: Copies
    shown: Shown


class Choice(Single):
    """A `Cond` at its clock: the number at `index`, of a dtype, says which way is gone."""

    index: int
    dtype: DType
    ways: tuple[Way, ...]
    value: Value
    clock: int


class Again(Single):
    """A `While` at its clock: as long as `test` leaves true at `goes`, the body runs, and what is `shown` closes it."""

    test: tuple[Step, ...]
    goes: int
    carries: tuple[Carry, ...]
    shown: Shown
    body: tuple[Step, ...]
    value: Value
    clock: int
    last: int


Step = Run | Crossing | Loop | Choice | Again


def within(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The steps that a step holds, in the order in which they are laid out."""
    match step:
        case Loop():   return step.body,
        case Choice(): return tuple(way.body for way in step.ways)
        case Again():  return step.test, step.body
        case _:        return ()


def everything(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps in order, behind each those that it holds."""
    for step in steps:
        yield step
        for inner in within(step):
            yield from everything(inner)


def flat(steps: Sequence[Step]) -> Iterator[Run | Crossing]:
    """All kernels in order, those inside loops and branches too."""
    return (step for step in everything(steps) if isinstance(step, Run | Crossing))


def runs(steps: Sequence[Step]) -> Iterator[Run]:
    """Those of them that are native code."""
    return (step for step in flat(steps) if isinstance(step, Run))
