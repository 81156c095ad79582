"""Branches of the same choice become one; they lose what nobody takes, and what is known of them is no branch."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.ir.graph import Graph, Item, Literal, Value, substitute, walk
from stele.ir.rewrite import substituted
from stele.ir.types import TupleType, bool_
from stele.ops.branch import Cond
from stele.ops.elementwise.unary import Not

Taken = dict[Value, dict[int, list[Value]]]


def branches(graph: Graph) -> Graph:
    """The graph with one branch for each choice over the same operands, that gives and takes what is needed alone."""
    for change in (joined, pruned):
        if becomes := change(taken(graph)):
            graph = substituted(graph, becomes)
    return graph


def taken(graph: Graph) -> Taken:
    """The branches of a graph: for each result that somebody takes the values that are it."""
    values = graph.values
    found: Taken = {v: {} for v in values if isinstance(v.op, Cond)}
    for v in values:
        if isinstance(v.op, Item) and v.args[0] in found:
            found[v.args[0]].setdefault(v.op.k, []).append(v)
    return found


def joined(found: Taken) -> dict[Value, Value]:
    """Results of branches over the same operands, from one with the results of all: a derivative needs more of a branch
    than its forward part took."""
    groups: dict[tuple[Any, ...], list[Value]] = {}
    for v in found:
        groups.setdefault((len(ways_of(v)), *map(id, v.args)), []).append(v)
    becomes: dict[Value, Value] = {}
    for group in (group for group in groups.values() if len(group) > 1):
        together = (Graph(same[0].parameters, tuple(r for way in same for r in substitute(way, same[0].parameters)))
                    for same in zip(*map(ways_of, group)))
        new, start = made(tuple(together), group[0].args, group[0]), 0
        for v in group:
            becomes |= picked(found[v], new, {k: start + k for k in found[v]})
            start += len(ways_of(v)[0].results)
    return becomes


def pruned(found: Taken) -> dict[Value, Value]:
    """Results from branches that are smaller; where the choice or a result is known, without one."""
    becomes: dict[Value, Value] = {}
    for v, used in found.items():
        index, *operands = v.args
        ways = ways_of(v)
        if isinstance(index.op, Literal) or len(ways) == 1:
            k = int(index.op.value) if isinstance(index.op, Literal) else 0
            results = substitute(ways[min(max(k, 0), len(ways) - 1)], operands)
        else:
            results = {k: operands[at] for k in used if (at := handed(ways, k)) is not None}
            becomes |= smaller(v, {k: items for k, items in used.items() if k not in results})
        becomes |= {u: results[k] for k, items in used.items() if not isinstance(results, dict) or k in results
                    for u in items}
    return becomes


def handed(ways: Sequence[Graph], k: int) -> int | None:
    """The operand that result k is, whichever way is gone."""
    at = {way.parameters.index(way.results[k]) if way.results[k] in way.parameters else None for way in ways}
    return at.pop() if len(at) == 1 else None


def smaller(v: Value, used: dict[int, list[Value]]) -> dict[Value, Value]:
    """These results from a branch that takes what they need, each operand once, and gives each of them once."""
    (index, *operands), ways = v.args, ways_of(v)
    if is_turned := isinstance(index.op, Not) and index.dtype == bool_:
        index, ways = index.args[0], ways[::-1]
    first: dict[Value, int] = {}
    same = [first.setdefault(a, j) for j, a in enumerate(operands)]
    ways = tuple(substituted(way, {p: way.parameters[j] for p, j in zip(way.parameters, same) if p is not
                                   way.parameters[j]}) for way in ways)
    place: dict[tuple[int, ...], int] = {}
    at = {k: place.setdefault(tuple(id(way.results[k]) for way in ways), k) for k in used}
    left = list(dict.fromkeys(at.values()))
    needed = set(walk(way.results[k] for way in ways for k in left))
    kept = [j for j in range(len(operands)) if any(way.parameters[j] in needed for way in ways)]
    if not left or (len(left) == len(ways[0].results) and len(kept) == len(operands) and not is_turned):
        return {}
    graphs = tuple(Graph(tuple(way.parameters[j] for j in kept), tuple(way.results[k] for k in left)) for way in ways)
    new = made(graphs, (index, *(operands[j] for j in kept)), v)
    return picked(used, new, {k: left.index(one) for k, one in at.items()})


def ways_of(v: Value) -> tuple[Graph, ...]:
    assert isinstance(v.op, Cond)
    return v.op.branches


def made(graphs: tuple[Graph, ...], args: Sequence[Value], like: Value) -> Value:
    """A branch in the place of another."""
    op = Cond(graphs)
    return Value(op, tuple(args), op.typed(*(a.type for a in args)), like.where)    # type: ignore[arg-type]


def picked(used: dict[int, list[Value]], new: Value, places: dict[int, int]) -> dict[Value, Value]:
    """What stands for the results of one branch: those of another at these places."""
    assert isinstance(new.type, TupleType)
    types = new.type.items
    return {u: Value(Item(places[k]), (new,), types[places[k]], u.where) for k, items in used.items() for u in items}
