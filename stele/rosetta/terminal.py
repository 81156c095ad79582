"""What a benchmark found, as tables on a terminal."""
from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from stele.rosetta.report import (
    HEADS,
    RUN_HEADS,
    STAR,
    SUMMARY,
    Findings,
    about_machine,
    cells,
    missing,
    starred,
    summary,
)
from stele.rosetta.rows import WORKLOADS

WORDS = {"framework", "mode", "measured", "workload", "best other", "run", "data"}


def show(found: Findings, console: Console) -> None:
    """The table of each row, a summary, and what is missing."""
    console.print(about_machine(found), highlight=False)
    for name, entries in found.by_row():
        table = new_table(f"{name}: {WORKLOADS[entries[0].row.workload].title}", HEADS)
        for e in entries:
            table.add_row(*cells(e, found.best(entries, e.league), found),
                          style="bold" if e.framework == "stele" else None)
        console.print(table)
    for title, heads, lines in (("Stele beside the best of the others", SUMMARY, summary(found)),
                                ("full trainings", RUN_HEADS, found.runs)):
        if lines:
            table = new_table(title, heads)
            for line in lines:
                table.add_row(*line)
            console.print(table)
    for line in [*([STAR] if starred(found) else []), *missing(found)]:
        console.print(line, highlight=False)


def new_table(title: str, heads: Sequence[str]) -> Table:
    """A table without lines; numbers to the right."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for head in heads:
        words = head in WORDS
        table.add_column(head, justify="left" if words else "right", no_wrap=head not in ("agrees", "measured"))
    return table
