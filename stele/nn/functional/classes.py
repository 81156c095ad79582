"""Losses of classes: one label of several, several labels at once, margins between them."""
from __future__ import annotations

from stele.errors import OptionError, ShapeError
from stele.ir.graph import Value
from stele.ir.types import int64, same, show
from stele.nn.functional.losses import of_one_shape
from stele.ops import functional
from stele.ops.arguments import Reduction
from stele.ops.cumulative import cumulative_sum
from stele.ops.elementwise.binary import equal, where
from stele.ops.elementwise.unary import log_sigmoid, square
from stele.ops.functional import labelled, likelihood, per_class, pick, reduced
from stele.ops.gather import Gather
from stele.ops.generate import iota
from stele.ops.linear import cast, expand_dims, reshape
from stele.ops.statistics import mean, sum


def labels_fit(name: str, input: Value, target: Value) -> None:
    """Raises ShapeError unless labels have the shape of the input without its axis of classes."""
    outer = (*input.shape[:1], *input.shape[2:]) if input.ndim > 1 else ()
    if input.ndim and target.ndim == len(outer) and all(same(a, b) for a, b in zip(outer, target.shape)):
        return
    hint = None
    if target.ndim == input.ndim and input.ndim > 1:
        hint = "Write target.squeeze(1)." if target.shape[1] == 1 else \
            "One-hot labels become integers with target.argmax(axis=1)."
    elif input.ndim > 2 and target.shape == input.shape[:-1]:
        hint = "Classes stand on axis 1: write st.moveaxis(input, -1, 1)."
    raise ShapeError(f"{name} needs an input (N, C) and a target (N,), or (N, C, ...) and (N, ...), got "
                     f"{show(input.shape)} and {show(target.shape)}", hint=hint)


def nll_loss(input: Value, target: Value, weight: Value | None = None, ignore_index: int = -100,
             reduction: Reduction = "mean") -> Value:
    """The mean of -x[label] for log-probabilities (N, C), (N, C, ...) or (C,) with classes on axis 1, or alone.

    `target` holds the labels, without the axis of classes. A `weight` (C,) multiplies the loss of each class, a label
    of `ignore_index` has none, and "mean" is over the weights that took part; `reduction` "sum" and "none" are the
    others. Raises ShapeError for other shapes, DTypeError for labels that are no integers and, when run,
    IndexOutOfRange for a label that is no class.

    >>> F.nll_loss(st.log(st.tensor([[0.5, 0.5], [0.25, 0.75]])), st.tensor([0, 1]), reduction="none")
    tensor([0.6931472 , 0.28768212])
    """
    labels_fit("nll_loss", input, target)
    return likelihood(input, target, 0 if input.ndim == 1 else 1, reduction, weight, ignore_index)


def cross_entropy(input: Value, target: Value, weight: Value | None = None, ignore_index: int = -100,
                  reduction: Reduction = "mean", label_smoothing: float = 0.0) -> Value:
    """The mean of -log(softmax(x)[label]) for an input (N, C), (N, C, ...) or (C,), classes on axis 1, or alone.

    `target` holds integer labels, without the axis of classes, or floats in the shape of the input: the probabilities
    of the classes. A `weight` (C,) multiplies the loss of each class, a label of `ignore_index` has none, and "mean" is
    over the weights that took part; `reduction` "sum" and "none" are the others. `label_smoothing` s mixes the target
    with s / C for each class. Raises ShapeError for other shapes and, when run, IndexOutOfRange for a label that is no
    class.

    >>> logits = st.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> F.cross_entropy(logits, st.tensor([0, 2])), F.cross_entropy(logits, st.tensor([0, -100]))
    (tensor(0.2395448), tensor(0.2395448))
    """
    axis = 0 if input.ndim == 1 else 1
    if target.dtype.is_float and target.ndim == input.ndim:
        return functional.cross_entropy(input, target, axis=axis, reduction=reduction, weight=weight,
                                        label_smoothing=label_smoothing)
    labels_fit("cross_entropy", input, target)
    return functional.cross_entropy(input, target, axis=axis, reduction=reduction, weight=weight,
                                    ignore_index=ignore_index, label_smoothing=label_smoothing)


