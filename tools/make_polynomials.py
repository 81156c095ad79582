"""Writes stele/kernel/tables.py: polynomial coefficients for each dtype, fitted in 80 digits.

    python tools/make_polynomials.py > stele/kernel/tables.py

A fit is weighted least squares at Chebyshev nodes, which is within a fraction of a bit of minimax. Coefficients are
rounded to the dtype one after another, lowest power first, and those that remain are fitted again.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from mpmath import mp, mpf

mp.dps = 80
WIDTH = {24: 32, 53: 64}  # of a float, by bits of its significand
Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """A polynomial for `target` on an interval; `weight` turns its error into error of the function, in ulps of 1."""

    name: str
    meaning: str
    target: Function
    weight: Function
    low: mpf
    high: dict[int, mpf]
    degree: dict[int, int]


def both(high: mpf) -> dict[int, mpf]:
    """One upper end of the interval for both dtypes."""
    return {24: high, 53: high}


def rounded(x: mpf, bits: int) -> mpf:
    """x rounded to a float of 24 or 53 bits."""
    if x == 0:
        return x
    unit = mpf(2) ** (mp.floor(mp.log(abs(x), 2)) + 1 - bits)
    return mp.nint(x / unit) * unit


def nodes(a: mpf, b: mpf, count: int) -> list[mpf]:
    return [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def least_squares(x: list[mpf], y: list[mpf], w: list[mpf], powers: range) -> list[mpf]:
    rows = mp.matrix([[wi * xi**p for p in powers] for xi, wi in zip(x, w)])
    right = mp.matrix([wi * yi for yi, wi in zip(y, w)])
    return [*mp.lu_solve(rows.T * rows, rows.T * right)]


def coefficients(fit: Fit, bits: int) -> tuple[list[mpf], mpf]:
    """Coefficients, lowest power first, and the largest weighted error in ulps."""
    degree = fit.degree[bits]
    x = nodes(fit.low, fit.high[bits], 4 * degree + 16)
    y, w = [fit.target(t) for t in x], [fit.weight(t) for t in x]
    found: list[mpf] = []
    rest = list(y)
    for power in range(degree + 1):
        solution = least_squares(x, rest, w, range(power, degree + 1))
        found.append(rounded(solution[0], bits))
        rest = [r - found[-1] * t**power for r, t in zip(rest, x)]
    return found, max(abs(r * v) for r, v in zip(rest, w)) * mpf(2) ** bits


def scaled_erfc(a: mpf) -> mpf:
    """What erfc(a) is beside exp(-a**2) / (1 + 2*a), between 1 and 1.3."""
    return (1 + 2 * a) * mp.exp(a * a) * mp.erfc(a)


ROOT = mp.findroot(mp.digamma, mpf("1.4616321449683623412626595423257213")) - 1


def stirling(w: mpf) -> mpf:
    """What Stirling's formula lacks of log(gamma(x)), times x, for w = 1/x**2."""
    x = 1 / mp.sqrt(w)
    return (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def less_digamma(x: mpf) -> mpf:
    return (mp.log(x) - mp.digamma(x)) * x


def grown(order: int, v: mpf) -> mpf:
    """exp(-x) * sqrt(x) times a modified Bessel function, for v = 16/x - 1."""
    x = 16 / (v + 1)
    return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)


@cache
def inverse(w: mpf) -> mpf:
    """The positive number of which erf squared is 1 - exp(-w)."""
    if w < 5:
        return mp.erfinv(mp.sqrt(-mp.expm1(-w)))
    q = -mp.expm1(mp.log1p(-mp.exp(-w)) / 2)
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(q), mp.sqrt(w - mp.log(w * mp.pi) / 2))


def beside_root(s: mpf) -> mpf:
    return inverse(s * s) / s


