"""Random and constant initial values of parameters: new ones, and under PyTorch's names such in place."""
from __future__ import annotations

from collections.abc import Iterable
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from stele.arrays import functions as F
from stele.arrays.creation import full
from stele.arrays.random import rand, randn
from stele.arrays.sized import where
from stele.arrays.spellings import unknown
from stele.arrays.tensor import Tensor, lift
from stele.errors import ArgumentError, OptionError, ShapeError, kind
from stele.interop.keywords import speaks
from stele.interop.names import INIT
from stele.linalg import qr
from stele.ops.arguments import choice, number, positive
from stele.ops.arguments import shape as sizes
from stele.ops.elementwise import special
from stele.ops.sorting import argsort

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "fans", "he_normal", "he_uniform", "kaiming_normal_",
    "kaiming_uniform_", "normal", "normal_", "ones", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform",
    "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros", "zeros_",
]

Shape = tuple[Any, ...]


erfinv, sorting = lift(special.erfinv), lift(argsort)


@speaks
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


def redraw(parameters: Iterable[Tensor | None], bound: float) -> None:
    """Rebinds parameters to numbers uniform from -bound to bound, those that there are."""
    for p in parameters:
        if p is not None:
            p.assign(uniform(tuple(p.shape), bound))


@speaks
def uniform(shape: Shape, bound: float) -> Tensor:
    """A parameter of a `shape` with numbers uniform from -`bound` to bound.

    float32. Raises ShapeError for a negative size.

    >>> x = nn.init.uniform((100, 3), 0.5)
    >>> x.requires_grad, float(abs(x).max()) <= 0.5
    (True, True)
    """
    return parameter(rand(shape) * (2 * number(bound, "bound")) - bound)


@speaks
def normal(shape: Shape, std: float = 1.0) -> Tensor:
    """A parameter of a `shape` with normal numbers of mean 0 and standard deviation `std`.

    float32. Raises ShapeError for a negative size.

    >>> x = nn.init.normal((100, 100), std=0.02)
    >>> round(float(x.std()), 3)
    0.02
    """
    return parameter(randn(shape) * std)


@speaks
def zeros(shape: Shape) -> Tensor:
    """A parameter of a `shape` that holds zeros: a tensor that requires gradients.

    float32. Raises ShapeError for a negative size.

    >>> nn.init.zeros((2,))
    tensor([0., 0.], requires_grad=True)
    """
    return parameter(full(shape, 0.0))


@speaks
def ones(shape: Shape) -> Tensor:
    """A parameter of a `shape` that holds ones: a tensor that requires gradients.

    float32. Raises ShapeError for a negative size.

    >>> nn.init.ones((2,))
    tensor([1., 1.], requires_grad=True)
    """
    return parameter(full(shape, 1.0))


@speaks
def xavier_uniform(shape: Shape, gain: float = 1.0) -> Tensor:
    """A weight of a `shape` (O, I, *kernel), uniform with variance `gain`**2 * 2 / (inputs + outputs).

    For layers before tanh and sigmoid (Glorot and Bengio, 2010, equation 16); see `fans` for inputs and outputs.
    float32. Raises ShapeError for a negative size, and for fewer than two axes.

    >>> x = nn.init.xavier_uniform((200, 100))
    >>> round(float(x.std()) * (300 / 2) ** 0.5, 1)
    1.0
    """
    return uniform(shape, number(gain, "gain", 0) * sqrt(6 / sum(fans(shape))))


@speaks
def xavier_normal(shape: Shape, gain: float = 1.0) -> Tensor:
    """A weight of a `shape` (O, I, *kernel), normal with variance `gain`**2 * 2 / (inputs + outputs).

    For layers before tanh and sigmoid (Glorot and Bengio, 2010, equation 12); see `fans` for inputs and outputs.
    float32. Raises ShapeError for a negative size, and for fewer than two axes.

    >>> x = nn.init.xavier_normal((200, 100))
    >>> round(float(x.std()) * (300 / 2) ** 0.5, 1)
    1.0
    """
    return normal(shape, number(gain, "gain", 0) * sqrt(2 / sum(fans(shape))))


