"""Random numbers from a counter: a seed and a number of draws, kept in a tensor that compiled functions carry along."""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stele.errors import DataError, DTypeError, ShapeError
from stele.evaluate import evaluate, known
from stele.handle import TRACING
from stele.ir.door import public
from stele.ir.graph import Constant, Item, Value
from stele.ir.sizes import Dim
from stele.ir.types import DType
from stele.ir.types import dtype as type_named
from stele.ops import random
from stele.ops.arguments import flag, number, whole
from stele.ops.control import Scan
from stele.ops.elementwise.arithmetic import Add
from stele.shapes import shape_of
from stele.tensor import DTypeLike, Tensor, TensorLike, constant, lift, tensor

NEXT = np.array([0, 0, 1, 0], np.uint32)
DRAW = "draw"       # label of a key that was drawn outside of a compiled function


class Generator:
    """A stream of random numbers. `state` holds the seed (low, high) and the count of draws (low, high)."""

    def __init__(self, seed: int = 0) -> None:
        self.state = tensor(words(seed))

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

    def key(self) -> Value:
        """The key of the next draw; the state moves on."""
        key = self.state.value
        if TRACING.get() is not None:
            self.state.value = after(key)
            return key
        start = self.begin()
        self.state.value = known(start.data.array + NEXT)
        return start

    def begin(self) -> Value:
        """The key that a draw or a loop of draws outside of a compiled function begins with."""
        evaluate([key := self.state.value])
        return known(key.data.array, DRAW)

    def settle(self) -> None:
        """Behind a loop outside of a compiled function: what it has drawn is counted, without running it."""
        start, draws = origin(self.state.value)
        if draws != 0 and start.data is not None and isinstance(draws, int):
            self.state.value = known(start.data.array + NEXT * np.uint32(draws))


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


def number_of(key: Value) -> int:
    """Which draw of its stream a key belongs to."""
    return int.from_bytes(key.data.array[2:].tobytes(), sys.byteorder)


def words(seed: int) -> np.ndarray[Any, Any]:
    """The state at the beginning of a seed's stream."""
    seed = whole(seed, "a seed", 0, (1 << 64) - 1)
    return np.array([seed & 0xFFFFFFFF, seed >> 32, 0, 0], np.uint32)


GENERATOR = default_generator = Generator()


@public
def manual_seed(seed: int) -> None:
    """Starts the random numbers of the whole program from a seed.

    >>> import stele as st
    >>> st.manual_seed(7); a = st.rand(2).tolist(); st.manual_seed(7); a == st.rand(2).tolist()
    True
    """
    GENERATOR.seed(seed)


def float_named(dtype: Any) -> DType:
    """The float dtype meant by a name; raises DTypeError for any other, in which numbers between 0 and 1 are 0."""
    if not (found := type_named(dtype)).is_float:
        raise DTypeError(f"random numbers of a continuous distribution need a float dtype, got {found}",
                         hint="Write st.randint(low, high, shape) for integers.")
    return found


@public
def rand(*shape: int | Sequence[int], dtype: DTypeLike = "float32") -> Tensor:
    """Numbers uniform in [0, 1), of a shape given as one sequence or as several numbers."""
    return Tensor(random.uniform(GENERATOR.key(), shape=shape_of(shape), dtype=float_named(dtype)))


@public
def randn(*shape: int | Sequence[int], dtype: DTypeLike = "float32") -> Tensor:
    """Numbers of the standard normal distribution."""
    return Tensor(random.normal(GENERATOR.key(), shape=shape_of(shape), dtype=float_named(dtype)))


@public
def randint(low: int, high: int, shape: int | Sequence[int]) -> Tensor:
    """Integers from low to high - 1, as int64."""
    low, high = whole(low, "low of randint"), whole(high, "high of randint")
    return Tensor(random.randint(GENERATOR.key(), low=low, high=high, shape=shape_of((shape,))))


def bound(x: Any, what: str) -> Any:
    """A number, or a tensor of them."""
    return x if isinstance(x, Tensor) else number(x, what)


@public
def uniform(low: TensorLike, high: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """Numbers uniform in [low, high)."""
    a, b = bound(low, "low of uniform"), bound(high, "high of uniform")
    return rand(shape) * (b - a) + a


@public
def normal(mean: TensorLike, std: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """Numbers of the normal distribution."""
    mean, std = bound(mean, "mean of normal"), bound(std, "std of normal")
    return randn(shape) * std + mean


@public
def bernoulli(p: float, shape: int | Sequence[int]) -> Tensor:
    """True with probability p."""
    return Tensor(random.bernoulli(GENERATOR.key(), p=number(p, "p of bernoulli", 0, 1), shape=shape_of((shape,))))


@public
def dropout(x: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """x with each element zero with probability p, the others divided by 1 - p; x itself when not training."""
    p, training = chance(p), flag(training, "training of dropout")
    return dropped(constant(x), Tensor(GENERATOR.key()), p=p) if training and p else constant(x)


def chance(p: float) -> float:
    """The probability with which dropout sets elements to zero: from 0 to less than 1."""
    if not 0 <= number(p, "p of dropout") < 1:
        raise ShapeError(f"dropout needs a probability 0 <= p < 1, got {p}")
    return p


dropped = lift(random.dropout)
