"""What a profile has found, summed up: time by what it went to, by program, kernel, layer and line, and memory."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from stele.backend.cpu.program import Program
from stele.inspect.profile.kernels import Shared, Work, kernels, shares
from stele.inspect.profile.origins import Place
from stele.inspect.profile.record import Ran, Span
from stele.inspect.profile.roofline import Roof, this_roof
from stele.ir.graph import Graph
from stele.kernel.memory import Memory
from stele.pipeline import get_threads

K = TypeVar("K")
Period = tuple[int, int]
KINDS = "data", "Python", "planning", "dispatch", "kernels", "around", "tracing", "compiling", "profile"
ONCE = "around", "tracing", "compiling", "profile"      # of these, what is no part of a step


@dataclass(frozen=True)
class Kernel:
    """A kernel of a program over all runs at some sizes: its number in the program's report, what it is, how often it
    was started, its nanoseconds, and the bytes and the work of all starts; `least` are the nanoseconds that the machine
    needs for that, and `bound` what they go to.
    """

    program: str
    number: int
    work: Work
    starts: int
    ns: int
    least: float
    bound: str

    @property
    def bytes(self) -> int:
        return 0 if self.work.kept else self.starts * self.work.bytes

    @property
    def share(self) -> float | None:
        """The share of the machine's roofline, where that says something."""
        return self.least / self.ns if self.ns and self.bound else None


@dataclass(frozen=True)
class Called:
    """A program at some sizes: its runs, their nanoseconds, those of the fastest, and those of all kernels; how much
    longer it takes than where nobody looks, the memory of a call by plan, and the errors that ended runs."""

    label: str
    sizes: Mapping[str, int]
    runs: int
    ns: int
    fastest: int
    kernels: int
    slower: float | None
    memory: Memory | None
    errors: tuple[str, ...]


@dataclass
class Sum:
    """Nanoseconds and bytes, of gradients apart."""

    forward: float = 0.0
    backward: float = 0.0
    bytes: float = 0.0

    @property
    def ns(self) -> float:
        return self.forward + self.backward

    def add(self, kernel: Kernel, shared: Shared) -> None:
        ns = kernel.ns * shared.share
        self.bytes += kernel.bytes * shared.share
        if shared.place.gradient:
            self.backward += ns
        else:
            self.forward += ns


@dataclass(frozen=True)
class Account:
    """The sums of a profile. `total` are the nanoseconds that passed, `split` those on the thread of the profile by
    what they went to: "data", "Python", "planning", "dispatch", "kernels"; "around", which is Python before the first
    run of the program that took longest and behind the last, "tracing", "compiling" and "profile", its own work, which
    `total` holds too. `stepped` are the steps of the optimiser that made most of them outside of compiled functions,
    and its name."""

    total: int
    split: Mapping[str, int]
    programs: tuple[Called, ...]
    kernels: tuple[Kernel, ...]
    roof: Roof
    threads: int
    stepped: tuple[int, str]

    @property
    def ns(self) -> int:
        """Nanoseconds of what was looked at, without the profile's own work and what is done once."""
        return self.total - sum(self.split[kind] for kind in ONCE)

    @property
    def busiest(self) -> Called | None:
        """The program that took longest, of those that ran more than once, if one did."""
        return max(self.programs, key=lambda p: (p.runs > 1, p.ns), default=None)

    @property
    def steps(self) -> int:
        """The steps of an optimiser, or without any the runs of that program."""
        return self.stepped[0] or (0 if self.busiest is None else self.busiest.runs)

    @property
    def peak(self) -> Called | None:
        """The program whose calls take the most memory."""
        known = [p for p in self.programs if p.memory is not None]
        return max(known, key=taken, default=None)

    @cached_property
    def layers(self) -> dict[str, Sum]:
        """By the path of the layer, "" for what belongs to none."""
        return self.by(layer_of)

    @cached_property
    def lines(self) -> dict[Place, Sum]:
        """By the line of the user, whatever the layer."""
        return self.by(line_of)

    def by(self, key: Callable[[Place], K]) -> dict[K, Sum]:
        """By what `key` says of a place, what took longest first."""
        found: dict[K, Sum] = defaultdict(Sum)
        for kernel in self.kernels:
            for shared in kernel.work.places:
                found[key(shared.place)].add(kernel, shared)
        return dict(sorted(found.items(), key=lambda item: -item[1].ns))


def layer_of(place: Place) -> str:
    """The path of a place's layer."""
    return place.layer


def line_of(place: Place) -> Place:
    """A place whatever the layer, and whether it is of a gradient."""
    return place._replace(layer="", gradient=False)


def taken(program: Called) -> int:
    """Bytes of a call by plan, those of its threads apart."""
    return 0 if program.memory is None else program.memory.peak