@speaks
def he_uniform(shape: Shape, gain: float = sqrt(2)) -> Tensor:
    """A weight of a `shape` (O, I, *kernel), uniform with variance `gain`**2 / inputs; the gain of relu is sqrt(2).

    For layers before relu (He et al., 2015, section 2.2); see `fans` for inputs. float32. Raises ShapeError for a
    negative size, and for fewer than two axes.

    >>> x = nn.init.he_uniform((200, 100))
    >>> round(float(x.std()) * 50 ** 0.5, 1)
    1.0
    """
    return uniform(shape, number(gain, "gain", 0) * sqrt(3 / fans(shape)[0]))


@speaks
def he_normal(shape: Shape, gain: float = sqrt(2)) -> Tensor:
    """A weight of a `shape` (O, I, *kernel), normal with variance `gain`**2 / inputs; the gain of relu is sqrt(2).

    For layers before relu (He et al., 2015, section 2.2); see `fans` for inputs. float32. Raises ShapeError for a
    negative size, and for fewer than two axes.

    >>> x = nn.init.he_normal((64, 3, 7, 7))
    >>> round(float(x.std()) * (3 * 7 * 7 / 2) ** 0.5, 1)
    1.0
    """
    return normal(shape, number(gain, "gain", 0) / sqrt(fans(shape)[0]))


GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": sqrt(2), "selu": 3 / 4,
         **{f"conv{transposed}{k}d": 1.0 for transposed in ("", "_transpose") for k in (1, 2, 3)}}


@speaks
def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """What the standard deviation of weights before a `nonlinearity` is multiplied with, as PyTorch has it.

    1 for "linear", "sigmoid" and convolutions, 5 / 3 for "tanh", sqrt(2) for "relu", 3 / 4 for "selu", and
    sqrt(2 / (1 + slope**2)) for "leaky_relu", whose slope is `param`, 0.01 without. Raises OptionError for another.

    >>> nn.init.calculate_gain("tanh"), round(nn.init.calculate_gain("leaky_relu", 0.2), 4)
    (1.6666666666666667, 1.3868)
    """
    choice(nonlinearity, "a nonlinearity", (*GAINS, "leaky_relu"))
    if nonlinearity == "leaky_relu":
        return sqrt(2 / (1 + (0.01 if param is None else number(param, "param of calculate_gain")) ** 2))
    return GAINS[nonlinearity]


def filled(tensor: Tensor, new: Any) -> Tensor:
    """A tensor with new numbers; raises ArgumentError for what is no tensor."""
    return held(tensor).assign(new)


def held(tensor: Any) -> Tensor:
    """What is to be filled, which has to be a tensor."""
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"an initialiser that ends in _ fills a tensor, got {kind(tensor)}",
                            hint="Without the _ it takes a shape: nn.init.uniform((3, 2), 0.5).")
    return tensor


def of_axes(tensor: Tensor, name: str, low: int, high: int | None = None) -> tuple[int, ...]:
    """The shape of a tensor, which has to have so many axes."""
    shape = held(tensor).shape
    if len(shape) < low or (high is not None and len(shape) > high):
        many = f"{low} axes" if low == high else f"{low} to {high} axes" if high else f"at least {low} axes"
        raise ShapeError(f"{name} fills a tensor of {many}, got shape {shape}")
    return shape


@speaks
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fills a `tensor` of any shape and float dtype with numbers uniform from `a` to `b`, and returns it.

    Numbers are drawn as by `st.rand`, here and in all that follow. Raises ShapeError where a is above b, ArgumentError
    for what is no tensor.

    >>> x = nn.init.uniform_(st.zeros(100), -0.5, 0.5)
    >>> float(abs(x).max()) <= 0.5
    True
    """
    low, high = number(a, "a of uniform_"), number(b, "b of uniform_")
    if low > high:
        raise ShapeError(f"uniform_ needs a <= b, got {low} and {high}")
    return filled(tensor, rand(held(tensor).shape) * (high - low) + low)


@speaks
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fills a `tensor` of any shape and float dtype with normal numbers of a `mean` and `std`, and returns it.

    Raises ArgumentError for what is no tensor.

    >>> round(float(nn.init.normal_(st.zeros(100, 100), std=0.02).std()), 3)
    0.02
    """
    mean, std = number(mean, "mean of normal_"), number(std, "std of normal_", 0)
    return filled(tensor, randn(held(tensor).shape) * std + mean)


