"""Metrics are what their definitions say: imperatively, in a compiled step, over batches of any cut, gone on with."""
from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import metrics
from stele.errors import DataError, DTypeError, ShapeError, TraceError

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
SCORES = RNG.normal(size=(60, 4)).astype(np.float32)
LABELS = np.where(RNG.random(60) < 0.5, SCORES.argmax(1), RNG.integers(0, 4, 60))
CHANCE = (RNG.integers(0, 11, 60) / 10).astype(np.float32)      # with many equal ones
ONES = (RNG.random(60) < 0.2 + 0.6 * CHANCE).astype(np.int64)
REAL, NEAR = RNG.normal(3, 2, 60), RNG.normal(3, 2, 60)


def matrix(found: Array, labels: Array, classes: int) -> Array:
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (labels, found), 1)
    return counts


def by_class(of: Callable[[float, float, float], float], average: str) -> float:
    counts = matrix(SCORES.argmax(1), LABELS, 4)
    rows = [(counts[k, k], counts[:, k].sum(), counts[k].sum()) for k in range(4)]
    if average == "micro":
        return of(*map(sum, zip(*rows)))
    each = [of(*row) if sum(row) else 0.0 for row in rows]
    weights = [true if average == "weighted" else float(given + true > 0) for _, given, true in rows]
    return float(np.dot(each, weights) / sum(weights))


def pairs(scores: Array, ones: Array) -> float:
    """How often a one is above another, of all pairs."""
    above = scores[ones == 1][:, None] - scores[ones == 0][None]
    return float(((above > 0) + (above == 0) / 2).mean())


def average_precision(scores: Array, ones: Array) -> float:
    found, before = 0.0, 0.0
    for threshold in sorted(set(scores.tolist()), reverse=True):
        taken = scores >= threshold
        recall, precision = ones[taken].sum() / ones.sum(), ones[taken].mean()
        found, before = found + (recall - before) * precision, recall
    return float(found)


def perplexity(scores: Array, labels: Array) -> float:
    wide = scores.astype(np.float64)
    logs = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    return float(np.exp(-logs[np.arange(len(labels)), labels].mean()))


def top(k: int) -> float:
    return float(np.mean([label in row for label, row in zip(LABELS, np.argsort(-SCORES, axis=1)[:, :k])]))


COUNTS = matrix(SCORES.argmax(1), LABELS, 4)
CHANCES = float(COUNTS.sum(0) @ COUNTS.sum(1)) / 60 ** 2


def correlated(found: Array, labels: Array) -> float:
    """The correlation of indicators of classes, by its definition as a covariance."""
    x, y = (np.eye(4)[a] - np.eye(4)[a].mean(0) for a in (found, labels))
    return float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))


def of_others(average: str | None) -> Any:
    found = SCORES.argmax(1)
    kept = [((found != k) & (k != LABELS)).sum() for k in range(4)]
    all_ = [(k != LABELS).sum() for k in range(4)]
    each = np.array(kept) / np.array(all_)
    return each if average is None else each.mean() if average == "macro" else sum(kept) / sum(all_)


def each_class(of: Callable[[Array, Array], float], average: str | None) -> Any:
    """Each class against all others."""
    each = np.array([of(SCORES[:, k], (k == LABELS).astype(int)) for k in range(4)])
    weights = COUNTS.sum(1) if average == "weighted" else np.ones(4)
    return each if average is None else float(each @ weights / weights.sum())


