"""Where the numbers of a random transform come from: a generator of NumPy for one image, Stele's own for a batch."""
from __future__ import annotations

from typing import Any, Protocol

import numpy as np

import stele as st
from stele.data.transforms.arrays import Drawn
from stele.ops.arguments import number


class Chance(Protocol):
    """What transforms draw, one for each image."""

    def uniform(self, low: float, high: float, many: int = 0) -> Drawn:
        """Numbers from low to high: one, or `many` on an axis behind."""
        ...

    def coin(self, p: float) -> Drawn:
        """True with the probability p."""
        ...

    def below(self, n: Any) -> Drawn:
        """A whole number from 0 to n - 1."""
        ...

    def normal(self, shape: tuple[int, ...]) -> Drawn:
        """An array of normal numbers of that shape."""
        ...

    def order(self, n: int) -> list[int]:
        """An order in which to do n things."""
        ...


class OfOne:
    """Numbers of one image."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def uniform(self, low: float, high: float, many: int = 0) -> Drawn:
        return low + (high - low) * (self.rng.random(many) if many else self.rng.random())

    def coin(self, p: float) -> bool: return self.rng.random() < number(p, "p of a coin")
    def normal(self, shape: tuple[int, ...]) -> Drawn: return self.rng.standard_normal(shape, np.float32)
    def below(self, n: Any) -> int: return min(int(self.rng.random() * n), n - 1)
    def order(self, n: int) -> list[int]: return self.rng.permutation(n).tolist()


class OfBatch:
    """Numbers of n images: each has its own, but what is done is done in one order."""

    def __init__(self, n: Any) -> None:
        self.n = n

    def uniform(self, low: float, high: float, many: int = 0) -> Drawn:
        return low + (high - low) * (st.rand(self.n, many) if many else st.rand(self.n))

    def coin(self, p: float) -> Drawn: return st.rand(self.n) < p
    def normal(self, shape: tuple[int, ...]) -> Drawn: return st.randn(self.n, *shape)

    def below(self, n: Any) -> Drawn:
        whole = st.floor(st.rand(self.n) * n).astype("int64")
        return st.minimum(whole, n - 1)

    def order(self, n: int) -> list[int]: return list(range(n))
