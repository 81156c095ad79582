"""Special functions in NumPy, by series and integrals that no kernel uses: what kernels are held against.

Numbers in parentheses are formulas of the Digital Library of Mathematical Functions (dlmf.nist.gov).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np

from stele.ir.graph import Array

ENOUGH = 25         # terms of a sum before the rest is an integral
NODES = 512         # of an integral over half a turn


def elementwise(f: Callable[..., float], poles: float = math.nan) -> Callable[..., Array]:
    """A function of Python numbers on arrays, in float64; `poles` where it raises."""
    def one(x: float) -> float:
        try:
            return f(x)
        except (ValueError, OverflowError):
            return poles

    made = np.frompyfunc(one, 1, 1)

    def apply(x: Array) -> Array:
        return np.asarray(made(x.astype(np.float64)), np.float64).astype(x.dtype)

    return apply


lgamma = elementwise(math.lgamma, math.inf)


@cache
def bernoulli(count: int) -> list[float]:
    """B(2j) / (2j)! for j = 1, 2, ... (24.2.1)."""
    from fractions import Fraction  # imported late, with `statistics` below: 3 ms

    b = [Fraction(1)]
    for m in range(1, 2 * count + 1):
        b.append(-sum((Fraction(math.comb(m + 1, k)) * b[k] for k in range(m)), Fraction(0)) / (m + 1))
    return [float(b[2 * j] / math.factorial(2 * j)) for j in range(1, count + 1)]


def cotangents(n: int) -> list[float]:
    """The polynomial in cot(t) that derivative number n of cot(t) is; lowest power first."""
    c = [0.0, 1.0]
    for _ in range(n):
        slope = [k * v for k, v in enumerate(c)][1:]
        c = [-a - b for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope])]
    return c


def tanpi(x: Array) -> Array:
    """tan(pi x) of what is left of x after whole numbers."""
    return np.tan(np.pi * (x - np.rint(x)))


def cotpi(x: Array) -> Array:
    """1 / tan(pi x), 0 at halves."""
    r = x - np.rint(x)
    return np.where(abs(r) < 0.25, 1 / np.tan(np.pi * r), np.copysign(np.tan(np.pi * (0.5 - abs(r))), r))


def digamma(x: Array) -> Array:
    """The logarithm and a series (5.11.2) behind as many steps (5.5.2), below 0 by reflection (5.5.4)."""
    v = x.astype(np.float64)
    z = np.where(v < 0, 1 - v, v)
    end = z + ENOUGH
    y = np.log(end) - 0.5 / end
    for j, b in enumerate(bernoulli(8), 1):
        y = y - b * math.factorial(2 * j - 1) / end ** (2 * j)
    for k in range(ENOUGH):
        y = y - 1 / (z + k)
    slope = tanpi(v)
    y = np.where(v < 0, np.where(slope == 0, np.nan, y - np.pi / slope), y)
    return np.where(v == 0, np.copysign(np.inf, -v), y).astype(x.dtype)


def euler_maclaurin(x: Any, q: Any, terms: int = ENOUGH) -> Any:
    """The sum of (q + k)**-x over k >= 0, for x above 1 and positive q, of anything with operators (25.11.5)."""
    end = q + terms
    last = end ** -x
    y = last * (end / (x - 1) + 0.5)
    factor = x / end * last
    for k, b in enumerate(bernoulli(10)):
        y = y + factor * b
        factor = factor * ((x + (2 * k + 1)) * (x + (2 * k + 2)) / (end * end))
    for k in range(terms):
        y = y + (q + k) ** -x
    return y


def zeta(x: Array, q: Array) -> Array:
    """The zeta function of Hurwitz; for negative q the sums on both sides of 0."""
    s, first = x.astype(np.float64), q.astype(np.float64)
    y = np.asarray(euler_maclaurin(s, first))
    y = np.where(np.isnan(y), first ** -s, y)
    r = first - np.rint(first)
    near: Any = euler_maclaurin(s, abs(r))
    other: Any = euler_maclaurin(s, 1 - abs(r))
    beyond: Any = euler_maclaurin(s, 1 - first)
    is_even = np.trunc(s / 2) == s / 2
    sign: Array = np.where(is_even, 1.0, -1.0)
    below: Array = near * np.where(r < 0, sign, 1.0) + other * np.where(r < 0, 1.0, sign) - beyond * sign
    below = np.where(is_even & (abs(r) ** -s == np.inf), np.inf, below)
    y = np.where(q < 0, np.where(np.trunc(s) == s, below, np.nan), y)
    y = np.where((x < 1) | (x != x) | (q != q), np.nan, y)
    return np.where((x == 1) | ((q <= 0) & (np.floor(q) == q) & (x > 1)), np.inf, y).astype(x.dtype)


def polygamma(x: Array, n: int) -> Array:
    """Derivative number n of digamma (5.15.1), below 0 by reflection (5.15.6)."""
    v, sign = x.astype(np.float64), (-1.0) ** (n + 1)
    z = np.where(v < 0, 1 - v, v)
    y = sign * math.factorial(n) * euler_maclaurin(n + 1.0, z)
    y = np.where(np.isinf(z), 0.0 * sign, y)
    cotangent: Any = cotpi(v)
    power: Any = reduce(lambda y, c: y * cotangent + c, cotangents(n)[::-1])     # from the first, as 0 * inf is NaN
    mirrored = -np.pi ** (n + 1) * power - y * sign
    return np.where(v < 0, mirrored, y).astype(x.dtype)


def bessel(x: Array, order: int, is_scaled: bool) -> Array:
    """I0 or I1 (10.32.2), times exp(-|x|) if scaled: an integral up to 500, beyond a series (10.40.1)."""
    v = x.astype(np.float64)
    a, far = np.minimum(abs(v), 500), np.maximum(abs(v), 500)
    y = np.zeros_like(a)
    for t in (np.arange(NODES) + 0.5) * (np.pi / NODES):
        y = y + np.exp(a * (np.cos(t) - 1)) * (a * np.sin(t) ** 2 if order else 1) / NODES
    term, series = np.ones_like(a), np.ones_like(a)
    for k in range(1, 10):
        term = term * ((2 * k - 1) ** 2 - 4 * order) / (8 * k) / far
        series = series + term
    y = np.where(abs(v) <= 500, y, series / (np.sqrt(2 * np.pi) * np.sqrt(far)))
    y = y if is_scaled else np.where(np.isinf(v), np.inf, np.exp(abs(v) / 2) * y * np.exp(abs(v) / 2))
    return (np.copysign(y, v) if order else y).astype(x.dtype)


@cache
def bell() -> Any:
    """The normal distribution."""
    from statistics import NormalDist

    return NormalDist()


def inverse_erf(x: float) -> float:
    """The quantile of the normal distribution, and a step of Newton's method."""
    a = abs(x)
    if not 0 < a < 1:
        return x if a == 0 else math.copysign(math.inf, x) if a == 1 else math.nan
    y = -bell().inv_cdf((1 - a) / 2) * math.sqrt(0.5)
    error = math.erf(y) - a if a < 0.5 else (1 - a) - math.erfc(y)
    return math.copysign(y - error * math.sqrt(math.pi) / 2 * math.exp(y * y), x)


