"""Large values that products make of little, as the scores of attention: gradients compute them again."""
from __future__ import annotations

from collections.abc import Collection
from functools import partial

from stele.ir.graph import Graph, Value, fed, users, walk
from stele.ir.report import Report
from stele.ir.rewrite import everywhere, with_results
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type
from stele.ops.contraction import MatMul
from stele.ops.elementwise.arithmetic import Select
from stele.ops.linear import Sum, cast, reshape, slice_axis

LARGE = 1 << 24
"""Bytes from which a value is not to lie in memory for long."""
RATIO = 8
"""How many times smaller what is kept is than what is computed of it again."""
DEEP = 128
"""Terms of each sum of a product that is computed again: what costs about as much as writing and reading the result."""
AGAIN = ("elementwise", "generate", "movement", "reduction")


def recompute(graph: Graph, report: Report | None = None) -> Graph:
    """The graph that computes large values again behind a product that has made little of them.

    With the scores s = softmax(q @ k.T), which are more than q and k, y = s @ v needs them first, and the gradient of
    the loss, which depends on y, once more.
    """
    return everywhere(partial(recomputed, report=report), graph)


def recomputed(graph: Graph, report: Report | None = None) -> Graph:
    """One level of `recompute`."""
    values = graph.values
    large = [v for v in values if size(v) >= LARGE and is_made_again(v)]
    readers = users(values) if large else {}
    late = {(u, v): then for v in large for u, then in behind(v, values, readers).items()}
    if not late:
        return graph
    meaning: dict[Value, Value] = {}
    clones: dict[Value, Value] = {}

    def again(v: Value, then: Value) -> Value:
        if v not in clones:
            args = [meaning[a] if is_kept(a, v) else again(a, then) for a in v.args]
            if isinstance(v.op, MatMul) and is_kept(v.args[0], v):
                args[0] = after(args[0], meaning[then])
            clones[v] = Value(v.op, tuple(args), v.type, v.where)
            if report:
                report.fired("recompute", "what is large and made of little is not kept", v.where)
        return clones[v]

    for u in values:
        args = tuple(again(a, late[u, a]) if (u, a) in late else meaning[a] for a in u.args)
        meaning[u] = u if args == u.args else Value(u.op, args, u.type, u.where)
    return with_results(graph, tuple(meaning[v] for v in graph.results))


def after(x: Value, then: Value) -> Value:
    """x, but not before another value is there."""
    for axis in range(then.ndim):
        then = slice_axis(then, axis, 0, 1)
    is_known = all(isinstance(n, int) for n in then.shape)
    then = reshape(then, ()) if is_known else Sum(tuple(range(then.ndim)))(then)     # of no elements too
    return Select()(True, x, cast(then, x.dtype))


def size(v: Value) -> int:
    """Bytes of an array whose sizes are known; 0 of others."""
    return bytes_of(v.type)


def bytes_of(type: Type | TupleType) -> int:
    return n * type.dtype.bytes if isinstance(type, Type) and isinstance(n := type.size, int) else 0


def is_kept(v: Value, reader: Value) -> bool:
    """Whether a value that one computed again reads is kept: it is small beside it, or is made of nothing."""
    return not v.args or size(v) * RATIO <= size(reader)


def cone(v: Value) -> set[Value] | None:
    """The values that are computed again with v, itself among them; None where one is none for that."""
    found, stack = {v}, [v]
    while stack:
        top = stack.pop()
        match top.op:
            case MatMul() if is_shallow(top.args[0].shape[-1]):  pass
            case _ if top.op.family not in AGAIN:                return None
        new = {a for a in top.args if not is_kept(a, top)} - found
        found |= new
        stack += new
    return found


def is_shallow(depth: Dim) -> bool:
    return isinstance(depth, int) and depth <= DEEP


def behind(v: Value, values: Collection[Value], readers: dict[Value, list[Value]]) -> dict[Value, Value]:
    """The readers of v that wait for a product which has made little of it, or of what is as large and made of the
    same; and what is small that each waits for."""
    stack = [u for u in cone(v) or () if isinstance(u.op, MatMul)]
    wide, below = set(stack), set[Value]()
    while stack:
        made = stack.pop()
        below |= {u for u in readers[made] if isinstance(u.op, MatMul) and size(u) * RATIO <= size(made)}
        new = {u for u in readers[made] if u.op.family in AGAIN and size(u) * RATIO > size(v)} - wide
        wide |= new
        stack += new
    if below:
        below = fed(values, below)
    if v in below:
        return {}
    known = {u: [a for a in walk([u])[:-1] if a in below and 0 < size(a) * RATIO <= size(v)]
             for u in readers[v] if not below.isdisjoint(u.args)}
    return {u: small[-1] for u, small in known.items() if small}


def is_made_again(v: Value) -> bool:
    """Whether v can be computed again from what is kept, a product among it."""
    return any(isinstance(u.op, MatMul) for u in cone(v) or ())
