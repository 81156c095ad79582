"""Quantised ops that ONNX Runtime's tools write into models, of its domain com.microsoft."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.errors import DataError
from stele.interop.onnx.quantised import (
    dequantise,
    dynamic,
    fitted,
    held,
    matmul_integer,
    qlinear_conv,
    quantise,
    requantised,
)
from stele.interop.onnx.recurrent import functions, gated, walked
from stele.interop.onnx.values import Call, Rules
from stele.interop.onnx.windows import average_pool, max_pool, spread

DOMAIN = "com.microsoft"


def only(c: Call, *attributes: str, **inputs: Any) -> None:
    """Raises DataError for attributes and inputs of a node that its rule does not know."""
    said = [name for name in attributes if c.get(name)] + [name for name, x in inputs.items() if x is not None]
    if said:
        raise DataError(f"{c.node.op} is there without {', '.join(said)}")


def biased(x: Any, bias: Any) -> Any:
    """x with a bias where there is one."""
    return x if bias is None else x + bias


def real(x: Any, scale: Any, zero: Any, axis: int = -1) -> Any:
    """Quantised numbers as real ones; a scale for each part is of an axis."""
    wide = x.astype("int32")
    wide = wide if zero is None else wide - fitted(zero.astype("int32"), x, axis, 0)
    return wide.astype("float32") * fitted(scale, x, axis, 0)


def whole(y: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    """Real numbers quantised, held to the range of a dtype; ties go to even ones."""
    name = str(dtype if zero is None else zero.dtype)
    y = st.round(y / scale.reshape(()))
    y = y if zero is None else y + zero.reshape(()).astype("float32")
    return held(y, name).astype(name)


def of_real(f: Callable[..., Any]) -> Any:
    """The rule of a function of real numbers on quantised ones."""
    def rule(c: Call, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
        return whole(f(c, real(x, x_scale, x_zero)), y_scale, y_zero, x.dtype)

    return rule


def of_two(f: Callable[[Any, Any], Any]) -> Any:
    """The rule of a function of two real numbers on quantised ones."""
    def rule(c: Call, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any,
             y_zero: Any = None) -> Any:
        return whole(f(real(a, a_scale, a_zero), real(b, b_scale, b_zero)), y_scale, y_zero, a.dtype)

    return rule


def channels_first(f: Callable[..., Any], last: int = 0) -> Callable[..., Any]:
    """A function of images whose channels may come last, or do so always."""
    def rule(c: Call, x: Any, *more: Any) -> Any:
        if not c.get("channels_last", last):
            return f(c, x, *more)
        return st.moveaxis(f(c, st.moveaxis(x, -1, 1), *more), 1, -1)

    return rule


def concat(c: Call, y_scale: Any, y_zero: Any, *parts: Any) -> Any:
    """Quantised arrays joined along an axis, each with a scale and zero point of its own."""
    rows = [parts[k:k + 3] for k in range(0, len(parts), 3)]
    return whole(st.concatenate([real(*row) for row in rows], axis=c.get("axis")), y_scale, y_zero, parts[0].dtype)


def where(c: Call, test: Any, x: Any, x_scale: Any, x_zero: Any, z: Any, z_scale: Any, z_zero: Any, y_scale: Any,
          y_zero: Any) -> Any:
    """One of two quantised arrays for each element, quantised."""
    return whole(st.where(test, real(x, x_scale, x_zero), real(z, z_scale, z_zero)), y_scale, y_zero, x.dtype)


def flattened(c: Call, x: Any) -> Any:
    """Softmax along an axis, before opset 13 of all axes from it on."""
    axis = c.get("axis", -1) % x.ndim
    if c.get("opset", 13) > 12:
        return st.softmax(x, axis)
    return st.softmax(x.reshape((*x.shape[:axis], -1)), -1).reshape(x.shape)


def gemm(c: Call, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, bias: Any = None,
         y_scale: Any = None, y_zero: Any = None) -> Any:
    """The product of quantised matrices with a bias of int32: quantised, or real without a scale for it."""
    a = st.matrix_transpose(a) if c.get("transA", 0) else a
    b = st.matrix_transpose(b) if c.get("transB", 0) else b
    total = biased(matmul_integer(c, a, b, a_zero, b_zero), bias)
    scale = a_scale.reshape(()) * b_scale * c.get("alpha", 1.0)
    scale = scale.reshape(()) if scale.size == 1 else scale
    return total.astype("float32") * scale if y_scale is None else requantised(total, scale, y_scale, y_zero)


def to_float(c: Call, a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None,
             bias: Any = None) -> Any:
    """The product of quantised matrices in real numbers."""
    return biased(matmul_integer(c, a, b, a_zero, b_zero).astype("float32") * (a_scale * b_scale), bias)


def by_range(c: Call, a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None) -> Any:
    """The product of real numbers, quantised by their range, and a quantised matrix."""
    whole_a, scale, zero = dynamic(c, a)
    return to_float(c, whole_a, b, scale, b_scale, zero, b_zero, bias)


def unpacked(x: Any, bits: int) -> Any:
    """The numbers of 2, 4 or 8 bits in each byte of the last axis, the lowest bits first, as int32."""
    if bits not in (2, 4, 8):
        raise DataError(f"numbers of 2, 4 or 8 bits lie in bytes, got {bits} bits")
    places = st.arange(0, 8, bits, dtype="int32")
    parts = (x.astype("int32")[..., None] >> places) & ((1 << bits) - 1)
    return parts.reshape((*x.shape[:-1], x.shape[-1] * (8 // bits)))


def matmul_bits(c: Call, a: Any, b: Any, scales: Any, zeros: Any = None, order: Any = None, bias: Any = None) -> Any:
    """The product with a matrix (N, K) of few bits, whose rows have a scale and a zero point for each block."""
    only(c, "weight_prepacked")
    k, n, block, bits = c.get("K"), c.get("N"), c.get("block_size"), c.get("bits", 4)
    count = -(-k // block)
    codes = unpacked(b.reshape((n, -1)), bits)[:, :k]
    if zeros is not None and str(zeros.dtype) == "uint8":
        zeros = unpacked(zeros.reshape((n, -1)), bits)[:, :count]
    of = st.arange(k) // block if order is None else order
    zero: Any = 1 << (bits - 1) if zeros is None else st.take(
        zeros.reshape((n, count)).astype("float32"), of, axis=1)
    w = (codes.astype("float32") - zero) * st.take(scales.reshape((n, count)).astype("float32"), of, axis=1)
    return biased((a.astype("float32") @ w.T).astype(a.dtype), bias)


def gather_bits(c: Call, x: Any, index: Any, scales: Any, zeros: Any = None) -> Any:
    """Rows of a table of few bits, with a scale and a zero point for each block of an axis."""
    bits, axis = c.get("bits", 4), c.get("quantize_axis", 1) % x.ndim
    if isinstance(x, st.Tensor):
        x, default = unpacked(x, bits), 1 << (bits - 1)
        zeros = zeros if zeros is None else unpacked(zeros, bits)[..., :scales.shape[-1]]
    else:       # numbers of few bits themselves
        x, default = st.tensor(x.astype("float32")), 0
        zeros = zeros if zeros is None else st.tensor(zeros.astype("float32"))
    block = c.get("block_size", 128) or x.shape[axis]
    zero: Any = default if zeros is None else fitted(zeros, x, axis, block)
    table = (x - zero).astype(scales.dtype) * fitted(scales, x, axis, block)
    return st.take(table, index, axis=c.get("gather_axis", 0))


def lstm(c: Call, x: Any, w: Any, r: Any, b: Any, lengths: Any, h: Any, cell: Any, p: Any, w_scale: Any, w_zero: Any,
         r_scale: Any, r_zero: Any) -> Any:
    """An LSTM whose weights (direction, in, 4 n) are quantised, and inputs and states by their range."""
    n, ys, lasts = r.shape[1], list[Any](), list[Any]()
    fs = functions(c, len(w), "LSTM")
    for k in range(len(w)):
        bias = 0.0 if b is None else b[k, :4 * n] + b[k, 4 * n:]

        def step(row: Any, h: Any, cell: Any, k: int = k) -> Any:
            gates = row + by_range(c, h, r[k], r_scale[k], r_zero[k])
            return gated(c, gates, cell, fs[k], None if p is None else p[k])

        start = [st.zeros((x.shape[1], n)) if s is None else s[k] for s in (h, cell)]
        wide = by_range(c, x, w[k], w_scale[k], w_zero[k]) + bias
        last, y = walked(step, wide, start, lengths, c.get("direction") == "reverse" or k == 1)
        ys.append(y)
        lasts.append(last)
    return (st.stack(ys, axis=1), *(st.stack([last[j] for last in lasts]) for j in range(2)))


RULES: Rules = {f"{DOMAIN}:{name}": f for name, f in {
    "QuantizeLinear": quantise, "DequantizeLinear": dequantise,
    "QLinearAdd": of_two(lambda a, b: a + b), "QLinearMul": of_two(lambda a, b: a * b),
    "QLinearSigmoid": of_real(lambda c, x: st.sigmoid(x)),
    "QLinearLeakyRelu": of_real(lambda c, x: st.where(x < 0, x * c.get("alpha", 0.01), x)),
    "QLinearAveragePool": of_real(channels_first(average_pool)),
    "QLinearGlobalAveragePool": of_real(channels_first(lambda c, x: st.mean(x, axis=spread(x), keepdims=True))),
    "QLinearConv": channels_first(qlinear_conv), "NhwcMaxPool": channels_first(max_pool, 1),
    "QLinearSoftmax": of_real(flattened), "QLinearConcat": concat, "QLinearWhere": where,
    "QGemm": gemm, "MatMulIntegerToFloat": to_float, "DynamicQuantizeMatMul": by_range,
    "MatMulNBits": matmul_bits, "GatherBlockQuantized": gather_bits, "DynamicQuantizeLSTM": lstm,
}.items()}
