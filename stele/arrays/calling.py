"""How functions of values are called with what users give: by place, by the names that others know, in lists."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from itertools import chain, repeat
from typing import Any

import numpy as np

from stele.arrays import spoken
from stele.arrays.given import array_of, is_numeric, is_wide, widened
from stele.arrays.spellings import OF_TWO, UNSAID, argument
from stele.errors import ArgumentError
from stele.ir.door import P, R
from stele.ir.graph import Value, literal
from stele.ir.origin import here, inherit
from stele.ops.arguments import FORMS, Form, choice, is_series

SERIES = "Bins", "Sequence[Value]"      # annotations of what may hold lists of numbers
ARRAYS = "Value", "Value | None", "Operand", "Operand | None", "Edges"    # annotations of what a list of numbers may be


def form_of(annotation: str) -> Form:
    """How an argument is checked; lists of numbers become the arrays that `st.tensor` makes of them."""
    form = FORMS[annotation]
    if annotation in SERIES:
        return lambda x, what: form([listed(p, what) for p in x] if is_series(x) else x, what)
    if annotation == "Value | Sequence[Value]":
        return lambda x, what: form([listed(p, what) for p in x] if is_series(x) and not is_numeric(x)
                                    else listed(x, what), what)
    return (lambda x, what: form(listed(x, what), what)) if annotation in ARRAYS else form


def listed(x: Any, what: str) -> Any:
    """Nested lists of numbers as one array, and all else as it is. Raises ArgumentError for tensors in a list: which of
    them is meant, or all, nobody knows.
    """
    if not is_series(x):
        return x
    if not is_numeric(x):
        raise ArgumentError(f"{what} must be a tensor, an array, a number or a list of numbers, got a list of others",
                            hint="Write st.stack(x) of tensors, or x[0] for one of them.")
    return literal(array_of(x))


def each_widened(x: Any) -> Any:
    """What a list holds, its lists of numbers as arrays of 64 bits; what is no list as it is."""
    return [widened(p) for p in x] if is_series(x) else x


def as_given(x: Any) -> Any:
    return x


class Arguments:
    """What a function of values takes, and how it is called with what users give: checked, and named."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, parameters = f, spoken.own(f).parameters.values()
        self.keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        self.places = len(parameters) - len(self.keywords)
        self.is_open = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self.checks = {p.name: (form_of(p.annotation), f"{p.name} of {f.__name__}") for p in parameters}
        self.required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
        self.in_order = list(self.checks.values())[:self.places]
        self.names = list(self.checks)[:self.places]
        self.wide = {p.name: each_widened if p.annotation in SERIES else widened for p in parameters
                     if p.annotation in (*ARRAYS, *SERIES, "Value | Sequence[Value]")}

    def applied(self, value: Callable[[Any], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function of these arguments."""
        name, places, checks = self.f.__name__, self.places, self.checks
        if not self.is_open and len(args) > places:
            more = dict(zip(self.keywords, args[places:]))
            if (most := places + len(self.keywords)) < len(args) or more.keys() & kwargs.keys():
                raise too_many(name, most, args, kwargs)
            args, kwargs = args[:places], kwargs | more
        if kwargs.keys() - checks.keys():
            kwargs = respelled(name, kwargs, checks)
        if self.is_open and (many := self.names[-1]) in kwargs:
            args = args if kwargs[many] is None else (*args, kwargs[many])
            kwargs = {k: a for k, a in kwargs.items() if k != many}
        if missing := [r for r in self.required[len(args):] if r not in kwargs]:
            raise ArgumentError(f"{name} needs {' and '.join(missing)}",
                                hint=f"It is {name}{spoken.signature(self.f)}.")
        if any(map(is_series, (*args, *kwargs.values()))) and any(map(is_wide, (*args, *kwargs.values()))):
            names = chain(self.names, repeat(self.names[-1]))
            args = tuple([self.wide.get(own, as_given)(a) for own, a in zip(names, args)])
            kwargs = {own: self.wide.get(own, as_given)(a) for own, a in kwargs.items()}
        with inherit(here()):
            forms = chain(self.in_order, repeat(self.in_order[-1]))
            try:
                given = [form(value(a), what) for (form, what), a in zip(forms, args)]
                named = {k: checks[k][0](value(a), checks[k][1]) for k, a in kwargs.items()}
            except ArgumentError as error:
                if name in OF_TWO and isinstance(value(kwargs.get("axis")), Value | np.ndarray):
                    error.hint = f"Write {OF_TWO[name]} for two arrays."
                raise
            return self.f(*given, **named)


def too_many(function: str, most: int, args: Sequence[Any], named: Collection[str]) -> ArgumentError:
    """The error for arguments of which some stand in no place, or in one that a name has taken."""
    return ArgumentError(f"{function} takes at most {most} argument{'s' * (most > 1)}, each once; got {len(args)}"
                         + "".join(f" and {name}=" for name in named))


def respelled(function: str, given: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Arguments under the names they have here, as PyTorch and NumPy spell them too; ArgumentError for other names."""
    found = {name: a for name, a in given.items() if name in known}
    for name in given.keys() - found.keys():
        own = argument(name, known, found)
        if own is None and name in UNSAID:
            raise ArgumentError(f"{function} takes no {name}=", hint=f"Write {UNSAID[name]}.")
        found[own or choice(name, f"an argument of {function}", known, ArgumentError)] = given[name]
    return found


def respelling(f: Callable[P, R]) -> Callable[P, R]:
    """A function of tensors whose arguments also have the names that PyTorch and NumPy know them by."""
    names = [*spoken.own(f).parameters]

    @wraps(f)
    def spelled(*args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = kwargs if kwargs.keys() <= {*names} else respelled(f.__name__, kwargs, names)
        call: Any = f
        return call(*args, **given)

    return spelled
