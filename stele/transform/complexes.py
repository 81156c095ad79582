"""Functions of complex numbers, said in real functions of their parts.

Branch cuts and special values are those of C99, Annex G, which the array API standard repeats. Most are computed in
float64 for complex64: squares do not overflow there, and what cancels leaves digits.
Formulas: W. Kahan, Branch cuts for complex elementary functions, 1987; R. L. Smith, Algorithm 116, CACM 5 (1962).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

from stele.ir.graph import Value
from stele.ir.types import float32, float64
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.elementary import asinh as real_asinh
from stele.ops.elementwise.elementary import atan2, hypot
from stele.ops.elementwise.signs import copysign
from stele.ops.elementwise.unary import absolute, isfinite, isinf, isnan, log1p
from stele.ops.elementwise.unary import cos as real_cos
from stele.ops.elementwise.unary import cosh as real_cosh
from stele.ops.elementwise.unary import exp as real_exp
from stele.ops.elementwise.unary import expm1 as real_expm1
from stele.ops.elementwise.unary import log as real_log
from stele.ops.elementwise.unary import sin as real_sin
from stele.ops.elementwise.unary import sinh as real_sinh
from stele.ops.elementwise.unary import sqrt as real_sqrt
from stele.ops.linear import cast, ones_like, zeros_like

Parts = tuple[Value, Value]
"""The real and the imaginary part of a complex number."""
Function = Callable[..., Parts]
where = Select()


def wide(f: Function) -> Function:
    """The function of float32 parts computed in float64, and rounded once."""
    @wraps(f)
    def computed(*x: Value) -> Parts:
        if x[0].dtype != float32:
            return f(*x)
        re, im = f(*(cast(part, float64) for part in x))
        return cast(re, float32), cast(im, float32)

    return computed


def turned(f: Function) -> Function:
    """The function -i f(i z), for an f that is odd and real on the real axis: of sinh it is sin."""
    def rotated(x: Value, y: Value) -> Parts:
        re, im = f(y, x)
        return im, re

    return rotated


def repaired(x: Value, condition: Value, value: Value | float) -> Value:
    """x, but `value` where it is NaN and the condition holds."""
    return where(isnan(x) & condition, value, x)


def multiply(a: Value, b: Value, c: Value, d: Value) -> Parts:
    """(a + ib) (c + id)"""
    return a * c - b * d, a * d + b * c


def divide(a: Value, b: Value, c: Value, d: Value) -> Parts:
    """(a + ib) / (c + id) by Smith's method: nothing larger than the result is met on the way. Both are scaled where
    the reciprocal of a divisor of that size is no number with all its digits."""
    is_steep = absolute(c) < absolute(d)
    large, small = where(is_steep, d, c), where(is_steep, c, d)
    most, least, up = (1e37, 1e-30, 2.0**60) if c.dtype == float32 else (1e307, 1e-290, 2.0**108)
    fit = where(absolute(large) > most, 0.0625, where(absolute(large) < least, up, ones_like(c)))
    a, b, large, small = a * fit, b * fit, large * fit, small * fit
    ratio = small / large
    scale = 1 / (large + small * ratio)
    re = where(is_steep, a * ratio + b, a + b * ratio) * scale
    im = where(is_steep, b * ratio - a, b - a * ratio) * scale
    is_zero, size = Equal()(large, 0), absolute(large)
    return where(is_zero, a / size, re), where(is_zero, b / size, im)


def square(x: Value, y: Value) -> Parts:
    """z * z"""
    return multiply(x, y, x, y)


def reciprocal(x: Value, y: Value) -> Parts:
    """1 / z"""
    return divide(ones_like(x), zeros_like(x), x, y)


def exp(x: Value, y: Value) -> Parts:
    """e**x (cos y + i sin y), finite where e**x alone is not."""
    most = 80.0 if x.dtype == float32 else 700.0
    is_large = x > most
    e, scale = real_exp(where(is_large, x - most, x)), where(is_large, math.exp(most), ones_like(x))
    re, im = e * real_cos(y) * scale, e * real_sin(y) * scale
    re = where(Equal()(y, 0), e * scale, repaired(re, isinf(x), where(x > 0, x, 0.0)))
    return re, where(Equal()(y, 0), y, repaired(im, Equal()(x, -math.inf), 0.0))


@wide
def expm1(x: Value, y: Value) -> Parts:
    """e**x cos y - 1 as (e**x - 1) cos y - 2 sin(y/2)**2, so that nothing cancels near 0."""
    half = real_sin(y * 0.5)
    _, im = exp(x, y)
    re = real_expm1(x) * real_cos(y) - half * half * 2
    re = where(Equal()(x, -math.inf), -1.0, repaired(re, Equal()(x, math.inf), math.inf))
    return where(Equal()(y, 0), where(Equal()(x, 0), 0.0, real_expm1(x)), re), im


def log_of_size(x: Value, y: Value) -> Value:
    """log(hypot(x, y)), near 1 by what is left of the squares less 1; scaled, so that the size of z fits."""
    a, b = absolute(x), absolute(y)
    high, low = where(a < b, b, a), where(a < b, a, b)
    near = log1p((high - 1) * (high + 1) + low * low) * 0.5
    is_large, is_small = high > 1e300, high < 1e-290
    scale = where(is_large, 0.25, where(is_small, 2.0**108, ones_like(x)))
    back = where(is_large, math.log(4), where(is_small, -108 * math.log(2), zeros_like(x)))
    size = hypot(high * scale, low * scale)
    return where((size > 0.5) & (size < 2), near, real_log(size) + back)


@wide
def log(x: Value, y: Value) -> Parts:
    """log |z| + i angle"""
    return log_of_size(x, y), atan2(y, x)


@wide
def log1p_of(x: Value, y: Value) -> Parts:
    """log(1 + z), without losing the digits of a small z to the sum."""
    is_small = (absolute(x) < 0.5) & (absolute(y) < 0.5)
    near = log1p(x * (x + 2) + y * y) * 0.5
    return where(is_small, near, log_of_size(x + 1, y)), atan2(y, x + 1)


def logarithm(base: float) -> Function:
    """The logarithm to a base."""
    @wide
    def log_of_base(x: Value, y: Value) -> Parts:
        re, im = log(x, y)
        return re / math.log(base), im / math.log(base)

    return log_of_base


@wide
def sqrt(x: Value, y: Value) -> Parts:
    """The root with a real part of 0 or more; scaled, so that the size of z fits."""
    a, b = absolute(x), absolute(y)
    is_large, is_small = (a > 1e300) | (b > 1e300), (a < 1e-290) & (b < 1e-290)
    scale = where(is_large, 0.25, where(is_small, 2.0**108, ones_like(x)))
    back = where(is_large, 2.0, where(is_small, 2.0**-54, ones_like(x)))
    a, b = a * scale, b * scale
    far = real_sqrt((a + hypot(a, b)) * 0.5)
    near = b / (far * 2) * back
    far = far * back
    near = where(Equal()(a, 0) & Equal()(b, 0), 0.0, near)
    re, im = where(x < 0, near, far), where(x < 0, far, near)
    is_endless = isinf(y)
    return where(is_endless, math.inf, re), copysign(where(is_endless, math.inf, im), y)


def rsqrt(x: Value, y: Value) -> Parts:
    """1 / sqrt(z)"""
    return reciprocal(*sqrt(x, y))


def scaled(x: Value) -> tuple[Value, Value, Value]:
    """sinh and cosh of x, or both a power of e smaller where they would not fit; and that power."""
    is_large = absolute(x) > 700
    near = where(is_large, x - copysign(700.0, x), x)
    e = real_exp(absolute(near)) * 0.5
    return (where(is_large, copysign(e, x), real_sinh(near)), where(is_large, e, real_cosh(near)),
            where(is_large, math.exp(700), ones_like(x)))


@wide
def sinh(x: Value, y: Value) -> Parts:
    """sinh x cos y + i cosh x sin y"""
    low, high, scale = scaled(x)
    re = repaired(low * real_cos(y) * scale, Equal()(x, 0) | isinf(x), x)
    return re, where(Equal()(y, 0), y, high * real_sin(y) * scale)


@wide
def cosh(x: Value, y: Value) -> Parts:
    """cosh x cos y + i sinh x sin y"""
    low, high, scale = scaled(x)
    zero = copysign(0.0, x) * copysign(1.0, y)
    re = repaired(high * real_cos(y) * scale, isinf(x), math.inf)
    return re, repaired(low * real_sin(y) * scale, Equal()(x, 0) | Equal()(y, 0), zero)


@wide
def tanh(x: Value, y: Value) -> Parts:
    """(sinh x cosh x + i sin y cos y) / (sinh(x)**2 + cos(y)**2); far from 0 it is 1 or -1."""
    is_far = absolute(x) > 20
    near = where(is_far, 0.0, x)
    low, s, c = real_sinh(near), real_sin(y), real_cos(y)
    under = low * low + c * c
    is_one = is_far & (isinf(x) | isfinite(y))
    re = repaired(where(is_one, copysign(1.0, x), low * real_cosh(near) / under), Equal()(x, 0), x)
    far = where(isinf(x), copysign(0.0, y), s * c * real_exp(absolute(x) * -2) * 4)
    return re, where(Equal()(y, 0), y, where(is_far, far, s * c / under))


def cos(x: Value, y: Value) -> Parts:
    """cosh(i z)"""
    re, im = cosh(y, x)
    return re, -im


def fitting(a: Value, b: Value) -> Value:
    """The factor with which products of a root a + ib and its like are no larger than numbers are: 1 or 0.25."""
    return where((absolute(a) > 1e150) | (absolute(b) > 1e150), 0.25, ones_like(a))


def asinh_of(x: Value, scale: Value) -> Value:
    """asinh(x / scale) of an x that is not below 0; of a large one asinh(4 x) is asinh(x) + log 4."""
    return real_asinh(x) + where(scale < 1, math.log(4), zeros_like(x))


@wide
def asinh(x: Value, y: Value) -> Parts:
    """asin turned by a right angle."""
    (a, b), (c, d) = sqrt(1 + y, -x), sqrt(1 - y, x)        # of 1 - iz and 1 + iz
    scale = fitting(a, b)
    a, b = a * scale, b * scale
    re, im = copysign(asinh_of(absolute(a * d - b * c), scale), x), atan2(y * scale, a * c - b * d)
    is_finite, is_endless = isfinite(x) & isfinite(y), isinf(x) | isinf(y)
    re = where(is_finite, re, copysign(where(is_endless, math.inf, x + y), x))
    return re, where(is_finite, im, where(Equal()(y, 0), y, atan2(y, absolute(x))))


@wide
def acos(x: Value, y: Value) -> Parts:
    """2 atan2(Re sqrt(1 - z), Re sqrt(1 + z)) + i asinh(Im(conj(sqrt(1 + z)) sqrt(1 - z)))"""
    (a, b), (c, d) = sqrt(1 - x, -y), sqrt(1 + x, y)
    scale = fitting(a, b)
    re, im = atan2(a, c) * 2, copysign(asinh_of(absolute(c * (b * scale) - d * (a * scale)), scale), -y)
    is_finite, is_endless = isfinite(x) & isfinite(y), isinf(x) | isinf(y)
    im = where(is_finite, im, -copysign(where(is_endless, math.inf, x + y), y))
    angle = where(Equal()(x, 0), math.pi / 2, atan2(absolute(y), x))
    return where(is_finite, re, angle), im


def acosh(x: Value, y: Value) -> Parts:
    """acos turned by a right angle, to the side where the real part is 0 or more."""
    re, im = acos(x, y)
    return absolute(im), copysign(re, y)


@wide
def atanh(x: Value, y: Value) -> Parts:
    """log1p(4 x / ((1 - x)**2 + y**2)) / 4 + i atan2(2 y, (1 - x)(1 + x) - y**2) / 2 of a z to the right of 0."""
    a = absolute(x)
    beside, size = hypot(1 - a, y), hypot(a, y)
    re = log1p(a * 4 / ((1 - a) * (1 - a) + y * y)) * 0.25
    re = where(beside < 1e-150, (math.log(2) - real_log(beside)) * 0.5, where(size > 1e150, a / size / size, re))
    im = atan2(y * 2, (1 - a) * (1 + a) - y * y) * 0.5
    re = where(isinf(x) | isinf(y), 0.0, repaired(re, Equal()(x, 0), 0.0))
    im = where(size > 1e150, where(isnan(y), y, math.pi / 2), absolute(im))
    return copysign(re, x), copysign(im, y)


@wide
def power(a: Value, b: Value, c: Value, d: Value) -> Parts:
    """exp((c + id) log(a + ib)); 1 where the exponent is 0, and of 0 it is 0 where its real part is above 0."""
    re, im = exp(*multiply(c, d, *log(a, b)))
    of_zero, zero = Equal()(a, 0) & Equal()(b, 0), where(c > 0, 0.0, math.nan)
    re, im = where(of_zero, zero, re), where(of_zero, zero, im)
    is_one = Equal()(d, 0) & Equal()(c, 0)
    return where(is_one, 1.0, re), where(is_one, 0.0, im)
