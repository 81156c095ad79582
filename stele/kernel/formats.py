"""What formulas need to know of a float dtype."""
from __future__ import annotations

from stele.ir.record import Record
from stele.ir.types import DType, float32, float64, int32, int64


class Format(Record):
    """The layout of a float dtype, and where its functions reach their ends."""

    dtype: DType
    integer: DType     # of the same width
    fraction: int      # bits of the fraction
    bias: int          # of the exponent
    exp_low: float     # exp is 0 from here down: its exponent field, one below true, is 0
    exp_high: float    # a little beyond the largest x whose exp is finite
    expm1_low: float   # expm1 is -1 from here down
    root_half: int     # the bits of sqrt(1/2)

    @property
    def magic(self) -> float:
        return 1.5 * 2.0**self.fraction

    @property
    def least(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)


FORMATS = {
    32: Format(float32, int32, 23, 127, -87.48, 88.9, -18.0, 0x3F3504F3),
    64: Format(float64, int64, 52, 1023, -708.53, 709.9, -38.0, 0x3FE6A09E667F3BCD),
}
