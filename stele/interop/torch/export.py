"""Modules of PyTorch as programs of plain values, through its exporter: what torch says is read here alone."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import numpy as np

import stele as st
from stele.errors import ArgumentError, DataError, DTypeError, nearest
from stele.interop.torch.gradients import own_functions_refused, stopped
from stele.interop.torch.program import Graph, Input, Node, Program, Ref, alike, parts, refs
from stele.interop.torch.table import RULES
from stele.ir.types import DTYPES
from stele.ops.arguments import mapping

PLACES = frozenset(["layout", "device", "pin_memory", "memory_format", "non_blocking", "generator"])
"""Arguments that say where results lie."""
HINTS = {
    "to be a constant (1)": "An example of size 1 stays 1: give one of size 2 or more.",
    (ONE := "specialized it to be a constant"): "Write x.shape[k] for the number in forward, or leave the axis out of "
                                                "dims; a loop of Python's over it is of one length.",
    "satisfy the generated guard": 'Give that size these bounds in dims: torch.export.Dim("n", min=..., max=...).',
    "data-dependent expression": "Choose by torch.where(test, a, b), or by torch.cond(test, f, g, operands).",
}
"""What to write, by what the exporter says."""
STEPS = HINTS | {ONE: "The exporter writes recurrent layers out for one number of steps: leave that axis out of dims, "
                      "or take stele.nn's layer of the same name, which loads the other's state_dict() and takes any."}
"""The same for a module of recurrent layers."""
Dims = Mapping[str, Mapping[int, Any]]


def torch() -> Any:
    """PyTorch. Raises DataError where it is not installed."""
    try:
        return import_module("torch")
    except ImportError:
        raise DataError("PyTorch is not installed", hint="pip install torch") from None


def exported(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], dims: Dims) -> Any:
    """What `torch.export` makes of a module; axes in `dims` are open."""
    export = torch().export
    if isinstance(module, torch().jit.ScriptModule):
        raise ArgumentError("torch.export cannot trace TorchScript", hint="Give the module that it was made of.")
    if on := next((x.device for x in module.state_dict().values() if x.device.type == "meta"), None):
        raise ArgumentError(f"the parameters of this {type(module).__name__} are on the device {on}, without numbers",
                            hint='Write module.to_empty(device="cpu"), and load_state_dict the numbers.')
    for x in (*args, *kwargs.values()):
        if isinstance(x, st.Tensor | np.ndarray):
            raise ArgumentError("a module of PyTorch is exported with PyTorch's tensors, got one of "
                                f"{'NumPy' if isinstance(x, np.ndarray) else 'Stele'}",
                                hint="Write torch.as_tensor(x) for it.")
    opened: dict[str, Any] = {}
    names = argument_names(module, len(args), kwargs)
    given = dict(zip(names, [*args, *kwargs.values()]))
    known = {path: x.ndim for name, x in given.items() for path, x in tensors(x, name)}
    checked(dims, known)
    found = {name: spread(x, name, dims, opened) for name, x in given.items()}
    shapes = (tuple(found[n] for n in names[:len(args)]), {n: found[n] for n in kwargs})
    opened_by_name = merged(module, names, len(args), *shapes) if dims else None
    try:
        with own_functions_refused():
            return export.export(module, tuple(args), dict(kwargs), dynamic_shapes=opened_by_name, strict=False)
    except ArgumentError:
        raise
    except Exception as error:
        walks = any(isinstance(m, torch().nn.RNNBase) for m in module.modules())
        raise untraced(f"this {type(module).__name__}", error, STEPS if walks else HINTS) from error


def untraced(what: str, error: Exception, hints: Mapping[str, str] = HINTS) -> ArgumentError:
    """The error for what the exporter cannot trace, of whatever kind its own is."""
    said = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    why = next((line.removeprefix("- ") for line in said if line.startswith("- ")), said[0])
    return ArgumentError(f"torch.export cannot trace {what}: {why}", hint=next(
        (hint for sign, hint in hints.items() if sign in why), "torch.export.draft_export(module, args) says more."))


def merged(module: Any, names: Sequence[str], n: int, by_place: Sequence[Any], by_name: Mapping[str, Any]) -> Any:
    """Open axes as the exporter takes them: a dict by name, in which what gathers arguments stands as one."""
    params = list(signature(module.forward).parameters.values())
    gathers = next((p.name for p in params if p.kind is Parameter.VAR_POSITIONAL), None)
    own = [p.name for p in params if p.kind is not Parameter.VAR_POSITIONAL][:n] if gathers is None else [
        p.name for p in params[:[p.name for p in params].index(gathers)]][:n]
    shapes = dict(zip(own, by_place[:len(own)]))
    if gathers is not None and n > len(own):
        shapes[gathers] = tuple(by_place[len(own):])
    return {**shapes, **by_name}


def argument_names(module: Any, n: int, kwargs: Mapping[str, Any]) -> list[str]:
    """What n arguments by place, and those by name, are called."""
    named: list[str] = []
    for p in signature(module.forward).parameters.values():
        if p.kind is Parameter.VAR_POSITIONAL:
            named += [f"{p.name}_{k}" for k in range(n - len(named))]
        elif p.kind is not Parameter.VAR_KEYWORD:
            named.append(p.name)
    return [*named[:n], *kwargs]


def checked(dims: Any, known: Mapping[str, int]) -> None:
    """Raises ArgumentError where `dims` does not name axes of tensors, whose numbers of axes are `known` by path."""
    for path, axes in mapping(dims, "dims of from_torch").items():
        if path not in known:
            guess = nearest(path, known)
            raise ArgumentError(f"dims names {path!r}; the tensors given are {', '.join(known)}",
                                hint=f"Did you mean {guess!r}?" if guess else None)
        for axis, name in mapping(axes, f"dims[{path!r}] of from_torch").items():
            if type(axis) is not int or not -known[path] <= axis < known[path]:
                raise ArgumentError(f"dims names axis {axis!r} of {path!r}, which has {known[path]} axes")
            if isinstance(name, str) and not name.isidentifier():
                raise ArgumentError(f"a size in dims[{path!r}] needs a name that is an identifier, got {name!r}",
                                    hint='Multiples are PyTorch\'s: 2 * torch.export.Dim("n").')
            kinds = torch().export.Dim
            if not isinstance(name, str | kinds | type(kinds.AUTO)):
                raise ArgumentError(f"a size in dims[{path!r}] must be a name or a torch.export.Dim, got {name!r}")


def tensors(x: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The tensors in an argument, by their paths."""
    if isinstance(x, torch().Tensor):
        yield path, x
    for key, part in parts(x).items():
        yield from tensors(part, f"{path}.{key}")


