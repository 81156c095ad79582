"""What the front asks of every backend: a program that turns buffers into buffers."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from .buffers import Buffer


class Program(Protocol):
    """A graph made executable."""

    def __call__(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset()
                 ) -> list[Buffer]:
        """The results for these parameters. A donated parameter is overwritten unless somebody holds a lease on its
        memory, or it is listed in `keep`. Raises IndexOutOfRange and the like with no parameter changed.
        """
        ...
