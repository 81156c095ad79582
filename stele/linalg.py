"""Linear algebra on tensors, under the names of the array API standard's extension."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import LINALG, unknown
from stele.arrays.spoken import publish
from stele.arrays.tensor import lift
from stele.ops import linalg

__all__ = ["solve"]

solve = lift(linalg.solve)

publish(list(globals().items()), __name__)

if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.linalg", name, __all__, LINALG)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
