"""The page of a run: curves, epochs and configuration in one HTML file that loads nothing."""

import math
from collections.abc import Iterable
from html import escape
from typing import Any

from stele.train.callbacks import falls
from stele.train.chart import Series, chart
from stele.train.history import History, Row
from stele.train.report import numbers, phases

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"     # of a page that loads and runs nothing


def opening(policy: str = POLICY) -> str:
    """How every page begins."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<link rel="icon" href="data:,">
"""


STYLE = """
:root { color-scheme: light dark; --paper: #f6f6f3; --card: #ffffff; --ink: #1c1f24; --soft: #646b76; --rule: #e3e4e0;
        --train: #2f6fdf; --test: #d9590c; --good: #177245; --warn: #a15c00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14161a; --card: #1c1f25; --ink: #e8eaed; --soft: #9aa2ae; --rule: #31353d;
          --train: #74a5ff; --test: #ff9b57; --good: #5fc792; --warn: #e5ac4d; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI",
       Roboto, "Noto Sans", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 1180px; margin: 0 auto; padding: 40px 24px 56px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 14px; }
h1 { font-size: 30px; line-height: 1.2; letter-spacing: -.015em; margin: 0; }
h2 { font-size: 16px; margin: 0 0 12px; }
.state { font-size: 14px; font-weight: 600; } .finished { color: var(--good); } .running { color: var(--train); }
.interrupted { color: var(--warn); } .failed { color: var(--bad); }
.subtitle { flex-basis: 100%; margin: 0; color: var(--soft); }
.message { margin: 16px 0 0; padding: 10px 14px; border-left: 3px solid var(--bad); background: var(--card);
           flex-basis: 100%; } .interrupted + * + .message { border-color: var(--warn); }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(158px, 1fr)); gap: 16px; margin: 28px 0 16px; }
.numbers div, section { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; }
.numbers div { padding: 14px 18px; } .numbers dt { color: var(--soft); font-size: 14px; }
.numbers dd { margin: 0; font-size: 26px; white-space: nowrap; font-weight: 650; letter-spacing: -.02em; }
.numbers div:first-child dd { color: var(--test); }
.charts, .tables { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 16px; }
.tables { margin-top: 16px; align-items: start; }
section { padding: 18px 20px; min-width: 0; overflow-x: auto; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
section > svg { min-width: 440px; } text { fill: var(--ink); font-size: 13.5px; }
.tick, .name { fill: var(--soft); } .grid { stroke: var(--rule); } .axis { stroke: var(--soft); fill: none; }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round; stroke-linecap: round; }
.train { stroke: var(--train); } .test { stroke: var(--test); } .line.test { stroke-dasharray: 7 5; }
.steps { stroke: var(--train); stroke-width: 1.25; opacity: .5; }
.mark { fill: var(--card); stroke-width: 2.5; } .mark.test { fill: var(--test); } .mark:hover { stroke-width: 6; }
.last { stroke: none; font-weight: 650; } .last.train { fill: var(--train); } .last.test { fill: var(--test); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 10px 0 0; padding: 0 0 0 58px; list-style: none;
          font-size: 14px; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: 8px; } .key { width: 26px; height: 10px; }
.empty { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; }
th, td { padding: 6px 10px; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
tr:last-child > * { border-bottom: 0; } thead th { color: var(--soft); font-weight: 500; }
.config th { text-align: left; font-weight: 500; color: var(--soft); vertical-align: top; padding-left: 0; }
.config td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
@media (max-width: 520px) {
  main { padding: 24px 12px 32px; } h1 { font-size: 24px; overflow-wrap: anywhere; } section { padding: 14px 12px; }
  .subtitle, .message { overflow-wrap: anywhere; }
  .numbers { grid-template-columns: 1fr 1fr; gap: 10px; } .numbers div { padding: 10px 12px; min-width: 0; }
  .numbers dd { font-size: 21px; } .legend { padding-left: 0; }
  section > svg { min-width: 0; } text { font-size: 19px; }
  table { font-size: 13px; } th, td { padding: 5px 3px; } thead th { white-space: normal; vertical-align: bottom; } }
"""


