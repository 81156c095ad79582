"""Random numbers for everyone: functions of the generator that `manual_seed` starts, by PyTorch's names."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from stele.arrays import draws
from stele.arrays.calling import respelling
from stele.arrays.draws import Draw, Numbers, float_named, parameter, real, shaped
from stele.arrays.families import argsort
from stele.arrays.functions import broadcast_to, log
from stele.arrays.generator import GENERATOR, integers
from stele.arrays.shapes import shape_of
from stele.arrays.tensor import DeviceLike, DTypeLike, Tensor, TensorLike, constant, lift, placed
from stele.errors import ShapeError
from stele.ir.door import public
from stele.ir.types import DType, Shape, float64
from stele.ir.types import dtype as type_named
from stele.ops import random
from stele.ops.arguments import flag, is_series, positive
from stele.ops.parts import complex


@public
def manual_seed(seed: int) -> None:
    """Starts the random numbers of the whole program from a `seed`, 0 to 2**64 - 1.

    The same seed gives the same numbers on every machine, compiled or not. Raises ShapeError for a seed out of range.

    >>> st.manual_seed(7)
    >>> first = st.rand(2).tolist()
    >>> st.manual_seed(7)
    >>> st.rand(2).tolist() == first
    True
    """
    GENERATOR.seed(seed)


def drawn(device: DeviceLike) -> Tensor:
    """The key of the next draw, on a device: the same numbers wherever they are made."""
    return placed(GENERATOR.key(), device)


def numbers(draw: Callable[..., Tensor], key: Tensor, shape: Shape, dtype: DType) -> Tensor:
    """What is drawn with a key, the parts of complex numbers apart."""
    if not dtype.is_complex:
        return draw(key, shape=shape, dtype=dtype)
    parts = draw(key, shape=(2, *shape), dtype=dtype.real)
    return paired(parts[0], parts[1])


@public
def rand(*shape: int | Sequence[int], dtype: DTypeLike = "float32", device: DeviceLike = None,
         requires_grad: bool = False) -> Tensor:
    """Random numbers uniform in [0, 1), of a `shape` given as one sequence of sizes or as several sizes.

    They are multiples of 2**-24 (2**-53 in float64, 2**-11 in float16, 2**-8 in bfloat16), from the generator that
    `manual_seed` starts; so is each part of complex ones. Raises DTypeError for other dtypes than floats. With
    `requires_grad` it is a leaf that accumulates gradients.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.manual_seed(0)
    >>> x = st.rand(2, 1000)
    >>> x.shape, bool(((0 <= x) & (x < 1)).all()), abs(float(x.mean()) - 0.5) < 0.05
    ((2, 1000), True, True)
    """
    made = numbers(draws.uniform, drawn(device), shape_of(shape), float_named(dtype, complex_too=True))
    return made.requires_grad_(requires_grad)


@public
def randn(*shape: int | Sequence[int], dtype: DTypeLike = "float32", device: DeviceLike = None,
          requires_grad: bool = False) -> Tensor:
    """Random numbers of the standard normal distribution, of a `shape` given as one sequence or as several sizes.

    By Box and Muller (1958) from two uniform ones. The parts of complex numbers have the variance 1/2 each, so that
    the numbers have 1, as in PyTorch. Raises DTypeError for other dtypes than floats. With `requires_grad` it is a leaf
    that accumulates gradients.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.manual_seed(0)
    >>> x = st.randn(10000)
    >>> abs(float(x.mean())) < 0.05, abs(float(x.std()) - 1) < 0.05
    (True, True)
    """
    dtype = float_named(dtype, complex_too=True)
    made = numbers(draws.normal, drawn(device), shape_of(shape), dtype)
    return (made * math.sqrt(0.5) if dtype.is_complex else made).requires_grad_(requires_grad)


@public
@respelling
def randint(low: Numbers, high: Numbers | None = None, shape: int | Sequence[int] | None = None,
            device: DeviceLike = None, dtype: DTypeLike = "int64") -> Tensor:
    """Random integers from `low` to `high` - 1, of a `shape`, in any integer `dtype`; below high of two arguments.

    No number comes more often than others by more than its share of 2**64. The bounds may be tensors, whose shape the
    result has without one. Raises ShapeError for bounds out of order and for those that the dtype does not hold.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> dice = st.randint(1, 7, (1000,))
    >>> int(dice.min()), int(dice.max())
    (1, 6)
    >>> st.randint(10, (2, 3), dtype="uint8").shape
    (2, 3)
    """
    if shape is None and is_series(high):
        low, high, shape = 0, low, high
    low, high = (0, low) if high is None else (low, high)
    return integers(GENERATOR, low, high, shape, dtype, device=device)


@public
def rand_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Random numbers uniform in [0, 1), as of `rand`, in the shape, in the dtype and on the device of x.

    In another `dtype` where one is named. Raises DTypeError for integers.

    >>> st.rand_like(st.zeros((2, 3))).shape
    (2, 3)
    """
    x = constant(x)
    return rand(x.shape, dtype=x.dtype if dtype is None else dtype, device=x.device)


