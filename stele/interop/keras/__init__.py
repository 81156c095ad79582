"""Models that Keras saved, as modules: loaded, run, trained, written again; Keras itself is not needed."""
from __future__ import annotations

from stele.interop.keras.module import KerasModule, load, save

__all__ = ("KerasModule", "load", "save")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
