"""Choices between candidates: the cheapest by estimate, unless others were measured to be faster."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from stele.ir.report import Choice, Report

T = TypeVar("T")


class Choices:
    """Answers by question: the candidates to take, as they print; an answer that is none of the candidates does not
    count. A question starts with the algorithm that it is about; it is the same for equal sizes, whatever runs before
    or behind, and for all batches that are large or open.

    >>> Choices().choose("gemm 8x8", [(2.0, "wide"), (1.0, "tall")])
    (1.0, 'tall')
    >>> Choices({"gemm 8x8": "wide"}).choose("gemm 8x8", [(2.0, "wide"), (1.0, "tall")])
    (2.0, 'wide')
    """

    def __init__(self, answers: Mapping[str, str] = {}) -> None:
        self.answers = answers

    def choose(self, question: str, candidates: Sequence[tuple[float, T]]) -> tuple[float, T]:
        """The candidate to take of some, each with its price by estimate."""
        if (answer := self.answers.get(question)) is not None:
            candidates = [c for c in candidates if str(c[1]) == answer] or candidates
        return min(candidates, key=lambda c: c[0])


class Noted(Choices):
    """The choices of `given`, each of which is noted in a report with the cheapest of the other candidates, and its
    question in `asked`."""

    def __init__(self, given: Choices, report: Report) -> None:
        super().__init__()
        self.given, self.report = given, report
        self.asked: list[str] = []

    def choose(self, question: str, candidates: Sequence[tuple[float, T]]) -> tuple[float, T]:
        chosen = self.given.choose(question, candidates)
        self.asked.append(question)
        others = sorted((c for c in candidates if c is not chosen), key=lambda c: c[0])[:BEATEN]
        beaten = tuple((str(x), float(price)) for price, x in others)
        self.report.choices[question] = Choice(question, str(chosen[1]), float(chosen[0]), beaten, len(candidates))
        return chosen


BEATEN = 3
ESTIMATES = Choices()
MANY = 16


def images(batch: object) -> str:
    """A batch in a question: a number where there are few images, else n."""
    return str(batch) if isinstance(batch, int) and batch < MANY else "n"
