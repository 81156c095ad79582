"""Loops and branches."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.interop.onnx.out.nodes import Node
from stele.interop.onnx.out.scope import Rule, Scope
from stele.ir.graph import Graph, Op, Value
from stele.ir.sizes import Dim, Named
from stele.ir.types import Type, bool_, int64
from stele.ops.branch import Cond
from stele.ops.control import Scan
from stele.ops.repeat import While


def types(values: Sequence[Value]) -> list[Type]:
    """The types of values."""
    return [v.type for v in values]


def scan(s: Scope, v: Value, *x: Node) -> tuple[Node, ...]:
    """A loop of a length, which runtimes refuse where it is none: where it may be, a branch asks."""
    op: Any = v.op
    results: Any = v.type
    if op.length == 0:
        return unmoved(s, v, *x)
    if is_positive(op.length):
        return stepped(s, v, *x)
    parts = [s.graph((), results.items, lambda inner, _, f=f: f(inner, v, *map(inner.here, x)), "branch")
             for f in (stepped, unmoved)]
    return s.many("If", s.scalar(op.length) > 0, dtypes=[t.dtype for t in results.items], then_branch=parts[0],
                  else_branch=parts[1])


def is_positive(n: Dim) -> bool:
    """Whether a size is 1 at least where all that it is made of are."""
    return isinstance(n, int) or all(k > 0 and all(isinstance(atom, Named) for atom in factors)
                                     for factors, k in n.terms)


def unmoved(s: Scope, v: Value, *x: Node) -> tuple[Node, ...]:
    """What a loop of no steps gives: what it began with, and stacks of nothing."""
    op: Any = v.op
    results: Any = v.type
    return *op.split(x)[0], *(s.expanded(s.constant(0, t.dtype), t.shape) for t in results.items[op.carries:])


def stepped(s: Scope, v: Value, *x: Node) -> tuple[Node, ...]:
    """A loop of a length: its constants are seen from inside."""
    op: Any = v.op
    carries, slices, constants = op.split(x)
    body: Graph = op.body
    inner = op.split(types(body.parameters))
    fed = slices or (s.range(op.length),)
    if op.reverse:
        fed = tuple(map(s.turned, fed))
    seen = inner.slices or (Type(int64),)

    def step(inside: Scope, given: list[Node]) -> list[Node]:
        own = given[:op.carries + len(slices)]
        return inside.run(body, [*own, *constants])

    outputs = types(body.results)
    y = s.many("Scan", *carries, *fed, dtypes=[t.dtype for t in outputs], num_scan_inputs=len(fed),
               body=s.graph((*inner.carries, *seen), outputs, step, "step"))
    return y if not op.reverse else (*y[:op.carries], *map(s.turned, y[op.carries:]))


def cond(s: Scope, v: Value, index: Node, *x: Node) -> tuple[Node, ...]:
    """One of several graphs, which see what they take outside."""
    op: Any = v.op

    def chosen(at: Scope, branches: Sequence[Graph], first: int) -> list[Node]:
        if len(branches) == 1:
            return at.run(branches[0], x)
        results = types(branches[0].results)
        here = at.here(index)
        later = here if here.dtype == bool_ else here > first
        parts = [at.graph((), results, lambda inner, _, rest=rest: chosen(inner, rest, first + 1), "branch")
                 for rest in (branches[1:], branches[:1])]
        return [*at.many("If", later, dtypes=[t.dtype for t in results], then_branch=parts[0], else_branch=parts[1])]

    return tuple(chosen(s, op.branches, 0))


def repeat(s: Scope, v: Value, *x: Node) -> tuple[Node, ...]:
    """A loop as long as a test holds."""
    op: Any = v.op
    carries, constants = op.split(x)
    own = types(op.body.results)

    def step(inner: Scope, given: list[Node]) -> list[Node]:
        new = inner.run(op.body, [*given[2:], *constants])
        return [*inner.run(op.test, [*new, *constants]), *new]

    test, = s.run(op.test, x)
    return s.many("Loop", None, test, *carries, dtypes=[t.dtype for t in own],
                  body=s.graph((Type(int64), Type(bool_), *own), (Type(bool_), *own), step, "step"))


RULES: dict[type[Op], Rule] = {Scan: scan, Cond: cond, While: repeat}
