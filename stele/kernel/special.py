"""Special functions in float64, said to a builder `s`; float32 goes through float64 and is rounded once.

Formulas are those of the Digital Library of Mathematical Functions (dlmf.nist.gov), by number; the polynomials between
their ends are fitted by tools/make_polynomials.py.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from stele.ir.types import float64
from stele.kernel import tables
from stele.kernel.elementary import product_rest, tan_near
from stele.kernel.exact import two_sum
from stele.kernel.formats import FORMATS
from stele.kernel.power import log_parts
from stele.ops.elementwise.references import bernoulli, cotangents

INF = math.inf
ROOT_HALF = math.sqrt(0.5)
STEPS = 12           # terms of a zeta function that are summed before the rest is an integral


def wide(s: Any, f: Callable[..., Any], *x: Any) -> Any:
    """f in float64, rounded to the dtype of x."""
    x = s.meet(*x)
    return s.cast(f(s, *(s.cast(v, float64) for v in x)), x[0].dtype)


def sinpi(s: Any, x: Any) -> Any:
    """sin(pi x): pi times what is left of x after whole numbers, in two parts."""
    n = s.round(x)
    half = n * 0.5
    r = x - n
    pi, pi_rest = (2 * part for part in tables.HALF_PI[64][:2])
    angle = r * pi
    rest = product_rest(s, r, s.constant(pi, float64), angle) + r * pi_rest
    y = s.sin_near(angle, s.bitcast(angle * 0, FORMATS[64].integer) & 0, FORMATS[64])
    y = s.fma(rest, 1 - angle * angle * 0.5, y)
    return s.select(s.ne(s.trunc(half), half), -y, y)


def tanpi(s: Any, x: Any) -> Any:
    """tan(pi x), with its sign and its poles, for |x| < 2**50."""
    t = x + x + FORMATS[64].magic
    r = x - (t - FORMATS[64].magic) * 0.5
    pi, pi_rest = (2 * part for part in tables.HALF_PI[64][:2])
    angle = r * pi
    rest = product_rest(s, r, s.constant(pi, float64), angle) + r * pi_rest
    return tan_near(s, angle, rest, s.bitcast(t, FORMATS[64].integer))


def sinc(s: Any, x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0 and 0 at infinities."""
    y = sinpi(s, x) / (x * math.pi)
    return s.select(s.eq(x, 0), 1.0, s.select(s.eq(abs(x), INF), 0.0, y))


def lgamma(s: Any, x: Any) -> Any:
    """log|gamma(x)|: a polynomial on [1, 2] and on [2, 4], Stirling's series (5.11.1) from 4, one step (5.5.1) below 1.

    Below 0 by reflection (5.5.3), whose two sides cancel near the zeros there and are computed in two parts each.
    """
    a = abs(x)
    u = s.select(a < 1, a, a - 1)
    low = u * (u - 1) * s.polynomial(s.min(u, 1.0), tables.LGAMMA_1[64]) + 0.0         # no -0 at 1
    middle = (a - 2) * s.polynomial(s.min(a, 4.0) - 2, tables.LGAMMA_2[64])
    y = s.select(a < 2, s.select(a < 1, low - s.log(a), low), s.select(a < 4, middle, stirling(s, s.max(a, 4.0))))
    mirrored = s.select(a < 1e-17, -s.log(a), math.log(math.pi) - s.log(a * abs(sinpi(s, a))) - y)
    is_pole = s.eq(s.round(a), a)
    cancels = (x < 0) & (a > 0.25) & (a < 40) & ~is_pole
    mirrored = s.rare(cancels, lambda: reflected_gamma(s, s.select(cancels, a, 0.5)), mirrored)
    return s.select(s.eq(a, INF) | (x < 0) & is_pole, INF, s.select(x < 0, mirrored, y))


