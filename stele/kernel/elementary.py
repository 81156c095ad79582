"""Inverse and hyperbolic functions, logarithms and powers of other bases, roots and tan, said to a builder `s`.

All are for float32 and float64. Sums of which a logarithm or an arc is taken come in two parts, so that what remains of
an error is that of the polynomial and of the last rounding.
"""
from __future__ import annotations

import math
from typing import Any

from stele.ir.types import float32, float64
from stele.kernel import tables
from stele.kernel.exact import SPLIT, product_error, two_sum
from stele.kernel.far import half_turns
from stele.kernel.formats import FORMATS

INF = math.inf


def odd(s: Any, x: Any, table: dict[int, tuple[float, ...]]) -> Any:
    """x + x**3 P(x**2) for a table of P."""
    z = x * x
    return s.fma(z * s.polynomial(z, table[x.dtype.bits]), x, x)


def asin(s: Any, x: Any) -> Any:
    """pi/2 - 2 asin(sqrt((1 - a)/2)) where a = |x| is steep."""
    is_steep, y = arc(s, x)
    high, low, *_ = tables.HALF_PI[x.dtype.bits]
    return s.with_sign(s.select(is_steep, high - (y + y - low), y), x)


def acos(s: Any, x: Any) -> Any:
    """2 asin(sqrt((1 - x)/2)) where x is steep, pi less that of -x on the left, and pi/2 - asin(x) between."""
    is_steep, y = arc(s, x)
    high, low, *_ = tables.HALF_PI[x.dtype.bits]
    left = high - (y - low)
    return s.select(is_steep, s.select(x > 0, y + y, left + left), high - (s.with_sign(y, x) - low))


def arc(s: Any, x: Any) -> tuple[Any, Any]:
    """Whether a = |x| is above 0.55, and asin of sqrt((1 - a)/2) there, else of a."""
    a = abs(x)
    is_steep = a > 0.55
    z = s.select(is_steep, (1 - a) * 0.5, a * a)
    r = s.select(is_steep, s.sqrt(z), a)
    return is_steep, s.fma(z * s.polynomial(z, tables.ASIN[x.dtype.bits]), r, r)


def atan2(s: Any, y: Any, x: Any) -> Any:
    """The angle of (x, y): the arc of the smaller over the larger in two parts, added to a multiple of pi/2."""
    bits = x.dtype.bits
    a, b = abs(y), abs(x)
    low, high = s.min(a, b), s.max(a, b)
    t = low / high
    rest = s.select((high > 0) & (high < INF), -product_rest(s, t, high, low) / high, 0.0)
    t = s.select(s.eq(high, 0), 0.0, s.select(s.eq(low, INF), 1.0, t))
    z = t * t
    more = s.fma(z * s.polynomial(z, tables.ATAN[bits]), t, rest * (1 - z * 0.5))
    r = t + more
    r_rest = more - (r - t)
    is_steep, is_left = a > b, s.bitcast(x, FORMATS[bits].integer) < 0
    pi, pi_rest = tables.HALF_PI[bits][:2]
    turns = s.select(is_steep, 1.0, s.select(is_left, s.constant(2.0, x.dtype), 0.0))
    minus = is_steep ^ is_left
    r, r_rest = (s.select(minus, -v, v) for v in (r, r_rest))
    angle = s.fma(turns, pi, r)
    last = (r - (angle - turns * pi)) + s.fma(turns, pi_rest, r_rest)
    return s.with_sign(abs(angle + last), y)


def asinh(s: Any, x: Any) -> Any:
    """log(a + sqrt(a**2 + 1)) of a = |x|; log(2 a) where the 1 does not count, a polynomial near 0."""
    a = abs(x)
    return s.with_sign(s.select(a < 0.5, odd(s, a, tables.ASINH), log_of_sum(s, a, 1.0)), x)


def acosh(s: Any, x: Any) -> Any:
    """log(x + sqrt(x**2 - 1)); sqrt(2 t) (1 + t P(t)) near 1, where t = x - 1."""
    t = x - 1
    root = s.sqrt(t + t)
    near = s.fma(t * s.polynomial(s.min(t, 1.0), tables.ACOSH[x.dtype.bits]), root, root)
    return s.select(x > 1.5, log_of_sum(s, x, -1.0), near)


