"""Measures of quality over many batches: what is counted stays in tensors, inside of compiled steps too."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stele.arrays.creation import arange, zeros
from stele.arrays.families import take_along_axis
from stele.arrays.functions import cross_entropy, moveaxis, unsqueeze
from stele.arrays.sized import bincount, where
from stele.arrays.spellings import unknown
from stele.arrays.tensor import Tensor, constant, tensor
from stele.eager.handle import TRACING, no_grad
from stele.errors import ArgumentError, DTypeError, ShapeError, TraceError
from stele.interop.keywords import answering, speaks
from stele.interop.names import MEASURES, METRICS
from stele.nn.module import Module
from stele.ops.arguments import choice, number, positive, whole

AVERAGES = ("macro", "micro", "weighted", "none")


class Metric(Module):
    """A measure that batches are counted into: `update` takes one, `compute` says what all since `reset` give.

    What was counted stands in buffers, tensors that an `update` in a compiled step changes without anybody waiting for
    them; `state_dict` and `st.save` keep them. A class of its own writes `reset`, `update` and `compute`; calling a
    metric is its `update`, whose shapes and dtypes it says. Raises NotImplementedError where one is missing.

    >>> class Longest(metrics.Metric):
    ...     def reset(self):
    ...         self.found = st.tensor(0.0)
    ...     def update(self, x):
    ...         self.found = st.maximum(self.found, x.max())
    ...     def compute(self):
    ...         return self.found
    >>> longest = Longest()
    >>> longest(st.tensor([1.0, 5.0])); longest(st.tensor([3.0]))
    >>> longest.compute()
    tensor(5.)
    """

    if not TYPE_CHECKING:
        __getattr__ = answering("a metric", MEASURES)

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets what was counted."""
        raise NotImplementedError(f"{type(self).__name__} has no reset(self)")

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Counts one more batch of them."""
        raise NotImplementedError(f"{type(self).__name__} has no update(self, ...)")

    def compute(self) -> Any:
        """What all batches since `reset` give."""
        raise NotImplementedError(f"{type(self).__name__} has no compute(self)")

    def forward(self, *args: Any, **kwargs: Any) -> None:
        with no_grad():
            self.update(*args, **kwargs)


def ratio(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole as float32, and 0 where whole is 0."""
    return where(whole == 0, 0.0, part / where(whole == 0, 1, whole)).astype("float32")


def alike(what: str, predictions: Any, targets: Any) -> tuple[Tensor, Tensor]:
    """Two tensors of one shape."""
    x, y = constant(predictions).detach(), constant(targets).detach()
    if x.shape != y.shape:
        raise ShapeError(f"{what} takes predictions and targets of one shape, got {x.shape} and {y.shape}",
                         hint="Write .squeeze(-1) of the predictions." if x.shape == (*y.shape, 1) else None)
    return x, y


def counted(labels: Tensor, ignore_index: int | None) -> Tensor:
    """Which labels count."""
    return labels == labels if ignore_index is None else labels != ignore_index


def labels_of(what: str, predictions: Any, labels: Any, axis: int, threshold: float) -> tuple[Tensor, Tensor]:
    """The predicted labels and the true ones: of scores of classes along an axis, of probabilities, or as they are."""
    x, y = constant(predictions).detach(), constant(labels).detach()
    if y.dtype.is_float or y.dtype.is_complex:
        raise DTypeError(f"{what} takes integers as labels, got {y.dtype}", hint="Write labels.astype('int64').")
    if x.ndim == y.ndim + 1:
        if tuple(n for k, n in enumerate(x.shape) if k != axis % x.ndim) != tuple(y.shape):
            raise ShapeError(f"{what} takes scores with classes on axis {axis} and labels, got {x.shape} and {y.shape}")
        return x.argmax(axis), y
    x, y = alike(what, x, y)
    return (x > threshold).astype("int64") if x.dtype.is_float else x, y