@speaks
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Fills a `tensor` with normal numbers of a `mean` and `std` among those from `a` to `b`, and returns it.

    Of any shape and float dtype; a and b are numbers, not deviations. Raises ArgumentError for what is no tensor, and
    ShapeError where b is not above a.

    >>> x = nn.init.trunc_normal_(st.zeros(100), std=2.0)
    >>> float(abs(x).max()) <= 2
    True
    """
    mean, std = number(mean, "mean of trunc_normal_"), number(std, "std of trunc_normal_", 0)
    a, b = number(a, "a of trunc_normal_"), number(b, "b of trunc_normal_")
    if not b > a:
        raise ShapeError(f"trunc_normal_ needs a below b, got {a} and {b}")
    low, high = (F.erf(full((), (end - mean) / (std * sqrt(2)))) for end in (a, b))
    u = low + (high - low) * rand(held(tensor).shape)       # of the distribution function, inverted
    return filled(tensor, F.clip(erfinv(u) * (std * sqrt(2)) + mean, a, b))


@speaks
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills a `tensor` of any shape and dtype with one number `val`, and returns it.

    Raises ArgumentError for what is no tensor.

    >>> nn.init.constant_(st.zeros(2), 0.5).tolist()
    [0.5, 0.5]
    """
    return filled(tensor, number(val, "val of constant_"))


@speaks
def ones_(tensor: Tensor) -> Tensor:
    """Fills a `tensor` of any shape and dtype with ones, and returns it. Raises ArgumentError for what is no tensor.

    >>> nn.init.ones_(st.zeros(2)).tolist()
    [1.0, 1.0]
    """
    return filled(tensor, 1)


@speaks
def zeros_(tensor: Tensor) -> Tensor:
    """Fills a `tensor` of any shape and dtype with zeros, and returns it. Raises ArgumentError for what is no tensor.

    >>> nn.init.zeros_(st.ones(2)).tolist()
    [0.0, 0.0]
    """
    return filled(tensor, 0)


