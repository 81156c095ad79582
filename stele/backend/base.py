"""What every backend shares with the front: buffers of numbers, and programs that turn buffers into buffers."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ..ir.graph import Array


class Buffer:
    """The numbers of one array value: dense, row-major, in memory of its own.

    >>> Buffer.of(np.arange(3.0)).array
    array([0., 1., 2.])
    """

    __slots__ = ("__weakref__", "memory")

    def __init__(self, memory: Array) -> None:
        self.memory = memory

    @classmethod
    def of(cls, array: Array) -> Buffer:
        """A copy of an array."""
        return cls(np.array(array, order="C"))

    @property
    def array(self) -> Array:
        """A read-only lease of the numbers."""
        view = self.memory.view()
        view.flags.writeable = False
        return view


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