def stirling(s: Any, x: Any) -> Any:
    """(x - 1/2) (log(x) - 1) + log(2 pi)/2 - 1/2 + c(x)/x, the product in two parts."""
    high, low = log_parts(s, x)
    factor = x - 0.5
    less = high - 1
    rest = (high - (less + 1)) + low
    product = factor * less
    last = product_rest(s, factor, less, product) + factor * rest
    r = 1 / x
    y = product + (last + s.fma(s.polynomial(r * r, tables.STIRLING[64]), r, (math.log(2 * math.pi) - 1) / 2))
    return s.select(s.eq(product, INF), product, y)


def digamma(s: Any, x: Any) -> Any:
    """The derivative of lgamma: (x - root) P(x) on [1, 2], log(x) - h(x)/x above, one step (5.5.2) below.

    Below 0 by reflection (5.5.4), whose two sides cancel near the zeros there and are computed in two parts each.
    """
    a = abs(x)
    u = s.min(s.select(a < 1, a, a - 1), 1.0)
    root, root_rest = tables.DIGAMMA_ROOT[64]
    near = ((u - root) - root_rest) * s.polynomial(u, tables.DIGAMMA_1[64])
    far = s.log(a) - s.polynomial(1 - 8 / (a + 4), tables.DIGAMMA_2[64]) / a
    is_small = a < 1
    y = s.select(a < 2, near, far)                                    # psi(1 + a) where a is small
    positive = s.select(is_small, y - 1 / a, y)
    tangent = tanpi(s, a)
    mirrored = s.select(is_small, y, y + 1 / a) + math.pi / tangent
    cancels = (x < 0) & (a > 0.25) & (a < 2.0**50)
    mirrored = s.rare(cancels, lambda: reflected_psi(s, s.select(cancels, a, 0.5)), mirrored)
    mirrored = s.select(s.eq(tangent, 0) & (a > 0) | (a > 2.0**50), math.nan, mirrored)
    return s.select(s.bitcast(x, FORMATS[64].integer) < 0, mirrored, positive)


def reflected_psi(s: Any, a: Any) -> Any:
    """digamma(-a) = digamma(1 + a) + pi / tan(pi a), all of it in two parts: good to 63 bits of the larger of them.

    pi / tan(pi r) is 1 / r + 2r / (r**2 - 1) less r times a series in r**2 (4.22.3); digamma that of a + 13.
    """
    r, z, z_rest = fraction(s, a)
    under, lost = two_sum(z, -1.0)
    series, series_rest = deep(s, z, z_rest, COTANGENT)
    product = -r * series
    b, b_rest = two_sum(a, s.constant(STEPS + 1.0, float64))
    log, log_rest = log_parts(s, b)
    half, half_rest = quotient(s, b, b_rest, -0.5)
    w = 4 * half * half
    return added([quotient(s, r, 0.0, 1.0), quotient(s, under, lost + z_rest, r + r),
                  (product, product_rest(s, -r, series, product) - r * series_rest),
                  *(quotient(s, *two_sum(a, s.constant(float(k), float64)), -1.0) for k in range(1, STEPS + 1)),
                  (log, log_rest + b_rest / b), (half, half_rest - w * s.polynomial(w, PSI))])


def reflected_gamma(s: Any, a: Any) -> Any:
    """lgamma(-a) = -log(|sin(pi a)| / pi) - lgamma(1 + a) (5.5.3), in two parts each: good to 60 bits of the larger.

    sin(pi r) / pi is r (1 - r**2) times the exponential of a series in r**2; gamma that of a + 13 by 12 factors.
    """
    r, z, z_rest = fraction(s, a)
    near, lost = two_sum(1.0, -z)
    sine, sine_rest = multiplied(s, (abs(r), 0.0), (near, lost - z_rest))
    factors = [two_sum(a, s.constant(float(k), float64)) for k in range(1, STEPS + 1)]
    under, under_rest = reduce(lambda x, y: multiplied(s, x, y), factors)
    ratio, ratio_rest = quotient(s, under, under_rest, sine, sine_rest)
    log, log_rest = log_parts(s, ratio)
    series = multiplied(s, (-z, -z_rest), deep(s, z, z_rest, LOG_SINE))
    b, b_rest = two_sum(a, s.constant(STEPS + 1.0, float64))
    log_b, log_b_rest = log_parts(s, b)
    less, lost = two_sum(b, s.constant(-0.5, float64))
    r, r_rest = quotient(s, b, b_rest, *TWELFTH)
    w = 144 * r * r
    y = added([(log, log_rest + ratio_rest / ratio), series, (-b, -b_rest), ROOT_TWO_PI,
               multiplied(s, (less, lost + b_rest), (log_b, log_b_rest + b_rest / b)),
               (r, r_rest + r * w * s.polynomial(w, STIRLING_NEXT))])
    return -y


