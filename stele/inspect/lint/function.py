"""`st.lint`: what the checks find in one function."""
from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from stele import tree
from stele.backend.locks import RUNNING
from stele.compiled import Compiled, Method, compile
from stele.errors import TraceError
from stele.follow import FOLLOWER, Follower
from stele.handle import Handle, is_symbolic
from stele.inspect.lint.checks import CHECKS, check
from stele.inspect.lint.finding import Finding
from stele.inspect.lint.subject import Subject, of_traced
from stele.ir.graph import Value, walk
from stele.ir.origin import Where, here
from stele.ir.types import Sizes, Type
from stele.ops.arguments import choice
from stele.signature import leaf_names, shape_of, type_of
from stele.symbolic import Function
from stele.trace import Traced, trace


class Looks(Follower):
    """The places where a function that is traced asks for numbers that are not there."""

    def __init__(self) -> None:
        self.places: list[Where] = []

    def looked(self, v: Value) -> None:
        if any(map(is_symbolic, walk([v], stop=lambda v: v.data is not None))):
            self.places.append(here())


def lint(f: Callable[..., Any], *args: Any, without: Collection[str] = (), **kwargs: Any) -> list[Finding]:
    """What the checks find in f, traced on these arguments: nothing runs, and state is put back.

    f is a function, compiled or not, a module, or what `st.function` made (which takes no arguments here). `without`
    names checks to leave out; a finding has `check`, `file`, `line` and `message`.

    >>> import stele as st
    >>> def loss(x, y):
    ...     return st.cross_entropy(st.softmax(x), y)
    >>> [finding.check for finding in lint(loss, st.zeros((2, 3)), st.tensor([0, 2]))]
    ['softmax-twice']
    """
    for name in without:
        choice(name, "a check in without", CHECKS)
    return [finding for finding in findings(f, args, kwargs) if finding.check not in without]


def findings(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Finding]:
    """What all checks find in f on these arguments."""
    if isinstance(f, Function):
        return check(of_traced(f.plan.traced, ()))
    if isinstance(f, Method):
        f, args = f.compiled, (f.instance, *args)
    compiled = f if isinstance(f, Compiled) else compile(f)
    leaves, spec = tree.flatten((args, kwargs))
    looks = Looks()
    token = FOLLOWER.set(looks)
    try:
        traced = traced_on(compiled, leaves, spec)
    except TraceError:
        if not looks.places:
            raise
        return check(Subject(looks=tuple(looks.places)))
    finally:
        FOLLOWER.reset(token)
    return check(of_traced(traced, {id(x) for x in leaves if isinstance(x, Handle)}))


def traced_on(compiled: Compiled, leaves: list[Any], spec: tree.Spec | None) -> Traced:
    """The function on leaves of the shapes they have."""
    shapes = {k: shape for k, x in enumerate(leaves) if (shape := shape_of(x)) is not None}
    types = {k: Type(type_of(leaves[k]), shape) for k, shape in shapes.items()}
    with RUNNING:
        return trace(compiled.function, spec, leaves, types, leaf_names(compiled.function, spec), Sizes({}, []))
