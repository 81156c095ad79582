"""Models of ONNX as drawings: every node of the file, those of branches and loops inside of these."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, shape_inference

from stele.inspect.view.drawing import Drawing, Node, Weight, placed, totals
from stele.interop.onnx import reader
from stele.interop.onnx.model import Array, Graph, Input, graphs
from stele.interop.onnx.model import Node as Step
from stele.interop.onnx.values import dtype_named

SHOWN = 8           # numbers of an array that are written out
LARGE = 1 << 10     # bytes of a weight from which no shape is computed
SCOPES = "pkg.torch.onnx.name_scopes"       # where PyTorch's exporter writes the layers of a node

Types = dict[str, str]


def drawing(path: Path) -> Drawing:
    """The drawing of a file. Raises DataError for what is none, or is damaged."""
    proto = reader.parsed(path)
    model, types = reader.read(path), Types()
    learn(inferred(proto).graph, "", types)
    weights = {name: weight(name, load()) for name, load in model.graph.weights.items()}
    nodes = [*ends("Input", model.graph.inputs, "", weights), *Steps(types).of(model.graph, "", {}, weights, ()),
             *(replace(n, inputs=n.outputs, outputs=()) for n in ends("Output", model.graph.outputs, "", {}))]
    counts = Counter(n.op for n in model.graph.nodes)
    facts = (("opset", ", ".join(f"{domain} {n}".strip() for domain, n in model.versions.items())),
             ("nodes", f"{len(model.graph.nodes):,}: " + ", ".join(f"{op} {n}" for op, n in counts.most_common(5))),
             totals(weights.values()), *model.metadata.items())
    return Drawing(path.name, facts, placed(nodes), types)


def inferred(proto: Any) -> Any:
    """A model with the types of its values, as far as ONNX finds them, and without its large weights."""
    small = ModelProto()
    small.CopyFrom(proto)
    for t in small.graph.initializer:
        if t.ByteSize() > LARGE:
            for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data",
                          "external_data", "data_location"):
                t.ClearField(field)
    try:
        return shape_inference.infer_shapes(small, data_prop=True)
    except Exception:       # of several kinds: what the file itself declares is shown then
        return small


def learn(graph: Any, prefix: str, types: Types) -> None:
    """What a graph says of its values, and those within its nodes of theirs."""
    for value in (*graph.value_info, *graph.input, *graph.output):
        types[prefix + value.name] = typed(reader.put(value))
    for n in graph.node:
        for a in n.attribute:
            for k, g in enumerate([a.g] if a.HasField("g") else a.graphs):
                learn(g, f"{prefix}{n.output[0] if n.output else ''}/{a.name}{k}/", types)


def typed(value: Input) -> str:
    """The type of a value as text."""
    if value.kind != "tensor" or not value.dtype:
        return value.kind
    return told(dtype_named(value.dtype), value.shape)


def told(dtype: Any, shape: Sequence[object] | None) -> str:
    """A dtype and a shape, of which some sizes may be open."""
    return f"{dtype}[{'...' if shape is None else ', '.join('?' if n is None else str(n) for n in shape)}]"


def weight(name: str, x: Array) -> Weight:
    """An array that a node holds; the numbers of a small one are its name."""
    few = x.size <= SHOWN and x.dtype.kind in "iub"
    return Weight(" ".join(map(str, x.ravel())) if few else name, told(x.dtype, x.shape), x.size, x.nbytes)


def ends(kind: str, values: Sequence[Input], prefix: str, weights: Mapping[str, Weight],
         path: tuple[str, ...] = ()) -> Iterator[Node]:
    """What comes in from outside of a graph, or leaves it."""
    yield from (Node(i.name, kind, path, (), (prefix + i.name,)) for i in values if i.name not in weights)


class Steps:
    """The nodes of graphs, those within nodes too."""

    def __init__(self, types: Types) -> None:
        self.types = types

    def of(self, graph: Graph, prefix: str, outer: Mapping[str, str], held: Mapping[str, Weight],
           path: tuple[str, ...]) -> Iterator[Node]:
        """The nodes of a graph in the layer `path`; `outer` are the values around it, and `held` the weights there."""
        weights = {**held, **({name: weight(name, load()) for name, load in graph.weights.items()} if prefix else {})}
        seen = {**outer, **{i.name: prefix + i.name for i in graph.inputs if i.name not in weights}}
        for k, n in enumerate(graph.nodes):
            if n.op == "Constant" and not n.domain:
                weights |= {name: constant(name, n) for name in n.outputs}
                continue
            name, own = named(n, k)
            inner, results = list[Node](), list[str]()
            for what, g, below in within(n, prefix):
                place = (*path, *own, name, what)
                inner += [*ends("Input", g.inputs, below, {}, place), *self.of(g, below, seen, weights, place)]
                results += [below + o.name for o in g.outputs]
            seen |= {x: prefix + x for x in n.outputs}
            yield from inner
            yield Node(name, n.op, (*path, *own, *[name] * bool(inner)),
                       (*(seen[x] for x in n.inputs if x in seen), *results), tuple(prefix + x for x in n.outputs),
                       tuple(weights[x] for x in n.inputs if x in weights and x not in seen), tuple(facts(n)))


def within(n: Step, prefix: str) -> Iterator[tuple[str, Graph, str]]:
    """The graphs that a node holds: what each is to it, and what the names of its values begin with."""
    for a, x in n.attributes.items():
        held = graphs(x)
        for k, g in enumerate(held):
            yield f"{a} {k}" if len(held) > 1 else a, g, f"{prefix}{n.outputs[0] if n.outputs else ''}/{a}{k}/"


def constant(name: str, n: Step) -> Weight:
    """What a node gives that takes nothing."""
    x = next(iter(n.attributes.values()), None)
    return weight(name, x) if isinstance(x, np.ndarray) else Weight(text(x), "constant")


def named(n: Step, k: int) -> tuple[str, tuple[str, ...]]:
    """The name of a node, and the layers around it as its exporter wrote them."""
    words = tuple(filter(None, (n.name or next(filter(None, n.outputs), f"{n.op} {k}")).split("/"))) or (n.op,)
    scopes = next((p.value for p in getattr(n.proto, "metadata_props", ()) if p.key == SCOPES), None)
    return words[-1], words[:-1] or scoped(scopes)


def scoped(scopes: str | None) -> tuple[str, ...]:
    """The layers of a list of scopes, the innermost last, each with those before it in its name."""
    try:
        found = ast.literal_eval(scopes or "()")
        return tuple(filter(None, str(found[-2]).split("."))) if len(found) > 1 else ()
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return ()


def facts(n: Step) -> Iterator[tuple[str, str]]:
    """What a node says beside what it takes and gives."""
    yield from (("domain", n.domain),) if n.domain else ()
    yield from ((key, text(x)) for key, x in n.attributes.items() if not graphs(x))


def text(x: Any) -> str:
    """An attribute in a line."""
    return told(x.dtype, x.shape) if isinstance(x, np.ndarray) else str(x)
