"""Functions with derivatives that their authors say."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from stele.errors import GraphError
from stele.ir.graph import Array, Graph, Item, Op, Placed, Value, closed, interpret, parameter, substitute
from stele.ir.record import Aside, Record
from stele.ir.rewrite import with_ops, within
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, float32
from stele.ops.control import fits
from stele.ops.elementwise.unary import square
from stele.ops.linear import Sum, along, zeros_like

Batch = Callable[[Graph, Sequence[bool], Dim], Graph]
DEEPEST = 4     # rules within each other in a file: Bessel functions have derivatives of ever further ones


class Rule(Protocol):
    """The derivative of a function, linear in its last operands: a graph of (*operands, *cotangents of the results) ->
    cotangents of the operands, or, where it is `forward`, (*operands, *tangents of the operands) -> tangents of the
    results, of floats each. It is made when it is asked for: what it holds may be of the same function."""

    forward: bool

    def graph(self, x: Sequence[Type], y: Sequence[Type]) -> Graph:
        """The derivative at operands and results of these types."""
        ...


class Derived(Op):
    """The results of a graph whose derivatives by its first `own` operands are those of a rule; by others it has none.

    What a rule says of one mode serves the other one too: as it is linear, its transpose is a derivative of it. In a
    file the rule is the graph that it gives, which is of tangents where it is `forward`; in there, k stands for the
    graph of the k-th rule around it.
    """

    body: Graph
    rule: Any       # a Rule, or a graph
    own: int
    forward: bool = False
    family: ClassVar[str] = "control"

    @property
    def said(self) -> Any:
        """The rule. Raises GraphError where it is not known."""
        if isinstance(self.rule, Graph):
            return Drawn(self.rule, self.forward)
        if not isinstance(self.rule, Aside):
            raise GraphError("the file of this program holds no derivative of it, or of a function in it",
                             hint="What was called under st.no_grad alone is saved without: call it with gradients "
                                  "and save it again. Of functions that are each other's derivatives it holds those of "
                                  f"{DEEPEST}.")
        return self.rule

    def type(self, *x: Type) -> TupleType:  # type: ignore[override]
        inner = tuple(v.type for v in self.body.parameters)
        if len(x) != len(inner) or not all(map(fits, x, inner)):
            raise GraphError(f"Derived: the body takes {', '.join(map(str, inner))}, got {', '.join(map(str, x))}")
        made = tuple(v.type for v in self.body.results)
        if isinstance(self.rule, Graph):
            moving, fixed = (sum(t.dtype.is_float for t in ts) for ts in (
                (inner[:self.own], made) if self.forward else (made, inner[:self.own])))
            if (len(self.rule.parameters), len(self.rule.results)) != (len(inner) + moving, fixed):
                raise GraphError(f"Derived: the rule maps {moving} derivatives to {fixed}, got {self.rule}")
        return TupleType(made)

    def reference(self, *x: Array) -> tuple[Array, ...]:
        return tuple(interpret(self.body, x, lambda v, x: v.op.reference(*x)))

    def expand(self, *x: Value) -> Sequence[Value]:
        """The results, once derivatives have been taken."""
        return substitute(self.body, x)

    def derivative(self, y: Value, x: Sequence[Value], along: Sequence[Value]) -> list[Value]:
        """What the rule says of cotangents or tangents."""
        types: TupleType = y.type  # type: ignore[assignment]
        return substitute(self.said.graph([a.type for a in x], types.items), (*x, *along))

    def floats(self, y: Value, x: Sequence[Value]) -> tuple[list[int], list[int]]:
        """Which operands and which results have derivatives."""
        types: TupleType = y.type  # type: ignore[assignment]
        return [k for k, a in enumerate(x[:self.own]) if a.dtype.is_float], \
               [k for k, t in enumerate(types.items) if t.dtype.is_float]

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        wrt, out = self.floats(y, x)
        gs = [zeros_like(Item(k)(y)) if g[k] is None else g[k] for k in out]
        if self.said.forward:
            still = [zeros_like(x[k]) for k in wrt]
            found = d.gradients(self.derivative(y, x, still), gs, still)
        else:
            found = self.derivative(y, x, gs)
        return tuple(found[wrt.index(k)] if k in wrt else None for k in range(len(x)))

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Any:
        wrt, out = self.floats(y, x)
        given = [zeros_like(x[k]) if (t := dx[k]) is None else t for k in wrt]
        if self.said.forward:
            found = self.derivative(y, x, given)
        else:
            still = [zeros_like(Item(k)(y)) for k in out]
            found = d.gradients(self.derivative(y, x, still), given, still)
        return tuple(found[out.index(k)] if k in out else None for k in range(len(self.body.results)))

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        flags = tuple(is_placed for _, is_placed in x)
        body = d.batch(self.body, flags, n)
        rule = None if self.rule is None else Spread(self.said, flags, n, self.own, d.batch)
        done = Derived(body, rule, self.own)(*(a for a, _ in x))
        return tuple(Item(k)(done) for k in range(len(body.results)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        x, w = (parameter(name, Type(float32, (3,))) for name in "xw")
        body = Graph((x, w), (square(x) * w, x))
        return (cls(body, Written(), 2), (Type(float32, (3,)), Type(float32, (3,)))),


class Spread(Aside):
    """A rule at n places at once, of operands that have an axis of them where a flag says so."""

    def __init__(self, rule: Rule, flags: tuple[bool, ...], n: Dim, own: int, batch: Batch) -> None:
        self.key = rule, flags, n, own
        self.batch, self.forward = batch, rule.forward

    def graph(self, x: Sequence[Type], y: Sequence[Type]) -> Graph:
        rule, flags, n, own = self.key
        one = [t.with_shape(t.shape[1:]) if flag else t for t, flag in zip(x, flags)]
        graph = rule.graph(one, [t.with_shape(t.shape[1:]) for t in y])
        wrt = [flag for flag, t in zip(flags[:own], x) if t.dtype.is_float]
        if not self.forward:
            many = self.batch(graph, (*flags, *(True for t in y if t.dtype.is_float)), n)
            found = (v if flag else Sum((0,))(v) for v, flag in zip(many.results, wrt, strict=True))
            return Graph(many.parameters, tuple(found))
        return self.batch(graph, (*flags, *wrt), n)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spread) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Drawn(Record):
    """A rule whose graph is there."""

    drawn: Graph
    forward: bool

    def graph(self, x: Sequence[Type], y: Sequence[Type]) -> Graph:
        """The graph of any types: what holds it is at these."""
        return tied(self.drawn, 0, self)


def tied(graph: Graph, depth: int, rule: Drawn) -> Graph:
    """The graph with a rule where it stands for itself: where so many rules are between."""
    def tie(v: Value) -> Op:
        if not isinstance(v.op, Derived):
            return within(v.op, lambda g: tied(g, depth, rule))
        op = replace(v.op, body=tied(v.op.body, depth, rule))
        if isinstance(op.rule, Graph):
            return replace(op, rule=tied(op.rule, depth + 1, rule))
        return replace(op, rule=rule.drawn, forward=rule.forward) if op.rule == depth else op

    return with_ops(graph, tie)


def drawn(graph: Graph, around: tuple[Any, ...] = ()) -> Graph:
    """The graph with what its rules give in their place, as files have it, within these rules at these types."""
    def draw(v: Value) -> Op:
        if not isinstance(v.op, Derived):
            return within(v.op, lambda g: drawn(g, around))
        op = replace(v.op, body=drawn(v.op.body, around))
        if type(op) is not Derived or op.rule is None or isinstance(op.rule, Graph):
            return op
        types: TupleType = v.type  # type: ignore[assignment]
        at = op.rule, [a.type for a in v.args], types.items
        if at in around:
            return replace(op, rule=len(around) - 1 - around.index(at))
        if len(around) == DEEPEST:
            return replace(op, rule=None)
        return replace(op, rule=drawn(op.said.graph(*at[1:]), (*around, at)), forward=op.said.forward)

    return with_ops(graph, draw)


class Written(Aside):
    """The derivative of (x * x * w, x), said by hand."""

    forward = False

    def graph(self, x: Sequence[Type], y: Sequence[Type]) -> Graph:
        a, w, g, h = (parameter(name, t) for name, t in zip("awgh", (*x, *y)))
        return closed((a, w, g, h), (g * a * w * 2 + h, g * square(a)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Written)

    def __hash__(self) -> int:
        return hash(Written)


class Watched(Derived):
    """Its operands as they are; their cotangents are what the rule makes of those of its results."""

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        if self.rule is None:
            raise GraphError("this program was saved with a hook that sees gradients, which no file holds",
                             hint="Save it without, or say the derivative with @st.custom_gradient.")
        return tuple(self.rule.seen([zeros_like(a) if gk is None else gk for a, gk in zip(x, g)], x))

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Any:
        return tuple(dx)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        places = [along(a, n) for a in x]
        inner = tuple(parameter(f"x{k}", a.type) for k, a in enumerate(places))
        done = Watched(Graph(inner, inner), self.rule, self.own)(*places)
        return tuple(Item(k)(done) for k in range(len(inner)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        inner = tuple(parameter(name, Type(float32, (3,))) for name in "xy")
        return (cls(Graph(inner, inner), Unmoved(), 2), (Type(float32, (3,)), Type(float32, (3,)))),


class Unmoved(Aside):
    """What leaves cotangents as they are."""

    def seen(self, g: Sequence[Value], x: Sequence[Value]) -> Sequence[Value]:
        """The cotangents."""
        return g


ALL = (Derived, Watched)
