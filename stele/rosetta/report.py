"""What a benchmark found: rows of plain numbers for JSON, and the same as text."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from stele.rosetta.bench import STEPS, Entry
from stele.rosetta.machine import Machine
from stele.rosetta.probe import Installed
from stele.rosetta.rows import FRAMEWORKS, program

HEADS = ("framework", "mode", "ms", "min..max", "x best", "of peak", "first call s", "warm", "peak MB", "precision",
         "agrees", "measured")
SUMMARY = ("workload", "Stele ms", "min..max", "best other", "ms", "min..max", "x faster", "of peak", "first call s",
           "warm", "peak MB", "other's MB")
FRAMEWORK_HEADS = ("framework", "version", "import s", "installed MB")
RUN_HEADS = ("run", "data", "seed", "epochs", "test accuracy", "test loss", "seconds per epoch", "peak MB")


@dataclass(frozen=True)
class Findings:
    """All there is to tell."""

    machine: Machine
    frameworks: Mapping[str, Installed | None]
    entries: Sequence[Entry]
    runs: Sequence[tuple[str, ...]] = ()        # of full trainings, as in RUN_HEADS
    command: str = "stele bench"
    date: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])     # and why

    def by_row(self) -> Iterator[tuple[str, list[Entry]]]:
        """The entries of each row, those that are ranked first, the fastest at the top."""
        names = list(dict.fromkeys(e.row.name for e in self.entries))
        for name in names:
            yield name, sorted((e for e in self.entries if e.row.name == name),
                               key=lambda e: (e.league != "float32", not e.verdict.agrees, e.ms))

    def best(self, entries: Sequence[Entry], league: str = "float32") -> float:
        """The least milliseconds of those that are ranked; infinity where nobody is."""
        return min((e.ms for e in entries if ranked(e) and e.league == league), default=float("inf"))


def ranked(e: Entry) -> bool:
    """Whether an entry may win: its numbers agree with another framework's."""
    return bool(e.verdict.agrees) and bool(e.samples)


def as_rows(found: Findings) -> list[dict[str, Any]]:
    """One dictionary of plain numbers and text for each entry; None where nothing was measured."""
    return [row_of(e, found) for _, entries in found.by_row() for e in entries]


def row_of(e: Entry, found: Findings) -> dict[str, Any]:
    """The row of an entry."""
    about, measured = found.frameworks[e.framework], bool(e.samples)
    rounded = lambda x, digits: None if x is None else round(x, digits)
    return {
        "workload": e.row.name, "framework": e.framework, "mode": e.mode, "precision": e.precision,
        "ms": round(e.ms, 6) if measured else None,
        "ms_min": round(min(e.samples), 6) if measured else None,
        "ms_max": round(max(e.samples), 6) if measured else None,
        "ms_as_installed": round(median(e.installed), 6) if e.installed else None,
        "ms_keeping_memory": round(median(e.keeping), 6) if e.keeping else None,
        "first_call_s": rounded(e.cold, 4), "first_call_warm_s": rounded(e.warm, 4),
        "peak_rss_mb": rounded(e.memory, 1),
        "agrees": e.verdict.agrees, "difference": e.verdict.difference, "difference_in": e.verdict.where or None,
        "steps_compared": e.steps,
        "fraction_of_peak": round(found.machine.fraction(e.row.flops, e.row.traffic, e.ms), 4) if measured else None,
        "processes": e.processes, "samples": len(e.samples), "foreign_cpus": round(e.foreign, 2),
        "doubts": doubts(e),
        "import_s": rounded(about and about.import_s, 3), "installed_mb": rounded(about and about.installed_mb, 1),
        "version": about and about.version, "note": e.note or None,
    }


BUSY = 0.15     # CPUs that others used, from which on a time says more about them


def doubts(e: Entry) -> list[str]:
    """Why the time of an entry may not be what another run finds."""
    return [*(["measured once"] if len(e.samples) == 1 else []),
            *([f"others used {e.foreign:.1f} CPUs"] if e.samples and e.foreign > BUSY else [])]


def time_of(e: Entry) -> str:
    """The milliseconds, with a star where there are doubts."""
    return digits(e.ms) + (" *" if doubts(e) else "")


