"""A graph, or one op of it, at many places at once: every op's `batch`, in order."""
from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from stele.errors import GraphError
from stele.ir.graph import Graph, Item, Placed, Value, label_of, parameter, walk
from stele.ir.origin import inherit, lines
from stele.ir.sizes import Dim
from stele.ops.linear import along


class BatchError(GraphError):
    """An op has no form for all places at once."""


def batched(v: Value, x: Sequence[Placed], n: Dim) -> Placed:
    """v at n places, given its operands there: each with a leading axis of n (True), or the same everywhere (False).

    Of an op with several results a tuple. Raises BatchError where the op has no such form.
    """
    with inherit(v.where):
        if not any(is_placed for _, is_placed in x):
            return v.op(*(a for a, _ in x)), False
        y = v.op.batch(SimpleNamespace(batch=batch), n, x, v)
    if y is None:
        raise BatchError(f"{v.op.name} at {', '.join(lines(v.where))} has no form for all places at once")
    return y, True


def batch(graph: Graph, placed: Sequence[bool], n: Dim) -> Graph:
    """The graph at n places at once: parameters that are `placed` and all results have a leading axis of n.

    Raises BatchError where an op has no such form.
    """
    given = tuple(parameter(label_of(p), p.type.with_shape((n, *p.shape))) if has_axis else p
                  for p, has_axis in zip(graph.parameters, placed, strict=True))
    known: dict[Value, Placed] = dict(zip(graph.parameters, zip(given, placed)))
    for v in walk(graph.results):
        if v in known:
            continue
        many = known.get(v.args[0]) if isinstance(v.op, Item) else None
        if many is not None and many[1]:
            known[v] = many[0][v.op.k], True    # type: ignore[attr-defined]
        else:
            known[v] = batched(v, [known[a] for a in v.args], n) if v.args else (v, False)
    return Graph(given, tuple(along(known[v], n) for v in graph.results))
