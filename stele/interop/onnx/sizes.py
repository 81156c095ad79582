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
from stele.interop.onnx import elementwise
from stele.interop.onnx.model import Array
from stele.interop.onnx.values import host, ints, is_sizes, known, number

RULES: dict[str, Callable[..., Any]] = {
    "Identity":  lambda c, x: x,
    "Cast":      lambda c, x: x,
    "Add":       lambda c, x, y: each(lambda a, b: a + b, x, y),
    "Sub":       lambda c, x, y: each(lambda a, b: a - b, x, y),
    "Mul":       lambda c, x, y: each(lambda a, b: a * b, x, y),
    "Div":       lambda c, x, y: each(lambda a, b: a // b, x, y),
    "Gather":    lambda c, x, i: np.take(x, host(i).reshape(-1), c.get("axis", 0)).reshape(i.shape + x.shape[1:]),
    "Concat":    lambda c, *x: np.concatenate([sized(v) for v in x], c.get("axis", 0)),
    "Slice":     lambda c, x, *keys: sliced(x, *keys),
    "Reshape":   lambda c, x, shape: x.reshape(ints(shape)),
    "ReduceProd": lambda c, x, *axes: np.array([reduce(mul, x.ravel().tolist(), 1)], object).reshape(
        (1,) if c.get("keepdims", 1) else ()),
    "Squeeze":   lambda c, x, *axes: x.reshape(()) if x.size == 1 else x,
    "Unsqueeze": lambda c, x, *axes: x.reshape((1,) * len(ints(axes[0]) if axes else c.get("axes")) + x.shape),
    "Range":     lambda c, *x: st.arange(*map(number, x), dtype="int64"),
    "ConstantOfShape": lambda c, shape: filled(ints(shape), c.get("value")),
    "Equal":     lambda c, x, y: each(lambda a, b: bool(a == b), x, y).astype(bool),
    "Where":     lambda c, t, x, y: np.where(host(t), sized(x), sized(y)),
}

TOGETHER = {"Add", "Sub", "Mul", "Div", "Concat", "Range", "Equal", "Where"}
"""Of these ops any input may be sizes, of the others of `RULES` the first."""
COMPUTED = {*elementwise.RULES, "Concat", "Gather", "Squeeze", "Unsqueeze"}
"""Ops that take sizes as numbers in the program, where an input is known only there."""


def chosen(op: str, inputs: list[Any], general: Any) -> tuple[Any, list[Any]]:
    """The rule for an op on sizes, and its inputs: arrays of sizes, or tensors where these meet what is computed."""
    f = RULES.get(op)
    if f is not None and all(map(known, inputs)) and (op in TOGETHER or is_sizes(inputs[0])):
        return lambda c, *x: settled(f(c, *x)), inputs
    return general, [numbers(x) for x in inputs] if op in COMPUTED else inputs


def settled(x: Any) -> Any:
    """Sizes as a tensor where none of them is open."""
    return st.tensor(x.astype(np.int64)) if x.dtype == object and all(isinstance(n, int) for n in x.ravel()) else x


def numbers(x: Any) -> Any:
    """Sizes as a tensor of what they are when the program runs."""
    if not is_sizes(x):
        return x
    return st.stack([st.asarray(n).astype("int64") for n in x.ravel().tolist()]).reshape(x.shape)


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
