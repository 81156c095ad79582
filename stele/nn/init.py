"""Random and constant initial values of parameters."""
from __future__ import annotations

from math import prod, sqrt
from typing import TYPE_CHECKING, Any

from stele.arrays.creation import full
from stele.arrays.random import rand, randn
from stele.arrays.spellings import unknown
from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.interop.names import INIT
from stele.ir.door import public
from stele.ops.arguments import number
from stele.ops.arguments import shape as sizes

__all__ = ["fans", "he_normal", "he_uniform", "normal", "ones", "uniform", "xavier_normal", "xavier_uniform", "zeros"]

Shape = tuple[Any, ...]


@public
def fans(shape: Shape) -> tuple[int, int]:
    """The numbers (inputs, outputs) that one element of a weight of `shape` (O, I, *kernel) connects.

    A convolution's kernel counts with both: inputs are I * KH * KW. Raises ShapeError for fewer than two axes.

    >>> nn.init.fans((10, 4)), nn.init.fans((64, 3, 5, 5))
    ((4, 10), (75, 1600))
    """
    shape = sizes(shape, "a weight")
    if len(shape) < 2:
        raise ShapeError(f"a weight of at least two axes has fans, got shape {shape}",
                         hint="Write nn.init.normal(shape, std) for other tensors.")
    return shape[1] * prod(shape[2:]), shape[0] * prod(shape[2:])


def parameter(x: Tensor) -> Tensor:
    """x as a leaf that requires gradients."""
    return x.detach().requires_grad_()


@public
def uniform(shape: Shape, bound: float) -> Tensor:
    """A parameter of a `shape` with numbers uniform from -`bound` to bound.

    float32. Raises ShapeError for a negative size.

    >>> x = nn.init.uniform((100, 3), 0.5)
    >>> x.requires_grad, float(abs(x).max()) <= 0.5
    (True, True)
    """
    return parameter(rand(shape) * (2 * number(bound, "bound")) - bound)


@public
def normal(shape: Shape, std: float = 1.0) -> Tensor:
    """A parameter of a `shape` with normal numbers of mean 0 and standard deviation `std`.

    float32. Raises ShapeError for a negative size.

    >>> x = nn.init.normal((100, 100), std=0.02)
    >>> round(float(x.std()), 3)
    0.02
    """
    return parameter(randn(shape) * std)


@public
def zeros(shape: Shape) -> Tensor:
    """A parameter of a `shape` that holds zeros: a tensor that requires gradients.

    float32. Raises ShapeError for a negative size.

    >>> nn.init.zeros((2,))
    tensor([0., 0.], requires_grad=True)
    """
    return parameter(full(shape, 0.0))


@public
def ones(shape: Shape) -> Tensor:
    """A parameter of a `shape` that holds ones: a tensor that requires gradients.

    float32. Raises ShapeError for a negative size.

    >>> nn.init.ones((2,))
    tensor([1., 1.], requires_grad=True)
    """
    return parameter(full(shape, 1.0))


@public
def xavier_uniform(shape: Shape, gain: float = 1.0) -> Tensor:
    """A weight of a `shape` (O, I, *kernel), uniform with variance `gain`**2 * 2 / (inputs + outputs).

    For layers before tanh and sigmoid (Glorot and Bengio, 2010, equation 16); see `fans` for inputs and outputs.
    float32. Raises ShapeError for a negative size, and for fewer than two axes.

    >>> x = nn.init.xavier_uniform((200, 100))
    >>> round(float(x.std()) * (300 / 2) ** 0.5, 1)
    1.0
    """
    return uniform(shape, number(gain, "gain") * sqrt(6 / sum(fans(shape))))


@public
def xavier_normal(shape: Shape, gain: float = 1.0) -> Tensor:
    """A weight of a `shape` (O, I, *kernel), normal with variance `gain`**2 * 2 / (inputs + outputs).

    For layers before tanh and sigmoid (Glorot and Bengio, 2010, equation 12); see `fans` for inputs and outputs.
    float32. Raises ShapeError for a negative size, and for fewer than two axes.

    >>> x = nn.init.xavier_normal((200, 100))
    >>> round(float(x.std()) * (300 / 2) ** 0.5, 1)
    1.0
    """
    return normal(shape, number(gain, "gain") * sqrt(2 / sum(fans(shape))))


@public
def he_uniform(shape: Shape, gain: float = sqrt(2)) -> Tensor:
    """A weight of a `shape` (O, I, *kernel), uniform with variance `gain`**2 / inputs; the gain of relu is sqrt(2).

    For layers before relu (He et al., 2015, section 2.2); see `fans` for inputs. float32. Raises ShapeError for a
    negative size, and for fewer than two axes.

    >>> x = nn.init.he_uniform((200, 100))
    >>> round(float(x.std()) * 50 ** 0.5, 1)
    1.0
    """
    return uniform(shape, number(gain, "gain") * sqrt(3 / fans(shape)[0]))


@public
def he_normal(shape: Shape, gain: float = sqrt(2)) -> Tensor:
    """A weight of a `shape` (O, I, *kernel), normal with variance `gain`**2 / inputs; the gain of relu is sqrt(2).

    For layers before relu (He et al., 2015, section 2.2); see `fans` for inputs. float32. Raises ShapeError for a
    negative size, and for fewer than two axes.

    >>> x = nn.init.he_normal((64, 3, 7, 7))
    >>> round(float(x.std()) * (3 * 7 * 7 / 2) ** 0.5, 1)
    1.0
    """
    return normal(shape, number(gain, "gain") / sqrt(fans(shape)[0]))


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.nn.init", name, __all__, INIT)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
