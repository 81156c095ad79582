"""An ONNX model as a module: its initialisers are parameters under their own names."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

import stele as st
from stele import nn
from stele.errors import ArgumentError, DataError
from stele.interop.imported import Imported, unheard, word
from stele.interop.onnx.fold import folded
from stele.interop.onnx.formed import faults
from stele.interop.onnx.model import Function, Graph, Input, Model, Node, graphs
from stele.interop.onnx.reader import read
from stele.interop.onnx.run import is_defined, run, schema_of
from stele.interop.onnx.table import rule
from stele.interop.onnx.values import dtype_named, value
from stele.ir.door import public
from stele.ir.types import DTYPES

BLOCKED = ("Weights of com.microsoft.nchwc lie as the vectors of one processor want them, and the file does not say of "
           "which: write it with graph_optimization_level = ORT_ENABLE_EXTENDED.")
COMPARISONS = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}
MOST_NODES = 1_000_000      # of a model whose functions are written out
DEEPEST = 100               # functions within each other
KNOWN = {"Clip": slice(1, None), "Dropout": slice(1, None), "Loop": slice(2), "MelWeightMatrix": slice(None),
         "NonMaxSuppression": slice(2, None), "OneHot": slice(1, None), "Pad": slice(2, None), "Range": slice(None),
         "Resize": slice(1, None), "Upsample": slice(1, None)}
"""Of which inputs an op looks at the numbers themselves: bounds, scales, what is padded with. No parameters."""


class OnnxModule(Imported):
    """A `model` of an ONNX file, called with its inputs in order or by name; it returns its one output, or a tuple.

    Initialisers of floats are parameters, means and variances of normalisation buffers, under the names that they have
    in the file; others, such as shapes, indices, bounds of `Clip` and scales of `Resize`, are constants of it. Outputs
    have the shapes and dtypes that ONNX says. Raises ArgumentError for another number of inputs, or names that it does
    not have.

    >>> import onnx
    >>> text = '<ir_version: 8, opset_import: ["": 17]> g (float[n] x, float[n] w) => (float[n] y) {y = Mul(x, w)}'
    >>> import stele.interop.onnx as so
    >>> module = so.load(onnx.parser.parse_model(text))
    >>> isinstance(module, so.OnnxModule), module(st.ones(2), w=st.tensor([2.0, 3.0])).tolist()
    (True, [2.0, 3.0])
    """

    def __init__(self, model: Model) -> None:
        graph = model.graph
        self.model, self.weights = model, dict[str, st.Tensor]()
        frozen, known = statistics(graph), compared(graph) | looked_at(graph)
        for name, load in graph.weights.items():
            x = value(load())
            if isinstance(x, st.Tensor) and x.dtype.kind == "f" and name not in known:
                self.weights[name] = x if name in frozen else nn.Parameter(x)
        self.inputs = tuple(i for i in graph.inputs if i.name not in graph.weights)
        self.outputs = graph.outputs
        self.name_inputs([i.name for i in self.inputs])

    def forward(self, /, *x: Any, **named: Any) -> Any:
        made = self.values(*x, **named)
        return made[0] if len(made) == 1 else tuple(made)

    def values(self, /, *x: Any, **named: Any) -> list[Any]:
        """All outputs, in order."""
        given = self.named(x, named)
        values = dict.fromkeys((i.name for i in self.inputs), None) | self.weights
        return run(self.model.graph, values | self.tensors(given), self.model)

    def output_names(self) -> list[str]:
        return [o.name for o in self.outputs]

    def metadata(self) -> Mapping[str, str]:
        return self.model.metadata

    def named(self, x: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """What is given by place and by name, by name, in the model's order.

        Raises ArgumentError for too much or too little.
        """
        names = [i.name for i in self.inputs]
        known = {i.name for i in self.model.graph.inputs}
        for name in named.keys() - known:
            raise unheard("the model has no input", name, names, known)
        given = {**dict(zip(names, x)), **named}
        given = {name: given[name] for name in (*names, *given) if name in given}
        lacking = [i.name for i in self.inputs if i.name not in given and i.kind != "optional"]
        if lacking or len(x) > len(names):
            raise ArgumentError(f"the model takes {len(names)} inputs ({', '.join(map(described, self.inputs))}), "
                                f"got {len(given) if lacking else len(x)}")
        return given

    def refuse_others(self, given: Mapping[str, Any]) -> None:
        """Raises ArgumentError where an array is of another dtype than the model says, which a trained one may be."""
        for i in self.inputs:
            x: Any = given.get(i.name)
            wanted = dtype_named(i.dtype).name if i.kind == "tensor" and i.dtype else ""
            got: str = cast(Any, x).dtype.name if isinstance(x, np.ndarray | st.Tensor) else ""
            if got != wanted and {wanted, got} <= DTYPES.keys():
                raise ArgumentError(f"the model takes {i.name} as {wanted}, got {got}",
                                    hint=f"Write {i.name}.astype({wanted!r}).")

    def tensors(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is given by name, as tensors where there are such."""
        return {name: value(x) for name, x in given.items()}

    @property
    def dims(self) -> dict[str, dict[int, str]]:
        """The sizes that the model names, by input and axis, for `st.compile`: one program for all of them."""
        return {i.name: axes for i in self.inputs if (axes := {
            k: word(n) for k, n in enumerate(i.shape or ()) if isinstance(n, str)})}

    def extra_repr(self) -> str:
        return ", ".join(map(described, self.inputs)) + " -> " + ", ".join(self.output_names())


