"""Prints, as a table in Markdown, how far the polynomial functions are from the truth and how fast they are.

    python tools/measure_ulp.py [log2 of the number of float32 samples, 24 unless said]
    python tools/measure_ulp.py 12 zeta polygamma      # these functions alone
    python tools/measure_ulp.py --times

float32 samples are spread evenly over the bit patterns of all floats, and as many over the range where a function
bends; the truth is NumPy in float64. float64 samples are fewer; the truth is 80-bit arithmetic, for erf 40 digits.
Results that are denormal or next to it are left out: exp and what is made of it answer 0 there.
"""
from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from probe import LEVELS, Probe, probe

from stele.ir.types import DType, float32, float64
from stele.ops import ALL

Array = np.ndarray[Any, np.dtype[Any]]
CHUNK = 1 << 20


@dataclass(frozen=True)
class Case:
    """A function of the vocabulary: its truth, and the range where most of its shape is."""

    name: str
    truth: Callable[..., Array]
    low: float
    high: float
    operands: int = 1
    slow: bool = False
    op: Any = None      # where it is no word of the vocabulary

    def formula(self, s: Any, *x: Any) -> Any:
        """One element, said to a builder."""
        return self.op.scalar(s, *x) if self.op else getattr(s, self.name.partition(" ")[0])(*x)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def digits(f: Callable[..., Any]) -> Callable[..., Array]:
    """A function of mpmath on arrays, in 40 digits; NaN where it has no real value."""
    def one(*x: Any) -> Any:
        try:
            with mpmath.workdps(40):
                y = f(*(mpmath.mpf(float(v)) for v in x))
            return np.longdouble(mpmath.nstr(y, 25)) if isinstance(y, mpmath.mpf) else np.longdouble("nan")
        except (ValueError, ZeroDivisionError, mpmath.libmp.NoConvergence, OverflowError):
            return np.longdouble("nan")

    return lambda *x: np.array([one(*v) for v in zip(*x)], np.longdouble)


def ndtri(p: Any) -> Any:
    """-sqrt(2) times what erfc makes 2 p."""
    if not 0 < p < 1:
        return mpmath.nan
    q = 2 * min(p, 1 - p)
    y = mpmath.erfinv(1 - q) if q > 0.01 else mpmath.findroot(lambda y: mpmath.log(mpmath.erfc(y) / q),
                                                              mpmath.sqrt(-mpmath.log(q)))
    return y * mpmath.sqrt(2) * (1 if p > 0.5 else -1)


CASES = (
    Case("exp", np.exp, -10, 10), Case("expm1", np.expm1, -2, 2), Case("log", np.log, 0, 4),
    Case("log1p", np.log1p, -1, 3), Case("sin", np.sin, -100, 100), Case("cos", np.cos, -100, 100),
    Case("tanh", np.tanh, -4, 4), Case("sigmoid", sigmoid, -20, 20), Case("erf", digits(mpmath.erf), -4, 4),
    Case("erfc", digits(mpmath.erfc), -2, 10),
    Case("atan", np.arctan, -4, 4), Case("pow", np.power, 0, 4, 2),
    Case("tan", np.tan, -10, 10), Case("asin", np.arcsin, -1, 1), Case("acos", np.arccos, -1, 1),
    Case("sinh", np.sinh, -4, 4), Case("cosh", np.cosh, -4, 4), Case("asinh", np.arcsinh, -4, 4),
    Case("acosh", np.arccosh, 1, 4), Case("atanh", np.arctanh, -1, 1), Case("exp2", np.exp2, -10, 10),
    Case("log2", np.log2, 0, 4), Case("log10", np.log10, 0, 4), Case("cbrt", np.cbrt, -4, 4),
    Case("atan2", np.arctan2, -4, 4, 2), Case("hypot", np.hypot, -4, 4, 2),
    *(Case(name, digits(f), low, high, slow=True) for name, f, low, high in (
        ("sinc", mpmath.sincpi, -10, 10), ("lgamma", lambda x: mpmath.loggamma(x) if x > 0 else mpmath.nan, 0, 10),
        ("digamma", lambda x: mpmath.digamma(x) if x > 0 else mpmath.nan, 0, 10),
        ("i0", lambda x: mpmath.besseli(0, x), -20, 20), ("i1", lambda x: mpmath.besseli(1, x), -20, 20),
        ("i0e", lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), -20, 20),
        ("i1e", lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), -20, 20),
        ("erfinv", mpmath.erfinv, -1, 1), ("ndtri", ndtri, 0, 1),
        ("erfcx", lambda x: mpmath.exp(x * x) * mpmath.erfc(x), -4, 30),
        ("ndtr", mpmath.ncdf, -38, 8),
        ("log_ndtr", lambda x: mpmath.log1p(-mpmath.ncdf(-x)) if x > 0 else mpmath.log(mpmath.ncdf(x)), -40, 8),
        ("lgamma below 0", lambda x: mpmath.log(abs(mpmath.gamma(x))) if -160 < x < 0 else mpmath.nan, -20, 0),
        ("digamma below 0", lambda x: mpmath.digamma(x) if -1e6 < x < 0 else mpmath.nan, -20, 0))),
    *(Case(name, digits(f), low, high, count, True, ALL[op](*fields)) for name, f, low, high, count, op, *fields in (
        ("rsqrt", lambda x: 1 / mpmath.sqrt(x) if x > 0 else mpmath.nan, 0, 4, 1, "Rsqrt"),
        ("softplus", lambda x: mpmath.log1p(mpmath.exp(x)), -20, 20, 1, "Softplus"),
        ("logit", lambda x: mpmath.log(x / (1 - x)) if 0 < x < 1 else mpmath.nan, 0, 1, 1, "Logit"),
        ("xlogy", lambda x, z: x * mpmath.log(z) if z > 0 else mpmath.nan, 0, 4, 2, "XLogY"),
        ("xlog1py", lambda x, z: x * mpmath.log1p(z) if z > -1 else mpmath.nan, -1, 3, 2, "XLog1py"),
        ("logaddexp", lambda x, z: max(x, z) + mpmath.log1p(mpmath.exp(-abs(x - z))), 0, 20, 2, "LogAddExp"),
        ("entr", lambda x: -x * mpmath.log(x) if x > 0 else mpmath.nan, 0, 4, 1, "Entr"),
        ("zeta", lambda x, z: mpmath.zeta(x, z) if 1 < x < 200 and 0 < z < 1e6 else mpmath.nan, 1, 12, 2, "Zeta"),
        *((f"polygamma {n}", lambda x, n=n: mpmath.psi(n, x) if abs(x) < 1e6 else mpmath.nan, 0, 10, 1, "Polygamma", n)
          for n in (1, 2, 3, 4, 6, 9)))),
)


