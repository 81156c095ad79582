"""Choices between candidates: the cheapest by estimate, unless others were measured to be faster."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Choices:
    """Answers by question: the numbers of the candidates to take. A question starts with the algorithm that it is
    about; it is the same for equal sizes, whatever runs before or behind, and for all batches that are large or open.

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
MANY = 16


def images(batch: object) -> str:
    """A batch in a question: a number where there are few images, else n."""
    return str(batch) if isinstance(batch, int) and batch < MANY else "n"
