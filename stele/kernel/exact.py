"""Sums and products with their rounding errors, for scalar elements and arrays alike."""
from __future__ import annotations

from typing import Any

SPLIT = {32: 4097.0, 64: 134217729.0}   # times a float, less the rest of it: the upper half of its digits, by bits


def two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """x + y and its rounding error (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def product_error(x: Any, y: Any, product: Any, split: float = SPLIT[64]) -> Any:
    """x*y - product without rounding and without fma, from halves of the factors (Veltkamp, Dekker)."""
    x_high, y_high = (v * split - (v * split - v) for v in (x, y))
    x_low, y_low = x - x_high, y - y_high
    return x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
