"""Composite ops become what they mean in other ops."""
from __future__ import annotations

from collections.abc import Collection

from ..ir.graph import Graph, Op, Value
from ..ir.rewrite import Report, rewrite, rule
from ..ops import ALL
from ..ops.composite import Softmax

COMPOSITES: tuple[type[Op], ...] = tuple(op for op in ALL.values() if op.family == "composite")


@rule(lambda x: Softmax(1)(x), also=COMPOSITES, error=16)
def expand_composite(v: Value) -> Value | None:
    """a composite op = its expansion"""
    return v.op.expand(*v.args)  # type: ignore[attr-defined]


RULES = (expand_composite,)


def expand(graph: Graph, off: Collection[str] = (), report: Report | None = None) -> Graph:
    """The graph without composite ops; name rules in `off` to leave them out."""
    return rewrite(graph, RULES, off, report)
