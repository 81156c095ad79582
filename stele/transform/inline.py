"""What ops hold takes their place: of checkpoints once no pass is left that would find it computed already."""
from __future__ import annotations

from functools import partial

from stele.ir.graph import Graph, Item, Op, Value, rebuild, substitute
from stele.ir.origin import inherit
from stele.ir.report import Report
from stele.ir.rewrite import everywhere, with_results
from stele.ops.checkpoint import Checkpoint
from stele.ops.derived import Derived
from stele.ops.fixed import FixedPoint
from stele.transform.recompute import after


def inline(graph: Graph, report: Report | None = None) -> Graph:
    """The graph without checkpoints, in inner graphs too."""
    return everywhere(partial(inlined, report=report), graph)


def written_out(graph: Graph) -> Graph:
    """The graph without ops that are there for derivatives of their own, once these have been taken."""
    return everywhere(partial(inlined, kinds=(Derived, FixedPoint)), graph)


def inlined(graph: Graph, report: Report | None = None, kinds: tuple[type[Op], ...] = (Checkpoint,)) -> Graph:
    """One level of either."""
    values = graph.values
    if not any(isinstance(v.op, kinds) for v in values):
        return graph
    meaning: dict[Value, Value] = {}
    parts: dict[Value, list[Value]] = {}
    for v in values:
        x = [meaning[a] for a in v.args if a not in parts]
        match v.op:
            case Derived() | FixedPoint() as said if isinstance(said, kinds):
                parts[v] = [*said.expand(*x)]
            case Checkpoint() as held if isinstance(held, kinds):
                parts[v] = substitute(held.body, waiting(held, x))
                if report and held.late:
                    report.fired("inline", "what gradients compute again waits for what they start from", v.where)
            case Item(k) if v.args[0] in parts:
                meaning[v] = parts[v.args[0]][k]
                continue
            case _:
                pass
        meaning[v] = v if v in parts else rebuild(v, x)
    return with_results(graph, tuple(meaning[v] for v in graph.results))


def waiting(held: Checkpoint, x: list[Value]) -> list[Value]:
    """The operands of what a checkpoint holds: the first are there when the last are."""
    then = next((a for a in x[len(x) - held.late:] if 0 not in a.shape), None)
    if then is None:
        return x
    with inherit(then.where):
        return [after(a, then) if k < held.own and a.dtype.is_float and a.shape else a for k, a in enumerate(x)]
