"""An ONNX model as a module: its initialisers are parameters under their own names."""
from __future__ import annotations

from typing import Any

import stele as st
from stele import nn
from stele.errors import ArgumentError, DataError, nearest
from stele.interop.onnx.model import Function, Graph, Input, Model, Node
from stele.interop.onnx.reader import read
from stele.interop.onnx.run import is_defined, run, schema_of
from stele.interop.onnx.table import rule
from stele.interop.onnx.values import value
from stele.ir.door import public


class OnnxModule(nn.Module):
    """A model of an ONNX file, called with its inputs in order or by name; it returns its one output, or a tuple.

    Initialisers of floats are parameters, means and variances of normalisation buffers, under the names that they have
    in the file; others, such as shapes and indices, are constants of it.
    """

    def __init__(self, model: Model) -> None:
        graph = model.graph
        self.model, self.weights = model, dict[str, st.Tensor]()
        frozen = statistics(graph)
        for name, load in graph.weights.items():
            x = value(load())
            if isinstance(x, st.Tensor) and x.dtype.kind == "f":
                self.weights[name] = x if name in frozen else nn.Parameter(x)
        self.inputs = tuple(i for i in graph.inputs if i.name not in graph.weights)
        self.outputs = graph.outputs

    def held(self) -> dict[str, Any]:
        return self.weights

    def member(self, path: str) -> Any:
        return self.weights.get(path)

    def forward(self, *x: Any, **named: Any) -> Any:
        made = self.values(*x, **named)
        return made[0] if len(made) == 1 else tuple(made)

    def values(self, *x: Any, **named: Any) -> list[Any]:
        """All outputs, in order."""
        names = [i.name for i in self.inputs]
        known = {i.name for i in self.model.graph.inputs}
        for name in named.keys() - known:
            guess = nearest(name, known)
            raise ArgumentError(f"the model has no input {name!r}; it has {', '.join(names)}",
                                hint=f"Did you mean {guess!r}?" if guess else None)
        given = {**dict(zip(names, x)), **named}
        lacking = [i.name for i in self.inputs if i.name not in given and i.kind != "optional"]
        if lacking or len(x) > len(names):
            raise ArgumentError(f"the model takes {len(names)} inputs ({', '.join(map(described, self.inputs))}), "
                                f"got {len(given) if lacking else len(x)}")
        values = dict.fromkeys(names) | self.weights
        return run(self.model.graph, values | {name: value(v) for name, v in given.items()}, self.model)

    def extra_repr(self) -> str:
        return ", ".join(map(described, self.inputs)) + " -> " + ", ".join(o.name for o in self.outputs)


def described(i: Input) -> str:
    """An input as messages show it."""
    return i.name if i.shape is None else f"{i.name}: [{', '.join('?' if n is None else str(n) for n in i.shape)}]"


def statistics(graph: Graph) -> set[str]:
    """The initialisers that no gradient moves: means and variances of normalisation."""
    return {name for n in graph.nodes if n.op == "BatchNormalization" for name in n.inputs[3:5]}


@public
def load(source: Any) -> OnnxModule:
    """The model in a file (a path), in bytes, or in an `onnx.ModelProto`: a `source`, as a module. It runs imperatively
    and compiled, and is trained as any other.

    Raises DataError for what is damaged, and for ops that there are not: one error names all such nodes.
    """
    model = read(source)
    if lacking := list(dict.fromkeys(map(str, unsupported(model.graph, model)))):
        raise DataError(f"{len(lacking)} nodes have no rule: {'; '.join(lacking[:50])}")
    return OnnxModule(model)


def unsupported(graph: Graph | Function, model: Model) -> list[Node]:
    """The nodes that nothing computes."""
    found: list[Node] = []
    for n in graph.nodes:
        own = model.functions.get((n.domain, n.op))
        if own is not None:
            found += unsupported(own, model)
        elif rule(n.domain, n.op, n.version) is None and not ((schema := schema_of(n)) and is_defined(schema)):
            found.append(n)
        for a in n.attributes.values():
            for g in a if isinstance(a, list) else [a]:
                found += unsupported(g, model) if isinstance(g, Graph) else []
    return found
