"""Losses: one number, the mean over the batch."""
from __future__ import annotations

from stele import functions as F
from stele.errors import ShapeError
from stele.ir.door import public
from stele.tensor import Tensor


@public
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean of -log softmax(logits)[label]: logits (N, C) float, labels (N,) integers in 0..C-1.

    Raises IndexOutOfRange, when run, for a label outside of 0..C-1.

    >>> import stele as st
    >>> float(cross_entropy(st.tensor([[0.0, 0.0]]), st.tensor([1])))
    0.6931471824645996
    """
    if logits.ndim != 2 or labels.ndim != 1:
        raise ShapeError(f"cross_entropy needs logits (N, C) and labels (N,), got {logits.shape} and {labels.shape}",
                         hint="One-hot labels become integers with labels.argmax(axis=1).")
    return F.cross_entropy(logits, labels)


@public
def mse_loss(x: Tensor, y: Tensor) -> Tensor:
    """Mean of (x - y)^2."""
    if x.shape != y.shape:
        raise ShapeError(f"mse_loss needs equal shapes, got {x.shape} and {y.shape}")
    return F.mse(x, y)


@public
def binary_cross_entropy_with_logits(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean of -t log sigmoid(x) - (1-t) log(1 - sigmoid(x)), in the form that no x overflows."""
    if logits.shape != targets.shape:
        raise ShapeError(f"binary_cross_entropy_with_logits needs equal shapes, got {logits.shape} and {targets.shape}")
    return F.binary_cross_entropy(logits, targets)
