"""Losses: one number, the mean over the batch."""
from __future__ import annotations

from stele.arrays import functions as F
from stele.arrays.tensor import Tensor, constant
from stele.errors import ShapeError
from stele.ir.door import public


@public
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log(softmax(logits)[label]) over a batch, with classes on axis 1 (PyTorch's CrossEntropyLoss).

    `logits` are (N, C) with `labels` (N,), or (N, C, ...) with (N, ...), a label for each pixel; labels are integers
    from 0 to C - 1. Raises ShapeError for other shapes and, when run, IndexOutOfRange for another label.

    >>> logits = st.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> nn.cross_entropy(logits, st.tensor([0, 2]))
    tensor(0.2395448)
    >>> nn.cross_entropy(st.zeros((8, 10, 4, 4)), st.zeros((8, 4, 4), dtype="int64"))
    tensor(2.3025854)
    """
    logits, labels = constant(logits), constant(labels)
    if logits.ndim < 2 or labels.shape != (logits.shape[0], *logits.shape[2:]):
        hint = None
        if labels.ndim == logits.ndim:
            hint = "Write labels.squeeze(1)." if labels.shape[1] == 1 else \
                "One-hot labels become integers with labels.argmax(axis=1)."
        elif logits.shape[-1:] != logits.shape[1:2] and labels.shape == logits.shape[:-1]:
            hint = "Classes stand on axis 1: write st.moveaxis(logits, -1, 1)."
        raise ShapeError("cross_entropy needs logits (N, C) and labels (N,), or (N, C, ...) and (N, ...), "
                         f"got {logits.shape} and {labels.shape}", hint=hint)
    return F.cross_entropy(logits, labels, axis=1)


@public
def mse_loss(x: Tensor, y: Tensor) -> Tensor:
    """The mean of (x - y) squared, of two tensors of one shape.

    Raises ShapeError where shapes differ: (N, 1) and (N,) would broadcast to (N, N), which is hardly ever meant.

    >>> nn.mse_loss(st.tensor([1.0, 2.0]), st.tensor([1.0, 5.0])).tolist()
    4.5
    """
    if x.shape != y.shape:
        raise ShapeError(f"mse_loss needs equal shapes, got {x.shape} and {y.shape}",
                         hint="Write y.reshape(x.shape)." if x.size == y.size else None)
    return F.mse(x, y)


@public
def binary_cross_entropy_with_logits(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean of -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), for `logits` x and `targets` t of one shape.

    Targets are from 0 to 1. In the form softplus(x) - x t, which no x overflows. Raises ShapeError where shapes differ.

    >>> nn.binary_cross_entropy_with_logits(st.tensor([0.0, 1000.0]), st.tensor([1.0, 1.0]))
    tensor(0.3465736)
    """
    if logits.shape != targets.shape:
        raise ShapeError(f"binary_cross_entropy_with_logits needs equal shapes, got {logits.shape} and {targets.shape}")
    return F.binary_cross_entropy(logits, targets)
