"""ONNX's quantised ops: whole numbers with a scale and a zero point, narrow ones on the host."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import numpy as np

import stele as st
from stele.interop.onnx.casts import cast_to, narrowed
from stele.interop.onnx.values import Call, Rules, dtype_named, dtype_of, host, value
from stele.interop.onnx.windows import conv

RANGES = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767), "uint4": (0, 15),
          "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1)}


def held(y: Any, dtype: str) -> Any:
    """Numbers within the range of a dtype; what is none is the lowest, as in ONNX Runtime."""
    low, high = RANGES[dtype]
    return st.minimum(st.fmax(y, low), high)


def fitted(v: Any, x: Any, axis: int, block: int) -> Any:
    """A scale or zero point as it broadcasts over x: one for all, for each part of an axis, or for each block."""
    if v.ndim == 0 or (v.ndim == 1 and v.shape[0] == 1):
        return v.reshape(())
    if not block and v.ndim == 1:
        return v.reshape((1,) * (axis % x.ndim) + (-1,) + (1,) * (x.ndim - 1 - axis % x.ndim))
    wide = np.repeat(v, block, axis) if isinstance(v, np.ndarray) else st.repeat(v, block, axis=axis)
    return wide[(slice(None),) * (axis % x.ndim) + (slice(0, x.shape[axis]),)]


def quantise(c: Call, x: Any, scale: Any, zero: Any = None) -> Any:
    """round(x / scale) + zero, held to the range of the whole numbers; ties go to even ones."""
    axis, block = c.get("axis", 1), c.get("block_size", 0)
    dtype = np.dtype("uint8") if zero is None and not c.get("output_dtype") else dtype_named(
        c.get("output_dtype")) if zero is None else dtype_named(dtype_of(zero))
    wide = np.float64 if c.get("precision", 0) == 11 else np.float32
    y = x.astype(np.dtype(wide).name) / fitted(scale, x, axis, block).astype(np.dtype(wide).name)
    if dtype.name not in RANGES:
        return value(narrowed(host(y), dtype, bool(c.get("saturate", 1))))
    offset = 0 if zero is None else fitted(zero if isinstance(zero, st.Tensor) else value(
        zero.astype(np.int32)), x, axis, block).astype(np.dtype(wide).name)
    return cast_to(held(st.round(y) + offset, dtype.name), dtype)


def dequantise(c: Call, x: Any, scale: Any, zero: Any = None) -> Any:
    """(x - zero) * scale, in the dtype of the scale."""
    axis, block = c.get("axis", 1), c.get("block_size", 0)
    made = scale.dtype if not c.get("output_dtype") else dtype_named(c.get("output_dtype")).name
    wide = widened(x)
    if zero is not None:
        wide = wide - fitted(widened(zero), x, axis, block)
    return (wide.astype("float32") * fitted(scale, x, axis, block).astype("float32")).astype(made)


def widened(x: Any) -> Any:
    """Numbers that differences do not overflow."""
    if isinstance(x, np.ndarray):
        return st.tensor(x.astype(np.float32))
    return x.astype("int32") if x.dtype.kind in "iu" else x.astype("float32")


def dynamic(c: Call, x: Any) -> Any:
    """x as bytes without sign, by a scale and zero point of its own range."""
    low, high = st.minimum(st.min(x), 0), st.maximum(st.max(x), 0)
    scale = st.where(high == low, 1.0, (high - low) / 255)       # of zeros alone
    zero = st.clip(st.round(-low / scale), 0, 255).astype("uint8")
    return st.clip(st.round(x / scale) + zero.astype("float32"), 0, 255).astype("uint8"), scale, zero


def matmul_integer(c: Call, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    """The product of whole numbers less their zero points, as int32."""
    return shifted(a, a_zero, -2) @ shifted(b, b_zero, -1)


def shifted(x: Any, zero: Any, axis: int) -> Any:
    """x less its zero point: one, one for each row (axis -2) or column, or one for each part of all."""
    x = x.astype("int32")
    if zero is None:
        return x
    zero = zero.astype("int32")
    if zero.ndim == 1 and zero.shape[0] > 1 and axis == -2:
        zero = zero.reshape((-1, 1))
    return x - zero


def qlinear_matmul(c: Call, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any,
                   y_zero: Any) -> Any:
    """The product of quantised matrices, quantised."""
    total = shifted(a, a_zero, -2) @ shifted(b, b_zero, -1)
    return requantised(total, a_scale.astype("float32") * b_scale.astype("float32"), y_scale, y_zero)


def requantised(total: Any, scale: Any, y_scale: Any, y_zero: Any) -> Any:
    """Sums of whole numbers with a scale as whole numbers of another one."""
    name = str(y_zero.dtype)
    y = st.round(total.astype("float64") * scale.astype("float64") / y_scale.astype("float64"))
    return held(y + y_zero.astype("float64"), name).astype(name)


def conv_integer(c: Call, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    """The convolution of whole numbers less their zero points, as int32: exact in float64."""
    if w_zero is not None and w_zero.ndim == 1 and w_zero.shape[0] > 1:
        w_zero = w_zero.reshape((-1,) + (1,) * (w.ndim - 1))
    y = conv(c, shifted(x, x_zero, -1).astype("float64"), shifted(w, w_zero, -1).astype("float64"))
    return y.astype("int32")


def qlinear_conv(c: Call, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any,
                 y_zero: Any, bias: Any = None) -> Any:
    """The convolution of quantised numbers, quantised."""
    lead = (1, -1) + (1,) * (x.ndim - 2)
    total = conv_integer(c, x, w, x_zero, w_zero)
    total = total if bias is None else total + bias.reshape(lead)
    scale = x_scale.astype("float32") * w_scale.astype("float32")
    return requantised(total, scale.reshape(lead) if scale.ndim else scale, y_scale, y_zero)


RULES: Rules = {
    "QuantizeLinear": quantise, "DequantizeLinear": dequantise, "DynamicQuantizeLinear": dynamic,
    "MatMulInteger": matmul_integer, "QLinearMatMul": qlinear_matmul, "ConvInteger": conv_integer,
    "QLinearConv": qlinear_conv,
}
