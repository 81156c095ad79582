"""`compile`: a Python function that runs as one program, and what can be asked of it."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from itertools import chain
from operator import is_
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, Protocol, Self, TypeVar, overload

from stele import tree
from stele.backend.base import Program
from stele.backend.locks import RUNNING
from stele.errors import OutOfMemory, TraceError
from stele.evaluate import name_largest
from stele.general import general
from stele.handle import GRAD, TRACING
from stele.ir.door import leaving, public
from stele.ir.graph import Constant, Graph
from stele.ir.origin import lines
from stele.ir.types import Sizes, Type, show
from stele.ops.arguments import function
from stele.pipeline import Options, build, options_of
from stele.plan import Plan, donations, steady
from stele.signature import (
    Dims,
    Shapes,
    checked_dims,
    declare,
    family,
    kind,
    leaf_names,
    match,
    shape_of,
    sharing,
    signature,
    type_of,
    widen,
)
from stele.state import SCALARS, Opaque
from stele.straight import MISS, Call, straight
from stele.trace import Traced, trace

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")

MANY = 8        # traces of one call pattern after which a changing number is worth a warning
MOST = 32       # plans kept of one call pattern
PROGRAMS = 64   # programs kept of one function
CALLS = 1024    # exact shapes and numbers of arguments whose plans are kept at hand


class Variant(NamedTuple):
    """A plan, and the shapes of its array leaves with the sizes that stay open."""

    plan: Plan
    shapes: Shapes


class Entry(NamedTuple):
    """A plan, the sizes at which it runs, and its call written for them."""

    plan: Plan
    sizes: Mapping[str, int]
    call: Call


class Compiled(Opaque, Generic[P, R]):
    """A function that is traced at its first call and runs as one program from then on.

    Tensors read inside become inputs, whatever is rebound inside becomes an output that is written back, parameters
    are updated in place. Python numbers read inside are constants: where one changes, the function is traced again.
    """

    def __init__(self, function: Callable[P, R], dims: Dims, options: Options) -> None:
        update_wrapper(self, function)
        self.function, self.dims, self.options = function, dims, options
        self.name = getattr(function, "__name__", type(function).__name__)
        self.plans: dict[Any, list[Entry]] = {}
        self.latest: Call = lambda _: MISS
        self.variants: dict[Any, list[Variant]] = {}
        self.built: dict[Any, Program] = {}
        self.called: dict[Any, int] = {}        # how often a program had been called when the last one was made
        self.finished = 0                       # plans that were made and are at hand
        self.history: dict[Any, tuple[int, Plan, dict[str, str]]] = {}
        self.closed: set[Any] = set()
        self.traces = 0

    def inside(self) -> tuple[Any, ...]:
        return self.function,

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self: Compiled[Concatenate[S, Q], R], instance: S, owner: type | None = None) -> Method[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: the same compiled function with its first argument given."""
        return self if instance is None else Method(self, instance)

    def trace(self, *what: Any) -> Traced:
        """One run of the function on symbols."""
        self.traces += 1
        return trace(self.function, *what)

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
        found += [f"{v.type} at {', '.join(lines(v.where))}" for plan in plans for v in (
            *plan.traced.constants, *(v for v in plan.traced.graph if isinstance(v.op, Constant)))]
        return list(dict.fromkeys(found))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if TRACING.get() is not None:
            return self.function(*args, **kwargs)
        try:
            if not kwargs and (made := self.latest(args)) is not MISS:
                return made
            leaves, spec = tree.flatten((args, kwargs))
            key = (spec, GRAD.get(), sharing(leaves), *map(signature, leaves))
            for entry in self.plans.get(key, ()):
                if (made := entry.call(leaves)) is not MISS:
                    if len(leaves) == len(args) and all(map(is_, leaves, args)):
                        self.latest = entry.call
                    return made
            return self.fitting(key, leaves, spec)
        except Exception as error:
            if isinstance(error, OutOfMemory):
                name_largest(error, (v for graph in self.graphs[-1:] for v in graph))
            leaving(error)
            raise

    def fitting(self, key: Any, leaves: Sequence[Any], spec: tree.Spec | None) -> Any:
        """A call whose exact shapes are new, or whose guards have changed: by a plan that there is, or by a new one."""
        shapes = tuple(shape_of(x) for x in leaves)
        before = self.finished
        if (made := self.known(key, leaves, shapes)) is not MISS:
            return made
        with RUNNING:
            if self.finished != before:     # by another thread, while this one waited
                for entry in self.plans.get(key, ()):
                    if (made := entry.call(leaves)) is not MISS:
                        return made
                if (made := self.known(key, leaves, shapes)) is not MISS:
                    return made
            variants = self.patterns(key, leaves)
            plan, sizes = self.specialised(variants, spec, leaves, shapes)
            del variants[:-MOST]
            entry = self.enter(key, plan, sizes, straight(plan, sizes, leaves, len(leaves)))
            self.forget(plan.program)
            self.finished += 1
        self.count((*key[:3], *map(kind, leaves)), plan, leaves, spec)
        if (made := entry.call(leaves)) is MISS:
            raise TraceError(f"{self.name} changed its own inputs while it was traced",
                             hint="Pass what changes as an argument.")
        return made

    def patterns(self, key: Any, leaves: Sequence[Any]) -> list[Variant]:
        """The plans of this call pattern."""
        return self.variants.setdefault((*key[:3], *map(family, leaves)), [])

    def known(self, key: Any, leaves: Sequence[Any], shapes: tuple[Any, ...]) -> Any:
        """The call by a plan of the same pattern that was not tried for these shapes yet, or MISS."""
        tried = [entry.plan for entry in self.plans.get(key, ())]
        for variant in [*self.patterns(key, leaves)]:
            plan, sizes = variant.plan, match(variant.shapes, shapes)
            if sizes is not None and not fails(variant, sizes) and all(plan is not other for other in tried):
                call = straight(plan, sizes, leaves, len(leaves))
                if (made := call(leaves)) is not MISS:
                    self.enter(key, plan, sizes, call)
                    return made
        return MISS

    def enter(self, key: Any, plan: Plan, sizes: Mapping[str, int], call: Call) -> Entry:
        """Puts a plan at hand for these exact shapes."""
        entries = self.plans.setdefault(key, [])
        entries.append(Entry(plan, sizes, call))
        del entries[:-MOST]
        if len(self.plans) > CALLS:
            del self.plans[next(iter(self.plans))]
        return entries[-1]

    def forget(self, latest: Program) -> None:
        """Drops the programs that nobody has called for longest, beyond those that are kept."""
        for key, program in [*self.built.items()]:
            if program is latest or program.calls != self.called.get(key):
                self.called[key], self.built[key] = program.calls, self.built.pop(key)
        gone = [*self.built][:-PROGRAMS]
        if not gone:
            return
        kept = {id(program) for key, program in self.built.items() if key not in gone}
        for key in gone:
            del self.built[key], self.called[key]
        self.latest = lambda _: MISS
        tables: list[dict[Any, list[Any]]] = [self.plans, self.variants]
        for plans in tables:
            for key in [*plans]:
                plans[key] = [one for one in plans[key] if id(one.plan.program) in kept]
                if not plans[key]:
                    del plans[key]

    def count(self, pattern: Any, plan: Plan, leaves: Sequence[Any], spec: tree.Spec | None) -> None:
        """Warns where one call pattern is traced again and again."""
        names = leaf_names(self.function, spec)
        given = {name: shown(x) for name, x in zip(names, leaves)}
        count, last, before = self.history.get(pattern, (0, plan, given))
        self.history[pattern] = count + 1, plan, given
        if count + 1 == MANY:
            arguments = (f"{name} was {before[name]}, now {x}" for name, x in given.items() if before.get(name, x) != x)
            changed = next(chain(arguments, last.broken()), "an object was replaced")
            warnings.warn(f"{self.name} was traced {MANY} times, since what it reads changes: {changed}. "
                          "Keep such a number in a tensor, open such a size with dims, and ask for no number of it "
                          "(len(x), float(n), n ** 0.5), but compute with x.shape.", stacklevel=4)

    def specialised(self, variants: list[Variant], spec: tree.Spec | None, leaves: Sequence[Any],
                    shapes: tuple[Any, ...]) -> tuple[Plan, Mapping[str, int]]:
        """A new trace: with the declared sizes open, and those that were seen with a second value."""
        names = leaf_names(self.function, spec)
        declared = declare(self.dims, self.name, names, shapes)
        opened = widen(variants[-1].shapes, declared) if variants else declared
        failed: tuple[Shapes, Exception] | None = None
        for pattern in dict.fromkeys((opened, declared)):
            sizes = match(pattern, shapes)
            if not sizes or (spec, pattern) in self.closed:
                continue
            try:
                plan = self.make(names, spec, leaves, pattern, sizes)
            except Exception as error:  # may well run at fixed sizes; what is wrong is wrong there too
                failed = pattern, error
                continue
            if plan is None:
                break
            variants.append(Variant(plan, pattern))
            return plan, sizes
        plan = self.make(names, spec, leaves, shapes, {})
        assert plan is not None
        if failed is not None and all(v.shapes != failed[0] for v in variants):
            self.note(names, *failed)
            self.closed.add((spec, failed[0]))
        variants.append(Variant(plan, shapes))
        return plan, {}

    def note(self, names: Sequence[str], pattern: Shapes, error: Exception) -> None:
        """Says once why sizes are not open."""
        if self.closed:
            return
        wanted = ", ".join(f"{name} {show(shape)}" for name, shape in zip(names, pattern)
                           if shape and not all(isinstance(n, int) for n in shape))
        warnings.warn(f"{self.name} is compiled for each size, since {wanted} cannot stay open: "
                      f"{type(error).__name__}: {error}", stacklevel=5)

    def make(self, names: Sequence[str], spec: tree.Spec | None, leaves: Sequence[Any], pattern: tuple[Any, ...],
             sizes: Mapping[str, int]) -> Plan | None:
        """Traces the function, and builds its program unless an equal one is there; None where that would run at no
        other sizes."""
        types = {k: Type(type_of(x), pattern[k]) for k, x in enumerate(leaves) if pattern[k] is not None}
        known = Sizes(dict(sizes), [])
        traced = self.trace(spec, leaves, types, names, known)
        if any(isinstance(g.right, int) and g.relation == "==" and str(g.left) in sizes.keys() - known.asked.keys()
               for g in known.guards):
            return None
        if known.asked:
            moved = {name: Sizes({**sizes, name: sizes[name] + 1}, []) for name in known.asked}
            others = {name: self.trace(spec, leaves, types, names, at) for name, at in moved.items()}
            traced = general(traced, others, known)
        donated = donations(traced)
        unchanged = steady(traced, leaves)
        graph = Graph(traced.graph.parameters, traced.graph.results)    # calls check its guards before it runs
        key = (graph.digest, tuple(donated.items()), unchanged)
        if key not in self.built:
            self.built[key] = build(graph, donate=donated, steady=unchanged, options=self.options)
        return Plan(traced, self.built[key], leaves, donated)

    def __repr__(self) -> str:
        if not self.traces:
            return f"<compiled {self.name}: not called yet>"
        return f"<compiled {self.name}: {self.compiles} program{'s' * (self.compiles != 1)} of {self.traces} " \
               f"trace{'s' * (self.traces != 1)}>"


