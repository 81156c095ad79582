"""What of the arguments a compiled function depends on: their structure, their types, and the sizes that stay open."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stele.arrays.tensor import Tensor
from stele.eager.handle import Handle
from stele.errors import ArgumentError, ShapeError, TraceError
from stele.ir.sizes import Dim, Size, size
from stele.ir.types import Type, dtype, show
from stele.ops.arguments import function, refuse, whole
from stele.ops.arguments import parameters as parameters_of
from stele.tracing import tree
from stele.tracing.state import SCALARS, exact

Dims = Mapping[str, Mapping[int, str]]
Shapes = tuple[tuple[Dim, ...] | None, ...]


def sharing(leaves: Sequence[Any]) -> Any:
    """Which tensors among the leaves are one and the same."""
    if len(leaves) < 2:
        return None
    tensors = [id(x) for x in leaves if type(x) is Tensor]
    return None if len(set(tensors)) == len(tensors) else tuple(map(tensors.index, tensors))


def signature(x: Any) -> Any:
    """What of a leaf the choice of a plan depends on."""
    if type(x) is Tensor:
        t = x._value.type
        return t.shape, t.dtype.name, t.device, x.requires_grad
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype.str
    return (type(x), exact(x)) if isinstance(x, SCALARS) else id(x)


def family(x: Any) -> Any:
    """`signature` without the sizes of axes."""
    if isinstance(x, Handle | np.ndarray):
        shape, *rest = signature(x)
        return len(shape), *rest
    return signature(x)


def kind(x: Any) -> Any:
    """`family` without the values of numbers and the identity of objects."""
    return family(x) if isinstance(x, Handle | np.ndarray) else type(x)


def shape_of(x: Any) -> tuple[Dim, ...] | None:
    """The shape of an array leaf; None for any other."""
    return x._value.type.shape if isinstance(x, Handle) else x.shape if isinstance(x, np.ndarray) else None


def type_of(x: Any) -> Type:
    """The type of an array leaf."""
    return x._value.type if isinstance(x, Handle) else Type(dtype(x.dtype), x.shape)


def leaf_names(f: Callable[..., Any], spec: tree.Spec | None) -> list[str]:
    """A name for each leaf of the arguments: the parameter's, and the path inside of it.

    Of `*x` it is the path in a tuple, x.0 the first; what only `**named` takes has the name that it was given.
    """
    assert spec is not None
    positional, keyword = spec.parts
    if (takes := parameters_of(function(f, "what is traced"))) is None:
        raise ArgumentError(f"nobody knows what {f!r:.60} takes: it is made in C, and says nothing of it",
                            hint="Write a function around it.")
    parameters = takes.parameters.values()
    alone = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    others = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    assert positional is not None and keyword is not None
    found: list[str] = []
    for k, part in enumerate(positional.parts):
        found += tree.paths(part, alone[k] if k < len(alone) else f"{others}.{k - len(alone)}")
    for name, part in zip(keyword.keys, keyword.parts):
        found += tree.paths(part, name)
    return found


def widen(old: Sequence[Any], new: Sequence[Any]) -> tuple[Any, ...]:
    """The shapes with every axis open that has met a second value; axes that changed together share a name."""
    names: dict[tuple[Dim, Dim], Size] = {}

    def one(a: Dim, b: Dim) -> Dim:
        if a == b or isinstance(b, Size):
            return b
        if isinstance(a, Size) and str(a).startswith("n"):
            return a
        if (a, b) not in names:
            taken = {str(n) for shape in old if shape for n in shape}
            names[a, b] = size(next(f"n{k}" for k in range(len(taken) + len(names) + 1)
                                    if f"n{k}" not in taken and size(f"n{k}") not in names.values()))
        return names[a, b]

    return tuple(None if b is None else tuple(map(one, a, b)) for a, b in zip(old, new))


def match(pattern: Sequence[Any], shapes: Sequence[Any]) -> dict[str, int] | None:
    """The named sizes under which the pattern is these shapes; None where there are none."""
    sizes: dict[str, int] = {}
    for wanted, shape in zip(pattern, shapes):
        if wanted is None or shape is None:
            if wanted is not shape:
                return None
            continue
        for n, k in zip(wanted, shape):
            if isinstance(n, int):
                if n != k:
                    return None
            elif sizes.setdefault(str(n), k) != k:
                return None
    return sizes


def checked_dims(dims: Any) -> Dims:
    """What `dims` says: for arguments by name, a name for the size of each axis that is open."""
    wanted = "{argument: {axis: name}}, such as {'x': {0: 'batch'}}"
    given: Any = {} if dims is None else dims
    if not isinstance(given, Mapping):
        refuse("dims", wanted, dims)
    for path, axes in given.items():
        if not isinstance(path, str) or not isinstance(axes, Mapping):
            refuse("dims", wanted, dims)
        for axis, name in axes.items():
            whole(axis, f"every axis of dims[{path!r}]")
            size(name if isinstance(name, str) else refuse(f"a size in dims[{path!r}]", "a name", name))
    return given


def declare(dims: Dims, name: str, names: Sequence[str], shapes: Shapes) -> Shapes:
    """The shapes with the sizes open that `dims` names; `name` is the function's, for messages."""
    pattern = [None if shape is None else list(shape) for shape in shapes]
    for path, axes in dims.items():
        hit = [k for k, n in enumerate(names) if (n == path or n.startswith(f"{path}.")) and shapes[k] is not None]
        if not hit:
            arrays = [n for n, shape in zip(names, shapes) if shape is not None]
            raise TraceError(f"dims names the argument {path!r}, but {name} was called with the arrays {arrays}")
        for k, axis in ((k, axis) for k in hit for axis in axes):
            shape = pattern[k]
            assert shape is not None
            if not -len(shape) <= axis < len(shape):
                raise ShapeError(f"dims opens axis {axis} of {names[k]!r}, which has shape {show(tuple(shape))}")
            shape[axis] = size(axes[axis])
    declared = tuple(None if shape is None else tuple(shape) for shape in pattern)
    if match(declared, shapes) is None:
        raise ShapeError(f"one name in dims stands for different sizes: {declared} cannot be {shapes}")
    return declared