@speaks
def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix, a `tensor` (O, I) of any dtype, with ones on its diagonal and zeros beside, and returns it.

    Raises ShapeError for other than two axes, ArgumentError for what is no tensor.

    >>> nn.init.eye_(st.zeros(2, 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    return filled(tensor, np.eye(*of_axes(tensor, "eye_", 2, 2), dtype=np.float32))


@speaks
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills a convolution's weight, a `tensor` (O, I, *kernel), so that it passes its input on, and returns it.

    As many channels as there are of inputs, in each of the `groups`; others get zeros. Of one to three axes of a kernel
    and any dtype. Raises ShapeError for other axes, and for groups that do not divide O.

    >>> nn.init.dirac_(st.zeros(1, 1, 3)).tolist()
    [[[0.0, 1.0, 0.0]]]
    """
    shape = of_axes(tensor, "dirac_", 3, 5)
    if shape[0] % positive(groups, "groups of dirac_"):
        raise ShapeError(f"dirac_ needs groups that divide the {shape[0]} outputs, got {groups}")
    each, made = shape[0] // groups, np.zeros(shape, np.float32)
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for k in range(min(each, shape[1])):
            made[(group * each + k, k, *middle)] = 1
    return filled(tensor, made)


@speaks
def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a weight, a `tensor` (O, I, *kernel) of a float dtype, as `nn.init.xavier_uniform` makes one; returns it.

    `gain` is as there. Raises ShapeError for fewer than two axes, ArgumentError for what is no tensor.

    >>> x = nn.init.xavier_uniform_(st.zeros(200, 100))
    >>> round(float(x.std()) * (300 / 2) ** 0.5, 1)
    1.0
    """
    return filled(tensor, xavier_uniform(of_axes(tensor, "xavier_uniform_", 2), gain).detach())


@speaks
def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a weight, a `tensor` (O, I, *kernel) of a float dtype, as `nn.init.xavier_normal` makes one; returns it.

    `gain` is as there. Raises ShapeError for fewer than two axes, ArgumentError for what is no tensor.

    >>> x = nn.init.xavier_normal_(st.zeros(200, 100))
    >>> round(float(x.std()) * (300 / 2) ** 0.5, 1)
    1.0
    """
    return filled(tensor, xavier_normal(of_axes(tensor, "xavier_normal_", 2), gain).detach())


def kaiming(tensor: Tensor, name: str, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation of a weight by He's rule, as PyTorch words it."""
    inputs, outputs = fans(of_axes(tensor, name, 2))
    fan = inputs if choice(mode, f"mode of {name}", ("fan_in", "fan_out")) == "fan_in" else outputs
    return calculate_gain(nonlinearity, a) / sqrt(max(fan, 1))


@speaks
def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fills a weight, a `tensor` (O, I, *kernel) of a float dtype, uniformly with He's variance, and returns it.

    He et al. (2015): the variance is the gain of the `nonlinearity` squared, of which `a` is the slope (see
    `calculate_gain`), over the inputs, or with `mode` "fan_out" the outputs (see `fans`). Raises ShapeError for fewer
    than two axes, OptionError for other words.

    >>> x = nn.init.kaiming_uniform_(st.zeros(200, 100), nonlinearity="relu")
    >>> round(float(x.std()) * 50 ** 0.5, 1)
    1.0
    """
    bound = sqrt(3) * kaiming(tensor, "kaiming_uniform_", a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


@speaks
def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fills a weight, a `tensor` (O, I, *kernel) of a float dtype, with normal numbers of He's variance; returns it.

    `a`, `mode`, `nonlinearity` and errors are as of `kaiming_uniform_`. Raises ShapeError for fewer than two axes,
    OptionError for other words.

    >>> x = nn.init.kaiming_normal_(st.zeros(200, 100), nonlinearity="relu")
    >>> round(float(x.std()) * 50 ** 0.5, 1)
    1.0
    """
    return normal_(tensor, 0.0, kaiming(tensor, "kaiming_normal_", a, mode, nonlinearity))


@speaks
def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a `tensor` (O, *) of a float dtype with rows, or columns, that are orthogonal and `gain` long; returns it.

    As a matrix of O rows (Saxe et al., 2013): a uniformly random orthogonal matrix, or part of one. Raises ShapeError
    for fewer than two axes, ArgumentError for what is no tensor.

    >>> x = nn.init.orthogonal_(st.zeros(3, 5))
    >>> bool(st.allclose(x @ x.T, st.eye(3), atol=1e-5))
    True
    """
    shape = of_axes(tensor, "orthogonal_", 2)
    rows, columns = shape[0], prod(shape[1:])
    q, r = qr(randn(max(rows, columns), min(rows, columns)))
    signs = where(F.diagonal(r) < 0, -1.0, 1.0)         # which make the distribution uniform (Mezzadri, 2007)
    q = q * signs if rows >= columns else (q * signs).T
    return filled(tensor, number(gain, "gain of orthogonal_") * q.reshape(shape))


@speaks
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """Fills a matrix, a `tensor` (O, I) of a float dtype, with normal numbers of `std`, and zeros; returns it.

    In each column a share `sparsity` of the rows, rounded up and chosen at random, is zero (Martens, 2010). Raises
    ShapeError for other than two axes, OptionError for a share outside of 0..1.

    >>> (nn.init.sparse_(st.ones(10, 4), 0.25) == 0).sum(axis=0).tolist()
    [3, 3, 3, 3]
    """
    rows, columns = of_axes(tensor, "sparse_", 2, 2)
    if not 0 <= number(sparsity, "sparsity of sparse_") <= 1:
        raise OptionError(f"sparsity of sparse_ is a share from 0 to 1, got {sparsity}")
    place = sorting(sorting(rand(rows, columns), axis=0), axis=0)
    return filled(tensor, where(place < int(np.ceil(sparsity * rows)), 0.0, randn(rows, columns) * std))


if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.nn.init", name, __all__, INIT)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