def spread(x: Any, path: str, dims: Dims, opened: dict[str, Any]) -> Any:
    """The open axes of an argument, in its own containers."""
    held = {key: spread(part, f"{path}.{key}", dims, opened) for key, part in parts(x).items()}
    if isinstance(x, Mapping | list | tuple) or held:
        return list(held.values()) if is_dataclass(x) else alike(x, held)   # the exporter's own way with dataclasses
    if path not in dims:
        return None
    return {axis: opened.setdefault(name, torch().export.Dim(name)) if isinstance(name, str) else name
            for axis, name in dims[path].items()}


def decomposed(program: Any) -> Any:
    """A program of functional ops: those that have rules as they are, others in core ops of PyTorch's, or in what else
    it writes them in."""
    table = torch().export.default_decompositions()
    for op in list(table):
        if word(op) in RULES:
            table.pop(op)
    made = stopped(program).run_decompositions(table)
    graphs = [m.graph for m in made.graph_module.modules() if hasattr(m, "graph")]
    ops = {n.target for g in graphs for n in g.nodes if isinstance(n.target, torch()._ops.OpOverload)}
    more = import_module("torch._decomp").get_decompositions([op for op in ops if word(op) not in RULES])
    return made.run_decompositions({**table, **more}) if more else made


def word(op: Any) -> str:
    """What an op is called here."""
    if isinstance(op, torch()._ops.OpOverload):
        space, _, name = op.name().partition("::")
        name = name.removesuffix(".default")
        return name if space == "aten" else f"{space}::{name}"
    if isinstance(op, torch()._ops.HigherOrderOperator):
        return f"higher_order.{op.name()}"
    return f"{getattr(op, '__module__', '').lstrip('_')}.{op.__name__}"


def graph(module: Any) -> Graph:
    """A graph module as plain values."""
    nodes: list[Node] = []
    inputs: list[str] = []
    outputs: Any = ()
    for n in module.graph.nodes:
        if n.op == "placeholder":
            inputs.append(n.name)
        elif n.op == "output":
            outputs = plain(n.args[0], module)
        elif n.op == "call_function":
            nodes.append(Node(n.name, op := word(n.target), arguments(n, module), dtypes(n), line(n), layer(n)))
            if op in ("as_strided", "as_strided_scatter"):
                in_order(n, nodes[-1])
    return Graph(tuple(inputs), needed(nodes, outputs), outputs)


def needed(nodes: Sequence[Node], outputs: Any) -> tuple[Node, ...]:
    """The nodes of which an output is made: what is asserted of sizes is not, and asks for what nobody else does."""
    kept, names = list[Node](), set(refs(outputs))
    for node in reversed(nodes):
        if node.name in names:
            kept.append(node)
            names.update(refs(node.inputs))
    return tuple(kept[::-1])


def in_order(n: Any, node: Node) -> None:
    """Raises DataError where strides are of memory in which an array does not lie in order from the first."""
    x, given = n.args[0].meta["val"], node.inputs[-1]
    if not x.is_contiguous() or (given is not None and x.storage_offset()):
        raise DataError(f"node {node} takes strides of an array that is itself a view of other memory: "
                        f"shape {tuple(x.shape)}, strides {tuple(x.stride())}",
                        hint="Write x.contiguous() before as_strided, or the view in terms of axes.")


