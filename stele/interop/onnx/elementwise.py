"""ONNX's ops on single elements."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

import stele as st
from stele.interop.onnx.casts import bitcast, cast, cast_like
from stele.interop.onnx.values import Call, Rules, host, known, number
from stele.nn import functional as F


def unary(f: Any) -> Any:
    """A function of one array."""
    return lambda c, x: f(x)


def binary(f: Any) -> Any:
    """A function of two arrays, which broadcast as NumPy's do, and before version 7 along `axis` if it is asked for."""
    def rule(c: Call, x: Any, y: Any) -> Any:
        if c.version < 7 and c.get("broadcast", 0) and c.get("axis") is not None:
            y = y.reshape(tuple(y.shape) + (1,) * (x.ndim - c.get("axis") % x.ndim - y.ndim))
        return f(x, y)

    return rule


def many(f: Any) -> Any:
    """A function of two arrays over any number of them."""
    def rule(c: Call, x: Any, *more: Any) -> Any:
        return reduce(f, more, x) if more else st.asarray(x, copy=True)

    return rule


def div(x: Any, y: Any) -> Any:
    """x / y, of whole numbers the part before the point."""
    return x / y if x.dtype.is_float else truncated(x, y)


def truncated(x: Any, y: Any) -> Any:
    """The quotient of whole numbers, cut off towards 0."""
    q = x // y
    return q if x.dtype.kind == "u" else st.where((q < 0) & (q * y != x), q + 1, q)


def mod(c: Call, x: Any, y: Any) -> Any:
    """The remainder with the sign of y, or with `fmod` that of x."""
    return st.fmod(x, y) if c.get("fmod", 0) else x % y


def power(c: Call, x: Any, y: Any) -> Any:
    """x to the power y, in the dtype of x."""
    if x.dtype.is_float or not y.dtype.is_float:
        return (x ** y.astype(x.dtype)) if x.dtype.is_float else (x ** y).astype(x.dtype)
    return (x.astype("float64") ** y.astype("float64")).astype(x.dtype)


def clip(c: Call, x: Any, low: Any = None, high: Any = None) -> Any:
    """x held between bounds; the lower one gives way where they cross."""
    low = c.get("min") if c.version < 11 else low
    high = c.get("max") if c.version < 11 else high
    x = x if low is None else st.maximum(x, bound(low))
    return x if high is None else st.minimum(x, bound(high))


def bound(x: Any) -> Any:
    """A bound as a number where it is known, so that programs hold it."""
    return number(x) if isinstance(x, st.Tensor) and known(x) else x


def shift(c: Call, x: Any, by: Any) -> Any:
    """x shifted by so many bits: beyond its width nothing is left."""
    return x << by if c.get("direction") == "LEFT" else x >> by


def prelu(c: Call, x: Any, slope: Any) -> Any:
    """x, and times a slope where it is negative."""
    if c.version < 7 and slope.ndim == 1 and x.ndim > 1:
        slope = slope.reshape((-1,) + (1,) * (x.ndim - 2))
    return st.where(x < 0, x * slope, x)


def isinf(c: Call, x: Any) -> Any:
    """Whether x is infinite, of the signs that are asked for."""
    up = (x == math.inf) if c.get("detect_positive", 1) else st.zeros_like(x, dtype="bool")
    down = (x == -math.inf) if c.get("detect_negative", 1) else st.zeros_like(x, dtype="bool")
    return up | down


def shrink(c: Call, x: Any) -> Any:
    """x nearer to 0 by the bias, and 0 where it was near."""
    bias, width = c.get("bias", 0.0), c.get("lambd", 0.5)
    return st.where(x < -width, x + bias, st.where(x > width, x - bias, 0)).astype(x.dtype)


def gelu(c: Call, x: Any) -> Any:
    """Gelu, exactly or by tanh."""
    return F.gelu(x, approximate=c.get("approximate", "none"))


def hardmax(c: Call, x: Any) -> Any:
    """1 at the first largest element along an axis, 0 elsewhere."""
    axis = c.get("axis", 1 if c.version < 13 else -1)
    if c.version < 13:
        return of_two(x, axis, lambda rows: one_hot_of(rows, -1))
    return one_hot_of(x, axis)


def one_hot_of(x: Any, axis: int) -> Any:
    """1 at the first largest element along an axis."""
    n = x.shape[axis]
    places = st.arange(n).reshape((n,) + (1,) * (x.ndim - 1 - axis % x.ndim))
    return (st.argmax(x, axis=axis, keepdims=True) == places).astype(x.dtype)