@public
def randn_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Random numbers of the standard normal distribution, as of `randn`, in the shape, dtype and on the device of x.

    In another `dtype` where one is named. Raises DTypeError for integers.

    >>> st.randn_like(st.zeros((2, 3), dtype="float64")).dtype
    float64
    """
    x = constant(x)
    return randn(x.shape, dtype=x.dtype if dtype is None else dtype, device=x.device)


@public
def randint_like(x: TensorLike, low: int, high: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Random integers from `low` to `high` - 1, as of `randint`, in the shape, in the dtype and on the device of x.

    In another `dtype` where one is named; below low without a high. Floats are whole numbers. Raises ShapeError unless
    low < high and both fit in the dtype, DTypeError for complex numbers.

    >>> st.randint_like(st.zeros((2, 3)), 1, 2).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    x = constant(x)
    low, high = (0, low) if high is None else (low, high)
    wanted = x.dtype if dtype is None else type_named(dtype)
    made = randint(low, high, x.shape, x.device, wanted if wanted.kind in "iub" else "int64")
    return made if made.dtype == wanted else made.astype(wanted)


@public
@respelling
def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, shape: int | Sequence[int] | None = None,
            device: DeviceLike = None) -> Tensor:
    """Random numbers uniform in [`low`, `high`), of a `shape`; the bounds are numbers, or tensors that broadcast to it.

    low + (high - low) * rand: high itself may come out where that is rounded. Without a shape they broadcast to each
    other.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`. float32. Raises
    ShapeError where the bounds do not broadcast to the shape, DeviceError for a device that there is not.

    >>> x = st.uniform(-1.0, st.tensor([1.0, 100.0]), (1000, 2))
    >>> x.shape, bool((x[:, 0] < 1).all())
    ((1000, 2), True)
    """
    a, b = parameter(low, "low"), parameter(high, "high")
    return rand(met(shape, a, b), device=device) * (b - a) + a


@public
@respelling
def normal(mean: TensorLike = 0.0, std: TensorLike = 1.0, shape: int | Sequence[int] | None = None,
           device: DeviceLike = None) -> Tensor:
    """Random numbers of the normal distribution with a `mean` and a standard deviation `std`, of a `shape`.

    Both are numbers, or tensors that broadcast to the shape, without one to each other. By keeping the noise apart from
    them, gradients reach both.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`. float32. Raises
    ShapeError where mean and std do not broadcast to the shape, DeviceError for a device that there is not.

    >>> st.manual_seed(0)
    >>> x = st.normal(st.tensor([0.0, 100.0]), 1.0, (1000, 2))
    >>> [round(mean) for mean in x.mean(axis=0).tolist()]
    [0, 100]
    """
    mean, std = parameter(mean, "mean"), parameter(std, "std")
    return randn(met(shape, mean, std), device=device) * std + mean


def met(shape: int | Sequence[int] | None, *given: object) -> tuple[Any, ...]:
    """A shape, or the one that the tensors among the parameters broadcast to."""
    return shaped(shape, *(x.value.shape for x in given if isinstance(x, Tensor)))


@public
def bernoulli(p: TensorLike, shape: int | Sequence[int] | None = None, device: DeviceLike = None) -> Tensor:
    """Random bools of a `shape`, each True with probability `p`: a number, or a tensor whose shape it is without one.

    Raises ShapeError unless 0 <= p <= 1.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.manual_seed(0)
    >>> x = st.bernoulli(0.25, (10000,))
    >>> x.dtype, abs(float(x.mean()) - 0.25) < 0.02
    (bool, True)
    >>> st.bernoulli(st.tensor([0.0, 1.0])).tolist()
    [False, True]
    """
    chances = parameter(p, "p")
    return rand(met(shape, chances), device=device) < chances


@public
def poisson(rates: TensorLike) -> Tensor:
    """Random counts of events of which `rates` are expected, in the shape and, of floats, the dtype of rates.

    As of `st.random.poisson`, which gives int64. Raises DTypeError for what is no number.

    >>> st.poisson(st.tensor([0.0, 1e6])).shape
    (2,)
    """
    rates = constant(rates)
    made = GENERATOR.poisson(rates)
    return made.astype(rates.dtype) if rates.dtype.is_float else made


@public
def multinomial(p: TensorLike, num_samples: int, replacement: bool = False) -> Tensor:
    """Random places in rows p (..., n) of weights, so many as `num_samples` in each row, as int64.

    Each as likely as its weight says; the weights need not add up to 1. Without `replacement` none comes twice: those
    are first in a race of exponential numbers divided by the weights. PyTorch's multinomial; `st.random.multinomial`
    counts outcomes. Raises ShapeError for a number, and for more samples than places without replacement.

    >>> st.multinomial(st.tensor([0.0, 3.0, 0.0]), 4, replacement=True).tolist()
    [1, 1, 1, 1]
    >>> sorted(st.multinomial(st.ones(3), 3).tolist())
    [0, 1, 2]
    """
    p, many = real(constant(p), "p").astype(float64), positive(num_samples, "num_samples of multinomial")
    again = flag(replacement, "replacement of multinomial")
    if not p.ndim or (not again and many > p.shape[-1]):
        raise ShapeError(f"multinomial of {many} samples needs rows of as many weights, got p of the shape {p.shape}",
                         hint="Write replacement=True, or fewer samples.")
    if again:
        wide = broadcast_to(p[..., None, :], (*p.shape[:-1], many, p.shape[-1]))
        race = -log(Draw(GENERATOR, wide.shape, float64).inner()) / wide
        return race.argmin(axis=-1)
    return argsort(-log(Draw(GENERATOR, p.shape, float64).inner()) / p)[..., :many]


@public
def permutation(x: TensorLike, axis: int = 0) -> Tensor:
    """The parts of x along an axis in a random order; of a number the numbers below it. PyTorch's randperm.

    int64 of a number, else the dtype of x. Raises ShapeError for a negative number and for an axis that x does not
    have.

    >>> sorted(st.permutation(5).tolist())
    [0, 1, 2, 3, 4]
    """
    return GENERATOR.permutation(x, axis)


@public
def dropout(x: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """The elements of x, each zero with probability `p` and divided by 1 - p otherwise; x itself when not `training`.

    So the mean stays (Srivastava et al., 2014). Integers become float32. x has any shape. Raises ShapeError unless 0 <=
    p < 1.

    >>> st.manual_seed(0)
    >>> sorted(set(st.dropout(st.ones(100), 0.2).tolist()))
    [0.0, 1.25]
    >>> st.dropout(st.ones(3), 0.2, training=False).tolist()
    [1.0, 1.0, 1.0]
    """
    p, training = random.chance(p), flag(training, "training of dropout")
    x = constant(x)
    return dropped(x, drawn(x.device), p=p) if training and p else x


dropped, paired = lift(random.dropout), lift(complex)


__all__ = ["bernoulli", "dropout", "manual_seed", "multinomial", "normal", "permutation", "poisson", "rand",
           "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform"]
