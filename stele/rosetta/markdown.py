"""What a benchmark found, as a page of Markdown."""
from __future__ import annotations

from collections.abc import Sequence

from stele.rosetta.report import (
    FRAMEWORK_HEADS,
    HEADS,
    RUN_HEADS,
    SUMMARY,
    Findings,
    about_frameworks,
    about_machine,
    cells,
    lacking,
    summary,
)
from stele.rosetta.rows import WORKLOADS

HOW = """Every framework runs in processes of its own with the same number of threads. Weights and inputs are the same,
and results are compared before anything is timed, with dropout off: `agrees` is the largest relative difference (in the
Euclidean norm of one result: a loss, ten losses of training, the gradient of one parameter) from the reference, which
is the result closest to those of the other frameworks; what differs more than a bound, or was not compared, is not
ranked. A mode is timed in a heat, once as installed and once with a C allocator that keeps its memory; the better one
counts. The fastest are then timed again in fresh processes, in turns; the first of them starts with empty caches
(`first call`), the others find them filled (`warm`). Times are medians of single calls, each waited for; `of peak` is
the share of the measured peak that bounds the work, of memory or of multiply-adds of float32 vectors (direct
convolutions counted, so fewer multiplications can exceed it, and so can tile registers). A mode whose second call takes
more than 20 times the best is sampled once. R computes in float64, which `precision` says, and is compared and ranked
beside float32; programs in R and Julia read the same inputs from files. A star marks times that were measured once, or
while others used the CPUs: another run may find another time."""


def markdown(found: Findings) -> str:
    """The page, with the command that made it, the machine and the date."""
    parts = ["# Benchmarks", f"Written by `{found.command}` on {found.date}.", f"{about_machine(found)}.", HOW,
             "## Stele beside the best of the others", table(SUMMARY, summary(found)),
             "## Frameworks", table(FRAMEWORK_HEADS, about_frameworks(found)),
             *(f"{line}." for line in lacking(found))]
    for name, entries in found.by_row():
        title = WORKLOADS[entries[0].row.workload].title
        lines = [cells(e, found.best(entries, e.league), found) for e in entries]
        parts += [f"## {name}", f"{title[0].upper()}{title[1:]}.", table(HEADS, lines)]
    if found.runs:
        parts += ["## Full trainings", table(RUN_HEADS, found.runs)]
    return "\n\n".join(parts) + "\n"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown.

    >>> print(table(("a", "b"), [("1", "2|3")]))
    | a | b |
    | --- | --- |
    | 1 | 2/3 |
    """
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows)
