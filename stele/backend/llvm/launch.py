"""How a kernel is started, and what its emission asks of the target."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...ir.sizes import Dim


class Target(Protocol):
    """What emission asks of a machine: sizes in bytes."""

    @property
    def vector_bytes(self) -> int: ...
    @property
    def registers(self) -> int: ...
    @property
    def fma(self) -> bool: ...
    @property
    def l1(self) -> int: ...
    @property
    def l2(self) -> int: ...


@dataclass(frozen=True)
class Launch:
    """One function to run as `tasks` independent tasks; each thread needs `scratch` bytes of its own."""

    function: str
    tasks: Dim
    scratch: Dim = 0
