"""Who follows a run: told of looks at numbers, evaluations, calls of compiled functions and layers, optimiser steps."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from stele.ir.graph import Value


class Follower:
    """Hears what is about to happen; says nothing back."""

    def looked(self, v: Value) -> None:
        """Python asks for the numbers of a value."""

    def evaluated(self, order: Sequence[Value], wanted: Sequence[Value]) -> None:
        """Pending values are computed: all they need, operands first, and those that somebody wants."""

    def called(self, plan: Any, handles: Sequence[Any], sizes: Mapping[str, int]) -> None:
        """A compiled function runs its plan on these handles, with these numbers for its open sizes."""

    def passed(self, module: Any, y: Any) -> None:
        """A module has made y of its input."""

    def stepped(self, optimizer: Any) -> None:
        """An optimiser moves its parameters."""


FOLLOWER: ContextVar[Follower | None] = ContextVar("follower", default=None)
