"""Random batches of metrics: cut anywhere, some of them empty, of every dtype, they count as one update of everything
does, and that is what NumPy says of the same numbers.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

import stele as st
from stele import metrics

Array = np.ndarray[Any, Any]
FLOATS, WHOLE = ("float16", "float32", "float64"), ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
ROUND, EMPTY = 3e-6, np.zeros((0,))


class Drawn(NamedTuple):
    """A metric, what it is given, and what it is by its definition."""

    metric: metrics.Metric
    arrays: Sequence[Array]
    law: Any
    weights: Array | None = None


def of_classes(rng: np.random.Generator, n: int) -> tuple[int, Array, Array, int | None]:
    """Scores (n, c) with no equal ones in a row, labels of any dtype that holds them, and a label to ignore."""
    c = int(rng.integers(2, 6))
    scores = rng.permuted(np.tile(np.arange(c) / 8 - 0.25, (n, 1)), axis=1).astype(rng.choice(FLOATS))
    labels = rng.integers(0, c, n).astype(rng.choice(WHOLE if c > 2 else (*WHOLE, "bool")))
    return c, scores, labels, int(rng.integers(0, c)) if rng.random() < 0.3 else None


def kept(labels: Array, ignored: int | None) -> Array:
    """Which labels count."""
    return np.ones(len(labels), bool) if ignored is None else labels.astype(int) != ignored


def accuracy(rng: np.random.Generator, n: int) -> Drawn:
    c, scores, labels, ignored = of_classes(rng, n)
    k = int(rng.integers(1, c + 1))
    right = np.array([y in row[:k] for y, row in zip(labels.astype(int), np.argsort(-scores, axis=1))], bool)
    counts = kept(labels, ignored)
    return Drawn(metrics.Accuracy(top_k=k, ignore_index=ignored), (scores, labels),
                 right[counts].mean() if counts.any() else np.nan)


def of_chances(rng: np.random.Generator, n: int) -> Drawn:
    chances, ones = rng.integers(0, 9, n) / 8, rng.integers(0, 2, n)
    at = float(rng.choice([0.5, 0.25, 0.3]))
    chances, ones = chances.astype(rng.choice(FLOATS)), ones.astype(rng.choice((*WHOLE, "bool")))
    return Drawn(metrics.Accuracy(threshold=at), (chances, ones), ((chances > at) == ones).mean() if n else np.nan)


def confusion(rng: np.random.Generator, n: int) -> Drawn:
    c, scores, labels, ignored = of_classes(rng, n)
    counts, counted = np.zeros((c, c), np.int64), kept(labels, ignored)
    np.add.at(counts, (labels[counted].astype(int), scores.argmax(1)[counted]), 1)
    return Drawn(metrics.ConfusionMatrix(c, ignore_index=ignored), (scores, labels), counts)


def by_class(rng: np.random.Generator, n: int) -> Drawn:
    c, scores, labels, _ = of_classes(rng, n)
    found, true = (np.eye(c)[a.astype(int)].reshape(n, c) for a in (scores.argmax(1), labels))
    right, given, asked = (found * true).sum(0), found.sum(0), true.sum(0)
    kind, above, below = [(metrics.Precision, right, given), (metrics.Recall, right, asked),
                          (metrics.F1, 2 * right, given + asked),
                          (metrics.IoU, right, given + asked - right)][rng.integers(4)]
    average = str(rng.choice(["macro", "micro", "weighted", "none"]))
    if average == "micro":
        above, below = above.sum(), below.sum()
    each = np.divide(above, below, out=np.zeros_like(above, float), where=below > 0)
    if average in ("macro", "weighted"):
        weights = asked if average == "weighted" else (given + asked > 0).astype(float)
        each = each @ weights / weights.sum() if weights.any() else 0.0
    return Drawn(kind(c, average), (scores, labels), each)


def ranked(rng: np.random.Generator, n: int) -> Drawn:
    bins = int(rng.choice([0, 16, 100_000]))
    scores, ones = (rng.integers(0, 17, n) / 16).astype(rng.choice(FLOATS)), rng.integers(0, 2, n)
    if rng.random() < 0.5:
        above = scores[ones == 1][:, None].astype(float) - scores[ones == 0][None]
        if bins == 16:      # the last bin holds its edge too
            low = np.minimum(scores.astype(float), 15 / 16)
            above = low[ones == 1][:, None] - low[ones == 0][None]
        law = ((above > 0) + (above == 0) / 2).mean() if above.size else np.nan
        return Drawn(metrics.AUROC(bins or None), (scores, ones), law)
    low, law, before = np.minimum(scores.astype(float), 15 / 16 if bins == 16 else 1.0), 0.0, 0.0
    for threshold in sorted({*low.tolist()}, reverse=True):
        taken = low >= threshold
        recall = ones[taken].sum() / max(ones.sum(), 1)
        law, before = law + (recall - before) * ones[taken].mean(), recall
    return Drawn(metrics.AveragePrecision(bins or None), (scores, ones), law if ones.any() else np.nan)


def numbers(rng: np.random.Generator, n: int) -> Array:
    """Numbers of any dtype; those of 8 bits would wrap if they were subtracted in it."""
    return (rng.normal(20, 5, n)).clip(1, 60).astype(rng.choice((*FLOATS, *WHOLE)))


def product(x: st.Tensor, y: st.Tensor) -> st.Tensor:
    return x.double() * y.double()


def errors(rng: np.random.Generator, n: int) -> Drawn:
    x, y = numbers(rng, n), numbers(rng, n)
    a, b = x.astype(float), y.astype(float)
    kind, each = [(metrics.MeanSquaredError, (a - b) ** 2), (metrics.MeanAbsoluteError, abs(a - b)),
                  (metrics.MeanAbsolutePercentageError, abs(a - b) / b),
                  (lambda: metrics.Mean(product), a * b)][rng.integers(4)]
    weights = rng.integers(1, 4, n).astype(rng.choice((*FLOATS, *WHOLE))) if rng.random() < 0.5 else None
    w = np.ones(n) if weights is None else weights.astype(float)
    return Drawn(kind(), (x, y), (each * w).sum() / w.sum() if n else np.nan, weights)


def fits(rng: np.random.Generator, n: int) -> Drawn:
    x, y = numbers(rng, n), numbers(rng, n)
    a, b = x.astype(float) + 1e6, y.astype(float) + 1e6     # means that are far from 0
    spread, left = ((b - b.mean()) ** 2).sum() if n else 0, ((a - b) ** 2).sum()
    both = float(a.std() * b.std()) if n else 0.0
    kind, law = [(metrics.R2, 1 - left / spread if spread else np.nan),
                 (metrics.ExplainedVariance, 1 - (b - a).var() / b.var() if spread else np.nan),
                 (metrics.PearsonCorrCoef, ((a - a.mean()) * (b - b.mean())).mean() / both if both else np.nan),
                 ][rng.integers(3)]
    return Drawn(kind(), (a, b), law)


def perplexity(rng: np.random.Generator, n: int) -> Drawn:
    _, scores, labels, ignored = of_classes(rng, n)
    labels, wide = labels.astype(rng.choice(("int32", "int64", "uint8"))), scores.astype(float) * 3
    scores, counts = (scores * 3).astype(scores.dtype), kept(labels, ignored)
    logs = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    law = np.exp(-logs[np.arange(n), labels.astype(int)][counts].mean()) if counts.any() else np.nan
    return Drawn(metrics.Perplexity(1, ignored), (scores, labels), law)


KINDS = accuracy, of_chances, confusion, by_class, ranked, errors, fits, perplexity


def batches(rng: np.random.Generator, n: int) -> list[tuple[int, int]]:
    """Where n examples are cut: anywhere, some twice."""
    return list(pairwise([0, *sorted(rng.integers(0, n + 1, rng.integers(0, 6))), n]))


def counted(drawn: Drawn, cuts: list[tuple[int, int]], update: Callable[..., Any]) -> Array:
    """What a metric says of batches."""
    drawn.metric.reset()
    for start, end in cuts:
        more = {} if drawn.weights is None else {"weight": st.tensor(drawn.weights[start:end])}
        update(*(st.tensor(a[start:end]) for a in drawn.arrays), **more)
    return drawn.metric.compute().numpy()


@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.__name__)
def test_batches_count_as_one_update_of_everything(kind: Callable[[np.random.Generator, int], Drawn],
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BACKEND", "reference")    # native code counts below
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([0, 1, 2, 7, 40]))
        drawn = kind(rng, n)
        for cuts in ([(0, n)], batches(rng, n)):
            np.testing.assert_allclose(counted(drawn, cuts, drawn.metric), drawn.law, rtol=1e-3 if kind is perplexity
                                       and drawn.arrays[0].dtype == "float16" else ROUND, atol=ROUND,
                                       err_msg=f"seed {seed}, {drawn.metric}, {cuts}")


@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.__name__)
def test_batches_count_as_much_in_a_compiled_step(kind: Callable[[np.random.Generator, int], Drawn]) -> None:
    rng = np.random.default_rng(4)
    drawn = next(d for d in (kind(rng, 12) for _ in range(99)) if getattr(d.metric, "bins", 1) and d.weights is None)

    @st.compile
    def step(x: st.Tensor, y: st.Tensor) -> None:
        drawn.metric(x, y)

    for cuts in ([(0, 0), (0, 5), (5, 5), (5, 6), (6, 12)], [(0, 12)]):
        np.testing.assert_allclose(counted(drawn, cuts, step), drawn.law, rtol=1e-3, atol=ROUND)
