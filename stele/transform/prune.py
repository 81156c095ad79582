"""Loops lose what nobody takes: results, carries, operands; what never changes is no carry, what is known no result."""
from __future__ import annotations

from stele.ir.graph import Graph, Value, walk
from stele.ir.rewrite import substituted
from stele.transform.loops import Loop, Results, changed, items


def prune(graph: Graph) -> Graph:
    """The graph whose loops hold only what their taken results need."""
    return changed(graph, pruned)


def pruned(loop: Loop) -> Results | None:
    """The taken results from a smaller loop, or None where there is nothing to take away."""
    steady, aliases = fixed_carries(loop), repeated_operands(loop)
    known = {k: y for k, y in known_ys(loop).items() if k in loop.used}
    ys = first_positions(loop, known)
    kept = live_carries(loop, steady)
    renamed = substituted(loop.body, aliases)
    reach = needed(loop, kept | set(ys), aliases)
    constants = list(zip(loop.outer.constants, loop.inner.constants))
    constants += [(loop.outer.carries[k], loop.inner.carries[k]) for k in sorted(steady)]
    new = loop.with_parts(
        ((loop.outer.carries[k], loop.inner.carries[k], renamed.results[k]) for k in sorted(kept)),
        (renamed.results[k] for k in dict.fromkeys(ys.values())),
        ((x, p) for x, p in zip(loop.outer.slices, loop.inner.slices) if p in reach and p not in aliases),
        ((x, p) for x, p in constants if p in reach and p not in aliases))
    order = {k: j for j, k in enumerate((*sorted(kept), *dict.fromkeys(ys.values())))}
    if same_size(new, loop):
        return None
    found = items(new, {k: order[ys.get(k, k)] for k in loop.used if k in kept or k in ys})
    return {**found, **known, **{k: loop.outer.carries[k] for k in steady if k in loop.used}}


def same_size(new: Value, loop: Loop) -> bool:
    """Whether pruning took nothing away."""
    one = Loop(new, frozenset())
    return len(new.args) == len(loop.value.args) and len(one.body.results) == len(loop.body.results) \
        and one.carries == loop.carries


def fixed_carries(loop: Loop) -> set[int]:
    """Carries that go out as they came in."""
    return {k for k, p in enumerate(loop.inner.carries) if loop.body.results[k] is p}


def live_carries(loop: Loop, steady: set[int]) -> set[int]:
    """Carries that are taken, or that what is taken needs."""
    n = loop.carries
    kept = {k for k in loop.used if k < n}
    while True:
        reach = set(walk(loop.body.results[k] for k in kept | {k for k in loop.used if k >= n}))
        grown = kept | {k for k, p in enumerate(loop.inner.carries) if p in reach}
        if grown == kept:
            return kept - steady
        kept = grown


def needed(loop: Loop, results: set[int], aliases: dict[Value, Value] | None = None) -> set[Value]:
    """The parameters that some results need, once aliases are taken for what they stand for."""
    reach = set(walk(loop.body.results[k] for k in results))
    found = {p for p in loop.body.parameters if p in reach}
    return found | {(aliases or {})[p] for p in found if p in (aliases or {})}


def repeated_operands(loop: Loop) -> dict[Value, Value]:
    """Parameters that get the very operand of an earlier one of their role."""
    first: dict[tuple[str, Value], Value] = {}
    found: dict[Value, Value] = {}
    for role, outer, inner in (("slice", loop.outer.slices, loop.inner.slices),
                               ("constant", loop.outer.constants, loop.inner.constants)):
        for x, p in zip(outer, inner):
            if (one := first.setdefault((role, x), p)) is not p:
                found[p] = one
    return found


def known_ys(loop: Loop) -> dict[int, Value]:
    """Stacks that are operands already: a result of the body that is one of its slices."""
    stack = dict(zip(loop.inner.slices, loop.outer.slices))
    n = loop.carries
    return {k: stack[y] for k, y in enumerate(loop.body.results[n:], n) if y in stack}


def first_positions(loop: Loop, known: dict[int, Value]) -> dict[int, int]:
    """For each taken stack the position of the first one with the same values."""
    n = loop.carries
    first: dict[Value, int] = {}
    return {k: first.setdefault(loop.body.results[k], k) for k in sorted(loop.used) if k >= n and k not in known}
