"""Changes the attributes of all ops of a graph at once: float32 to float64, or named sizes to numbers."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from stele.ir.graph import Array, Graph, Op, Value, interpret
from stele.ir.sizes import Size, at
from stele.ir.types import DType, Type, float32

Change = Callable[[Any], Any]


def retype(graph: Graph, change: Change) -> Graph:
    """The graph with `change` applied to every dtype, size and array among its ops' attributes; bodies too."""
    parameters = tuple(rewritten(v, [], change) for v in graph.parameters)
    results = interpret(graph, parameters, lambda v, x: rewritten(v, x, change))
    return Graph(parameters, tuple(results))


def rewritten(v: Value, args: list[Value], change: Change) -> Value:
    """The value under a changed op."""
    op = changed(v.op, change)
    return Value(op, tuple(args), op.type(*(a.type for a in args)), v.where)


def changed(attribute: Any, change: Change) -> Any:
    """One attribute, changed wherever a dtype, a size or an array stands in it."""
    match attribute:
        case Op():
            new = {f.name: changed(getattr(attribute, f.name), change) for f in fields(attribute)}
            return replace(attribute, **new)
        case Type():
            return Type(change(attribute.dtype), tuple(change(n) for n in attribute.shape), attribute.device)
        case Graph():
            return retype(attribute, change)
        case tuple():
            return tuple(changed(a, change) for a in tuple[Any, ...](attribute))  # type: ignore[reportUnknownArgumentType]
        case _:
            return change(attribute)


def widen(graph: Graph, dtype: DType) -> Graph:
    """The same graph computing in `dtype` wherever it says float32.

    >>> from stele.ir.graph import parameter
    >>> x = parameter("x", Type(float32, (2,)))
    >>> from stele.ir.types import float64
    >>> str(widen(Graph((x,), (x,)), float64).results[0].type)
    'float64[2]'
    """
    def change(a: Any) -> Any:
        if isinstance(a, np.ndarray):
            array: Array = np.asarray(a)  # type: ignore[reportUnknownArgumentType]
            return array.astype(dtype.numpy) if array.dtype == np.dtype("float32") else array
        return dtype if a == float32 else a

    return retype(graph, change)


def bind(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The same graph with numbers for its named sizes."""
    return retype(graph, lambda a: at(a, sizes) if isinstance(a, Size) else a)
