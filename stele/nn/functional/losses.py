"""Losses of numbers: differences, likelihoods and distances, element by element."""
from __future__ import annotations

import math

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import product, same, show
from stele.nn.functional.distances import pairwise_distance
from stele.ops.arguments import BatchReduction, Reduction, number
from stele.ops.elementwise.arithmetic import Maximum, Minimum
from stele.ops.elementwise.binary import equal, not_equal, where
from stele.ops.elementwise.special import xlogy
from stele.ops.elementwise.unary import absolute, exp, log, log1p, softplus, square, stop_gradient
from stele.ops.functional import reduced
from stele.ops.generate import extent
from stele.ops.linear import cast, expand_dims
from stele.ops.statistics import sum


def of_one_shape(name: str, input: Value, target: Value) -> None:
    """Raises ShapeError unless both have the same shape: what would broadcast is hardly ever meant."""
    if input.ndim != target.ndim or not all(same(a, b) for a, b in zip(input.shape, target.shape)):
        raise ShapeError(f"{name} needs equal shapes, got {show(input.shape)} and {show(target.shape)}",
                         hint="Write target.reshape(input.shape)." if product(input.shape) == product(target.shape) else
                              "Write st.broadcast_to(target, input.shape) if that is meant.")


def weighted(loss: Value, weight: Value | None, reduction: str) -> Value:
    """A loss per element, each times its weight, under a reduction."""
    return reduced(loss if weight is None else loss * weight, reduction)


def averaged(loss: Value, weight: Value | None, reduction: str) -> Value:
    """The same, but that a mean is over the weights."""
    if weight is not None and reduction == "mean":
        return sum(loss * weight) / sum(weight)
    return weighted(loss, weight, reduction)


def l1_loss(input: Value, target: Value, reduction: Reduction = "mean", weight: Value | None = None) -> Value:
    """The mean absolute difference of the input and a `target` of its shape, derivative 0 where they are equal.

    Each times its `weight` where there is one. `reduction` is "mean" (with weights their mean: the sum of losses over
    that of weights), "sum", or "none" for the losses one by one. Integers become float32. Raises ShapeError for another
    shape.

    >>> F.l1_loss(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    1.5
    """
    of_one_shape("l1_loss", input, target)
    return averaged(absolute(input - target), weight, reduction)


def mse_loss(input: Value, target: Value, reduction: Reduction = "mean", weight: Value | None = None) -> Value:
    """The mean squared difference of the input and a `target` of its shape, each times its `weight` where there is one.

    `reduction` is "mean" (with weights their mean: the sum of losses over that of weights), "sum" or "none". Integers
    become float32. Raises ShapeError for another shape.

    >>> F.mse_loss(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    4.5
    """
    of_one_shape("mse_loss", input, target)
    return averaged(square(input - target), weight, reduction)


def smooth_l1_loss(input: Value, target: Value, reduction: Reduction = "mean", beta: float = 1.0) -> Value:
    """The loss d**2 / (2 * `beta`) of differences d below beta, and |d| - beta / 2 of others (Girshick, 2015).

    With beta 0 it is `l1_loss`. `target` and `reduction` are as there. Integers become float32. Raises ShapeError for
    another shape and for a negative beta.

    >>> F.smooth_l1_loss(st.tensor([0.5, 3.0]), st.zeros(2), reduction="none").tolist()
    [0.125, 2.5]
    """
    if number(beta, "beta of smooth_l1_loss", 0) == 0:
        return l1_loss(input, target, reduction)
    of_one_shape("smooth_l1_loss", input, target)
    d = absolute(input - target)
    return reduced(where(d < beta, square(d) * (0.5 / beta), d - 0.5 * beta), reduction)


def huber_loss(input: Value, target: Value, reduction: Reduction = "mean", delta: float = 1.0,
               weight: Value | None = None) -> Value:
    """The loss d**2 / 2 of differences d up to `delta`, and delta * (|d| - delta / 2) of others (Huber, 1964).

    Each times its `weight` where there is one. `target` and `reduction` are as in `mse_loss`. Integers become float32.
    Raises ShapeError for another shape and for a delta that is not above 0.

    >>> F.huber_loss(st.tensor([0.5, 3.0]), st.zeros(2), reduction="none").tolist()
    [0.125, 2.5]
    """
    of_one_shape("huber_loss", input, target)
    if not number(delta, "delta of huber_loss") > 0:
        raise ShapeError(f"delta of huber_loss must be above 0, got {delta}")
    d = absolute(input - target)
    loss = where(d <= delta, square(d) * 0.5, (d - 0.5 * delta) * delta)
    return weighted(loss, weight, reduction)


