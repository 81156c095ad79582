"""The scalar vocabulary: LLVM code on every level of the machine and NumPy give the same bits, and the right ones."""
from __future__ import annotations

import functools
import math
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from probe import LEVELS, Formula, Probe, probe

from stele.errors import DTypeError
from stele.inspect.numpy_scalars import NumpyScalars
from stele.ir.types import DTYPES, REAL, DType, bool_, float32, float64, int32, uint32

NEEDS = {"v2": "sse4.2", "v3": "avx2", "v4": "avx512f"}     # of others every machine has what they need
HERE = [level for level in LEVELS if level not in NEEDS or llvm.get_host_cpu_features().get(NEEDS[level])]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 2.5, -2.5, 1e-3, -1e-3, 88.7, 88.8, -87.3, -87.5, -104.0,
           1e4, -1e4, 1e10, 1e38, -1e38, 1e-38, 1e-40, -1e-40, 1e-45, math.inf, -math.inf, math.nan]
INTEGERS = [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 33, 255, 256, 65537, 2**31 - 1, -(2**31)]


@functools.cache
def samples(dtype: DType) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(7)
    if dtype == bool_:
        return rng.integers(0, 2, 256).astype(bool)
    if not dtype.is_float:
        numbers = np.array(INTEGERS, np.int64)
        return np.concatenate([numbers, rng.integers(-(2**40), 2**40, 240)]).astype(dtype.numpy)
    with np.errstate(over="ignore"):
        wide = np.exp(rng.uniform(-80, 80, 500))
        parts = [SPECIAL, rng.uniform(-4, 4, 2000), wide, -wide]
        return np.concatenate(parts).astype(dtype.numpy)


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Elements with equal bits; every NaN is like another."""
    if a.dtype.kind in "biu":
        return a == b
    bits = np.dtype(f"uint{a.dtype.itemsize * 8}")
    with np.errstate(invalid="ignore"):
        return (a.view(bits) == b.view(bits)) | ((a != a) & (b != b))


def check(formula: Formula, dtypes: list[DType], result: DType, level: str, lanes: int | None = None) -> Probe:
    """The program of a formula, of which every number has the bits of NumPy's."""
    arrays = [samples(d) for d in dtypes]
    if len(arrays) > 1:
        rng = np.random.default_rng(1)
        arrays = [np.concatenate([np.repeat(a[:40], 40), rng.permutation(a)[:200]]) if k == 0
                  else np.concatenate([np.tile(a[:40], 40), rng.permutation(a)[:200]]) for k, a in enumerate(arrays)]
    s = NumpyScalars(fused=LEVELS[level][2])
    want = s.cast(formula(s, *map(s.element, arrays)), result).value
    program = probe(formula, dtypes, result, level, lanes)
    got = program(*arrays)
    wrong = ~same_bits(got, np.broadcast_to(want, got.shape).copy())
    shown = [(*(a[k] for a in arrays), got[k], want[k]) for k in np.flatnonzero(wrong)[:5]]
    assert not wrong.any(), f"{wrong.sum()} elements differ: inputs, LLVM, NumPy = {shown}"
    return program


FUNCTIONS = ["exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "sigmoid", "erf", "erfc", "atan", "tan", "asin",
             "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "exp2", "log2", "log10", "cbrt", "sinc", "lgamma",
             "digamma", "i0", "i0e", "i1", "i1e", "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr", "sqrt",
             "floor", "ceil", "trunc", "round"]
OF_TWO = ["pow", "atan2", "hypot", "zeta", "fmod", "remainder", "quotient"]
OPERATIONS = {"f": ["add", "sub", "mul", "div", "idiv", "max", "min"],
              "i": ["add", "sub", "mul", "idiv", "max", "min", "and", "or", "xor", "shl", "shr"],
              "b": ["and", "or", "xor"]}
OPERATIONS["u"] = OPERATIONS["i"]


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_TWO])
def test_functions_have_the_bits_of_numpy_and_call_nothing(name: str, dtype: DType, level: str) -> None:
    found = check(lambda s, *x: getattr(s, name)(*x), [dtype] * (2 if name in OF_TWO else 1), dtype, level)
    assert name in OF_TWO or "call" not in found.assembly


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("dtype", [d for d in REAL if d.bits != 16 or not d.is_float], ids=str)
def test_operations_have_the_bits_of_numpy(dtype: DType, level: str) -> None:
    for name in OPERATIONS[dtype.kind]:
        check(lambda s, x, y, name=name: s.binary(name, x, y), [dtype, dtype], dtype, level)
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        check(lambda s, x, y, name=name: s.binary(name, x, y), [dtype, dtype], bool_, level)


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_lanes_do_not_change_the_bits(lanes: int) -> None:
    for name in ("exp", "sin", "log"):
        check(lambda s, x, name=name: getattr(s, name)(x), [float32], float32, HERE[-1], lanes)
    check(lambda s, x, y: s.select(x < y, s.max(x, 0), s.fma(x, y, 1)), [float32, float32], float32, HERE[-1], lanes)
    check(lambda s, x: s.mulhi(x, 0xD2511F53) + (x << 3 ^ x >> 5), [uint32], uint32, HERE[-1], lanes)
    check(lambda s, x: ~x & 7 | abs(-x), [int32], int32, HERE[-1], lanes)


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_floats_convert_like_numpy(name: str, level: str) -> None:
    half = DTYPES[name]
    every = np.arange(2**16, dtype=np.uint16).view(half.numpy)
    wide = probe(lambda s, x: s.cast(x, float32), [half], float32, level)(every)
    assert same_bits(wide, every.astype(np.float32)).all()
    with np.errstate(all="ignore"):
        between = np.nextafter(wide, np.float32(math.inf))
        middle = wide[:-1] / 2 + wide[1:] / 2
    for x in (wide, between, middle, samples(float32)):
        got = probe(lambda s, x: s.cast(x, half), [float32], half, level)(x)
        with np.errstate(all="ignore"):
            assert same_bits(got, x.astype(half.numpy)).all()


