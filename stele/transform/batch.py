"""One op over all steps of a loop at once: the same op with a leading axis."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stele.errors import GraphError
from stele.ir.graph import Value
from stele.ir.origin import inherit, lines
from stele.ir.sizes import Dim
from stele.ir.types import axis_of, product
from stele.ops.contraction import Conv2d, Conv2dInputGrad, MatMul
from stele.ops.elementwise.base import Elementwise
from stele.ops.linear import (
    Broadcast,
    Cast,
    Concatenate,
    Gather,
    Pad,
    Reshape,
    Slice,
    Sum,
    Transpose,
    broadcast,
    reshape,
    transpose,
)
from stele.ops.reduction import Reduction
from stele.ops.windows import Unwindow, Window


class BatchError(GraphError):
    """An op has no form for all steps at once."""


Operand = tuple[Value, bool]


def batched(v: Value, x: Sequence[Operand], n: Dim) -> Operand:
    """v for all n steps, given its operands: each with a leading axis of n (True), or the same at every step (False).

    Raises BatchError where the op has no such form.
    """
    with inherit(v.where):
        if not any(stacked for _, stacked in x):
            return v.op(*(a for a, _ in x)), False
        return over_steps(v, x, n), True


def over_steps(v: Value, x: Sequence[Operand], n: Dim) -> Value:
    """v with a leading axis, where at least one operand has one."""
    (a, is_stacked), inner = x[0], v.args[0]
    match v.op:
        case Elementwise() | Cast():
            return v.op(*(along(y, n) for y in x))
        case Broadcast(shape):
            return broadcast(reshape(a, (n, *(1,) * (len(shape) - inner.ndim), *inner.shape)), (n, *shape))
        case Reshape(shape):
            return reshape(a, (n, *shape))
        case Transpose(axes):
            return transpose(a, (0, *(k + 1 for k in axes)))
        case Slice(starts, shape, steps):
            return Slice((0, *starts), (n, *shape), (1, *steps))(a)
        case Pad(low, high, gaps):
            return Pad((0, *low), (0, *high), (0, *gaps))(a)
        case Concatenate(axis):
            return Concatenate(axis_of(axis, v.ndim) + 1)(*(along(y, n) for y in x))
        case Sum(axes) | Reduction(axes):
            return type(v.op)(tuple(axis_of(k, inner.ndim) + 1 for k in axes))(a)  # type: ignore[call-arg]
        case Window() | Unwindow():
            return replace(v.op, axis=axis_of(v.op.axis, inner.ndim - isinstance(v.op, Unwindow)) + 1)(a)
        case MatMul():
            return product_over_steps(v, x, n)
        case Conv2d() | Conv2dInputGrad() if is_stacked and not x[1][1]:
            return unfold(v.op(fold(a), x[1][0]), n)
        case Gather(axis) if is_stacked and not x[1][1]:
            return Gather(axis_of(axis, inner.ndim) + 1)(a, x[1][0])
        case Gather(axis) if not is_stacked and axis_of(axis, inner.ndim) == 0:
            return v.op(a, x[1][0])
        case _:
            raise BatchError(f"{v.op.name} at {', '.join(lines(v.where))} has no form for all steps at once; "
                             f"it stays inside its loop")


def product_over_steps(v: Value, x: Sequence[Operand], n: Dim) -> Value:
    """A matrix product at every step: one product of more rows where the right side is the same matrix."""
    (a, _), (w, is_stacked) = x
    if is_stacked or w.ndim > 2:
        return MatMul()(*(along(y, n) for y in x))
    rows = MatMul()(reshape(a, (product(a.shape[:-1]), a.shape[-1])), w)
    return reshape(rows, (*a.shape[:-1], w.shape[-1]))


def along(x: Operand, n: Dim) -> Value:
    """The operand with a leading axis of n, repeated where it has none."""
    a, is_stacked = x
    return a if is_stacked else broadcast(a, (n, *a.shape))


def fold(x: Value) -> Value:
    """(n, k, ...) as (n*k, ...)."""
    return reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def unfold(x: Value, n: Dim) -> Value:
    """(n*k, ...) as (n, k, ...)."""
    return reshape(x, (n, x.shape[0] // n, *x.shape[1:]))


