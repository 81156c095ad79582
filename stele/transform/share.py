"""One of each: values of equal ops on the same operands become one, dead values go."""
from __future__ import annotations

from functools import partial
from typing import Any

from stele.ir.graph import Constant, Graph, Literal, Op, Parameter, Value
from stele.ir.origin import NOWHERE, Where
from stele.ir.report import Report
from stele.ir.rewrite import everywhere, with_origins, with_results

SMALL = 4096


def share(graph: Graph, report: Report | None = None) -> Graph:
    """The graph with one value for each op and operands, in inner graphs too; origins are united.

    Ops are pure, so values may always be shared; what no result needs is not there any more.
    """
    return everywhere(partial(shared, report=report), graph)


def shared(graph: Graph, report: Report | None = None) -> Graph:
    """One level of `share`."""
    first: dict[tuple[Any, ...], Value] = {}
    meaning: dict[Value, Value] = {p: p for p in graph.parameters}
    extra: dict[Value, Where] = {}
    for v in graph.values:
        if v in meaning:
            continue
        args = tuple(meaning[a] for a in v.args)
        one = first.setdefault((identity(v.op, v), *map(id, args)), v)
        if one is not v:
            if report and v.args:
                report.fired("share", "equal values are one", v.where | one.where)
            meaning[v], extra[one] = meaning[one], extra.get(one, NOWHERE) | v.where
        else:
            meaning[v] = v if args == v.args else Value(v.op, args, v.type, v.where)
    united = {meaning[v]: where for v, where in extra.items() if not where <= v.where}
    return with_origins(with_results(graph, tuple(meaning[v] for v in graph.results)), united)


def identity(op: Op, v: Value) -> Any:
    """What two ops must have in common to mean the same; large constants are told apart without reading them."""
    match op:
        case Parameter():
            return v
        case Literal(value, dtype):
            return Literal, repr(complex(value) if dtype.is_float else value), dtype
        case Constant(array) if array.nbytes > SMALL:
            return Constant, id(array)
        case _:
            return op
