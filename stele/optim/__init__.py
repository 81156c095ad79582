"""Optimisers, gradient clipping and learning-rate schedules."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import OPTIMIZERS, unknown
from stele.optim.optimizers import SGD, Adam, AdamW, Optimizer, clip_grad_norm, clip_grad_value
from stele.optim.schedules import CosineDecay, ExponentialDecay, LinearWarmup, Schedule, StepDecay

__all__ = ["SGD", "Adam", "AdamW", "CosineDecay", "ExponentialDecay", "LinearWarmup", "Optimizer", "Schedule",
           "StepDecay", "clip_grad_norm", "clip_grad_value"]


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.optim", name, __all__, OPTIMIZERS)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
