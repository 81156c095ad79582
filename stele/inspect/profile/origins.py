"""Where the work of a program comes from: lines of the user, layers, and whether it is a gradient's."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import basename
from typing import NamedTuple

from stele.eager.live import is_there
from stele.ir.graph import Graph, Literal, Value, walk
from stele.ir.origin import NOWHERE, Origin, Where, is_gradient, line_of


class Place(NamedTuple):
    """Where work comes from: the path of a layer, a line of the user as `file:line`, that file and the line's number,
    and whether it is of a gradient."""

    layer: str
    line: str
    file: str
    number: int
    gradient: bool


def places_of(where: Where) -> list[Place]:
    """The places of a value: of a gradient those of the lines that it is the gradient of, where there are any."""
    forward = [origin for origin in where if not origin.gradient] or [*where]
    return [place(origin, is_gradient(where)) for origin in sorted(forward, key=str)] or [Place("", "", "", 0, False)]


def place(origin: Origin, gradient: bool) -> Place:
    """An origin as a place."""
    if isinstance(origin.code, str):
        return Place(origin.layer, origin.code, "", 0, gradient)
    file, number = origin.code.co_filename, line_of(origin.code, origin.offset)
    return Place(origin.layer, f"{basename(file)}:{number}", file, number, gradient)


def named(graph: Graph) -> str:
    """A program by the function that its results come from: the one that asks for gradients, if one does."""
    where: Where = NOWHERE.union(*(v.where for v in graph.results))
    asked = [o for o in where if o.gradient] or [o for v in graph.results[-1:] for o in v.where] or [*where]
    origins = [o for o in sorted(asked, key=str) if not isinstance(o.code, str)]
    if not origins:
        return "a program"
    code = origins[0].code
    assert not isinstance(code, str)
    file = basename(code.co_filename)
    if code.co_name.startswith("<"):
        return f"{file}:{line_of(code, origins[0].offset)}"
    return f"{code.co_name} ({file}:{code.co_firstlineno})"


def origins(graph: Graph, values: Sequence[Value]) -> dict[Value, Where]:
    """The origins of values that a program is about to compute, by the values of its graph that stand for them, where
    these have others. The first of `values` are the first results of the graph; what is of another structure is not.
    """
    found: dict[Value, Where] = {}
    for result, v in zip(graph.results, values):
        if (here := alike(result, v, found)) is not None:
            found |= here
    return {v: where for v, where in found.items() if where != v.where}


def alike(result: Value, wanted: Value, known: Mapping[Value, Where]) -> dict[Value, Where] | None:
    """The origins of an expression by the values of another of the same structure, whatever the sizes; None for one
    that has another."""
    found: dict[Value, Where] = {}
    stack = [(result, wanted)]
    while stack:
        g, v = stack.pop()
        if g in found or g in known:
            continue
        if is_there(v) or isinstance(v.op, Literal):
            if g.args:
                return None
        elif type(g.op) is not type(v.op) or len(g.args) != len(v.args) or is_gradient(g.where) != is_gradient(v.where):
            return None
        else:
            found[g] = v.where
            stack += zip(g.args, v.args)
    return found


def from_there(graph: Graph, moved: Mapping[Value, Where]) -> Graph:
    """The graph with other origins of some values."""
    new: dict[Value, Value] = {}
    for v in walk([*graph.parameters, *graph.results]):
        new[v] = Value(v.op, tuple(new[a] for a in v.args), v.type, moved.get(v, v.where))
    return Graph(tuple(new[v] for v in graph.parameters), tuple(new[v] for v in graph.results), graph.guards)
