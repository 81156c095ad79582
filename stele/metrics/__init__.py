"""Measures of quality over many batches: what is counted stays in tensors, inside of compiled steps too."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import unknown
from stele.interop.names import METRICS
from stele.metrics.labels import (
    F1,
    Accuracy,
    CohenKappa,
    ConfusionMatrix,
    IoU,
    MatthewsCorrCoef,
    Precision,
    Recall,
    Specificity,
)
from stele.metrics.means import (
    R2,
    ExplainedVariance,
    Mean,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    PeakSignalNoiseRatio,
    PearsonCorrCoef,
    Perplexity,
)
from stele.metrics.metric import Metric
from stele.metrics.ranked import AUROC, AveragePrecision

__all__ = ["AUROC", "F1", "R2", "Accuracy", "AveragePrecision", "CohenKappa", "ConfusionMatrix", "ExplainedVariance",
           "IoU", "MatthewsCorrCoef", "Mean", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError",
           "Metric", "PeakSignalNoiseRatio", "PearsonCorrCoef", "Perplexity", "Precision", "Recall", "Specificity"]


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.metrics", name, __all__, METRICS)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
