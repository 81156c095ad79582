"""Changes the attributes of all ops of a graph at once: named sizes to numbers, or one dtype to another."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from stele.ir.graph import Graph, Op, Value, interpret
from stele.ir.origin import setting
from stele.ir.sizes import Size, at
from stele.ir.types import REWRITING, Type

Change = Callable[[Any], Any]


def retype(graph: Graph, change: Change) -> Graph:
    """The graph with `change` applied to every dtype, size and array among its ops' attributes; bodies too."""
    parameters = tuple(rewritten(v, [], change) for v in graph.parameters)
    results = interpret(graph, parameters, lambda v, x: rewritten(v, x, change))
    return Graph(parameters, tuple(results))


def rewritten(v: Value, args: list[Value], change: Change) -> Value:
    """The value under a changed op."""
    op = changed(v.op, change)
    return Value(op, tuple(args), op.typed(*(a.type for a in args)), v.where)


def changed(attribute: Any, change: Change) -> Any:
    """One attribute, changed wherever a dtype, a size or an array stands in it."""
    match attribute:
        case Op():
            new = {f.name: changed(getattr(attribute, f.name), change) for f in fields(attribute)}
            return replace(attribute, **new)
        case Type():
            return Type(change(attribute.dtype), tuple(change(n) for n in attribute.shape), change(attribute.device))
        case Graph():
            return retype(attribute, change)
        case tuple():
            return tuple(changed(a, change) for a in tuple[Any, ...](attribute))  # type: ignore[reportUnknownArgumentType]
        case _:
            return change(attribute)


def bind(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The same graph with numbers for its named sizes."""
    with setting(REWRITING, True):
        return retype(graph, numbered(sizes))


def numbered(sizes: Mapping[str, int]) -> Change:
    """Numbers for named sizes."""
    return lambda a: at(a, sizes) if isinstance(a, Size) else a