def fraction(s: Any, a: Any) -> tuple[Any, Any, Any]:
    """What is left of a after whole numbers, and its square in two parts."""
    r = a - s.round(a)
    return r, r * r, product_rest(s, r, r, r * r)


def quotient(s: Any, x: Any, x_rest: Any, n: Any, n_rest: Any = 0.0) -> tuple[Any, Any]:
    """n / x of numbers in two parts, in two parts."""
    q = n / x
    return q, (n_rest - (product_rest(s, q, x, q * 0 + n) + q * x_rest)) / x


def multiplied(s: Any, x: tuple[Any, Any], y: tuple[Any, Any]) -> tuple[Any, Any]:
    """The product of two numbers in two parts, in two parts."""
    product = x[0] * y[0]
    return product, product_rest(s, x[0], y[0], product) + x[0] * y[1] + x[1] * y[0]


def deep(s: Any, z: Any, z_rest: Any, coefficients: Sequence[Fraction]) -> tuple[Any, Any]:
    """A polynomial in two parts, of which the first coefficients count in both."""
    h, rest = s.polynomial(z, tuple(map(float, coefficients[DEEP:]))), 0.0
    for c in reversed(coefficients[:DEEP]):
        product, lost = multiplied(s, (z, z_rest), (h, rest))
        h, error = two_sum(product, s.constant(float(c), float64))
        rest = error + lost + float(c - Fraction(float(c)))
    return h, rest


def added(parts: Sequence[tuple[Any, Any]]) -> Any:
    """The sum of numbers in two parts."""
    total, rest = parts[0]
    for part, lost in parts[1:]:
        total, error = two_sum(total, part)
        rest = rest + (error + lost)
    return total + rest


def zeta_less(terms: int) -> list[Fraction]:
    """zeta(2k) - 1 for k = 1, 2, ... by numbers of Bernoulli and pi (25.6.2)."""
    pi, b = 2 * sum(map(Fraction, tables.HALF_PI[64])), [Fraction(1)]
    for m in range(1, 2 * terms + 1):
        b.append(-sum((math.comb(m + 1, k) * b[k] for k in range(m)), Fraction(0)) / (m + 1))
    return [abs(b[2 * k]) * (2 * pi) ** (2 * k) / (2 * math.factorial(2 * k)) - 1 for k in range(1, terms + 1)]


DEEP = 5                                # coefficients in two parts
ZETA = zeta_less(16)
COTANGENT = [2 * c for c in ZETA]       # of pi / tan(pi r), without its poles at 0, 1 and -1
LOG_SINE = [c / k for k, c in enumerate(ZETA, 1)]
TWELFTH = 1 / 12, float(Fraction(1, 12) - Fraction(1 / 12))
ROOT_TWO_PI = 0.9189385332046728, -3.8782941580672414e-17       # its logarithm
# Numbers of Bernoulli: of digamma by (5.11.2), of lgamma by (5.11.1), behind the first
PSI = 1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160, 43867 / 14364, -174611 / 6600
STIRLING_NEXT = tuple(12 * c for c in (-1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
                                       43867 / 244188, -174611 / 125400))


