"""Rules of picks: sums that keep one element of each row, that where a checked index stands."""
# pyright: reportMatchNotExhaustive=false
from __future__ import annotations

from stele.ir.graph import Value
from stele.ir.rewrite import rule
from stele.ir.types import int32, int64
from stele.ops.elementwise.arithmetic import Equal, GreaterEqual, Select
from stele.ops.gather import CheckIndex
from stele.ops.generate import Iota
from stele.ops.linear import Broadcast, Cast, Reshape, Sum, full, zeros_like
from stele.transform.movement import is_steady, without_axes
from stele.transform.patterns import FLOATS, axes_of, is_number


def picked(v: Value) -> tuple[int, Value, Value] | None:
    """Axis, mask and x where v sums the elements of x that the mask keeps, one along that axis, of any along others."""
    match v:
        case Value(Sum(), [Value(Select(), [Value(Equal(), [Value(Iota()) as place, at]) as mask, x, rest])]):
            axis = int(place.op.axis) % place.ndim  # type: ignore[attr-defined]
            alike = v.dtype == x.dtype and is_number(rest, 0)
            return (axis, mask, x) if alike and axis in axes_of(v) and is_index(at, axis) else None
    return None


def is_index(v: Value, axis: int) -> bool:
    """Whether v repeats along an axis a number from 0 to below its length."""
    if not is_steady(v, (axis,)) or v.dtype not in (int32, int64):
        return False
    inner = v
    while isinstance(inner.op, Broadcast | Reshape | Cast):
        inner = inner.args[0]
    fits = v.dtype == int64 or (isinstance(v.shape[axis], int) and v.shape[axis] < 1 << 31)
    return isinstance(inner.op, CheckIndex) and inner.op.size == v.shape[axis] and fits


def example(x: Value) -> Value:
    """The elements of the last row of (3, 4) numbers for each column, twice summed."""
    labels = CheckIndex(3)(full((1, 4), 2, int32))
    mask = Equal()(Iota((3, 4), 0, int32)(), Broadcast((3, 4))(labels))
    return Sum((0, 1))(Select()(mask, x, zeros_like(x)))


@rule(lambda x, z: example(x - Broadcast((3, 4))(z)), x=(3, 4), z=(1, 4), error=8, dtypes=FLOATS)
def pick_of_elementwise(v: Value) -> Value | None:
    """pick(op(x, broadcast(z))) = op(pick(x), z)"""
    if (found := picked(v)) is None:
        return None
    axis, mask, x = found
    steady = [is_steady(a, (axis,)) for a in x.args]
    if x.op.family != "elementwise" or any(a.dtype != x.dtype for a in x.args) or all(steady):
        return None
    if len(steady) > 1 and not any(steady):
        return None
    return the_rest(v, axis, x.op(*(without(a, axis) if is_same else Sum((axis,))(Select()(mask, a, zeros_like(a)))
                                    for a, is_same in zip(x.args, steady))))


@rule(lambda z: example(Broadcast((3, 4))(z)), z=(1, 4), error=8, dtypes=FLOATS)
def pick_of_broadcast(v: Value) -> Value | None:
    """pick(broadcast(z)) = z, and indices are checked still"""
    if (found := picked(v)) is None or not is_steady(found[2], (found[0],)):
        return None
    axis, mask, x = found
    at, z = without(mask.args[1], axis), without(x, axis)
    return the_rest(v, axis, Select()(GreaterEqual()(at, zeros_like(at)), z, zeros_like(z)))


def without(v: Value, axis: int) -> Value:
    """What repeats along an axis, without it."""
    return without_axes(v, (axis,), (*v.shape[:axis], *v.shape[axis + 1:]))


def the_rest(v: Value, axis: int, y: Value) -> Value:
    """The sum of picked elements over the other axes of v."""
    axes = tuple(a - (a > axis) for a in axes_of(v) if a != axis)
    return Sum(axes)(y) if axes else y


RULES = (pick_of_elementwise, pick_of_broadcast)
