"""A graph of an ONNX model computed node by node with Stele's ops: on numbers, or traced into a program."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

import stele as st
from stele.errors import DataError, SteleError
from stele.interop.onnx import sizes, texts
from stele.interop.onnx.model import Function, Graph, Model, Node, Reference
from stele.interop.onnx.reader import function
from stele.interop.onnx.table import rule
from stele.interop.onnx.values import dtype_of, is_sizes, value

Values = dict[str, Any]


class Call:
    """A node at work: its attributes, and the graphs that it holds with what they see outside."""

    def __init__(self, node: Node, values: Values, model: Model) -> None:
        self.node, self.values, self.model = node, values, model
        self.version, self.count = node.version, len(node.outputs)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or the default."""
        return self.node.attributes.get(name, default)

    def wants(self, k: int) -> bool:
        """Whether somebody takes output k."""
        return k < self.count and bool(self.node.outputs[k])

    def run(self, graph: Graph, *inputs: Any) -> list[Any]:
        """The outputs of a graph of this node."""
        given = dict(zip((i.name for i in graph.inputs), inputs))
        return run(graph, {**self.values, **given}, self.model)

    def again(self, nodes: Sequence[Node], values: Values) -> None:
        """Nodes of the model once more, on other values."""
        steps(nodes, values, self.model)


def run(graph: Graph, values: Values, model: Model) -> list[Any]:
    """The outputs of a graph, of which `values` has the inputs and what is outside."""
    for name, load in graph.weights.items():
        if name not in values:
            values[name] = value(load())
    steps(graph.nodes, values, model)
    for output in graph.outputs:
        if output.name not in values:
            raise DataError(f"graph {graph.name!r} has no value {output.name!r}, which it says that it gives")
    return [values[output.name] for output in graph.outputs]


def steps(nodes: Sequence[Node], values: Values, model: Model) -> None:
    """The nodes in order; each adds its outputs to the values."""
    for node in nodes:
        made = apply(node, values, model)
        values.update((name, x) for name, x in zip(node.outputs, made) if name)


def apply(node: Node, values: Values, model: Model) -> Sequence[Any]:
    """The outputs of one node."""
    try:
        inputs = [values[name] if name else None for name in node.inputs]
    except KeyError as missing:
        raise DataError(f"node {node} takes {missing}, which nothing gives") from None
    if (own := model.functions.get((node.domain, node.op))) is not None:
        return called(own, node, inputs, model)
    found = rule(node.domain, node.op, node.version)
    if any(map(is_sizes, inputs)):
        found, inputs = sizes.chosen(node.op, inputs, found)
    if found is None:
        return called(standard(node, inputs), node, inputs, model)
    if node.op in texts.MOVED and any(map(texts.is_texts, inputs)):
        found = texts.moved(found)
    try:
        made = found(Call(node, values, model), *inputs)
    except SteleError as error:
        error.add_note(f"This was raised by node {node} of the ONNX model.")
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise DataError(f"node {node} of the ONNX model cannot be computed of its inputs, "
                        f"{', '.join(map(told, inputs)) or 'none'}, and attributes: {error}",
                        hint="stele onnx check FILE says whether the model is well-formed.") from error
    return made if isinstance(made, tuple) else (made,)


def told(x: Any) -> str:
    """An input as messages show it."""
    return f"{x.dtype} {[*x.shape]}" if isinstance(x, st.Tensor | np.ndarray) else type(x).__name__


def called(f: Function, node: Node, inputs: Sequence[Any], model: Model) -> list[Any]:
    """The outputs of a function of the model or of ONNX itself, with the attributes of the node that calls it."""
    attributes = {**f.defaults, **node.attributes}
    values = dict(zip(f.inputs, [*inputs, *[None] * (len(f.inputs) - len(inputs))]))
    steps([bound(n, attributes) for n in f.nodes], values, model)
    return [values.get(name) for name in f.outputs]


def bound(node: Node, attributes: Mapping[str, Any]) -> Node:
    """A node of a function with the attributes of the call."""
    own = {key: attributes.get(x.name) if isinstance(x, Reference) else bound_graph(x, attributes)
           for key, x in node.attributes.items()}
    kept = {key: x for key, x in own.items() if x is not None}
    return Node(node.op, node.domain, node.version, node.name, node.inputs, node.outputs, kept)


def bound_graph(x: Any, attributes: Mapping[str, Any]) -> Any:
    """A graph in an attribute of such a node."""
    if not isinstance(x, Graph):
        return x
    return Graph(x.name, x.inputs, x.outputs, tuple(bound(n, attributes) for n in x.nodes), x.weights)


def standard(node: Node, inputs: Sequence[Any]) -> Function:
    """ONNX's own definition of an op in other ops, for inputs of these types."""
    schema = schema_of(node)
    if schema is None or not is_defined(schema):
        raise DataError(f"there is no rule for node {node} (version {node.version})")
    if schema.has_function:
        proto = schema.function_body
    else:
        types = [type_of(x).SerializeToString() for x in inputs]
        version = max(n for n in schema.context_dependent_function_opset_versions if n <= node.version)
        raw = schema.get_context_dependent_function_with_opset_version(
            version, proto_of(node).SerializeToString(), types)
        proto = onnx.FunctionProto()
        proto.ParseFromString(raw)
    defaults = {name: onnx.helper.get_attribute_value(a.default_value) for name, a in schema.attributes.items()
                if a.default_value.type}
    found = function(proto, {node.domain: node.version})
    return Function(found.inputs, found.outputs, {**defaults, **found.defaults}, found.nodes)


def schema_of(node: Node) -> Any:
    """What ONNX says of an op, None where it does not know it."""
    try:
        return onnx.defs.get_schema(node.op, node.version, node.domain)
    except onnx.defs.SchemaError:
        return None


def is_defined(schema: Any) -> bool:
    """Whether ONNX defines an op in other ops."""
    return schema.has_function or schema.has_context_dependent_function


def type_of(x: Any) -> onnx.TypeProto:
    """The type of a value, as ONNX writes it."""
    if x is None or isinstance(x, list):
        return onnx.TypeProto()
    return onnx.helper.make_tensor_type_proto(dtype_of(x), [n if isinstance(n, int) else None for n in x.shape])


def proto_of(node: Node) -> onnx.NodeProto:
    """A node, as ONNX writes it."""
    if node.proto is not None:
        return node.proto
    attributes = {key: onnx.numpy_helper.from_array(x) if isinstance(x, np.ndarray) else x
                  for key, x in node.attributes.items()}
    made: Any = onnx.helper.make_node(node.op, node.inputs, node.outputs, node.name, domain=node.domain)
    made.attribute.extend(onnx.helper.make_attribute(key, x) for key, x in sorted(attributes.items()))
    return made