def log_of_sum(s: Any, x: Any, one: float) -> Any:
    """log(x + sqrt(x**2 + one)) for x >= 1/2, with the sum in two parts."""
    form = FORMATS[x.dtype.bits]
    is_large = x > 2.0 ** (form.fraction // 2 + 3)
    a = s.select(is_large, 1.0, x)
    square = a * a
    total, rest = two_sum(square, s.constant(one, x.dtype))
    root = s.sqrt(total)
    rest = (rest + product_rest(s, a, a, square) - product_rest(s, root, root, total)) / (root + root)
    sum_, more = two_sum(root, a)
    exponent, mantissa = s.split(s.select(is_large, x, sum_), form)
    y = s.log_near(mantissa - 1, s.select(is_large, exponent + 1, exponent))
    return s.select(x < INF, s.select(is_large, y, y + (more + rest) / sum_), x)


def atanh(s: Any, x: Any) -> Any:
    """log((1 + a)/(1 - a)) / 2 of a = |x|, with the quotient in two parts; a polynomial near 0."""
    a = abs(x)
    upper, lower = a + 1, 1 - a
    quotient = upper / lower
    rest = ((a - (upper - 1)) - product_rest(s, quotient, lower, upper)) / lower
    exponent, mantissa = s.split(quotient, FORMATS[x.dtype.bits])
    far = (s.log_near(mantissa - 1, exponent) + rest / quotient) * 0.5
    far = s.select(s.eq(a, 1), INF, s.select(a < 1, far, math.nan))
    return s.select(a < 0.5, odd(s, x, tables.ATANH_NEAR), s.with_sign(far, x))


def sinh(s: Any, x: Any) -> Any:
    """(e - 1/e) / 2 of e = exp(|x|), a polynomial near 0."""
    e, small = halves(s, x)
    return s.select(abs(x) < 1, odd(s, x, tables.SINH), s.with_sign(e - small, x))


def cosh(s: Any, x: Any) -> Any:
    """(e + 1/e) / 2 of e = exp(|x|)."""
    e, small = halves(s, x)
    return e + small


def halves(s: Any, x: Any) -> tuple[Any, Any]:
    """Half of exp(|x|), finite where exp(|x|) is not, and half of exp(-|x|), 0 where it does not count.

    |x| - 3/4 is exact, and |x| - log(2) would not be.
    """
    a = abs(x)
    is_far = a > 40
    e = s.exp(s.select(is_far, a - 0.75, a))
    return s.select(is_far, e * (math.exp(0.75) / 2), e * 0.5), s.select(is_far, 0.0, 0.5 / e)


def tan(s: Any, x: Any) -> Any:
    """tan of what is left of x after multiples n of pi/2, in two parts; -1/tan where n is odd."""
    form = FORMATS[x.dtype.bits]
    t = s.fma(x, 2 / math.pi, form.magic)
    n = t - form.magic
    first, *parts = (tables.HALF_PI if s.fused else tables.HALF_PI_CUT)[x.dtype.bits]
    r, rest = s.fma(n, -first, x), s.constant(0.0, x.dtype)
    for part in parts:
        near = s.fma(n, -part, r)
        r, rest = near, s.fma(n, -part, r - near) + rest
    near = tan_near(s, r, rest, s.bitcast(t, form.integer))
    return s.rare(abs(x) > 2.0 ** (form.fraction // 2), lambda: tan_far(s, x), near)


def tan_near(s: Any, r: Any, rest: Any, turns: Any) -> Any:
    """tan(r + rest) for |r| <= pi/4, or -1 over it where turns is odd."""
    z = r * r
    y = r + s.fma(z * s.polynomial(z, tables.TAN[r.dtype.bits]), r, s.fma(rest, z, rest))
    return s.select(s.ne(turns & 1, 0), -1 / y, s.select(s.eq(r, 0), r, y))


def tan_far(s: Any, x: Any) -> Any:
    """tan of what needs hundreds of digits of pi."""
    form = FORMATS[64]
    high, low = (2 * part for part in half_turns(s, x, 0.0))
    t = high + form.magic
    near = high - (t - form.magic)
    high, low = two_sum(near, low)
    pi, pi_rest = tables.HALF_PI[64][:2]
    r = high * pi
    rest = product_rest(s, high, s.constant(pi, float64), r) + s.fma(high, pi_rest, low * pi)
    return s.cast(tan_near(s, r, rest, s.bitcast(t, form.integer)), x.dtype)


def hypot(s: Any, x: Any, y: Any) -> Any:
    """sqrt(x**2 + y**2): of float32 in float64, of float64 scaled so that no square over- or underflows."""
    if x.dtype == float32:
        wide = [s.cast(v, float64) for v in (x, y)]
        root = s.cast(s.sqrt(s.fma(wide[0], wide[0], wide[1] * wide[1])), float32)
    else:
        low, high = s.min(abs(x), abs(y)), s.max(abs(x), abs(y))
        scale = s.select(high > 2.0**500, 2.0**-600, s.select(high < 2.0**-400, s.constant(2.0**600, float64), 1.0))
        low, high = low * scale, high * scale
        root = s.sqrt(s.fma(high, high, low * low)) / scale
    return s.select(s.eq(abs(x), INF) | s.eq(abs(y), INF), INF, root)


def log_of_base(s: Any, x: Any, one: tuple[float, float], two: tuple[float, float]) -> Any:
    """A logarithm of which `one` is that of e and `two` that of 2, both in two parts."""
    form = FORMATS[x.dtype.bits]
    lift = form.fraction + 1
    is_small = x < form.least
    exponent, mantissa = s.split(s.select(is_small, x * 2.0**lift, x), form)
    exponent = s.small_integer(s.select(is_small, exponent - lift, exponent), form)
    f = mantissa - 1
    square = f * f
    tail = s.fma(f * square, s.polynomial(f, tables.LOG[x.dtype.bits]), square * -0.5)
    near = f * one[0]
    tail = s.fma(tail, one[0], f * one[1] + product_rest(s, f, s.constant(one[0], x.dtype), near))
    whole = exponent * two[0]
    y = whole + near
    return s.log_ends(x, y + ((near - (y - whole)) + s.fma(exponent, two[1], tail)), x)


def log2(s: Any, x: Any) -> Any:
    """The exponent of x and the logarithm of the rest: exact for powers of 2."""
    return log_of_base(s, x, tables.LOG2_E[x.dtype.bits], (1.0, 0.0))


def log10(s: Any, x: Any) -> Any:
    """A logarithm to base 10."""
    return log_of_base(s, x, tables.LOG10_E[x.dtype.bits], tables.LOG10_2[x.dtype.bits])


def exp2(s: Any, x: Any) -> Any:
    """2**n 2**r of a whole n and |r| <= 1/2; 2**n in two factors, so that it reaches the denormal numbers."""
    form = FORMATS[x.dtype.bits]
    clamped = s.min(s.max(x, -2.0 * form.bias), 2.0 * form.bias)
    t = clamped + form.magic
    r = clamped - (t - form.magic)
    n = s.bitcast(t, form.integer) - s.bitcast(s.constant(form.magic, x.dtype), form.integer)
    half = n >> 1
    first, second = (s.bitcast((k + form.bias) << form.fraction, x.dtype) for k in (half, n - half))
    return s.fma(s.polynomial(r, tables.EXP2[x.dtype.bits]), r, 1.0) * first * second


def cbrt(s: Any, x: Any) -> Any:
    """exp(log(a)/3) of a = |x|, and a step of Newton's method."""
    a = abs(x)
    y = s.exp(s.log(a) * (1 / 3))
    y = s.fma(a / (y * y) - y, 1 / 3, y)
    return s.select((a > 0) & (a < INF), s.with_sign(y, x), x)


def product_rest(s: Any, x: Any, y: Any, product: Any) -> Any:
    """x*y - product, without a rounding where product is nearly that."""
    return s.fma(x, y, -product) if s.fused else split_rest(s, x, y, product)


def split_rest(s: Any, x: Any, y: Any, product: Any) -> Any:
    """The same without fma: the product of the rounded factors, its error, and what it differs from `product` by.

    0 where the factors are too large to be taken apart.
    """
    near = x * y
    rest = product_error(x, y, near, SPLIT[x.dtype.bits]) + (near - product)
    return s.select(s.eq(rest, rest), rest, 0.0)