def test_casts_follow_numpy() -> None:
    for old in REAL:
        inside = np.array([0, 1, 2, 3, 100, 127]).astype(old.numpy)
        for new in REAL:
            got = probe(lambda s, x, new=new: s.cast(x, new), [old], new, HERE[-1])(inside)
            assert (got == inside.astype(new.numpy)).all(), (old, new)


def test_special_values() -> None:
    nan, inf = math.nan, math.inf
    cases = {"exp": {0: 1, inf: inf, -inf: 0, 100: inf, -200: 0}, "expm1": {0: 0, inf: inf, -inf: -1, 100: inf},
             "log": {1: 0, 0: -inf, -1: nan, inf: inf, 1e-45: -103.27893}, "log1p": {0: 0, -1: -inf, -2: nan, inf: inf},
             "tanh": {0: 0, inf: 1, -inf: -1, 20: 1, 1e-40: 1e-40}, "sigmoid": {0: 0.5, inf: 1, -inf: 0},
             "erf": {0: 0, inf: 1, -inf: -1}, "erfc": {0: 1, inf: 0, -inf: 2},
             "atan": {0: 0, inf: math.pi / 2, -inf: -math.pi / 2},
             "sin": {0: 0, inf: nan, 1e22: math.sin(float(np.float32(1e22)))}, "cos": {0: 1, -inf: nan}}
    s = NumpyScalars()
    for name, values in cases.items():
        for x, y in {**values, nan: nan}.items():
            got = getattr(s, name)(s.element(np.array([x], "float32"))).value[0]
            assert np.array_equal(got, np.float32(y), equal_nan=True), (name, x, got)
    for name in ("expm1", "log1p", "tanh", "erf", "atan", "sin"):
        assert np.signbit(getattr(s, name)(s.element(np.array([-0.0], "float32"))).value[0]), name


def test_sine_and_cosine_of_large_arguments() -> None:
    x = np.array([2.0**28 + 1, 1e22, -1e300, 2.0**1023])
    s = NumpyScalars()
    for name, truth in (("sin", math.sin), ("cos", math.cos)):
        got = getattr(s, name)(s.element(x)).value
        np.testing.assert_allclose(got, [truth(v) for v in x], rtol=4e-16)
    # No float64 is nearer to a zero of cos, relative to its size: Muller, "Elementary Functions", chapter 9.
    nearest = s.element(np.array([6381956970095103 * 2.0**797]))
    np.testing.assert_allclose(s.cos(nearest).value, [-4.68716592425462761112e-19], rtol=2e-16)


def test_sine_and_cosine_stay_within_one() -> None:
    s = NumpyScalars()
    for dtype in ("float32", "float64"):
        x = s.element((np.arange(-4000, 4000) * (np.pi / 2)).astype(dtype))
        assert max(abs(s.sin(x).value).max(), abs(s.cos(x).value).max()) <= 1


def test_mixed_dtypes_are_an_error() -> None:
    s = NumpyScalars()
    with pytest.raises(DTypeError, match="one dtype"):
        s.binary("add", s.element(np.zeros(1, "float32")), s.element(np.zeros(1, "int32")))
    with pytest.raises(DTypeError, match="is no int32"):
        s.element(np.zeros(1, "int32")) * 0.5


@pytest.mark.parametrize("n, x, law", [     # of mpmath, in 50 digits
    (5, -3.25, 492231.2373357213), (6, -7.46875, 84514.98052665095), (6, -100.5, -1.1302603907401377e-10),
    (9, -0.515625, 783612306.4927661), (9, -12.0009765625, 4.600050498108199e+35), (9, 0.359375, 10099157372.998325),
    (12, 1.6875, -533590.911386256), (20, 31.25, -2.0902821167282e-13), (6, -3.0, -math.inf), (7, -3.0, math.inf),
    (8, -1e-60, math.inf), (6, math.inf, 0.0), (5, -math.inf, math.nan)])
def test_high_derivatives_of_digamma_keep_their_digits(n: int, x: float, law: float) -> None:
    s = NumpyScalars(fused=True)
    with np.errstate(all="ignore"):
        y = float(s.polygamma(s.element(np.array([x])), n).value[0])
    assert y == law or (math.isnan(y) and math.isnan(law)) or abs(y - law) <= 4 * np.spacing(abs(law))
