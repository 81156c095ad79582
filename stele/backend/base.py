<<<<<<< HEAD
"""What the front asks of every backend: a program that turns buffers into buffers."""
=======
"""What every backend offers the front: programs that turn buffers into buffers."""
>>>>>>> main
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

<<<<<<< HEAD
from .buffers import Buffer
=======
from stele.backend.buffers import Buffer
>>>>>>> main


class Program(Protocol):
    """A graph made executable."""

    def __call__(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset()
                 ) -> list[Buffer]:
        """The results for these parameters. A donated parameter is overwritten unless somebody holds a lease on its
        memory, or it is listed in `keep`. Raises IndexOutOfRange and the like with no parameter changed.
        """
        ...
<<<<<<< HEAD
=======

    def report(self) -> str:
        """The program in words: its kernels, its memory, its constants."""
        ...
>>>>>>> main
