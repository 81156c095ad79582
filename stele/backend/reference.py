"""Runs a graph op by op in NumPy: the law that every other backend is tested against."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stele.errors import DTypeError, GraphError, ShapeError
from stele.ir.door import located
from stele.ir.graph import Array, Graph, Op, Value, interpret
from stele.ir.origin import Where
from stele.ir.sizes import Named, Size, at
from stele.ir.types import TupleType, Type
from stele.transform.retype import bind


def run(graph: Graph, args: Sequence[Array], known: Mapping[str, int] = {}) -> list[Array]:
    """The results for the given arguments, one array per parameter; `known`: named sizes, also those of no parameter.

    Raises ShapeError or DTypeError where an argument is not of its parameter's type or a guard does not hold, and
    IndexOutOfRange where an index read at run time lies outside its axis.
    """
    if len(args) != len(graph.parameters):
        raise GraphError(f"this graph takes {len(graph.parameters)} arguments, got {len(args)}")
    arrays = [np.asarray(a) for a in args]
    sizes = dict(known)
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
    return computed(v.op, v.type, x, v.where)


def computed(op: Op, type: Type | TupleType, x: Sequence[Array], where: Where) -> Any:
    """What an op makes of arrays, held to its type. What its reference raises learns `where` that was."""
    try:
        y = op.reference(*x)
    except Exception as error:
        located(error, op.name, where)
        raise
    if not isinstance(type, TupleType):
        return held(op, y, type)
    if len(y) != len(type.items):
        raise GraphError(f"the reference of {op!r} gave {len(y)} arrays where its type says {type}")
    return tuple(held(op, part, t) for part, t in zip(y, type.items))


def held(op: Op, y: Any, type: Type) -> Array:
    """An array that is of the type; raises GraphError where the op's reference gave another one."""
    y = np.asarray(y)
    if y.dtype != type.dtype.numpy or y.shape != type.shape:
        raise GraphError(f"the reference of {op!r} gave {y.dtype.name}{list(y.shape)} where its type says {type}")
    return y
