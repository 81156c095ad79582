"""What spellings are written with: dtypes of the samples, and calls that have no words."""
from __future__ import annotations

from typing import Any


class NoSpelling(Exception):
    """A call that Stele has no words for."""


def refuse(condition: Any, why: str) -> None:
    if condition:
        raise NoSpelling(why)


def kind(t: Any) -> str | None:
    """A dtype of the samples by name."""
    return t[1] if isinstance(t, tuple | list) else t
