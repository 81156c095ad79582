"""Arithmetic of shapes with open sizes: what models compute of `Shape`, on arrays of sizes."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

import stele as st
from stele.interop.onnx.model import Array
from stele.interop.onnx.values import host, ints

RULES: dict[str, Callable[..., Any]] = {
    "Identity":  lambda c, x: x,
    "Cast":      lambda c, x: x,
    "Add":       lambda c, x, y: each(lambda a, b: a + b, x, y),
    "Sub":       lambda c, x, y: each(lambda a, b: a - b, x, y),
    "Mul":       lambda c, x, y: each(lambda a, b: a * b, x, y),
    "Div":       lambda c, x, y: each(lambda a, b: a // b, x, y),
    "Gather":    lambda c, x, i: np.take(x, host(i), c.get("axis", 0)),
    "Concat":    lambda c, *x: np.concatenate([sized(v) for v in x], c.get("axis", 0)),
    "Slice":     lambda c, x, *keys: sliced(x, *keys),
    "Reshape":   lambda c, x, shape: x.reshape(ints(shape)),
    "ReduceProd": lambda c, x, *axes: np.array([reduce(mul, x.ravel().tolist(), 1)], object).reshape(
        (1,) if c.get("keepdims", 1) else ()),
    "Squeeze":   lambda c, x, *axes: x.reshape(()) if x.size == 1 else x,
    "Unsqueeze": lambda c, x, *axes: x.reshape((1,) * len(ints(axes[0]) if axes else c.get("axes")) + x.shape),
    "Expand":    lambda c, x, shape: st.broadcast_to(x, tuple(ints(shape))),
    "ConstantOfShape": lambda c, shape: filled(ints(shape), c.get("value")),
    "Equal":     lambda c, x, y: each(lambda a, b: bool(a == b), x, y).astype(bool),
    "Where":     lambda c, t, x, y: np.where(host(t), sized(x), sized(y)),
}


def sized(x: Any) -> Array:
    """A vector of sizes."""
    return host(x).astype(object)


def each(f: Callable[[Any, Any], Any], x: Any, y: Any) -> Array:
    """f of each pair of sizes."""
    a, b = np.broadcast_arrays(sized(x), sized(y))
    made = np.empty(a.shape, object)
    for k in np.ndindex(a.shape):
        made[k] = f(a[k], b[k])
    return made


def sliced(x: Array, *keys: Any) -> Array:
    """A slice of a vector."""
    starts, stops, *others = map(ints, keys)
    step = others[1][0] if len(others) > 1 else 1
    return x[starts[0]:stops[0]:step]


def filled(shape: list[Any], number: Any) -> Any:
    """An array of open sizes with one number."""
    number = np.zeros(1, np.float32) if number is None else number
    return st.full(tuple(shape), number.item(), dtype=number.dtype.name)
