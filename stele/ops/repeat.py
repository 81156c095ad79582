"""Loops inside the graph that go on as long as a test holds."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, TypeVar

from stele.errors import DTypeError, GraphError, ShapeError
from stele.ir.graph import (
    Array,
    Graph,
    Item,
    Op,
    Placed,
    Value,
    closed,
    parameter,
    substitute,
    walk,
)
from stele.ir.origin import lines
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, bool_, float32, int32
from stele.ops import reduction
from stele.ops.control import Traced, enclosed, evaluated, fits
from stele.ops.elementwise.arithmetic import Select
from stele.ops.linear import Sum, along, broadcast, reshape, zeros_like

T = TypeVar("T")


class While(Op):
    """A loop that carries values on as long as a test of them holds: its results are the first for which it does not.

    Operands (*initial carries, *constants), results (*final carries). Both graphs take (*carries, *constants); `test`
    gives one bool, `body` the new carries.
    """

    test: Graph
    body: Graph
    carries: int
    family: ClassVar[str] = "control"

    def split(self, x: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...]]:
        """Carries and constants, of operands or parameters."""
        return tuple(x[:self.carries]), tuple(x[self.carries:])

    def type(self, *x: Type) -> TupleType:  # type: ignore[override]
        for graph in self.graphs:
            inner = tuple(v.type for v in graph.parameters)
            if len(x) != len(inner) or not all(map(fits, x, inner)):
                raise ShapeError(f"While: a graph takes {', '.join(map(str, inner))}; got {', '.join(map(str, x))}")
        tested = tuple(v.type for v in self.test.results)
        if tested != (Type(bool_),):
            raise DTypeError(f"While: the test gives one bool, got {', '.join(map(str, tested))}")
        results = tuple(v.type for v in self.body.results)
        if len(results) != self.carries:
            raise GraphError(f"While: {self.carries} carries go in, {len(results)} come out")
        for k, (new, old) in enumerate(zip(results, x)):
            if not fits(new, old):
                raise ShapeError(f"While: carry {k} goes in as {old} and comes out as {new}",
                                 hint="A carry keeps its type: give the initial value that dtype and shape.")
        return TupleType(tuple(x[:self.carries]))

    def reference(self, *x: Array) -> tuple[Array, ...]:
        carries, constants = self.split(x)
        while evaluated(self.test, (*carries, *constants))[0]:
            carries = evaluated(self.body, (*carries, *constants))
        return carries

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        raise GraphError("a while_loop has no gradient in reverse mode: its number of steps is known once it has run",
                         where=", ".join(lines(y.where)),
                         hint="Use st.scan or st.fori_loop for a known number of steps, or forward mode: st.jvp.")

    def jvp(self, d: Any, dx: Sequence[Any], y: Value, *x: Value) -> Any:
        body, n = self.body, self.carries
        moving = [k for k, t in enumerate(dx) if t is not None]
        while True:
            given = {k: parameter(f"d{k}", body.parameters[k].type) for k in moving}
            found = d.tangents(body.results, [body.parameters[k] for k in moving], list(given.values()))
            grown = sorted({*moving, *(k for k in range(n) if found[k] is not None)})
            if grown == moving:
                break
            moving = grown
        carries = [k for k in moving if k < n]
        tangents = [zeros_like(given[k]) if found[k] is None else found[k] for k in carries]

        def further(graph: Graph, results: Sequence[Value]) -> Graph:
            p = graph.parameters
            own = given if graph is body else {k: parameter(f"d{k}", p[k].type) for k in moving}
            return closed((*p[:n], *(own[k] for k in carries), *p[n:], *(own[k] for k in moving if k >= n)), results)

        loop = While(further(self.test, self.test.results), further(body, (*body.results, *tangents)), n + len(carries))
        given_now = [zeros_like(x[k]) if dx[k] is None else dx[k] for k in moving]
        done = loop(*x[:n], *given_now[:len(carries)], *x[n:], *given_now[len(carries):])
        return tuple(Item(n + carries.index(k))(done) if k in carries else None for k in range(n))

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """A loop that goes on as long as the test holds at some place; where it does not, what is carried stays."""
        flags = [is_placed for _, is_placed in x]
        while True:
            reached = depending(self.body, flags)
            is_chosen = depending(self.test, flags)[0]
            grown = [flag or (k < self.carries and (is_chosen or reached[k])) for k, flag in enumerate(flags)]
            if grown == flags:
                break
            flags = grown
        placed = [k for k in range(self.carries) if flags[k]]
        made = d.batch(Graph(self.body.parameters, tuple(self.body.results[k] for k in placed)), flags, n)
        new = dict(zip(placed, made.results))
        results = [new.get(k, v) for k, v in enumerate(self.body.results)]
        test = d.batch(Graph(self.test.parameters, self.test.results if is_chosen else ()), flags, n)
        if is_chosen:
            (goes,) = substitute(test, made.parameters)
            results = [chosen(goes, v, p) for v, p in zip(results, made.parameters)]
        ends = reduction.Any((0,))(test.results[0]) if is_chosen else self.test.results[0]
        test = Graph(test.parameters, (ends,))
        loop = While(test, closed(made.parameters, results), self.carries)
        done = loop(*(along(a, n) if flags[k] else a[0] for k, a in enumerate(x)))
        return tuple(along((Item(k)(done), flags[k]), n) for k in range(self.carries))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        def made() -> tuple[Value, ...]:
            return parameter("i", Type(int32)), parameter("x", Type(float32, (3,))), parameter("w", Type(float32, (3,)))

        (i, x, w), (j, z, u) = made(), made()
        loop = cls(Graph((i, x, w), (i < 3,)), Graph((j, z, u), (j + 1, z * u * 0.5 + u)), 2)
        total = cls(Graph((i, x, w), (Sum((0,))(x) < 9.0,)), Graph((j, z, u), (j, z + u * u + 0.5)), 2)
        operands = Type(int32), Type(float32, (3,)), Type(float32, (3,))
        return (loop, operands), (total, operands)


def chosen(goes: Value, new: Value, old: Value) -> Value:
    """What is new at the places where a loop goes on."""
    return Select()(broadcast(reshape(goes, (*goes.shape, *([1] * (new.ndim - 1)))), new.shape), new, old)


def depending(graph: Graph, flags: Sequence[bool]) -> list[bool]:
    """For each result whether it needs one of the parameters that have the flag."""
    found = {p for p, flag in zip(graph.parameters, flags) if flag}
    for v in walk(graph.results):
        if any(a in found for a in v.args):
            found.add(v)
    return [v in found for v in graph.results]


def repeat(test: Traced, body: Traced, init: Sequence[Value], known: Collection[Value]) -> tuple[Value, ...]:
    """The first carries for which the test does not hold; both functions read the `known` values beside them."""
    (goes, step), captured = enclosed([test, body], known, "a loop")
    done = While(goes, step, len(init))(*init, *captured)
    return tuple(Item(k)(done) for k in range(len(init)))


ALL = (While,)