class Accuracy(Metric):
    """The share of predictions that are right.

    `update(predictions, labels)` takes scores (N, C, ...) with classes on an `axis` and integer labels (N, ...), or
    probabilities of a class and labels 0 and 1 of one shape, right from a `threshold` on, or labels and labels.
    With `top_k` a label is right that is among the k largest scores (of equal ones the first count). A label of
    `ignore_index` is not counted. NaN of nothing. Raises ShapeError for other shapes, DTypeError for labels that
    are no integers.

    >>> accuracy = metrics.Accuracy()
    >>> accuracy(st.tensor([[0.1, 0.9], [0.8, 0.2]]), st.tensor([1, 1]))
    >>> accuracy(st.tensor([[0.0, 1.0], [1.0, 0.0]]), st.tensor([1, 0]))
    >>> accuracy.compute()
    tensor(0.75)
    """

    @speaks
    def __init__(self, top_k: int = 1, axis: int = 1, threshold: float = 0.5, ignore_index: int | None = None) -> None:
        self.top_k, self.axis = positive(top_k, "top_k of Accuracy"), whole(axis, "axis of Accuracy")
        self.threshold, self.ignore_index = number(threshold, "threshold of Accuracy"), ignore_index
        super().__init__()

    def reset(self) -> None:
        self.right, self.count = zeros((), dtype="int64"), zeros((), dtype="int64")

    def update(self, predictions: Any, labels: Any) -> None:
        found, y = labels_of("Accuracy", predictions, labels, self.axis, self.threshold)
        right, x = found == y, constant(predictions).detach()
        if self.top_k > 1 and x.ndim == y.ndim + 1:
            x, here = moveaxis(x, self.axis, -1), unsqueeze(y, -1)
            known = where((here >= 0) & (here < x.shape[-1]), here, 0)
            own = take_along_axis(x, known, -1)
            before = (x > own) | ((x == own) & (arange(x.shape[-1]) < known))
            right = (before.sum(-1) < self.top_k) & (known == here)[..., 0]
        counts = counted(y, self.ignore_index)
        self.right += (right & counts).sum()
        self.count += counts.sum()

    def compute(self) -> Tensor:
        return (self.right / self.count).astype("float32")


class ConfusionMatrix(Metric):
    """How often each label was given each prediction: integers (`classes`, classes), a row for each true label.

    `update(predictions, labels)` takes what `Accuracy` does; `axis`, `threshold` and `ignore_index` mean what they
    do there. Raises ShapeError for other shapes, DTypeError for labels that are no integers and, when run,
    IndexOutOfRange for one that is no class.

    >>> matrix = metrics.ConfusionMatrix(3)
    >>> matrix(st.tensor([0, 1, 1, 2]), st.tensor([0, 1, 2, 2]))
    >>> matrix.compute().tolist()
    [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    """

    @speaks
    def __init__(self, classes: int, axis: int = 1, threshold: float = 0.5, ignore_index: int | None = None) -> None:
        self.classes = positive(classes, f"classes of {type(self).__name__}")
        self.axis, self.threshold = whole(axis, "axis"), number(threshold, "threshold")
        self.ignore_index = ignore_index
        super().__init__()

    def reset(self) -> None:
        self.counts = zeros((self.classes, self.classes), dtype="int64")

    def update(self, predictions: Any, labels: Any) -> None:
        n = self.classes
        found, y = labels_of(type(self).__name__, predictions, labels, self.axis, self.threshold)
        place, found = y.astype("int64"), found.astype("int64")
        outside = (found < 0) | (found >= n) | (place < 0) | (place >= n)
        place = where(outside, n * n + 1, place * n + found)
        if self.ignore_index is not None:
            place = where(y == self.ignore_index, n * n, place)
        counts = bincount(place.reshape(-1), size=n * n + 1)
        self.counts += counts[:n * n].reshape(n, n)

    def compute(self) -> Tensor:
        return self.counts


class ByClass(ConfusionMatrix):
    """The base of measures that are averaged over classes: `average` is "macro", the mean over the classes that occur,
    "weighted" by how often their labels do, "micro", all counts taken together, or "none" for each class alone."""

    @speaks
    def __init__(self, classes: int, average: str = "macro", axis: int = 1, threshold: float = 0.5,
                 ignore_index: int | None = None) -> None:
        self.average = choice(average, f"average of {type(self).__name__}", AVERAGES)
        super().__init__(classes, axis, threshold, ignore_index)

    def of(self, right: Tensor, given: Tensor, true: Tensor) -> Tensor:
        """The measure of counts: predictions that are right, all that were given, and all labels."""
        raise NotImplementedError

    def compute(self) -> Tensor:
        right, given, true = self.counts.diagonal(), self.counts.sum(axis=0), self.counts.sum(axis=1)
        if self.average == "micro":
            return self.of(right.sum(), given.sum(), true.sum())
        each = self.of(right, given, true)
        if self.average == "none":
            return each
        weight = true if self.average == "weighted" else (given + true > 0)
        return ratio((each * weight).sum(), weight.sum())