def binary_cross_entropy(input: Value, target: Value, weight: Value | None = None, reduction: Reduction = "mean"
                         ) -> Value:
    """The mean of -t log(p) - (1 - t) log(1 - p) for probabilities p and a `target` t of their shape, from 0 to 1.

    Logarithms count as -100 at least (PyTorch's rule), so that the loss is finite; what comes out of a sigmoid is
    better given to `binary_cross_entropy_with_logits` before it. A `weight` multiplies each loss; `reduction` is
    "mean", "sum" or "none". Integers become float32. Raises ShapeError for another shape.

    >>> F.binary_cross_entropy(st.tensor([0.5, 0.0]), st.tensor([1.0, 1.0]), reduction="none")
    tensor([  0.6931472, 100.       ])
    """
    of_one_shape("binary_cross_entropy", input, target)
    loss = (target - 1) * bounded(log1p(-input)) - target * bounded(log(input))
    return weighted(loss, weight, reduction)


def bounded(x: Value) -> Value:
    """x, but -100 at least."""
    return Maximum()(x, -100.0)


def binary_cross_entropy_with_logits(input: Value, target: Value, weight: Value | None = None,
                                     reduction: Reduction = "mean", pos_weight: Value | None = None) -> Value:
    """The mean of -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), for a `target` t of the shape of x, from 0 to 1.

    In a form that no x overflows. A `weight` multiplies each loss, a `pos_weight` what belongs to t; both broadcast.
    `reduction` is "mean", "sum" or "none". Integers become float32. Raises ShapeError for another shape.

    >>> x = st.tensor([0.0, 1000.0])
    >>> F.binary_cross_entropy_with_logits(x, st.tensor([1.0, 0.0]), reduction="none")
    tensor([6.931472e-01, 1.000000e+03])
    """
    of_one_shape("binary_cross_entropy_with_logits", input, target)
    if pos_weight is None:
        return weighted(softplus(input) - input * target, weight, reduction)
    loss = (1 - target) * input + softplus(-input) * ((pos_weight - 1) * target + 1)
    return weighted(loss, weight, reduction)


def kl_div(input: Value, target: Value, reduction: BatchReduction = "mean", log_target: bool = False) -> Value:
    """The divergence of Kullback and Leibler, target * (log(target) - input), for an input of log-probabilities.

    `target` holds probabilities, or with `log_target` their logarithms. `reduction` is "mean" (over elements),
    "batchmean" (the sum over the length of the first axis, which is the divergence), "sum" or "none". Raises ShapeError
    where shapes do not broadcast, DTypeError for a complex target, OptionError for another reduction.

    >>> p = st.tensor([[0.5, 0.5]])
    >>> F.kl_div(st.log(st.tensor([[0.25, 0.75]])), p, reduction="batchmean")
    tensor(0.14384103)
    """
    loss = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction != "batchmean":
        return reduced(loss, reduction)
    return sum(loss) / cast(extent(input.shape[0]), loss.dtype) if input.ndim else loss


def poisson_nll_loss(input: Value, target: Value, log_input: bool = True, full: bool = False, eps: float = 1e-8,
                     reduction: Reduction = "mean") -> Value:
    """The negative log-likelihood of counts `target` under Poisson distributions of rate exp(x): exp(x) - t * x.

    With log_input=False the input is the rate itself, x - t * log(x + `eps`). `full` adds Stirling's approximation of
    log(t!) where t is above 1, `log_input` and eps are numbers of this call; `reduction` is "mean", "sum" or "none".
    Integers become float32. Raises ShapeError where shapes do not broadcast, OptionError for another reduction.

    >>> F.poisson_nll_loss(st.tensor([0.0, 1.0]), st.tensor([2.0, 0.0]), reduction="none")
    tensor([1.       , 2.7182817])
    """
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        many = where(target > 1, target, 1.0)
        stirling = many * log(many) - many + log(many * (2 * math.pi)) * 0.5
        loss = loss + where(target > 1, stirling, 0.0)
    return reduced(loss, reduction)


def gaussian_nll_loss(input: Value, target: Value, var: Value, full: bool = False, eps: float = 1e-6,
                      reduction: Reduction = "mean") -> Value:
    """The negative log-likelihood of a `target` under normal distributions whose means are the input (Nix, 1994).

    (log(var) + (x - t)**2 / var) / 2, with variances `var` of the input's shape, or of that without its last axis, or
    with 1 there. They count as `eps` at least, without a derivative for that; `full` adds log(2 pi) / 2. `reduction` is
    "mean", "sum" or "none". Raises ShapeError where shapes do not broadcast, DTypeError for complex variances,
    OptionError for another reduction.

    >>> F.gaussian_nll_loss(st.tensor([0.0, 2.0]), st.zeros(2), st.ones(2), reduction="none").tolist()
    [0.0, 2.0]
    """
    if var.ndim == input.ndim - 1 and var.ndim and all(same(a, b) for a, b in zip(var.shape, input.shape)):
        var = expand_dims(var, (input.ndim - 1,))
    var = var + stop_gradient(Maximum()(var, eps) - var)
    loss = (log(var) + square(input - target) / var) * 0.5
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def soft_margin_loss(input: Value, target: Value, reduction: Reduction = "mean") -> Value:
    """The logistic loss log(1 + exp(-t * x)) of a `target` t of -1 and 1, of the input's shape.

    `reduction` is "mean", "sum" or "none". Integers become float32. Raises ShapeError for another shape.

    >>> F.soft_margin_loss(st.tensor([0.0, 1000.0]), st.tensor([1.0, -1.0]), reduction="none")
    tensor([6.931472e-01, 1.000000e+03])
    """
    of_one_shape("soft_margin_loss", input, target)
    return reduced(softplus(-target * input), reduction)


