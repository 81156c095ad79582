"""Fourier transforms: ONNX has complex numbers as pairs, on a last axis of two, as programs have them once written."""
from __future__ import annotations

import math
from typing import Any

from stele.interop.onnx.out.movement import sliced
from stele.interop.onnx.out.nodes import Node
from stele.interop.onnx.out.scope import Rule, Scope
from stele.ir.graph import Op, Value
from stele.ir.sizes import Dim
from stele.ir.types import axis_of
from stele.ops.fourier import Fft, Irfft, Rfft


def transformed(s: Scope, x: Node, axis: int, n: Dim, norm: str, inverse: bool, **options: int) -> Node:
    """The transform along one axis of pairs, or of rows of one real number each, behind an axis of one."""
    y = s.node("DFT", x, None, s.array(axis), dtype=x.dtype, inverse=int(inverse), **options)
    if norm == "backward":
        return y
    power = (0.5 if norm == "ortho" else 1.0) * (1 if inverse else -1)
    if isinstance(n, int):
        return y * math.pow(n, power)
    return y * s.node("Pow", s.converted(s.scalar(n), x.dtype), s.constant(power, x.dtype))


def held(v: Value) -> Any:
    """The transform, of whole complex numbers."""
    paired: Any = v.op
    return paired.op


def fft(s: Scope, v: Value, x: Node) -> Node:
    """Along several axes."""
    op = held(v)
    ndim = v.ndim - 1
    y = s.node("Unsqueeze", x, s.ints(0), dtype=x.dtype)
    for a in op.axes:
        axis = axis_of(a, ndim)
        y = transformed(s, y, axis + 1, v.shape[axis], op.norm, op.inverse)
    return s.node("Squeeze", y, s.ints(0), dtype=x.dtype)


def rfft(s: Scope, v: Value, x: Node) -> Node:
    """Of real numbers along the last axis."""
    op = held(v)
    rows = s.node("Unsqueeze", x, s.ints(0, v.ndim), dtype=x.dtype)
    y = transformed(s, rows, v.ndim - 1, v.args[0].shape[-1], op.norm, False, onesided=1)
    return s.node("Squeeze", y, s.ints(0), dtype=x.dtype)


def irfft(s: Scope, v: Value, x: Node) -> Node:
    """Real numbers of half a transform: the other half mirrors it."""
    op = held(v)
    shape, n, k = v.args[0].shape, op.n, v.ndim - 1
    half = shape[k]
    lead = [0] * k
    behind = sliced(s, x, (*lead, n - half, 0), (*shape[:k], n - half, 2), (*(1 for _ in lead), -1, 1), shape)
    whole = s.node("Concat", x, behind * s.array(v.dtype.array([1, -1])), axis=k)
    y = transformed(s, s.node("Unsqueeze", whole, s.ints(0), dtype=x.dtype), k + 1, n, op.norm, True)
    return s.node("Gather", s.node("Squeeze", y, s.ints(0), dtype=x.dtype), s.array(0), dtype=x.dtype, axis=v.ndim)


RULES: dict[type[Op], Rule] = {Fft: fft, Rfft: rfft, Irfft: irfft}
