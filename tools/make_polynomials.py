"""Writes stele/kernel/tables.py: polynomial coefficients for each dtype, fitted in 80 digits.

    python tools/make_polynomials.py > stele/kernel/tables.py

A fit is weighted least squares at Chebyshev nodes, which is within a fraction of a bit of minimax. Coefficients are
rounded to the dtype one after another, lowest power first, and those that remain are fitted again.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
)


# Constants in parts: each part but the last has so few bits that its product with a small integer is exact.
PARTS = (
    ("LN2",          mp.log(2),     {24: (16, 24), 53: (42, 53)}),
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
            for value in values:
                print(f"        {float(value)!r},")
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
