"""A profile as tables on a terminal."""
from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from stele.inspect.profile.account import ONCE, Account, Called, Kernel, Sum, taken
from stele.inspect.profile.origins import Place

ROWS = 12           # of a table on a terminal
LEAST, GAP = 18, 2  # letters of a column of words that are shown in any case, and between two columns
WIDE = 120          # columns where nothing says how many there are
WORDS = {"program", "kernel", "layer", "line", "", "bound", "source", "at"}
SPARED = ("starts", "bound", "errors", "forward", "gradient", "fastest", "", "kernels", "bytes", "roofline", "source",
          "runs", "at")
"""Columns that a narrow terminal leaves out, the first first; those that say nothing are left out in any case."""
SPLIT = {
    "data": "waiting for batches",
    "Python": "your code, guards of calls, expressions",
    "planning": "which program an expression needs",
    "dispatch": "around the kernels of a call",
    "kernels": "programs at work",
    "around": "Python before the first run and behind the last",
    "tracing": "once for each trace",
    "compiling": "once for each program",
    "profile": "its own work: timed programs, comparisons",
}


def text(account: Account, width: int = WIDE) -> str:
    """All tables as plain text."""
    out = StringIO()
    Console(file=out, width=width, no_color=True, highlight=False).print(shown(account))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def shown(account: Account) -> RenderableType:
    """All tables."""
    parts: list[RenderableType] = [Text(headline(account), style="bold"), Rows("", split_heads(account), split_rows(
        account))]
    for title, heads, rows in lists(account):
        if rows:
            parts += [Text(""), Rows(title, heads, rows[:ROWS])]
        if len(rows) > ROWS:
            parts.append(Text(f"and {len(rows) - ROWS} more: --html FILE.html, or profile.html(path), has all",
                              style="dim"))
    return Group(*parts, Text(""), *(Text(line) for line in notes(account)))


@dataclass
class Rows:
    """A table without lines, numbers to the right, that leaves columns out and cuts words until it fits."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        made = Table(title=self.title or None, title_justify="left", box=None, padding=(0, GAP, 0, 0), pad_edge=False,
                     header_style="dim")
        widths = self.widths(options.max_width)
        for k, width in widths.items():
            made.add_column(self.heads[k], justify="left" if self.heads[k] in WORDS else "right", no_wrap=True,
                            width=width)
        for row in self.rows:
            made.add_row(*(Text(row[k]) for k in widths))
        yield made

    def widths(self, most: int) -> dict[int, int]:
        """The columns that are shown, by number, and how wide they are: words share what numbers leave."""
        whole = {k: max(map(len, column)) for k, column in enumerate(zip(self.heads, *self.rows))}
        shown = {k: n for k, n in whole.items() if k == 0 or any(row[k] for row in self.rows)}
        words = [k for k in shown if self.heads[k] in WORDS]
        least = {k: min(n, LEAST) if k in words else n for k, n in shown.items()}
        spared = sorted((k for k in shown if k and self.heads[k] in SPARED), key=lambda k: SPARED.index(self.heads[k]))
        while spared and sum(least.values()) + GAP * len(least) > most:
            del least[spared.pop(0)]
        left = most - sum(least.values()) - GAP * len(least)
        for k in sorted(set(words) & set(least), key=lambda k: shown[k]):
            later = sum(j in words and shown[j] >= shown[k] for j in least)
            more = min(shown[k] - least[k], max(left, 0) // later)
            least[k], left = least[k] + more, left - more
        return least


def lists(account: Account) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """All lists but that of time: title, heads, rows."""
    return [
        ("programs", PROGRAM_HEADS, [program_row(p) for p in account.programs]),
        ("layers", SUM_HEADS, [(name or "outside of layers", *sum_cells(s, account))
                               for name, s in account.layers.items()]),
        ("lines", ("line", *SUM_HEADS[1:], "source"),
         [(place.line or "no line", *sum_cells(s, account), source(place)) for place, s in account.lines.items()]),
        ("kernels", KERNEL_HEADS, [kernel_row(k, account) for k in account.kernels])]


# What both a terminal and a page say

SUM_HEADS = ("layer", "ms", "share", "forward", "gradient", "bytes")
PROGRAM_HEADS = ("program", "runs", "ms each", "kernels", "fastest", "memory", "mode", "errors")
KERNEL_HEADS = ("kernel", "starts", "ms", "share", "bytes", "roofline", "bound", "at")


def headline(account: Account) -> str:
    """How long it was, and of what."""
    busiest, (steps, optimizer) = account.busiest, account.stepped
    said = many(steps, "step") + f" of {optimizer}" if steps else \
        many(busiest.runs, "run") + f" of {busiest.label}" if busiest else "no program of Stele ran"
    return f"{account.total / 1e9:.3f} s, {said}, {many(account.threads, 'thread')}"


def many(n: int, what: str) -> str:
    """So many of something.

    >>> many(1, "step"), many(1200, "run")
    ('1 step', '1,200 runs')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def split_heads(account: Account) -> tuple[str, ...]:
    return "", "ms", f"each of {account.steps:,}", "share", ""


