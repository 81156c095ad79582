"""What every backend offers the front: programs that turn buffers into buffers."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from stele.backend.buffers import Buffer

Precision = Literal["fast", "strict"]
"""How convolutions round: `strict` takes direct algorithms only, `fast` at most twelve times their mean error."""


class Program(Protocol):
    """A graph made executable."""

    def __call__(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset()
                 ) -> list[Buffer]:
        """The results for these parameters. A donated parameter is overwritten unless somebody holds a lease on its
        memory, or it is listed in `keep`. Raises IndexOutOfRange and the like with no parameter changed.
        """
        ...

    def report(self) -> str:
        """The program in words: its kernels, its memory, its constants."""
        ...
