"""A graph of PyTorch's ops computed node by node with Stele's: on numbers, or traced into a program."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import stele as st
from stele.errors import DataError, SteleError
from stele.interop.imported import layer as named
from stele.interop.torch.program import Graph, Node, filled, graphs
from stele.interop.torch.table import RULES


def run(graph: Graph, *inputs: Any) -> Any:
    """The outputs of a graph."""
    values = dict(zip(graph.inputs, inputs))
    for node, over in zip(graph.nodes, graph.last_uses):
        values[node.name] = apply(node, filled(node.inputs, values))
        for name in over:
            del values[name]
    return filled(graph.outputs, values)


def apply(node: Node, inputs: Sequence[Any]) -> Any:
    """The result of one node, in the dtypes that PyTorch says, or a tuple of them."""
    given = [partial(run, x) if isinstance(x, Graph) else x for x in inputs]
    try:
        with named(node.layer):
            made = RULES[node.op](*given)
    except (SteleError, ValueError, TypeError, IndexError) as error:
        error.add_note(f"This was raised by node {node} of the PyTorch model.")
        raise
    if isinstance(made, tuple | list):
        return tuple(of_dtype(x, t) for x, t in zip(made, node.dtypes))
    return of_dtype(made, node.dtypes[0] if node.dtypes else None)


def of_dtype(x: Any, dtype: str | None) -> Any:
    """A result in a dtype: PyTorch and NumPy promote differently where numbers of Python and of no axes meet."""
    if dtype is None or x is None:
        return x
    return x.astype(dtype) if isinstance(x, st.Tensor) else st.tensor(x, dtype=dtype)


def checked(graph: Graph) -> Graph:
    """A graph of which every node can be computed. Raises DataError with the names of the ops that cannot."""
    lacking: dict[str, int] = {}
    count(graph, lacking)
    if lacking:
        rows = ", ".join(f"{op} ({n} times)" if n > 1 else op for op, n in sorted(lacking.items()))
        raise DataError(f"the model has {len(lacking)} ops that have no rule: {rows}")
    return graph


def count(graph: Graph, lacking: dict[str, int]) -> None:
    """Notes the ops without a rule, and how often each stands there."""
    for node in graph.nodes:
        if node.op not in RULES:
            lacking[node.op] = lacking.get(node.op, 0) + 1
        for inner in graphs(node.inputs):
            count(inner, lacking)
