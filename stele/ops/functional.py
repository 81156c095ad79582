"""Activations, normalisations and losses as users write them."""
from __future__ import annotations

from collections.abc import Callable

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import DType, axis_of, float32, int32, int64, same, show
from stele.ops.arguments import choice, whole
from stele.ops.composite import Gelu, LogSoftmax, LogSumExp, Normalize, Silu, Softmax
from stele.ops.contraction import matmul
from stele.ops.control import CheckIndex
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.unary import softplus, square
from stele.ops.generate import Iota, iota_like
from stele.ops.linear import cast, expand_dims, swap_last
from stele.ops.statistics import Axes, fold, mean, over, sum


def softmax(x: Value, *, axis: int = -1) -> Value:
    """exp(x) / sum(exp(x)) along an axis."""
    return Softmax(axis_of(axis, x.ndim))(x)


def log_softmax(x: Value, *, axis: int = -1) -> Value:
    """log(softmax(x)) along an axis."""
    return LogSoftmax(axis_of(axis, x.ndim))(x)


def logsumexp(x: Value, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """log(sum(exp(x))) over axes (all by default)."""
    return fold(LogSumExp, x, axis, keepdims)


def gelu(x: Value, *, approximate: bool = False) -> Value:
    """x times the normal distribution function of x; `approximate` uses tanh instead of erf."""
    return Gelu(approximate)(x)


def silu(x: Value) -> Value:
    """x * sigmoid(x)."""
    return Silu()(x)


def normalize(x: Value, *, axis: Axes = -1, eps: float = 1e-5) -> Value:
    """(x - mean) / sqrt(variance + eps) over axes."""
    return Normalize(over(axis, x.ndim), eps)(x)


def layer_norm(x: Value, weight: Value | None = None, bias: Value | None = None, *, axes: int = 1,
               eps: float = 1e-5) -> Value:
    """x normalised over its last `axes` axes, times weight, plus bias."""
    y = normalize(x, axis=tuple(range(-whole(axes, "axes of layer_norm", 1, x.ndim), 0)), eps=eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def linear(x: Value, weight: Value, bias: Value | None = None) -> Value:
    """x @ weight.T + bias: (..., inputs) -> (..., outputs) for a weight (outputs, inputs)."""
    y = matmul(x, swap_last(weight))
    return y if bias is None else y + bias


def pick(x: Value, labels: Value, *, axis: int = -1) -> Value:
    """x[..., labels[...]] along an axis: one element for each integer label.

    An element is compared with its position, not fetched, so the pick fuses with what made x, and so does its gradient.
    """
    axis = axis_of(axis, x.ndim)
    outer = (*x.shape[:axis], *x.shape[axis + 1:])
    if len(outer) != labels.ndim or not all(same(a, b) for a, b in zip(outer, labels.shape)):
        raise ShapeError(f"labels need the shape {show(outer)} of x without axis {axis}, got {show(labels.shape)}")
    n = x.shape[axis]
    index = int32 if isinstance(n, int) and n < 1 << 31 else int64
    checked = cast(expand_dims(labelled(labels, n), (axis,)), index)
    return cast(sum(Select()(Equal()(iota_like(x, axis, index), checked), x, 0), axis=axis), x.dtype)


def labelled(labels: Value, classes: Dim) -> Value:
    """Integer labels, each checked to be one of 0 .. classes - 1 when the program runs."""
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"labels are integers, each the number of a class, got {labels.type}",
                         hint="Write labels.astype('int64'), or labels.argmax(axis=1) of one-hot ones.")
    return CheckIndex(classes)(labels)


def one_hot(labels: Value, *, classes: int, dtype: DType = float32) -> Value:
    """1 where the new last axis of length `classes` stands at the label, else 0."""
    checked = expand_dims(labelled(labels, classes), (labels.ndim,))
    return cast(Equal()(Iota((*labels.shape, classes), labels.ndim, int64)(), checked), dtype)


def cross_entropy(logits: Value, labels: Value, *, axis: int = -1, reduction: str = "mean") -> Value:
    """-log(softmax(logits)[label]) for integer labels, averaged, summed ('sum') or one by one ('none').

    >>> import stele as st
    >>> st.cross_entropy(st.zeros((8, 10)), st.arange(8), reduction="none").shape
    (8,)
    """
    return reduced(-pick(log_softmax(logits, axis=axis), labels, axis=axis), reduction)


def binary_cross_entropy(logits: Value, targets: Value, *, reduction: str = "mean") -> Value:
    """-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) from logits, for targets from 0 to 1."""
    return reduced(softplus(logits) - logits * targets, reduction)


def mse(x: Value, target: Value, *, reduction: str = "mean") -> Value:
    """The squared difference, averaged, summed ('sum') or element by element ('none')."""
    return reduced(square(x - target), reduction)


def reduced(loss: Value, reduction: str) -> Value:
    """A loss per element under its reduction."""
    return REDUCTIONS[choice(reduction, "reduction", REDUCTIONS)](loss)


REDUCTIONS: dict[str, Callable[[Value], Value]] = {"mean": mean, "sum": sum, "none": lambda loss: loss}
