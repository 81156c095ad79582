"""Weights that are computed so that their norms are bounded or apart, or their rows or columns orthogonal."""
from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from stele.arrays import functions as F
from stele.arrays.creation import eye, zeros
from stele.arrays.random import randn
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, tensor
from stele.errors import DTypeError, OptionError, ShapeError
from stele.ir.door import public
from stele.linalg import expm, householder_product, qr, solve, vector_norm
from stele.nn import functional
from stele.nn.module import Module
from stele.nn.utils.parametrize import own_tensor, register_parametrization
from stele.ops.arguments import choice, flag, number, positive, whole

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class WeightNorm(Module):
    """A weight as lengths times directions."""

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def lengths(self, v: Tensor) -> Tensor:
        """The norms of what is normalised by itself."""
        return vector_norm(v, axis=self.axes, keepdims=len(self.axes) < v.ndim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Lengths and directions of a weight."""
        return self.lengths(weight), weight

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / self.lengths(v))


@public
def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Learns the tensor `name` of a `module` as lengths g and directions v: g * v / norm(v).

    Salimans and Kingma (2016). There is a length for each position on the axis `dim`, or one for all with None (and -1,
    as in PyTorch). In `state_dict` g is `parametrizations.weight.original0` and v `original1`; states that call them
    weight_g and weight_v fit too. Returns the module; `nn.utils.parametrize.remove_parametrizations` makes the weight a
    tensor again. Raises ArgumentError where there is no such tensor.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> {path: x.shape for path, x in layer.state_dict().items()}
    {'bias': (2,), 'parametrizations.weight.original0': (2, 1), 'parametrizations.weight.original1': (2, 3)}
    """
    ndim = own_tensor(module, name).ndim
    kept = None if dim in (None, -1) else whole(dim, "dim of weight_norm", 0, ndim - 1)
    register_parametrization(module, name, WeightNorm(tuple(k for k in range(ndim) if k != kept)))
    return module


class Orthogonal(Module):
    """A matrix whose columns, or rows if there are fewer, are orthonormal, by a map from matrices that are any."""

    def __init__(self, weight: Tensor, by: str, has_base: bool) -> None:
        self.by = by
        self.base = eye(max(weight.shape[-2:]), dtype=weight.dtype) if has_base else None

    def right_inverse(self, weight: Tensor) -> Tensor:
        """What the map makes the nearest orthogonal matrix of; with a base it is kept there, and this is minus one."""
        wide = weight.shape[-2] < weight.shape[-1]
        q = F.swapaxes(weight, -1, -2) if wide else weight
        *outer, n, k = q.shape
        if self.base is None:
            if self.by != "householder":
                raise OptionError(f"orthogonal by {self.by} begins at a weight only with use_trivialization=True",
                                  hint='Leave it out, or write orthogonal_map="householder".')
            found = tensor(reflections(q.numpy()))
            return F.swapaxes(found, -1, -2) if wide else found
        if n != k:
            q = F.concatenate([q, randn(*outer, n, n - k).astype(q.dtype)], axis=-1)
        self.base = nearest(q).detach()
        return F.broadcast_to(-eye(*weight.shape[-2:], dtype=weight.dtype), weight.shape)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        q = self.columns(F.swapaxes(x, -1, -2) if wide else x)
        q = q if self.base is None else self.base.detach() @ q
        return F.swapaxes(q, -1, -2) if wide else q

    def columns(self, x: Tensor) -> Tensor:
        """Orthonormal columns, by reflections, or by a skew matrix A: exp(A), or (1 - A / 2)^-1 (1 + A / 2)."""
        *outer, n, k = x.shape
        if self.by == "householder":
            v = F.tril(x, -1)
            signs = F.trunc(F.diagonal(x, axis1=-2, axis2=-1)).detach()
            return householder_product(v, 2 / (1 + F.square(v).sum(-2))) * signs[..., None, :]
        x = F.tril(x)
        x = F.concatenate([x, zeros((*outer, n, n - k), dtype=x.dtype)], axis=-1) if n != k else x
        a, one = x - F.swapaxes(x, -1, -2), eye(n, dtype=x.dtype)
        q = expm(a) if self.by == "matrix_exp" else solve(F.broadcast_to(one, a.shape) - a / 2, one + a / 2)
        return q[..., :k]


def nearest(x: Tensor) -> Tensor:
    """A square matrix made orthogonal: its columns in turn, with the signs that leave an orthogonal one as it is."""
    q, r = qr(x)
    signs = F.diagonal(r, axis1=-2, axis2=-1)
    return q * where(signs < 0, -1.0, 1.0).astype(x.dtype)[..., None, :]


def reflections(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The reflections whose product has the columns of x, below a diagonal of the signs that go with them."""
    raw, tau = np.linalg.qr(x, mode="raw")
    found = np.tril(np.swapaxes(raw, -1, -2), -1)
    places = [*range(found.shape[-1])]
    signs = np.sign(np.diagonal(np.swapaxes(raw, -1, -2), axis1=-2, axis2=-1))
    found[..., places, places] = np.where(tau == 0, -signs, signs)
    return found.astype(x.dtype)


@public
def orthogonal(module: M, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
               ) -> M:
    """Keeps the tensor `name` of a `module` orthogonal: Q.T @ Q = 1, or Q @ Q.T = 1 where it is wider than high.

    On the last two axes, of floats. `orthogonal_map` says by which map it comes from the tensor that learns:
    "matrix_exp", "cayley" or "householder"; the first for square tensors without one, the last for others (Lezcano and
    Martinez-Rubio, 2019). With `use_trivialization` the map moves from `base`, the orthogonal matrix nearest to what
    the tensor was; without, householder begins there itself. In `state_dict` they are `parametrizations.NAME.original`
    and `parametrizations.NAME.0.base`. Returns the module. Raises ArgumentError where there is no such tensor,
    ShapeError for one of fewer than two axes, DTypeError for other than real floats, OptionError for another map.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(5, 3))
    >>> bool(st.allclose(layer.weight @ layer.weight.T, st.eye(3), atol=1e-5))
    True
    """
    weight = own_tensor(module, name)
    if weight.ndim < 2:
        raise ShapeError(f"orthogonal needs a tensor of at least two axes, got {name} of shape {weight.shape}")
    if weight.dtype.kind != "f":
        raise DTypeError(f"orthogonal needs a tensor of real floats, got {name}, {weight.value.type}")
    usual = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    by = choice(usual if orthogonal_map is None else orthogonal_map, "orthogonal_map",
                ("matrix_exp", "cayley", "householder"))
    has_base = flag(use_trivialization, "use_trivialization of orthogonal")
    register_parametrization(module, name, Orthogonal(weight, by, has_base))
    return module


class SpectralNorm(Module):
    """A weight over its largest singular value, which a few steps of the power method follow."""

    def __init__(self, weight: Tensor, steps: int, dim: int, eps: float) -> None:
        self.steps, self.dim, self.eps = steps, dim, eps
        if weight.ndim > 1:
            rows, columns = self.matrix(weight).shape
            self._u, self._v = (functional.normalize(randn(n), dim=0, eps=eps) for n in (rows, columns))
            self.follow(weight, 15)     # as PyTorch: a start that is about right

    def matrix(self, weight: Tensor) -> Tensor:
        """The weight with its axis `dim` as rows."""
        return F.moveaxis(weight, self.dim, 0).flatten(1)

    def follow(self, weight: Tensor, steps: int) -> None:
        """Moves both singular vectors towards those of the weight."""
        w = self.matrix(weight.detach())
        for _ in range(steps):
            self._u.assign(functional.normalize(w @ self._v, dim=0, eps=self.eps))
            self._v.assign(functional.normalize(self._u @ w, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        if self.training:
            self.follow(weight, self.steps)
        return weight / (self._u.detach() @ (self.matrix(weight) @ self._v.detach()))


@public
def spectral_norm(module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> M:
    """Divides the tensor `name` of a `module` by its largest singular value, as a matrix whose rows are the axis `dim`.

    Miyato et al. (2018). dim is 0 unless it is given, and 1 for transposed convolutions. Each time the weight is asked
    for in training, singular vectors, `_u` and `_v` in `state_dict`, follow it by `n_power_iterations` of the power
    method, whose norms count as `eps` at least. Returns the module. Raises ArgumentError where there is no such tensor.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2), n_power_iterations=30)
    >>> round(float(st.linalg.svdvals(layer.weight)[0]), 3)
    1.0
    """
    weight = own_tensor(module, name)
    usual = 1 if getattr(module, "is_transposed", False) else 0
    axis = whole(usual if dim is None else dim, "dim of spectral_norm", -weight.ndim, weight.ndim - 1)
    register_parametrization(module, name, SpectralNorm(
        weight, positive(n_power_iterations, "n_power_iterations of spectral_norm"), axis % weight.ndim,
        number(eps, "eps of spectral_norm", 0)))
    return module


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
