"""Looks for the fastest candidates of a contraction: one question at a time, from the cheapest by estimate on."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter

from stele.inspect.tune.contractions import Contraction
from stele.inspect.tune.measure import build, operands, seconds

TRIED = 6           # candidates of one question that are measured, cheapest by estimate first
WORTH = 0.97        # a candidate takes over where it takes at most this share of the time


@dataclass(frozen=True)
class Outcome:
    """What was measured of one contraction: seconds by estimate alone and at best, the answers that make it so (none
    where time ran out before anything better was found), how many candidates were tried, and what was chosen otherwise
    than by estimate.
    """

    contraction: Contraction
    before: float
    after: float
    answers: Mapping[str, str]
    tried: int
    changed: tuple[str, ...]


class Search:
    """The search for one contraction: the build by estimate, the best one so far, and the code of all tried; `weight`
    is the time of all that it decides about.
    """

    def __init__(self, contraction: Contraction) -> None:
        self.contraction, self.buffers = contraction, operands(contraction)
        self.first = self.best = build(contraction, {})
        self.codes = {self.first.code}
        (self.estimate,) = seconds((self.first,), contraction, self.buffers, 0)
        self.weight = self.estimate * contraction.count
        self.end, self.finished = 0.0, True

    def run(self, end: float) -> Outcome:
        """The best that is found until the clock shows `end`: algorithms first, then what the best of them leaves open;
        then the best against the first once more.
        """
        self.end = end
        for question, asked in self.first.trial.asked.items():
            if asked.is_algorithm:
                self.compare(question, asked.names)
        for question, asked in self.best.trial.relevant.items():
            if not asked.is_algorithm:
                cheapest = sorted(range(len(asked.prices)), key=asked.prices.__getitem__)[:TRIED]
                self.compare(question, [asked.names[k] for k in cheapest])
        if self.best is self.first:
            return self.outcome(self.estimate, self.estimate)
        before, after = seconds((self.first, self.best), self.contraction, self.buffers)
        if after > before * WORTH:
            self.best, after = self.first, before
        return self.outcome(before, after)

    def compare(self, question: str, candidates: Iterable[str]) -> None:
        """Times other candidates against the best one, and keeps what is faster, as long as there is time."""
        for candidate in candidates:
            if perf_counter() >= self.end:
                self.finished = False
                return
            other = build(self.contraction, {q: asked.name for q, asked in self.best.trial.relevant.items()}
                          | {question: candidate})
            if other.code in self.codes:
                continue
            self.codes.add(other.code)
            old, new = seconds((self.best, other), self.contraction, self.buffers)
            if new < old * WORTH:
                self.best = other

    def outcome(self, before: float, after: float) -> Outcome:
        """What was found."""
        estimated, best = self.first.trial.relevant, self.best.trial.relevant
        changed = tuple(f"{q.partition(' ')[0]}: {asked.name}" for q, asked in best.items()
                        if q not in estimated or estimated[q].name != asked.name)
        answers = {q: asked.name for q, asked in best.items()} if changed or self.finished else {}
        return Outcome(self.contraction, before, after, answers, len(self.codes), changed)



def searches(contractions: Iterable[Contraction]) -> list[Search]:
    """A search for each set of questions, the weightiest first."""
    found: dict[frozenset[str], Search] = {}
    for contraction in contractions:
        search = Search(contraction)
        known = found.setdefault(frozenset(search.first.trial.asked), search)
        if known is not search:
            known.weight += search.weight
    return sorted(found.values(), key=lambda search: -search.weight)
