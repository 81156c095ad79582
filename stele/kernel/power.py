"""x**y: float32 through float64, float64 through a logarithm in two parts."""
from __future__ import annotations

import math
from typing import Any

from stele.ir.types import float32, float64
from stele.kernel import tables
from stele.kernel.exact import product_error, two_sum
from stele.kernel.formats import FORMATS

INF = math.inf


def power(s: Any, x: Any, y: Any) -> Any:
    """x**y of float32 or float64 elements, said to a builder `s` that has exp and log."""
    a = abs(x)
    magnitude = wide(s, a, y) if x.dtype == float32 else in_parts(s, a, y)
    magnitude = s.select(s.eq(a, 1) | s.eq(y, 0), 1.0, magnitude)
    half = y * 0.5
    is_integer, is_odd = s.eq(s.trunc(y), y), s.ne(s.trunc(half), half)
    signed = s.select(is_integer & is_odd, s.with_sign(magnitude, x), magnitude)
    return s.select((x < 0) & (x > -INF) & ~(is_integer | s.eq(y, 0)), math.nan, signed)


def wide(s: Any, x: Any, y: Any) -> Any:
    """x**y for float32 x >= 0, in float64."""
    return s.cast(s.exp(s.cast(y, float64) * s.log(s.cast(x, float64))), float32)


def in_parts(s: Any, x: Any, y: Any) -> Any:
    """x**y for float64 x >= 0, from a logarithm in two parts."""
    high, low = log_parts(s, x)
    product = y * high
    error = product_rest(s, y, high, product) + y * low
    result = s.exp(product)
    return s.select((result > 0) & (result < INF), s.fma(result, error, result), result)


def log_parts(s: Any, x: Any) -> tuple[Any, Any]:
    """log(x) as a float64 and a rest, together good to 65 bits, by log((1+t)/(1-t)) = 2t + 2t**3/3 + ..."""
    form = FORMATS[64]
    is_small = x < form.least
    exponent, mantissa = s.split(s.select(is_small, x * 2.0**53, x), form)
    exponent = s.small_integer(s.select(is_small, exponent - 53, exponent), form)
    series, series_rest, t, rest = atanh_parts(s, mantissa)
    ln2, ln2_rest = tables.LN2[64]
    total, carry = two_sum(exponent * ln2, t + t)
    total, more = two_sum(total, series)
    y, end = two_sum(total, carry + more + (2 * rest + series_rest + exponent * ln2_rest))
    special = s.eq(x, 0) | ~(x < INF)
    return s.select(special, s.select(s.eq(x, 0), -INF, x), y), s.select(special, 0.0, end)


def atanh_parts(s: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """2 atanh(t) - 2t and t, each with its rest, for t = (m-1) / (m+1)."""
    d = m + 1
    t = (m - 1) / d
    rest = ((m - 1) - t * d - product_rest(s, t, d, t * d) - t * (m - (d - 1))) / d
    z = t * t
    z_rest = product_rest(s, t, t, z) + 2 * t * rest
    cubic, cubic_rest = tables.TWO_THIRDS[64]
    q = z * cubic
    q_rest = product_rest(s, z, s.constant(cubic, float64), q) + (z * cubic_rest + z_rest * cubic)
    q_rest = q_rest + z * z * s.polynomial(z, tables.ATANH[64])
    series = t * q
    return series, product_rest(s, t, q, series) + (t * q_rest + rest * q), t, rest


def product_rest(s: Any, x: Any, y: Any, product: Any) -> Any:
    """x*y - product without rounding."""
    return s.fma(x, y, -product) if s.fused else product_error(x, y, product)
