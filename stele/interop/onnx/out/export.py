"""Programs written as ONNX models: traced, in real numbers, node by node, with their weights under their names."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

import stele as st
from stele import files
from stele.arrays.tensor import Tensor
from stele.backend.locks import held
from stele.call.compiled import Compiled, Method
from stele.call.stored import member_names
from stele.call.symbolic import Function
from stele.errors import GraphError, OptionError
from stele.interop.imported import Imported
from stele.interop.onnx.out.functions import together
from stele.interop.onnx.out.nodes import tensor
from stele.interop.onnx.out.scope import Model, Scope, put
from stele.interop.onnx.out.table import MEANINGS, RULES
from stele.ir.door import public
from stele.ir.graph import Array, Graph, label_of, walk
from stele.ir.sizes import Named, Size
from stele.ir.types import Sizes, Type
from stele.ops.arguments import sequence, whole
from stele.tracing import tree
from stele.tracing.general import general
from stele.tracing.signature import Dims, checked_dims, declare, leaf_names, match, shape_of
from stele.tracing.trace import Traced, answered, trace
from stele.transform.inline import inline, written_out
from stele.transform.pairs import pairs

OPSET, NEWEST = 21, min(28, onnx.defs.onnx_opset_version())
MOST = (1 << 31) - (1 << 24)    # bytes of weights in the file itself: a protocol buffer holds 2 GB
OPEN = "Leave this size a number, or compute with a tensor in place of it."


@dataclass(frozen=True)
class Program:
    """A graph to be written: which of its parameters are inputs, which weights, by their names, and its outputs'."""

    name: str
    inputs: Mapping[int, str]
    weights: Mapping[int, tuple[str, Any]]
    graph: Graph
    outputs: Sequence[str]
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


@public
def export(f: Any, args: Any, path: str | Path, *, dims: Dims | None = None, opset: int = OPSET) -> None:
    """Writes a module or a function `f` as an ONNX model of an `opset`, 21 to 28, to a `path`.

    `args` are arguments of the shapes that it is to take, or the one tensor that it takes; `dims={"x": {0: "batch"}}`
    leaves axis 0 of argument x open, as in `st.compile`. f may be compiled, and a function of `st.function`, whose
    sizes are open where its placeholders say so: its args are None. Tensors that f reads are initialisers under their
    names; above 2 GB they lie in a file beside it. A complex number is a pair of real ones, on a last axis of two. The
    path of its layer and the line that it comes from stand in the metadata of each node; what was loaded keeps the
    names of its outputs and the metadata of its file. Normalisations are ops of ONNX, and from opset 23 on attention
    and rotary positions too, where the graph has what these mean.

    Raises GraphError for a function that rebinds what lies outside of it (a module in training), for sizes that cannot
    stay open, and for ops that have no form in ONNX: one error names all of them, with their lines; OptionError for
    another opset.

    >>> import stele.interop.onnx as so
    >>> model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> so.export(model, [st.ones(4, 3)], "model.onnx", dims={"x": {0: "batch"}})
    >>> again = so.load("model.onnx")
    >>> again(st.ones(7, 3)).shape, [name for name, _ in again.named_parameters()][:2]
    ((7, 2), ['0.weight', '0.bias'])
    """
    program = of_function(f) if isinstance(f, Function) else of_python(f, args, checked_dims(dims))
    save(written(program, supported(opset)), files.located(path))


def supported(opset: Any) -> int:
    """A version of ONNX's ops that programs are written in."""
    if not OPSET <= (n := whole(opset, "opset of export")) <= NEWEST:
        raise OptionError(f"opset of export is a whole number from {OPSET} to {NEWEST}, got {n}")
    return n


def of_function(f: Function) -> Program:
    """A function of placeholders."""
    traced, n = f.plan.traced, len(f.names)
    if traced.changes:
        raise refused("the function")
    traced, outputs = answered(traced)
    places = [h for _, h in traced.inputs]
    inputs = {k: f.names[h] for k, h in enumerate(places) if h < n}
    own = member_names(f, traced.state)
    weights = {k: (own.get(id(x := traced.handles[h])) or label_of(traced.graph.parameters[k]), x)
               for k, h in enumerate(places) if h >= n}
    return Program("function", inputs, weights, traced.graph, outputs)


def apart(leaves: Sequence[Any]) -> list[Any]:
    """Leaves of which a tensor that is given several times is another each time: each is an input of its own."""
    seen = dict[int, Any]()
    return [x.clone() if isinstance(x, Tensor) and seen.setdefault(id(x), k) != k else x for k, x in enumerate(leaves)]


