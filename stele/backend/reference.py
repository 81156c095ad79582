"""Runs a graph op by op in NumPy: the law that every other backend is tested against."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.errors import DTypeError, GraphError, ShapeError
from stele.ir.graph import Array, Graph, Value, interpret
from stele.ir.sizes import Named, Size, at
from stele.ir.types import TupleType, Type
from stele.transform.retype import bind


def run(graph: Graph, args: Sequence[Array]) -> list[Array]:
    """The results for the given arguments, one array per parameter.

    Raises ShapeError or DTypeError where an argument is not of its parameter's type or a guard does not hold, and
    IndexOutOfRange where an index read at run time lies outside its axis.
    """
    if len(args) != len(graph.parameters):
        raise GraphError(f"this graph takes {len(graph.parameters)} arguments, got {len(args)}")
    arrays = [np.asarray(a) for a in args]
    sizes: dict[str, int] = {}
    for v, a in zip(graph.parameters, arrays):
        learn(sizes, v.type, a)
    for v, a in zip(graph.parameters, arrays):
        check(v.type, a, sizes)
    for guard in graph.guards:
        if not guard.holds(sizes):
            raise ShapeError(f"the graph was made for {guard}, but {sizes} breaks it")
    with np.errstate(all="ignore"):
        return [np.asarray(y) for y in interpret(bind(graph, sizes) if sizes else graph, arrays, apply)]


def learn(sizes: dict[str, int], type: Type, array: Array) -> None:
    """Notes the value of every dimension that is just a name."""
    for n, k in zip(type.shape, array.shape):
        if isinstance(n, Size) and len(n.terms) == 1 and n.terms[0][1] == 1:
            match n.terms[0][0]:
                case (Named(name),):
                    sizes.setdefault(name, k)
                case _:
                    pass


def check(type: Type, array: Array, sizes: dict[str, int]) -> None:
    """Raises unless the array is of the type."""
    if array.dtype != type.dtype.numpy:
        raise DTypeError(f"a parameter of type {type} got an array of {array.dtype.name}",
                         hint=f"Convert it with .astype({str(type.dtype)!r}).")
    if array.ndim != type.ndim or any(at(n, sizes) != k for n, k in zip(type.shape, array.shape)):
        raise ShapeError(f"a parameter of type {type} got an array of shape {array.shape}")


def apply(v: Value, x: list[Any]) -> Any:
    """What one op makes of its operands, held to its type."""
    y = v.op.reference(*x)
    if isinstance(v.type, TupleType):
        return y
    y = np.asarray(y)
    if y.dtype != v.dtype.numpy or y.shape != v.shape:
        raise GraphError(f"the reference of {v.op!r} gave {y.dtype.name}{list(y.shape)} where its type says {v.type}")
    return y
