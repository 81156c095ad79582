"""Runs beside each other, read from their folders: a table, and a page with their curves."""
from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from stele.errors import DataError
from stele.ops.arguments import is_dict
from stele.train.callbacks import falls
from stele.train.chart import Series, chart
from stele.train.history import Row
from stele.train.page import STYLE, best_of, opening, seconds_in_words
from stele.train.report import numbers, phases

SAME = {"command", "started", "epochs", "python", "stele", "numpy", "llvmlite", "machine", "peak_memory_mb", "threads"}
CURVES = 8      # in one chart: the best runs
COLOURS = ("#2f6fdf", "#d9590c", "#177245", "#8e44ad", "#b3261e", "#00838f", "#8d6e00", "#5d6470")
DARK = ("#74a5ff", "#ff9b57", "#5fc792", "#d29bff", "#ff8a80", "#4dd0e1", "#e5c04d", "#aab2bf")
LINES = "\n".join(f".line.r{k}, .mark.r{k} {{ stroke: var(--r{k}); }} .line.r{k} {{ stroke-width: 2; }} "
                  f".last.r{k} {{ fill: var(--r{k}); stroke: none; }}" for k in range(CURVES))


@dataclass(frozen=True)
class Found:
    """A run as its folder says it: where it is, how it stands, facts about it, and its epochs."""

    name: str
    state: str
    meta: dict[str, Any]
    epochs: list[Row]


def runs_in(folder: Path) -> list[Found]:
    """The runs in a folder and below, by name; DataError where there is none, or a history is no such file."""
    found: list[Found] = []
    for path in sorted(folder.rglob("history.json")):
        try:
            history = json.loads(path.read_text(encoding="utf-8"))
            rows = [{name: math.nan if x is None else x for name, x in row.items()} for row in history["epochs"]]
            if not all(isinstance(row["epoch"], int | float) for row in rows):
                raise ValueError("epochs have numbers")
            found.append(Found(str(path.parent.relative_to(folder)), history["state"], history["meta"], rows))
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            raise DataError(f"{path} is no history of a training",
                            hint="Move it away, or name another folder.") from None
    if not found:
        raise DataError(f"there is no run in {folder}", hint="Name the folder in which runs are, such as runs.")
    return found


def measures(runs: Iterable[Found]) -> list[str]:
    """What was measured, on held-out data first."""
    names = list(dict.fromkeys(name for run in runs for row in run.epochs for phase, of in phases(row).items()
                               for name in (f"{phase}_{measure}" for measure, _ in numbers(of))))
    return sorted(names, key=lambda name: name.startswith("train_"))


def main_measure(runs: Sequence[Found]) -> str | None:
    """The measure by which runs are ordered: what is counted on held-out data, or else the loss."""
    names = [name for name in measures(runs) if not name.startswith("train_")] or measures(runs)
    return next((name for name in names if not name.endswith("loss")), names[0] if names else None)


def ordered(runs: Sequence[Found]) -> list[Found]:
    """The best run first, and those without an epoch last."""
    name = main_measure(runs)
    sign = 1 if name is None or falls(name) else -1
    return sorted(runs, key=lambda run: sign * value(run, name))


def value(run: Found, name: str | None) -> float:
    """The best value of a measure in a run; what is worst where it has none."""
    rows = [row for row in run.epochs if math.isfinite(row.get(name or "", math.nan))]
    if not rows or name is None:
        return math.inf if name is None or falls(name) else -math.inf
    return best_of(rows, name)[name]


def differing(runs: Sequence[Found]) -> list[str]:
    """The facts in which runs differ."""
    names = dict.fromkeys(name for run in runs for name in run.meta)
    return [name for name in names if name not in SAME
            and len({json.dumps(run.meta.get(name), sort_keys=True, default=str) for run in runs}) > 1]


def cells(runs: Sequence[Found]) -> tuple[list[str], list[list[str]]]:
    """The table: heads, and a row for each run, the best one first."""
    facts, name = differing(runs), main_measure(runs)
    last = [m for m in measures(runs) if m in (name, "train_loss") or m.endswith("_loss")]
    heads = ["run", "state", *([f"best {words(name)}"] if name else []), *facts, "epochs", *map(words, last), "time"]
    rows: list[list[str]] = []
    for run in ordered(runs):
        end = run.epochs[-1] if run.epochs else {}
        best = [] if name is None else [number(value(run, name))]
        rows.append([run.name, run.state, *best, *(said(run.meta.get(fact)) for fact in facts), str(len(run.epochs)),
                     *(number(end.get(m, math.nan)) for m in last),
                     seconds_in_words(sum(row.get("seconds", 0.0) for row in run.epochs))])
    return heads, rows


def words(name: str) -> str:
    """The name of a measure as people say it."""
    return name.replace("_", " ")


def said(x: Any) -> str:
    """A fact in a cell."""
    return "" if x is None else f"{x:g}" if isinstance(x, float) else json.dumps(x) if is_dict(x) else str(x)


def number(x: Any) -> str:
    """A measure in a cell; empty where there is none."""
    return f"{x:.4f}" if isinstance(x, int | float) and math.isfinite(x) else ""


def compared(folder: Path) -> str:
    """The table of the runs in a folder, as text."""
    heads, rows = cells(runs_in(folder))
    widths = [max(len(row[k]) for row in (heads, *rows)) for k in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(w) if k < 2 else cell.rjust(w)
                               for k, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in (heads, *rows))


def comparison(folder: Path) -> str:
    """The page of the runs in a folder: their curves above each other, and the table."""
    runs = ordered(runs_in(folder))
    heads, rows = cells(runs)
    title = f"{len(rows)} run{'s' * (len(rows) != 1)} in {folder.resolve().name}"
    palette = "; ".join(f"--r{k}: {colour}" for k, colour in enumerate(COLOURS))
    dark = "; ".join(f"--r{k}: {colour}" for k, colour in enumerate(DARK))
    body = "".join(f"<section><h2>{escape(words(name))}</h2>\n{chart(words(name), curves(runs, name), number)}\n"
                   "</section>\n" for name in measures(runs))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    note = f"The curves of the {CURVES} best runs are shown." if len(runs) > CURVES else ""
    return f"""{opening()}<title>{escape(title)}</title>
<style>{STYLE}
:root {{ {palette} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
{LINES}
.tables {{ grid-template-columns: minmax(0, 1fr); margin-bottom: 16px; }}
td:nth-child(-n+2), th:nth-child(-n+2) {{ text-align: left; }}
</style>
</head>
<body>
<main>
<header><h1>{escape(title)}</h1><p class="subtitle">{note}</p></header>
<div class="tables"><section><h2>Runs</h2>
<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>
</section></div>
<div class="charts">
{body}</div>
</main>
</body>
</html>
"""


def curves(runs: Sequence[Found], name: str) -> list[Series]:
    """A measure of the best runs over their epochs."""
    found: list[Series] = []
    for k, run in enumerate(runs[:CURVES]):
        rows = [row for row in run.epochs if isinstance(row.get(name), int | float)]
        found.append(Series(run.name, f"r{k}", [float(row["epoch"]) for row in rows], [row[name] for row in rows]))
    return found
