"""What spellings are written with: calls that have no words."""
from __future__ import annotations

from typing import Any


class NoSpelling(Exception):
    """A call that Stele has no words for."""


def refuse(condition: Any, why: str) -> None:
    if condition:
        raise NoSpelling(why)
