"""Models that Stele runs as drawings: the graph of one trace, in its layers."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields

import stele as st
from stele.call.loaded import Loaded
from stele.eager.follow import Follower
from stele.inspect.view.drawing import Drawing, Node, Weight, placed, totals
from stele.interop.convert.source import Source
from stele.ir.graph import Graph, Item, Parameter, Value, label_of
from stele.ir.origin import lines
from stele.ir.types import TupleType, Type
from stele.ops.elementwise.unary import StopGradient
from stele.tracing.trace import traced_on


def drawing(title: str, source: Source) -> Drawing:
    """The drawing of a model; open sizes of one that is traced for it are those of the trace."""
    graph, held = of_program(source.call) if isinstance(source.call, Loaded) else of_function(source)
    steps = Steps(held, type(source.call).__name__)
    nodes = [*steps.of(graph)]
    counts = Counter(n.kind for n in nodes if n.inputs)
    facts = (("kind", source.kind), ("steps", ", ".join(f"{kind} {n}" for kind, n in counts.most_common(5))),
             totals(steps.known.values()))
    return Drawing(title, facts, placed(nodes), steps.types)


def of_program(program: Loaded) -> tuple[Graph, dict[Value, str]]:
    """The first graph of a saved program, and the names of its weights."""
    first = program.variants[0]
    return first.graph, {p: str(k) for p, (kind, k) in zip(first.graph.parameters, first.inputs) if kind == "state"}


def of_function(source: Source) -> tuple[Graph, dict[Value, str]]:
    """The graph of a model on inputs that are drawn, and the names of its weights."""
    given = tuple(map(st.tensor, source.drawn(source.sizes({}), 0)))
    with st.no_grad():
        traced = traced_on(source.call, given, {}, Follower())
    names, taken = {id(x): name for name, x in source.state.items()}, {id(x) for x in given}
    held = dict.fromkeys(traced.graph.parameters[len(traced.inputs):], "constant")
    for p, (kind, place) in zip(traced.graph.parameters, traced.inputs):
        if kind == "handle" and id(traced.handles[place]) not in taken:
            held[p] = names.get(id(traced.handles[place]), label_of(p))
    return traced.graph, held


class Steps:
    """The values of a graph as nodes: numbers, and weights that were only moved, belong to who takes them. What bears
    the name of the `whole` lies in no layer, and what stops gradients is what it takes.
    """

    def __init__(self, names: Mapping[Value, str], whole: str) -> None:
        self.whole = whole
        self.known = {v: weight(name, v.type) for v, name in names.items()}
        self.held: dict[Value, tuple[Weight, ...]] = {v: (w,) for v, w in self.known.items()}
        self.types: dict[str, str] = {}
        self.ids: dict[Value, str] = {}

    def of(self, graph: Graph) -> Iterator[Node]:
        """The nodes in order, what comes in first, and what goes out behind them."""
        for k, v in enumerate(graph.parameters):
            if v not in self.held:
                yield Node(label_of(v) or f"input {k}", "Input", (), (), self.named(v, f"in{k}"))
        for k, v in enumerate(graph.values):
            if isinstance(v.op, Parameter):
                continue
            if not v.args or ((v.op.family == "movement" or isinstance(v.op, StopGradient)) and v.args[0] in self.held):
                self.held[v] = self.held[v.args[0]] if v.args else (number(v),)
            elif isinstance(v.op, StopGradient):
                self.ids[v] = self.ids[v.args[0]]
            else:
                path = min((o.layer for o in v.where if o.layer not in ("", self.whole)), default="")
                taken = tuple(self.ids[a] for a in v.args if a in self.ids)
                own = tuple(w for a in v.args if a in self.held for w in self.held[a])
                yield Node(f"{k}", kind_of(v), tuple(filter(None, path.split("."))), taken, self.named(v, f"v{k}"),
                           own, tuple(facts(v)))
        for k, v in enumerate(graph.results):
            yield Node(f"{k}", "Output", (), tuple(self.ids[x] for x in (v,) if x in self.ids), ())

    def named(self, v: Value, name: str) -> tuple[str]:
        """The name of a value, whose type is kept."""
        self.ids[v], self.types[name] = name, str(v.type)
        return name,


def kind_of(v: Value) -> str:
    """What an op is called on a box."""
    return f"part {v.op.k}" if isinstance(v.op, Item) else v.op.name


def facts(v: Value) -> Iterator[tuple[str, str]]:
    """The options of an op, the graphs that it holds, and the lines that it comes from."""
    for f in fields(v.op):
        x = getattr(v.op, f.name)
        yield f.name, f"a graph of {len(x.values)} values" if isinstance(x, Graph) else str(x)
    if where := lines(o._replace(layer="") for o in v.where):
        yield "source", ", ".join(where)


def number(v: Value) -> Weight:
    """What a value of no operands is."""
    return Weight(", ".join(str(getattr(v.op, f.name)) for f in fields(v.op)) or v.op.name, str(v.type))


def weight(name: str, t: Type | TupleType) -> Weight:
    """A weight of a type, all of whose sizes are numbers."""
    if isinstance(t, TupleType) or not all(isinstance(n, int) for n in t.shape):
        return Weight(name, str(t))
    count = math.prod(int(n) for n in t.shape)
    return Weight(name, str(t), count, count * t.dtype.bytes)
