"""Movement: elements in other places, windows, positions."""
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.interop.onnx.out.nodes import Node
from stele.interop.onnx.out.scope import Rule, Scope
from stele.ir.graph import Op, Value
from stele.ir.sizes import Dim
from stele.ir.types import axis_of
from stele.ops import generate, linear, windows
from stele.ops.linear import Concatenate as Concat

LEAST = -(1 << 63)


def sliced(s: Scope, x: Node, starts: Sequence[Dim], counts: Sequence[Dim], steps: Sequence[int], shape: Sequence[Dim]
           ) -> Node:
    """So many elements of each axis of an array of a shape, from a start on."""
    axes = [k for k, n in enumerate(shape) if (starts[k], counts[k], steps[k]) != (0, n, 1)]
    if not axes:
        return x
    ends = [starts[k] + counts[k] * steps[k] for k in axes]
    ends = [LEAST if isinstance(n, int) and n < 0 and steps[k] < 0 else n for n, k in zip(ends, axes)]
    return s.node("Slice", x, s.shape([starts[k] for k in axes]), s.shape(ends), s.ints(*axes),
                  s.ints(*(steps[k] for k in axes)), dtype=x.dtype)


def slice_(s: Scope, v: Value, x: Node) -> Node:
    """Elements from a start on."""
    op: Any = v.op
    return sliced(s, x, op.starts, op.shape, op.steps, v.args[0].shape)


def pad(s: Scope, v: Value, x: Node) -> Node:
    """Zeros around and between elements; what is negative cuts."""
    op: Any = v.op
    return spread(s, x, v.args[0].shape, op.low, op.high, op.gaps)


def spread(s: Scope, x: Node, shape: Sequence[Dim], low: Sequence[Dim], high: Sequence[Dim], gaps: Sequence[int]
           ) -> Node:
    """An array of a shape with zeros around it and between its elements."""
    shape = [*shape]
    for k, gap in enumerate(gaps):
        if gap and shape[k] != 0:
            behind = [gap if j == k + 1 else 0 for j in range(len(shape) + 1)]
            apart = padded(s, s.node("Unsqueeze", x, s.ints(k + 1), dtype=x.dtype), [0] * len(behind), behind)
            wide = [*shape[:k], shape[k] * (gap + 1), *shape[k + 1:]]
            shape[k] = wide[k] - gap
            x = sliced(s, s.reshaped(apart, wide), [0] * len(shape), shape, [1] * len(shape), wide)
    first, last = ([*map(cut, side)] for side in (low, high))
    kept = [n - a - b for n, a, b in zip(shape, first, last)]
    x = sliced(s, x, first, kept, [1] * len(shape), shape)
    return padded(s, x, *([0 if cut(n) else n for n in side] for side in (low, high)))


def cut(n: Dim) -> int:
    """How many elements a padding takes away."""
    return max(0, -n) if isinstance(n, int) else 0


def padded(s: Scope, x: Node, low: Sequence[Dim], high: Sequence[Dim]) -> Node:
    """Zeros around."""
    return x if not any(n != 0 for n in (*low, *high)) else s.node("Pad", x, s.shape([*low, *high]), dtype=x.dtype)


def line(s: Scope, n: Dim, step: Dim) -> Node:
    """0, step, ... of so many."""
    return s.range(n) if step == 1 else s.range(n) * s.scalar(step)


def window(s: Scope, v: Value, x: Node) -> Node:
    """Elements at the places of each window, which become the last axis."""
    op: Any = v.op
    axis = axis_of(op.axis, v.ndim - 1)
    fixed = all(isinstance(n, int) for n in (v.shape[axis], op.size, op.stride, op.dilation))
    if fixed:
        at = s.array(np.arange(v.shape[axis])[:, None] * op.stride + np.arange(op.size) * op.dilation)
    else:
        at = s.node("Unsqueeze", line(s, v.shape[axis], op.stride), s.ints(1)) + line(s, op.size, op.dilation)
    found = s.node("Gather", x, at, dtype=x.dtype, axis=axis)
    return s.transposed(found, (*range(axis + 1), *range(axis + 2, v.ndim), axis + 1))


def taps(s: Scope, v: Value, x: Node) -> Node:
    """What each tap of a kernel meets, side by side."""
    op: Any = v.op
    shape, parts = v.args[0].shape, list[Node]()
    for a, b in np.ndindex(*op.kernel):
        i = op.at((0, 0, a, b, 0), shape)
        parts.append(sliced(s, x, (0, 0, *i[2:]), (*shape[:2], 1, 1, op.length), (1,) * 5, shape))
    return s.reshaped(s.node("Concat", *parts, axis=2), v.shape)


def iota(s: Scope, v: Value) -> Node:
    """Positions along an axis."""
    op: Any = v.op
    places = s.converted(s.range(v.shape[op.axis]), v.dtype)
    column = [1 if k == op.axis else 0 for k in range(v.ndim)]
    if v.ndim == 1:
        return s.node("Identity", places)
    return s.expanded(s.node("Unsqueeze", places, s.ints(*(k for k, own in enumerate(column) if not own)),
                             dtype=v.dtype), v.shape)


RULES: dict[type[Op], Rule] = {
    linear.Reshape:   lambda s, v, x: s.reshaped(x, v.shape),
    linear.Transpose: lambda s, v, x: s.transposed(x, v.op.axes),
    linear.Transfer:  lambda s, v, x: x,
    linear.Slice:     slice_,
    linear.Pad:       pad,
    Concat:           lambda s, v, *x: s.node("Concat", *x, axis=axis_of(v.op.axis, v.ndim)),
    windows.Window:   window,
    windows.Taps:     taps,
    generate.Iota:    iota,
}