def page(history: History) -> str:
    """The whole HTML text."""
    meta, epochs = history.meta, history.epochs
    title = " · ".join(str(meta[key]) for key in ("workload", "data") if meta.get(key)) or "training run"
    message = f'\n<p class="message">{escape(history.message)}</p>' if history.message else ""
    return f"""{opening()}<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<header><h1>{escape(title)}</h1><span class="state {history.state}">{history.state}</span>
<p class="subtitle">{escape(str(meta.get("command", "")))}</p>{message}</header>
{_numbers(epochs)}
<div class="charts">
{"".join(_section(name, history) for name in _measures(epochs))}</div>
<div class="tables">
<section><h2>Epochs</h2>
{_epochs(epochs)}
</section>
<section><h2>Configuration</h2>
{_configuration(meta)}
</section>
</div>
</main>
</body>
</html>
"""


def _measures(epochs: list[Row]) -> list[str]:
    """What was measured, the loss first, and the accuracy where nothing is known yet."""
    found = [name for row in epochs for of in phases(row).values() for name, _ in numbers(of)]
    return list(dict.fromkeys(["loss", *found] if found else ["loss", "accuracy"]))


def _section(name: str, history: History) -> str:
    """The curves of one measure."""
    title, show = name.replace("_", " ").capitalize(), _loss if name == "loss" else _value
    return f"<section><h2>{title}</h2>\n{chart(title, _series(name, history), show)}\n</section>\n"


def _series(name: str, history: History) -> list[Series]:
    """A measure over the epochs, for each kind of data; the loss of single steps too."""
    found = [Series("train, single steps", "steps", history.curve.x, history.curve.loss, marked=False)]
    for phase in dict.fromkeys(phase for row in history.epochs for phase in phases(row)):
        rows = [row for row in history.epochs if isinstance(row.get(f"{phase}_{name}"), int | float)]
        found.append(Series(phase, "train" if phase == "train" else "test", [float(row["epoch"]) for row in rows],
                            [row[f"{phase}_{name}"] for row in rows]))
    return found[name != "loss":]


def best_of(epochs: list[Row], name: str) -> Row:
    """The epoch with the best value of a measure: losses and errors fall, others rise."""
    rows = [row for row in epochs if isinstance(row.get(name), int | float) and math.isfinite(row[name])] or epochs[-1:]
    return (min if falls(name) else max)(rows, key=lambda row: row.get(name, 0.0))


def _numbers(epochs: list[Row]) -> str:
    """The numbers that people look for first."""
    if not epochs:
        return ""
    last = epochs[-1]
    names = [f"{phase}_{name}" for phase, of in reversed(phases(last).items()) for name, _ in reversed(numbers(of))]
    facts: dict[str, str] = {}
    for k, name in enumerate(names[:3]):
        facts[name.replace("_", " ")] = _loss(last[name]) if name.endswith("loss") else _value(last[name])
        if not k:
            best = best_of(epochs, name)
            facts[f"best, epoch {best['epoch']}"] = _loss(best[name]) if name.endswith("loss") else _value(best[name])
    facts["time"] = seconds_in_words(sum(row["seconds"] for row in epochs))
    return ('<dl class="numbers">'
            + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items()) + "</dl>")


def _epochs(epochs: list[Row]) -> str:
    if not epochs:
        return '<p class="empty">No epoch finished yet.</p>'
    names = list(dict.fromkeys(name for row in epochs for name, _ in numbers(row)))
    rows = (_row(_cell(name, row.get(name, math.nan)) for name in names) for row in epochs)
    head = "".join(f'<th scope="col">{name.replace("_", " ").replace("accuracy", "acc.")}</th>' for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cell(name: str, x: float) -> str:
    """A number of an epoch."""
    if name == "epoch":
        return str(x)
    return f"{x:.1f}" if name == "seconds" else _loss(x) if name.endswith("loss") else _value(x)


def _configuration(meta: dict[str, Any]) -> str:
    cells = ((escape(str(key)), escape(str(value))) for key, value in meta.items())
    rows = (f'<tr><th scope="row">{key}</th><td>{value}</td></tr>' for key, value in cells)
    return f'<table class="config"><tbody>{"".join(rows)}</tbody></table>'


def _row(cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _loss(value: float) -> str:
    if not math.isfinite(value):
        return "not finite"
    return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.3g}"


def _value(x: float) -> str:
    return f"{x:.4f}" if math.isfinite(x) else "not finite"


def seconds_in_words(seconds: float) -> str:
    """Seconds as people say them.

    >>> seconds_in_words(75.2), seconds_in_words(9.94), seconds_in_words(3725)
    ('1 min 15 s', '9.9 s', '1 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
