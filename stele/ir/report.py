"""What the compiler did and why: one report goes through all stages, and stays with the program on the disk."""
from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

from stele.ir.origin import NOWHERE, Where, lines
from stele.ir.record import Record
from stele.ir.sizes import Dim


class Fired(Record):
    """A rule: its name, what it says, how often it fired, and the origins of what it touched."""

    name: str
    doc: str
    times: int
    where: Where

    def __str__(self) -> str:
        return f"{self.times:5}x {self.name:32} {self.doc:48}{places(self.where)}"


class Decision(Record):
    """What became of two groups of values, or of one: `joined`, `apart` or `kept` in memory; why; and the price that
    decided it beside its limit, where there is one."""

    outcome: str
    what: str
    reason: str
    price: float | None
    limit: float | None
    where: Where

    def __str__(self) -> str:
        price = "" if self.price is None else f" ({self.price:,.0f}, at most {self.limit:,.0f})"
        return f"{self.outcome:6} {self.what}: {self.reason}{price}{places(self.where)}"


class Choice(Record):
    """A question, the candidate taken of `count`, its price by estimate, and the cheapest of the others with theirs."""

    question: str
    taken: str
    price: float
    beaten: tuple[tuple[str, float], ...]
    count: int

    def __str__(self) -> str:
        others = "".join(f", {name} at {price:,.0f}" for name, price in self.beaten)
        return f"{self.question}: {self.taken} at {self.price:,.0f}, the best of {self.count}{others}"


class KernelNote(Record):
    """A kernel: its kind, its ops, the questions that it was asked, and the origins of its values."""

    kind: str
    what: str
    asked: tuple[str, ...]
    where: Where

    def __str__(self) -> str:
        return f"{self.kind:12s} {self.what:60.60s}{places(self.where)}"


class BufferNote(Record):
    """A buffer: its kind, its bytes, what it holds, from which step to which, and the origins of that."""

    kind: str
    bytes: Dim | str
    what: str
    first: int
    last: int
    where: Where

    def __str__(self) -> str:
        row = f"{self.bytes!s:>12} bytes {self.kind:9} steps {self.first}..{self.last}  {self.what}"
        return row + places(self.where)


@dataclass
class Report:
    """What was rewritten (each rule, and how many values each pass left), what was joined and what not, which algorithm
    was chosen, the kernels and buffers, their memory where no size is open, the
    seconds of each phase, and the origins of what a program may refuse, by the numbers in its status, with the reasons
    of those that have several."""

    rules: dict[str, Fired] = field(default_factory=dict[str, Fired])
    unfinished: list[str] = field(default_factory=list[str])
    passes: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    decisions: list[Decision] = field(default_factory=list[Decision])
    choices: dict[str, Choice] = field(default_factory=dict[str, Choice])
    kernels: list[KernelNote] = field(default_factory=list[KernelNote])
    buffers: list[BufferNote] = field(default_factory=list[BufferNote])
    memory: list[str] = field(default_factory=list[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    sites: list[Where] = field(default_factory=list[Where])
    refusals: list[Sequence[str]] = field(default_factory=list[Sequence[str]])

    def fired(self, name: str, doc: str, where: Where) -> None:
        """Notes that a rule fired."""
        before = self.rules.get(name, Fired(name, doc, 0, NOWHERE))
        self.rules[name] = Fired(name, doc, before.times + 1, before.where | where)

    def decided(self, outcome: str, what: str, reason: str, where: Where = NOWHERE, price: float | None = None,
                limit: float | None = None) -> None:
        """Notes a decision."""
        self.decisions.append(Decision(outcome, what, reason, price, limit, where))

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """What is done inside takes time, which is added to that of a phase."""
        start = perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start

    def add(self, part: Report, place: str) -> None:
        """Adds all that is said of a part of a program, which runs at a `place`."""
        for rule in part.rules.values():
            before = self.rules.get(rule.name, replace(rule, times=0))
            self.rules[rule.name] = replace(rule, times=before.times + rule.times, where=before.where | rule.where)
        for name, seconds in part.seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.choices |= part.choices
        self.unfinished += part.unfinished
        self.decisions += part.decisions
        self.passes += [(f"{place}: {name}", before, after) for name, before, after in part.passes]
        self.kernels += [replace(note, what=f"{place}: {note.what}") for note in part.kernels]
        self.buffers += [replace(note, what=f"{place}: {note.what}") for note in part.buffers]
        self.memory += [f"{row} on {place}" for row in part.memory]

    def __str__(self) -> str:
        """All of it, a line for each fact."""
        stopped = f"stopped at its limit, the last rules were {', '.join(self.unfinished)}"
        rules = sorted(self.rules.values(), key=lambda rule: -rule.times)
        parts: dict[str, Iterable[object]] = {
            "passes": [f"{name} {before} -> {after} values" for name, before, after in self.passes],
            "rules": [*rules, *[stopped] * bool(self.unfinished)],
            "fusion": self.decisions, "algorithms": self.choices.values(),
            "kernels": [f"{k:3d} {note}" for k, note in enumerate(self.kernels)],
            "calls of Python": [note for note in self.kernels if note.kind == "host"],
            "buffers": [note for note in self.buffers if note.bytes != 0], "memory": self.memory,
            "seconds": [f"{seconds:9.4f} {name}" for name, seconds in self.seconds.items()]}
        return "\n".join(f"{name}\n" + "\n".join(f"  {row}" for row in rows) for name, rows in parts.items() if rows)


def places(where: Where) -> str:
    """User lines behind a row."""
    return f"  # {', '.join(lines(where))}" if where else ""
