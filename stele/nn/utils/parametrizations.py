"""Weights that are computed so that their norms are bounded or apart."""
from __future__ import annotations

from typing import TypeVar

from stele.arrays import functions as F
from stele.arrays.random import randn
from stele.arrays.tensor import Tensor
from stele.ir.door import public
from stele.linalg import vector_norm
from stele.nn import functional
from stele.nn.module import Module
from stele.nn.utils.parametrize import own_tensor, register_parametrization
from stele.ops.arguments import number, positive, whole

__all__ = ["spectral_norm", "weight_norm"]

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
    as in PyTorch). In `state_dict` g is `parametrizations.weight.original0` and v `original1`. Returns the module;
    `nn.utils.parametrize.remove_parametrizations` makes the weight a tensor again. Raises ArgumentError where there is
    no such tensor.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> {path: x.shape for path, x in layer.state_dict().items()}
    {'bias': (2,), 'parametrizations.weight.original0': (2, 1), 'parametrizations.weight.original1': (2, 3)}
    """
    ndim = own_tensor(module, name).ndim
    kept = None if dim in (None, -1) else whole(dim, "dim of weight_norm", 0, ndim - 1)
    register_parametrization(module, name, WeightNorm(tuple(k for k in range(ndim) if k != kept)))
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
