"""A module of PyTorch as one of Stele: its parameters and buffers under their names, on the same memory."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import stele as st
from stele.errors import ArgumentError, ShapeError
from stele.interop.imported import Imported, unheard, word
from stele.interop.torch.export import Dims, argument_names, checked, exported, program, shared, torch
from stele.interop.torch.program import Input, Program, alike, parts
from stele.interop.torch.run import checked as supported
from stele.interop.torch.run import run
from stele.ir.door import public


class TorchModule(Imported):
    """A `program` of PyTorch, called as the module was; its `weights` are by name.

    It runs imperatively and compiled, is trained as any other module, and needs PyTorch no more. What the module did
    in the mode that it was exported in, it does: `train()` and `eval()` change nothing. Raises ArgumentError for other
    arguments than it was exported with, ShapeError for another size of an axis that is not open.

    >>> from stele.interop.torch import TorchModule
    >>> from stele.interop.torch.program import Graph, Input, Node, Program, Ref
    >>> graph = Graph(("w", "x"), (Node("y", "mul.Tensor", (Ref("x"), Ref("w")), ("float32",)),), (Ref("y"),))
    >>> says = Program(graph, {"w": "weight"}, {}, (Input("x", (2,)),), ("x",), (0,), 0, (), (0,))
    >>> module = TorchModule(says, {"weight": st.tensor([2.0, 3.0], requires_grad=True)})
    >>> module(st.ones(2)).tolist(), module(x=st.ones(2)).shape, list(module.state_dict())
    ([2.0, 3.0], (2,), ['weight'])
    """

    def __init__(self, program: Program, weights: Mapping[str, st.Tensor]) -> None:
        supported(program.graph)
        self.program, self.weights = program, dict(weights)
        self.name_inputs(program.names)

    def forward(self, /, *x: Any, **named: Any) -> Any:
        p = self.program
        given = dict(zip(p.graph.inputs, self.graph_inputs(self.bound(x, named))))
        with self.alone():
            outputs = run(p.graph, *(given[name] for name in p.graph.inputs))
        for k, name in p.written:
            self.weights[name].assign(outputs[k])
        return structured(p.result, [outputs[k] for k in p.returned])

    def graph_inputs(self, leaves: Mapping[int, Any]) -> Iterator[Any]:
        """What the graph takes, in order: weights, constants and the leaves of the arguments."""
        p, count = self.program, iter(range(len(self.program.inputs)))
        for name in p.graph.inputs:
            if name in p.weights:
                yield self.weights[p.weights[name]]
            elif name in p.constants:
                yield p.constants[name]
            else:
                yield leaves[next(count)]

    def bound(self, x: Sequence[Any], named: Mapping[str, Any]) -> dict[int, Any]:
        """The leaves of the arguments by their number. Raises ArgumentError for too much or too little."""
        names = self.program.names
        for name in named.keys() - set(names):
            raise unheard("the model has no argument", name, names)
        given = {**dict(zip(names, x)), **named}
        if twice := [name for name in names[:len(x)] if name in named]:
            raise ArgumentError(f"{twice[0]} is given by place and by name")
        if len(x) > len(names) or len(given) < len(names):
            raise ArgumentError(f"the model was exported with {len(names)} arguments ({', '.join(names)}), "
                                f"got {max(len(x), len(given))}")
        leaves: dict[int, Any] = {}
        for name, tree in zip(names, self.program.args):
            for k, leaf in matched(tree, given[name], name):
                leaves[k] = taken(self.program.inputs[k], leaf)
        return leaves

    @property
    def dims(self) -> dict[str, dict[int, str]]:
        """The open sizes, by argument and axis, for `st.compile`: one program for all of them."""
        inputs, found = self.program.inputs, dict[str, dict[int, str]]()
        for name, tree in zip(self.program.names, self.program.args):
            for k, path in leaf_paths(tree, name):
                opened = {a: n for a, n in enumerate(inputs[k].shape or ()) if isinstance(n, str)}
                found |= {path: {a: word(n) for a, n in opened.items()}} if opened else {}
        return found

    def extra_repr(self) -> str:
        return f"{', '.join(self.program.names)}: {len(self.program.graph.nodes)} ops"


def matched(tree: Any, x: Any, path: str) -> Iterator[tuple[int, Any]]:
    """The leaves of an argument with their numbers. Raises ArgumentError for other containers than it had."""
    if isinstance(tree, int):
        yield tree, x
        return
    if tree is None:
        return
    held, given = parts(tree), parts(x)
    if held.keys() != given.keys() or isinstance(x, Mapping) != isinstance(tree, Mapping):
        raise ArgumentError(f"{path} was {shown(tree)} when the model was exported, got {type(x).__name__}")
    for key, part in held.items():
        yield from matched(part, given[key], f"{path}.{key}")


def shown(tree: Any) -> str:
    """A container as messages name it."""
    if isinstance(tree, list | tuple):
        return f"a row of {len(tree)}"
    return f"a {'dict' if isinstance(tree, Mapping) else type(tree).__name__} of {', '.join(map(str, parts(tree)))}"


def leaf_paths(tree: Any, path: str) -> Iterator[tuple[int, str]]:
    """The numbers of leaves and their paths."""
    if isinstance(tree, int):
        yield tree, path
    for key, part in parts(tree).items():
        yield from leaf_paths(part, f"{path}.{key}")


def taken(i: Input, x: Any) -> Any:
    """A leaf as the program takes it. Raises ShapeError and ArgumentError where it was exported for another."""
    if i.shape is None:
        if i.constant is not None and x != i.constant:
            raise ArgumentError(f"{i.name} was {i.constant!r} when the model was exported, got {x!r}",
                                hint="Export it with this one too.")
        return x
    x = st.asarray(x)
    other = [k for k, (n, m) in enumerate(zip(i.shape, x.shape)) if isinstance(n, int) and m != n]
    if x.ndim != len(i.shape) or other:
        raise ShapeError(f"{i.name} was of shape ({', '.join(map(str, i.shape))}) when the model was exported, "
                         f"got {tuple(x.shape)}", hint=None if x.ndim != len(i.shape) else
                         f'Open an axis: from_torch(module, args, dims={{"{i.name}": {{{other[0]}: "n"}}}}).')
    return x


def structured(tree: Any, outputs: Sequence[Any]) -> Any:
    """Outputs in their containers."""
    if tree is None or isinstance(tree, int):
        return None if tree is None else outputs[tree]
    return alike(tree, {key: structured(part, outputs) for key, part in parts(tree).items()})


@public
def from_torch(module: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *,
               dims: Dims | None = None) -> TorchModule:
    """A `module` of PyTorch as one of Stele, through `torch.export` with these example `args` and `kwargs`.

    Parameters and buffers have their names, and begin on the memory of PyTorch's: nothing is copied. One tensor may
    stand for `args` of it alone. Axes that `dims` names are open, `dims={"x": {0: "batch"}}`, where need be as a
    `torch.export.Dim` with bounds; others are those of the examples. A `torch.export.ExportedProgram` is taken as it
    is, without examples: `dims` gives names to the axes that it leaves open. Results have the dtypes that PyTorch says,
    and gradients end at `detach()` and `torch.no_grad()` as there. What is drawn there is drawn anew by Stele's
    generator. Raises ArgumentError for what the exporter cannot trace and for a `torch.autograd.Function` of one's own
    where gradients go through it, DataError for ops that have no rule, all named in one error, and without PyTorch.

    >>> from importlib.util import find_spec
    >>> from stele.interop.torch import from_torch
    >>> callable(from_torch)
    True
    """
    kinds = torch()
    if isinstance(module, kinds.export.ExportedProgram):
        if args or kwargs:
            raise ArgumentError("an exported program is taken as it is, without examples",
                                hint="Write from_torch(exported).")
        p = program(module, None)
        return made(module, under_names(p, dims_of(p, dims or {})))
    if not isinstance(module, kinds.nn.Module):
        raise ArgumentError(f"from_torch takes a torch.nn.Module, got {type(module).__name__}",
                            hint="from_torch_function makes an op of a function of PyTorch's.")
    more, given = dict(kwargs or {}), (args,) if isinstance(args, kinds.Tensor) else tuple(args)
    e = exported(module, given, more, dims or {})
    return made(e, under_names(program(e, argument_names(module, len(given), more)), dims or {}))


def dims_of(p: Program, dims: Dims) -> Dims:
    """Names for the open sizes of a program. Raises ArgumentError for what is no open axis."""
    shapes = {path: p.inputs[k].shape or () for root, tree in zip(p.names, p.args)
              for k, path in leaf_paths(tree, root)}
    checked(dims, {path: len(shape) for path, shape in shapes.items()})
    for path, axes in dims.items():
        for axis in axes:
            if isinstance(shapes[path][axis], int):
                raise ArgumentError(f"axis {axis} of {path!r} was exported for {shapes[path][axis]} alone",
                                    hint="Give it to torch.export.export in dynamic_shapes.")
    return dims


def under_names(p: Program, dims: Dims) -> Program:
    """A program whose open sizes have the names that the caller gave them, where PyTorch numbers them."""
    own = {(p.inputs[k].shape or ())[axis]: getattr(name, "__name__", name) for root, tree in zip(p.names, p.args)
           for k, path in leaf_paths(tree, root) for axis, name in dims.get(path, {}).items()
           if isinstance(name, str) or hasattr(name, "__name__")}
    return replace(p, inputs=tuple(
        i if i.shape is None else replace(i, shape=tuple(own.get(n, n) for n in i.shape)) for i in p.inputs))


def made(exported: Any, program: Program) -> TorchModule:
    """The module of a program, with the weights that were exported."""
    known: dict[int, st.Tensor] = {}        # tied ones are one
    weights: dict[str, st.Tensor] = {}
    held = {**exported.constants, **exported.state_dict}
    for name in program.weights.values():
        x = held[name]
        if id(x) not in known:
            own = shared(x)
            if isinstance(x, torch().nn.Parameter) and own.dtype.is_float:
                own.requires_grad_().requires_grad_(x.requires_grad)
            known[id(x)] = own
        weights[name] = known[id(x)]
    found = TorchModule(program, weights)
    found._transient = tuple(name for name in weights if name not in exported.state_dict)
    return found