def zeta(s: Any, x: Any, q: Any) -> Any:
    """The sum of (q + k)**-x over k >= 0: infinite at its poles, where q is no number above 0 but a whole one."""
    y = s.rare(q < 0, lambda: zeta_below(s, x, q), zeta_from(s, x, q, 0))
    y = s.select((x < 1) | s.ne(x, x) | s.ne(q, q), math.nan, y)
    is_pole = (q <= 0) & s.eq(s.floor(q), q) & (x > 1)
    return s.select(s.eq(x, 1) | is_pole, INF, y)


def zeta_from(s: Any, x: Any, q: Any, first: int) -> Any:
    """The sum of (q + k)**-x over k >= first: some terms, and the rest by Euler and Maclaurin (25.11.5)."""
    steps = STEPS + first
    end, last = q + steps, shifted(s, x, q, steps)
    r = 1 / end
    series, factor = s.constant(0.0, float64), x * r
    for k, b in enumerate(bernoulli(STEPS)):
        series = series + factor * b
        factor = factor * (x + (2 * k + 1)) * (x + (2 * k + 2)) * (r * r)
    rest = last * (end / (x - 1) + 0.5 + s.select(series < INF, series, 0.0))
    y = s.select(s.eq(last, 0), 0.0, rest)
    for k in reversed(range(first, steps)):
        y = y + shifted(s, x, q, k)
    return y


def zeta_below(s: Any, x: Any, q: Any) -> Any:
    """The same of a negative q for whole x, NaN for others: the terms on both sides of 0 but for those beyond q. Those
    of odd x cancel exactly at halves.
    """
    r = q - s.round(q)
    near, other = zeta_from(s, x, abs(r), 0), zeta_from(s, x, -abs(r), 1)
    half = x * 0.5
    is_even = s.eq(s.trunc(half), half)
    sign = s.select(is_even, s.constant(1.0, float64), -1.0)
    y = s.select(r < 0, near * sign + other, near + other * sign) - zeta_from(s, x, -q, 1) * sign
    y = s.select(is_even & s.eq(near, INF), INF, y)
    return s.select(s.ne(s.trunc(x), x), math.nan, y)


def shifted(s: Any, x: Any, q: Any, k: int) -> Any:
    """(q + k)**-x, where the rounding of the sum does not count x times."""
    end = q + k
    y = s.pow(end, -x)
    lost = (q - (end - k)) * x / end
    return s.select(abs(lost) < 1, s.fma(-y, lost, y), y) if k else y


def polygamma(s: Any, x: Any, n: int) -> Any:
    """Derivative number n >= 1 of digamma: (-1)**(n+1) n! zeta(n + 1, x) (5.15.1), below 0 by reflection (5.15.6)."""
    sign, scale = (-1.0) ** (n + 1), float(math.factorial(n))
    y = powers(s, s.select(x < 0, 1 - x, x), n + 1)
    if n <= 4:
        return s.select(x < 0, -cotangent(s, x, n) - y * scale, y * (sign * scale))
    y = s.rare(x < 0, lambda: poles(s, x - s.round(x), n + 1, y), y)
    return y * (sign * scale)


def cotangent(s: Any, x: Any, n: int) -> Any:
    """Derivative number n of pi / tan(pi x): by poles, near one, at 0, 1 and -1, and a series of the others (4.22.3).

    There powers of the tangent would have its error n + 1 times; far from poles they know the zeros.
    """
    r = x - s.round(x)
    poles = 1 / raised(r - 1, n + 1) + 1 / raised(r + 1, n + 1) + 1 / raised(r, n + 1)
    others = tuple(2 * float(c) * math.perm(2 * k + 1, n) for k, c in enumerate(ZETA) if 2 * k + 1 >= n)
    series = s.polynomial(r * r, others + (0.0,) * (2 - len(others)))
    near = poles * ((-1.0) ** n * math.factorial(n)) - (series if n % 2 else series * r)
    cot = s.with_sign(tanpi(s, 0.5 - abs(r)), r)
    return s.select(abs(r) < 0.375, near, s.polynomial(cot, cotangents(n)) * math.pi ** (n + 1))


