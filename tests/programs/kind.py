"""One thing that a program may do, and arguments and results that many of them share."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import stele as st
from stele.ir.types import DType, summed_in
from stele.ir.types import dtype as type_named
from tests.programs.numbers import BOOL, I64, Array
from tests.programs.program import Step

if TYPE_CHECKING:
    from tests.programs.grammar import Growth

Made = tuple[tuple[Any, ...], dict[str, Any]]
Make = Callable[["Growth", str], Made]
INT = "iu"
PYTHON = (bool, int, float, complex)


@dataclass(frozen=True)
class Kind:
    """One thing a program may do.

    `domain`: kinds of dtypes it takes; `operands`: "own" as they are, "common" in the dtype they meet in, "float" the
    same but float32 for integers, "where" the same but for a condition first, "target" in that of the first, which is
    written to; `result`: dtypes of what comes out, of operands after that; `noise`: "exact", or "rounded" where a
    result is rounded, "tail" the same in units of the operand, "sum" where operands may be summed in any order,
    "coarse" where errors are relative to the largest operand; `smooth`: whether it has a derivative nearly everywhere;
    `feature`: what has to be asked for to have it; `prepare`: what the first operand becomes before roundings count,
    which Stele's side does itself.
    """

    name: str
    stele: Callable[..., Any]
    numpy: Callable[..., Any]
    make: Make
    domain: str = "biuf"
    operands: str = "common"
    result: Callable[[list[DType], dict[str, Any]], tuple[DType, ...]] = lambda d, a: (d[0],)
    noise: str = "exact"
    smooth: bool = True
    weight: float = 1.0
    feature: str = ""
    prepare: Callable[[Any], Any] = lambda x: x


def accumulated(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    """What integers and bools add up as."""
    return summed_in(d[0]),


def named(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    return type_named(a["dtype"]),


def truth(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    return BOOL,


def place(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    return I64,


def alone(g: Growth, x: str) -> Made:
    return (x,), {}


def paired(g: Growth, x: str) -> Made:
    """x and something it broadcasts with, in either order."""
    z = g.partner(x)
    return ((x, z) if g.rng.random() < 0.5 or isinstance(z, PYTHON) else (z, x)), {}


def inside(*steps: str) -> Make:
    """x, or as often what steps make of it, which is where a function has values; a number is a step's operand."""
    def made(g: Growth, x: str) -> Made:
        for word in steps if g.coin() else ():
            name, _, number = word.partition(":")
            x = g.take(Step((), name, (x, float(number)) if number else (x,)))
        return (x,), {}
    return made


def floats(name: str, numpy: Callable[..., Array], **changes: Any) -> Kind:
    """A function of one float operand."""
    return Kind(name, getattr(st, name), numpy, **{"make": alone, "operands": "float", "noise": "rounded", **changes})
