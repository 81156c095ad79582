"""Random and constant initial values of parameters."""
from __future__ import annotations

from math import prod, sqrt
from typing import Any

from stele import functions as F
from stele.random import rand, randn
from stele.tensor import Tensor

Shape = tuple[Any, ...]


def fans(shape: Shape) -> tuple[int, int]:
    """(inputs, outputs) that one element of a weight (O, I, *kernel) connects."""
    if len(shape) < 2:
        raise ValueError(f"a weight of at least two axes has fans, got shape {shape}")
    return shape[1] * prod(shape[2:]), shape[0] * prod(shape[2:])


def parameter(x: Tensor) -> Tensor:
    """x as a leaf that requires gradients."""
    return x.detach().requires_grad_()


def uniform(shape: Shape, bound: float) -> Tensor:
    """Uniform in [-bound, bound)."""
    return parameter(rand(shape) * (2 * bound) - bound)


def normal(shape: Shape, std: float = 1.0) -> Tensor:
    """Normal with mean 0."""
    return parameter(randn(shape) * std)


def zeros(shape: Shape) -> Tensor:
    """Zeros."""
    return parameter(F.zeros(shape))


def ones(shape: Shape) -> Tensor:
    """Ones."""
    return parameter(F.ones(shape))


def xavier_uniform(shape: Shape, gain: float = 1.0) -> Tensor:
    """Uniform with variance gain^2 * 2 / (inputs + outputs) (Glorot and Bengio, 2010)."""
    return uniform(shape, gain * sqrt(6 / sum(fans(shape))))


def xavier_normal(shape: Shape, gain: float = 1.0) -> Tensor:
    """Normal with variance gain^2 * 2 / (inputs + outputs) (Glorot and Bengio, 2010)."""
    return normal(shape, gain * sqrt(2 / sum(fans(shape))))


def he_uniform(shape: Shape, gain: float = sqrt(2)) -> Tensor:
    """Uniform with variance gain^2 / inputs (He et al., 2015)."""
    return uniform(shape, gain * sqrt(3 / fans(shape)[0]))


def he_normal(shape: Shape, gain: float = sqrt(2)) -> Tensor:
    """Normal with variance gain^2 / inputs (He et al., 2015)."""
    return normal(shape, gain / sqrt(fans(shape)[0]))
