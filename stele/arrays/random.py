"""Random numbers from a counter: a seed and a number of draws, kept in a tensor that compiled functions carry along."""
from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stele.arrays.shapes import shape_of
from stele.arrays.tensor import DeviceLike, DTypeLike, Tensor, TensorLike, constant, lift, placed, record, tensor
from stele.eager.evaluate import evaluate, known
from stele.eager.handle import TRACING
from stele.eager.live import Live, is_there
from stele.errors import DataError, DTypeError
from stele.ir.door import public
from stele.ir.graph import Constant, Item, Value
from stele.ir.sizes import Dim
from stele.ir.types import HOME, DType, Shape
from stele.ir.types import dtype as type_named
from stele.ops import random
from stele.ops.arguments import flag, number, whole
from stele.ops.control import Scan
from stele.ops.elementwise.arithmetic import Add
from stele.ops.parts import complex

NEXT = np.array([0, 0, 1, 0], np.uint32)
DRAW = "draw"       # label of a key that was drawn outside of a compiled function


class Generator:
    """A stream of random numbers: Philox4x32-10 by Salmon et al. (2011), a function of a `seed` and a count of draws.

    `st.default_generator` is the one that all functions of st draw from. `state` holds the seed (low, high) and the
    count of draws (low, high) as uint32: a compiled function carries it along, and `st.save` keeps it.

    >>> st.manual_seed(7)
    >>> st.default_generator.state.tolist()
    [7, 0, 0, 0]
    """

    def __init__(self, seed: int = 0) -> None:
        self.state = tensor(words(seed), device=HOME)

    def seed(self, seed: int) -> None:
        """Starts the stream of this seed from its beginning."""
        self.state.assign(words(seed))

    def state_dict(self) -> dict[str, Tensor]:
        """The seed and the count of draws."""
        return {"state": self.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the generator stood that gave this state. Raises DataError if it is none."""
        found = np.asarray(state["state"]) if "state" in state else np.zeros(0)
        if found.shape != (4,) or found.dtype != np.uint32:
            raise DataError("the state is none of a generator: it needs uint32[4] under 'state'")
        self.state.assign(found)

    def key(self) -> Live:
        """The key of the next draw; the state moves on."""
        key = self.state.value
        if TRACING.get() is not None:
            self.state.value = after(key)
            return key
        start = self.begin()
        self.state.value = known(start.data.array + NEXT)
        return start

    def begin(self) -> Live:
        """The key that a draw or a loop of draws outside of a compiled function begins with."""
        evaluate([key := self.state.value])
        return known(key.data.array, DRAW)

    def settle(self) -> None:
        """Behind a loop outside of a compiled function: what it has drawn is counted, without running it."""
        start, draws = origin(self.state.value)
        if draws != 0 and is_there(start):       # as one, where an open length says how many: programs count
            self.state.value = known(start.data.array + NEXT * np.uint32(draws if isinstance(draws, int) else 1))


def after(key: Value) -> Value:
    """The key of the draw after this one."""
    return Add()(key, Constant(NEXT)())


def origin(key: Value, given: Mapping[Value, Value] = {}) -> tuple[Value, Dim]:
    """The key that one comes from by drawing, and how many draws that takes; parameters of a loop are `given`."""
    draws: Dim = 0
    while True:
        match key:
            case Value(Add(), [before, step]) if is_next(given.get(step, step)):
                key, draws = before, draws + 1
            case Value(Item(k), [Value(Scan() as loop, args)]) if k < loop.carries:
                operands = {p: given.get(x, x) for p, x in zip(loop.body.parameters, args)}
                start, each = origin(loop.body.results[k], operands)
                if start is not loop.body.parameters[k]:
                    return key, draws
                key, draws = args[k], draws + each * loop.length
            case _:
                return key, draws


def is_next(step: Value) -> bool:
    """Whether adding this to a key gives that of the next draw."""
    return isinstance(step.op, Constant) and np.array_equal(step.op.array, NEXT)


def number_of(key: Live) -> int:
    """Which draw of its stream a key belongs to."""
    return int.from_bytes(key.data.array[2:].tobytes(), sys.byteorder)


def words(seed: int) -> np.ndarray[Any, Any]:
    """The state at the beginning of a seed's stream."""
    seed = whole(seed, "a seed", 0, (1 << 64) - 1)
    return np.array([seed & 0xFFFFFFFF, seed >> 32, 0, 0], np.uint32)


GENERATOR = default_generator = Generator()


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


def drawn(device: DeviceLike) -> Value:
    """The key of the next draw, on a device: the same numbers wherever they are made."""
    return placed(GENERATOR.key(), device).value


def float_named(dtype: Any) -> DType:
    """The float dtype meant by a name; raises DTypeError for any other, in which numbers between 0 and 1 are 0."""
    if not (found := type_named(dtype)).is_float:
        raise DTypeError(f"random numbers of a continuous distribution need a float dtype, got {found}",
                         hint="Write st.randint(low, high, shape) for integers.")
    return found


def numbers(draw: Callable[..., Value], key: Value, shape: Shape, dtype: DType) -> Tensor:
    """What is drawn with a key, the parts of complex numbers apart."""
    if not dtype.is_complex:
        return record(Tensor(draw(key, shape=shape, dtype=dtype)))
    parts = draw(key, shape=(2, *shape), dtype=dtype.real)
    return record(Tensor(complex(parts[0], parts[1])))


@public
def rand(*shape: int | Sequence[int], dtype: DTypeLike = "float32", device: DeviceLike = None,
         requires_grad: bool = False) -> Tensor:
    """Random numbers uniform in [0, 1), of a `shape` given as one sequence of sizes or as several sizes.

    They are multiples of 2**-24 (2**-11 in float16, 2**-8 in bfloat16), from the generator that `manual_seed` starts;
    so is each part of complex ones. Raises DTypeError for other dtypes than floats. With `requires_grad` it is a leaf
    that accumulates gradients.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.manual_seed(0)
    >>> x = st.rand(2, 1000)
    >>> x.shape, bool(((0 <= x) & (x < 1)).all()), abs(float(x.mean()) - 0.5) < 0.05
    ((2, 1000), True, True)
    """
    return numbers(random.uniform, drawn(device), shape_of(shape), float_named(dtype)).requires_grad_(requires_grad)


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
    dtype = float_named(dtype)
    made = numbers(random.normal, drawn(device), shape_of(shape), dtype)
    return (made * math.sqrt(0.5) if dtype.is_complex else made).requires_grad_(requires_grad)


@public
def randint(low: int, high: int, shape: int | Sequence[int], device: DeviceLike = None) -> Tensor:
    """Random integers from `low` to `high` - 1, of a `shape`, as int64.

    Raises ShapeError unless 0 < high - low <= 2**24.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> dice = st.randint(1, 7, (1000,))
    >>> int(dice.min()), int(dice.max())
    (1, 6)
    """
    low, high = whole(low, "low of randint"), whole(high, "high of randint")
    return record(Tensor(random.randint(drawn(device), low=low, high=high, shape=shape_of((shape,)))))


def bound(x: Any, what: str) -> Any:
    """A number, or a tensor of them."""
    return x if isinstance(x, Tensor) else number(x, what)


@public
def uniform(low: TensorLike, high: TensorLike, shape: int | Sequence[int], device: DeviceLike = None) -> Tensor:
    """Random numbers uniform in [`low`, `high`), of a `shape`; the bounds are numbers, or tensors that broadcast to it.

    low + (high - low) * rand: high itself may come out where that is rounded.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> x = st.uniform(-1.0, st.tensor([1.0, 100.0]), (1000, 2))
    >>> x.shape, bool((x[:, 0] < 1).all())
    ((1000, 2), True)
    """
    a, b = bound(low, "low of uniform"), bound(high, "high of uniform")
    return rand(shape, device=device) * (b - a) + a


@public
def normal(mean: TensorLike, std: TensorLike, shape: int | Sequence[int], device: DeviceLike = None) -> Tensor:
    """Random numbers of the normal distribution with a `mean` and a standard deviation `std`, of a `shape`.

    Both are numbers, or tensors that broadcast to the shape. By keeping the noise apart from them, gradients reach
    both.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.manual_seed(0)
    >>> x = st.normal(st.tensor([0.0, 100.0]), 1.0, (1000, 2))
    >>> [round(mean) for mean in x.mean(axis=0).tolist()]
    [0, 100]
    """
    mean, std = bound(mean, "mean of normal"), bound(std, "std of normal")
    return randn(shape, device=device) * std + mean


@public
def bernoulli(p: float, shape: int | Sequence[int], device: DeviceLike = None) -> Tensor:
    """Random bools of a `shape`, each True with probability `p`.

    Raises ShapeError unless 0 <= p <= 1.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.manual_seed(0)
    >>> x = st.bernoulli(0.25, (10000,))
    >>> x.dtype, abs(float(x.mean()) - 0.25) < 0.02
    (bool, True)
    """
    p = number(p, "p of bernoulli", 0, 1)
    return record(Tensor(random.bernoulli(drawn(device), p=p, shape=shape_of((shape,)))))


@public
def dropout(x: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """The elements of x, each zero with probability `p` and divided by 1 - p otherwise; x itself when not `training`.

    So the mean stays (Srivastava et al., 2014). Integers become float32. Raises ShapeError unless 0 <= p < 1.

    >>> st.manual_seed(0)
    >>> sorted(set(st.dropout(st.ones(100), 0.2).tolist()))
    [0.0, 1.25]
    >>> st.dropout(st.ones(3), 0.2, training=False).tolist()
    [1.0, 1.0, 1.0]
    """
    p, training = random.chance(p), flag(training, "training of dropout")
    x = constant(x)
    return dropped(x, Tensor(drawn(x.device)), p=p) if training and p else x


dropped = lift(random.dropout)
