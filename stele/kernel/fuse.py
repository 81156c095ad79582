"""Which values become one kernel."""
from __future__ import annotations

from dataclasses import dataclass

from ..ir.graph import Value
from ..ir.origin import Where


@dataclass(frozen=True, eq=False)
class Kernel:
    """Results computed together: `body` in order, results included; `inputs` are read from memory.

    `kind` is "nest" (loops of our own), "contraction", "scan" or "host"; the last three are about `anchor`.
    """

    kind: str
    results: tuple[Value, ...]
    inputs: tuple[Value, ...]
    body: tuple[Value, ...]
    anchor: Value | None
    where: Where


@dataclass(frozen=True, eq=False)
class Fused:
    """Kernels in the order they run; `views` maps values to those whose buffer they share."""

    kernels: tuple[Kernel, ...]
    views: dict[Value, Value]
