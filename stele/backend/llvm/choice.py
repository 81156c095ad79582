"""Choices between candidates: the cheapest by estimate, unless others were measured to be faster."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Choices:
    """Answers by question: the numbers of the candidates to take. A question is the same for equal sizes, open ones
    aside, whatever runs before or behind; it starts with the algorithm that it is about.

    >>> Choices().choose("gemm 8x8", [(2.0, "wide"), (1.0, "tall")])
    (1.0, 'tall')
    >>> Choices({"gemm 8x8": 0}).choose("gemm 8x8", [(2.0, "wide"), (1.0, "tall")])
    (2.0, 'wide')
    """

    answers: Mapping[str, int] = field(default_factory=dict[str, int])

    def choose(self, question: str, candidates: Sequence[tuple[float, T]]) -> tuple[float, T]:
        """The candidate to take of some, each with its price by estimate."""
        k = self.answers.get(question, -1)
        return candidates[k] if 0 <= k < len(candidates) else min(candidates, key=lambda c: c[0])


ESTIMATES = Choices()
