"""Means, errors of numbers, and how well they fit."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele.arrays.creation import zeros
from stele.arrays.functions import broadcast_to, cross_entropy, maximum, stack, unsqueeze
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, constant
from stele.errors import ArgumentError, DTypeError
from stele.interop.keywords import speaks
from stele.metrics.metric import Metric, alike, counted
from stele.ops.arguments import flag, function, number, whole


def reals(what: str, predictions: Any, targets: Any) -> tuple[Tensor, Tensor]:
    """Two tensors of real numbers, of one shape."""
    x, y = alike(what, predictions, targets)
    if x.dtype.is_complex or y.dtype.is_complex:
        raise DTypeError(f"{what} takes real numbers, got complex ones")
    return x, y


class Averaged(Metric):
    """The base of means of what is `measured` of arrays, each element of which counts as much."""

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
        weights = broadcast_to(constant(weight).astype("float64"), x.shape)
        self.sum += (x * weights).sum()
        self.weight += weights.sum()

    def compute(self) -> Tensor:
        return (self.sum / self.weight).astype("float32")


class Mean(Averaged):
    """The mean of numbers: of losses, for example, each with the `weight` of its batch.

    `update(x, weight=1)` takes an array of any shape and dtype but complex, whose elements count as much each, or as
    an array of weights says that broadcasts to it; or, with a function f, what that takes, and counts what it gives:
    one number is of a whole batch, and counts as often as the first array is long. It sums in float64; NaN of nothing.
    Raises DTypeError for complex numbers, ArgumentError for what is no function, ShapeError for weights that do not
    broadcast.

    >>> mean = metrics.Mean()
    >>> mean(st.tensor(1.0), weight=3); mean(st.tensor([2.0, 4.0]))
    >>> mean.compute()
    tensor(1.8)
    >>> within = metrics.Mean(lambda x, y: abs(x - y) < 0.5)
    >>> within(st.tensor([1.0, 2.0]), st.tensor([1.1, 3.0]))
    >>> within.compute()
    tensor(0.5)
    """

    @speaks
    def __init__(self, f: Callable[..., Any] | None = None) -> None:
        self.f = None if f is None else function(f, "f of Mean")
        super().__init__()

    def update(self, *args: Any, weight: Any = 1) -> None:
        if self.f is None:
            super().update(*args, weight=weight)
            return
        x = constant(self.f(*args))
        n = next((a.shape[0] for a in args if getattr(a, "ndim", 0)), 1) if x.ndim == 0 else 1
        super().update(x, weight=constant(weight) * n)


class MeanSquaredError(Averaged):
    """The mean of (prediction - target)**2 over all elements of arrays of one shape; integers and floats.

    `update(predictions, targets, weight=1)`, summed in float64; the root of the mean unless `squared`. Raises
    ShapeError for different shapes, DTypeError for complex numbers.

    >>> error = metrics.MeanSquaredError()
    >>> error(st.tensor([1.0, 2.0]), st.tensor([1.0, 4.0]))
    >>> error.compute()
    tensor(2.)
    """

    @speaks
    def __init__(self, squared: bool = True) -> None:
        self.squared = flag(squared, "squared of MeanSquaredError")
        super().__init__()

    def measured(self, *args: Any) -> Tensor:
        x, y = alike(type(self).__name__, *args)
        return super().measured((x.astype("float64") - y.astype("float64")) ** 2)

    def compute(self) -> Tensor:
        return super().compute() if self.squared else super().compute().sqrt()


class PeakSignalNoiseRatio(MeanSquaredError):
    """How much larger than the error numbers can be, in decibels: 10 log10(`data_range`**2 / mean squared error).

    `update(predictions, targets, weight=1)` takes arrays of one shape, whose numbers lie that far apart at most: 1.0
    for images of floats, 255 for bytes. Infinite without an error. Raises ShapeError for different shapes, DTypeError
    for complex numbers.

    >>> ratio = metrics.PeakSignalNoiseRatio(data_range=1.0)
    >>> ratio(st.tensor([0.5, 0.5]), st.tensor([0.6, 0.4]))
    >>> round(ratio.compute().item(), 3)
    20.0
    """

    @speaks
    def __init__(self, data_range: float = 1.0) -> None:
        super().__init__()
        self.data_range = number(data_range, "data_range of PeakSignalNoiseRatio", 0)

    def compute(self) -> Tensor:
        return (10 * (self.data_range ** 2 * self.weight / self.sum).log10()).astype("float32")


class MeanAbsoluteError(Averaged):
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


class MeanAbsolutePercentageError(Averaged):
    """The mean of abs(prediction - target) / abs(target) over all elements of arrays of one shape: 0.1 is 10 percent.

    `update(predictions, targets, weight=1)`, summed in float64; a target nearer to 0 than 1.17e-6 counts as that far.
    Raises ShapeError for different shapes, DTypeError for complex numbers.

    >>> error = metrics.MeanAbsolutePercentageError()
    >>> error(st.tensor([1.0, 5.0]), st.tensor([2.0, 4.0]))
    >>> error.compute()
    tensor(0.375)
    """

    def measured(self, *args: Any) -> Tensor:
        x, y = (a.astype("float64") for a in alike(type(self).__name__, *args))
        return super().measured(abs(x - y) / maximum(abs(y), 1.17e-6))


class PearsonCorrCoef(Metric):
    """The correlation of predictions with targets (Pearson, 1895): from -1 to 1, NaN where either are all equal.

    `update(predictions, targets)` takes real arrays of one shape, summed in float64. Raises ShapeError for different
    shapes, DTypeError for complex numbers.

    >>> correlation = metrics.PearsonCorrCoef()
    >>> correlation(st.tensor([2.5, 0.0, 2.0, 8.0]), st.tensor([3.0, -0.5, 2.0, 7.0]))
    >>> correlation.compute()
    tensor(0.98486954)
    """

    def reset(self) -> None:
        self.count, self.means, self.spread = zeros((), dtype="float64"), zeros(2, dtype="float64"), zeros(
            (2, 2), dtype="float64")

    def update(self, predictions: Any, targets: Any) -> None:
        z = stack([a.reshape(-1).astype("float64") for a in reals(type(self).__name__, predictions, targets)])
        if z.size == 0:
            return
        n, all_, means = z.shape[1], self.count + z.shape[1], z.mean(axis=1)
        away = means - self.means   # the parallel form of Chan, Golub and LeVeque (1979): no digits are lost
        centred = z - unsqueeze(means, 1)
        self.spread += centred @ centred.T + away * unsqueeze(away, 1) * self.count * n / all_
        self.means += away * n / all_
        self.count += n

    def compute(self) -> Tensor:
        return (self.spread[0, 1] / (self.spread[0, 0] * self.spread[1, 1]).sqrt()).astype("float32")


class ExplainedVariance(PearsonCorrCoef):
    """The share of the variance of targets that predictions explain: 1 - variance(target - prediction) / variance.

    `update(predictions, targets)` takes real arrays of one shape, summed in float64. 1 is a perfect fit, or one that is
    always off by the same; NaN where all targets are equal. Raises ShapeError for different shapes, DTypeError for
    complex numbers.

    >>> explained = metrics.ExplainedVariance()
    >>> explained(st.tensor([2.5, 0.0, 2.0, 8.0]), st.tensor([3.0, -0.5, 2.0, 7.0]))
    >>> explained.compute()
    tensor(0.95717347)
    """

    def compute(self) -> Tensor:
        left = self.spread[0, 0] + self.spread[1, 1] - 2 * self.spread[0, 1]
        return (1 - left / self.spread[1, 1]).astype("float32")


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
        x, y = (a.astype("float64") for a in reals("R2", predictions, targets))
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