class Precision(ByClass):
    """The share of the predictions of a class that are right, averaged over `classes`.

    `update(predictions, labels)` takes what `Accuracy` does, with its `axis`, `threshold` and `ignore_index`.
    `average` is "macro", the mean over the classes that occur, "weighted" by how often they do, "micro", all counts
    together, or "none" for an array (classes,); a class that is never predicted has 0. Raises ShapeError for other
    shapes, DTypeError for labels that are no integers, OptionError for another average.

    >>> precision = metrics.Precision(2, average="none")
    >>> precision(st.tensor([1, 1, 1, 0]), st.tensor([1, 1, 0, 0]))
    >>> precision.compute()
    tensor([1.       , 0.6666667])
    """

    def of(self, right: Tensor, given: Tensor, true: Tensor) -> Tensor: return ratio(right, given)


class Recall(ByClass):
    """The share of the labels of a class that were predicted, averaged over `classes`.

    `update(predictions, labels)` takes what `Accuracy` does, with its `axis`, `threshold` and `ignore_index`;
    `average` is that of `Precision`. Raises ShapeError for other shapes, DTypeError for labels that are no
    integers, OptionError for another average.

    >>> recall = metrics.Recall(2, average="none")
    >>> recall(st.tensor([1, 1, 1, 0]), st.tensor([1, 1, 0, 0]))
    >>> recall.compute().tolist()
    [0.5, 1.0]
    """

    def of(self, right: Tensor, given: Tensor, true: Tensor) -> Tensor: return ratio(right, true)


class F1(ByClass):
    """The harmonic mean of `Precision` and `Recall` of each class, 2 * right / (predicted + true), averaged.

    `update(predictions, labels)` takes what `Accuracy` does, with its `axis`, `threshold` and `ignore_index`, over
    so many `classes`; `average` is that of `Precision`. Raises ShapeError for other shapes, DTypeError for labels
    that are no integers, OptionError for another average.

    >>> f1 = metrics.F1(2)
    >>> f1(st.tensor([1, 1, 1, 0]), st.tensor([1, 1, 0, 0]))
    >>> f1.compute()
    tensor(0.73333335)
    """

    def of(self, right: Tensor, given: Tensor, true: Tensor) -> Tensor: return ratio(2 * right, given + true)


class IoU(ByClass):
    """The intersection over union of each class, right / (predicted + true - right), averaged (Jaccard's index).

    `update(predictions, labels)` takes what `Accuracy` does, pixels of images (N, C, H, W) with labels (N, H, W)
    among them, with its `axis`, `threshold` and `ignore_index`, over so many `classes`; `average` is that of
    `Precision`. Raises ShapeError for other shapes, DTypeError for labels that are no integers, OptionError for
    another average.

    >>> iou = metrics.IoU(2, average="none")
    >>> iou(st.tensor([[1, 1, 1, 0]]), st.tensor([[1, 1, 0, 0]]))
    >>> iou.compute()
    tensor([0.5      , 0.6666667])
    """

    def of(self, right: Tensor, given: Tensor, true: Tensor) -> Tensor: return ratio(right, given + true - right)


class Ranked(Metric):
    """The base of measures of how scores rank: exact, from all scores there were; or from `bins` of them over 0..1."""

    @speaks
    def __init__(self, bins: int | None = None) -> None:
        self.bins = bins if bins is None else positive(bins, f"bins of {type(self).__name__}")
        super().__init__()

    def reset(self) -> None:
        self.kept: list[Tensor] = []
        self.counts = zeros((2, self.bins or 0), dtype="int64")

    def update(self, scores: Any, labels: Any) -> None:
        name = type(self).__name__
        x, y = alike(name, scores, labels)
        if not x.dtype.is_float:
            raise DTypeError(f"{name} takes floats as scores, got {x.dtype}")
        if self.bins is None:
            if TRACING.get() is not None:
                raise TraceError(f"{name} keeps all scores, which no program can",
                                 hint=f"Write {name}(bins=1000) for scores from 0 to 1, or call it outside.")
            self.kept.append(tensor(np.stack([x.reshape(-1).astype("float64").numpy(), (y != 0).reshape(-1).numpy()])))
            return
        place = (x.reshape(-1) * self.bins).clip(0, self.bins - 1).astype("int64")
        found = bincount(place + (y != 0).reshape(-1).astype("int64") * self.bins, size=2 * self.bins)
        self.counts += found.reshape(2, self.bins)

    def curve(self) -> tuple[Any, Any]:
        """How many of the others and of the ones have at least each score that occurs, from the largest down."""
        if self.bins is not None:
            others, ones = self.counts.numpy()[:, ::-1]
            return np.cumsum(others), np.cumsum(ones)
        scores, ones = np.concatenate([np.zeros((2, 0)), *(x.numpy() for x in self.kept)], axis=1)
        order = np.argsort(-scores, kind="stable")
        scores, ones = scores[order], ones[order]
        last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1) if len(scores) else np.zeros(0, np.int64)
        return np.cumsum(1 - ones)[last], np.cumsum(ones)[last]


