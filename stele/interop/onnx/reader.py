"""ONNX files become `Model`s: what is damaged or hostile is refused in one line that says where."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import external_data_helper, helper, numpy_helper

from stele.errors import DataError
from stele.interop.onnx.model import Array, Function, Graph, Input, Model, Node, Reference, graphs
from stele.interop.onnx.source import content
from stele.ops.arguments import refuse

A = onnx.AttributeProto
MOST = 1 << 40      # bytes of one tensor


def read(source: Any) -> Model:
    """The model in a file, in bytes, or in an `onnx.ModelProto`. Raises DataError for what is none."""
    folder = Path(source).parent if isinstance(source, str | Path) else None
    proto = parsed(source)
    if not proto.HasField("graph"):
        raise DataError(f"{said(source)} is no ONNX model: it holds no graph")
    versions = versions_of(proto)
    load = partial(weight, folder=folder)
    functions = {(domain_of(f.domain), f.name): function(f, versions) for f in proto.functions}
    metadata = {p.key: p.value for p in proto.metadata_props}
    return Model(graph(proto.graph, versions, load), versions, functions, metadata)


def parsed(source: Any) -> Any:
    """The protocol buffer of a source."""
    if isinstance(source, onnx.ModelProto):
        return source
    if not isinstance(source, str | Path | bytes | bytearray | memoryview):
        refuse("a model of ONNX", "a path, bytes, or what onnx.load gives", source)
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(content(source) if isinstance(source, str | Path | bytes) else bytes(memoryview(source)))
    except DecodeError:
        raise DataError(f"{said(source)} is no ONNX model: its bytes are no protocol buffer",
                        hint="Was it downloaded whole? A Git LFS pointer is a text of three lines.") from None
    return proto


def said(source: Any) -> str:
    """A source as errors name it."""
    return str(source) if isinstance(source, str | Path) else "this"


def versions_of(proto: Any) -> dict[str, int]:
    """The versions of the domains that a model or a function imports."""
    words(*(o.domain for o in proto.opset_import))
    for o in proto.opset_import:
        if not 0 < o.version < 1 << 31:
            raise DataError(f"version {o.version} of domain {o.domain!r} is none")
    return {domain_of(o.domain): o.version for o in proto.opset_import}


def domain_of(name: str) -> str:
    """A domain by its one name: ONNX's own has two."""
    return "" if name == "ai.onnx" else name


def graph(proto: Any, versions: Mapping[str, int], load: Callable[[Any], Array]) -> Graph:
    """A graph, also one that an attribute holds."""
    words(*(x.name for group in (proto.initializer, proto.input, proto.output) for x in group))
    weights = {t.name: partial(load, checked(t)) for t in proto.initializer}
    weights |= {t.values.name: partial(sparse, t, load) for t in proto.sparse_initializer}
    inputs, outputs = (tuple(map(put, values)) for values in (proto.input, proto.output))
    nodes = ordered([node(n, versions, load) for n in proto.node], proto.name)
    return Graph(proto.name, inputs, outputs, nodes, weights)


def function(proto: Any, outer: Mapping[str, int]) -> Function:
    """A function of the model's own."""
    words(proto.name, proto.domain, *proto.input, *proto.output)
    versions = {**outer, **versions_of(proto)}
    load = partial(weight, folder=None)
    defaults = {a.name: attribute(a, versions, load) for a in proto.attribute_proto}
    nodes = ordered([node(n, versions, load) for n in proto.node], proto.name)
    return Function(tuple(proto.input), tuple(proto.output), defaults, nodes)


def node(proto: Any, versions: Mapping[str, int], load: Callable[[Any], Array]) -> Node:
    """One node; a domain that the model does not import is at its first version."""
    words(proto.op_type, proto.domain, proto.name, *proto.input, *proto.output, *(a.name for a in proto.attribute))
    domain = domain_of(proto.domain)
    attributes = {a.name: attribute(a, versions, load) for a in proto.attribute}
    return Node(proto.op_type, domain, versions.get(domain, 1), proto.name, tuple(proto.input), tuple(proto.output),
                attributes, proto)


def attribute(proto: Any, versions: Mapping[str, int], load: Callable[[Any], Array]) -> Any:
    """An attribute as a Python value: numbers, text, arrays, graphs and lists of them."""
    if proto.ref_attr_name:
        return Reference(proto.ref_attr_name)
    match proto.type:
        case A.FLOAT:   return proto.f
        case A.INT:     return proto.i
        case A.STRING:  return text(proto.s)
        case A.TENSOR:  return load(checked(proto.t))
        case A.GRAPH:   return graph(proto.g, versions, load)
        case A.FLOATS:  return list(proto.floats)
        case A.INTS:    return list(proto.ints)
        case A.STRINGS: return [text(s) for s in proto.strings]
        case A.TENSORS: return [load(checked(t)) for t in proto.tensors]
        case A.GRAPHS:  return [graph(g, versions, load) for g in proto.graphs]
        case A.SPARSE_TENSOR: return sparse(proto.sparse_tensor, load)
        case A.TYPE_PROTO:    return proto.tp
        case _:         raise DataError(f"attribute {proto.name!r} is of kind {proto.type}, which there is not")


def words(*names: str | bytes) -> None:
    """Names that must be text: what is no UTF-8 comes as bytes."""
    for name in names:
        if isinstance(name, bytes):
            text(name)


