"""Training: a loop that forgets nothing, what happens beside it, and where its numbers go."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import unknown
from stele.interop import names
from stele.train.callbacks import (
    EMA,
    Callback,
    EarlyStopping,
    GradientStatistics,
    LearningRateFinder,
    NanGuard,
    Samples,
)
from stele.train.checkpoint import Checkpoint
from stele.train.history import History
from stele.train.loggers import JSONLines, Logger, MLflow, TensorBoard, WandB
from stele.train.recipes import from_file
from stele.train.report import Progress
from stele.train.trainer import Trainer, fit

__all__ = ["EMA", "Callback", "Checkpoint", "EarlyStopping", "GradientStatistics", "History", "JSONLines",
           "LearningRateFinder", "Logger", "MLflow", "NanGuard", "Progress", "Samples", "TensorBoard", "Trainer",
           "WandB", "fit", "from_file"]


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.train", name, __all__, names.TRAINING)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