def of_two(x: Any, axis: int, f: Any) -> Any:
    """f of x as a matrix, whose rows begin at an axis."""
    axis %= max(x.ndim, 1)
    rows = math.prod(x.shape[:axis])
    return f(x.reshape((rows, -1))).reshape(x.shape)


def softmax(f: Any) -> Any:
    """Softmax or its logarithm: along an axis, and before version 13 along all from one on."""
    def rule(c: Call, x: Any) -> Any:
        if c.version < 13:
            return of_two(x, c.get("axis", 1), lambda rows: f(rows, -1))
        return f(x, c.get("axis", -1))

    return rule


RULES: Rules = {
    "Abs": unary(st.abs), "Neg": unary(st.negative), "Ceil": unary(st.ceil), "Floor": unary(st.floor),
    "Sqrt": unary(st.sqrt), "Exp": unary(st.exp), "Log": unary(st.log), "Reciprocal": unary(lambda x: 1 / x),
    "Round": unary(st.round), "Sign": unary(st.sign), "Erf": unary(st.erf), "IsNaN": unary(st.isnan), "IsInf": isinf,
    "Sin": unary(st.sin), "Cos": unary(st.cos), "Tan": unary(st.tan), "Asin": unary(st.asin), "Acos": unary(st.acos),
    "Atan": unary(st.atan), "Sinh": unary(st.sinh), "Cosh": unary(st.cosh), "Tanh": unary(st.tanh),
    "Asinh": unary(st.asinh), "Acosh": unary(st.acosh), "Atanh": unary(st.atanh), "Not": unary(st.logical_not),
    "BitwiseNot": unary(st.bitwise_invert), "Sigmoid": unary(st.sigmoid), "Relu": unary(st.relu),
    "Softplus": unary(F.softplus), "Softsign": unary(F.softsign), "Mish": unary(F.mish),
    "HardSwish": unary(F.hardswish),
    "Identity": lambda c, x: x,

    "Add": binary(lambda x, y: x + y), "Sub": binary(lambda x, y: x - y), "Mul": binary(lambda x, y: x * y),
    "Div": binary(div), "Mod": mod, "Pow": power, "And": binary(st.logical_and), "Or": binary(st.logical_or),
    "Xor": binary(st.logical_xor), "Equal": binary(lambda x, y: equal(x, y)), "Less": binary(lambda x, y: x < y),
    "Greater": binary(lambda x, y: x > y), "LessOrEqual": binary(lambda x, y: x <= y),
    "GreaterOrEqual": binary(lambda x, y: x >= y), "BitwiseAnd": binary(st.bitwise_and),
    "BitwiseOr": binary(st.bitwise_or), "BitwiseXor": binary(st.bitwise_xor), "BitShift": shift, "PRelu": prelu,

    "Sum": many(lambda x, y: x + y), "Max": many(st.maximum), "Min": many(st.minimum),
    "Mean": lambda c, *x: reduce(lambda a, b: a + b, x) / len(x),

    "Where": lambda c, t, x, y: where(t, x, y), "Clip": clip, "Shrink": shrink, "Gelu": gelu, "Hardmax": hardmax,
    "Softmax": softmax(st.softmax), "LogSoftmax": softmax(st.log_softmax),
    "Elu": lambda c, x: st.where(x < 0, c.get("alpha", 1.0) * st.expm1(x), x).astype(x.dtype),
    "Selu": lambda c, x: c.get("gamma", 1.05070102214813232421875) * st.where(
        x > 0, x, c.get("alpha", 1.67326319217681884765625) * st.expm1(x)),
    "Celu": lambda c, x: F.celu(x, c.get("alpha", 1.0)),
    "LeakyRelu": lambda c, x: st.where(x < 0, x * c.get("alpha", 0.01), x),
    "ThresholdedRelu": lambda c, x: st.where(x > c.get("alpha", 1.0), x, 0).astype(x.dtype),
    "HardSigmoid": lambda c, x: st.clip(c.get("alpha", 0.2) * x + c.get("beta", 0.5), 0, 1),
    "Swish": lambda c, x: x * st.sigmoid(c.get("alpha", 1.0) * x),
    "Cast": cast, "CastLike": cast_like, "BitCast": bitcast,
}


def equal(x: Any, y: Any) -> Any:
    """Whether elements are equal, texts too."""
    return st.tensor(np.equal(x, y).astype(bool)) if isinstance(x, np.ndarray) else x == y


def where(t: Any, x: Any, y: Any) -> Any:
    """x where t holds, else y; texts too."""
    return np.where(host(t), x, y) if isinstance(x, np.ndarray) else st.where(t, x, y)
