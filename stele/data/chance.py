"""Random numbers that belong to a place: the words of Philox, the same on every NumPy and for any number of workers."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stele.errors import ArgumentError
from stele.ir.door import unfit
from stele.ops.arguments import function, whole

ORDER, BATCHES = 0, 1       # streams of an epoch: its order, and one of each batch from here on
SAMPLES = 1 << 64           # one of each sample from here on, and as many for each layer of a stream
SHUFFLED = 1 << 120         # one of each layer of a stream from here on
_WORD = (1 << 64) - 1


def philox(seed: int, epoch: int, stream: int = ORDER) -> np.random.Philox:
    """The generator of (seed, epoch); streams of it are 2**128 numbers apart."""
    seed, epoch = whole(seed, "seed"), whole(epoch, "epoch")
    return np.random.Philox(key=(seed & _WORD) | (epoch & _WORD) << 64, counter=stream << 128)


def permutation(n: int, seed: int, epoch: int, stream: int = ORDER) -> np.ndarray:
    """The numbers below n in an order of their own: the ranks of raw words.

    >>> permutation(8, seed=1, epoch=2).tolist()
    [4, 2, 0, 6, 1, 5, 7, 3]
    """
    return np.argsort(philox(seed, epoch, stream).random_raw(n), kind="stable")


class Chance:
    """What is random about the sample `index` of (`seed`, `epoch`): one generator, made when it is first asked for."""

    __slots__ = ("epoch", "found", "index", "layer", "seed")

    def __init__(self, seed: int, epoch: int, index: int, layer: int = 0) -> None:
        self.seed, self.epoch, self.index, self.layer = seed, epoch, index, layer
        self.found: np.random.Generator | None = None

    def rng(self) -> np.random.Generator:
        """The generator."""
        if self.found is None:
            stream = (1 + self.layer) * SAMPLES + self.index
            self.found = np.random.Generator(philox(self.seed, self.epoch, stream))
        return self.found


def is_random(f: Callable[..., Any]) -> bool:
    """Whether f wants a generator beside what it transforms: it takes `rng`, or a second argument without a default.

    >>> is_random(lambda sample, rng: sample), is_random(lambda sample, scale=2: sample), is_random(np.exp)
    (True, False, False)
    """
    try:
        known = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):     # of builtins nobody knows
        return False
    if isinstance(f, np.ufunc):
        return False
    placed = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(placed) > 1 and (placed[1].name == "rng" or placed[1].default is inspect.Parameter.empty)


def of_a_sample(f: Any, what: str) -> Callable[[Any], Any]:
    """A function that is given a sample and nothing else; ArgumentError for one that wants its parts one by one."""
    f = function(f, what)
    try:
        known = inspect.signature(f)
    except (TypeError, ValueError):     # of builtins nobody knows
        return f
    if unfit(known, (None,), {}):
        raise ArgumentError(f"{what} gives its function a sample and nothing else, got one of {known}",
                            hint="A sample (x, y) comes whole: write lambda sample: sample[1] > 0.")
    return f


def transformer(f: Callable[..., Any]) -> Callable[[Any, Callable[[], np.random.Generator]], Any]:
    """f as a function of a sample and of what makes its generator, which is pickled where f is."""
    return partial(_drawing if is_random(f) else _plain, f)


def _drawing(f: Callable[..., Any], sample: Any, rng: Callable[[], np.random.Generator]) -> Any:
    return f(sample, rng())


def _plain(f: Callable[..., Any], sample: Any, rng: Callable[[], np.random.Generator]) -> Any:
    return f(sample)