class AUROC(Ranked):
    """The area under the curve of true against false positives: how often a one has a larger score than another.

    `update(scores, labels)` takes floats and labels 0 and 1 of one shape; equal scores count half. Without `bins`
    it is exact and keeps all scores, outside of compiled functions; with them it counts scores from 0 to 1 in so
    many equal bins. NaN where there are no ones, or nothing else. Raises ShapeError for different shapes,
    DTypeError for scores that are no floats, TraceError in a compiled function without bins.

    >>> auroc = metrics.AUROC()
    >>> auroc(st.tensor([0.1, 0.4, 0.35, 0.8]), st.tensor([0, 0, 1, 1]))
    >>> auroc.compute()
    tensor(0.75)
    """

    def compute(self) -> Tensor:
        others, ones = (np.append(0.0, x) for x in self.curve())
        area = np.sum(np.diff(others) * (ones[1:] + ones[:-1]) / 2)
        whole = others[-1] * ones[-1]
        return tensor(float(area / whole) if whole else float("nan"))


class AveragePrecision(Ranked):
    """The mean of the precision at each score, weighted by the recall that is won there.

    `update(scores, labels)` and `bins` are those of `AUROC`. NaN where there are no ones. Raises ShapeError for
    different shapes, DTypeError for scores that are no floats, TraceError in a compiled function without bins.

    >>> precision = metrics.AveragePrecision()
    >>> precision(st.tensor([0.1, 0.4, 0.35, 0.8]), st.tensor([0, 0, 1, 1]))
    >>> precision.compute()
    tensor(0.8333333)
    """

    def compute(self) -> Tensor:
        others, ones = self.curve()
        if not len(ones) or not ones[-1]:
            return tensor(float("nan"))
        precision = ones / np.maximum(ones + others, 1)
        return tensor(float(np.sum(np.diff(np.append(0.0, ones)) * precision) / ones[-1]))


class Mean(Metric):
    """The mean of numbers: of losses, for example, each with the `weight` of its batch.

    `update(x, weight=1)` takes an array of any shape and dtype but complex, whose elements count as much each. It
    sums in float64; NaN of nothing. Raises DTypeError for complex numbers.

    >>> mean = metrics.Mean()
    >>> mean(st.tensor(1.0), weight=3); mean(st.tensor([2.0, 4.0]))
    >>> mean.compute()
    tensor(1.8)
    """

    def reset(self) -> None:
        self.sum, self.weight = zeros((), dtype="float64"), zeros((), dtype="float64")

    def measured(self, *args: Any) -> Tensor:
        """What the mean is taken of."""
        x = constant(args[0]).detach()
        if x.dtype.is_complex:
            raise DTypeError(f"{type(self).__name__} takes real numbers, got {x.dtype}")
        return x

    def update(self, *args: Any, weight: Any = 1) -> None:
        if not args:
            raise ArgumentError(f"{type(self).__name__} takes what the mean is of")
        x = self.measured(*args).astype("float64")
        self.sum += (x * weight).sum()
        self.weight += x.size * weight

    def compute(self) -> Tensor:
        return (self.sum / self.weight).astype("float32")


