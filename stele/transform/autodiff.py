"""Derivatives of graphs as graphs: reverse mode and forward mode, from the rules that stand beside the ops."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from stele.errors import DTypeError, GraphError
from stele.ir.graph import Graph, Item, Value, parameter, walk
from stele.ir.origin import asked_here, here, inherit
from stele.ir.record import Record
from stele.ir.types import TupleType, show
from stele.ops.elementwise.unary import StopGradient
from stele.ops.linear import transfer, zeros_like
from stele.ops.parts import conj


class Derivatives(Record):
    """What a rule may ask of the transform that calls it: which operands matter, and derivatives of inner graphs."""

    wanted:    tuple[bool, ...]
    gradients: Callable[..., list[Value | None]]
    tangents:  Callable[..., list[Value | None]]
    vjp:       Callable[[Graph], Graph]
    jvp:       Callable[[Graph], Graph]


def gradients(results: Sequence[Value], cotangents: Sequence[Value | None], wrt: Sequence[Value],
              stop: Collection[Value] = ()) -> list[Value | None]:
    """The cotangents of `wrt` given those of `results`: zeros where they depend on one by functions of no slope and
    for no elements, None where nothing depends on it.

    Rules run only on paths from `wrt` to `results`; cotangents that meet are added in walking order. Values of the
    gradient have the origins of the forward value they belong to and of the caller. Nothing behind `stop` is visited.

    The gradient of a real number L in a complex z = x + iy is dL/dx + i dL/dy, the direction of steepest ascent:
    PyTorch's convention, which is the conjugate of JAX's. Rules beside the ops are written in JAX's: the cotangent of y
    times the derivative of y in z, without conjugates anywhere, so that one rule serves real and complex numbers
    (`sum of (g * dz).real`, over all z, is the change of L). What comes in here and goes out is conjugated.

    >>> from stele.ir.types import Type, float32
    >>> x = parameter("x", Type(float32, (3,)))
    >>> y = x * x
    >>> [dx] = gradients([y], [y], [x])
    >>> str(dx.type)
    'float32[3]'
    """
    found = cotangents_of(results, [None if g is None else conj(g) for g in cotangents], wrt, stop)
    flat = sources(results, wrt) if any(g is None for g in found) else ()
    return [conj(g) if g is not None else zeros_like(v) if v in flat else None for g, v in zip(found, wrt)]


def sources(results: Sequence[Value], wrt: Collection[Value]) -> set[Value]:
    """Those of which results are differentiable functions, or which have no elements, and what lies between."""
    active = dependent(values := walk(results), wrt)
    found = active.intersection(results).union(v for v in wrt if 0 in v.shape)
    for v in reversed(values):
        found.update(active.intersection(v.args) if v in found else ())
    return found


def cotangents_of(results: Sequence[Value], cotangents: Sequence[Value | None], wrt: Sequence[Value],
                  stop: Collection[Value] = ()) -> list[Value | None]:
    """What `gradients` gives, by the convention of the rules that stand beside the ops."""
    caller = asked_here()
    values = walk(results, stop.__contains__ if stop else None)
    active = dependent(values, wrt)
    total: dict[Value, Value] = {}
    parts: dict[Value, list[Value | None]] = {}

    def add(v: Value, g: Value | None) -> None:
        if g is not None and v in active:
            check("cotangent", v, g)
            g = transfer(g, v.type.device)
            total[v] = total[v] + g if v in total else g

    for v, g in zip(results, cotangents):
        add(v, g)
    for v in reversed(values):
        wanted = tuple(a in active for a in v.args)
        if not any(wanted) or v in stop:
            continue
        with inherit(v.where | caller):
            if isinstance(v.op, Item):
                if v in total:
                    (of,) = v.args
                    found = parts.setdefault(of, [None] * len(of.type.items))  # type: ignore[attr-defined]
                    seen = found[v.op.k]        # of one part there may be several values
                    found[v.op.k] = total[v] if seen is None else seen + total[v]
            elif (g := parts.get(v) or total.get(v)) is not None:
                for a, ga in zip(v.args, v.op.vjp(derivatives(wanted), g, v, *v.args)):
                    add(a, ga)
    return [total.get(v) for v in wrt]


def tangents(results: Sequence[Value], wrt: Sequence[Value], given: Sequence[Value | None],
             stop: Collection[Value] = ()) -> list[Value | None]:
    """The tangents of `results` given those of `wrt`; None is zero. Nothing behind `stop` is visited.

    >>> from stele.ir.types import Type, float32
    >>> x, dx = parameter("x", Type(float32, (3,))), parameter("dx", Type(float32, (3,)))
    >>> [dy] = tangents([x * x], [x], [dx])
    >>> str(dy.type)
    'float32[3]'
    """
    caller = here()
    found: dict[Value, Any] = {v: t for v, t in zip(wrt, given) if t is not None}
    for v in walk(results, stop.__contains__ if stop else None):
        dx = [found.get(a) for a in v.args]
        if v in found or v in stop or all(t is None for t in dx):
            continue
        with inherit(v.where | caller):
            if isinstance(v.op, Item):
                dy = dx[0][v.op.k]  # type: ignore[index]
            else:
                dy = v.op.jvp(derivatives(tuple(t is not None for t in dx)), dx, v, *v.args)
        if dy is not None:
            found[v] = dy
    return [found.get(v) for v in results]


def derivatives(wanted: tuple[bool, ...]) -> Derivatives:
    """This module as a rule sees it."""
    return Derivatives(wanted, cotangents_of, tangents, vjp, jvp)


def dependent(values: Iterable[Value], on: Collection[Value]) -> set[Value]:
    """Those of `values` (operands first) that are differentiable functions of `on`, and `on` itself."""
    found = {v for v in on if is_differentiable(v)}
    for v in values:
        if is_differentiable(v) and any(a in found for a in v.args) and not isinstance(v.op, StopGradient):
            found.add(v)
    return found


def is_differentiable(v: Value) -> bool:
    """Whether a value has a cotangent: floats have, and tuples may."""
    return isinstance(v.type, TupleType) or v.dtype.is_float


def check(what: str, v: Value, g: Value) -> None:
    """Raises unless g, the cotangent or tangent of v, has its dtype and known dimensions."""
    if g.dtype != v.dtype:
        raise DTypeError(f"the {what} of a {v.type} must be {v.dtype}, got {g.dtype}")
    if g.ndim != v.ndim or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(g.shape, v.shape)):
        raise GraphError(f"the {what} of a {v.type} must have its shape {show(v.shape)}, got {show(g.shape)}")


def vjp(graph: Graph) -> Graph:
    """Parameters and one cotangent per float result -> one cotangent per float parameter."""
    g = [parameter(f"g{k}", y.type) for k, y in enumerate(graph.results) if y.dtype.is_float]
    wrt = [v for v in graph.parameters if v.dtype.is_float]
    found = cotangents_of([y for y in graph.results if y.dtype.is_float], g, wrt)
    return Graph((*graph.parameters, *g), filled(found, wrt), graph.guards)


def jvp(graph: Graph) -> Graph:
    """Parameters and one tangent per float parameter -> one tangent per float result."""
    wrt = [v for v in graph.parameters if v.dtype.is_float]
    dx = [parameter(f"d{k}", v.type) for k, v in enumerate(wrt)]
    results = [y for y in graph.results if y.dtype.is_float]
    return Graph((*graph.parameters, *dx), filled(tangents(results, wrt, dx), results), graph.guards)


def filled(found: Sequence[Value | None], like: Sequence[Value]) -> tuple[Value, ...]:
    """The derivatives, zeros where there are none."""
    return tuple(zeros_like(v) if g is None else g for g, v in zip(found, like))
