"""Stages of the compiler by name, printed to stderr where STELE_SHOW asks for them."""
from __future__ import annotations

import sys
from collections.abc import Callable

from stele import config


def show(stage: str, text: Callable[[], str], note: str = "") -> None:
    """Prints a stage under its name, if STELE_SHOW names it; `text` is called only then."""
    if stage in config.SHOW():
        print(f"== {stage}{note and ' '}{note}\n{text().rstrip()}", file=sys.stderr, flush=True)


def are_watched() -> bool:
    """Whether the stages from graph to machine code are to be printed or verified, so that none may be skipped."""
    unwatched = {"call", "cache", "compiles", "evaluations", "memory", "time"}
    return "graph" in config.CHECK() or bool(config.SHOW() - unwatched)