def text(raw: bytes) -> str:
    """A text of the file."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise DataError(f"a text of the model is no UTF-8: {raw[:20]!r}") from None


def put(proto: Any) -> Input:
    """An input or output as it is declared."""
    kind = proto.type.WhichOneof("value") or "tensor_type"
    if kind != "tensor_type":
        return Input(proto.name, 0, None, kind.removesuffix("_type"))
    tensor = proto.type.tensor_type
    return Input(proto.name, tensor.elem_type, tuple(map(size, tensor.shape.dim)) if tensor.HasField("shape") else None)


def size(dim: Any) -> int | str | None:
    """One size of a declared shape."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None


def checked(t: Any) -> Any:
    """A tensor of the file, whose bytes must be those of its shape: nothing is believed that is not there."""
    if any(n < 0 for n in t.dims):
        raise DataError(f"tensor {t.name!r} has a negative size: {list(t.dims)}")
    count = 1
    for n in t.dims:
        count *= n
        if count > MOST:
            raise DataError(f"tensor {t.name!r} says that it has {MOST} elements and more")
    if t.data_type not in helper.get_all_tensor_dtypes() or t.data_type == onnx.TensorProto.UNDEFINED:
        raise DataError(f"tensor {t.name!r} is of element type {t.data_type}, which there is not")
    return t


def weight(t: Any, folder: Path | None) -> Array:
    """The numbers of a tensor; from the file beside the model that it names, as a view of that file."""
    try:
        if external_data_helper.uses_external_data(t):
            return external(t, folder)
        return numpy_helper.to_array(t)
    except DataError:
        raise
    except (ValueError, TypeError, RuntimeError, NotImplementedError, OSError) as error:
        raise DataError(f"tensor {t.name!r} is damaged: {' '.join(str(error).split())}") from None


def external(t: Any, folder: Path | None) -> Array:
    """A tensor in a file of its own, below the folder of the model."""
    where = {e.key: e.value for e in t.external_data}
    place = where.get("location", "")
    if folder is None:
        raise DataError(f"tensor {t.name!r} lies in a file, {place!r}, beside a model that is not a file",
                        hint="Give the path of the model in place of its bytes.")
    root, path = folder.resolve(), (folder / place).resolve()
    if not place or not path.is_relative_to(root) or not path.is_file():
        raise DataError(f"tensor {t.name!r} lies in {place!r}, which is not there beside the model",
                        hint="Files of weights lie in the folder of the model.")
    kind, offset = np.dtype(helper.tensor_dtype_to_np_dtype(t.data_type)), int(where.get("offset", 0))
    shape = tuple(t.dims)
    length = int(where.get("length", 0)) or int(np.prod(shape, dtype=object)) * kind.itemsize
    if offset < 0 or length < 0 or offset + length > path.stat().st_size:
        raise DataError(f"tensor {t.name!r} needs {length} bytes at {offset} of {place}, which has "
                        f"{path.stat().st_size}")
    if length != int(np.prod(shape, dtype=object)) * kind.itemsize:     # elements of less than a byte are packed
        raw = onnx.TensorProto(name=t.name, data_type=t.data_type, dims=t.dims)
        raw.raw_data = np.memmap(path, np.uint8, "r", offset, (length,)).tobytes()
        return numpy_helper.to_array(raw)
    return np.memmap(path, kind, "r", offset, shape) if length else np.zeros(shape, kind)


def sparse(t: Any, load: Callable[[Any], Array]) -> Array:
    """A sparse tensor with its zeros."""
    values, places, shape = load(checked(t.values)), load(checked(t.indices)), tuple(t.dims)
    made = np.zeros(checked_shape(shape, t.values.name), values.dtype)
    try:
        if places.ndim == 1:
            made.reshape(-1)[places] = values
        else:
            made[tuple(places.T)] = values
    except IndexError:
        raise DataError(f"sparse tensor {t.values.name!r} has numbers outside of its shape {shape}") from None
    return made


def checked_shape(shape: Sequence[int], name: str) -> Sequence[int]:
    """A shape of an array that there may be."""
    if any(n < 0 for n in shape) or int(np.prod(shape, dtype=object)) > MOST:
        raise DataError(f"tensor {name!r} cannot have the shape {tuple(shape)}")
    return shape


def ordered(nodes: Sequence[Node], where: str) -> tuple[Node, ...]:
    """Nodes, each behind those it takes from. Raises DataError for circles, and for values that two of them make."""
    maker: dict[str, Node] = {}
    for n in nodes:
        for output in filter(None, n.outputs):
            if output in maker:
                raise DataError(f"two nodes of graph {where!r} make {output!r}")
            maker[output] = n
    done: dict[int, Node] = {}
    open_: set[int] = set()
    for first in nodes:
        stack = [(first, False)]
        while stack:
            n, ready = stack.pop()
            if ready:
                open_.discard(id(n))
                done[id(n)] = n
            elif id(n) not in done:
                if id(n) in open_:
                    raise DataError(f"node {n} of graph {where!r} needs its own result")
                open_.add(id(n))
                stack.append((n, True))
                stack += [(maker[x], False) for x in taken(n) if x in maker and id(maker[x]) not in done]
    return tuple(done.values())


def taken(n: Node) -> Iterable[str]:
    """What a node takes, the graphs it holds from outside included."""
    yield from n.inputs
    for a in n.attributes.values():
        for g in graphs(a):
            own = {i.name for i in g.inputs} | g.weights.keys() | {x for inner in g.nodes for x in inner.outputs}
            yield from ({x for inner in g.nodes for x in taken(inner)} | {o.name for o in g.outputs}) - own
