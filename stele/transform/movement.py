"""Identities of movement and sums: moves undone, moves joined, and moves kept out of the way of arithmetic."""
# pyright: reportMatchNotExhaustive=false
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from stele.ir.graph import Op, Value
from stele.ir.rewrite import rule
from stele.ir.sizes import Dim
from stele.ir.types import Shape, Type, axis_of, float32, float64, int32, int64, product, uint8, uint32
from stele.ops.contraction import MatMul
from stele.ops.elementwise import arithmetic, binary, unary
from stele.ops.elementwise.arithmetic import Add, Mul, Neg
from stele.ops.elementwise.unary import exp
from stele.ops.gather import Gather
from stele.ops.linear import (
    Broadcast,
    Cast,
    Concatenate,
    Pad,
    Reshape,
    Slice,
    Sum,
    Transfer,
    Transpose,
    broadcast,
    cast,
    full,
    reshape,
    swap_last,
    transpose,
)
from stele.ops.reduction import Max, Min, Prod
from stele.transform.patterns import FLOATS, WIDE, axes_of, factors, is_exact, number, product_of

REDUCTIONS: tuple[type[Op], ...] = (Sum, Max, Min, Prod)
ELEMENTWISE: tuple[type[Op], ...] = (*arithmetic.ALL, *binary.ALL, *unary.ALL, Cast)


@rule(lambda x: Reshape((6,))(Reshape((3, 2))(x)))
def reshape_twice(v: Value) -> Value | None:
    """reshape(reshape(x)) = reshape(x)"""
    match v:
        case Value(Reshape(shape), [Value(Reshape(), [x])]): return reshape(x, shape)
    return None


@rule(lambda x: Transpose((1, 2, 0))(Transpose((2, 1, 0))(x)), x=(2, 3, 4))
def transpose_twice(v: Value) -> Value | None:
    """transpose(transpose(x)) = transpose(x)"""
    match v:
        case Value(Transpose(outer), [Value(Transpose(inner), [x])]):
            return transpose(x, tuple(inner[a] for a in outer))
    return None


@rule(lambda x: Broadcast((4, 2, 3))(Broadcast((2, 3))(x)), x=(1, 3))
def broadcast_twice(v: Value) -> Value | None:
    """broadcast(broadcast(x)) = broadcast(x)"""
    match v:
        case Value(Broadcast(shape), [Value(Broadcast(), [x])]): return broadcast(x, shape)
    return None


@rule(lambda x: Broadcast((4, 3))(Reshape((1, 3))(x)), x=(3,))
def broadcast_of_leading_ones(v: Value) -> Value | None:
    """broadcasting adds leading axes of length 1 by itself"""
    match v:
        case Value(Broadcast(shape), [Value(Reshape(inner), [x])]) if x.ndim < len(inner) <= len(shape) \
                and inner == (1,) * (len(inner) - x.ndim) + x.shape:
            return broadcast(x, shape)
    return None


@rule(lambda x: Reshape((2, 3))(x), also=(Broadcast, Transfer, Transpose, Cast, Slice, Pad))
def move_nowhere(v: Value) -> Value | None:
    """a reshape, broadcast, transfer, transpose, cast, slice or pad that changes nothing is its operand"""
    (x,) = v.args
    whole: bool
    match v.op:
        case Transpose(axes):
            whole = axes == tuple(range(x.ndim))
        case Slice(starts, shape, steps):
            whole = shape == x.shape and all(a == 0 for a in starts) and all(b == 1 for b in steps)
        case Pad(low, high, gaps):
            whole = not any(low) and not any(high) and not any(gaps)
        case _:
            whole = True
    return x if whole and x.type == v.type else None


@rule(lambda x: cast(cast(x, float64), float32), x=Type(float32, (2, 3)))
def cast_through_wider(v: Value) -> Value | None:
    """cast(cast(x)) = cast(x) where the inner cast loses nothing"""
    match v:
        case Value(Cast(dtype), [Value(Cast(inner), [x])]) if is_exact(inner, x.dtype, dtype): return cast(x, dtype)
    return None


@rule(lambda x: Transpose((1, 0))(full((2, 3), 7, x.dtype)), also=(Reshape, Slice, Broadcast))
def move_of_number(v: Value) -> Value | None:
    """moves of an array that holds one number = that array, shaped so"""
    n = number(v.args[0])
    if n is None or (isinstance(v.op, Broadcast) and v.args[0].ndim == 0):
        return None
    return full(v.shape, n, v.dtype)


@rule(lambda i: Gather(1)(full((2, 3), 7, float32), i), i=Type(int64, (0,)),
      dtypes=(int64, int32, uint32, uint8))
def gather_of_nothing(v: Value) -> Value | None:
    """x[i] without elements = zeros of that shape: no index is there to be read"""
    return full(v.shape, 0, v.dtype) if 0 in v.shape else None


