"""`st.lint`: what the checks find in one function."""
from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, cast

from stele.arrays.creation import zeros
from stele.call.compiled import Compiled, Method, compile
from stele.call.symbolic import Function
from stele.eager.handle import Handle
from stele.eager.live import is_symbolic, is_there
from stele.errors import TraceError
from stele.inspect.lint.checks import CHECKS, check
from stele.inspect.lint.finding import Finding
from stele.inspect.lint.gradients import growing
from stele.inspect.lint.subject import Steps, Subject, of_traced
from stele.ir.door import public
from stele.ir.graph import Value, walk
from stele.ir.origin import Where, here
from stele.ops.arguments import choice
from stele.tracing import tree
from stele.tracing.trace import Traced, traced_on


class Looks(Steps):
    """The places where a function that is traced asks for numbers that are not there."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Where] = []

    def looked(self, v: Value) -> None:
        if any(map(is_symbolic, walk([v], stop=is_there))):
            self.places.append(here())


@public
def lint(f: Callable[..., Any], *args: Any, without: Collection[str] = (), **kwargs: Any) -> list[Finding]:
    """The findings of all checks in `f`, traced on `args` and `kwargs`: nothing runs, and state is put back.

    f is a function, compiled or not, a module, or what `st.function` made (which takes no arguments here). `without`
    names checks to leave out; a finding has `check`, `file`, `line` and `message`. The checks stand in docs/lint.md.
    Raises OptionError for a check that there is not, and what f raises: ShapeError, DTypeError and others.

    >>> def loss(x, y):
    ...     return st.cross_entropy(st.softmax(x), y)
    >>> [finding.check for finding in st.lint(loss, st.zeros((2, 3)), st.tensor([0, 2]))]
    ['softmax-twice']
    """
    for name in without:
        choice(name, "a check in without", CHECKS)
    return [finding for finding in findings(f, args, kwargs) if finding.check not in without]


def findings(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Finding]:
    """What all checks find in f on these arguments."""
    if isinstance(f, Function):
        return check(of_traced(f.plan.traced, (), Steps()))
    if isinstance(f, Method):
        f, args = cast(Method[..., Any], f).compiled, (f.instance, *args)
    compiled = cast(Compiled[..., Any], f) if isinstance(f, Compiled) else compile(f)
    looks = Looks()
    run = lambda: traced_on(compiled.function, args, kwargs, looks)
    try:
        traced = run()
        again = traced_again(traced, run)
    except TraceError:
        if not looks.places:
            raise
        return check(Subject(looks=tuple(looks.places)))
    given = {id(x) for x in tree.flatten((args, kwargs))[0] if isinstance(x, Handle)}
    subject = of_traced(traced, given, looks)
    return check(replace(subject, optimizers=tuple(looks.optimizers.values()), grown=growing(again, looks)))


def traced_again(traced: Traced, run: Callable[[], Traced]) -> Traced:
    """The function as a later call finds it: with gradients in `.grad` that the first one has left there."""
    left = {h for h, part in traced.grads if part.kind == "made"}
    new = [traced.handles[h] for h, g in traced.grads_read if g is None and h in left]
    if not new:
        return traced
    try:
        for handle in new:
            handle._grad = zeros(handle._value.shape, dtype=handle._value.dtype)
        return run()
    finally:
        for handle in new:
            handle._grad = None
