"""Loops that do the same steps become one with the results of all."""
from __future__ import annotations

from typing import Any

from stele.ir.graph import Graph, Value, substitute
from stele.transform.loops import Loop, Results, items, loops, replaced
from stele.transform.share import shared


def join(graph: Graph) -> Graph:
    """The graph with one loop for all that carry the same values over the same operands.

    A derivative needs more of a loop than its forward part took: it makes a second loop that emits more.
    """
    groups: dict[tuple[Any, ...], list[Loop]] = {}
    for loop in loops(graph):
        scan = loop.scan
        key = (scan.carries, scan.slices, scan.length, scan.reverse, *map(id, loop.value.args))
        groups.setdefault(key, []).append(loop)
    found: dict[Value, Results] = {}
    for group in groups.values():
        while len(group) > 1:
            first, rest, group = group[0], group[1:], []
            alike = [first]
            for other in rest:
                (alike if carries_alike(first, other) else group).append(other)
            if len(alike) > 1:
                found.update(joined(alike))
    return replaced(graph, found)


def together(parts: list[Loop]) -> Graph:
    """The results of several bodies over the parameters of the first, equal values shared."""
    parameters = parts[0].body.parameters
    results = [r for part in parts for r in substitute(part.body, parameters)]
    return shared(Graph(parameters, tuple(results), parts[0].body.guards))


def carries_alike(a: Loop, b: Loop) -> bool:
    """Whether two loops over the same operands step their carries alike."""
    both, n, start = together([a, b]).results, a.scan.carries, len(a.body.results)
    return both[:n] == both[start:start + n]


def joined(parts: list[Loop]) -> dict[Value, Results]:
    """The results of each loop, from one."""
    first, body, n = parts[0], together(parts), parts[0].scan.carries
    ends: list[tuple[Value, ...]] = []
    at = 0
    for part in parts:
        ends.append(body.results[at:at + len(part.body.results)])
        at += len(part.body.results)
    ys = {v: k for k, v in enumerate(dict.fromkeys(v for end in ends for v in end[n:]), n)}
    new = first.with_parts(zip(first.outer.carries, first.inner.carries, body.results[:n]), ys,
                           zip(first.outer.slices, first.inner.slices),
                           zip(first.outer.constants, first.inner.constants))
    return {part.value: items(new, {k: k if k < n else ys[end[k]] for k in part.used})
            for part, end in zip(parts, ends)}