class MeanSquaredError(Mean):
    """The mean of (prediction - target)**2 over all elements of arrays of one shape; integers and floats.

    `update(predictions, targets, weight=1)`, summed in float64. Raises ShapeError for different shapes, DTypeError
    for complex numbers.

    >>> error = metrics.MeanSquaredError()
    >>> error(st.tensor([1.0, 2.0]), st.tensor([1.0, 4.0]))
    >>> error.compute()
    tensor(2.)
    """

    def measured(self, *args: Any) -> Tensor:
        x, y = alike(type(self).__name__, *args)
        return super().measured((x.astype("float64") - y.astype("float64")) ** 2)


class MeanAbsoluteError(Mean):
    """The mean of abs(prediction - target) over all elements of arrays of one shape; integers and floats.

    `update(predictions, targets, weight=1)`, summed in float64. Raises ShapeError for different shapes, DTypeError
    for complex numbers.

    >>> error = metrics.MeanAbsoluteError()
    >>> error(st.tensor([1.0, 2.0]), st.tensor([1.0, 4.0]))
    >>> error.compute()
    tensor(1.)
    """

    def measured(self, *args: Any) -> Tensor:
        x, y = alike(type(self).__name__, *args)
        return super().measured(abs(x.astype("float64") - y.astype("float64")))


class R2(Metric):
    """The coefficient of determination, 1 - sum((target - prediction)**2) / sum((target - their mean)**2).

    `update(predictions, targets)` takes real arrays of one shape, summed in float64. 1 is a perfect fit, 0 that of
    the mean; NaN where all targets are equal. Raises ShapeError for different shapes, DTypeError for complex
    numbers.

    >>> fit = metrics.R2()
    >>> fit(st.tensor([2.5, 0.0, 2.0, 8.0]), st.tensor([3.0, -0.5, 2.0, 7.0]))
    >>> fit.compute()
    tensor(0.94860816)
    """

    def reset(self) -> None:
        self.count, self.mean = zeros((), dtype="float64"), zeros((), dtype="float64")
        self.spread, self.left = zeros((), dtype="float64"), zeros((), dtype="float64")

    def update(self, predictions: Any, targets: Any) -> None:
        x, y = alike("R2", predictions, targets)
        if x.dtype.is_complex or y.dtype.is_complex:
            raise DTypeError("R2 takes real numbers, got complex ones")
        x, y = x.astype("float64"), y.astype("float64")
        if y.size == 0:
            return
        n, all_, mean = y.size, self.count + y.size, y.mean()
        away = mean - self.mean     # the parallel form of Chan, Golub and LeVeque (1979): no digits are lost
        self.spread += ((y - mean) ** 2).sum() + away ** 2 * self.count * n / all_
        self.mean += away * n / all_
        self.left += ((y - x) ** 2).sum()
        self.count += n

    def compute(self) -> Tensor:
        nothing = self.spread == 0
        return where(nothing, float("nan"), 1 - self.left / where(nothing, 1, self.spread)).astype("float32")


class Perplexity(Metric):
    """exp of the mean of -log(probability of the label): of how many equally likely words a model is as unsure.

    `update(logits, labels)` takes floats with classes on an `axis`, such as (N, T, words), and integer labels (N,
    T); a label of `ignore_index` is not counted. Raises ShapeError for other shapes, DTypeError for logits that are
    no floats and labels that are no integers.

    >>> perplexity = metrics.Perplexity(ignore_index=-1)
    >>> perplexity(st.zeros((2, 3, 10)), st.tensor([[1, 2, 3], [4, -1, -1]]))
    >>> perplexity.compute()
    tensor(10.)
    """

    @speaks
    def __init__(self, axis: int = -1, ignore_index: int | None = None) -> None:
        self.axis, self.ignore_index = whole(axis, "axis of Perplexity"), ignore_index
        super().__init__()

    def reset(self) -> None:
        self.sum, self.count = zeros((), dtype="float64"), zeros((), dtype="int64")

    def update(self, logits: Any, labels: Any) -> None:
        x, y = constant(logits).detach(), constant(labels).detach()
        counts = counted(y, self.ignore_index)
        losses = cross_entropy(x, where(counts, y, 0), axis=self.axis, reduction="none")
        self.sum += where(counts, losses, 0.0).astype("float64").sum()
        self.count += counts.sum()

    def compute(self) -> Tensor:
        return (self.sum / self.count).exp().astype("float32")


__all__ = [
    "AUROC",
    "F1",
    "R2",
    "Accuracy",
    "AveragePrecision",
    "ConfusionMatrix",
    "IoU",
    "Mean",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
]


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.metrics", name, __all__, METRICS)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