def quantile(p: float) -> float:
    """The inverse of the normal distribution function."""
    return bell().inv_cdf(p) if 0 < p < 1 else -math.inf if p == 0 else math.inf if p == 1 else math.nan


def squared(x: float) -> tuple[float, float]:
    """x * x rounded, and the rest of it (Dekker, 1971)."""
    whole = 134217729.0 * x
    a = whole - (whole - x)
    b = x - a
    return x * x, a * a - x * x + 2 * a * b + b * b


def normal(x: float) -> float:
    """The normal distribution function; far below 0 with what the argument of erfc loses as it is rounded."""
    z = -x * math.sqrt(0.5)
    if not 0 < z < 30:
        return math.erfc(z) / 2
    (large, small), (near, rest) = squared(x), squared(z)
    lost = (large / 2 - near + (small / 2 - rest)) / (2 * z)
    return (math.erfc(z) - 2 / math.sqrt(math.pi) * math.exp(-z * z) * lost) / 2


def scaled_erfc(x: float) -> float:
    """exp(x * x) erfc(x), by a continued fraction (7.9.1) where erfc is small."""
    if x < 2 or x != x:
        if x < -26.7 or x != x:
            return math.inf if x < 0 else x
        large, small = squared(x)
        return math.exp(large) * (1 + small) * math.erfc(x)
    y = x
    for k in range(120, 0, -1):
        y = x + k / 2 / y
    return 1 / (y * math.sqrt(math.pi))


def log_normal(x: float) -> float:
    """The logarithm of the normal distribution function."""
    if x < -1:
        return -x * x / 2 + math.log(scaled_erfc(-x * math.sqrt(0.5)) / 2)
    return math.log1p(-normal(-x))


def sinc(x: Array) -> Array:
    """sin(pi x) / (pi x) of what is left of x after whole numbers."""
    v = np.where(np.isinf(x), 1, x.astype(np.float64))
    n = np.rint(v)
    y = np.sin(np.pi * (v - n)) * np.where(n % 2 == 0, 1, -1) / (np.pi * v)
    return np.where(v == 0, 1, np.where(np.isinf(x), 0, y)).astype(x.dtype)


erfinv, ndtri, ndtr = elementwise(inverse_erf), elementwise(quantile), elementwise(normal)
erfcx, log_ndtr = elementwise(scaled_erfc, math.inf), elementwise(log_normal, -math.inf)