def described(i: Input) -> str:
    """An input as messages show it."""
    return i.name if i.shape is None else f"{i.name}: [{', '.join('?' if n is None else str(n) for n in i.shape)}]"


def statistics(graph: Graph) -> set[str]:
    """The initialisers that no gradient moves: means and variances of normalisation."""
    return {name for n in graph.nodes if n.op == "BatchNormalization" for name in n.inputs[3:5]}


def compared(graph: Graph) -> set[str]:
    """The names that comparisons alone take: no gradient goes there, and what is compared with them may be known."""
    users: dict[str, set[str]] = {}
    waiting = [graph]
    while waiting:
        one = waiting.pop()
        for output in one.outputs:
            users.setdefault(output.name, set()).add("")
        for n in one.nodes:
            for name in n.inputs:
                users.setdefault(name, set()).add(n.op)
            waiting += [g for a in n.attributes.values() for g in graphs(a)]
    return {name for name, ops in users.items() if ops <= COMPARISONS}


def looked_at(graph: Graph) -> set[str]:
    """What ops look at and what that is computed of, where no input of the graph is among it: bounds, and conditions of
    loops, whose steps are known then."""
    makers, given = {x: n for n in graph.nodes for x in n.outputs}, {i.name for i in graph.inputs} - {*graph.weights}
    found: set[str] = set()
    for name in (x for n in graph.nodes for x in n.inputs[KNOWN.get(n.op, slice(0))]):
        behind, waiting = set[str](), [name]
        while waiting:
            if (x := waiting.pop()) not in behind:
                behind.add(x)
                waiting += makers[x].inputs if x in makers else ()
        found |= set[str]() if behind & given else behind
    return found


@public
def load(source: Any) -> OnnxModule:
    """The model of a `source`, as a module that runs imperatively and compiled and is trained as any other.

    A source is a path, bytes, or an `onnx.ModelProto`. Weights in files of their own stay on the disk until used.
    Raises DataError for what is damaged, for ops that there are not, and for nodes without what their ops need: one
    error names all such nodes.

    >>> import onnx
    >>> text = '<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y) {y = Relu(x)}'
    >>> import stele.interop.onnx as so
    >>> so.load(onnx.parser.parse_model(text))(st.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return made_of(source)


def made_of(source: Any, to_run: bool = False) -> OnnxModule:
    """The model of a source; `to_run` alone, its normalisations may be part of convolutions."""
    model = checked(read(source))
    return OnnxModule(folded(model) if to_run else model)


def checked(model: Model) -> Model:
    """A model of which every node can be computed. Raises DataError with the names of those that cannot,
    and of those that lack inputs or attributes."""
    sizes: dict[tuple[str, str], int] = {}
    if (count := written_out(model.graph, model, sizes)) > MOST_NODES:
        raise DataError(f"the model has {count} nodes once its functions are written out, {MOST_NODES} at most")
    lists = model.graph.nodes, *(model.functions[key].nodes for key in sizes)
    if lacking := list(dict.fromkeys(str(n) for nodes in lists for n in unsupported(nodes, model))):
        is_blocked = any(name.startswith("com.microsoft.nchwc.") for name in lacking)
        raise DataError(f"{len(lacking)} nodes have no rule: {'; '.join(lacking[:50])}",
                        hint=BLOCKED if is_blocked else None)
    if wrong := list(dict.fromkeys(text for nodes in lists for text in faults(nodes, model))):
        raise DataError(f"the model is malformed: {'; '.join(wrong[:50])}",
                        hint="onnx.checker.check_model says more of it.")
    return model


def written_out(graph: Graph | Function, model: Model, sizes: dict[tuple[str, str], int], depth: int = 0) -> int:
    """How many nodes there are with those of functions in their places; `sizes` learns it of each function."""
    if depth > DEEPEST:
        raise DataError(f"functions of the model call each other more than {DEEPEST} deep")
    count = 0
    for n in graph.nodes:
        key = n.domain, n.op
        if key in model.functions and key not in sizes:
            sizes[key] = 0
            sizes[key] = written_out(model.functions[key], model, sizes, depth + 1)
        if sizes.get(key) == 0:
            raise DataError(f"function {n.op!r} of the model calls itself")
        count += sizes.get(key, 1) + sum(written_out(g, model, sizes, depth) for a in n.attributes.values()
                                         for g in graphs(a))
    return max(count, 1)


def unsupported(nodes: Sequence[Node], model: Model) -> list[Node]:
    """The nodes that nothing computes, those of graphs within nodes too."""
    found: list[Node] = []
    for n in nodes:
        if (n.domain, n.op) not in model.functions and rule(n.domain, n.op, n.version) is None:
            schema = schema_of(n)
            found += [] if schema and is_defined(schema) else [n]
        for g in (g for a in n.attributes.values() for g in graphs(a)):
            found += unsupported(g.nodes, model)
    return found