def poles(s: Any, r: Any, n: int, left: Any) -> Any:
    """The sum of (r + k)**-n over whole k but for those below zero that make `left`, for |r| of 1/2 at most. In pairs
    that cancel exactly at 1/2, the largest in two parts.
    """
    a, sign = abs(r), (-1.0) ** n
    turn = s.select(r < 0, s.constant(sign, float64), 1.0)
    near = [inverse_power(s, *two_sum(a, s.constant(k, float64)), n) for k in (0.0, -1.0, 1.0, -2.0)]
    y = added([*near, (powers(s, 2 + a, n), 0.0), (powers(s, 3 - a, n) * sign, 0.0), (turn * left * -sign, 0.0)])
    return turn * s.select(abs(near[0][0]) < INF, y, near[0][0])


def inverse_power(s: Any, x: Any, x_rest: Any, n: int) -> tuple[Any, Any]:
    """x**-n of a number in two parts, in two parts; in one where those leave the range of float64."""
    y = x, x_rest
    for bit in f"{n:b}"[1:]:
        y = multiplied(s, y, y)
        y = multiplied(s, y, (x, x_rest)) if bit == "1" else y
    q, rest = quotient(s, *y, 1.0)
    return q, s.select(abs(rest) < INF, rest, 0.0)


def powers(s: Any, q: Any, n: int) -> Any:
    """zeta(n, q) for a whole n >= 2."""
    steps = STEPS + n
    is_far = q >= steps
    end = s.select(is_far, q, q + steps)
    r = 1 / end
    square, factor, series = r * r, float(n), s.constant(0.0, float64)
    terms: list[float] = []
    for k, b in enumerate(bernoulli(STEPS)):
        terms.append(factor * b)
        factor *= (n + 2 * k + 1) * (n + 2 * k + 2)
    for term in reversed(terms):
        series = s.fma(series, square, term)
    y = s.fma(end, 1 / (n - 1), 0.5 + series * r) * parted(s, end, 0.0, n)
    y = s.select(end < INF, y, 0.0)
    for k in reversed(range(steps)):
        y = s.select(is_far, y, y + parted(s, q, k, n))
    return y


def parted(s: Any, q: Any, k: float, n: int) -> Any:
    """(q + k)**-n, of a large n in two parts, or rounding would count n times."""
    if n <= 5:
        return 1 / raised(q + k, n)
    y, rest = inverse_power(s, *two_sum(q, s.constant(float(k), float64)), n)
    return y + rest


def raised(x: Any, n: int) -> Any:
    """x**n for a whole n >= 1, by squares."""
    y = x
    for bit in f"{n:b}"[1:]:
        y = y * y * x if bit == "1" else y * y
    return y


def i0e(s: Any, x: Any) -> Any:
    """exp(-a) I0(a) of a = |x|: a polynomial in a**2 (10.25.2) up to 8, beyond sqrt(1/a) times one in 1/a (10.40.1)."""
    near, far = bessel(s, abs(x), tables.I0_NEAR[64], tables.I0_FAR[64])
    return s.select(abs(x) <= 8, near * s.exp(-s.min(abs(x), 8.0)), far)


def i1e(s: Any, x: Any) -> Any:
    """exp(-a) I1(a) of a = |x|, with the sign of x."""
    near, far = bessel(s, abs(x), tables.I1_NEAR[64], tables.I1_FAR[64])
    a = s.min(abs(x), 8.0)
    return s.with_sign(s.select(abs(x) <= 8, near * (a * 0.5) * s.exp(-a), far), x)


def i0(s: Any, x: Any) -> Any:
    """I0(x)."""
    near, far = bessel(s, abs(x), tables.I0_NEAR[64], tables.I0_FAR[64])
    return s.select(abs(x) <= 8, near, grown(s, far, abs(x)))