def split_rows(account: Account) -> list[tuple[str, ...]]:
    """Time by what it went to; what is done once has no share."""
    rows: list[tuple[str, ...]] = []
    for name, ns in account.split.items():
        if ns:
            each = "" if name in ONCE or not account.steps else ms(ns / account.steps)
            rows.append((name, ms(ns), each, "" if name in ONCE else percent(ns, account.ns), SPLIT[name]))
    return rows


def sum_cells(s: Sum, account: Account) -> tuple[str, ...]:
    total = sum(k.ns for k in account.kernels)
    return ms(s.ns), percent(s.ns, total), ms(s.forward) if s.forward else "", ms(s.backward) if s.backward else "", \
        size(s.bytes) if s.bytes else ""


def program_row(p: Called) -> tuple[str, ...]:
    sizes = "".join(f" {name}={n}" for name, n in p.sizes.items())
    return (p.label + sizes, f"{p.runs:,}", ms(p.ns / p.runs), ms(p.kernels / p.runs),
            ms(p.fastest), size(taken(p)) if p.memory else "", "" if p.slower is None else f"{p.slower:.2f} x",
            ", ".join(dict.fromkeys(p.errors)))


def kernel_row(k: Kernel, account: Account) -> tuple[str, ...]:
    total = sum(k.ns for k in account.kernels)
    lines = dict.fromkeys(s.place.line + f" ({s.place.layer})" * bool(s.place.layer)
                          for s in sorted(k.work.places, key=lambda s: -s.share))
    first, *more = [*lines] or [""]
    return (k.work.what, f"{k.starts:,}", ms(k.ns), percent(k.ns, total), size(k.bytes) if k.bytes else "",
            "" if k.share is None else f"{k.share:.0%}", k.bound, first + f" and {len(more)} more" * bool(more))


def notes(account: Account) -> list[str]:
    """Memory by plan, what the mode costs, and what the machine can do."""
    found: list[str] = []
    if (p := account.peak) is not None and (m := p.memory) is not None:
        parts = {"between kernels": m.arena.bytes, "results": m.results, "kept from call to call": m.kept.bytes,
                 f"for each of {many(account.threads, 'thread')} besides": m.scratch}
        found.append(f"peak memory of a call: {size(m.peak)} in {p.label}: "
                     + ", ".join(f"{size(n)} {what}" for what, n in parts.items() if n)
                     + ". Parameters are not counted.")
    compared = [p for p in account.programs if p.slower]
    if compared:
        whole = sum(p.ns for p in compared)
        plain = sum(p.ns / (p.slower or 1) for p in compared)
        found.append("mode: kernels are launched one by one, with a clock around each. Programs take "
                     f"{whole / plain:.2f} x as long so as unprofiled, on the same inputs.")
    roof = account.roof
    found.append(f"roofline: {roof.flops / 1e9:,.0f} GFLOP/s of float32 and {roof.memory / 1e9:,.0f} GB/s from memory "
                 f"as measured, {roof.shared / 1e9:,.0f} GB/s from the third cache and {roof.near / 1e9:,.0f} from the "
                 "second by the model that schedules go by; so are work and bytes.")
    return found


def ms(ns: float) -> str:
    """Nanoseconds in milliseconds, to four digits or so.

    >>> ms(1_234_567), ms(12_345), ms(123_456_789_000)
    ('1.235', '0.0123', '123,457')
    """
    x = ns / 1e6
    return f"{x:,.0f}" if x >= 1e4 else f"{x:,.1f}" if x >= 100 else f"{x:.3f}" if x >= 1 else f"{x:.4f}"


def percent(part: float, whole: float) -> str:
    """A share; nothing of nothing.

    >>> percent(1, 8), percent(0, 0)
    ('12.5%', '')
    """
    return f"{part / whole:.1%}" if whole else ""


def size(bytes_: float) -> str:
    """Bytes as people say them.

    >>> size(512), size(2_500), size(3_456_789)
    ('512 B', '2.5 kB', '3.46 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if bytes_ >= factor:
            return f"{bytes_ / factor:.3g} {unit}"
    return f"{bytes_:.0f} B"


def source(place: Place) -> str:
    """The text of a line, where its file is there."""
    return linecache.getline(place.file, place.number).strip() if place.file else ""
