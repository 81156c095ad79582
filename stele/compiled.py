"""`compile`: a Python function that runs as one program, and what can be asked of it."""
from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, NamedTuple, overload

import numpy as np

from . import tree
from .backend.base import Program
from .errors import ShapeError, TraceError
from .evaluate import RUNNING
from .handle import GRAD, TRACING, Handle
from .ir.graph import Graph
from .ir.origin import lines
from .ir.sizes import Dim, Size, size
from .ir.types import DType, Sizes, Type, dtype, show
from .pipeline import Options, build
from .plan import Plan, donations, match
from .state import SCALARS, Opaque
from .tensor import Tensor
from .trace import trace

MANY = 8        # traces of one call pattern after which a changing number is worth a warning
MOST = 32       # plans kept of one call pattern

Dims = Mapping[str, Mapping[int, str]]


class Variant(NamedTuple):
    """A plan, and the shapes of its array leaves with the sizes that stay open."""

    plan: Plan
    shapes: tuple[tuple[Dim, ...] | None, ...]


class Compiled(Opaque):
    """A function that is traced at its first call and runs as one program from then on.

    Tensors read inside become inputs, whatever is rebound inside becomes an output that is written back, parameters
    are updated in place. Python numbers read inside are constants: where one changes, the function is traced again.
    """

    def __init__(self, function: Callable[..., Any], dims: Dims, options: Options) -> None:
        update_wrapper(self, function)
        self.function, self.dims, self.options = function, dims, options
        self.plans: dict[Any, list[tuple[Plan, Mapping[str, int]]]] = {}
        self.variants: dict[Any, list[Variant]] = {}
        self.built: dict[Any, Program] = {}
        self.traces = 0

    def inside(self) -> tuple[Any, ...]:
        return self.function,

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: the same compiled function with its first argument given."""
        return self if instance is None else Method(self, instance)

    @property
    def compiles(self) -> int:
        """How many programs were built."""
        return len(self.built)

    @property
    def programs(self) -> list[Program]:
        """The programs built so far."""
        return list(self.built.values())

    @property
    def graphs(self) -> list[Graph]:
        """The traced graphs, as they were before any pass."""
        return [variant.plan.traced.graph for variants in self.variants.values() for variant in variants]

    @property
    def guards(self) -> list[str]:
        """What is checked at every call, in words; where it fails the function is traced again."""
        plans = [variant.plan for variants in self.variants.values() for variant in variants]
        found = [f"{slot.path} == {x!r}" for plan in plans for slot, x in plan.traced.state.numbers]
        found += [f"{guard}" for plan in plans for guard in plan.traced.graph.guards]
        return list(dict.fromkeys(found))

    @property
    def constants(self) -> list[str]:
        """Python numbers the function read, and arrays it made while it was traced."""
        plans = [variant.plan for variants in self.variants.values() for variant in variants]
        found = [f"{slot.path} = {x!r}" for plan in plans for slot, x in plan.traced.state.numbers
                 if isinstance(x, int | float) and not isinstance(x, bool)]
        found += [f"{v.type} at {', '.join(lines(v.where))}" for plan in plans for v in plan.traced.constants]
        return list(dict.fromkeys(found))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if TRACING.get() is not None:
            return self.function(*args, **kwargs)
        if not kwargs and all(type(x) is Tensor for x in args):
            leaves, spec, structure = args, None, len(args)
        else:
            leaves, spec = tree.flatten((args, kwargs))
            structure = spec
        key = (structure, GRAD.get(), sharing(leaves), *map(signature, leaves))
        for plan, sizes in self.plans.get(key, ()):
            if (handles := plan.ready(leaves)) is not None:
                return plan(handles, leaves, sizes)
        plan, sizes = self.fitting(key, *((leaves, spec) if spec is not None else tree.flatten((args, kwargs))))
        handles = plan.ready(leaves)
        if handles is None:
            raise TraceError(f"{self.function.__name__} changed its own inputs while it was traced",
                             hint="Pass what changes as an argument.")
        return plan(handles, leaves, sizes)

    def fitting(self, key: Any, leaves: list[Any], spec: tree.Spec | None) -> tuple[Plan, Mapping[str, int]]:
        """A plan for a call whose exact shapes are new, or whose guards have changed."""
        family = (*key[:3], *map(loose_signature, leaves))
        variants = self.variants.setdefault(family, [])
        shapes = tuple(shape_of(x) for x in leaves)
        for plan, pattern in variants:
            sizes = match(pattern, shapes)
            if sizes is not None and all(g.holds(sizes) for g in plan.traced.graph.guards) and plan.ready(leaves) is not None:
                self.plans.setdefault(key, []).append((plan, sizes))
                return plan, sizes
        with RUNNING:
            plan, sizes = self.specialised(variants, spec, leaves, shapes)
        self.plans.setdefault(key, []).append((plan, sizes))
        del self.plans[key][:-MOST]
        if len(self.plans[key]) == MANY:
            warnings.warn(f"{self.function.__name__} was traced {MANY} times for the same shapes, since a Python value it "
                          f"reads changes: {difference(self.plans[key][-2][0], plan)}. Keep it in a tensor instead.",
                          stacklevel=3)
        return plan, sizes

    def specialised(self, variants: list[Variant], spec: tree.Spec | None, leaves: list[Any],
                    shapes: tuple[Any, ...]) -> tuple[Plan, Mapping[str, int]]:
        """A new trace: with the declared sizes open, and those that were seen with a second value."""
        names = leaf_names(self.function, spec)
        declared = self.declare(names, shapes)
        opened = widen(variants[-1].shapes, declared) if variants else declared
        for pattern in dict.fromkeys((opened, declared)):
            sizes = match(pattern, shapes)
            if sizes is None or any(v.shapes == pattern and fails(v, sizes) for v in variants):
                continue
            try:
                plan = self.make(names, spec, leaves, pattern, sizes)
            except ShapeError:
                if pattern == declared:
                    raise
                continue
            variants.append(Variant(plan, pattern))
            return plan, sizes
        plan = self.make(names, spec, leaves, shapes, {})
        variants.append(Variant(plan, shapes))
        return plan, {}

    def declare(self, names: Sequence[str], shapes: tuple[Any, ...]) -> tuple[Any, ...]:
        """The shapes with the sizes that `dims` keeps open."""
        pattern = [None if shape is None else list(shape) for shape in shapes]
        for path, axes in self.dims.items():
            hit = [k for k, name in enumerate(names) if (name == path or name.startswith(f"{path}.")) and shapes[k] is not None]
            if not hit:
                raise TraceError(f"dims names the argument {path!r}, but {self.function.__name__} was called with the arrays "
                                 f"{[n for n, s in zip(names, shapes) if s is not None]}")
            for k in hit:
                for axis, name in axes.items():
                    if not -len(shapes[k]) <= axis < len(shapes[k]):
                        raise ShapeError(f"dims opens axis {axis} of {names[k]!r}, which has shape {show(shapes[k])}")
                    pattern[k][axis] = size(name)  # type: ignore[index]
        declared = tuple(None if shape is None else tuple(shape) for shape in pattern)
        if match(declared, shapes) is None:
            raise ShapeError(f"one name in dims stands for different sizes: {declared} cannot be {shapes}")
        return declared

    def make(self, names: Sequence[str], spec: tree.Spec | None, leaves: list[Any], pattern: tuple[Any, ...],
             sizes: Mapping[str, int]) -> Plan:
        """Traces the function, and builds its program unless an equal one is there."""
        types = {k: Type(type_of(x), pattern[k]) for k, x in enumerate(leaves) if pattern[k] is not None}
        self.traces += 1
        traced = trace(self.function, spec, leaves, types, names, Sizes(dict(sizes), []))
        donated = donations(traced)
        key = (traced.graph.digest, tuple(donated.items()))
        if key not in self.built:
            self.built[key] = build(traced.graph, donate=donated, options=self.options)
        return Plan(traced, self.built[key], leaves, donated)

    def __repr__(self) -> str:
        return f"<compiled {self.function.__name__}: {self.compiles} programs, {self.traces} traces>"


class Method(Opaque):
    """A compiled function with its first argument given."""

    def __init__(self, compiled: Compiled, instance: Any) -> None:
        self.compiled, self.instance = compiled, instance

    def inside(self) -> tuple[Any, ...]:
        return self.compiled, self.instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.compiled(self.instance, *args, **kwargs)


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
        return t.shape, t.dtype.name, x.requires_grad
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype.str
    return (type(x), x) if isinstance(x, SCALARS) else id(x)


def loose_signature(x: Any) -> Any:
    """`signature` without the sizes of axes."""
    if isinstance(x, Handle | np.ndarray):
        shape, *rest = signature(x)
        return len(shape), *rest
    return signature(x)


def shape_of(x: Any) -> tuple[int, ...] | None:
    """The shape of an array leaf; None for any other."""
    return x._value.type.shape if isinstance(x, Handle) else x.shape if isinstance(x, np.ndarray) else None


def type_of(x: Any) -> DType:
    return x._value.type.dtype if isinstance(x, Handle) else dtype(x.dtype)


def leaf_names(f: Callable[..., Any], spec: tree.Spec | None) -> list[str]:
    """A name for each leaf of the arguments: the parameter's, and the path inside of it."""
    assert spec is not None
    positional, keyword = spec.parts
    parameters = [p.name for p in inspect.signature(f).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    assert positional is not None and keyword is not None
    found: list[str] = []
    for k, part in enumerate(positional.parts):
        found += tree.paths(part, parameters[k] if k < len(parameters) else f"{parameters[-1]}.{k}")
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


def fails(variant: Variant, sizes: Mapping[str, int]) -> bool:
    """Whether a variant's assumptions on sizes break, so that the same pattern would be traced in vain."""
    return not all(g.holds(dict(sizes)) for g in variant.plan.traced.graph.guards)


def difference(old: Plan, new: Plan) -> str:
    """The first Python value that two plans were traced with differently."""
    values = {slot.path: x for slot, x in old.traced.state.numbers}
    return next((f"{slot.path} was {values[slot.path]!r}, now {x!r}" for slot, x in new.traced.state.numbers
                 if slot.path in values and values[slot.path] != x), "an object was replaced")


@overload
def compile(f: Callable[..., Any], *, dims: Dims = ..., **options: Any) -> Compiled: ...
@overload
def compile(f: None = None, *, dims: Dims = ..., **options: Any) -> Callable[[Callable[..., Any]], Compiled]: ...
def compile(f: Callable[..., Any] | None = None, *, dims: Dims = {}, **options: Any) -> Any:
    """The function as one compiled program; also a decorator, with or without options.

    `dims={"x": {0: "batch"}}` leaves axis 0 of argument x open, so that every batch size runs the same program.
    An argument inside a container is named by its path, such as "batch.images". Tensors and NumPy arrays among the
    arguments are inputs; Python numbers are constants: the function is traced again for others.

    >>> import stele as st
    >>> @st.compile
    ... def f(x):
    ...     return x * 2 + 1
    >>> f(st.tensor([1.0, 2.0])).tolist()
    [3.0, 5.0]
    """
    chosen = Options(**options)
    return (lambda g: Compiled(g, dims, chosen)) if f is None else Compiled(f, dims, chosen)
