"""A profile as tables on a terminal."""
from __future__ import annotations

import linecache
from collections.abc import Iterable, Sequence
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from stele.inspect.profile.account import Account, Called, Kernel, Sum, taken
from stele.inspect.profile.kernels import Place

ROWS = 12           # of a table on a terminal
LEAST = 18          # letters of a column of words that are shown in any case
MOST = {"kernel": 46, "at": 30, "program": 46, "layer": 40}     # letters of a column, at most
WIDE = 120          # columns where nothing says how many there are
WORDS = {"program", "kernel", "layer", "line", "", "bound", "source", "at"}
SPLIT = {
    "data": "waiting for batches of a Loader",
    "Python": "your code, guards of calls, expressions",
    "planning": "which program an expression needs",
    "dispatch": "around the kernels of a call",
    "kernels": "",
    "tracing": "once for each trace",
    "compiling": "once for each program",
    "profile": "its own work: timed programs, runs for comparison",
}
ONCE = ("tracing", "compiling", "profile")


def text(account: Account) -> str:
    """All tables as plain text."""
    out = StringIO()
    Console(file=out, width=WIDE, no_color=True, highlight=False).print(shown(account))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def shown(account: Account) -> RenderableType:
    """All tables."""
    parts: list[RenderableType] = [Text(headline(account), style="bold"), table("", split_heads(account), split_rows(
        account))]
    for title, heads, rows in lists(account):
        if rows:
            parts += [Text(""), table(title, heads, rows[:ROWS])]
        if len(rows) > ROWS:
            parts.append(Text(f"and {len(rows) - ROWS} more: profile.html(path) has all", style="dim"))
    return Group(*parts, Text(""), *(Text(line) for line in notes(account)))


def lists(account: Account) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """All lists but that of time: title, heads, rows."""
    return [
        ("programs", PROGRAM_HEADS, [program_row(p) for p in account.programs]),
        ("layers", SUM_HEADS, [(name or "outside of layers", *sum_cells(s, account))
                               for name, s in account.layers.items()]),
        ("lines", ("line", *SUM_HEADS[1:], "source"),
         [(place.line or "no line", *sum_cells(s, account), source(place)) for place, s in account.lines.items()]),
        ("kernels", KERNEL_HEADS, [kernel_row(k, account) for k in account.kernels])]


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table without lines; numbers to the right."""
    made = Table(title=title or None, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim")
    shown = list(rows)
    for k, head in enumerate(heads):
        widest = max(map(len, [head, *(row[k] for row in shown)]))
        made.add_column(head, justify="left" if head in WORDS else "right", no_wrap=True,
                        min_width=min(widest, LEAST if head in WORDS else widest), max_width=MOST.get(head, WIDE))
    for row in shown:
        made.add_row(*map(Text, row))
    return made


# What both a terminal and a page say

SUM_HEADS = ("layer", "ms", "share", "forward", "gradient", "bytes")
PROGRAM_HEADS = ("program", "runs", "ms each", "kernels", "fastest", "unprofiled", "memory", "errors")
KERNEL_HEADS = ("kernel", "starts", "ms", "share", "bytes", "roofline", "bound", "at")


def headline(account: Account) -> str:
    """How long it was, and of what."""
    busiest = account.busiest
    said = f"{account.steps:,} run{'s' * (account.steps != 1)} of {busiest.label}" if busiest else \
        "no program of Stele ran"
    return f"{account.total / 1e9:.3f} s, {said}, {account.threads} thread{'s' * (account.threads != 1)}"


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
            ms(p.fastest), "" if p.plain is None else ms(p.plain), size(taken(p)) if p.memory else "",
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
        found.append(f"peak memory of a call: {size(m.peak)} in {p.label}: {size(m.arena.bytes)} between kernels, "
                     f"{size(m.results)} results, {size(m.kept.bytes)} kept from call to call; each of "
                     f"{account.threads} threads {size(m.scratch)} besides. Parameters are not counted.")
    compared = [p for p in account.programs if p.plain is not None]
    if compared:
        plain, timed = sum(p.runs * (p.plain or 0) for p in compared), sum(p.runs * p.fastest for p in compared)
        inside, whole = sum(p.kernels for p in compared), sum(p.ns for p in compared)
        found.append("mode: kernels are launched one by one, with a clock around each; they take "
                     f"{percent(inside, whole)} of their programs. The fastest runs of all programs are {ms(timed)} ms "
                     f"so and {ms(plain)} ms unprofiled ({timed / plain:.2f} x).")
    roof = account.roof
    found.append(f"roofline: {roof.flops / 1e9:,.0f} GFLOP/s of float32, {roof.memory / 1e9:,.0f} GB/s from memory, "
                 f"{roof.shared / 1e9:,.0f} from the third cache, {roof.near / 1e9:,.0f} from the second, as measured; "
                 "work and bytes by the schedule's price.")
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
