"""Values of a graph as nodes: each by the rule for its op, or by what it means in other ops."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from stele.interop.onnx.out.nodes import Node, number_of, tensor
from stele.interop.onnx.out.words import Words
from stele.ir.graph import Array, Constant, Graph, Item, Literal, Op, Value, walk
from stele.ir.origin import inherit, lines
from stele.ir.sizes import Dim, Named, Quotient, of
from stele.ir.types import TupleType, Type, int64
from stele.kernel.vocabulary import Element
from stele.ops.linear import Broadcast
from stele.transform.pairs import Paired

Rule = Callable[..., Any]


class Model:
    """What all graphs of a model share: names, numbers, sizes, and which ops have no form; `head` comes first.

    A named size is `told` by the axis of an input.
    """

    def __init__(self, nodes: Mapping[type[Op], Rule], meanings: Mapping[type[Op], Rule]) -> None:
        self.rules, self.meanings = nodes, meanings
        self.names: Counter[str] = Counter()
        self.numbers: dict[Any, str] = {}
        self.sizes: dict[str, Node] = {}
        self.told: dict[str, tuple[str, int]] = {}
        self.lacking: dict[str, None] = {}
        self.head = Scope(self)

    def fresh(self, name: str) -> str:
        """A name that nothing else has."""
        self.names[name] += 1
        return name if self.names[name] == 1 else self.fresh(f"{name}_{self.names[name] - 1}")

    def number(self, x: Array) -> str:
        """An array that every graph can see."""
        key = (x.dtype.name, x.shape, x.tobytes())
        if key not in self.numbers:
            name = self.numbers[key] = self.fresh("number")
            self.head.nodes.append(helper.make_node("Constant", [], [name], value=tensor(x)))
        return self.numbers[key]

    def named(self, name: str) -> Node:
        """A named size as a vector of one number, looked at once."""
        if name not in self.sizes:
            given, axis = self.told[name]
            self.sizes[name] = self.head.node("Shape", self.head.element(given, int64), start=axis, end=axis + 1)
        return self.sizes[name]

    def size(self, n: Dim) -> Node:
        """A size as a vector of one number, computed once."""
        if str(n) not in self.sizes:
            self.sizes[str(n)] = self.head.computed(n)
        return self.sizes[str(n)]


class Scope(Words):
    """One graph: the nodes of values that were `made`."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.fresh, model.number)
        self.model = model
        self.made: dict[Value, Any] = {}

    def value(self, v: Value) -> Node:
        """A value in full: what only repeats another one is written where it is needed so."""
        if v not in self.made:
            assert isinstance(v.op, Broadcast)
            self.made[v] = self.expanded(self.value(v.args[0]), v.shape)
        return self.made[v]

    def loose(self, v: Value) -> Node:
        """A value, or what it repeats, for ops whose operands broadcast."""
        return self.loose(v.args[0]) if isinstance(v.op, Broadcast) and v not in self.made else self.value(v)

    def define(self, values: Iterable[Value]) -> None:
        """Values in order."""
        for v in values:
            if v not in self.made and not isinstance(v.op, Broadcast):
                self.made[v] = self.apply(v)

    def apply(self, v: Value) -> Any:
        """What stands for a value whose operands are there: a node, or one for each part of a tuple."""
        op = v.op
        match op:
            case Literal(value, dtype): return self.array(dtype.array(value))
            case Constant(array): return self.array(array)
            case Item(k): return self.made[v.args[0]][k]
            case _: pass
        kind = type(op.op if isinstance(op, Paired) else op)
        if (rule := self.model.rules.get(kind)) is not None and (y := self.ruled(rule, v)) is not None:
            return y
        expand = self.model.meanings.get(type(op), None if op.family == "host" else getattr(op, "expand", None))
        if expand is None:
            self.model.lacking.setdefault(f"{op.name} at {', '.join(lines(v.where)) or 'an unknown line'}")
            return self.nothing(v)
        with inherit(v.where):
            y = expand(*v.args) if expand == getattr(op, "expand", None) else expand(v)
        results = [*y] if isinstance(y, tuple | list) else [y]
        self.define(walk(results, self.made.__contains__))
        parts = tuple(map(self.value, results))
        return parts if isinstance(v.type, TupleType) else parts[0]

    def ruled(self, rule: Rule, v: Value) -> Any:
        """What a rule makes of a value: None where it is not one that the rule knows."""
        before, self.said = self.said, described(v)
        try:
            if v.op.family != "elementwise":
                return rule(self, v, *map(self.value, v.args)) if all(
                    not isinstance(a.type, TupleType) for a in v.args) else None
            y = self.converted(rule(self, v, *map(self.loose, v.args)), v.dtype)
            return y if is_full(v) else self.expanded(y, v.shape)
        finally:
            self.said = before

    def nothing(self, v: Value) -> Any:
        """Stands for a value that has no form, so that the others are looked at too."""
        types = v.type.items if isinstance(v.type, TupleType) else (v.type,)
        made = tuple(Element(self, "", t.dtype) for t in types)
        return made if isinstance(v.type, TupleType) else made[0]

    # shapes

    def computed(self, n: Dim) -> Node:
        """A size made of those it is an expression of."""
        total: Node | None = None
        for monomial, k in of(n).terms:
            part = self.ints(k) if k != 1 or not monomial else None
            for atom in monomial:
                own = self.model.named(atom.name) if isinstance(atom, Named) else self.divided(atom)
                part = own if part is None else part * own
            total = part if total is None else total + part     # type: ignore[operator]
        return self.ints(0) if total is None else total

    def divided(self, atom: Quotient) -> Node:
        """A quotient of sizes, rounded down."""
        x, by = self.model.size(atom.x), self.ints(atom.by)
        return self.node("Div", x - self.node("Mod", x, by), by)

    def shape(self, shape: Sequence[Dim]) -> Node:
        """A shape as a vector."""
        if all(isinstance(n, int) for n in shape):
            return self.array(np.array(shape, np.int64))
        return self.node("Concat", *(self.size(n) for n in shape), axis=0)

    def size(self, n: Dim) -> Node:
        """A size as a vector of one number."""
        return self.ints(n) if isinstance(n, int) else self.here(self.model.size(n))

    def scalar(self, n: Dim) -> Node:
        """A size as a number."""
        return self.array(np.int64(n)) if isinstance(n, int) else self.node("Squeeze", self.size(n))

    def expanded(self, x: Node, shape: Sequence[Dim]) -> Node:
        """x repeated to a shape."""
        return self.node("Expand", x, self.shape(shape), dtype=x.dtype)

    def reshaped(self, x: Node, shape: Sequence[Dim]) -> Node:
        """x under another shape."""
        return self.node("Reshape", x, self.shape(shape), dtype=x.dtype, allowzero=int(0 in shape))

    def transposed(self, x: Node, axes: Sequence[int]) -> Node:
        """x with its axes in another order."""
        return x if [*axes] == sorted(axes) else self.node("Transpose", x, perm=[*axes])

    def turned(self, x: Node) -> Node:
        """The rows of x from the last one on."""
        return self.node("Slice", x, self.ints(-1), self.ints(-1 << 63), self.ints(0), self.ints(-1), dtype=x.dtype)

    def range(self, n: Dim) -> Node:
        """0, 1, ... n - 1."""
        if isinstance(n, int) and n <= 1 << 12:
            return self.array(np.arange(n))
        return self.node("Range", self.array(np.int64(0)), self.scalar(n), self.array(np.int64(1)))

    # graphs within

    def copied(self, x: Node, name: str) -> Node:
        """A value under a name of its own: a result of the graph."""
        self.nodes.append(helper.make_node("Identity", [x.value], [name]))
        return Element(self, name, x.dtype)

    def run(self, graph: Graph, given: Sequence[Node]) -> list[Node]:
        """The results of a graph whose parameters are these nodes."""
        before, self.made = self.made, {p: self.here(x) for p, x in zip(graph.parameters, given)}
        try:
            self.define(walk(graph.results, self.made.__contains__))
            return [self.value(v) for v in graph.results]
        finally:
            self.made = before

    def graph(self, inputs: Sequence[Type], results: Sequence[Type], f: Callable[[Scope, list[Node]], Sequence[Node]],
              name: str = "body") -> onnx.GraphProto:
        """A graph that a node holds: of these inputs, and of all that its nodes see outside."""
        inner = Scope(self.model)
        given = [Element(inner, self.fresh("x"), t.dtype) for t in inputs]
        made = [inner.copied(x, self.fresh("y")) for x in f(inner, given)]
        return helper.make_graph(inner.nodes, self.fresh(name), [put(x.value, t) for x, t in zip(given, inputs)],
                                 [put(x.value, t) for x, t in zip(made, results, strict=True)])


def is_full(v: Value) -> bool:
    """Whether operands without what they repeat still broadcast to the shape of the result."""
    shapes = [bare(a).shape for a in v.args]
    return all(n == 1 or any(len(s) >= k and s[-k] == n for s in shapes) for k, n in enumerate(v.shape[::-1], 1)) and (
        max(map(len, shapes), default=0) >= v.ndim)


def bare(v: Value) -> Value:
    """What a value repeats."""
    return bare(v.args[0]) if isinstance(v.op, Broadcast) else v


def described(v: Value) -> dict[str, str]:
    """Where a value comes from, for viewers: the path of its layer and the user's lines."""
    found = {"layer": "/".join(sorted({o.layer.replace(".", "/") for o in v.where if o.layer})[:1]),
             "source": ", ".join(lines(o._replace(layer="") for o in v.where))}
    return {key: text for key, text in found.items() if text}


def put(name: str, t: Type) -> onnx.ValueInfoProto:
    """An input or output of a type."""
    shape = [n if isinstance(n, int) else str(n) for n in t.shape]
    return helper.make_tensor_value_info(name, number_of(t.dtype), shape)

