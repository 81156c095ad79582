"""Transcendental functions as branch-free polynomials in the scalar vocabulary, in float32 and float64.

Errors are measured by tools/measure_ulp.py and published in docs/approximations.md. Integers are unpacked from floats
by adding a `magic` number so large that the sum has no fraction: the integer is its low bits.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

from stele.kernel import modulo, tables
from stele.kernel.exact import SPLIT, product_error
from stele.kernel.far import half_turns
from stele.kernel.formats import FORMATS, Format
from stele.kernel.power import power
from stele.kernel.vocabulary import Element, Operand, V, Vocabulary

LN2 = math.log(2)
HALF_LN2 = {32: (LN2 / 2,), 64: tuple(part / 2 for part in tables.LN2[64])}     # a float32 is ln(2) to 29 bits
INF = math.inf
FAR = {32: 2.0**13, 64: 2.0**28}  # beyond, sin and cos reduce their argument as far.py does


class Approximations(Vocabulary[V]):
    """The functions of the vocabulary that no machine has, for any builder."""

    def exp(self, x: Element[V]) -> Element[V]:
        """Results below 1.5 times the least normal number are 0."""
        x, form = self._float(x)
        return self._exp_below(self.min(x, form.exp_high), form)

    def expm1(self, x: Element[V]) -> Element[V]:
        x, form = self._float(x)
        clamped = self.min(self.max(x, form.expm1_low), form.exp_high)
        n, half = self._exponent(clamped, form)
        high, low = tables.LN2[x.dtype.bits]
        near = self.fma(n, -high, clamped)
        r = self.fma(n, -low, near)
        rest = self.fma(n, -low, near - r)
        tail = self.fma(r * r, self.polynomial(r, tables.EXP[x.dtype.bits]), rest)
        y = self.fma(tail, half, self.fma(r, half, half - 0.5))
        return self.select(abs(x) < 2.0 ** (-form.fraction - 2), x, y + y)

    def sigmoid(self, x: Element[V]) -> Element[V]:
        """Results below 1.5 times the least normal number are 0."""
        x, form = self._float(x)
        e = self._exp_below(-abs(x), form)
        part = e / (1 + e)
        top = self.select(x < 0, e, 1)
        return self.fma(-part, top, top)

    def tanh(self, x: Element[V]) -> Element[V]:
        """h / (h + 1) for h = (exp(2 |x|) - 1) / 2, which comes without cancellation."""
        x, form = self._float(x)
        a = self.min(abs(x), 1 - form.expm1_low / 2)
        n, scale = self._exponent(a, form, LN2 / 2, 0)
        r = reduce(lambda r, part: self.fma(n, -part, r), HALF_LN2[x.dtype.bits], a)
        halved = [2.0 ** (k + 1) * c for k, c in enumerate(tables.EXP[x.dtype.bits])]    # expm1(2 r) / 2
        h = self.fma(self.fma(r * r, self.polynomial(r, halved), r), scale, self.fma(scale, 0.5, -0.5))
        y = h / (h + 1)
        # h / (1 + h) = h - h * h / (1 + h), where what the sum and the quotient lose counts less
        return self.with_sign(self.select(h < 0.5, self.fma(-h, y, h), y), x)

    def log(self, x: Element[V]) -> Element[V]:
        x, form = self._float(x)
        lift = form.fraction + 1
        is_small = x < form.least
        exponent, mantissa = self.split(self.select(is_small, x * 2.0**lift, x), form)
        y = self.log_near(mantissa - 1, self.select(is_small, exponent - lift, exponent))
        return self.log_ends(x, y, x)

    def log1p(self, x: Element[V]) -> Element[V]:
        x, form = self._float(x)
        exponent, _ = self.split(1 + x, form)
        # (1 + x) / 2**e - 1 with one rounding; 4 / 2**e and not 1 / 2**e, which would be denormal for the largest x.
        four = self.bitcast((form.bias + 2 - exponent) << form.fraction, form.dtype)
        near = self.fma(x * 0.25, four, four * 0.25 - 1)
        y = self.select(abs(x) < 2.0 ** (-form.fraction - 2), x, self.log_near(near, exponent))
        return self.log_ends(x, y, 1 + x)

    def sin(self, x: Element[V]) -> Element[V]:
        x, form = self._float(x)
        t = self.fma(x, 1 / math.pi, form.magic)
        r = self._minus_half_pi(x, (t - form.magic) * 2)
        return self._or_far(x, 0.0, self.sin_near(r, self.bitcast(t, form.integer), form))

    def cos(self, x: Element[V]) -> Element[V]:
        x, form = self._float(x)
        t = self.fma(x, 1 / math.pi, -0.5) + form.magic
        r = self._minus_half_pi(x, self.fma(t - form.magic, 2.0, 1.0))
        return self._or_far(x, 0.5, self.sin_near(r, self.bitcast(t, form.integer) + 1, form))

    def atan(self, x: Element[V]) -> Element[V]:
        x, _ = self._float(x)
        a = abs(x)
        is_steep = a > 1
        t = self.select(is_steep, 1 / a, a)
        z = t * t
        y = self.fma(z * self.polynomial(z, tables.ATAN[x.dtype.bits]), t, t)
        high, low, *_ = tables.HALF_PI[x.dtype.bits]
        return self.with_sign(self.select(is_steep, high - (y - low), y), x)

    def erf(self, x: Element[V]) -> Element[V]:
        x, _ = self._float(x)
        bits = x.dtype.bits
        a = abs(x)
        near = self.fma(self.polynomial(x * x, tables.ERF[bits]), x, x)
        tail = self.exp(self.polynomial(self.min(a, 4.0 if bits == 32 else 6.0), tables.ERFC[bits]))
        return self.select(a < 1, near, self.with_sign(1 - tail, x))

    def erfc(self, x: Element[V]) -> Element[V]:
        """Results below a sixteenth of the least normal number are 0."""
        x, _ = self._float(x)
        bits = x.dtype.bits
        a = self.min(abs(x), 10.5 if bits == 32 else 27.5)  # where exp(-a*a) is 0
        square = a * a
        rest = self.fma(a, a, -square) if self.fused else product_error(a, a, square, SPLIT[bits])
        e = self.exp(-square)
        tail = self.fma(e, -rest, e) * self.polynomial((a - 2) / (a + 2), tables.ERFCX[bits]) / (a + a + 1)
        near = 1 - self.fma(self.polynomial(x * x, tables.ERF[bits]), x, x)
        return self.select(abs(x) < 0.5, near, self.select(x < 0, 2 - tail, tail))

    def pow(self, x: Element[V], y: Operand) -> Element[V]:
        """x**y as IEEE 754 has it: 1 for y = 0 or x = 1, NaN for negative x unless y is an integer."""
        return power(self, *self.meet(x, y))

    def remainder(self, x: Element[V], y: Operand) -> Element[V]:
        """x - y * floor(x / y) of floats, exact."""
        return modulo.remainder(self, *self.meet(x, y))

    def quotient(self, x: Element[V], y: Operand) -> Element[V]:
        """floor(x / y) of floats, not of x / y rounded."""
        return modulo.quotient(self, *self.meet(x, y))

    def _float(self, x: Element[V]) -> tuple[Element[V], Format]:
        (x,) = self.meet(x)
        return x, FORMATS[x.dtype.bits]

    def polynomial(self, x: Element[V], coefficients: Sequence[float]) -> Element[V]:
        """c0 + c1*x + c2*x**2 + ..."""
        y = self.fma(x, coefficients[-1], coefficients[-2])
        for c in coefficients[-3::-1]:
            y = self.fma(y, x, c)
        return y

    def with_sign(self, magnitude: Element[V], x: Element[V]) -> Element[V]:
        """magnitude with the sign of x; it may have that sign already, but not the other."""
        integer = FORMATS[x.dtype.bits].integer
        sign = self.bitcast(x, integer) & -(1 << integer.bits - 1)
        return self.bitcast(self.bitcast(magnitude, integer) | sign, x.dtype)

    def _exponent(self, x: Element[V], form: Format, step: float = LN2, less: int = 1) -> tuple[Element[V], Element[V]]:
        """The integer n nearest to x / step, and 2**(n-less), which is 0 for the least exponent."""
        magic = form.magic + (form.bias - less)
        t = self.fma(x, 1 / step, magic)
        return t - magic, self.bitcast(self.bitcast(t, form.integer) << form.fraction, x.dtype)

    def _exp_below(self, x: Element[V], form: Format) -> Element[V]:
        """exp(x) for x up to a little beyond the largest whose exp is finite."""
        x = self.max(x, form.exp_low)
        n, half = self._exponent(x, form)
        high, low = tables.LN2[x.dtype.bits]
        r = self.fma(n, -low, self.fma(n, -high, x))
        return self.polynomial(r, [2.0, 2.0, *(2 * c for c in tables.EXP[x.dtype.bits])]) * half

    def split(self, x: Element[V], form: Format) -> tuple[Element[V], Element[V]]:
        """An integer e and m with x = m * 2**e and sqrt(1/2) <= m < sqrt(2), for normal positive x."""
        offset = self.bitcast(x, form.integer) - form.root_half
        mantissa = (offset & (1 << form.fraction) - 1) + form.root_half
        return offset >> form.fraction, self.bitcast(mantissa, form.dtype)

    def small_integer(self, k: Element[V], form: Format) -> Element[V]:
        """An integer of few bits as a float, without the conversion that int64 has on few machines."""
        bits_of_magic = (form.bias + form.fraction) << form.fraction | 1 << form.fraction - 1
        return self.bitcast(k + bits_of_magic, form.dtype) - form.magic

    def log_near(self, f: Element[V], exponent: Element[V]) -> Element[V]:
        """log(1 + f) + exponent * ln(2) for sqrt(1/2) <= 1 + f <= sqrt(2)."""
        high, low = tables.LN2[f.dtype.bits]
        exponent = self.small_integer(exponent, FORMATS[f.dtype.bits])
        square = f * f
        tail = self.fma(f * square, self.polynomial(f, tables.LOG[f.dtype.bits]), exponent * low)
        return self.fma(exponent, high, f + self.fma(square, -0.5, tail))

    def log_ends(self, x: Element[V], y: Element[V], argument: Element[V]) -> Element[V]:
        """y, but what a logarithm of `argument` is where that is 0, negative, infinite or NaN."""
        end = self.select(self.eq(argument, 0), -INF, self.select(argument < 0, math.nan, x))
        return self.select((argument > 0) & (argument < INF), y, end)

    def _minus_half_pi(self, x: Element[V], n: Element[V]) -> Element[V]:
        """x - n * pi/2."""
        for part in (tables.HALF_PI if self.fused else tables.HALF_PI_CUT)[x.dtype.bits]:
            x = self.fma(n, -part, x)
        return x

    def sin_near(self, r: Element[V], turns: Element[V], form: Format) -> Element[V]:
        """sin(r) for |r| <= pi/2, negated where turns is odd."""
        a, z = abs(r), r * r
        y = self.min(self.fma(z * self.polynomial(z, tables.SIN[r.dtype.bits]), a, a), 1.0)
        sign = self.bitcast(r, form.integer) ^ (turns << form.integer.bits - 1)
        return self.with_sign(y, self.bitcast(sign, r.dtype))

    def _or_far(self, x: Element[V], phase: float, near: Element[V]) -> Element[V]:
        """sin(x + phase * pi) where |x| is too large for `near`."""
        return self.rare(abs(x) > FAR[x.dtype.bits], lambda: self._sin_far(x, phase), near)

    def _sin_far(self, x: Element[V], phase: float) -> Element[V]:
        form = FORMATS[64]
        high, low = half_turns(self, x, phase)
        t = high + form.magic
        turns = high - (t - form.magic)
        near = turns + low
        pi, pi_rest = (2 * part for part in tables.HALF_PI[64][:2])
        r = self.fma(near, pi, self.fma(near, pi_rest, (low - (near - turns)) * pi))
        return self.cast(self.sin_near(r, self.bitcast(t, form.integer), form), x.dtype)
