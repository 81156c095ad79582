"""What does not depend on a loop's carries moves before the loop, computed for all steps at once."""
from __future__ import annotations

from stele.ir.graph import Graph, Placed, Value, parameter
from stele.ir.rewrite import substituted
from stele.ir.types import TupleType
from stele.ops.gather import CheckIndex
from stele.ops.linear import Broadcast, Movement, Reshape
from stele.transform.batch import BatchError, batched
from stele.transform.loops import Loop, Results, changed, items
from stele.transform.patterns import number

SAFE = ("leaf", "elementwise", "generate", "movement", "reduction", "contraction")
"""Families of ops that raise nothing, but for checks: they may be computed for a loop that makes no step."""


def hoist(graph: Graph) -> Graph:
    """The graph whose loops compute only what depends on their carries, but for what is cheaper inside.

    Values of constants alone move out unless they are views of numbers and constants. Values of slices move out where
    they hold a contraction, so that its steps become one product, or where they are results of the loop.
    """
    return changed(graph, hoisted)


def hoisted(loop: Loop) -> Results | None:
    """The taken results from a loop whose early values are operands, or None where there are none."""
    early = outside(loop)
    n = loop.carries
    gone = {k: early[v][0] for k, v in enumerate(loop.body.results)
            if k >= n and k in loop.used and is_result_outside(v, early)}
    fixed = [v for v in frontier(loop, early, False) if not is_view(v)]
    stacks = frontier(loop, early, True)
    if not (fixed or stacks or gone):
        return None
    names = {v: parameter("early", v.type) for v in (*fixed, *stacks)}
    body = substituted(loop.body, names)
    left = [k for k in range(n, len(body.results)) if k not in gone and k in loop.used]
    new = loop.with_parts(
        zip(loop.outer.carries, loop.inner.carries, body.results[:n]), (body.results[k] for k in left),
        [*zip(loop.outer.slices, loop.inner.slices), *((early[v][0], names[v]) for v in stacks)],
        [*zip(loop.outer.constants, loop.inner.constants), *((early[v][0], names[v]) for v in fixed)])
    places = {k: j for j, k in enumerate((*range(n), *left))}
    return {**items(new, {k: places[k] for k in loop.used if k in places}), **gone}


def outside(loop: Loop) -> dict[Value, Placed]:
    """The values of a body that can be computed before the loop: for all steps (True), or once (False)."""
    found: dict[Value, Placed] = {p: (x, True) for p, x in zip(loop.inner.slices, loop.outer.slices)}
    found.update((p, (x, False)) for p, x in zip(loop.inner.constants, loop.outer.constants))
    for v in loop.values:
        alone = v not in found and v not in loop.late and v.op.family != "control"
        alone = alone and (loop.length is not None or is_safe(v))
        if alone and all(a in found for a in v.args):
            try:
                found[v] = batched(v, [found[a] for a in v.args], loop.length or 0)
            except BatchError:
                continue
    return found


def is_safe(v: Value) -> bool:
    """Whether v may be computed for a loop that makes no step."""
    return v.op.family in SAFE and not isinstance(v.op, CheckIndex)


def is_result_outside(v: Value, early: dict[Value, Placed]) -> bool:
    """Whether a loop need not stack v: its stack is computed outside."""
    return v in early and early[v][1] and bool(v.args)


def frontier(loop: Loop, early: dict[Value, Placed], stacked: bool) -> list[Value]:
    """Early values, stacked or not, that stay in use inside; of stacked ones those that hold a contraction."""
    worth = set[Value]()
    for v in loop.values:
        is_here = v in early and early[v][1] == stacked and v.args and not isinstance(v.type, TupleType)
        if is_here and (not stacked or v.op.family == "contraction" or any(a in worth for a in v.args)):
            worth.add(v)
    carried = set(loop.body.results[:loop.carries])
    used = [v for v in loop.values if v in worth and (v in carried or any(u not in worth for u in loop.users[v]))]
    return list(dict.fromkeys(root for v in used if (root := before_views(v, worth)) in worth))


def before_views(v: Value, worth: set[Value]) -> Value:
    """What v shows another way: views cost nothing inside, so what they show moves."""
    while isinstance(v.op, Movement) and len(v.args) == 1 and v.args[0] in worth:
        v = v.args[0]
    return v


def is_view(v: Value) -> bool:
    """Whether a value is a number, or a repetition or a renaming of axes of what the loop has anyway."""
    return number(v) is not None or (isinstance(v.op, Broadcast | Reshape) and not v.args[0].args)
