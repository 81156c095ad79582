"""Matrices that are far from singular, and what NumPy says of them in any float, by elimination row by row."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import stele as st
from tests.programs.numbers import Array
from tests.programs.windows import product

if TYPE_CHECKING:
    from tests.programs.grammar import Growth


def square(g: Growth, x: str) -> Any:
    """Square matrices of floats that LAPACK has."""
    a = g.shape(x)
    g.need(len(a) > 1 and a[-1] == a[-2] and g.dtype(x).bits > 16)
    return (x,), {}


def system(g: Growth, x: str) -> Any:
    """Square matrices, and right sides for them."""
    square(g, x)
    (_, z), _ = product(g, x)
    g.need(g.ndim(z) == 1 or g.shape(z)[-2] == g.shape(x)[-1])
    return (x, z), {}


def dominant(x: Any) -> Any:
    """x with a diagonal that outweighs the rest of its rows and columns."""
    if isinstance(x, np.ndarray):
        n = x.shape[-1]
        return np.tanh(x) + np.eye(n, dtype=x.dtype) * x.dtype.type(2 * max(n, 1))
    n = x.shape[-1]
    return st.tanh(x) + st.eye(n, dtype=x.dtype) * (2 * st.maximum(n, 1)).astype(x.dtype)


def definite(x: Any) -> Any:
    """Symmetric and positive definite."""
    return dominant(x) + dominant(x).swapaxes(-1, -2)


def eliminated(x: Array) -> tuple[Array, Array]:
    """l and u with l @ u = x, without exchanges."""
    u, n = x.copy(), x.shape[-1]
    lower = np.broadcast_to(np.eye(n, dtype=x.dtype), x.shape).copy()
    for k in range(n):
        lower[..., k + 1:, k] = u[..., k + 1:, k] / u[..., k, k, None]
        u[..., k + 1:, :] -= lower[..., k + 1:, k, None] * u[..., k, None, :]
    return lower, u


def substituted(lower: Array, b: Array) -> Array:
    y = np.broadcast_to(b, (*np.broadcast_shapes(lower.shape[:-2], b.shape[:-2]), *b.shape[-2:])).copy()
    for k in range(lower.shape[-1]):
        y[..., k, :] -= (lower[..., k, None, :k] @ y[..., :k, :])[..., 0, :]
        y[..., k, :] /= lower[..., k, k, None]
    return y


def solve(x: Array, z: Array) -> Array:
    if z.ndim == 1:
        return solve(x, z[:, None])[..., 0]
    lower, u = eliminated(dominant(x))
    return substituted(u[..., ::-1, ::-1], substituted(lower, z)[..., ::-1, :])[..., ::-1, :]


def inv(x: Array) -> Array:
    return solve(x, np.eye(x.shape[-1], dtype=x.dtype))


def slogdet(x: Array) -> Array:
    _, u = eliminated(dominant(x))
    return np.log(np.abs(np.diagonal(u, axis1=-2, axis2=-1))).sum(-1)


def cholesky(x: Array) -> Array:
    lower, u = eliminated(definite(x))
    return np.tril(lower * np.sqrt(np.diagonal(u, axis1=-2, axis2=-1))[..., None, :])


def triangular(x: Array, z: Array) -> Array:
    if z.ndim == 1:
        return triangular(x, z[:, None])[..., 0]
    return substituted(np.tril(dominant(x)), z)
