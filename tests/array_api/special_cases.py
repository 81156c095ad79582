"""What the array API standard says of zeros, infinities and NaN, function by function, as operands and results.

A line is a function and its cases: operands, a colon, the result. `+` and `-` stand for numbers above and below zero
that are no special case (several are tried), `x` for whatever is not NaN, `?` for whatever there is.
"""
from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

TEXT = """
abs        nan: nan; -0: 0; -inf: inf
acos       nan: nan; 2: nan; inf: nan; -2: nan; -inf: nan; 1: 0; -1: pi
acosh      nan: nan; 0.5: nan; -0: nan; -inf: nan; 1: 0; inf: inf
asin       nan: nan; 2: nan; inf: nan; -2: nan; -inf: nan; 0: 0; -0: -0; 1: pi/2; -1: -pi/2
asinh      nan: nan; 0: 0; -0: -0; inf: inf; -inf: -inf
atan       nan: nan; 0: 0; -0: -0; inf: pi/2; -inf: -pi/2
atanh      nan: nan; 2: nan; inf: nan; -2: nan; -inf: nan; 0: 0; -0: -0; 1: inf; -1: -inf
ceil       nan: nan; 0: 0; -0: -0; inf: inf; -inf: -inf; 3: 3; -0.5: -0
cos        nan: nan; 0: 1; -0: 1; inf: nan; -inf: nan
cosh       nan: nan; 0: 1; -0: 1; inf: inf; -inf: inf
exp        nan: nan; 0: 1; -0: 1; inf: inf; -inf: 0
expm1      nan: nan; 0: 0; -0: -0; inf: inf; -inf: -1
floor      nan: nan; 0: 0; -0: -0; inf: inf; -inf: -inf; -3: -3
log        nan: nan; -: nan; -inf: nan; 0: -inf; -0: -inf; 1: 0; inf: inf
log1p      nan: nan; -2: nan; -inf: nan; -1: -inf; 0: 0; -0: -0; inf: inf
log2       nan: nan; -: nan; -inf: nan; 0: -inf; -0: -inf; 1: 0; inf: inf; 8: 3
log10      nan: nan; -: nan; -inf: nan; 0: -inf; -0: -inf; 1: 0; inf: inf; 100: 2
negative   nan: nan; 0: -0; -0: 0; inf: -inf
positive   nan: nan; 0: 0; -0: -0; inf: inf
reciprocal nan: nan; 0: inf; -0: -inf; inf: 0; -inf: -0
round      nan: nan; 0: 0; -0: -0; inf: inf; -inf: -inf; 0.5: 0; 1.5: 2; 2.5: 2; -0.5: -0; -1.5: -2; -2.5: -2; 7: 7
sign       nan: nan; 0: 0; -0: 0; inf: 1; -inf: -1; +: 1; -: -1
sin        nan: nan; 0: 0; -0: -0; inf: nan; -inf: nan
sinh       nan: nan; 0: 0; -0: -0; inf: inf; -inf: -inf
sqrt       nan: nan; -: nan; -inf: nan; 0: 0; -0: -0; inf: inf
square     nan: nan; -0: 0; inf: inf; -inf: inf
tan        nan: nan; 0: 0; -0: -0; inf: nan; -inf: nan
tanh       nan: nan; 0: 0; -0: -0; inf: 1; -inf: -1
trunc      nan: nan; 0: 0; -0: -0; inf: inf; -inf: -inf; -0.5: -0; 0.5: 0; -3: -3
add        nan ?: nan; ? nan: nan; inf -inf: nan; -inf inf: nan; inf inf: inf; -inf -inf: -inf; inf +: inf; - inf: inf
add        -inf +: -inf; + -inf: -inf; -0 -0: -0; -0 0: 0; 0 -0: 0; 0 0: 0; 2 -2: 0; -2 2: 0
atan2      nan ?: nan; ? nan: nan; + 0: pi/2; + -0: pi/2; 0 +: 0; 0 0: 0; 0 -0: pi; 0 -: pi; -0 +: -0; -0 0: -0
atan2      -0 -0: -pi; -0 -: -pi; - 0: -pi/2; - -0: -pi/2; + inf: 0; + -inf: pi; - inf: -0; - -inf: -pi; inf +: pi/2
atan2      inf -: pi/2; -inf -: -pi/2; -inf +: -pi/2; inf inf: pi/4; inf -inf: 3*pi/4; -inf inf: -pi/4
atan2      -inf -inf: -3*pi/4
copysign   + -0: -; + 0: +; - inf: +; -0 +: 0; 0 -: -0; inf -: -inf; nan +: nan; nan -: nan
divide     nan ?: nan; ? nan: nan; inf inf: nan; inf -inf: nan; -inf inf: nan; 0 0: nan; -0 0: nan; 0 -0: nan; 0 +: 0
divide     0 -: -0; -0 +: -0; -0 -: 0; + 0: inf; + -0: -inf; - 0: -inf; - -0: inf; inf +: inf; inf -: -inf; -inf +: -inf
divide     -inf -: inf; + inf: 0; + -inf: -0; - inf: -0; - -inf: 0; inf 0: inf; inf -0: -inf
floor_divide nan ?: nan; ? nan: nan; inf inf: nan; inf -inf: nan; -inf -inf: nan; 0 0: nan; -0 0: nan; 0 -0: nan
floor_divide 0 +: 0; -0 +: -0; 0 -: -0; -0 -: 0; + 0: inf; + -0: -inf; - 0: -inf; - -0: inf; inf +: inf; inf -: -inf
floor_divide -inf +: -inf; -inf -: inf; + inf: 0; + -inf: -0; - inf: -0; - -inf: 0; inf 0: inf; inf -0: -inf
hypot      inf ?: inf; ? inf: inf; -inf ?: inf; ? -inf: inf; nan +: nan; - nan: nan; nan 0: nan; 0 0: 0; -0 -0: 0
hypot      -0 0: 0; 3 0: 3; -0 3: 3
logaddexp  nan ?: nan; ? nan: nan; inf x: inf; x inf: inf
maximum    nan ?: nan; ? nan: nan; inf x: inf; -inf +: +
minimum    nan ?: nan; ? nan: nan; -inf x: -inf; inf 3: 3
multiply   nan ?: nan; ? nan: nan; inf 0: nan; -0 inf: nan; inf -: -inf; -inf -: inf; 0 -: -0; -0 -: 0; inf inf: inf
nextafter  nan ?: nan; ? nan: nan; -0 0: 0; 0 -0: -0; 2 2: 2; inf inf: inf
pow        ? 0: 1; ? -0: 1; 1 x: 1; nan +: nan; nan -: nan; 2 nan: nan; -2 nan: nan; 0 nan: nan; 2 inf: inf; -2 inf: inf
pow        inf inf: inf; 2 -inf: 0; -2 -inf: 0; -1 inf: 1; -1 -inf: 1; 0.5 inf: 0; -0.5 inf: 0; 0 inf: 0; -0 inf: 0
pow        0.5 -inf: inf; -0.5 -inf: inf; 0 -inf: inf; -0 -inf: inf; inf +: inf; inf -: 0; -inf 3: -inf; -inf 2: inf
pow        -inf 0.5: inf; -inf -3: -0; -inf -2: 0; -inf -0.5: 0; 0 +: 0; 0 -: inf; -0 3: -0; -0 2: 0; -0 0.5: 0
pow        -0 -3: -inf; -0 -2: inf; -0 -0.5: inf; -2 0.5: nan; -2 -1.5: nan; -2 3: -8; -2 2: 4
remainder  nan ?: nan; ? nan: nan; inf inf: nan; -inf inf: nan; inf -inf: nan; 0 0: nan; -0 0: nan; 0 -0: nan; 0 +: 0
remainder  -0 +: 0; 0 -: -0; -0 -: -0; + 0: nan; + -0: nan; - 0: nan; - -0: nan; inf +: nan; inf -: nan; -inf +: nan
remainder  -inf -: nan; 3 inf: 3; 3 -inf: -inf; -3 inf: inf; -3 -inf: -3; 4 2: 0; -4 2: 0; 4 -2: -0; -4 -2: -0
subtract   nan ?: nan; inf inf: nan; -inf -inf: nan; inf -inf: inf; 0 0: 0; -0 0: -0; -0 -0: 0; 2 2: 0
"""