def cells(e: Entry, best: float, found: Findings) -> tuple[str, ...]:
    """An entry as text, in the order of HEADS."""
    if not e.samples:
        return (e.framework, e.mode, "-", "", "", "", "", "", "", e.precision, "", e.note)
    return (e.framework, e.mode, time_of(e), span(e),
            f"{e.ms / best:.2f}" if ranked(e) else "",
            f"{found.machine.fraction(e.row.flops, e.row.traffic, e.ms):.0%}",
            seconds(e.cold), seconds(e.warm), "" if e.memory is None else f"{e.memory:.0f}", e.precision, agreement(e),
            remarks(e))


def seconds(x: float | None) -> str:
    """Seconds with two decimals, or nothing."""
    return "" if x is None else f"{x:.2f}"


def span(e: Entry) -> str:
    """From the fastest to the slowest call."""
    return f"{digits(min(e.samples))}..{digits(max(e.samples))}"


def agreement(e: Entry) -> str:
    """What the comparison said."""
    if e.verdict.agrees is None:
        return "not compared"
    off = f"{e.verdict.difference:.0e}"
    return off if e.verdict.agrees else f"NO: {off} in {e.verdict.where}" if e.verdict.far else "unconfirmed"


def remarks(e: Entry) -> str:
    """How an entry was measured."""
    calls = f"{len(e.samples)} call{'' if len(e.samples) == 1 else 's'}"
    parts = [f"{calls} in {e.processes} {'process' if e.processes == 1 else 'processes'}"]
    parts += ["memory kept"] if e.keeps else []
    parts += [e.note] if e.note else []
    parts += doubts(e)
    parts += [f"{e.steps} of {STEPS} steps compared"] if e.steps is not None and e.steps < STEPS else []
    return ", ".join(parts)


def digits(ms: float) -> str:
    """Milliseconds to four digits.

    >>> digits(1234.56), digits(12.3456), digits(0.0123456)
    ('1235', '12.35', '0.01235')
    """
    return f"{ms:.0f}" if ms >= 1000 else f"{ms:.4g}"


def summary(found: Findings) -> list[tuple[str, ...]]:
    """A line for each row: Stele beside the best of the others, in float32 or more."""
    lines = []
    for name, entries in found.by_row():
        fit = [e for e in entries if ranked(e) and e.league == "float32"]
        ours, other = (next((e for e in fit if (e.framework == "stele") is own), None) for own in (True, False))
        if ours is None or other is None:
            continue
        fraction = found.machine.fraction(ours.row.flops, ours.row.traffic, ours.ms)
        lines.append((name, time_of(ours), span(ours), f"{other.framework} {other.mode}", time_of(other),
                      span(other), f"{other.ms / ours.ms:.2f}", f"{fraction:.0%}", seconds(ours.cold),
                      seconds(ours.warm), f"{ours.memory:.0f}", f"{other.memory:.0f}"))
    return lines


def about_frameworks(found: Findings) -> list[tuple[str, ...]]:
    """A line for each framework, as in FRAMEWORK_HEADS."""
    return [(name, about.version or "from source", seconds(about.import_s),
             "" if about.installed_mb is None else f"{about.installed_mb:.0f}") if about else
            (name, "not installed", "", "") for name, about in found.frameworks.items()]


def about_machine(found: Findings) -> str:
    """The machine in a sentence."""
    m = found.machine
    return (f"{m.cpu}, {m.threads} threads; measured peaks {m.flops / 1e9:.0f} GFLOP/s (float32) and "
            f"{m.traffic / 1e9:.0f} GB/s")


STAR = "* measured once, or while others used the CPUs: another run may find another time"


def starred(found: Findings) -> bool:
    """Whether any time carries a star."""
    return any(map(doubts, found.entries))


def missing(found: Findings) -> list[str]:
    """A line for each framework that was not found, or has no place here."""
    absent = [f"{name}: not installed; {FRAMEWORKS[name].install}, or --python {name}=PATH"
              for name, about in found.frameworks.items() if about is None]
    return [*absent, *lacking(found)]


def lacking(found: Findings) -> list[str]:
    """A line for each framework that has no place here, or no program for some workloads."""
    lines = [f"{name}: {why}" for name, why in found.left_out.items()]
    ran = dict.fromkeys((e.framework, e.row.workload) for e in found.entries)
    workloads = list(dict.fromkeys(workload for _, workload in ran))
    for name in (name for name, about in found.frameworks.items() if about):
        without = [w for w in workloads if (name, w) not in ran and not program(name, w).exists()]
        if without:
            why = FRAMEWORKS[name].lacks
            lines.append(f"{name}: no program for {', '.join(without)}{why and f'; {why}'}")
    return lines
