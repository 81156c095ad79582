"""A graph, or one op of it, at many places at once: every op's `batch`, in order."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from stele.errors import GraphError
from stele.ir.graph import Graph, Item, Placed, Value, label_of, parameter, rebuild, walk
from stele.ir.origin import inherit, lines
from stele.ir.sizes import Dim
from stele.ir.types import TupleType
from stele.ops import control
from stele.ops.collective import Collective
from stele.ops.linear import along, full, transfer


class BatchError(GraphError):
    """An op has no form for all places at once."""


def batched(v: Value, x: Sequence[Placed], n: Dim, loops: bool = False) -> Placed:
    """v at n places, given its operands there: each with a leading axis of n (True), or the same everywhere (False).

    Of an op with several results a tuple. What is the same everywhere although an operand is not, as a sum over all
    places, comes without the axis. Where the op has no such form the places are a loop if `loops`, else BatchError.
    """
    with inherit(v.where):
        if not any(is_placed for _, is_placed in x):
            return rebuild(v, [a for a, _ in x]), False
        if n == 0 and not isinstance(v.op, Collective):
            made: Any = nowhere(v)
            return made, True
        y: Any = v.op.batch(SimpleNamespace(batch=partial(batch, loops=loops)), n, x, v)
        if y is None and loops:
            y = looped(v, x, n)
    if y is None:
        raise BatchError(f"{v.op.name} at {', '.join(lines(v.where))} has no form for all places at once")
    return y, isinstance(y, tuple) or y.ndim > v.ndim


def nowhere(v: Value) -> Value | tuple[Value, ...]:
    """v at no places, whatever its rule would have to know of one."""
    types = v.type.items if isinstance(v.type, TupleType) else (v.type,)
    none = tuple(transfer(full((0, *t.shape), 0, t.dtype), t.device) for t in types)
    return none if isinstance(v.type, TupleType) else none[0]


def looped(v: Value, x: Sequence[Placed], n: Dim) -> Value | tuple[Value, ...]:
    """v at one place after the other."""
    def step(_: tuple[Value, ...], slices: tuple[Value, ...]) -> tuple[Sequence[Value], Sequence[Value]]:
        own = iter(slices)
        y = v.op(*(next(own) if is_placed else a for a, is_placed in x))
        return (), control.parts(y)

    _, ys = control.scan(step, (), [a for a, is_placed in x if is_placed], length=n)
    return ys[0] if len(control.parts(v)) == 1 else ys


def spread(results: Sequence[Value], given: Mapping[Value, Placed], n: Dim, loops: bool = False,
           stop: Callable[[Value], bool] | None = None) -> list[Placed]:
    """The results at n places, where those of `given` are known; nothing behind `stop` is looked at."""
    known = dict(given)
    for v in walk(results, lambda v: v in given or (stop is not None and stop(v))):
        if v in known:
            continue
        many = known.get(v.args[0]) if isinstance(v.op, Item) else None
        if many is not None and many[1]:
            known[v] = many[0][v.op.k], True    # type: ignore[attr-defined]
        elif v.args and all(a in known for a in v.args):
            known[v] = batched(v, [known[a] for a in v.args], n, loops)
        else:
            known[v] = v, False
    return [known[v] for v in results]


def batch(graph: Graph, placed: Sequence[bool], n: Dim, loops: bool = False) -> Graph:
    """The graph at n places at once: parameters that are `placed` and all results have a leading axis of n.

    Raises BatchError where an op has no such form, unless its places may be `loops`.
    """
    given = tuple(parameter(label_of(p), p.type.with_shape((n, *p.shape))) if has_axis else p
                  for p, has_axis in zip(graph.parameters, placed, strict=True))
    found = spread(graph.results, dict(zip(graph.parameters, zip(given, placed))), n, loops)
    return Graph(given, tuple(along(y, n) for y in found))