# Of each metric: how it is made, what it is given, and what it is by its definition.
CASES: dict[str, tuple[Callable[[], metrics.Metric], tuple[Array, ...], Any]] = {
    "accuracy":     (metrics.Accuracy, (SCORES, LABELS), float((SCORES.argmax(1) == LABELS).mean())),
    "of labels":    (metrics.Accuracy, (SCORES.argmax(1), LABELS), float((SCORES.argmax(1) == LABELS).mean())),
    "of chances":   (metrics.Accuracy, (CHANCE, ONES), float(((CHANCE > 0.5) == ONES).mean())),
    "top 2":        (lambda: metrics.Accuracy(top_k=2), (SCORES, LABELS), top(2)),
    "top 4":        (lambda: metrics.Accuracy(top_k=4), (SCORES, LABELS), 1.0),
    "without 2":    (lambda: metrics.Accuracy(ignore_index=2), (SCORES, LABELS),
                     float((SCORES.argmax(1) == LABELS)[LABELS != 2].mean())),
    "confusion":    (lambda: metrics.ConfusionMatrix(4), (SCORES, LABELS), matrix(SCORES.argmax(1), LABELS, 4)),
    "without 1":    (lambda: metrics.ConfusionMatrix(4, ignore_index=1), (SCORES, LABELS),
                     matrix(SCORES.argmax(1)[LABELS != 1], LABELS[LABELS != 1], 4)),
    **{f"{name} {average}": (lambda kind=kind, average=average: kind(5, average=average), (SCORES, LABELS),
                             by_class(of, average))
       for average in ("macro", "micro", "weighted") for name, kind, of in (
           ("precision", metrics.Precision, lambda right, given, true: right / given),
           ("recall", metrics.Recall, lambda right, given, true: right / true),
           ("f1", metrics.F1, lambda right, given, true: 2 * right / (given + true)),
           ("iou", metrics.IoU, lambda right, given, true: right / (given + true - right)))},
    "auroc":        (metrics.AUROC, (CHANCE, ONES), pairs(CHANCE, ONES)),
    "auroc in bins": (lambda: metrics.AUROC(bins=20), (CHANCE, ONES), pairs(CHANCE, ONES)),
    "precisions":   (metrics.AveragePrecision, (CHANCE, ONES), average_precision(CHANCE, ONES)),
    "in bins":      (lambda: metrics.AveragePrecision(bins=20), (CHANCE, ONES), average_precision(CHANCE, ONES)),
    "mean":         (metrics.Mean, (REAL,), REAL.mean()),
    "squares":      (metrics.MeanSquaredError, (REAL, NEAR), ((REAL - NEAR) ** 2).mean()),
    "distances":    (metrics.MeanAbsoluteError, (REAL, NEAR), abs(REAL - NEAR).mean()),
    "r2":           (metrics.R2, (REAL + NEAR / 4, REAL),
                     1 - ((NEAR / 4) ** 2).sum() / ((REAL - REAL.mean()) ** 2).sum()),
    "of a function": (lambda: metrics.Mean(lambda x, y: x * y), (REAL, NEAR), (REAL * NEAR).mean()),
    "of batches":   (lambda: metrics.Mean(lambda x, y: (x * y).mean()), (REAL, NEAR), (REAL * NEAR).mean()),
    "roots":        (lambda: metrics.MeanSquaredError(squared=False), (REAL, NEAR), ((REAL - NEAR) ** 2).mean() ** 0.5),
    "shares":       (metrics.MeanAbsolutePercentageError, (NEAR, REAL), abs((NEAR - REAL) / REAL).mean()),
    "decibels":     (lambda: metrics.PeakSignalNoiseRatio(9.0), (REAL, NEAR),
                     10 * np.log10(81 / ((REAL - NEAR) ** 2).mean())),
    "correlation":  (metrics.PearsonCorrCoef, (REAL + NEAR, REAL), np.corrcoef(REAL + NEAR, REAL)[0, 1]),
    "explained":    (metrics.ExplainedVariance, (REAL + NEAR / 4, REAL), 1 - (NEAR / 4).var() / REAL.var()),
    "shares of each": (lambda: metrics.ConfusionMatrix(4, normalize="true"), (SCORES, LABELS),
                       COUNTS / COUNTS.sum(1, keepdims=True)),
    "shares of all": (lambda: metrics.ConfusionMatrix(4, normalize="all"), (SCORES, LABELS), COUNTS / 60),
    "kappa":        (lambda: metrics.CohenKappa(4), (SCORES, LABELS),
                     (np.trace(COUNTS) / 60 - CHANCES) / (1 - CHANCES)),
    "matthews":     (lambda: metrics.MatthewsCorrCoef(4), (SCORES, LABELS), correlated(SCORES.argmax(1), LABELS)),
    **{f"specificity {average}": (lambda average=average: metrics.Specificity(4, average), (SCORES, LABELS),
                                  of_others(average)) for average in ("macro", "micro", None)},
    **{f"auroc of {average}": (lambda average=average: metrics.AUROC(classes=4, average=average), (SCORES, LABELS),
                               each_class(pairs, average)) for average in ("macro", "weighted", None)},
    "precisions of 4": (lambda: metrics.AveragePrecision(classes=4), (SCORES, LABELS),
                        each_class(average_precision, "macro")),
    "perplexity":   (lambda: metrics.Perplexity(axis=1), (SCORES, LABELS), perplexity(SCORES, LABELS)),
}
COMPILED = [name for name in CASES if not name.startswith(("auroc", "precisions")) or "bins" in name]
CUTS = (0, 7, 8, 31, 60)