def samples(case: Case, dtype: DType, count: int) -> Iterator[tuple[Array, ...]]:
    """Chunks of arguments."""
    rng = np.random.default_rng(11)
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        yield tuple(rng.uniform(case.low, case.high, size).astype(dtype.numpy) for _ in range(case.operands))
        if dtype == float32:
            step = 2**32 // count
            patterns = np.arange(start * step, (start + size) * step, step, dtype=np.uint64) + rng.integers(step)
            every = patterns.astype(np.uint32).view(np.float32)
        else:
            every = rng.uniform(-1, 1, size) * np.exp2(rng.uniform(-300, 62, size))
        yield (every, rng.permutation(every))[:case.operands]


def worst(case: Case, dtype: DType, run: Probe, count: int) -> tuple[float, float]:
    """The largest error in units of the last place, and where it is."""
    largest, place = 0.0, 0.0
    wide = np.float64 if dtype == float32 and case.operands == 1 else np.longdouble
    tiny = np.finfo(dtype.numpy).tiny
    for x in samples(case, dtype, count):
        got = run(*x)
        with np.errstate(all="ignore"):
            want = np.asarray(case.truth(*(v.astype(wide) for v in x)))
            error = np.abs(got - want) / np.exp2(np.floor(np.log2(np.abs(want))) - np.finfo(dtype.numpy).nmant)
            counts = np.isfinite(want) & (np.abs(want) > 2 * tiny) & (np.abs(want) < np.finfo(dtype.numpy).max)
        error = np.where(counts, error, 0)
        if not error.max() <= largest:
            largest, place = float(error.max()), float(x[0][error.argmax()])
    return largest, place


def nanoseconds(run: Probe, dtype: DType) -> float:
    """Time for one more element of an array that stays in the first cache."""
    sizes = 1024, 3072
    arrays = [np.linspace(0.1, 3, sizes[1]).astype(d.numpy) for d in (*run.dtypes, dtype)]
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))
    call, pointers = kind(run.engine.get_function_address("probe")), [a.ctypes.data for a in arrays]
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(300):
        for size in sizes:
            start = time.perf_counter()
            for _ in range(10):
                call(size, *pointers)
            times[size].append(time.perf_counter() - start)
    return (min(times[sizes[1]]) - min(times[sizes[0]])) / (sizes[1] - sizes[0]) / 10 * 1e9


def compiled(case: Case, dtype: DType, level: str) -> Probe:
    return probe(case.formula, [dtype] * case.operands, dtype, level)


def errors(count: int, names: Sequence[str]) -> None:
    """Prints the table of errors in ulp, of all functions or of those that are named."""
    print("| function | dtype | " + " | ".join(LEVELS) + " | worst x (v4) |\n|---|---|" + "---:|" * (len(LEVELS) + 1))
    for dtype in (float32, float64):
        for case in (case for case in CASES if not names or case.name.partition(" ")[0] in names):
            most = 1 << (11 if case.slow else 15 if case.name in ("erf", "erfc") else
                         20 if dtype == float64 or case.operands > 1 else 24)
            found = [worst(case, dtype, compiled(case, dtype, level), min(count, most)) for level in LEVELS]
            cells = " | ".join(f"{error:.3f}" for error, _ in found)
            print(f"| {case.name} | {dtype} | {cells} | {found[-1][1]:.9g} |", flush=True)


def times() -> None:
    """Prints the table of nanoseconds for one element, on one core, from the first cache."""
    print("| function | " + " | ".join(f"{d} {level}" for d in (float32, float64) for level in LEVELS) + " |")
    print("|---|" + "---:|" * (2 * len(LEVELS)))
    for case in CASES:
        found = [nanoseconds(compiled(case, d, level), d) for d in (float32, float64) for level in LEVELS]
        print(f"| {case.name} | " + " | ".join(f"{t:.2f}" for t in found) + " |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--times"]:
        times()
    else:
        errors(1 << int(sys.argv[1] if len(sys.argv) > 1 else 24), sys.argv[2:])