def of_python(program: Any, args: Any, dims: Dims) -> Program:
    """A module, or a function of Python, of such arguments."""
    f, alone = program, isinstance(args, Tensor | np.ndarray)
    given = (args,) if alone else sequence(args, "args of export", "a list of arguments, such as [x]")
    if isinstance(f, Method):
        f, given = f.compiled, (f.instance, *given)
    function: Callable[..., Any] = f.function if isinstance(f, Compiled) else f
    leaves, spec = tree.flatten((given, {}), tree.given)
    leaves = apart(leaves)
    names = leaf_names(function, spec)
    name = getattr(function, "__name__", type(function).__name__)
    traced = traced_at(function, spec, leaves, names, declare(dims, name, names, tuple(map(shape_of, leaves))))
    if traced.changes:
        raise refused(name)
    traced, outputs = answered(traced)
    own = member_names(program, traced.state)
    argument = {id(x): k for k, x in enumerate(leaves)}
    inputs: dict[int, str] = {}
    weights: dict[int, tuple[str, Any]] = {}
    for k, (kind, place) in enumerate(traced.inputs):
        x = leaves[place] if kind == "argument" else traced.arrays[place].get() if kind == "array" else \
            traced.handles[place]
        if kind == "argument" or id(x) in argument:
            inputs[k] = names[place if kind == "argument" else argument[id(x)]]
        else:
            weights[k] = own.get(id(x)) or label_of(traced.graph.parameters[k]), x
    weights |= {len(traced.inputs) + k: ("constant", Tensor(v)) for k, v in enumerate(traced.constants)}
    if not isinstance(function, Imported):
        return Program(name, inputs, weights, traced.graph, outputs)
    said = function.output_names()
    return Program(name, inputs, weights, traced.graph, said if len(said) == len(outputs) else outputs,
                   function.metadata())


def traced_at(f: Callable[..., Any], spec: Any, leaves: Sequence[Any], names: Sequence[str], shapes: Any) -> Traced:
    """A function at shapes of which some sizes are open. Raises GraphError where one of them can be one number only."""
    sizes = match(shapes, tuple(map(shape_of, leaves))) or {}

    def run(at: Mapping[str, int]) -> tuple[Traced, Sizes]:
        known = Sizes(dict(at), [])
        return trace(f, spec, leaves, shapes, names, known), known

    with held():
        traced, known = run(sizes)
        if known.asked:
            others = {name: run({**sizes, name: sizes[name] + 1})[0] for name in known.asked}
            traced = general(traced, others, known)
    for guard in traced.graph.guards:
        if guard.relation == "==" and str(guard.left) in sizes:
            raise GraphError(f"{guard.left} cannot stay open: the function needs {guard}", hint=OPEN)
    return traced


def refused(name: str) -> GraphError:
    """The error for what has effects."""
    return GraphError(f"{name} rebinds what lies outside of it, and a model of ONNX has no state",
                      hint="Call eval() on a module; take what changes as an argument, and return it.")


def written(program: Program, opset: int = OPSET) -> onnx.ModelProto:
    """The model of a program."""
    graph = together(pairs(inline(written_out(program.graph))), opset)
    model = Model(RULES, MEANINGS)
    main = Scope(model)
    inputs, initialisers = list[onnx.ValueInfoProto](), list[onnx.TensorProto]()
    for k, p in enumerate(graph.parameters):
        name, x = program.weights.get(k, (program.inputs.get(k, ""), None))
        name = model.fresh(clean(name))
        main.made[p] = main.element(name, p.type.dtype)
        if x is None:
            inputs.append(put(name, p.type))
            model.told.update(told(p.type, name))
        else:
            initialisers.append(tensor(numbers(x), name))
    names = [model.fresh(clean(name)) for name in program.outputs]
    main.define(walk(graph.results, main.made.__contains__))
    if model.lacking:
        raise GraphError(f"{len(model.lacking)} ops have no form in ONNX: {'; '.join(model.lacking)}",
                         hint="Compute what they give outside of the function, and pass it.")
    outputs = [put(main.copied(main.value(v), name).value, v.type) for name, v in zip(names, graph.results)]
    title = re.sub(r"\W", "", program.name) or "program"
    body = helper.make_graph([*model.head.nodes, *main.nodes], title, inputs, outputs, initialisers)
    said = [helper.make_opsetid("", opset)]
    made = helper.make_model(body, opset_imports=said, producer_name="stele", producer_version=st.__version__,
                             ir_version=helper.find_min_ir_version_for(said))
    assumed = {"assumes": ", ".join(map(str, program.graph.guards))} if program.graph.guards else {}
    helper.set_model_props(made, {**program.metadata, **assumed})
    return made


def clean(name: str) -> str:
    """A name without the quotes that keys of containers have."""
    return re.sub(r"\['(\w+)'\]", r".\1", name).strip(".")


def told(t: Type, name: str) -> Iterator[tuple[str, tuple[str, int]]]:
    """The sizes that an input tells, each with its axis."""
    for axis, n in enumerate(t.shape):
        match n:
            case Size((((Named(size),), 1),)): yield size, (name, axis)
            case _: pass


def numbers(x: Any) -> Array:
    """The numbers of a weight; complex ones as pairs."""
    array: Any = x if isinstance(x, np.ndarray) else x.numpy()
    return array if array.dtype.kind != "c" else np.ascontiguousarray(array[..., None]).view(array.real.dtype)


def save(model: onnx.ModelProto, path: Path) -> None:
    """The file, and one beside it where the weights are too many for it."""
    weights = model.graph.initializer
    if sum(len(t.raw_data) for t in weights) > MOST:
        beside = path.with_name(f"{path.name}.data")
        files.write(beside, *(t.raw_data for t in weights))
        offset = 0
        for t in weights:
            for key, value in (("location", beside.name), ("offset", offset), ("length", len(t.raw_data))):
                t.external_data.add(key=key, value=str(value))
            offset += len(t.raw_data)
            t.data_location = onnx.TensorProto.EXTERNAL
            t.ClearField("raw_data")
    files.write(path, model.SerializeToString())

