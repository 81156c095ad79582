"""Remainders and whole quotients of floats, exact however large the quotient is, as C's fmod and NumPy have them."""
from __future__ import annotations

import math
from typing import Any

from stele.ir.types import float32, float64
from stele.kernel.exact import product_error
from stele.kernel.formats import FORMATS

STAGES = (2.0**900, 2.0**900), (2.0**900,), ()        # multiples of a float64 divisor: no quotient passes 2**900
STEPS = {32: 6, 64: 18}                               # of 52 bits each: a quotient of float32 has 277 at most


def remainder(s: Any, x: Any, y: Any) -> Any:
    """x - y * floor(x / y) of floats, rounded once; a zero has the sign of y."""
    part = truncated(s, x, y)
    return s.select(s.ne(part, 0), s.select((y < 0) ^ (part < 0), part + y, part), s.with_sign(abs(part), y))


def quotient(s: Any, x: Any, y: Any) -> Any:
    """floor(x / y) of floats without the rounding of x / y, which may reach the next whole number; of infinities it is
    that of the quotient, 0 of either sign where only y is one.
    """
    part, ratio = truncated(s, x, y), x / y
    whole = (x - part) / y
    whole = s.select(s.ne(part, 0) & ((y < 0) ^ (part < 0)), whole - 1, whole)
    down = s.floor(whole)
    down = s.select(whole - down > 0.5, down + 1, down)
    zero = s.with_sign(abs(whole - whole), ratio)
    plain = s.eq(y, 0) | s.eq(abs(x), math.inf) | s.eq(abs(y), math.inf)
    return s.select(plain, ratio, s.select(s.eq(whole, 0), zero, down))


def truncated(s: Any, x: Any, y: Any) -> Any:
    """x - y * trunc(x / y), exact: what is left of x, with its sign."""
    a, b = abs(x), abs(y)
    ratio = a / b
    limit = 2.0 ** FORMATS[x.dtype.bits].fraction
    is_far = (ratio >= limit) & (a < math.inf) & (b > 0)
    rest = s.rare(is_far, lambda: far(s, a, b), step(s, a, b))
    return s.with_sign(s.select(a < b, a, s.select(rest < 0, rest + b, rest)), x)


def step(s: Any, a: Any, b: Any) -> Any:
    """a less the multiple of b that is nearest but for the rounding of a / b; exact, of either sign."""
    n = s.round(a / b)
    if s.fused:
        return s.fma(-n, b, a)
    if a.dtype == float32:
        return s.cast(s.cast(a, float64) - s.cast(n, float64) * s.cast(b, float64), float32)
    large = b > 2.0**900    # a factor is taken apart with a product of 27 bits more
    near, divisor = (s.select(large, v * 2.0**-100, v) for v in (a, b))
    product = n * divisor
    rest = (near - product) - product_error(n, divisor, product)
    return s.select(large, rest * 2.0**100, rest)


def far(s: Any, a: Any, b: Any) -> Any:
    """The same where the quotient has more digits than the dtype: so many of them at each step."""
    if a.dtype == float32:
        rest, divisor = s.cast(a, float64), s.cast(b, float64)
        for _ in range(STEPS[32]):
            rest = step(s, rest, divisor)
        return s.cast(rest, float32)
    for factors in STAGES:
        divisor = b
        for factor in factors:
            divisor = s.select(divisor * factor < math.inf, divisor * factor, divisor)
        for _ in range(STEPS[64]):
            a = step(s, a, divisor)
    return a