@rule(lambda x: Transpose((1, 0, 2))(x), x=(2, 1, 3))
def transpose_of_unit_axes(v: Value) -> Value | None:
    """a transpose that leaves the order of the axes longer than 1 is a reshape"""
    match v:
        case Value(Transpose(axes), [x]) if (long := [a for a in axes if x.shape[a] != 1]) == sorted(long):
            return reshape(x, v.shape)
    return None


@rule(lambda x: Slice((1, 0), (2, 3), (1, 1))(Slice((1, 0), (3, 3), (2, 1))(x)), x=(6, 3))
def slice_twice(v: Value) -> Value | None:
    """slice(slice(x)) = slice(x)"""
    match v:
        case Value(Slice(starts, shape, steps), [Value(Slice(inner, _, strides), [x])]):
            return Slice(tuple(a + b * s for a, b, s in zip(inner, starts, strides)), shape,
                         tuple(s * t for s, t in zip(strides, steps)))(x)
    return None


@rule(lambda x: Slice((1, 0), (2, 3), (1, 1))(Pad((1, 0), (4, 0), (0, 0))(x)))
def slice_of_pad(v: Value) -> Value | None:
    """a slice that undoes a pad gives its operand"""
    match v:
        case Value(Slice(starts, shape, steps), [Value(Pad(low, _, gaps), [x])]) if shape == x.shape \
                and starts == low and steps == tuple(g + 1 for g in gaps):
            return x
    return None


@rule(lambda x, z: Slice((3, 0), (2, 3), (1, 1))(Concatenate(0)(x, z)), z=(4, 3))
def slice_of_concatenate(v: Value) -> Value | None:
    """a slice inside one part of a concatenation is a slice of that part"""
    match v:
        case Value(Slice(starts, shape, steps), [Value(Concatenate(axis), parts) as whole]):
            k = axis_of(axis, whole.ndim)
            for part, at in zip(parts, offsets(parts, k)):
                if steps[k] == 1 and is_inside(starts[k], shape[k], at, part.shape[k]):
                    return Slice((*starts[:k], starts[k] - at, *starts[k + 1:]), shape, steps)(part)
    return None


def offsets(parts: Sequence[Value], axis: int) -> list[Dim]:
    """Where each part of a concatenation begins."""
    return list(accumulate((p.shape[axis] for p in parts[:-1]), initial=0))


def is_inside(start: Dim, length: Dim, low: Dim, total: Dim) -> bool:
    """Whether start..start+length lies in low..low+total, as far as that is plain."""
    first, left = start - low, low + total - start - length
    return isinstance(first, int) and isinstance(left, int) and first >= 0 and left >= 0


@rule(lambda x: Concatenate(0)(Slice((0, 0), (2, 3), (1, 1))(x), Slice((2, 0), (3, 3), (1, 1))(x)), x=(6, 3))
def concatenate_of_slices(v: Value) -> Value | None:
    """neighbouring slices of one array, concatenated, are one slice"""
    parts, k = v.args, axis_of(v.op.axis, v.ndim)  # type: ignore[attr-defined]
    if len(parts) == 1:
        return parts[0]
    first = parts[0].op
    if not all(isinstance(p.op, Slice) and p.args[0] is parts[0].args[0] and p.op.steps[k] == 1 for p in parts):
        return None
    assert isinstance(first, Slice)
    wanted = [Slice((*first.starts[:k], first.starts[k] + at, *first.starts[k + 1:]), p.shape, first.steps)
              for p, at in zip(parts, offsets(parts, k))]
    return Slice(first.starts, v.shape, first.steps)(parts[0].args[0]) if [p.op for p in parts] == wanted else None


@rule(lambda x, z: Pad((0, 0), (4, 0), (0, 0))(x) + Pad((2, 0), (0, 0), (0, 0))(z), z=(4, 3), error=1)
def add_of_pads(v: Value) -> Value | None:
    """pads that fill an axis without overlap, added up, are a concatenation"""
    terms, pads = [v], dict[int, Value]()
    axes = {k for k, _ in enumerate(v.shape)}
    while terms:
        x = terms.pop()
        match x.op:
            case Add() if len(terms) < 64:
                terms += x.args
            case Pad(low, high, gaps) if not any(gaps):
                axes &= {k for k in range(v.ndim) if not (low[k] == 0 and high[k] == 0)}
                if len(axes) != 1 or not isinstance(at := low[min(axes)], int) or at in pads or is_moved(x, min(axes)):
                    return None
                pads[at] = x.args[0]
            case _:
                return None
    parts = [pads[k] for k in sorted(pads)]
    (axis,) = axes
    tiled = all(at == k for at, k in zip(offsets(parts, axis), sorted(pads)))
    return Concatenate(axis)(*parts) if tiled and sum((p.shape[axis] for p in parts), 0) == v.shape[axis] else None


