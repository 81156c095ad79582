"""Elements at computed places: picked, scattered, ordered, found."""
from __future__ import annotations

import math
from typing import Any

from stele.interop.onnx.out.movement import sliced
from stele.interop.onnx.out.nodes import Node
from stele.interop.onnx.out.reductions import ordered
from stele.interop.onnx.out.scope import Rule, Scope
from stele.ir.graph import Op, Value
from stele.ir.sizes import Dim
from stele.ir.types import Type, axis_of, bool_, int32, int64, product
from stele.ops import cumulative, gather, sorting
from stele.ops.counting import Places
from stele.ops.elementwise.arithmetic import Equal, Maximum, NotEqual, Select
from stele.ops.elementwise.binary import Remainder
from stele.ops.elementwise.unary import absolute, isnan
from stele.ops.everyday import CommonDivisor
from stele.ops.generate import iota
from stele.ops.linear import Sum, broadcast, cast, expand_dims, reshape
from stele.ops.reduction import Any as Some
from stele.ops.repeat import looped

INDEX = int32, int64


def index_of(s: Scope, x: Node) -> Node:
    """Positions in a dtype that ONNX takes."""
    return x if x.dtype in INDEX else s.converted(x, int64)


def picked(s: Scope, v: Value, x: Node, at: Node) -> Node:
    """Elements at places along an axis."""
    op: Any = v.op
    return s.node("Gather", x, index_of(s, at), dtype=x.dtype, axis=axis_of(op.axis, v.args[0].ndim))


def scattered(reduction: str, onto: bool = False) -> Rule:
    """Parts combined at places along an axis, which comes first while they are."""
    def rule(s: Scope, v: Value, *x: Node) -> Node:
        op: Any = v.op
        base = x[0] if onto else s.expanded(s.constant(op.identity(v.type), v.dtype), v.shape)
        k, many = op.axis, v.args[-1].ndim
        first = s.transposed(base, (k, *range(k), *range(k + 1, v.ndim)))
        g = s.transposed(x[-2], (*range(k, k + many), *range(k), *range(k + many, v.args[-2].ndim)))
        at = s.node("Unsqueeze", s.converted(x[-1], int64), s.ints(-1), dtype=int64)
        y = s.node("ScatterND", first, at, g, reduction=reduction)
        return s.transposed(y, (*range(1, k + 1), 0, *range(k + 1, v.ndim)))

    return rule


def put(v: Value) -> Value:
    """The last part for each place, found by its number among the parts."""
    op: Any = v.op
    x, g, index = v.args
    k, n = op.axis, product(index.shape)
    flat = reshape(op.places(index), (n,))
    last = gather.ScatterMax(0, op.size)(iota(n), flat)
    parts = reshape(g, (*g.shape[:k], n, *g.shape[k + index.ndim:]))
    there = reshape(last >= 0, (*(1 for _ in range(k)), op.size, *(1 for _ in range(v.ndim - k - 1))))
    return Select()(broadcast(there, v.shape), gather.Gather(k)(parts, Maximum()(last, 0)), x)


def order(s: Scope, v: Value, x: Node) -> Node:
    """Where the elements stand that come first: NaN behind all others, by a second order of that alone."""
    largest = int(v.op.descending)      # type: ignore[attr-defined]
    count, n = v.shape[-1], v.args[0].shape[-1]

    def top(y: Node, k: Dim) -> Node:
        wide = y if y.dtype.is_float or y.dtype in INDEX else s.converted(ordered(s, y), int64)
        return s.many("TopK", wide, s.size(k), dtypes=(wide.dtype, int64), axis=-1, largest=largest, sorted=1)[1]

    if not x.dtype.is_float:
        return top(x, count)
    x = s.widen(x)
    is_none = s.node("IsNaN", x, dtype=bool_)
    first = top(s.select(is_none, math.inf, x), n)
    behind = s.node("GatherElements", s.converted(is_none, int32), first, dtype=int32, axis=-1)
    found = s.node("GatherElements", first, top(behind, n), axis=-1)
    whole = v.args[0].shape
    return sliced(s, found, [0] * v.ndim, v.shape, [1] * v.ndim, whole)


def sort(s: Scope, v: Value, x: Node) -> Node:
    """The elements in order."""
    return s.node("GatherElements", x, order(s, v, x), dtype=x.dtype, axis=-1)


def search(v: Value) -> Value:
    """How many elements of a row come before another: by comparing each with each."""
    op: Any = v.op
    row, z = expand_dims(v.args[0], (v.ndim - 1,)), expand_dims(v.args[1], (v.ndim,))

    def before(a: Value, b: Value) -> Value:
        return (a < b) | (isnan(b) & ~isnan(a)) if a.dtype.is_float else a < b

    if row.dtype == bool_:
        row, z = cast(row, int32), cast(z, int32)
    return Sum((v.ndim,))(cast(~before(z, row) if op.right else before(row, z), int64))


def places(v: Value) -> Value:
    """Where rows hold: the first place by which so many did."""
    op: Any = v.op
    rank = cumulative.CumSum(v.ndim - 1)(cast(v.args[0], int64))
    return sorting.Search(False)(rank, broadcast(iota(op.size) + 1, v.shape))


def running_sum(s: Scope, v: Value, x: Node) -> Node:
    """The sum of all up to each one."""
    op: Any = v.op
    wide = s.widen(x)
    axis = s.array(axis_of(op.axis, v.ndim))
    return s.converted(s.node("CumSum", wide, axis, dtype=wide.dtype, reverse=int(op.reverse)), x.dtype)


def running(s: Scope, v: Value, x: Node) -> Node:
    """What combines all up to each one, by a loop over the axis, which comes first while it runs."""
    op: Any = v.op
    axis = axis_of(op.axis, v.ndim)
    order = (axis, *(k for k in range(v.ndim) if k != axis))
    rows = s.transposed(s.widen(x), order)
    one = Type(rows.dtype, tuple(v.shape[k] for k in order[1:]))
    start = s.expanded(s.constant(op.identity(one), one.dtype), one.shape)

    def step(inner: Scope, given: list[Node]) -> list[Node]:
        return [inner.converted(op.combine(inner, *given), one.dtype)] * 2

    _, y = s.many("Scan", start, s.turned(rows) if op.reverse else rows, dtypes=(one.dtype, one.dtype),
                  body=s.graph((one, one), (one, one), step), num_scan_inputs=1)
    y = s.turned(y) if op.reverse else y
    return s.converted(s.transposed(y, tuple(order.index(k) for k in range(v.ndim))), x.dtype)


def common_divisor(v: Value) -> Value:
    """Euclid's remainders, until all are 0."""
    def step(state: Any) -> Any:
        a, b = state
        return Select()(Equal()(b, 0), a, b), Remainder()(a, b)

    def goes(state: Any) -> Value:
        return Some(tuple(range(v.ndim)))(NotEqual()(state[1], 0))

    return looped(goes, step, tuple(absolute(x) for x in v.args))[0]


RULES: dict[type[Op], Rule] = {
    gather.Gather: picked,
    gather.ScatterAdd: scattered("add"), gather.ScatterOnto: scattered("add", onto=True),
    gather.ScatterMax: scattered("max"), gather.ScatterMin: scattered("min"), gather.ScatterMul: scattered("mul"),
    sorting.Sort: sort, sorting.ArgSort: order, sorting.ArgTop: order,
    **dict.fromkeys(cumulative.ALL, running), cumulative.CumSum: running_sum,
}
MEANINGS: dict[type[Op], Rule] = {
    gather.ScatterPut: put, sorting.Search: search, Places: places, CommonDivisor: common_divisor,
}
