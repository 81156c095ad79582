"""What every backend shares with the front: buffers of numbers, and programs that turn buffers into buffers."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..ir.graph import Array


class Buffer:
    """The numbers of one array value. `memory` is written by programs only, and only while nobody else holds it.

    A view handed out by `array` has `memory` as its base, so every NumPy view and every DLPack capsule counts as a lease.
    """

    __slots__ = ("memory",)

    def __init__(self, memory: Array) -> None:
        self.memory = memory

    @property
    def array(self) -> Array:
        """A read-only lease on the numbers."""
        view = self.memory.view()
        view.flags.writeable = False
        return view

    def copy(self) -> Buffer:
        """The same numbers in memory of their own."""
        return Buffer(self.memory.copy())


class Program(Protocol):
    """A graph made executable. `kernels`, `memory` and `constants` describe it; `report()` says it in words."""

    @property
    def kernels(self) -> Sequence[Any]: ...
    @property
    def memory(self) -> int: ...
    @property
    def constants(self) -> Sequence[Any]: ...
    def report(self) -> str: ...
    def __call__(self, buffers: Sequence[Buffer], sizes: Mapping[str, int]) -> list[Buffer]:
        """The results' buffers. A donated parameter's buffer belongs to the program: the caller holds it alone.

        Raises IndexOutOfRange and the like before any donated buffer is changed.
        """
        ...
