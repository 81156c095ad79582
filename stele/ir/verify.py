"""Every invariant of a graph, one check each."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stele.errors import GraphError, SteleError
from stele.ir.graph import Graph, Item, Parameter, Value, free
from stele.ir.origin import lines, setting
from stele.ir.sizes import names
from stele.ir.types import SIZES, Guard, Sizes, TupleType, Type


def is_acyclic(graph: Graph) -> Iterator[str]:
    """No value needs itself."""
    state: dict[Value, bool] = {}
    stack = [(v, False) for v in graph.results]
    while stack:
        v, left = stack.pop()
        if left:
            state[v] = True
        elif v not in state:
            state[v] = False
            stack.append((v, True))
            stack.extend((a, False) for a in v.args if state.get(a) is not True)
        elif not state[v]:
            yield f"{told(v)} needs itself"
            return


def has_unique_parameters(graph: Graph) -> Iterator[str]:
    """Each parameter is a Parameter and stands once in the list."""
    for k, p in enumerate(graph.parameters):
        if not isinstance(p.op, Parameter):
            yield f"parameter {k} is {told(p)}"
        if p in graph.parameters[:k]:
            yield f"parameter {k} stands in the list twice"


def has_no_foreign_parameters(graph: Graph) -> Iterator[str]:
    """Every Parameter a result needs is in the list."""
    own = set(graph.parameters)
    for v in graph.values:
        if isinstance(v.op, Parameter) and v not in own:
            yield f"the parameter {v.op.label!r} {v.type} belongs to no list: the graph is not closed"


def takes_items_of_tuples_only(graph: Graph) -> Iterator[str]:
    """Only Item takes a tuple, and no result is one."""
    for v in graph.values:
        for a in v.args:
            if isinstance(a.type, TupleType) != isinstance(v.op, Item):
                yield f"{told(v)} takes {a.type}"
    for v in graph.results:
        if isinstance(v.type, TupleType):
            yield f"a result is the tuple {v.type}"


def has_inferred_types(graph: Graph) -> Iterator[str]:
    """Each value has the type its op gives to the types of its operands."""
    for v in graph.values:
        if isinstance(v.op, Parameter):
            continue
        if v.op.arity not in (None, len(v.args)):
            yield f"{told(v)} takes {v.op.arity} operands, got {len(v.args)}"
            continue
        try:
            inferred = v.op.typed(*(a.type for a in v.args))  # type: ignore[arg-type]
        except SteleError as error:
            yield f"{told(v)} does not take its operands: {error}"
            continue
        if not agree(inferred, v.type):
            yield f"{told(v)} has the type {v.type}, its op infers {inferred}"


def stays_on_its_device(graph: Graph) -> Iterator[str]:
    """An operand of another device is moved by a Transfer, but for numbers and what is made of nothing."""
    values = graph.values
    made_of_nothing = free(values)
    for v in values:
        for a in v.args:
            if a.type.device != v.type.device and a.shape and v.op.name != "Transfer" and a not in made_of_nothing:
                yield f"{told(v)} on {v.type.device} takes {a.type}"


def agree(a: object, b: object) -> bool:
    """Whether two types are equal; how a symbolic size is written does not count."""
    match a, b:
        case TupleType(xs), TupleType(ys):
            return len(xs) == len(ys) and all(agree(x, y) for x, y in zip(xs, ys))
        case Type(d, s, place), Type(e, t, other):
            return (d, place, len(s)) == (e, other, len(t)) and all(
                m == n or not (isinstance(m, int) and isinstance(n, int)) for m, n in zip(s, t))
        case _:
            return a == b


def knows_where_from(graph: Graph) -> Iterator[str]:
    """Every computed value has an origin."""
    for v in graph.values:
        if not v.where and not isinstance(v.op, Parameter):
            yield f"{told(v)} has lost its origin"


def guards_known_sizes(graph: Graph) -> Iterator[str]:
    """A guard speaks of sizes that parameters have."""
    known = {name for p in graph.parameters for d in p.shape for name in names(d)}
    for g in graph.guards:
        if unknown := sorted((names(g.left) | names(g.right)) - known):
            yield f"the guard {g} speaks of {', '.join(unknown)}, which no parameter has"


def holds_sound_graphs(graph: Graph) -> Iterator[str]:
    """The graphs that ops hold keep all of this themselves."""
    for v in graph.values:
        for k, inner in enumerate(v.op.graphs if v.op.family == "control" else ()):
            yield from (f"in graph {k} of {told(v)}: {problem}" for problem in problems(inner))


CHECKS = (is_acyclic, has_unique_parameters, has_no_foreign_parameters, takes_items_of_tuples_only,
          has_inferred_types, stays_on_its_device, knows_where_from, guards_known_sizes, holds_sound_graphs)


def problems(graph: Graph) -> list[str]:
    """All that is wrong with a graph; a cycle is told alone."""
    return list(is_acyclic(graph)) or [problem for check in CHECKS[1:] for problem in check(graph)]


def verify(graph: Graph, hints: Mapping[str, int] | None = None, guards: Sequence[Guard] | None = None) -> Graph:
    """The graph itself; raises GraphError that lists every broken invariant.

    `hints` are the example sizes of the trace: with them, what types assume of symbolic sizes is held against guards,
    the graph's own unless others are given.
    """
    stated = graph.guards if guards is None else guards
    known = Sizes(dict(hints or {}), list(stated))
    with setting(SIZES, known if hints is not None else None):
        found = problems(graph)
    found += [f"types assume {g}, which no guard states" for g in known.guards[len(stated):]]
    if found:
        raise GraphError(f"this graph breaks {len(found)} invariants: {'; '.join(found[:8])}")
    return graph


def told(v: Value) -> str:
    """A value for a message."""
    return f"{v.op.name} at {', '.join(lines(v.where)) or 'nowhere'}"