FITS = (
    Fit("EXP", "(exp(r) - 1 - r) / r**2 for |r| <= ln(2)/2",
        lambda r: (mp.expm1(r) - r) / r**2, lambda r: abs(r),
        -mp.log(2) / 2, both(mp.log(2) / 2), {24: 4, 53: 9}),
    Fit("LOG", "(log(1+f) - f + f**2/2) / f**3 for sqrt(1/2) <= 1+f <= sqrt(2)",
        lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, lambda f: f * f,
        mp.sqrt(0.5) - 1, both(mp.sqrt(2) - 1), {24: 7, 53: 18}),
    Fit("SIN", "(sin(r) - r) / r**3 in r**2 for |r| <= pi/2",
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
        mpf(0), both((mp.pi / 2) ** 2), {24: 3, 53: 8}),
    Fit("ATANH", "(log((1+s)/(1-s)) - 2*s - 2*s**3/3) / s**5 in s**2 for |s| <= (sqrt(2)-1) / (sqrt(2)+1)",
        lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2 - z * 2 / 3) / z**2, lambda z: z**2,
        mpf(0), both(((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2), {53: 8}),
    Fit("ATAN", "(atan(t) - t) / t**3 in t**2 for |t| <= 1",
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)),
        mpf(0), both(mpf(1)), {24: 8, 53: 19}),
    Fit("ERF", "erf(x)/x - 1 in x**2 for |x| <= 1",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, lambda z: mpf(1),
        mpf(0), both(mpf(1)), {24: 6, 53: 13}),
    Fit("ERFC", "log(1 - erf(a)) for 1 <= a <= 4 (float32) or 6 (float64)",
        lambda a: mp.log(mp.erfc(a)), lambda a: mp.erfc(a),
        mpf(1), {24: mpf(4), 53: mpf(6)}, {24: 6, 53: 16}),
    Fit("ERFCX", "(1 + 2*a) * exp(a**2) * (1 - erf(a)) in (a-2)/(a+2) for 1/2 <= a <= 9.4 (float32) or 27 (float64)",
        lambda t: scaled_erfc(2 * (1 + t) / (1 - t)), lambda t: mpf(1),
        mpf(-3) / 5, {24: mpf(37) / 57, 53: mpf(25) / 29}, {24: 8, 53: 22}),
    Fit("EXP2", "(2**r - 1) / r for |r| <= 1/2",
        lambda r: (mpf(2) ** r - 1) / r, lambda r: abs(r) / mpf(2) ** r,
        -mpf(1) / 2, both(mpf(1) / 2), {24: 5, 53: 10}),
    Fit("TAN", "(tan(r) - r) / r**3 in r**2 for |r| <= pi/4",
        lambda z: (mp.tan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z * mp.sqrt(z) / mp.tan(mp.sqrt(z)),
        mpf(0), both((mp.pi / 4) ** 2), {24: 6, 53: 14}),
    Fit("ASIN", "(asin(r) - r) / r**3 in r**2 for |r| <= 0.55",
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)),
        mpf(0), both(mpf("0.3026")), {24: 5, 53: 13}),
    Fit("ASINH", "(asinh(r) - r) / r**3 in r**2 for |r| <= 1/2",
        lambda z: (mp.asinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z * mp.sqrt(z) / mp.asinh(mp.sqrt(z)),
        mpf(0), both(mpf(1) / 4), {24: 4, 53: 10}),
    Fit("ACOSH", "(acosh(1+t) / sqrt(2*t) - 1) / t for 0 <= t <= 1/2",
        lambda t: (mp.acosh(1 + t) / mp.sqrt(2 * t) - 1) / t, lambda t: t * mp.sqrt(2 * t) / mp.acosh(1 + t),
        mpf(0), both(mpf(1) / 2), {24: 4, 53: 10}),
    Fit("ATANH_NEAR", "(atanh(r) - r) / r**3 in r**2 for |r| <= 1/2",
        lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z * mp.sqrt(z) / mp.atanh(mp.sqrt(z)),
        mpf(0), both(mpf(1) / 4), {24: 5, 53: 12}),
    Fit("SINH", "(sinh(r) - r) / r**3 in r**2 for |r| <= 1",
        lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z * mp.sqrt(z) / mp.sinh(mp.sqrt(z)),
        mpf(0), both(mpf(1)), {24: 3, 53: 7}),
    Fit("LGAMMA_1", "log(gamma(1+u)) / (u*(u-1)) for 0 <= u <= 1",
        lambda u: mp.loggamma(1 + u) / (u * (u - 1)), lambda u: u * (u - 1) / mp.loggamma(1 + u),
        mpf(0), both(mpf(1)), {53: 20}),
    Fit("LGAMMA_2", "log(gamma(2+u)) / u for 0 <= u <= 2",
        lambda u: mp.loggamma(2 + u) / u, lambda u: u / mp.loggamma(2 + u),
        mpf(0), both(mpf(2)), {53: 20}),
    Fit("STIRLING", "(log(gamma(x)) - (x-1/2)*log(x) + x - log(2*pi)/2) * x in 1/x**2 for x >= 4",
        stirling, lambda w: mpf(1) / 16,
        mpf(0), both(mpf(1) / 16), {53: 8}),
    Fit("DIGAMMA_1", "psi(1+u) / (u - u0) for 0 <= u <= 1, where psi(1+u0) = 0",
        lambda u: mp.digamma(1 + u) / (u - ROOT), lambda u: (u - ROOT) / mp.digamma(1 + u),
        mpf(0), both(mpf(1)), {53: 22}),
    Fit("DIGAMMA_2", "(log(x) - psi(x)) * x in (x-4)/(x+4) for x >= 2",
        lambda t: less_digamma(4 * (1 + t) / (1 - t)), lambda t: mpf(1),
        -mpf(1) / 3, both(mpf(1)), {53: 27}),
    Fit("I0_NEAR", "I0(2*sqrt(t)) for 0 <= t <= 16",
        lambda t: mp.besseli(0, 2 * mp.sqrt(t)), lambda t: 1 / mp.besseli(0, 2 * mp.sqrt(t)),
        mpf(0), both(mpf(16)), {53: 17}),
    Fit("I0_FAR", "exp(-x) * sqrt(x) * I0(x) in 16/x - 1 for x >= 8",
        lambda v: grown(0, v), lambda v: 1 / grown(0, v),
        mpf(-1), both(mpf(1)), {53: 23}),
    Fit("I1_NEAR", "I1(2*sqrt(t)) / sqrt(t) for 0 <= t <= 16",
        lambda t: mp.besseli(1, 2 * mp.sqrt(t)) / mp.sqrt(t), lambda t: mp.sqrt(t) / mp.besseli(1, 2 * mp.sqrt(t)),
        mpf(0), both(mpf(16)), {53: 17}),
    Fit("I1_FAR", "exp(-x) * sqrt(x) * I1(x) in 16/x - 1 for x >= 8",
        lambda v: grown(1, v), lambda v: 1 / grown(1, v),
        mpf(-1), both(mpf(1)), {53: 23}),
    Fit("ERFINV_NEAR", "y/x in w - 5/2 for 0 <= w <= 5, where erf(y) = x and 1 - x**2 = exp(-w)",
        lambda w: inverse(w + mpf(5) / 2) / mp.sqrt(-mp.expm1(-w - mpf(5) / 2)),
        lambda w: mp.sqrt(-mp.expm1(-w - mpf(5) / 2)) / inverse(w + mpf(5) / 2),
        mpf(-5) / 2, both(mpf(5) / 2), {53: 22}),
    Fit("ERFINV_FAR", "y/s in (s-4)/(s+4) for sqrt(5) <= s <= 6.5, where 1 - erf(y)**2 = exp(-s**2)",
        lambda t: beside_root(4 * (1 + t) / (1 - t)), lambda t: mpf(1),
        (mp.sqrt(5) - 4) / (mp.sqrt(5) + 4), both(mpf(5) / 21), {53: 26}),
    Fit("ERFINV_END", "y/s in (s-13)/(s+13) for 6.5 <= s <= 27.5",
        lambda t: beside_root(13 * (1 + t) / (1 - t)), lambda t: mpf(1),
        mpf(-1) / 3, both(mpf(29) / 81), {53: 23}),
)


