"""Products inside a loop that share an operand or are added up become one, over weights joined before the loop."""
from __future__ import annotations

from itertools import accumulate

from stele.ir.graph import Graph, Value, fed
from stele.ir.origin import NOWHERE, inherit
from stele.ir.rewrite import substituted
from stele.ops.contraction import MatMul
from stele.ops.elementwise.arithmetic import Add
from stele.ops.linear import Concatenate, slice_axis
from stele.transform.loops import Loop, Results, changed, items


def join_products(graph: Graph) -> Graph:
    """The graph whose loops compute x @ u and x @ w as one product x @ [u w], and x @ u + z @ w as [x z] @ [u; w].

    Only where u and w are the same at every step, so that they are joined once.
    """
    return changed(changed(graph, with_common_operand), with_sums)


def with_common_operand(loop: Loop) -> Results | None:
    """Products of one matrix with several weights as slices of one product."""
    groups: dict[Value, list[Value]] = {}
    for v in weighted(loop):
        groups.setdefault(v.args[0], []).append(v)
    becomes: dict[Value, Value] = {}
    for group in groups.values():
        if len(group) > 1:
            with inherit(NOWHERE.union(*(v.where for v in group))):
                whole = MatMul()(group[0].args[0], Concatenate(1)(*(v.args[1] for v in group)))
                starts = accumulate((v.shape[1] for v in group), initial=0)
                becomes.update((v, slice_axis(whole, 1, start, v.shape[1])) for v, start in zip(group, starts))
    return with_body(loop, becomes)


def with_sums(loop: Loop) -> Results | None:
    """Sums of products as one product of more columns."""
    products = {v for v in weighted(loop) if v in loop.late and len(loop.users[v]) == 1}
    becomes: dict[Value, Value] = {}
    for v in loop.values:
        if isinstance(v.op, Add) and not is_added(loop, v):
            taken, rest = split_terms(loop, v, products)
            if len(taken) > 1:
                with inherit(v.where.union(*(p.where for p in taken))):
                    left, right = (Concatenate(1 - k)(*(p.args[k] for p in taken)) for k in (0, 1))
                    total = MatMul()(left, right)
                    for term in rest:
                        total = total + term
                becomes[v] = total
    return with_body(loop, becomes)


def weighted(loop: Loop) -> list[Value]:
    """The products that the next step needs, of a matrix with one that is the same at every step."""
    moving = fed(loop.values, (*loop.inner.carries, *loop.inner.slices))
    return [v for v in loop.values if isinstance(v.op, MatMul) and v.ndim == 2 and v in loop.core
            and v.args[0] in moving and v.args[1] not in moving]


def is_added(loop: Loop, v: Value) -> bool:
    """Whether v is only a part of a larger sum."""
    return v not in loop.body.results and len(loop.users[v]) == 1 and isinstance(loop.users[v][0].op, Add)


def split_terms(loop: Loop, v: Value, products: set[Value]) -> tuple[list[Value], list[Value]]:
    """The terms of a sum: products that may be joined, and the rest."""
    taken: list[Value] = []
    rest: list[Value] = []
    terms = [v]
    while terms:
        x = terms.pop()
        if x is v or (isinstance(x.op, Add) and is_added(loop, x)):
            terms.extend(reversed(x.args))
        else:
            (taken if x in products and x not in loop.body.results else rest).append(x)
    return taken, rest


def with_body(loop: Loop, becomes: dict[Value, Value]) -> Results | None:
    """The taken results of the loop with values of its body replaced; None where there are none to replace."""
    if not becomes:
        return None
    results, n = substituted(loop.body, becomes).results, loop.carries
    new = loop.with_parts(zip(loop.outer.carries, loop.inner.carries, results[:n]), results[n:],
                          zip(loop.outer.slices, loop.inner.slices), zip(loop.outer.constants, loop.inner.constants))
    return items(new, {k: k for k in loop.used})
