"""float16 and bfloat16 in integer code: bits to float32 exactly, and back to the nearest even."""
from __future__ import annotations

from typing import Any

from stele.ir.types import DType, float32, float64, uint32


def widened(s: Any, bits: Any, dtype: DType) -> Any:
    """float32 from the bits (a uint32 below 2**16) of a float16 or bfloat16; exact, NaN stays NaN."""
    if dtype.name == "bfloat16":
        return s.bitcast(bits << 16, float32)
    magnitude = (bits & 0x7FFF) << 13
    scaled = s.bitcast(s.bitcast(magnitude, float32) * 2.0**112, uint32)
    finite_or_not = s.select(magnitude >= 0x0F800000, magnitude | 0x7F800000, scaled)
    return s.bitcast(finite_or_not | ((bits & 0x8000) << 16), float32)


def to_odd(s: Any, x: Any) -> Any:
    """float32 from float64, where what is not exact gets an odd last bit: rounded to a half then, it rounds once."""
    near = s.cast(x, float32)
    back, bits = s.cast(near, float64), s.bitcast(near, uint32)
    bits = s.select(abs(back) > abs(x), bits - 1, bits)
    return s.bitcast(s.select(s.ne(back, x), bits | 1, bits), float32)


def narrowed(s: Any, x: Any, dtype: DType) -> Any:
    """The bits, as uint32, of the float16 or bfloat16 nearest to a float32; ties to even, NaN stays (quiet) NaN."""
    bits = s.bitcast(x, uint32)
    if dtype.name == "bfloat16":
        rounded = bits + ((bits >> 16) & 1) + 0x7FFF
        return s.select(s.ne(x, x), bits | 0x400000, rounded) >> 16
    magnitude = bits & 0x7FFFFFFF
    normal = (magnitude + ((magnitude >> 13) & 1) + (0x0FFF - (112 << 23) & 0xFFFFFFFF)) >> 13
    small = s.bitcast(s.bitcast(magnitude, float32) + 0.5, uint32) - 0x3F000000
    finite = s.select(magnitude < 0x38800000, small, s.select(magnitude >= 0x477FF000, 0x7C00, normal))
    nan = (magnitude >> 13) & 0x3FF | 0x7E00
    return s.select(s.ne(x, x), nan, finite) | ((bits >> 16) & 0x8000)