# Constants in parts: each part but the last has so few bits that its product with a small integer is exact.
PARTS = (
    ("LN2",          mp.log(2),     {24: (16, 24), 53: (42, 53)}),
    ("LOG2_E",       1 / mp.log(2), {24: (24, 24), 53: (53, 53)}),
    ("LOG10_E",      1 / mp.log(10), {24: (24, 24), 53: (53, 53)}),
    ("LOG10_2",      mp.log10(2),   {24: (16, 24), 53: (42, 53)}),
    ("DIGAMMA_ROOT", ROOT,          {53: (53, 53)}),
    ("TWO_THIRDS",   mpf(2) / 3,    {53: (53, 53)}),
    ("HALF_PI",      mp.pi / 2,     {24: (24, 24, 24), 53: (53, 53, 53)}),
    ("HALF_PI_CUT",  mp.pi / 2,     {24: (11, 11, 11, 24), 53: (24, 24, 24, 53)}),
)


def parts(value: mpf, widths: tuple[int, ...]) -> list[mpf]:
    """Positive numbers of the given bits that sum to value (positive, so that n = 0 takes no sign from a zero)."""
    found: list[mpf] = []
    for bits in widths:
        rest = value - sum(found)
        unit = mpf(2) ** (mp.floor(mp.log(rest, 2)) + 1 - bits)
        found.append(mp.floor(rest / unit) * unit)
    return found


def main() -> None:
    print('"""Polynomial coefficients by bits of the dtype, lowest power first; from tools/make_polynomials.py."""')
    print("# fmt: off")
    for fit in FITS:
        print(f"\n# {fit.meaning}\n{fit.name} = {{")
        for bits in fit.degree:
            values, error = coefficients(fit, bits)
            print(f"    {WIDTH[bits]}: (  # the fit is off by {float(error):.3f} ulp at most")
            for k in range(0, len(values), 4):
                print(f"        {', '.join(repr(float(value)) for value in values[k:k + 4])},")
            print("    ),")
        print("}")
    print("\n# Constants in parts, the largest first.")
    for name, value, widths in PARTS:
        print(f"{name} = {{")
        for bits, cut in widths.items():
            print(f"    {WIDTH[bits]}: ({', '.join(repr(float(p)) for p in parts(value, cut))}),")
        print("}")
    print("\n# 1/pi in pieces of 26 bits: the sum of piece k times 2**(-26 (k+1)).")
    print("INVERSE_PI = (")
    mp.dps = 500
    for k in range(1, 47):
        print(f"    {float(mp.floor(mp.ldexp(1 / mp.pi, 26 * k)) % 2**26)!r},")
    print(")")


if __name__ == "__main__":
    main()
