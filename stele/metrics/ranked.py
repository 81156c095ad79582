"""Measures of how scores rank."""
from __future__ import annotations

from typing import Any

import numpy as np

from stele.arrays.creation import arange, zeros
from stele.arrays.functions import moveaxis
from stele.arrays.sized import bincount
from stele.arrays.tensor import Tensor, constant, tensor
from stele.eager.handle import TRACING
from stele.errors import DTypeError, ShapeError, TraceError
from stele.interop.keywords import speaks
from stele.metrics.metric import Metric, alike
from stele.ops.arguments import choice, positive

AVERAGES = ("macro", "weighted", "none")


class Ranked(Metric):
    """The base of measures of how scores rank: exact, from all scores there were; or from `bins` of them over 0..1."""

    @speaks
    def __init__(self, bins: int | None = None, classes: int | None = None, average: str | None = "macro") -> None:
        name = type(self).__name__
        self.bins = bins if bins is None else positive(bins, f"bins of {name}")
        self.classes = classes if classes is None else positive(classes, f"classes of {name}")
        self.average = choice("none" if average is None else average, f"average of {name}", AVERAGES)
        super().__init__()

    def reset(self) -> None:
        self.kept: list[Tensor] = []
        self.counts = zeros((2, self.classes or 1, self.bins or 0), dtype="int64")

    def columns(self, scores: Any, labels: Any) -> tuple[Tensor, Tensor]:
        """The scores (M, columns), and which of them are of ones: a column for each class, or one for all."""
        name, n = type(self).__name__, self.classes
        x, y = constant(scores).detach(), constant(labels).detach()
        if n is None and x.ndim == y.ndim + 1 > 1:
            raise ShapeError(f"{name} takes scores and labels of one shape, got {x.shape} and {y.shape}",
                             hint=f"Write {name}(classes={x.shape[1]}) of several.")
        if n is None:
            x, y = alike(name, x, y)
            return x.reshape(-1, 1), (y != 0).reshape(-1, 1)
        if x.ndim < 2 or x.shape[1] != n or (x.shape[0], *x.shape[2:]) != tuple(y.shape):
            raise ShapeError(f"{name} of {n} classes takes scores (N, {n}, ...) and labels (N, ...), got {x.shape} and "
                             f"{y.shape}")
        if y.dtype.is_float or y.dtype.is_complex:
            raise DTypeError(f"{name} takes integers as labels, got {y.dtype}", hint="Write labels.astype('int64').")
        return moveaxis(x, 1, -1).reshape(-1, n), y.reshape(-1, 1) == arange(n)

    def update(self, scores: Any, labels: Any) -> None:
        name = type(self).__name__
        x, ones = self.columns(scores, labels)
        if not x.dtype.is_float:
            raise DTypeError(f"{name} takes floats as scores, got {x.dtype}")
        if self.bins is None:
            if TRACING.get() is not None:
                raise TraceError(f"{name} keeps all scores, which no program can",
                                 hint=f"Write {name}(bins=1000) for scores from 0 to 1, or call it outside.")
            self.kept.append(tensor(np.stack([x.astype("float64").numpy(), ones.numpy()])))
            return
        place = (x.astype("float64") * self.bins).clip(0, self.bins - 1).astype("int64")    # float16 ends at 65504
        place = place + arange(x.shape[1]) * self.bins
        found = bincount((place + ones.astype("int64") * (x.shape[1] * self.bins)).reshape(-1), size=self.counts.size)
        self.counts += found.reshape(*self.counts.shape)

    def curve(self, k: int) -> tuple[Any, Any]:
        """How many of the others and of the ones have at least each score of a column, from the largest down."""
        if self.bins is not None:
            others, ones = self.counts.numpy()[:, k, ::-1]
            return np.cumsum(others), np.cumsum(ones)
        scores, ones = np.concatenate([np.zeros((2, 0)), *(x.numpy()[:, :, k] for x in self.kept)], axis=1)
        order = np.argsort(-scores, kind="stable")
        scores, ones = scores[order], ones[order]
        last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1) if len(scores) else np.zeros(0, np.int64)
        return np.cumsum(1 - ones)[last], np.cumsum(ones)[last]

    def of(self, others: Any, ones: Any) -> float:
        """The measure of a curve."""
        raise NotImplementedError

    def compute(self) -> Tensor:
        curves = [self.curve(k) for k in range(self.classes or 1)]
        found = np.array([self.of(*curve) for curve in curves])
        if self.classes is None:
            return tensor(float(found[0]))
        if self.average == "none":
            return tensor(found.astype(np.float32))
        weights = np.array([float(ones[-1]) if len(ones) else 0.0 for _, ones in curves])
        weights = (weights if self.average == "weighted" else np.ones(len(found))) * ~np.isnan(found)
        return tensor(float(np.nan_to_num(found) @ weights / weights.sum()) if weights.any() else float("nan"))


class AUROC(Ranked):
    """The area under the curve of true against false positives: how often a one has a larger score than another.

    `update(scores, labels)` takes floats and labels 0 and 1 of one shape; equal scores count half. Without `bins`
    it is exact and keeps all scores, outside of compiled functions; with them it counts scores from 0 to 1 in so
    many equal bins. NaN where there are no ones, or nothing else. Of several `classes` it takes scores (N, classes,
    ...) and labels (N, ...), each class is told from all others, and `average` is "macro", the mean of those that have
    a value, "weighted" by how many labels they have, or "none" (None) for an array (classes,). Raises ShapeError for
    other shapes, DTypeError for scores that are no floats, TraceError in a compiled function without bins.

    >>> auroc = metrics.AUROC()
    >>> auroc(st.tensor([0.1, 0.4, 0.35, 0.8]), st.tensor([0, 0, 1, 1]))
    >>> auroc.compute()
    tensor(0.75)
    """

    def of(self, others: Any, ones: Any) -> float:
        others, ones = np.append(0.0, others), np.append(0.0, ones)
        area = np.sum(np.diff(others) * (ones[1:] + ones[:-1]) / 2)
        whole = others[-1] * ones[-1]
        return float(area / whole) if whole else float("nan")


class AveragePrecision(Ranked):
    """The mean of the precision at each score, weighted by the recall that is won there.

    `update(scores, labels)`, `bins`, `classes` and `average` are those of `AUROC`. NaN where there are no ones. Raises
    ShapeError for other shapes, DTypeError for scores that are no floats, TraceError in a compiled function without
    bins.

    >>> precision = metrics.AveragePrecision()
    >>> precision(st.tensor([0.1, 0.4, 0.35, 0.8]), st.tensor([0, 0, 1, 1]))
    >>> precision.compute()
    tensor(0.8333333)
    """

    def of(self, others: Any, ones: Any) -> float:
        if not len(ones) or not ones[-1]:
            return float("nan")
        precision = ones / np.maximum(ones + others, 1)
        return float(np.sum(np.diff(np.append(0.0, ones)) * precision) / ones[-1])
