"""ONNX's sums, means and other folds over axes."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from typing import Any

import stele as st
from stele.interop.onnx.values import Call, Rules, ints, number


def fold(f: Any) -> Any:
    """f over axes: an attribute, from version 13 or 18 on an input; all of them where none are named."""
    def rule(c: Call, x: Any, axes: Any = None) -> Any:
        named = c.get("axes") if axes is None else ints(axes)
        if not named and c.get("noop_with_empty_axes", 0):
            return f(x.unsqueeze(-1), (-1,), False)
        return f(x, tuple(named) if named else None, bool(c.get("keepdims", 1)))

    return rule


def extreme(f: Any) -> Any:
    """The largest or smallest; of bools, whether any or all hold."""
    def found(x: Any, axes: Any, keep: bool) -> Any:
        if x.dtype == "bool":
            return found(x.astype("uint8"), axes, keep).astype("bool")
        if math.prod(x.shape[k] for k in (range(x.ndim) if axes is None else axes)):
            return f(x, axis=axes, keepdims=keep)
        info = st.finfo(x.dtype) if x.dtype.is_float else st.iinfo(x.dtype)
        least = -math.inf if x.dtype.is_float else 0 if bools(x) else info.min
        most = math.inf if x.dtype.is_float else 1 if bools(x) else info.max
        return st.full_like(st.sum(x, axis=axes, keepdims=keep, dtype=x.dtype), least if f is st.max else most)

    return fold(found)


def bools(x: Any) -> bool:
    """Whether numbers stand for bools."""
    return x.dtype == "uint8"


def total(x: Any, axes: Any, keep: bool) -> Any:
    """The sum, in the dtype of x."""
    return st.sum(x, axis=axes, keepdims=keep, dtype=x.dtype)


def place(f: Any) -> Any:
    """Where the largest or smallest stands along an axis: its first place, or its last."""
    def rule(c: Call, x: Any) -> Any:
        axis, keep = c.get("axis", 0), bool(c.get("keepdims", 1))
        if c.get("select_last_index", 0):
            return x.shape[axis] - 1 - f(st.flip(x, axis=axis), axis=axis, keepdims=keep)
        return f(x, axis=axis, keepdims=keep)

    return rule


def running(f: Any) -> Any:
    """A running total along an axis, from either end, with or without the element itself."""
    def rule(c: Call, x: Any, axis: Any) -> Any:
        k = number(axis) % x.ndim
        x = st.flip(x, axis=k) if c.get("reverse", 0) else x
        y = f(x, axis=k)
        if c.get("exclusive", 0):
            first = st.full_like(st.take(y, st.arange(1), axis=k), 0 if f is sums else 1)
            y = st.concatenate([first, y[(slice(None),) * k + (slice(None, -1),)]], axis=k)
        return st.flip(y, axis=k) if c.get("reverse", 0) else y

    return rule


def sums(x: Any, axis: int) -> Any:
    """Running sums in the dtype of x."""
    return st.cumulative_sum(x, axis=axis, dtype=x.dtype)


def products(x: Any, axis: int) -> Any:
    """Running products in the dtype of x."""
    return st.cumulative_prod(x, axis=axis, dtype=x.dtype)


def logsumexp(x: Any, axes: Any, keep: bool) -> Any:
    """log(sum(exp(x))), in floats."""
    wide = x if x.dtype.is_float else x.astype("float32")
    return st.logsumexp(wide, axis=axes, keepdims=keep).astype(x.dtype)


RULES: Rules = {
    "ReduceSum": fold(total),
    "ReduceMean": fold(lambda x, axes, keep: st.mean(x, axis=axes, keepdims=keep).astype(x.dtype)),
    "ReduceProd": fold(lambda x, axes, keep: st.prod(x, axis=axes, keepdims=keep, dtype=x.dtype)),
    "ReduceMax": extreme(st.max), "ReduceMin": extreme(st.min),
    "ReduceL1": fold(lambda x, axes, keep: total(st.abs(x), axes, keep)),
    "ReduceL2": fold(lambda x, axes, keep: st.sqrt(total(x * x, axes, keep)).astype(x.dtype)),
    "ReduceSumSquare": fold(lambda x, axes, keep: total(x * x, axes, keep)),
    "ReduceLogSum": fold(lambda x, axes, keep: st.log(total(x, axes, keep)).astype(x.dtype)),
    "ReduceLogSumExp": fold(logsumexp),
    "ArgMax": place(st.argmax), "ArgMin": place(st.argmin),
    "CumSum": running(sums), "CumProd": running(products),
}
