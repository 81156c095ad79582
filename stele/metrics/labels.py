"""Measures of predicted labels: how many are right, and which are taken for which."""
from __future__ import annotations

from typing import Any

from stele.arrays.creation import arange, zeros
from stele.arrays.families import take_along_axis
from stele.arrays.functions import moveaxis, unsqueeze
from stele.arrays.sized import bincount, where
from stele.arrays.tensor import Tensor, constant
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.metrics.metric import Metric, counted, labels_of, ratio
from stele.ops.arguments import choice, number, positive, whole

AVERAGES = ("macro", "micro", "weighted", "none")
NORMALIZED: dict[str, Any] = {"true": 1, "pred": 0, "all": (0, 1)}      # of which sums, by the axis


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
    do there. With `normalize` it is float32: shares of each "true" label, of each prediction ("pred"), or of "all".
    Raises ShapeError for other shapes, DTypeError for labels that are no integers, OptionError for another `normalize`
    and, when run, IndexOutOfRange for one that is no class.

    >>> matrix = metrics.ConfusionMatrix(3)
    >>> matrix(st.tensor([0, 1, 1, 2]), st.tensor([0, 1, 2, 2]))
    >>> matrix.compute().tolist()
    [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    """

    @speaks
    def __init__(self, classes: int, axis: int = 1, threshold: float = 0.5, ignore_index: int | None = None,
                 normalize: str | None = None) -> None:
        self.classes = positive(classes, f"classes of {type(self).__name__}")
        self.axis, self.threshold = whole(axis, "axis"), number(threshold, "threshold")
        self.ignore_index = ignore_index
        self.normalize = None if normalize is None else choice(normalize, "normalize", tuple(NORMALIZED))
        super().__init__()

    def reset(self) -> None:
        self.counts = zeros((self.classes, self.classes), dtype="int64")

    def update(self, predictions: Any, labels: Any) -> None:
        n, name, x = self.classes, type(self).__name__, constant(predictions)
        found, y = labels_of(name, x, labels, self.axis, self.threshold)
        if x.ndim > y.ndim and x.shape[self.axis] > n:
            raise ShapeError(f"{name} of {n} classes takes as many scores on axis {self.axis}, got {x.shape}",
                             hint=f"Write {name}({x.shape[self.axis]}).")
        place, found = y.astype("int64"), found.astype("int64")
        outside = (found < 0) | (found >= n) | (place < 0) | (place >= n)
        place = where(outside, n * n + 1, place * n + found)
        if self.ignore_index is not None:
            place = where(y == self.ignore_index, n * n, place)
        counts = bincount(place.reshape(-1), size=n * n + 1)
        self.counts += counts[:n * n].reshape(n, n)

    def compute(self) -> Tensor:
        if self.normalize is None:
            return self.counts
        return ratio(self.counts, self.counts.sum(axis=NORMALIZED[self.normalize], keepdims=True))

    def sums(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of each class the predictions that are right, all that were given, and all labels; and how many there are."""
        return self.counts.diagonal(), self.counts.sum(axis=0), self.counts.sum(axis=1), self.counts.sum()


class CohenKappa(ConfusionMatrix):
    """How much more often predictions are right than by chance, of what chance leaves (Cohen, 1960), of `classes`.

    `update(predictions, labels)` takes what `Accuracy` does, with its `axis`, `threshold` and `ignore_index`. 1 is
    without a mistake, 0 as by chance. Raises ShapeError for other shapes, DTypeError for labels that are no integers.

    >>> kappa = metrics.CohenKappa(2)
    >>> kappa(st.tensor([0, 1, 0, 0]), st.tensor([1, 1, 0, 0]))
    >>> kappa.compute()
    tensor(0.5)
    """

    @speaks
    def __init__(self, classes: int, axis: int = 1, threshold: float = 0.5, ignore_index: int | None = None) -> None:
        super().__init__(classes, axis, threshold, ignore_index)

    def compute(self) -> Tensor:
        right, given, true, total = (x.astype("float64") for x in self.sums())
        chance = (given * true).sum()
        return ratio(total * right.sum() - chance, total * total - chance)


class MatthewsCorrCoef(CohenKappa):
    """The correlation of predictions with labels (Gorodkin, 2004; of two classes Matthews, 1975), of `classes`.

    `update(predictions, labels)` takes what `Accuracy` does, with its `axis`, `threshold` and `ignore_index`. 1 is
    without a mistake, 0 as by chance, or where all predictions or all labels are of one class. Raises ShapeError for
    other shapes, DTypeError for labels that are no integers.

    >>> correlation = metrics.MatthewsCorrCoef(2)
    >>> correlation(st.tensor([0, 1, 0, 0]), st.tensor([1, 1, 0, 0]))
    >>> correlation.compute()
    tensor(0.57735026)
    """

    def compute(self) -> Tensor:
        right, given, true, total = (x.astype("float64") for x in self.sums())
        spread = (total * total - (given * given).sum()) * (total * total - (true * true).sum())
        return ratio(total * right.sum() - (given * true).sum(), spread.sqrt())


class ByClass(ConfusionMatrix):
    """The base of measures that are averaged over classes: `average` is "macro", the mean over the classes that occur,
    "weighted" by how often their labels do, "micro", all counts taken together, or "none" (None) for each alone."""

    @speaks
    def __init__(self, classes: int, average: str | None = "macro", axis: int = 1, threshold: float = 0.5,
                 ignore_index: int | None = None) -> None:
        self.average = choice("none" if average is None else average, f"average of {type(self).__name__}", AVERAGES)
        super().__init__(classes, axis, threshold, ignore_index)

    def of(self, right: Tensor, given: Tensor, true: Tensor, all: Tensor) -> Tensor:
        """The measure of counts: predictions that are right, all that were given, all labels, and all there are."""
        raise NotImplementedError

    def compute(self) -> Tensor:
        right, given, true, total = self.sums()
        if self.average == "micro":
            return self.of(right.sum(), given.sum(), true.sum(), total * self.classes)
        each = self.of(right, given, true, total)
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

    def of(self, right: Tensor, given: Tensor, true: Tensor, all: Tensor) -> Tensor: return ratio(right, given)


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

    def of(self, right: Tensor, given: Tensor, true: Tensor, all: Tensor) -> Tensor: return ratio(right, true)


class Specificity(ByClass):
    """The share of the labels of other classes that were not taken for a class, averaged over `classes`.

    `update(predictions, labels)` takes what `Accuracy` does, with its `axis`, `threshold` and `ignore_index`;
    `average` is that of `Precision`. Raises ShapeError for other shapes, DTypeError for labels that are no
    integers, OptionError for another average.

    >>> specificity = metrics.Specificity(2, average="none")
    >>> specificity(st.tensor([1, 1, 1, 0]), st.tensor([1, 1, 0, 0]))
    >>> specificity.compute().tolist()
    [1.0, 0.5]
    """

    def of(self, right: Tensor, given: Tensor, true: Tensor, all: Tensor) -> Tensor:
        return ratio(all - given - true + right, all - true)


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

    def of(self, right: Tensor, given: Tensor, true: Tensor, all: Tensor) -> Tensor:
        return ratio(2 * right, given + true)


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

    def of(self, right: Tensor, given: Tensor, true: Tensor, all: Tensor) -> Tensor:
        return ratio(right, given + true - right)