def arguments(n: Any, module: Any) -> tuple[Any, ...]:
    """All arguments of a node in the order of its schema, defaults too."""
    schema = getattr(n.target, "_schema", None)
    if schema is None:
        return tuple(plain(x, module) for x in (*n.args, *n.kwargs.values()))
    found: list[Any] = []
    for k, a in enumerate(schema.arguments):
        if a.name not in PLACES:
            x = n.args[k] if k < len(n.args) else n.kwargs.get(a.name, a.default_value)
            found.append(plain(x, module))
    return tuple(found)


def plain(x: Any, module: Any) -> Any:
    """An argument without anything of PyTorch's."""
    kinds = torch()
    if isinstance(x, kinds.fx.Node):
        return graph(getattr(module, x.target)) if x.op == "get_attr" else Ref(x.name)
    if isinstance(x, kinds.dtype):
        return named(x)
    if isinstance(x, list | tuple):
        return [plain(part, module) for part in x]
    if x is None or isinstance(x, bool | int | float | complex | str):
        return x
    if isinstance(x, kinds.SymInt | kinds.SymFloat | kinds.SymBool):
        return x.node.maybe_as_int()
    return str(x)


def named(dtype: Any) -> str:
    """A dtype by its name. Raises DTypeError where Stele has none of it."""
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise DTypeError(f"the model computes in torch.{name}, which is no dtype here",
                         hint="Write module.float() before it is exported.")
    return name


def dtypes(n: Any) -> tuple[str | None, ...]:
    """The dtypes of a node's results."""
    value = n.meta.get("val")
    many = value if isinstance(value, list | tuple) else [value]
    return tuple(named(x.dtype) if isinstance(x, torch().Tensor) else None for x in many)


def layer(n: Any) -> str:
    """The path of the module that calls a node."""
    return [("", None), *(n.meta.get("nn_module_stack") or {}).values()][-1][0]


def line(n: Any) -> str:
    """The line of the user's that a node comes from."""
    found = re.findall(r'File "([^"]+)", line (\d+)', n.meta.get("stack_trace") or "")
    return "{}:{}".format(*found[-1]) if found else ""


def shared(x: Any) -> st.Tensor:
    """A tensor of PyTorch's as one of Stele on the same memory."""
    named(x.dtype)
    return st.from_dlpack(x.detach().cpu().resolve_conj())


def structure(spec: Any) -> Any:
    """Containers of a pytree with numbers of its leaves in their places."""
    return contained(torch().utils._pytree.tree_unflatten(list(range(spec.num_leaves)), spec))


def contained(x: Any) -> Any:
    """Containers as plain ones. Raises ArgumentError for those of other kinds, of which nobody knows what they hold."""
    if x is None or isinstance(x, int):
        return x
    if not (isinstance(x, Mapping | list | tuple) or is_dataclass(x)):
        raise ArgumentError(f"the model takes or returns a {type(x).__name__}, in which from_torch does not look",
                            hint="Take and return tuples, lists, dicts, named tuples and dataclasses.")
    return alike(x, {key: contained(part) for key, part in parts(x).items()})


def program(exported: Any, names: Sequence[str] | None) -> Program:
    """An exported program as plain values; `names` are those of its arguments."""
    try:
        made = decomposed(exported)
    except Exception as error:
        raise untraced("the module in ops that are functions", error) from error
    says, placeholders = made.graph_signature, [n for n in made.graph.nodes if n.op == "placeholder"]
    weights: dict[str, str] = {}
    constants: dict[str, Any] = {}
    inputs: list[Input] = []
    for n, spec in zip(placeholders, says.input_specs):
        match spec.kind.name:
            case "PARAMETER" | "BUFFER": weights[n.name] = spec.target
            case "USER_INPUT": inputs.append(given(n, spec))
            case "TOKEN": constants[n.name] = None      # what keeps effects in order, of which there are none here
            case _: constants[n.name] = shared(made.constants[spec.target])
    args, kwargs = structure(made.call_spec.in_spec)
    written: list[tuple[int, str]] = []
    returned: list[int] = []
    for k, spec in enumerate(says.output_specs):
        if spec.kind.name == "BUFFER_MUTATION":
            written.append((k, spec.target))
        elif spec.kind.name == "USER_OUTPUT":
            returned.append(k)
        elif spec.kind.name == "PARAMETER_MUTATION":
            raise ArgumentError(f"the model writes to its parameter {spec.target}, which no program does",
                                hint="Write to it before it is exported, or make it a buffer.")
        elif spec.kind.name != "TOKEN":
            raise ArgumentError(f"the model writes to what it is given ({spec.target}), which no program does",
                                hint="Return the new numbers instead.")
    own = tuple(names) if names else tuple(inputs[x].name if isinstance(x, int) else f"argument_{k}"
                                           for k, x in enumerate([*args, *kwargs.values()]))
    return Program(graph(made.graph_module), weights, constants, tuple(inputs), own, (*args, *kwargs.values()),
                   structure(made.call_spec.out_spec), tuple(written), tuple(returned))


def given(n: Any, spec: Any) -> Input:
    """An argument of the model."""
    value = n.meta.get("val")
    if not isinstance(value, torch().Tensor):
        return Input(n.name, None, getattr(spec.arg, "value", None))
    return Input(n.name, tuple(k if isinstance(k, int) else str(k) for k in value.shape))
