"""`compile`: a Python function that runs as one program, and what can be asked of it."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import sys
from collections.abc import Callable
from functools import update_wrapper, wraps
from operator import attrgetter, is_
from pathlib import Path
from types import MethodType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, Self, TypeVar, get_args, overload

from stele.backend.base import Program
from stele.call.library import export
from stele.call.reasons import Compiles
from stele.call.straight import MISS, Call, Refilled
from stele.call.variants import Variants
from stele.eager.evaluate import name_largest
from stele.eager.handle import GRAD, TRACING, is_stepping
from stele.errors import GraphError, NotANumber, OutOfMemory
from stele.ir.door import leaving, public
from stele.ir.graph import Constant, Graph
from stele.ir.origin import lines
from stele.ops.arguments import choice, function
from stele.pipeline import Options, options_of
from stele.staged.convert import converted
from stele.tracing import tree
from stele.tracing.signature import Dims, checked_dims, leaf_names, sharing, signature
from stele.tracing.state import Opaque

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
Control = Literal["python"]


class Compiled(Opaque, Generic[P, R]):
    """A function that is traced at its first call and runs as one program from then on.

    Tensors read inside become inputs, whatever is rebound inside becomes an output that is written back, parameters
    are updated in place. Python numbers read inside are constants: where one changes, the function is traced again.

    A pickle names it, as it names functions, where it stands under the name of its function; else it is made anew of
    what it was made of, and traced anew. Copies are made so too. Other attributes are those of what it was made of,
    such as a module's parameters and its `eval()`; what gives that itself gives this.
    """

    own = frozenset(("function", "variants", "origin", "latest"))

    def __init__(self, function: Callable[P, R], dims: Dims, options: Options, rewritten: bool = False) -> None:
        taken = converted(function) if rewritten else function
        update_wrapper(self, taken, updated=())
        self.function, self.variants = taken, Variants(taken, dims, options)
        self.origin = function, dims, options, rewritten
        self.latest: Call = no_call

    def __reduce__(self) -> Any:
        name: Any = vars(self).get("__qualname__")
        try:
            named = attrgetter(name)(sys.modules[self.__module__])
        except (AttributeError, KeyError, TypeError):       # made in a function, or of an object
            named = None
        return name if named is self else (Compiled, self.origin)

    def inside(self) -> tuple[Any, ...]:
        return self.function,

    def __getattr__(self, name: str) -> Any:
        if name in self.own or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found: Any = getattr(self.function, name)
        return self.passing(found) if isinstance(found, MethodType) and found.__self__ is self.function else found

    def __setattr__(self, name: str, x: Any) -> None:
        if name in self.own or name.startswith("__"):
            super().__setattr__(name, x)
        else:
            setattr(self.function, name, x)

    def passing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of what this was made of, which gives this where it gives that."""
        @wraps(method)
        def passed(*args: Any, **kwargs: Any) -> Any:
            made = method(*args, **kwargs)
            return self if made is self.function else made

        return passed

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self: Compiled[Concatenate[S, Q], R], instance: S, owner: type | None = None) -> Method[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: the same compiled function with its first argument given."""
        return self if instance is None else Method(self, instance)

    @property
    def traces(self) -> int:
        """How often the function was traced."""
        return self.variants.traces

    @property
    def compiles(self) -> Compiles:
        """How many programs were built; going through it says of each why, with the line, and `print` shows all."""
        return Compiles(self.variants.reasons.values())

    @property
    def programs(self) -> list[Program]:
        """The programs built so far."""
        return list(self.variants.programs.values())

    @property
    def graphs(self) -> list[Graph]:
        """The traced graphs, as they were before any pass."""
        return [traced.graph for traced in self.variants.traced]

    @property
    def guards(self) -> list[str]:
        """What is checked at every call, in words; where it fails the function is traced again."""
        found = [f"{slot.path} == {x!r}" for traced in self.variants.traced for slot, x in traced.state.numbers]
        found += [f"{guard}" for graph in self.graphs for guard in graph.guards]
        return list(dict.fromkeys(found))

    @property
    def constants(self) -> list[str]:
        """Python numbers the function read, and arrays it made while it was traced."""
        found = [f"{slot.path} = {x!r}" for traced in self.variants.traced for slot, x in traced.state.numbers
                 if isinstance(x, int | float) and not isinstance(x, bool)]
        found += [f"{v.type} at {', '.join(lines(v.where))}" for traced in self.variants.traced for v in (
            *traced.constants, *(v for v in traced.graph if isinstance(v.op, Constant)))]
        return list(dict.fromkeys(found))

    @public
    def export_library(self, folder: str | Path, name: str | None = None) -> None:
        """Writes a shared library of the program that was traced last into a `folder`, with a header for C, an example
        and a file for pkg-config; its functions begin with `name`, the function's own without one.

        It holds the weights, runs without Python, in memory and on threads of its caller; sizes that are open are
        arguments. Raises GraphError where nothing was traced, for functions that rebind what lies outside, and for
        ops that Python computes; ArgumentError for names that C does not take. A call whose arguments are one and the
        same tensor does not count.

        >>> @st.compile(dims={"x": {0: "n"}})
        ... def double(x):
        ...     return x * 2
        >>> _ = double(st.ones(3))
        >>> double.export_library("double")
        >>> import pathlib; sorted(path.name for path in pathlib.Path("double").iterdir())
        ['double.h', 'double.pc', 'example.c', 'libdouble.so']
        """
        for (spec, _, shared, *_), variants in reversed(self.variants.all.items()):
            for variant in reversed(variants):
                if shared is None and not [*variant.plan.broken()]:
                    return export(variant.plan, name or self.variants.name, leaf_names(self.function, spec), folder,
                                  self.variants.options, self.variants.example(variant.plan))
        raise GraphError(f"{self.variants.name} has no program to export",
                         hint="Call it once with its arguments, each a tensor of its own.")

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        is_plain = TRACING.get() is not None or is_stepping()
        try:
            if is_plain:
                return self.function(*args, **kwargs)
            if not kwargs and (made := self.latest(args)) is not MISS:
                return made
            leaves, spec = tree.flatten((args, kwargs), self.variants.is_apart, shared=True)
            key = (spec, GRAD.get(), sharing(leaves), *map(signature, self.variants.told(spec, leaves)))
            for entry in self.variants.at_hand.get(key, ()):
                if (made := entry.call(leaves)) is not MISS:
                    if len(leaves) == len(args) and all(map(is_, leaves, args)):
                        self.latest = entry.call
                    break
            else:
                self.latest = no_call       # whose program may be dropped now
                if self.variants.parts(leaves):
                    return self(*args, **kwargs)
                made = self.variants.call(key, leaves, spec)
            return made.into((args, kwargs)) if type(made) is Refilled else made
        except Exception as error:
            if isinstance(error, OutOfMemory) and not is_plain:
                name_largest(error, (v for graph in self.graphs[-1:] for v in graph))
            if isinstance(error, NotANumber) and not is_plain:
                error.asked = f"call {sum([program.calls for program in self.programs])} of {self.variants.name}"
            leaving(error)
            raise

    def __repr__(self) -> str:
        name, programs, traces = self.variants.name, len(self.programs), self.traces
        made = f"{programs} program{'s' * (programs != 1)} of {traces} trace{'s' * (traces != 1)}"
        return f"<compiled {name}: {made if traces else 'not called yet'}>"


def no_call(args: Any) -> Any:
    """The call of a plan that there is not."""
    return MISS


class Method(Opaque, Generic[P, R]):
    """A compiled function with its first argument given."""

    def __init__(self, compiled: Compiled[Any, R], instance: Any) -> None:
        self.compiled, self.instance = compiled, instance
        compiled.variants.whole.add(type(instance))

    def __reduce__(self) -> Any:
        return Method, (self.compiled, self.instance)

    def inside(self) -> tuple[Any, ...]:
        return self.compiled, self.instance

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return self.compiled(self.instance, *args, **kwargs)
        except Exception as error:
            leaving(error)
            raise


class Compiler(Protocol):
    """`compile` with its options given: a decorator."""

    def __call__(self, f: Callable[P, R], /) -> Compiled[P, R]: ...


@overload
def compile(f: Callable[P, R], *, dims: Dims | None = ..., control: Control | None = ...,
            **options: Any) -> Compiled[P, R]: ...
@overload
def compile(f: None = None, *, dims: Dims | None = ..., control: Control | None = ..., **options: Any) -> Compiler: ...
@public
def compile(f: Callable[..., Any] | None = None, *, dims: Dims | None = None, control: Control | None = None,
            **options: Any) -> Any:
    """The function `f` as one compiled program; also a decorator, with or without options.

    `dims={"x": {0: "batch"}}` leaves axis 0 of argument x open, so that every batch size runs the same program; an
    argument inside a container is named by its path, such as "batch.images". `options` are those of `st.Options`.
    Tensors and NumPy arrays among the arguments are inputs; Python numbers are constants: the function is traced again
    for others, unless they stand in a dict and it does not read them. A list, dict or object among the arguments that f
    changes is changed by every call. Objects are told apart by what they hold from the second one of their class on,
    where they hold nothing but data; any other is a reason to trace again. With `control="python"` f is rewritten
    first: its if, while, for, and, or and not, which need numbers of tensors, become `st.cond`, `st.while_loop` and
    `st.scan`, with break, continue and early returns; what f calls is rewritten where it is decorated too. Raises
    TraceError where f looks at numbers of its tensors, which no program can hold, ArgumentError where the source of
    what is to be rewritten is not there.

    >>> @st.compile(dims={"x": {0: "n"}})
    ... def f(x):
    ...     return x * 2 + 1
    >>> f(st.tensor([1.0, 2.0])).tolist(), f(st.zeros(3)).tolist(), f.compiles
    ([3.0, 5.0], [1.0, 1.0, 1.0], 1)
    >>> @st.compile(control="python")
    ... def halved(x):
    ...     n = 0
    ...     while x > 1:
    ...         x, n = x / 2, n + 1
    ...     return x, n
    >>> halved(st.tensor(20.0)), halved.compiles
    ((tensor(0.625), tensor(5)), 1)
    """
    chosen, opened = options_of("compile", options, "dims", "control"), checked_dims(dims)
    rewritten = control is not None and choice(control, "control of compile", get_args(Control)) == "python"

    def compiled(g: Callable[..., Any]) -> Compiled[..., Any]:
        taken = function(g, "what compile takes")
        return Compiled(taken, opened, chosen, rewritten)

    return compiled if f is None else compiled(f)