@pytest.mark.parametrize("name", CASES)
def test_a_metric_is_its_definition(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BACKEND", "reference")    # native code counts below
    make, arrays, law = CASES[name]
    metric = make()
    for start, end in pairwise(CUTS):
        metric(*(st.tensor(a[start:end]) for a in arrays))
    np.testing.assert_allclose(metric.compute().numpy(), law, rtol=2e-6)
    metric.reset()
    metric(*arrays)
    np.testing.assert_allclose(metric.compute().numpy(), law, rtol=2e-6)


@pytest.mark.parametrize("name", COMPILED)
def test_a_metric_counts_inside_of_a_compiled_step(name: str) -> None:
    make, arrays, law = CASES[name]
    metric = make()

    @st.compile(dims={"batch": {0: "n"}} if len(arrays) == 1 else {"batch": {0: "n"}, "targets": {0: "n"}})
    def step(batch: st.Tensor, targets: st.Tensor | None = None) -> st.Tensor:
        metric(batch, *(() if targets is None else (targets,)))
        return batch.sum()

    for start, end in pairwise(CUTS):
        step(*(st.tensor(a[start:end]) for a in arrays))
    assert step.traces == 1
    np.testing.assert_allclose(metric.compute().numpy(), law, rtol=2e-6)


@pytest.mark.parametrize("name", COMPILED)
def test_a_metric_goes_on_from_what_was_saved(name: str, tmp_path: Any) -> None:
    make, arrays, law = CASES[name]
    first, second = make(), make()
    first(*(a[:20] for a in arrays))
    st.save({"metric": first}, tmp_path / "metric.safetensors")
    st.load(tmp_path / "metric.safetensors", into={"metric": second})
    second(*(a[20:] for a in arrays))
    np.testing.assert_allclose(second.compute().numpy(), law, rtol=2e-6)


def test_metrics_of_nothing() -> None:
    kinds = metrics.Accuracy, metrics.AUROC, metrics.AveragePrecision, metrics.Mean, metrics.R2, metrics.Perplexity
    for make in kinds:
        assert np.isnan(make().compute().numpy()), make
    assert metrics.F1(3).compute().tolist() == 0 and metrics.ConfusionMatrix(2).compute().tolist() == [[0, 0], [0, 0]]
    accuracy = metrics.Accuracy()
    accuracy(st.zeros(0, 3), st.zeros(0, dtype="int64"))
    assert accuracy.count.tolist() == 0
    one = metrics.AUROC()
    one(st.tensor([0.5]), st.tensor([1]))
    assert np.isnan(one.compute().numpy())


def test_gradients_do_not_go_into_a_metric() -> None:
    x, mean = st.tensor([1.0, 2.0], requires_grad=True), metrics.Mean()
    mean(x * 2)
    assert not mean.sum.requires_grad and mean.compute().tolist() == 3


def test_equal_scores_count_in_their_order() -> None:
    accuracy = metrics.Accuracy(top_k=2)
    accuracy(st.zeros(3, 4), st.tensor([0, 1, 2]))
    assert accuracy.right.tolist() == 2


def test_wrong_arguments_teach() -> None:
    with pytest.raises(DTypeError, match=r"integers as labels, got float32.*astype"):
        metrics.Accuracy()(SCORES, LABELS.astype(np.float32))
    with pytest.raises(ShapeError, match=r"classes on axis 1 and labels, got \(60, 4\) and \(59,\)"):
        metrics.Accuracy()(SCORES, LABELS[1:])
    with pytest.raises(ShapeError, match=r"one shape, got \(60, 1\) and \(60,\).*squeeze"):
        metrics.R2()(REAL[:, None], REAL)
    with pytest.raises(ShapeError, match=r"F1 of 3 classes takes as many scores on axis 1, got \(60, 4\).*F1\(4\)"):
        metrics.F1(3)(SCORES, LABELS)
    with pytest.raises(TraceError, match="bins=1000"):
        st.compile(lambda x, y: metrics.AUROC()(x, y))(st.tensor(CHANCE), st.tensor(ONES))
    with pytest.raises(ShapeError, match=r"one shape, got \(60, 4\) and \(60,\).*AUROC\(classes=4\)"):
        metrics.AUROC()(SCORES, LABELS)
    with pytest.raises(ShapeError, match=r"AUROC of 3 classes takes scores \(N, 3, ...\)"):
        metrics.AUROC(classes=3)(SCORES, LABELS)
    with pytest.raises(DTypeError, match="floats as scores"):
        metrics.AUROC()(ONES, ONES)
    with pytest.raises(DataError):
        metrics.ConfusionMatrix(3).load_state_dict(metrics.ConfusionMatrix(4).state_dict())


def test_scikit_learn_says_the_same() -> None:
    law = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    found = SCORES.argmax(1)
    for name, theirs in (("macro", "macro"), ("micro", "micro"), ("weighted", "weighted")):
        for ours, function in ((metrics.F1, law.f1_score), (metrics.Precision, law.precision_score),
                               (metrics.Recall, law.recall_score), (metrics.IoU, law.jaccard_score)):
            metric = ours(4, average=name)
            metric(SCORES, LABELS)
            np.testing.assert_allclose(metric.compute().numpy(), function(LABELS, found, average=theirs), rtol=1e-6)
    for kind, function in ((metrics.AUROC, law.roc_auc_score), (metrics.AveragePrecision, law.average_precision_score)):
        metric = kind()
        metric(CHANCE, ONES)
        np.testing.assert_allclose(metric.compute().numpy(), function(ONES, CHANCE), rtol=1e-6)


def test_a_metric_that_is_reset_begins_anew_in_a_compiled_step() -> None:
    accuracy = metrics.Accuracy()
    step = st.compile(lambda x, y: accuracy(x, y))
    for _ in range(3):
        accuracy.reset()
        step(st.tensor([[0.1, 0.9], [0.8, 0.2]]), st.tensor([1, 1]))
        assert accuracy.compute().tolist() == 0.5 and step.traces == 1
