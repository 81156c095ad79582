"""Losses for data that are mostly easy, mostly background, or mostly of other kinds: focal, dice, contrast."""
from __future__ import annotations

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import same, show
from stele.nn.functional.classes import labels_fit
from stele.nn.functional.distances import normalize
from stele.nn.functional.losses import of_one_shape
from stele.ops.arguments import Reduction, number
from stele.ops.contraction import matmul
from stele.ops.elementwise.arithmetic import Maximum
from stele.ops.elementwise.binary import not_equal, where
from stele.ops.elementwise.unary import expm1, sigmoid, softplus
from stele.ops.functional import likelihood, log_softmax, one_hot, reduced, softmax
from stele.ops.generate import iota
from stele.ops.joining import concatenate
from stele.ops.linear import cast, expand_dims, swap_last, zeros_like
from stele.ops.shaping import moveaxis
from stele.ops.statistics import sum

LEAST = 1e-7        # of a probability whose power is taken: the derivative of one below 1 has no end at 0


def focal_loss(input: Value, target: Value, gamma: float = 2.0, alpha: float | None = None,
               weight: Value | None = None, ignore_index: int = -100, reduction: Reduction = "mean") -> Value:
    """The cross-entropy of each example times (1 - p) ** `gamma`, p being the probability of what is right.

    (Lin et al., 2017.) The input holds logits: (N, C) or (N, C, ...) with classes on axis 1 for integer labels as the
    `target`, as of `cross_entropy`, or of any shape for a target of that shape that says yes, 1, or no, 0, of each, as
    of `binary_cross_entropy_with_logits`. A `weight` (C,) multiplies the loss of each class and a label of
    `ignore_index` has none; of yes and no `alpha` multiplies yes and 1 - alpha no. `reduction` is "mean", over what is
    not ignored, "sum" or "none". Raises ShapeError for other shapes, and for a negative gamma.

    >>> x = st.tensor([[4.0, 0.0], [0.0, 0.0]])
    >>> F.focal_loss(x, st.tensor([0, 0]), reduction="none")
    tensor([5.871601e-06, 1.732868e-01])
    >>> F.focal_loss(st.zeros(2), st.tensor([1.0, 0.0]), alpha=0.25, reduction="none")
    tensor([0.0433217, 0.1299651])
    """
    if number(gamma, "gamma of focal_loss") < 0:
        raise ShapeError(f"gamma of focal_loss must not be negative, got {gamma}")
    if not target.dtype.is_float:
        return of_labels(input, target, gamma, weight, ignore_index, reduction)
    of_one_shape("focal_loss", input, target)
    wrong = sigmoid(input) * (1 - target) + sigmoid(-input) * target
    loss = focused(softplus(input) - input * target, wrong, gamma)
    if alpha is not None:
        loss = loss * (target * alpha + (1 - target) * (1 - number(alpha, "alpha of focal_loss", 0, 1)))
    return reduced(loss, reduction)


def of_labels(input: Value, target: Value, gamma: float, weight: Value | None, ignored: int, reduction: str) -> Value:
    """The focal loss of integer labels."""
    labels_fit("focal_loss", input, target)
    log_p, axis = log_softmax(input, axis=0 if input.ndim == 1 else 1), 0 if input.ndim == 1 else 1
    plain = likelihood(log_p, target, axis, "none", None, ignored)
    loss = plain if weight is None else likelihood(log_p, target, axis, "none", weight, ignored)
    loss = focused(loss, -expm1(-plain), gamma)
    if reduction != "mean":
        return reduced(loss, reduction)
    return sum(loss) / sum(cast(not_equal(target, ignored), loss.dtype))


def focused(loss: Value, wrong: Value, gamma: float) -> Value:
    """A loss times a power of the probability of what is wrong."""
    return loss * Maximum()(wrong, LEAST) ** gamma if gamma else loss