def multi_margin_loss(input: Value, target: Value, p: int = 1, margin: float = 1.0, weight: Value | None = None,
                      reduction: Reduction = "mean") -> Value:
    """The hinge loss of classes: the sum of max(0, `margin` - x[y] + x[i]) ** `p` over the others i, over C.

    The input is (N, C) or (C,), `target` y holds labels; p is 1 or 2, a `weight` (C,) multiplies by that of the label.
    `reduction` is "mean", "sum" or "none". Integers become float32. Raises ShapeError for other shapes, OptionError for
    another p.

    >>> F.multi_margin_loss(st.tensor([[1.0, 0.5]]), st.tensor([0])).tolist()
    0.25
    """
    if p not in (1, 2):
        raise OptionError(f"p of multi_margin_loss must be 1 or 2, got {p}")
    if input.ndim < 2 and target.ndim < 2:      # one example, whose label may stand alone or in a row of one
        loss = multi_margin_loss(reshape(input, (1, -1)), reshape(target, (1,)), p, margin, weight, "none")
        return reduced(reshape(loss, target.shape), reduction)
    labels_fit("multi_margin_loss", input, target)
    right = expand_dims(pick(input, target), (target.ndim,))
    z = input - right + margin
    z = where(z > 0, z, 0.0)
    z = square(z) if p == 2 else z
    is_own = equal(iota(input.shape[-1]), expand_dims(cast_index(target), (target.ndim,)))
    z = where(is_own, 0.0, z)
    if weight is not None:
        share = Gather(0)(per_class(weight, input.shape[-1]), labelled(target, input.shape[-1]))
        z = z * expand_dims(share, (target.ndim,))
    return reduced(mean(z, axis=-1), reduction)


def cast_index(labels: Value) -> Value:
    """Labels as int64."""
    return cast(labels, int64)


def multilabel_margin_loss(input: Value, target: Value, reduction: Reduction = "mean") -> Value:
    """The hinge loss of several labels: the sum of max(0, 1 - x[y] + x[i]) over labels y and other classes i, over C.

    The input is (N, C) or (C,), `target` of its shape holds labels up to the first negative one. `reduction` is "mean",
    "sum" or "none". Integers become float32. Raises ShapeError for another shape.

    >>> F.multilabel_margin_loss(st.tensor([0.0, 1.0]), st.tensor([1, -1])).tolist()
    0.0
    """
    of_one_shape("multilabel_margin_loss", input, target)
    if not input.ndim:
        input, target = reshape(input, (1,)), reshape(target, (1,))
    labels, last = cast_index(target), input.ndim
    is_label = equal(cumulative_sum(cast(labels < 0, int64), axis=-1), 0)
    named = equal(expand_dims(labels, (last,)), iota(input.shape[-1])) & expand_dims(is_label, (last,))
    times = sum(cast(named, input.dtype), axis=-2)
    gap = 1 - expand_dims(input, (last,)) + expand_dims(input, (last - 1,))
    z = where((gap > 0) & equal(expand_dims(times, (last - 1,)), 0), gap, 0.0)
    return reduced(sum(mean(z, axis=-1) * times, axis=-1), reduction)


def multilabel_soft_margin_loss(input: Value, target: Value, weight: Value | None = None, reduction: Reduction = "mean"
                                ) -> Value:
    """The mean over classes, the last axis, of the binary cross-entropy of each, with a `target` of 0 and 1.

    A `weight` multiplies what belongs to a class; `reduction` is "mean", "sum" or "none" of what examples have.
    Integers become float32. Raises ShapeError for a target of another shape.

    >>> F.multilabel_soft_margin_loss(st.zeros((1, 2)), st.tensor([[1.0, 0.0]]))
    tensor(0.6931472)
    """
    of_one_shape("multilabel_soft_margin_loss", input, target)
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    return reduced(mean(loss if weight is None else loss * weight, axis=-1), reduction)