class Method(Opaque, Generic[P, R]):
    """A compiled function with its first argument given."""

    def __init__(self, compiled: Compiled[Any, R], instance: Any) -> None:
        self.compiled, self.instance = compiled, instance

    def inside(self) -> tuple[Any, ...]:
        return self.compiled, self.instance

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return self.compiled(self.instance, *args, **kwargs)
        except Exception as error:
            leaving(error)
            raise


def shown(x: Any) -> str:
    """What of an argument the choice of a plan depends on, in words."""
    shape = shape_of(x)
    return repr(x) if isinstance(x, SCALARS) else f"<{type(x).__name__} {id(x):#x}>" if shape is None else f"{shape}"


def fails(variant: Variant, sizes: Mapping[str, int]) -> bool:
    """Whether a variant's assumptions on sizes break, so that the same pattern would be traced in vain."""
    return not all(g.holds(dict(sizes)) for g in variant.plan.traced.graph.guards)


class Compiler(Protocol):
    """`compile` with its options given: a decorator."""

    def __call__(self, f: Callable[P, R], /) -> Compiled[P, R]: ...


@overload
def compile(f: Callable[P, R], *, dims: Dims | None = ..., **options: Any) -> Compiled[P, R]: ...
@overload
def compile(f: None = None, *, dims: Dims | None = ..., **options: Any) -> Compiler: ...
@public
def compile(f: Callable[..., Any] | None = None, *, dims: Dims | None = None, **options: Any) -> Any:
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
    chosen, opened = options_of("compile", options, "dims"), checked_dims(dims)

    def compiled(g: Callable[..., Any]) -> Compiled[..., Any]:
        return Compiled(function(g, "what compile takes"), opened, chosen)

    return compiled if f is None else compiled(f)