@dataclass
class Accounts:
    """Makes accounts; what is known of the kernels of a program is looked up once."""

    known: dict[Any, Sequence[Work]] = field(default_factory=dict[Any, Sequence[Work]])
    roof: Roof | None = None

    def of(self, spans: Sequence[Span], periods: Sequence[Period], thread: tuple[int, str],
           steps: Mapping[tuple[int, str], int]) -> Account:
        """All sums of some spans; `thread` is the profile's own, `steps` those of optimisers."""
        groups: dict[Any, list[Ran]] = defaultdict(list)
        for span in spans:
            if isinstance(span, Ran):
                groups[id(span.program), id(span.graph), tuple(span.sizes.items())].append(span)
        if self.roof is None:
            self.roof = this_roof()
        found = [kernel for runs in groups.values() for kernel in self.kernels(runs, self.roof)]
        merged = programs(groups.values())
        busiest = max(merged, key=lambda runs: (len(runs) > 1, sum(ran.ns for ran in runs)), default=list[Ran]())
        return Account(sum(end - begin for begin, end in periods),
                       split([s for s in spans if s.thread == thread], periods, busiest),
                       tuple(sorted(map(called, merged), key=lambda p: -p.ns)),
                       tuple(sorted(found, key=lambda k: -k.ns)), self.roof, get_threads(),
                       max(((n, name) for (_, name), n in steps.items()), default=(0, "")))

    def works(self, ran: Ran) -> Sequence[Work]:
        """The kernels of a run's program."""
        key = id(ran.program), id(ran.graph), tuple(ran.sizes.items())
        if key not in self.known:
            timed = ran.program.timed
            self.known[key] = kernels(timed, ran.graph, ran.sizes) if isinstance(timed, Program) else [
                alone(ran.program.program, ran.graph)]
        return self.known[key]

    def kernels(self, runs: Sequence[Ran], roof: Roof) -> Iterable[Kernel]:
        """The kernels of the runs of one program, those that were started."""
        spent: list[list[int]] = np.sum([ran.kernels[:, :2] for ran in runs], axis=0).tolist()
        for number, (work, (ns, starts)) in enumerate(zip(self.works(runs[0]), spent, strict=True)):
            least, bound = roof.least(work.work, work.bytes, work.width)
            says = work.work > 0 and not work.kept
            if starts:
                yield Kernel(runs[0].what, number, work, starts, ns, starts * least * 1e9 * says, bound * says)


def alone(program: Any, graph: Graph) -> Work:
    """A program without kernels that are timed, as one."""
    values = [v for v in graph if v.args]
    kind = type(program).__name__.lower()
    return Work(kind, f"{len(values)} op{'s' * (len(values) != 1)}", 0, 0, 4, shares([(v, 0) for v in values or graph]))


def programs(groups: Iterable[Sequence[Ran]]) -> list[list[Ran]]:
    """The runs of each program at the same sizes, whichever of its graphs was computed."""
    merged: dict[Any, list[Ran]] = defaultdict(list)
    for runs in groups:
        merged[id(runs[0].program), tuple(runs[0].sizes.items())] += runs
    return [*merged.values()]


def called(runs: Sequence[Ran]) -> Called:
    """The runs of one program, summed up."""
    twin, sizes = runs[0].program, runs[0].sizes
    beside = twin.beside.get(tuple(sizes.values()))
    return Called(
        runs[0].what, sizes, len(runs), sum(ran.ns for ran in runs), min(ran.ns for ran in runs),
        sum(int(ran.kernels[:, 0].sum()) for ran in runs), beside and beside.ratio,
        twin.program.memory(sizes) if twin.is_native else None, tuple(ran.error for ran in runs if ran.error))


def split(spans: Sequence[Span], periods: Sequence[Period], busiest: Sequence[Span] = ()) -> dict[str, int]:
    """Nanoseconds of one thread by what they went to: a span without those inside of it; of a run what its kernels
    took, and the rest. What no span holds is Python, before and behind all of `busiest` "around"."""
    found: dict[str, int] = dict.fromkeys(KINDS, 0)
    stack: list[Span] = []
    inner: dict[int, int] = defaultdict(int)
    first = min((s.begin for s in busiest), default=0)
    last = max((s.end for s in busiest), default=max((end for _, end in periods), default=0))

    def gap(begin: int, end: int, sign: int = 1) -> None:
        inside = max(0, min(end, last) - max(begin, first))
        found["Python"] += sign * inside
        found["around"] += sign * (end - begin - inside)

    for begin, end in periods:
        gap(begin, end)
    ordered = sorted(spans, key=lambda s: (s.begin, -s.end))
    for span in ordered:
        while stack and stack[-1].end <= span.begin:
            stack.pop()
        if stack:
            inner[id(stack[-1])] += span.ns
        else:
            gap(span.begin, span.end, -1)
        stack.append(span)
    for span in ordered:
        own = span.ns - inner[id(span)]
        if isinstance(span, Ran):
            inside = min(own, max(0, int(span.kernels[:, 0].sum()) - inner[id(span)]))
            found["kernels"] += inside
            found["dispatch"] += own - inside
        else:
            found[span.kind] += own
    return found
