"""Parameters of Flax in modules, and those of modules as trees of Flax; neither JAX nor Flax is needed."""
from __future__ import annotations

from stele.interop.flax.states import from_flax, to_flax
from stele.interop.flax.trees import read

__all__ = ("from_flax", "read", "to_flax")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
