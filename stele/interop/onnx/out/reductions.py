"""Reductions, softmax, normalisations and pools."""
from __future__ import annotations

from typing import Any

import numpy as np

from stele.interop.onnx.out.nodes import Node
from stele.interop.onnx.out.scope import Rule, Scope
from stele.ir.graph import Op, Value
from stele.ir.types import axes_of, axis_of, float64, int32, int64, product, uint64
from stele.ops import composite as c
from stele.ops import reduction as r
from stele.ops.linear import Sum
from stele.ops.pooling import AvgPool, MaxPool


def reduced(s: Scope, name: str, x: Node, axes: tuple[int, ...]) -> Node:
    """A reduction over axes, which are dropped; in float32 where the dtype is narrower."""
    if not axes:
        return s.node("Identity", x)
    return s.converted(s.node(name, s.widen(x), s.ints(*axes), dtype=s.widen(x).dtype, keepdims=0), x.dtype)


def over(name: str) -> Rule:
    """A reduction by its name, in the dtype of the result."""
    def rule(s: Scope, v: Value, x: Node) -> Node:
        op: Any = v.op
        return reduced(s, name, s.converted(x, v.dtype), axes_of(op.axes, v.args[0].ndim))

    return rule


def ordered(s: Scope, x: Node) -> Node:
    """Numbers in the same order, of a dtype that ONNX Runtime orders."""
    return s.converted(x ^ (1 << 63), int64) if x.dtype == uint64 else x


def extreme(name: str) -> Rule:
    """The largest or smallest over axes."""
    def rule(s: Scope, v: Value, x: Node) -> Node:
        op: Any = v.op
        y = reduced(s, name, ordered(s, x), axes_of(op.axes, v.args[0].ndim))
        return y if v.dtype != uint64 else s.converted(y, uint64) ^ (1 << 63)

    return rule


def every(s: Scope, v: Value, x: Node) -> Node:
    """Whether all of them hold: none does not."""
    op: Any = v.op
    return s.eq(reduced(s, "ReduceSum", s.converted(~x, int32), axes_of(op.axes, v.args[0].ndim)), 0)


def some(s: Scope, v: Value, x: Node) -> Node:
    """Whether one of them holds."""
    op: Any = v.op
    return reduced(s, "ReduceSum", s.converted(x, int32), axes_of(op.axes, v.args[0].ndim)) > 0


def position(name: str) -> Rule:
    """The place of the first best element."""
    def rule(s: Scope, v: Value, x: Node) -> Node:
        op: Any = v.op
        return s.node(name, ordered(s, x), dtype=int64, axis=axis_of(op.axis, v.args[0].ndim), keepdims=0)

    return rule


def along(name: str) -> Rule:
    """A function of the whole of one axis."""
    def rule(s: Scope, v: Value, x: Node) -> Node:
        op: Any = v.op
        return s.node(name, x, axis=axis_of(op.axis, v.ndim))

    return rule


def gelu(s: Scope, v: Value, x: Node) -> Node | None:
    """Gelu, exactly or by tanh."""
    op: Any = v.op
    return None if v.dtype == float64 else s.node("Gelu", x, approximate="tanh" if op.approximate else "none")


def normalize(s: Scope, v: Value, x: Node) -> Node | None:
    """The normalisation of the last axes, of numbers that are known sizes."""
    op: Any = v.op
    axes = sorted(axes_of(op.axes, v.ndim))
    own = v.shape[axes[0]:] if axes else ()
    if not axes or axes != [*range(axes[0], v.ndim)] or v.dtype == float64 or not all(isinstance(n, int) for n in own):
        return None
    scale = s.array(np.ones(tuple(map(int, own)), v.dtype.numpy))
    return s.node("LayerNormalization", x, scale, axis=axes[0], epsilon=op.eps)


def pool(name: str, **options: Any) -> Rule:
    """Windows of the last one to three axes."""
    def rule(s: Scope, v: Value, x: Node) -> Node | None:
        op: Any = v.op
        rank, shape = len(op.size), v.args[0].shape
        pads = [side[k] for k in (0, 1) for side in op.padding]
        if not 1 <= rank <= 3 or not all(isinstance(n, int) and n >= 0 for n in pads) or v.dtype == float64:
            return None
        lead = shape[:len(shape) - rank]
        given = x if len(lead) == 2 else s.reshaped(x, (product(lead), 1, *shape[len(lead):]))
        y = s.node(name, given, kernel_shape=op.size, strides=op.stride, pads=pads, dilations=op.dilation, **options)
        return y if len(lead) == 2 else s.reshaped(y, v.shape)

    return rule


RULES: dict[type[Op], Rule] = {
    Sum: over("ReduceSum"), r.Prod: over("ReduceProd"), r.Max: extreme("ReduceMax"), r.Min: extreme("ReduceMin"),
    r.All: every, r.Any: some, r.ArgMax: position("ArgMax"), r.ArgMin: position("ArgMin"),
    c.Softmax: along("Softmax"), c.LogSoftmax: along("LogSoftmax"), c.Gelu: gelu, c.Normalize: normalize,
    MaxPool: pool("MaxPool"), AvgPool: pool("AveragePool", count_include_pad=1),
}
