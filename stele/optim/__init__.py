"""Optimisers, gradient clipping and learning-rate schedules."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import unknown
from stele.interop.names import OPTIMIZERS
from stele.optim.adaptive import (
    LAMB,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    RAdam,
    RMSprop,
    SparseAdam,
)
from stele.optim.averaging import EMA, SWA, Lookahead
from stele.optim.clipping import clip_grad_norm, clip_grad_value
from stele.optim.descent import ASGD, LARS, SGD, Lion, Muon, Rprop
from stele.optim.lbfgs import LBFGS
from stele.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CosineDecay,
    CyclicLR,
    ExponentialLR,
    InverseSqrt,
    LambdaLR,
    LinearLR,
    LinearWarmup,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    Schedule,
    SequentialLR,
    StepLR,
)
from stele.optim.optimizer import Group, Optimizer, grouped
from stele.optim.scaling import LossScaler

__all__ = ["ASGD", "EMA", "LAMB", "LARS", "LBFGS", "SGD", "SWA", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW",
           "Adamax", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
           "CosineDecay", "CyclicLR", "ExponentialLR", "Group", "InverseSqrt", "LambdaLR", "LinearLR",
           "LinearWarmup", "Lion", "Lookahead", "LossScaler", "MultiStepLR", "MultiplicativeLR", "Muon", "NAdam",
           "OneCycleLR",
           "Optimizer", "PolynomialLR", "RAdam", "RMSprop", "ReduceLROnPlateau", "Rprop", "Schedule", "SequentialLR",
           "SparseAdam", "StepLR", "clip_grad_norm", "clip_grad_value", "grouped"]


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.optim", name, __all__, OPTIMIZERS)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
