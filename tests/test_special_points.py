"""What functions of one element are at zeros of either sign, infinities, NaN, poles, halves and the ends of dtypes."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.ir.types import DType, float32, float64

INF, NAN, PI = math.inf, math.nan, math.pi
BACKENDS = "cpu", "reference"
DTYPES = float32, float64
POINTS = (0, 1e-10, 1e-3, 0.25, 1 / 3, 0.5, 0.75, 1, 1.5, 2, 2.5, math.e, 3, PI, 4, 5.5, 7, 10, 20.5, 33, 88, 100,
          171.5, 709, 1e3, 2**23 + 1, 1e10, 2.0**31, 2.0**63, INF, NAN)
PAIRED = 0, 1e-10, 0.5, 1, 1.5, 2, 2.5, 3, 7, 10, 33.3, 100, INF, NAN
# Functions that NumPy has too, by its name.
OF_ONE = """
    absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad exp exp2 expm1 fabs fix
    floor isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not modf nan_to_num negative positive
    rad2deg reciprocal rint sign signbit sin sinh sqrt square tan tanh trunc
"""
OF_TWO = """
    add arctan2 copysign divide equal fmax fmin fmod greater greater_equal heaviside hypot less less_equal logaddexp
    logaddexp2 logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal power subtract
"""
# Where NumPy is not the law, or not the same in every dtype: a zero of a maximum, which may have either sign.
SIGNLESS = "maximum", "minimum", "fmax", "fmin"
SUMS = "logaddexp", "logaddexp2"        # cancel near 0, in NumPy's float32 too
# The numbers are of mpmath, in 40 digits.
# fmt: off
SPECIAL: dict[str, tuple[tuple[float, float], ...]] = {
    "lgamma":   ((0.0, INF), (-0.0, INF), (1, 0), (2, 0), (0.5, math.log(PI) / 2),
                 (-0.5, math.log(2 * math.sqrt(PI))), (-1, INF), (-2, INF),
                 (-100, INF), (-1e30, INF), (1e30, 1e30 * (math.log(1e30) - 1)), (INF, INF), (-INF, INF)),
    "digamma":  ((0.0, -INF), (-0.0, INF), (-1, NAN), (-2, NAN), (1, -0.57721566490153286),
                 (-0.5, 0.036489973978576521), (INF, INF),
                 (-INF, NAN)),
    "i0":       ((0.0, 1), (-0.0, 1), (1, 1.2660658777520083), (-1, 1.2660658777520083),
                 (INF, INF), (-INF, INF)),
    "i0e":      ((0.0, 1), (-0.0, 1), (INF, 0), (-INF, 0)),
    "i1":       ((0.0, 0), (-0.0, -0.0), (1, 0.56515910399248503), (-1, -0.56515910399248503),
                 (INF, INF), (-INF, -INF)),
    "i1e":      ((0.0, 0), (-0.0, -0.0), (INF, 0), (-INF, -0.0)),
    "sinc":     ((0.0, 1), (-0.0, 1), (0.5, 2 / PI), (-0.5, 2 / PI), (1.5, -2 / (3 * PI)), (INF, 0), (-INF, 0)),
    "erf":      ((0.0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (30, 1), (-30, -1)),
    "erfc":     ((0.0, 1), (-0.0, 1), (INF, 0), (-INF, 2), (30, 0), (-30, 2)),
    "erfcx":    ((0.0, 1), (-0.0, 1), (INF, 0), (-INF, INF), (-30, INF)),
    "erfinv":   ((0.0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN), (-2, NAN), (INF, NAN), (-INF, NAN)),
    "ndtr":     ((0.0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0), (40, 1), (-40, 0)),
    "ndtri":    ((0.0, -INF), (-0.0, -INF), (1, INF), (0.5, 0), (-1, NAN), (2, NAN), (INF, NAN), (-INF, NAN)),
    "log_ndtr": ((0.0, -math.log(2)), (-0.0, -math.log(2)), (INF, -0.0), (-INF, -INF), (9.0, -1.1285884059538406e-19)),
    "entr":     ((0.0, 0), (-0.0, 0), (1, -0.0), (0.5, math.log(2) / 2), (-1, -INF), (INF, -INF), (-INF, -INF)),
    "logit":    ((0.0, -INF), (-0.0, -INF), (1, INF), (0.5, 0), (0.25, -math.log(3)), (-1, NAN), (2, NAN),
                 (INF, NAN), (-INF, NAN)),
    "sigmoid":  ((0.0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0)),
    "rsqrt":    ((0.0, INF), (-0.0, -INF), (4, 0.5), (-1, NAN), (INF, 0), (-INF, NAN)),
    "softplus": ((0.0, math.log(2)), (INF, INF), (-INF, 0), (1000, 1000), (-1000, 0)),
    "silu":     ((0.0, 0), (-0.0, -0.0), (INF, INF), (1000, 1000)),
    "frac":     ((0.5, 0.5), (-0.5, -0.5), (2.25, 0.25), (-2.25, -0.25)),
}
OF_ORDER: dict[int, tuple[tuple[float, float], ...]] = {
    1: ((0.0, INF), (-0.0, INF), (-1, INF), (1, PI**2 / 6), (INF, 0), (-INF, NAN), (-0.5, 4 + PI**2 / 2)),
    2: ((-1.5, -0.2362040516417274), (-103.5, -9.245348440653998e-05), (INF, -0.0)),
    4: ((-5.5, -0.004525930280322061), (-103.5, -5.1284300336624136e-08),
        (-171.5, -6.855280500662483e-09)),
}
ZETA: tuple[tuple[float, float, float], ...] = (
    (1, 1, INF), (1, -0.5, INF), (0.5, 1, NAN), (-1, 2, NAN), (NAN, 1, NAN), (2, NAN, NAN), (2, 1, PI**2 / 6),
    (2, 0.0, INF), (2, -0.0, INF), (2, -1, INF), (3, -7, INF), (2.5, -3, INF), (2, -INF, INF), (2, -1e30, INF),
    (1.5, -0.5, NAN), (2, -0.5, 4 + PI**2 / 2), (2, -2.5, 4 + 4 / 9 + 4 / 25 + PI**2 / 2), (2000, -0.5, INF),
    (3, -0.5, 7 * 1.2020569031595943 - 8), (4, -1e-3, 1e12 + 1.086481138364516),
    (3, -2.25, 2.6513166081688198 - 2.25**-3 - 1.25**-3 - 0.25**-3), (29, -24.5, 2.43996343647036167e-41),
    (2, INF, 0), (INF, 1, 1), (INF, 2, 0), (INF, 0.5, INF), (INF, -0.5, INF), (40, 1e10, 0),
)
# fmt: on


def ends(dtype: DType) -> list[float]:
    """What is next to 1, the largest number, the least normal one and what is below it."""
    info = np.finfo(dtype.numpy)
    return [float(x) for x in (1 + info.eps, 1 - info.epsneg, info.max, info.max / 2, info.tiny, info.tiny / 4,
                               info.smallest_subnormal)]


def points(dtype: DType, those: tuple[float, ...] = POINTS) -> Any:
    """Points of either sign."""
    found = np.array([*those, *ends(dtype)], dtype.numpy)
    return np.concatenate([found, -found])


def check(name: str, y: Any, law: Any, x: Any, ulps: int, is_signed: bool = True, scale: float = 0) -> None:
    """NaN, infinities and zeros with their signs in their places, numbers within so many ulp, of `scale` at least; what
    is less than twice the least normal number may be 0 (docs/approximations.md).
    """
    assert (y.dtype, y.shape) == (law.dtype, law.shape), name
    same = y == law
    if law.dtype.kind == "f":
        least = 2 * np.finfo(law.dtype).tiny
        small = np.where(np.isfinite(law), np.clip(abs(law), scale, np.finfo(law.dtype).max / 2), 0)
        apart = np.where(np.isfinite(law) & np.isfinite(y), abs(np.nan_to_num(y) - np.nan_to_num(law)), INF)
        same &= (np.signbit(y) == np.signbit(law)) | (law != 0) | (not is_signed)
        same |= np.isnan(law) & np.isnan(y) | ((law != 0) | (scale > 0)) & (apart <= ulps * np.spacing(small))
        same |= (law != 0) & (abs(law) < least) & (abs(y) < least)
    at = [x[k] for k in np.flatnonzero(~same)]
    assert same.all(), (name, list(zip(at, y[~same], law[~same])))


def computed(f: Callable[..., Any], backend: str, *x: Any) -> list[Any]:
    """Several results of one program."""
    with np.errstate(all="ignore"):
        return [y.numpy() for y in st.compile(f, backend=backend)(*map(st.tensor, x))]


def parts(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_of_numpy(backend: str, dtype: DType) -> None:
    x = points(dtype)
    with np.errstate(all="ignore"):
        laws = [(name, law) for name in OF_ONE.split() for law in parts(getattr(np, name)(x))]
    found = computed(lambda x: [y for name in OF_ONE.split() for y in parts(getattr(st, name)(x))], backend, x)
    for y, (name, law) in zip(found, laws, strict=True):
        check(name, y, law, x, 4)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_of_two_of_numpy(backend: str, dtype: DType) -> None:
    x, z = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(*[points(dtype, PAIRED)] * 2))
    with np.errstate(all="ignore"):
        laws = [getattr(np, name)(x, z) for name in OF_TWO.split()]
    found = computed(lambda x, z: [getattr(st, name)(x, z) for name in OF_TWO.split()], backend, x, z)
    for name, y, law in zip(OF_TWO.split(), found, laws, strict=True):
        check(name, y, law, list(zip(x, z)), 4, name not in SIGNLESS, 1 if name in SUMS else 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("backend", BACKENDS)
def test_special_functions(backend: str, dtype: DType) -> None:
    """The reference sums series: it has no last digits."""
    rows = {**SPECIAL, **{f"polygamma {n}": row for n, row in OF_ORDER.items()}}
    given = [np.array([*(x for x, _ in row), NAN], dtype.numpy) for row in rows.values()]

    def f(*x: Any) -> Any:
        return [getattr(st, name)(v) if name in SPECIAL else st.polygamma(int(name[-1]), v) for name, v in zip(rows, x)]

    for (name, row), x, y in zip(rows.items(), given, computed(f, backend, *given)):
        with np.errstate(all="ignore"):
            law = np.array([*(y for _, y in row), NAN]).astype(dtype.numpy)
        check(name, y, law, x, 4 if backend == "cpu" else 64)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("backend", BACKENDS)
def test_zeta(backend: str, dtype: DType) -> None:
    with np.errstate(all="ignore"):
        x, z, law = np.array(ZETA).T.astype(dtype.numpy)
    (y,) = computed(lambda x, z: [st.zeta(x, z)], backend, x.copy(), z.copy())
    check("zeta", y, law, list(zip(x, z)), 8 if backend == "cpu" else 64)


def test_zeta_of_negative_arguments_has_derivatives() -> None:
    z = st.tensor([-0.5, -2.25, 0.75], dtype="float64")
    slope = st.grad(lambda z: st.zeta(3.0, z).sum())(z)
    np.testing.assert_allclose(slope.numpy(), -3 * st.zeta(4.0, z).numpy(), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_ldexp_of_any_exponent(backend: str, dtype: str) -> None:
    x = np.array([0.0, -0.0, 1.0, -1.5, 6e4, 1e-7, INF, -INF, NAN])
    e = np.array([0, 1, 10, 15, 100, 126, 300, 1000, 3000, 2**31 - 1], "i4")
    e = np.concatenate([e, -e])
    given = st.tensor(x, dtype=dtype)
    y = st.compile(st.ldexp, backend=backend)(given, st.tensor(e[:, None]))
    with np.errstate(all="ignore"):
        law = st.tensor(np.ldexp(given.numpy().astype("f8"), e[:, None]).astype(st.zeros(0, dtype=dtype).numpy().dtype))
    least = 2 * float(st.finfo(dtype).smallest_normal)
    y, law = (v.astype("float64").numpy() for v in (y, law))
    same = (y == law) & (np.signbit(y) == np.signbit(law)) | (np.isnan(y) & np.isnan(law))
    same |= (abs(law) < least) & (abs(y) < least)
    assert same.all(), (y[~same], law[~same])


def test_parts_have_derivatives_at_whole_numbers() -> None:
    slope = st.grad(lambda x: st.modf(x)[0].sum())(st.tensor([1.0, -2.0, 2.5]))
    assert slope.tolist() == [1.0, 1.0, 1.0]
