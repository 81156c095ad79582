"""Which rows a result is made of: each of one of what it comes from, or of several; whether two values are one."""
from __future__ import annotations

from collections.abc import Collection, Mapping

from stele.ir.graph import Parameter, Value, walk
from stele.ir.types import axes_of
from stele.ops.composite import AlongAxis, Gelu, Normalize, OverAxes, Silu
from stele.ops.contraction import MatMul
from stele.ops.elementwise.base import Elementwise
from stele.ops.linear import Broadcast, Cast, Reshape, Sum
from stele.ops.reduction import Reduction


def rows_of(y: Value, rows: Mapping[Value, int], given: Collection[Value]) -> int | None:
    """The axis of y along which its rows are, each made of the same one of each of `rows`, values with their axes; None
    where rows meet, or none are left. What else was `given` is the same for all of them where it has no such axis.
    """
    axes = dict(rows)
    for v in walk([y], stop=given.__contains__):
        if v not in given and not axes.keys().isdisjoint(v.args):
            if (axis := kept(v, axes, given)) is None:
                return None
            axes[v] = axis
    return axes.get(y)


def kept(v: Value, axes: Mapping[Value, int], given: Collection[Value]) -> int | None:
    """The axis of rows of one op's result."""
    x, *others = sorted(v.args, key=lambda a: a not in axes)
    axis = axes[x]
    match v.op:
        case Elementwise() | Gelu() | Silu() | Cast():
            same = all(axes.get(a) == axis or is_alike(a, axis, axes, given) for a in others)
            return axis if same else None
        case Broadcast():
            return axis + v.ndim - x.ndim
        case Reshape():
            return axis if v.shape[:axis + 1] == x.shape[:axis + 1] else None
        case AlongAxis(axis=one):
            return None if axis in axes_of((one,), x.ndim) else axis
        case Normalize(axes=many):
            return None if axis in axes_of(many, x.ndim) else axis
        case Sum(axes=many) | Reduction(axes=many) | OverAxes(axes=many):
            gone = axes_of(many, x.ndim)
            return None if axis in gone else axis - sum(a < axis for a in gone)
        case MatMul():
            a, w = v.args
            free = a in axes and w not in axes and (axis == a.ndim - 2 or (
                axis < a.ndim - 2 and is_alike(w, axis, axes, given)))
            return axis if free else None
        case _:
            return None


def is_alike(a: Value, axis: int, axes: Mapping[Value, int], given: Collection[Value]) -> bool:
    """Whether an operand is the same for all rows: it was broadcast along their axis."""
    if a in axes or a in given or not isinstance(a.op, Broadcast):
        return False
    inner, place = a.args[0], axis - a.ndim + a.args[0].ndim
    return place < 0 or inner.shape[place] == 1


def is_one(a: Value, b: Value) -> bool:
    """Whether two values are one, as far as anybody knows: `x > 0` said twice is."""
    waiting, seen = [(a, b)], set[tuple[int, int]]()
    while waiting:
        a, b = waiting.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        if isinstance(a.op, Parameter) or len(a.args) != len(b.args) or repr(a.op) != repr(b.op):
            return False
        seen.add((id(a), id(b)))
        waiting += zip(a.args, b.args)
    return True