POSITIVE, NEGATIVE = (0.75, 2.5, 3.0), (-0.75, -2.5, -3.0)
REAL = 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, math.inf, -math.inf
CLASSES = {"+": POSITIVE, "-": NEGATIVE, "x": REAL, "?": (*REAL, math.nan)}
TURNS = {"pi": 1.0, "pi/2": 0.5, "pi/4": 0.25, "3*pi/4": 0.75}


class Case(NamedTuple):
    """A function of these operands and what it gives; None where only the sign is said."""

    name: str
    operands: tuple[float, ...]
    result: float


def numbers(word: str) -> tuple[float, ...]:
    """What a word stands for."""
    if word in CLASSES:
        return CLASSES[word]
    sign, turn = (-1, word[1:]) if word.startswith("-") else (1, word)
    return (sign * TURNS[turn] * math.pi,) if turn in TURNS else (float(word),)


def results(word: str, operands: tuple[float, ...]) -> float:
    """The result of a case; `+` and `-` are the magnitude of the operand that is no infinity, with that sign."""
    if word not in "+-":
        return numbers(word)[0]
    size = next(abs(v) for v in operands if abs(v) < math.inf)
    return size if word == "+" else -size


def read(text: str) -> list[Case]:
    """The cases of the table, one for each choice of operands."""
    found: list[Case] = []
    for line in filter(None, text.splitlines()):
        name, rest = line.split(None, 1)
        for case in rest.split(";"):
            operands, result = case.split(":")
            for chosen in product(*map(numbers, operands.split())):
                found.append(Case(name, chosen, results(result.strip(), chosen)))
    return found


CASES = read(TEXT)
