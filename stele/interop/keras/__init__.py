"""Models that Keras saved, as modules: loaded, run, trained; Keras itself is not needed."""
from __future__ import annotations

from stele.interop.keras.module import KerasModule, load

__all__ = ("KerasModule", "load")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
