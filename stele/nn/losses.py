"""Losses: one number, the mean over the batch."""
from __future__ import annotations

from stele import functions as F
from stele.errors import ShapeError
from stele.ir.door import public
from stele.tensor import Tensor, constant


@public
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean of -log softmax(logits)[label]: logits (N, C) or (N, C, ...), labels (N) or (N, ...), integers in 0..C-1.

    The labels of an image are one for each pixel: logits (N, C, H, W) and labels (N, H, W).
    Raises IndexOutOfRange, when run, for a label outside of 0..C-1.

    >>> import stele as st
    >>> float(cross_entropy(st.tensor([[0.0, 0.0]]), st.tensor([1])))
    0.6931471824645996
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
    """Mean of (x - y)^2."""
    if x.shape != y.shape:
        raise ShapeError(f"mse_loss needs equal shapes, got {x.shape} and {y.shape}",
                         hint="Write y.reshape(x.shape)." if x.size == y.size else None)
    return F.mse(x, y)


@public
def binary_cross_entropy_with_logits(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean of -t log sigmoid(x) - (1-t) log(1 - sigmoid(x)), in the form that no x overflows."""
    if logits.shape != targets.shape:
        raise ShapeError(f"binary_cross_entropy_with_logits needs equal shapes, got {logits.shape} and {targets.shape}")
    return F.binary_cross_entropy(logits, targets)
