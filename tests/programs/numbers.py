"""Arrays to try: every dtype, the sizes at which code changes, and the values at which arithmetic does."""
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from stele.ir.types import DType, promote
from stele.ir.types import dtype as type_named

Array = np.ndarray[Any, Any]
TINY = (1, 2, 3, 4, 5, 7)
EDGES = (0, 1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 255, 256, 257)
LARGE = (1000, 1003)
MOST = 70_000           # elements of an array, but for the large ones
COARSE: dict[str, float] = {}   # dtypes that are taken to be rounded more coarsely than they are


def wide(d: DType) -> Any:
    """The NumPy dtype in which the oracle holds numbers of a dtype: floats in twice the bits or more."""
    if d.is_complex:
        return np.clongdouble if d.bits == 128 else np.complex128
    return d.numpy if not d.is_float else np.longdouble if d.bits == 64 else np.float64


def epsilon(d: DType) -> float:
    """The relative distance of neighbours, or what counts for it."""
    return COARSE.get(d.real.name) or float(ml_dtypes.finfo(d.real.numpy).eps)


@contextmanager
def as_coarse(as_bfloat16: bool) -> Generator[None]:
    """Whether float32 is rounded as coarsely as bfloat16."""
    COARSE.update({"float32": float(ml_dtypes.finfo(ml_dtypes.bfloat16).eps)} if as_bfloat16 else {})
    try:
        yield
    finally:
        COARSE.clear()


def largest(d: DType) -> float:
    return float(ml_dtypes.finfo(d.real.numpy).max)


def smallest(d: DType) -> float:
    """The smallest positive number that is not subnormal."""
    return float(ml_dtypes.finfo(d.real.numpy).smallest_normal)


def specials(d: DType) -> list[Any]:
    """Values of a dtype at which arithmetic changes."""
    if d.kind == "b":
        return [False, True]
    if d.is_float:
        e, m, s = epsilon(d), largest(d), smallest(d)
        return [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), m, -m, s, -s, s / 2, 1 + e, 1 - e / 2,
                0.5, -0.5, 1.5, 2.5, 88.7, -103.9, 3e4, 1e-7]
    low, high = int(np.iinfo(d.numpy).min), int(np.iinfo(d.numpy).max)
    return [v for v in (low, high, low + 1, high - 1, 0, 1, 2, 3, -1, -2, 127, 128, 255, 256, 32767, 65535, 2**24 + 1,
                        2**53 + 1, 2**63 - 1, 2**63)
            if low <= v <= high]


def draw(rng: np.random.Generator, d: DType, shape: tuple[int, ...], special: float, tame: bool = False) -> Array:
    """Random numbers, a share of them special; `tame` ones stay from -2 to 2."""
    if d.kind == "b":
        return rng.random(shape) < 0.5
    if d.is_complex:
        re, im = (draw(rng, d.real, shape, special, tame) for _ in range(2))
        return joined(re, im)
    if d.is_float:
        scale = 1.0 if tame else float(rng.choice([1.0, 1.0, 1.0, 10.0]))
        x = np.asarray(rng.uniform(-2, 2, shape) * scale)
    else:
        bounds = np.iinfo(d.numpy)
        low, high = (0, 5) if tame else [(0, 5), (-9, 9), (-1000, 1000), (bounds.min, bounds.max)][int(rng.integers(4))]
        x = rng.integers(max(low, int(bounds.min)), min(high, int(bounds.max)), shape,
                         np.uint64 if d.kind == "u" else np.int64, endpoint=True)
    x = np.asarray(x).astype(d.numpy)
    if special and x.size:
        flat, values = x.reshape(-1), np.array(specials(d), d.numpy)
        chosen = rng.random(flat.size) < special
        flat[chosen] = rng.choice(values, int(chosen.sum()))
    return x


def joined(re: Any, im: Any) -> Array:
    """Complex numbers of their parts, without arithmetic."""
    re, im = np.broadcast_arrays(re, im)
    y = np.empty(re.shape, np.result_type(re, np.complex64))
    y.real, y.imag = re, im
    return y


def common(*dtypes: DType) -> DType:
    """The dtype in which operands meet."""
    met = dtypes[0]
    for d in dtypes[1:]:
        met = promote(met, d)
    return met


F32, I64, BOOL = type_named("float32"), type_named("int64"), type_named("bool")