def dice_loss(input: Value, target: Value, smooth: float = 1.0, ignore_index: int = -100, reduction: Reduction = "mean"
              ) -> Value:
    """1 - (2 * sum(p * t) + smooth) / (sum(p) + sum(t) + smooth), sums over what an example has of each class.

    (Milletari et al., 2016.) The input holds logits (N, C, ...) with classes on axis 1. For integer labels (N, ...) as
    the `target` p is the softmax over classes and t says where the label is; a label of `ignore_index` counts nowhere.
    For a target of the input's shape, with 1 where the class is, p is the sigmoid: one mask for each picture is (N, 1,
    ...). `smooth` keeps a class that is nowhere from dividing by 0. `reduction` of the losses (N, C) is "mean", "sum"
    or "none". Raises ShapeError for other shapes and, when run, IndexOutOfRange for a label that is no class.

    >>> masks = st.tensor([[[1.0, 1.0, 0.0, 0.0]]])
    >>> F.dice_loss(masks * 200 - 100, masks), F.dice_loss(100 - masks * 200, masks)
    (tensor(0.), tensor(0.8))
    """
    if input.ndim < 2:
        raise ShapeError(f"dice_loss takes logits (N, C, ...), got {show(input.shape)}",
                         hint="Write input[None, None] for one mask alone.")
    if target.dtype.is_float:
        of_one_shape("dice_loss", input, target)
        p, t = sigmoid(input), target
    else:
        labels_fit("dice_loss", input, target)
        kept = not_equal(target, ignore_index)
        known = where(kept, target, zeros_like(target))
        shown = expand_dims(cast(kept, input.dtype if input.dtype.is_float else known.dtype), (1,))
        p = softmax(input, axis=1) * shown
        t = moveaxis(one_hot(known, classes=input.shape[1]), -1, 1) * shown     # type: ignore[arg-type]
    space = tuple(range(2, input.ndim))
    both, each = sum(p * t, axis=space), sum(p, axis=space) + sum(t, axis=space)
    return reduced(1 - (2 * both + smooth) / (each + smooth), reduction)


def info_nce(query: Value, positive: Value, negatives: Value | None = None, temperature: float = 0.1,
             reduction: Reduction = "mean") -> Value:
    """The cross-entropy of telling which vector belongs to each `query` (N, D), by cosines over a `temperature`.

    (van den Oord et al., 2018, equation 4.) `positive` (N, D) are those that do; what does not are `negatives` (M, D)
    for all, or (N, M, D) for each, and without them the positives of the other queries. `reduction` is "mean", "sum" or
    "none". Two views of the same, each sought among the other's, are F.info_nce(a, b) + F.info_nce(b, a).
    Integers become float32. Raises ShapeError for other shapes, and for a temperature that is not above 0.

    >>> x = st.eye(4)
    >>> F.info_nce(x, x), F.info_nce(x, x, -x, temperature=1.0)
    (tensor(0.00013625), tensor(0.8060175))
    """
    fits = query.ndim == 2 and positive.ndim == 2 and all(same(a, b) for a, b in zip(query.shape, positive.shape))
    if not fits or (negatives is not None and not belongs(negatives, query)):
        given = [query, positive, *([] if negatives is None else [negatives])]
        raise ShapeError("info_nce takes (N, D), (N, D) and, of negatives, (M, D) or (N, M, D), got "
                         + ", ".join(show(v.shape) for v in given))
    if not number(temperature, "temperature of info_nce") > 0:
        raise ShapeError(f"temperature of info_nce must be above 0, got {temperature}")
    q, p = normalize(query, dim=-1) / temperature, normalize(positive, dim=-1)
    if negatives is None:
        return likelihood(log_softmax(matmul(q, swap_last(p)), axis=1), iota(query.shape[0]), 1, reduction)
    others = swap_last(normalize(negatives, dim=-1))
    rows = matmul(q, others) if negatives.ndim == 2 else matmul(expand_dims(q, (1,)), others)[:, 0]
    logits = concatenate([sum(q * p, axis=1, keepdims=True), rows], axis=1)
    return reduced(-log_softmax(logits, axis=1)[:, 0], reduction)


def belongs(negatives: Value, query: Value) -> bool:
    """Whether vectors are as long as those of the queries, and there are some for each query or the same for all."""
    return negatives.ndim in (2, 3) and same(negatives.shape[-1], query.shape[1]) \
        and (negatives.ndim == 2 or same(negatives.shape[0], query.shape[0]))
