"""A profile as one HTML file that loads nothing."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape

from stele.inspect.profile import tables
from stele.inspect.profile.account import ONCE, Account
from stele.train.page import STYLE, opening

MOST = 200      # rows of a table
COLOURS = {"data": "--data", "Python": "--python", "planning": "--plan", "dispatch": "--call", "kernels": "--train"}
OWN = """
:root { --data: #b4541a; --python: #b08a1c; --plan: #7d8a2e; --call: #3d8f6d; }
@media (prefers-color-scheme: dark) {
  :root { --data: #e58a55; --python: #d9b44a; --plan: #aebd5c; --call: #6cc6a0; } }
.strip { display: flex; height: 26px; border-radius: 6px; overflow: hidden; margin: 4px 0 12px; }
.strip i { display: block; height: 100%; min-width: 1px; }
.keys { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0; padding: 0; list-style: none; font-size: 14px; }
.keys li { display: flex; gap: 7px; align-items: center; } .keys i { width: 11px; height: 11px; border-radius: 3px; }
section { margin-top: 16px; }
.words { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 140px; }
.code { font: 13px/1.4 ui-monospace, "DejaVu Sans Mono", monospace; color: var(--soft); }
td .bar { display: block; height: 5px; margin-top: 3px; border-radius: 3px; background: var(--train); min-width: 1px; }
.notes { color: var(--soft); font-size: 14px; }
@media (max-width: 520px) { .less { display: none; } .words { min-width: 0; } }
"""
LESS = {"forward", "gradient", "bound", "source", "at", "starts", "errors", "kernels", "fastest", "bytes", "mode"}
"""Columns that a narrow page leaves out."""


def page(account: Account) -> str:
    """The whole HTML text."""
    parts = [section("Time", strip(account) + table(tables.split_heads(account), tables.split_rows(account)))]
    for title, heads, rows in tables.lists(account):
        if rows:
            parts.append(section(title.capitalize(), table(heads, rows[:MOST])))
    notes = "".join(f"<p>{escape(line)}</p>" for line in tables.notes(account))
    return f"""{opening()}<title>profile</title>
<style>{STYLE}{OWN}</style>
</head>
<body>
<main>
<header><h1>Profile</h1><p class="subtitle">{escape(tables.headline(account))}</p></header>
{numbers(account)}
{"".join(parts)}
<section class="notes"><h2>Memory, mode, machine</h2>{notes}</section>
</main>
</body>
</html>
"""


def section(title: str, inside: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{inside}</section>\n"


def numbers(account: Account) -> str:
    """The numbers that people look for first."""
    kernels, steps = account.split["kernels"], max(account.steps, 1)
    best = sum(k.least for k in account.kernels if k.share is not None)
    spent = sum(k.ns for k in account.kernels if k.share is not None)
    facts = {"a step": f"{tables.ms(account.ns / steps)} ms", "in kernels": tables.percent(kernels, account.ns),
             "waiting for data": tables.percent(account.split["data"], account.ns),
             "of the roofline": f"{best / spent:.0%}" if spent else "",
             "peak memory": tables.size(account.peak.memory.peak) if account.peak and account.peak.memory else ""}
    return ('<dl class="numbers">' + "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items() if value) + "</dl>")


def strip(account: Account) -> str:
    """Time as a strip, with what its colours mean; without what is done once."""
    shown = {name: ns for name, ns in account.split.items() if ns and name not in ONCE}
    total = sum(shown.values()) or 1
    bars = "".join(f'<i style="width:{100 * ns / total:.3f}%;background:var({COLOURS[name]})" '
                   f'title="{name}: {tables.ms(ns)} ms"></i>' for name, ns in shown.items())
    keys = "".join(f'<li><i style="background:var({COLOURS[name]})"></i>{name} {tables.ms(ns)} ms</li>'
                   for name, ns in shown.items())
    return f'<div class="strip">{bars}</div><ul class="keys">{keys}</ul>\n'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text; a bar under each share."""
    classes = [" ".join([*["words"] * (head in tables.WORDS), *["less"] * (head in LESS or (head == "" and k > 0)),
                         *["code"] * (head in ("source", "line", "at"))]) for k, head in enumerate(heads)]
    top = "".join(f'<th scope="col" class="{c}">{escape(head)}</th>' for head, c in zip(heads, classes))
    body = "".join("<tr>" + "".join(cell(head, text, c) for head, text, c in zip(heads, row, classes)) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def cell(head: str, text: str, classes: str) -> str:
    bar = f'<i class="bar" style="width:{min(float(text[:-1]), 100):.1f}%"></i>' if text.endswith("%") and \
        head in ("share", "roofline") else ""
    return f'<td class="{classes}">{escape(text)}{bar}</td>'
