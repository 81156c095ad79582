"""Casts between ONNX's element types; those that no tensor has are cast on the host, as the standard's tables say."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import stele as st
from stele.interop.onnx.model import Array
from stele.interop.onnx.values import Call, dtype_named, dtype_of, host, value
from stele.ir.types import DTYPES


def cast(c: Call, x: Any) -> Any:
    """x as another element type."""
    return cast_to(x, dtype_named(c.get("to")), bool(c.get("saturate", 1)), c.get("round_mode", "up"))


def cast_like(c: Call, x: Any, like: Any) -> Any:
    """x as the element type of another value."""
    return cast_to(x, dtype_named(dtype_of(like)), bool(c.get("saturate", 1)), c.get("round_mode", "up"))


def cast_to(x: Any, dtype: np.dtype[Any], saturate: bool = True, round_mode: str = "up") -> Any:
    """x as a dtype: in the program where tensors have both, else on the host."""
    if isinstance(x, st.Tensor) and dtype.name in DTYPES:
        return x.astype(dtype.name)
    if dtype.name == "float8_e8m0fnu":
        return exponents(host(x).astype(np.float32), dtype, round_mode)
    return value(narrowed(host(x), dtype, saturate))


def narrowed(x: Array, dtype: np.dtype[Any], saturate: bool) -> Array:
    """Numbers or texts as a dtype, held to its range where that is asked for."""
    if dtype.kind == "O":
        return np.vectorize(text, otypes=[object])(x) if x.size else x.astype(object)
    if x.dtype.kind == "O":
        return x.astype(str).astype(np.float64).astype(dtype) if dtype.kind != "f" else x.astype(str).astype(dtype)
    if dtype.name.startswith("float8") or dtype.name.startswith("float4"):
        wide = x.astype(np.float32)
        made = wide.astype(dtype)
        if saturate or dtype.name.startswith("float4"):
            top = float(ml_dtypes.finfo(dtype).max)
            made = np.where(np.isnan(wide), made, np.clip(wide, -top, top).astype(dtype)).astype(dtype)
        return made
    if dtype.name in ("int4", "uint4", "int2", "uint2"):
        return x.astype(np.int32).astype(dtype)
    return x.astype(np.float32).astype(dtype) if x.dtype.name.startswith("float8") else x.astype(dtype)


def exponents(x: Array, dtype: np.dtype[Any], round_mode: str) -> Array:
    """Numbers as powers of two: the next one up, down, or nearest; the least one for 0."""
    fraction, exponent = np.frexp(np.abs(x))
    up = fraction > {"up": 0.5, "down": 1.0, "nearest": 0.75 - 1e-9}[round_mode]
    power = np.where(x == 0, -127, np.clip(exponent - 1 + up, -127, 127))
    made = (power + 127).astype(np.uint8)
    return np.where(np.isfinite(x), made, 255).astype(np.uint8).view(dtype)


def text(x: Any) -> str:
    """A number as ONNX writes it."""
    return str(x) if not isinstance(x, float | np.floating) else np.format_float_positional(x, trim="0") \
        if np.isfinite(x) else {"nan": "NaN", "inf": "INF", "-inf": "-INF"}[str(x)]


def bitcast(c: Call, x: Any) -> Any:
    """The same bits as another element type of the same width: in the program where tensors have both."""
    dtype = dtype_named(c.get("to"))
    if isinstance(x, st.Tensor) and dtype.name in DTYPES:
        return x.view(dtype.name)
    array = host(x)
    return value(np.atleast_1d(array).copy().view(dtype).reshape(array.shape))
