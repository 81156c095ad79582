"""What a benchmark found, as one HTML page that loads nothing: bars side by side, and all numbers."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape

from stele.rosetta.bench import Entry
from stele.rosetta.report import (
    FRAMEWORK_HEADS,
    HEADS,
    RUN_HEADS,
    STAR,
    SUMMARY,
    Findings,
    about_frameworks,
    about_machine,
    agreement,
    cells,
    doubts,
    ranked,
    starred,
    summary,
    time_of,
)
from stele.rosetta.rows import WORKLOADS
from stele.train.page import STYLE, opening

LONGEST = 6.0       # a bar this many times as long as the best is cut
BARS = """
main { max-width: 1400px; } .charts { margin-top: 28px; }
.charts section { padding: 16px 20px; } .charts h2 { margin: 0; } .what { margin: 0 0 12px; color: var(--soft);
font-size: 14px; }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: 5px 12px; align-items: center; font-size: 14px; }
.bars b { font-weight: 500; } .bars .ours b { font-weight: 700; } .track { display: flex; align-items: center; gap: 8px;
white-space: nowrap; }
.bar { height: 18px; min-width: 2px; border-radius: 3px; background: var(--soft); opacity: .55; } .bar.stele {
background: var(--test); opacity: 1; }
.bar.low { background: repeating-linear-gradient(135deg, var(--soft) 0 4px, transparent 4px 8px); opacity: .5; }
.bar.doubtful { border-right: 3px dashed var(--warn); }
.cut { color: var(--soft); } .times { color: var(--soft); } .tables { display: block; } .tables section {
margin-bottom: 16px; }
td:first-child, th:first-child { text-align: left; padding-left: 0; } .names td:nth-child(2), .names th:nth-child(2) {
text-align: left; }
td { font-size: 13.5px; } .names td:last-child { white-space: normal; min-width: 220px; }
tr.stele td { font-weight: 650; }
@media (max-width: 520px) { .bars { grid-template-columns: 1fr; gap: 1px; } .track { margin-bottom: 7px; }
  .track { flex-wrap: wrap; gap: 0 8px; } .subtitle { overflow-wrap: anywhere; }
  td { font-size: 12.5px; padding: 5px 8px 5px 0; } }
"""


def page(found: Findings) -> str:
    """The whole HTML text."""
    charts = "\n".join(chart(name, entries, found) for name, entries in found.by_row())
    details = "\n".join(
        section(name, table(HEADS, [cells(e, found.best(entries, e.league), found) for e in entries], "names"))
        for name, entries in found.by_row())
    runs = section("Full trainings", table(RUN_HEADS, found.runs)) if found.runs else ""
    star = f"<br>{STAR}" if starred(found) else ""
    return f"""{opening()}<title>Stele bench</title>
<style>{STYLE}{BARS}</style>
</head>
<body>
<main>
<header><h1>Milliseconds per call</h1>
<p class="subtitle">{escape(about_machine(found))} · {escape(found.date)}<br>{escape(found.command)}{star}</p></header>
<div class="charts">
{charts}
</div>
<div class="tables">
{section("Stele beside the best of the others", table(SUMMARY, summary(found)))}
{section("Frameworks", table(FRAMEWORK_HEADS, about_frameworks(found)))}
{runs}
{details}
</div>
</main>
</body>
</html>
"""


def chart(name: str, entries: Sequence[Entry], found: Findings) -> str:
    """The bars of a row; what is not ranked is hatched and says why."""
    measured = [e for e in entries if e.samples]
    best = found.best(entries)
    shortest = min((e.ms for e in measured), default=1.0) if best == float("inf") else best
    longest = min(max((e.ms for e in measured), default=1.0), LONGEST * shortest)
    bars = "\n".join(bar(e, longest, best) for e in measured)
    return (f'<section><h2>{escape(name)}</h2><p class="what">{escape(WORKLOADS[entries[0].row.workload].title)}</p>'
            f'<div class="bars">\n{bars}\n</div></section>')


def bar(e: Entry, longest: float, best: float) -> str:
    """The label and the bar of one entry."""
    ours = "stele" if e.framework == "stele" else ""
    look = " ".join(filter(None, (ours, "" if ranked(e) and e.league == "float32" else "low",
                                  "doubtful" if doubts(e) else "")))
    cut = '<span class="cut">…</span>' if e.ms > longest else ""
    times = f"{e.ms / best:.2f} x" if ranked(e) and e.league == "float32" else \
        e.precision if ranked(e) else agreement(e)
    width = min(e.ms / longest, 1) * 62
    return (f'<span class="{"ours" if ours else ""}"><b>{escape(e.framework)}</b> {escape(e.mode)}</span>'
            f'<span class="track"><span class="bar {look}" style="width:{width:.1f}%"></span>{cut}'
            f'{time_of(e)} <span class="times">{escape(", ".join([times, *doubts(e)]))}</span></span>')


def section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{body}\n</section>"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], style: str = "") -> str:
    """A table of text; lines of Stele stand out."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    rows = "".join(f'<tr class="{"stele" if line[0] == "stele" else ""}">'
                   + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f'<table class="{style}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