def hinge_embedding_loss(input: Value, target: Value, margin: float = 1.0, reduction: Reduction = "mean") -> Value:
    """The loss of distances x: x itself where `target` is 1, and max(0, `margin` - x) where it is -1.

    `reduction` is "mean", "sum" or "none". Raises ShapeError for other shapes, DTypeError for complex numbers,
    OptionError for another reduction.

    >>> F.hinge_embedding_loss(st.tensor([0.25, 0.25]), st.tensor([1.0, -1.0]), reduction="none").tolist()
    [0.25, 0.75]
    """
    apart = where(not_equal(target, 1), clipped(margin - input), 0.0)
    return reduced(apart + where(not_equal(target, -1), input, 0.0), reduction)


def clipped(x: Value) -> Value:
    """max(x, 0), whose derivative at 0 is 1, as of PyTorch's clamp_min; a NaN stays."""
    return where(x < 0, 0.0, x)


def margin_ranking_loss(input1: Value, input2: Value, target: Value, margin: float = 0.0, reduction: Reduction = "mean"
                        ) -> Value:
    """The loss max(0, -t * (a - b) + `margin`) of pairs a and b, of which a is to be larger where t is 1.

    `input1` holds a, `input2` b and `target` 1 or -1; `reduction` is "mean", "sum" or "none". Raises ShapeError for
    other shapes, DTypeError for complex numbers, OptionError for another reduction.

    >>> F.margin_ranking_loss(st.tensor([3.0]), st.tensor([1.0]), st.tensor([-1.0])).tolist()
    2.0
    """
    return reduced(clipped(-target * (input1 - input2) + margin), reduction)


def cosine_embedding_loss(input1: Value, input2: Value, target: Value, margin: float = 0.0,
                          reduction: Reduction = "mean") -> Value:
    """The loss 1 - cos of vectors that belong together, target 1, and max(0, cos - `margin`) of others, target -1.

    `input1` and `input2` are (N, D) with a `target` (N,), or (D,) with a number; `reduction` is "mean", "sum" or
    "none". Raises ShapeError for other shapes, DTypeError for complex numbers, OptionError for another reduction.

    >>> a, b = st.tensor([[1.0, 0.0], [1.0, 0.0]]), st.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> F.cosine_embedding_loss(a, b, st.tensor([1.0, 1.0]), reduction="none").tolist()
    [0.0, 1.0]
    """
    if target.ndim not in (0, 1) or input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise ShapeError("cosine_embedding_loss needs vectors (N, D) and a target (N,), or (D,) and a number, got "
                         f"{show(input1.shape)}, {show(input2.shape)} and {show(target.shape)}")
    a, b, tiny = input1, input2, 1e-12
    size = (sum(square(a), axis=-1) + tiny) * (sum(square(b), axis=-1) + tiny)
    cos = sum(a * b, axis=-1) / size ** 0.5
    loss = where(equal(target, 1), 1 - cos, where(equal(target, -1), clipped(cos - margin), 0.0))
    return reduced(loss, reduction)


def triplet_margin_loss(anchor: Value, positive: Value, negative: Value, margin: float = 1.0, p: float = 2.0,
                        eps: float = 1e-6, swap: bool = False, reduction: Reduction = "mean") -> Value:
    """The loss max(0, d(`anchor`, `positive`) - d(anchor, `negative`) + `margin`) for d the `pairwise_distance`.

    The three are (N, D) or (D,). With `swap` the negative is compared with the nearer of anchor and positive (Balntas
    et al., 2016). `p` and `eps` are those of the distance; `reduction` is "mean", "sum" or "none". Integers become
    float32. Raises ShapeError for a margin that is not above 0.

    >>> a = st.zeros((1, 2))
    >>> F.triplet_margin_loss(a, a + 3.0, a + 3.0).tolist()
    1.0
    """
    if not number(margin, "margin of triplet_margin_loss") > 0:
        raise ShapeError(f"margin of triplet_margin_loss must be above 0, got {margin}")
    far = pairwise_distance(anchor, negative, p, eps)
    nearer = pairwise_distance(positive, negative, p, eps) if swap else None
    return hinge(pairwise_distance(anchor, positive, p, eps), far, nearer, margin=margin, reduction=reduction)


def hinge(near: Value, far: Value, other: Value | None, *, margin: float, reduction: str) -> Value:
    """The loss of distances of which one is to be smaller than another, or than the smaller of two, by a margin."""
    return reduced(clipped(near - (far if other is None else Minimum()(far, other)) + margin), reduction)
