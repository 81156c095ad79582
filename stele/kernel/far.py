"""sin and cos of arguments so large that their reduction needs hundreds of digits of 1/pi (after Payne and Hanek)."""
from __future__ import annotations

from typing import Any

from stele.ir.types import float32, float64, int64
from stele.kernel import tables
from stele.kernel.exact import two_sum

PIECE = 26   # bits of a piece of 1/pi: its product with half of a float64 is exact
WINDOW = 8   # pieces that matter for one argument: those before give whole turns, those after nothing


def half_turns(s: Any, x: Any, phase: float) -> tuple[Any, Any]:
    """x / pi + phase modulo 2, in two parts of float64, for float32 and float64 x above 1."""
    is_narrow = x.dtype == float32
    x, pieces = (s.cast(x, float64), leading(s)) if is_narrow else window(s, x)
    high, low = s.constant(phase, float64), s.constant(0.0, float64)
    for k, piece in enumerate(pieces):
        for part in (x,) if is_narrow else halves(s, x):
            product = part * (piece * 2.0 ** (-PIECE * (k + 1)))
            high, error = two_sum(high, product - s.round(product * 0.5) * 2)
            low = low + error
    return high, low


def leading(s: Any) -> list[Any]:
    """The first pieces of 1/pi: enough for any float32."""
    return [s.constant(piece, float64) for piece in tables.INVERSE_PI[:WINDOW]]


def window(s: Any, x: Any) -> tuple[Any, list[Any]]:
    """x / 2**(26 j) and the pieces of 1/pi from j on, where all pieces before j give whole turns."""
    exponent = ((s.bitcast(x, int64) >> 52) & 0x7FF) - (1023 + 52)
    skipped = s.cast(s.floor(s.cast(s.max(exponent - 1, 0), float64) * (1 / PIECE)), int64)
    scale = s.bitcast((1023 - skipped * PIECE) << 52, float64)
    pieces = [s.constant(piece, float64) for piece in tables.INVERSE_PI]
    for bit in (32, 16, 8, 4, 2, 1):
        is_set = s.ne(skipped & bit, 0)
        count = min(bit - 1 + WINDOW, len(pieces))
        pieces = [s.select(is_set, pieces[i + bit] if i + bit < len(pieces) else 0.0, pieces[i]) for i in range(count)]
    return x * scale, pieces


def halves(s: Any, x: Any) -> tuple[Any, Any]:
    """A float64 as a sum of 26 and of 27 bits."""
    high = s.bitcast(s.bitcast(x, int64) & -(1 << 27), float64)
    return high, x - high
