"""Random numbers from a counter: a seed and a number of draws, kept in a tensor that compiled functions carry along."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from stele.evaluate import known
from stele.handle import TRACING
from stele.ir.graph import Constant, Value
from stele.ir.types import dtype as type_named
from stele.ops import random
from stele.ops.elementwise.arithmetic import Add
from stele.shapes import shape_of
from stele.tensor import Tensor, constant, lift, tensor

NEXT = np.array([0, 0, 1, 0], np.uint32)
DRAW = "draw"       # label of a key that was drawn outside of a compiled function


class Generator:
    """A stream of random numbers. `state` holds the seed (low, high) and the count of draws (low, high)."""

    def __init__(self, seed: int = 0) -> None:
        self.state = tensor(words(seed))

    def seed(self, seed: int) -> None:
        """Starts the stream of this seed from its beginning."""
        self.state.assign(words(seed))

    def key(self) -> Value:
        """The key of the next draw; the state moves on."""
        key = self.state.value
        if key.data is None or TRACING.get() is not None:
            self.state.value = after(key)
            return key
        self.state.value = known(key.data.array + NEXT)
        return known(key.data.array, DRAW)


def after(key: Value) -> Value:
    """The key of the draw after this one."""
    return Add()(key, Constant(NEXT)())


def number_of(key: Value) -> int:
    """Which draw of its stream a key belongs to."""
    return int.from_bytes(key.data.array[2:].tobytes(), sys.byteorder)


def words(seed: int) -> np.ndarray[Any, Any]:
    """The state at the beginning of a seed's stream."""
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed is a number from 0 to 2**64 - 1, got {seed}")
    return np.array([seed & 0xFFFFFFFF, seed >> 32, 0, 0], np.uint32)


GENERATOR = Generator()


def manual_seed(seed: int) -> None:
    """Starts the random numbers of the whole program from a seed.

    >>> import stele as st
    >>> st.manual_seed(7); a = st.rand(2).tolist(); st.manual_seed(7); a == st.rand(2).tolist()
    True
    """
    GENERATOR.seed(seed)


def rand(*shape: Any, dtype: Any = "float32") -> Tensor:
    """Numbers uniform in [0, 1), of a shape given as one sequence or as several numbers."""
    return Tensor(random.uniform(GENERATOR.key(), shape=shape_of(shape), dtype=type_named(dtype)))


def randn(*shape: Any, dtype: Any = "float32") -> Tensor:
    """Numbers of the standard normal distribution."""
    return Tensor(random.normal(GENERATOR.key(), shape=shape_of(shape), dtype=type_named(dtype)))


def randint(low: int, high: int, shape: Any) -> Tensor:
    """Integers from low to high - 1, as int64."""
    return Tensor(random.randint(GENERATOR.key(), low=low, high=high, shape=shape_of((shape,))))


def uniform(low: float, high: float, shape: Any) -> Tensor:
    """Numbers uniform in [low, high)."""
    return rand(shape) * (high - low) + low


def normal(mean: float, std: float, shape: Any) -> Tensor:
    """Numbers of the normal distribution."""
    return randn(shape) * std + mean


def bernoulli(p: float, shape: Any) -> Tensor:
    """True with probability p."""
    return Tensor(random.bernoulli(GENERATOR.key(), p=p, shape=shape_of((shape,))))


def dropout(x: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """x with each element zero with probability p, the others divided by 1 - p; x itself when not training."""
    return dropped(constant(x), Tensor(GENERATOR.key()), p=p) if training and p else constant(x)


dropped = lift(random.dropout)
