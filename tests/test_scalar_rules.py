"""Every elementwise op of the table: `scalar` said to the NumPy builder means what the reference says."""
from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from stele.inspect.numpy_scalars import NumpyScalars
from stele.ir.types import uint32
from stele.ops import ALL
from stele.ops.random import RandomBits

ELEMENTWISE = {name: cls for name, cls in ALL.items() if cls.family == "elementwise"}
# Made of functions that have errors of their own; others have 2.
ULPS = {"Softplus": 3, "Erfc": 3, "XLogY": 3, "XLog1py": 3, "Logit": 3}
# Of float32 and float64 that may differ by a whole step: the reference runs in float32.
STEPPED = {"Remainder", "FloorDivide", "Fmod", "NextAfter"}
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0]
FULL_RANGE = ["Exp", "Expm1", "Log", "Log1p", "Sqrt", "Sin", "Cos", "Atan", "Tan", "Asin", "Acos", "Sinh", "Cosh",
              "Asinh", "Acosh", "Atanh", "Exp2", "Log2", "Log10", "Cbrt", "SignBit", "Exponent", "Lgamma", "I0", "I0e",
              "I1", "I1e", "Erfinv", "Erfcx", "Ndtr", "LogNdtr", "Ndtri", "Sinc", "Logit", "Tanh", "Sigmoid", "Erf",
              "Erfc", "Relu", "Abs", "Sign", "Floor", "Ceil", "Round", "Trunc", "IsNan", "IsInf", "IsFinite", "Neg",
              "Square"]

BITS = ["And", "Or", "Xor", "Not", "ShiftLeft", "ShiftRight", "Philox"]


def ulps(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Distance of floats to wider ones in units of the last place."""
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(want), np.finfo(got.dtype).tiny)
        unit = np.exp2(np.floor(np.log2(size)) - np.finfo(got.dtype).nmant)
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.isinf(got) & (got == want.astype(got.dtype)))
        return np.where(same, 0, np.abs(got.astype(want.dtype) - want) / unit)


def compare(name: str, arrays: list[np.ndarray[Any, Any]]) -> None:
    op = ELEMENTWISE[name]()
    s = NumpyScalars()
    got = op.scalar(s, *map(s.element, arrays)).value
    is_wide = got.dtype.kind == "f" and name not in STEPPED
    with np.errstate(all="ignore"):
        want = np.asarray(op.reference(*(a.astype("f8") if is_wide and a.dtype == np.float32 else a for a in arrays)))
    if is_wide:
        worst = ulps(got, want)
        assert worst.max() <= ULPS.get(name, 2), (worst.max(), [a[worst.argmax()] for a in arrays])
    else:
        assert (got == want).all()


@pytest.mark.parametrize("name", [n for n, cls in ELEMENTWISE.items() if n not in BITS and not fields(cls)])
def test_scalar_means_the_reference(name: str) -> None:
    rng = np.random.default_rng(3)
    op = ELEMENTWISE[name]
    arrays = [rng.uniform(*op.samples, 4000).astype(np.float32) for _ in range(op.arity)]
    if name == "Select":
        arrays[0] = arrays[0] > 0
    compare(name, arrays)


@pytest.mark.parametrize("name", FULL_RANGE)
def test_special_values_mean_the_reference(name: str) -> None:
    compare(name, [np.array(SPECIAL, np.float32)])


@pytest.mark.parametrize("name", BITS)
def test_bits_mean_the_reference(name: str) -> None:
    for _, arrays in ELEMENTWISE[name].examples():
        compare(name, list(arrays))


def test_random_bits_mean_the_reference() -> None:
    op, s = RandomBits((3, 5)), NumpyScalars()
    key = [np.array(k, np.uint32) for k in (1, 2, 3, 4)]
    index = [s.element(k.astype(np.int64)) for k in np.indices(op.shape)]
    with np.errstate(over="ignore"):
        want = op.reference(*key)
    got = op.generate(s, tuple(index), *(s.constant(int(k), uint32) for k in key))
    assert got.dtype == uint32 and (got.value == want).all()
