"""Keras's operations, of which functional models have some beside layers: arithmetic of tensors, and masks."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.interop.keras.call import Call, Kind, Kinds, Rule
from stele.nn import functional as F


def reduced(f: Callable[..., Any]) -> Rule:
    """One number along axes, or all."""
    def rule(c: Call, x: Any) -> Any:
        axes = None if c.options.get("axis") is None else c.options.axes("axis", x.ndim)
        return f(x, axis=axes, keepdims=c.options.flag("keepdims"))

    return rule


def reshape(c: Call, x: Any) -> Any:
    """x in another shape; the batch stays open where it is one of its sizes."""
    shape = c.options.get("newshape")
    if not isinstance(shape, list) or any(n is not None and (type(n) is not int or n < -1) for n in shape):
        raise c.options.wrong("newshape", "a list of sizes")
    return x.reshape(tuple(-1 if n is None else n for n in shape))


def picked(c: Call, x: Any, key: Any) -> Any:
    """x[key]."""
    return x[tuple(key) if isinstance(key, list) else key]


def transpose(c: Call, x: Any) -> Any:
    """The axes in another order, or turned round."""
    order = c.options.get("axes")
    return st.permute(x, tuple(reversed(range(x.ndim))) if order is None else c.options.each("axes", x.ndim, least=0))


def cast(c: Call, x: Any) -> Any:
    """x in another dtype."""
    return x.astype(str(c.options.get("dtype")))


def plain(f: Callable[..., Any]) -> Kind:
    """A function of tensors and numbers alone."""
    return Kind(lambda c, *x: f(*x))


PLAIN: dict[str, Callable[..., Any]] = {
    "Add": lambda x, z: x + z, "Subtract": lambda x, z: x - z, "Multiply": lambda x, z: x * z,
    "TrueDivide": lambda x, z: x / z, "Divide": lambda x, z: x / z, "Power": lambda x, z: x ** z,
    "Negative": lambda x: -x, "Matmul": lambda x, z: x @ z, "Maximum": st.maximum, "Minimum": st.minimum,
    "Absolute": st.abs, "Abs": st.abs, "Exp": st.exp, "Log": st.log, "Sqrt": st.sqrt, "Rsqrt": st.rsqrt,
    "Square": lambda x: x * x, "Tanh": st.tanh, "Sigmoid": st.sigmoid, "Relu": st.relu, "Silu": st.silu, "Sin": st.sin,
    "Cos": st.cos, "Softplus": st.softplus, "Erf": st.erf, "Where": st.where,
    "NotEqual": lambda x, z: x != z, "Equal": lambda x, z: x == z, "Greater": lambda x, z: x > z,
    "GreaterEqual": lambda x, z: x >= z, "Less": lambda x, z: x < z, "LessEqual": lambda x, z: x <= z,
    "LogicalAnd": st.logical_and, "LogicalOr": st.logical_or, "LogicalNot": st.logical_not,
}
"""By class: functions that have no options."""

KINDS: Kinds = {
    **{f"ops.{name}": plain(f) for name, f in PLAIN.items()},
    **{f"ops.{name}": Kind(reduced(f)) for name, f in {
        "Mean": st.mean, "Sum": st.sum, "Max": st.max, "Min": st.min, "Any": st.any, "All": st.all}.items()},
    "ops.GetItem": Kind(picked), "ops.Reshape": Kind(reshape), "ops.Transpose": Kind(transpose), "ops.Cast": Kind(cast),
    "ops.ConvertToTensor": Kind(lambda c, x: x if c.options.get("dtype") is None else cast(c, x)),
    "ops.ExpandDims": Kind(lambda c, x: st.expand_dims(x, c.options.axis("axis", x.ndim + 1))),
    "ops.Squeeze": Kind(lambda c, x: st.squeeze(x, axis=c.options.axes("axis", x.ndim))),
    "ops.Concatenate": Kind(lambda c, xs: st.concatenate(xs, axis=c.options.axis("axis", xs[0].ndim))),
    "ops.Stack": Kind(lambda c, xs: st.stack(xs, axis=c.options.axis("axis", xs[0].ndim + 1, 0))),
    "ops.Softmax": Kind(lambda c, x: st.softmax(x, axis=c.options.axis("axis", x.ndim))),
    "ops.Gelu": Kind(lambda c, x: F.gelu(x, approximate="tanh" if c.options.flag("approximate", True) else "none")),
    "ops.Clip": Kind(lambda c, x: st.clip(x, c.options.number("x_min"), c.options.number("x_max"))),
}