def i1(s: Any, x: Any) -> Any:
    """I1(x)."""
    near, far = bessel(s, abs(x), tables.I1_NEAR[64], tables.I1_FAR[64])
    return s.with_sign(s.select(abs(x) <= 8, near * (abs(x) * 0.5), grown(s, far, abs(x))), x)


def bessel(s: Any, a: Any, near: tuple[float, ...], far: tuple[float, ...]) -> tuple[Any, Any]:
    """What is fitted up to 8, and beyond, where exp(-a) is in it."""
    t = s.min(a, 8.0) * 0.5
    b = s.max(a, 8.0)
    return s.polynomial(t * t, near), s.polynomial(16 / b - 1, far) / s.sqrt(b)


def grown(s: Any, y: Any, a: Any) -> Any:
    """y exp(a), finite where exp(a) alone is not: a - 4.5 is exact."""
    return s.select(s.eq(a, INF), INF, y * math.exp(4.5) * s.exp(a - 4.5))


def erfinv(s: Any, x: Any) -> Any:
    """The number whose erf is x."""
    return s.with_sign(inverse(s, abs(x), 1 - abs(x)), x)


def ndtri(s: Any, p: Any) -> Any:
    """The number below which a standard normal one is with probability p."""
    is_left = p < 0.5
    q = s.select(is_left, p, 1 - p)
    y = inverse(s, (0.5 - q) * 2, q + q) * math.sqrt(2)
    return s.select(is_left, -y, y)


def inverse(s: Any, x: Any, q: Any) -> Any:
    """The inverse of erf at x = 1 - q >= 0: polynomials in w = -log(1 - x**2) and in its root (after Giles, 2012)."""
    w = -s.log(q * (2 - q))
    near = x * s.polynomial(s.min(w, 5.0) - 2.5, tables.ERFINV_NEAR[64])
    root = s.sqrt(s.max(w, 5.0))
    far = s.polynomial(1 - 8 / (s.min(root, 6.5) + 4), tables.ERFINV_FAR[64])
    end = s.polynomial(1 - 26 / (root + 13), tables.ERFINV_END[64])
    y = s.select(w <= 5, near, root * s.select(root <= 6.5, far, end))
    return s.select(s.eq(q, 0), INF, s.select((q > 0) & (q <= 1), y, math.nan))


def erfcx(s: Any, x: Any) -> Any:
    """exp(x**2) erfc(x): the polynomial of erfc from 1/2 on, 1/(x sqrt(pi)) and six terms more (7.12.1) from 27."""
    a = abs(x)
    b = s.min(a, 27.0)
    fitted = s.polynomial((b - 2) / (b + 2), tables.ERFCX[64]) / (b + b + 1)
    far = s.polynomial((0.5 / a) / a, (1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0)) / (a * math.sqrt(math.pi))
    far = s.select(a > 27, far, fitted)
    square = x * x
    e = s.exp(square)
    e = s.select(e < INF, s.fma(e, product_rest(s, x, x, square), e), e)
    return s.select(x > 0.5, far, s.select(x < -0.5, e + e - far, e * s.erfc(x)))


def ndtr(s: Any, x: Any) -> Any:
    """The probability that a standard normal number is below x: exp(-x**2/2) of x**2 in two parts on the left."""
    a = s.min(abs(x), 40.0)
    square = a * a
    e = s.exp(square * -0.5)
    tail = s.fma(e, product_rest(s, a, a, square) * -0.5, e) * erfcx(s, a * ROOT_HALF) * 0.5
    near = s.fma(s.erf(x * ROOT_HALF), 0.5, 0.5)
    return s.select(abs(x) < 0.7, near, s.select(x < 0, tail, 1 - tail))


def log_ndtr(s: Any, x: Any) -> Any:
    """The logarithm of ndtr: -x**2/2 + log(erfcx(-x/sqrt(2))/2) on the left, log1p of what is missing on the right."""
    a = abs(x)
    left = x * x * -0.5 + s.log(erfcx(s, a * ROOT_HALF) * 0.5)
    return s.select(x < -0.7, left, s.log1p(-ndtr(s, -x)))
