"""Reductions and what is made of them: arguments, and what NumPy says."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.programs.numbers import Array

if TYPE_CHECKING:
    from tests.programs.grammar import Growth


def axes(g: Growth, x: str) -> Any:
    """One axis, several, or all, kept or dropped."""
    n = g.ndim(x)
    if n == 0 or g.rng.random() < 0.2:
        return (x,), {"axis": None, "keepdims": g.coin()}
    chosen = g.rng.permutation(n)[:g.integer(1, n)]
    signed = tuple(int(k) - n * g.coin() for k in chosen)
    return (x,), {"axis": signed[0] if len(signed) == 1 else signed, "keepdims": g.coin()}


def axis(g: Growth, x: str) -> Any:
    return (x,), {"axis": g.axis(x)}


def position(g: Growth, x: str) -> Any:
    return (x,), {"axis": None if g.rng.random() < 0.2 else g.axis(x)}


def place_in_order(g: Growth, x: str) -> Any:
    """As `position`, of elements: no elements have no median, where NumPy has NaN."""
    g.need(all(0 not in env[x].shape for env in g.envs))
    return position(g, x)


def scaled(g: Growth, x: str) -> Any:
    """Over the last axis, times a weight where one is there."""
    n = g.shape(x)[-1]
    fits = g.names(lambda z: g.shape(z) == (n,) and g.dtype(z) == g.dtype(x))
    return ((x, g.choose(fits), g.choose(fits)) if fits else (x,)), {}


def labelled(g: Growth, x: str) -> Any:
    """Rows of logits, and a label for each."""
    g.need(g.ndim(x) == 2)
    labels = g.indices(x, 1, lambda shape: shape[:1], negative=False)
    return (x, labels), {"reduction": g.choose(["mean", "sum", "none"])}


def alike(g: Growth, x: str) -> Any:
    fits = g.names(lambda z: g.shape(z) == g.shape(x) and g.dtype(z) == g.dtype(x))
    return (x, g.choose(fits)), {"reduction": g.choose(["mean", "sum", "none"])}


def logsumexp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    y = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return y if keepdims else y.reshape(np.sum(x, axis=axis).shape)


def log_softmax(x: Array, axis: int) -> Array:
    moved = x - np.max(x, axis=axis, keepdims=True)
    return moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def norm(x: Array, axis: int) -> Array:
    return np.sqrt((x * x).sum(axis=axis))


def normalize(x: Array, axis: int) -> Array:
    return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True) + 1e-5)


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    y = normalize(x, -1)
    return y if weight is None or bias is None else y * weight + bias


def reduced(x: Array, reduction: str) -> Array:
    return x if reduction == "none" else x.mean() if reduction == "mean" else x.sum()


def cross_entropy(x: Array, labels: Array, reduction: str) -> Array:
    return reduced(-np.take_along_axis(log_softmax(x, 1), labels[:, None].astype(np.int64), 1)[:, 0], reduction)


def mse(x: Array, z: Array, reduction: str) -> Array:
    return reduced(np.square(x - z), reduction)
