"""What gradients compute again instead of keeping it."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from stele.errors import GraphError
from stele.ir.graph import Array, Graph, Item, Op, Parameter, Placed, Value, closed, kind_of, parameter, walk
from stele.ir.origin import here
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, float32
from stele.ops.control import evaluated, fits
from stele.ops.elementwise.unary import tanh


class Checkpoint(Op):
    """The results of a graph of which nothing is kept for gradients but the operands.

    The first `carries` operands go on as the first results. Once it stands written out (`transform/inline.py`), its
    first `own` operands are taken when the last `late` ones are there: a gradient waits for its cotangents.
    """

    body: Graph
    carries: int
    own: int
    late: int
    family: ClassVar[str] = "control"
    length: ClassVar[int] = 1

    def type(self, *x: Type) -> TupleType:  # type: ignore[override]
        inner = tuple(v.type for v in self.body.parameters)
        if len(x) != len(inner) or not all(map(fits, x, inner)):
            raise GraphError(f"Checkpoint: the body takes {', '.join(map(str, inner))}, got {', '.join(map(str, x))}")
        return TupleType(tuple(v.type for v in self.body.results))

    def reference(self, *x: Array) -> tuple[Array, ...]:
        return evaluated(self.body, x)

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        live = [k for k, gk in enumerate(g) if gk is not None]
        given = [parameter(f"g{k}", self.body.results[k].type) for k in live]
        wrt = [p if wanted else None for p, wanted in zip(self.body.parameters, d.wanted)]
        found = dict(zip(asked := [p for p in wrt if p is not None], d.gradients(
            [self.body.results[k] for k in live], given, asked)))
        there = [p for p in asked if found[p] is not None]
        back = closed((*self.body.parameters, *given), [found[p] for p in there])   # type: ignore[misc]
        done = Checkpoint(back, 0, self.own, len(given))(*x, *(g[k] for k in live))
        return tuple(Item(there.index(p))(done) if p in there else None for p in wrt)   # type: ignore[arg-type]

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Any:
        moving = [k for k, t in enumerate(dx) if t is not None]
        given = [parameter(f"d{k}", self.body.parameters[k].type) for k in moving]
        found = d.tangents(self.body.results, [self.body.parameters[k] for k in moving], given)
        there = [k for k, t in enumerate(found) if t is not None]
        body = closed((*self.body.parameters, *given), [found[k] for k in there])
        done = Checkpoint(body, 0, 0, 0)(*x, *(dx[k] for k in moving))
        return tuple(Item(there.index(k))(done) if k in there else None for k in range(len(found)))

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        body = d.batch(self.body, [is_placed for _, is_placed in x], n)
        done = replace(self, body=body, carries=0)(*(a for a, _ in x))
        return tuple(Item(k)(done) for k in range(len(body.results)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        x, w = (parameter(name, Type(float32, (3,))) for name in "xw")
        inner = tanh(x * w)
        body = Graph((x, w), (inner, inner * x))
        return (cls(body, 1, 1, 0), (Type(float32, (3,)), Type(float32, (3,)))),


def checkpoint(f: Callable[[tuple[Value, ...], tuple[Value, ...]], tuple[Sequence[Value], Sequence[Value]]],
               init: Sequence[Value], xs: Sequence[Value], known: Collection[Value]
               ) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """`carries, ys = f(init, xs)` as one op, whose operands are also the `known` values that f read from outside."""
    start = len(init)
    kind = kind_of((*init, *xs))
    inputs = tuple(kind(Parameter(f"x{k}", v.type), (), v.type, here()) for k, v in enumerate((*init, *xs)))
    carries, ys = f(inputs[:start], inputs[start:])
    results = (*carries, *ys)
    captured = [v for v in walk(results, known.__contains__)
                if v not in inputs and (v in known or isinstance(v.op, Parameter))]
    body = closed((*inputs, *captured), results)
    done = Checkpoint(body, start, len(inputs), 0)(*init, *xs, *captured)
    items = tuple(Item(k)(done) for k in range(len(results)))
    return items[:start], items[start:]


ALL = (Checkpoint,)