def is_moved(x: Value, axis: int) -> bool:
    """Whether a pad does more than put zeros around one axis."""
    assert isinstance(x.op, Pad)
    return any(n != 0 for side in (x.op.low, x.op.high) for k, n in enumerate(side) if k != axis) or any(
        isinstance(n, int) and n < 0 for side in (x.op.low, x.op.high) for n in side)


@rule(lambda x: exp(Reshape((3, 2))(x)), also=ELEMENTWISE)
def elementwise_of_reshape(v: Value) -> Value | None:
    """op(reshape(x), reshape(z)) = reshape(op(x, z)): reshapes sink until they meet"""
    moved = [a for a in v.args if isinstance(a.op, Reshape) and number(a) is None]
    if not moved or any(a.args[0].shape != moved[0].args[0].shape for a in moved):
        return None
    shape = moved[0].args[0].shape
    if is_widening(shape, v.shape) or any(a not in moved and number(a) is None for a in v.args):
        return None
    return reshape(v.op(*(a.args[0] if a in moved else full(shape, number(a) or 0, a.dtype) for a in v.args)), v.shape)


def is_widening(inner: Shape, outer: Shape) -> bool:
    """Whether a reshape only puts axes of length 1 in, as for a broadcast to come."""
    return len(outer) > len(inner) and [n for n in outer if n != 1] == [n for n in inner if n != 1]


@rule(lambda x: Sum((0, 2))(Sum((1,))(x)), x=(2, 3, 4, 5), also=(Prod,), error=4, dtypes=(int64, *WIDE))
def reduce_twice(v: Value) -> Value | None:
    """sum(sum(x)) = sum(x) over all those axes; prod likewise"""
    return twice_reduced(v)


@rule(lambda x: Max((0, 2))(Max((1,))(x)), x=(2, 3, 4, 5), also=(Min,))
def extreme_twice(v: Value) -> Value | None:
    """max(max(x)) = max(x) over all those axes; min likewise"""
    return twice_reduced(v)


def twice_reduced(v: Value) -> Value | None:
    """One reduction for one of a reduction of the same kind."""
    match v:
        case Value(op, [Value(inner) as y]) if type(op) is type(inner) and y.args[0].dtype == v.dtype:
            kept = [k for k in range(y.args[0].ndim) if k not in axes_of(y)]
            return type(op)((*axes_of(y), *(kept[a] for a in axes_of(v))))(y.args[0])  # type: ignore[call-arg]
    return None


@rule(lambda x: Max((1,))(x), x=(3, 1), also=REDUCTIONS)
def reduce_nothing(v: Value) -> Value | None:
    """a reduction over axes of length 1 is a reshape"""
    (x,) = v.args
    return reshape(x, v.shape) if v.dtype == x.dtype and all(x.shape[a] == 1 for a in axes_of(v)) else None


@rule(lambda x: Sum((0, 1))(Broadcast((4, 2, 3))(x)), error=8, dtypes=WIDE)
def sum_of_broadcast(v: Value) -> Value | None:
    """sum of what is repeated n times = n times the sum of what is left"""
    match v:
        case Value(Sum(), [Value(Broadcast(shape), [x])]):
            extra = len(shape) - x.ndim
            repeated = [a for a in axes_of(v) if a < extra or x.shape[a - extra] == 1]
            n = product(tuple(shape[a] for a in repeated))
            left = tuple(a for a in axes_of(v) if a not in repeated)
            lead = tuple(a for a in range(extra) if a not in repeated)
            if not isinstance(n, int) or n == 0 or not repeated or lead:
                return None
            y = Sum(tuple(a - extra for a in left))(x) if left else x
            kept = tuple(d for k, d in enumerate(x.shape) if k + extra not in left and k + extra not in repeated)
            return broadcast(reshape(y, kept), v.shape) * n if can_drop(y, kept) else None
    return None


def can_drop(y: Value, kept: Shape) -> bool:
    """Whether y has the elements of an array of shape `kept`."""
    return product(y.shape) == product(kept)


@rule(lambda x: Sum((0,))(Transpose((1, 0))(x)), also=REDUCTIONS, error=4)
def reduce_of_transpose(v: Value) -> Value | None:
    """a reduction of a transpose is a reduction over other axes"""
    match v:
        case Value(op, [Value(Transpose(axes), [x])]):
            over = tuple(sorted(axes[a] for a in axes_of(v)))
            left = [a for a in range(x.ndim) if a not in over]
            order = tuple(left.index(axes[k]) for k in range(x.ndim) if axes[k] not in over)
            return transpose(type(op)(over)(x), order)  # type: ignore[call-arg]
    return None


