"""What rules look for: numbers, and sums or movements under one head."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce

from stele.ir.graph import Constant, Literal, Value
from stele.ir.types import DTYPES, DType, axis_of, whole_in
from stele.ops.elementwise.arithmetic import Mul
from stele.ops.linear import Broadcast, Reshape, Transpose

Number = float | int | bool
NUMBERS = tuple(d for d in DTYPES.values() if d.kind not in "bc")
SIGNED = tuple(d for d in NUMBERS if d.kind != "u")
FLOATS = tuple(d for d in NUMBERS if d.is_float)
WIDE = tuple(d for d in FLOATS if d.bits > 16)
"""Floats that have room: what is computed on the way neither overflows nor rounds where the result does not."""
INTEGERS = tuple(d for d in DTYPES.values() if not d.is_float)
"""Integers and bools, which are exact and wrap."""


def number(v: Value) -> Number | None:
    """The number an array holds everywhere, where the graph says so; else None."""
    while isinstance(v.op, Broadcast | Reshape | Transpose):
        v = v.args[0]
    match v.op:
        case Literal(value) if not isinstance(value, complex):
            return value
        case Constant(array) if array.size == 1 and array.dtype.kind != "c":
            return array.item()
        case _:
            return None


def is_number(v: Value, value: Number) -> bool:
    """Whether an array holds `value` everywhere; zeros of either sign are told apart."""
    found = number(v)
    return found is not None and found == value and math.copysign(1, found) == math.copysign(1, value)


def is_power_of_two(x: Number) -> bool:
    """Whether a number is 2**k or -2**k with a modest k, so that its reciprocal is exact in every float."""
    return math.isfinite(x) and abs(math.frexp(x)[0]) == 0.5 and -14 <= math.frexp(x)[1] <= 15


def holds(wide: DType, narrow: DType) -> bool:
    """Whether every number of `narrow` is one of `wide`."""
    if narrow == wide or narrow.kind == "b":
        return True
    if narrow.is_float:
        return wide.is_float and (wide.bits > narrow.bits)
    if wide.is_float:
        return {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}[wide.real.name] >= narrow.bits
    return wide.bits > narrow.bits and (wide.kind == "i" or narrow.kind == "u")


def is_exact(inner: DType, x: DType, outer: DType) -> bool:
    """Whether a cast of `x` to `outer` gives what it gives through `inner`, whatever the number."""
    wraps = inner.is_float and not x.is_float and outer.kind in "iu"    # a float that does not fit is no low bits
    return holds(inner, x) and (not wraps or holds(whole_in(outer), x))


def axes_of(v: Value) -> tuple[int, ...]:
    """The axes a reduction drops from its operand, counted from the front, in order."""
    return tuple(sorted(axis_of(a, v.args[0].ndim) for a in v.op.axes))  # type: ignore[attr-defined]


def factors(v: Value, limit: int = 8) -> Iterator[Value]:
    """The factors of a product, at most `limit`."""
    stack, count = [v], 0
    while stack:
        x = stack.pop()
        if isinstance(x.op, Mul) and count < limit:
            count += 1
            stack.extend(reversed(x.args))
        else:
            yield x


def product_of(values: Sequence[Value]) -> Value:
    """The product of one or more values, in order."""
    return reduce(lambda a, b: a * b, values)
