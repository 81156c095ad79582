"""Fixed points inside the graph, and derivatives of them that do not look at the way there."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from stele.errors import DTypeError, GraphError, ShapeError
from stele.ir.graph import Array, Graph, Item, Op, Placed, Value, closed, interpret, literal, parameter, substitute
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, float32, int64, is_zero
from stele.ops.control import Traced, enclosed, fits
from stele.ops.elementwise.arithmetic import Greater, Maximum, Select
from stele.ops.elementwise.unary import IsFinite, absolute, tanh
from stele.ops.linear import along, zeros_like
from stele.ops.reduction import Max
from stele.ops.repeat import looped


class FixedPoint(Op):
    """Arrays that a step maps to themselves, by steps from a first guess: until the largest change of a number is at
    most `tol` times the largest of them, or times `least`, or `limit` steps are done. What is not finite is left out.

    Operands (*guess, *constants); the step maps (*arrays, *constants) to new arrays. It has the derivatives of the
    equation x = step(x, c), which are fixed points themselves: of dx = step'(x, c) (dx, dc), and its transpose.
    """

    step: Graph
    tol: float
    least: float
    limit: int
    family: ClassVar[str] = "control"

    @property
    def count(self) -> int:
        """How many arrays there are."""
        return len(self.step.results)

    def type(self, *x: Type) -> TupleType:  # type: ignore[override]
        inner = tuple(v.type for v in self.step.parameters)
        if len(x) != len(inner) or not all(map(fits, x, inner)):
            raise GraphError(f"FixedPoint: the step takes {', '.join(map(str, inner))}, got {', '.join(map(str, x))}")
        for v, t in zip(self.step.results, x):
            if not t.dtype.is_float or t.dtype.is_complex:
                raise DTypeError(f"FixedPoint: what is looked for is of real floats, got {t}")
            if not fits(v.type, t):
                raise ShapeError(f"FixedPoint: the step takes {t} and gives {v.type}")
        return TupleType(tuple(x[:self.count]))

    def reference(self, *x: Array) -> tuple[Array, ...]:
        now, constants = x[:self.count], x[self.count:]
        for _ in range(self.limit):
            new = tuple(interpret(self.step, (*now, *constants), lambda v, x: v.op.reference(*x)))
            change, size = (max((float(np.max(abs(v), initial=0, where=np.isfinite(v))) for v in values), default=0.0)
                            for values in ([a - b for a, b in zip(new, now)], new))
            now = new
            if not change > self.tol * max(size, self.least):
                break
        return now

    def expand(self, *x: Value) -> tuple[Value, ...]:
        """The loop that finds them."""
        n = self.count

        def step(state: Sequence[Value]) -> Sequence[Value]:
            k, _, *now = state
            new = substitute(self.step, (*now, *x[n:]))
            change = largest([a - b for a, b in zip(new, now)])
            return k + 1, Greater()(change, Maximum()(largest(new), self.least) * self.tol), *new

        return looped(lambda s: s[1] & (s[0] < self.limit), step, (literal(0, int64), literal(True), *x[:n]))[2:]

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        n, p, live = self.count, self.step.parameters, [k for k, gk in enumerate(g) if gk is not None]
        ws = [parameter(f"w{k}", v.type) for k, v in enumerate(self.step.results)]
        gs = [parameter(f"g{k}", self.step.results[k].type) for k in live]
        pulled = d.gradients(self.step.results, ws, p)
        first = dict(zip(live, gs))
        step = [total(first.get(k), pulled[k], w) for k, w in enumerate(ws)]
        solved, starts = [Item(k)(y) for k in range(n)], [zeros_like(v) if gk is None else gk for v, gk in zip(x, g)]
        found = replace(self, step=closed((*ws, *p, *gs), step), least=0.0)(
            *starts, *solved, *x[n:], *(g[k] for k in live))
        wanted = [k for k in range(n, len(x)) if pulled[k] is not None and d.wanted[k]]
        at = substitute(Graph((*p, *ws), tuple(pulled[k] for k in wanted)),
                        (*solved, *x[n:], *(Item(k)(found) for k in range(n))))
        return tuple(at[wanted.index(k)] if k in wanted else None for k in range(len(x)))

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Any:
        n, p = self.count, self.step.parameters
        moving = [k for k in range(n, len(x)) if dx[k] is not None]
        if not moving:
            return tuple(None for _ in range(n))
        ts = [parameter(f"d{k}", p[k].type) for k in (*range(n), *moving)]
        pushed = d.tangents(self.step.results, [p[k] for k in (*range(n), *moving)], ts)
        step = [zeros_like(t) if f is None else f for f, t in zip(pushed, ts)]
        solved = [Item(k)(y) for k in range(n)]
        found = replace(self, step=closed((*ts[:n], *p, *ts[n:]), step), least=0.0)(
            *map(zeros_like, solved), *solved, *x[n:], *(dx[k] for k in moving))
        return tuple(Item(k)(found) for k in range(n))

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """Until the last of all places is found."""
        flags = [k < self.count or is_placed for k, (_, is_placed) in enumerate(x)]
        found = replace(self, step=d.batch(self.step, flags, n))(
            *(along(a, n) if k < self.count else a[0] for k, a in enumerate(x)))
        return tuple(Item(k)(found) for k in range(self.count))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        x, c, w = (parameter(name, Type(float32, (3,))) for name in "xcw")
        step = Graph((x, c, w), (tanh(x * w) * 0.2 + c,))
        return (cls(step, 1e-13, 1.0, 100), (Type(float32, (3,)),) * 3),


def total(a: Value | None, b: Value | None, like: Value) -> Value:
    """A sum of which parts may be missing."""
    return zeros_like(like) if a is None and b is None else b if a is None else a if b is None else a + b  # type: ignore[return-value]


def largest(x: Sequence[Value]) -> Value:
    """The largest absolute value of several arrays, of what is finite, in the widest of their dtypes; 0 of nothing."""
    sizes = [Max(tuple(range(v.ndim)))(Select()(IsFinite()(v), absolute(v), 0)) for v in x
             if not any(map(is_zero, v.shape))]
    return reduce(lambda a, b: Maximum()(a, b), sizes) if sizes else literal(0.0)


def fixed_point(step: Traced, init: Sequence[Value], constants: Sequence[Value], known: Collection[Value], tol: float,
                limit: int) -> tuple[Value, ...]:
    """The fixed points of a step of (*arrays, *constants), which reads the `known` values beside them."""
    (graph,), captured = enclosed([step], known, "the step of fixed_point")
    found = FixedPoint(graph, tol, 1.0, limit)(*init, *constants, *captured)
    return tuple(Item(k)(found) for k in range(len(init)))


ALL = (FixedPoint,)