@rule(lambda x: Sum((0,))(-x), dtypes=FLOATS)
def sum_of_negative(v: Value) -> Value | None:
    """sum(-x) = -sum(x)"""
    match v:
        case Value(Sum() as op, [Value(Neg(), [x])]) if v.dtype == x.dtype: return -op(x)
    return None


@rule(lambda x, z, c: Sum((0, 2))(x * broadcast(c, x.shape) * z), error=8, x=(2, 3, 4), z=(2, 3, 4), c=(3, 1),
      dtypes=WIDE)
def sum_of_multiple(v: Value) -> Value | None:
    """sum(x * c) = sum(x) * c, where c is the same along the summed axes; a sum of nothing is 0, whatever c"""
    (y,), axes = v.args, axes_of(v)
    if not isinstance(y.op, Mul) or any(y.shape[a] == 0 for a in axes):
        return None
    parts = [(p, is_steady(p, axes)) for p in factors(y)]
    steady, rest = ([p for p, there in parts if there is wanted] for wanted in (True, False))
    if not steady or not rest:
        return None
    return product_of([Sum(axes)(product_of(rest)), *(without_axes(p, axes, v.shape) for p in steady)])


def is_steady(v: Value, axes: tuple[int, ...]) -> bool:
    """Whether v repeats the same elements along all of these axes."""
    if not isinstance(v.op, Broadcast):
        return False
    extra = v.ndim - v.args[0].ndim
    return all(k < extra or (v.args[0].shape[k - extra] == 1 and v.shape[k] != 1) for k in axes)


def without_axes(v: Value, axes: tuple[int, ...], shape: Shape) -> Value:
    """A broadcast value that repeats along axes, without those axes."""
    (x,), extra = v.args, v.ndim - v.args[0].ndim
    kept = tuple(x.shape[k - extra] for k in range(extra, v.ndim) if k not in axes)
    return broadcast(reshape(x, kept), shape)


@rule(lambda x, z: broadcast(x, (2, 3)) / broadcast(z, (2, 3)), also=ELEMENTWISE, x=(3,), z=(3,), domain=(0.5, 3))
def elementwise_of_broadcast(v: Value) -> Value | None:
    """op(broadcast(x), broadcast(z)) = broadcast(op(x, z)): what is repeated is computed once"""
    wide = [a for a in v.args if isinstance(a.op, Broadcast) and number(a) is None]
    if not wide or any(a.args[0].shape != wide[0].args[0].shape for a in wide):
        return None
    if any(a not in wide and number(a) is None for a in v.args):
        return None
    shape = wide[0].args[0].shape
    return broadcast(v.op(*(a.args[0] if a in wide else full(shape, number(a) or 0, a.dtype) for a in v.args)), v.shape)


@rule(lambda x: Sum((1,))(Reshape((2, 1, 3))(x)), also=REDUCTIONS, error=4)
def reduce_of_widened(v: Value) -> Value | None:
    """a reduction does not need the axes of length 1 that a reshape put in"""
    match v:
        case Value(op, [Value(Reshape(shape), [x])]) if is_widening(x.shape, shape):
            old = iter(k for k, n in enumerate(x.shape) if n != 1)
            place = {k: next(old) for k, n in enumerate(shape) if n != 1}
            over = tuple(place[a] for a in axes_of(v) if a in place)
            return reshape(type(op)(over)(x) if over else cast(x, v.dtype), v.shape)  # type: ignore[call-arg]
    return None


@rule(lambda x, w: swap_last(MatMul()(swap_last(x), w)), x=(4, 3), w=(4, 5), error=8)
def transpose_of_product(v: Value) -> Value | None:
    """(x.T @ w).T = w.T @ x"""
    match v:
        case Value(Transpose(), [Value(MatMul(), [x, w])]) if is_swap(v) and (is_swap(x) or is_swap(w)):
            return MatMul()(swapped(w), swapped(x))
    return None


def is_swap(v: Value) -> bool:
    """Whether v is a transpose of the last two axes alone."""
    n = v.ndim
    return isinstance(v.op, Transpose) and v.op.axes == (*range(n - 2), n - 1, n - 2)


def swapped(x: Value) -> Value:
    """x with its last two axes exchanged, without exchanging them twice."""
    return x.args[0] if is_swap(x) else swap_last(x)


RULES = (reshape_twice, transpose_twice, broadcast_twice, broadcast_of_leading_ones, move_nowhere, cast_through_wider,
         move_of_number, gather_of_nothing, transpose_of_unit_axes, slice_twice, slice_of_pad, slice_of_concatenate,
         concatenate_of_slices,
         add_of_pads, elementwise_of_reshape, elementwise_of_broadcast, reduce_twice, extreme_twice, reduce_nothing,
         sum_of_broadcast, reduce_of_transpose, sum_of_negative, sum_of_multiple, reduce_of_widened,
         transpose_of_product)
