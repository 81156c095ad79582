"""Builds one contraction under given choices, and times it beside another build."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from stele.backend.buffers import Buffer
from stele.backend.cpu.program import Program
from stele.backend.cpu.tuned import here
from stele.inspect.tune.contractions import Contraction
from stele.ir.sizes import at
from stele.ir.types import Type
from stele.kernel.choice import Choices
from stele.pipeline import PASSES, Options, Request, make

T = TypeVar("T")
SWEPT = 1 << 26     # bytes that are more than any cache holds
NEAR = 1 << 21      # bytes of an operand that the kernel before has left in a cache
SECONDS, FEWEST, MOST = 0.25, 3, 31     # how long two builds are timed beside each other, and how often each


class Question(NamedTuple):
    """A choice that was made: the price of each candidate, how it prints, and which was taken; whether candidates are
    whole algorithms, each with questions of its own."""

    prices: tuple[float, ...]
    names: tuple[str, ...]
    taken: int
    is_algorithm: bool

    @property
    def name(self) -> str:
        return self.names[self.taken]


class Trial(Choices):
    """Choices that note what they were asked."""

    def __init__(self, answers: Mapping[str, str] = {}) -> None:
        super().__init__(answers)
        self.asked: dict[str, Question] = {}

    def choose(self, question: str, candidates: Sequence[tuple[float, T]]) -> tuple[float, T]:
        chosen = super().choose(question, candidates)
        taken = next(k for k, candidate in enumerate(candidates) if candidate is chosen)
        prices, names = tuple(price for price, _ in candidates), tuple(str(x) for _, x in candidates)
        self.asked[question] = Question(prices, names, taken, isinstance(chosen[1], str))
        return chosen

    @property
    def relevant(self) -> dict[str, Question]:
        """The questions that matter: not those about an algorithm that was not taken."""
        given_up = {name for q in self.asked.values() if q.is_algorithm for name in q.names if name != q.name}
        return {question: q for question, q in self.asked.items() if question.partition(" ")[0] not in given_up}


@dataclass(frozen=True)
class Build:
    """A contraction as a program, with the choices that made it."""

    trial: Trial
    program: Program

    @property
    def code(self) -> bytes:
        return self.program.code.image.code


def build(contraction: Contraction, answers: Mapping[str, str]) -> Build:
    """The program of a contraction under these answers."""
    trial = Trial(answers)
    target = replace(here(), choices=trial)
    request = Request(contraction.graph, {}, contraction.steady, Options("cpu", frozenset(PASSES)), target)
    return Build(trial, Program(request, make(request)))


def operands(contraction: Contraction) -> list[Buffer]:
    """Arrays for the parameters: small random numbers, zeros for integers, which may be indices."""
    rng = np.random.default_rng(0)
    return [Buffer.of(operand(p.type, contraction.sizes, rng)) for p in contraction.graph.parameters]


def operand(type: Type, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """An array of a type."""
    shape = tuple(at(n, sizes) for n in type.shape)
    if not type.dtype.is_float:
        return np.zeros(shape, type.dtype.numpy)
    return rng.standard_normal(shape, np.float32).astype(type.dtype.numpy)


def seconds(builds: Sequence[Build], contraction: Contraction, buffers: Sequence[Buffer], long: float = SECONDS
            ) -> list[float]:
    """The median time of a call of each build, taken in turns for about so long.

    As in a whole program, what stays from call to call comes from memory, and small operands that were just computed
    come from a cache.
    """
    for each in builds:
        each.program.run(buffers, contraction.sizes)
    times: list[list[float]] = [[] for _ in builds]
    sweep, steady = np.zeros(SWEPT // 4, np.float32), contraction.steady
    near = [b.array for k, b in enumerate(buffers) if k not in steady and b.array.nbytes <= NEAR]
    end = perf_counter() + long
    while len(times[0]) < FEWEST or (perf_counter() < end and len(times[0]) < MOST):
        for each, taken in zip(builds, times):
            np.add(sweep, 1, out=sweep)
            for x in near:
                x.max(initial=0)
            start = perf_counter()
            each.program.run(buffers, contraction.sizes)
            taken.append(perf_counter() - start)
    return [median(taken) for taken in times]
