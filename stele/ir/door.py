"""The door between our code and the user's: errors that leave name op, layer and line, and show none of our frames."""
from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Signature, signature, unwrap
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from stele import config
from stele.errors import ArgumentError, SteleError, kind
from stele.ir.origin import Where, here, is_house, lines

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# What others give under a name that functions here do not take, and what to do instead.
UNTAKEN: Mapping[str, str] = {
    "non_blocking": "Leave it out: the host does not wait for copies between devices.",
    "memory_format": "Leave it out: layouts of images are chosen by the compiler.",
    "weights_only": "Leave it out: files hold tensors and plain data, and no code is ever run.",
    "map_location": "Leave it out: what is read lies on the CPU; write .to('cpu:1') of it.",
    "as_tuple": "Leave it out: it gives a row of places for each axis, st.argwhere(x) a row for each element.",
    "in_dims": "Write in_axes=.", "out_dims": "Write out_axes=.",
    "create_graph": "Leave it out: what st.gradients gives is part of the graph; .grad holds numbers.",
    "use_reentrant": "Leave it out, and write st.checkpoint(f)(x).",
    "allow_int": "Leave it out: integers have no gradients.", "holomorphic": "Leave it out: complex numbers have some.",
}
PLURAL = "modules", "parameters", "transforms"      # of what takes one list
UNEXPECTED = "got an unexpected keyword argument "

MOST = sys.maxsize      # a place that no argument stands in
MEANT = SteleError, np.linalg.LinAlgError   # what our own code raises for users to read


def leaving(error: Exception, asked: str = "") -> None:
    """To be called before a bare `raise`: the error learns what was asked, and at which line of the user, unless an
    inner door has told it, and its traceback loses our frames.
    """
    if isinstance(error, SteleError):
        error.asked = error.asked or asked
        error.where = error.where or ", ".join(lines(here()))
    shorten(error)


def shorten(error: Exception) -> None:
    """Takes our frames out of an error's traceback.

    Faults of ours (an error of another kind, raised in a file of ours) keep theirs, and STELE_TRACEBACK=full keeps all.
    """
    trace = error.__traceback__
    if trace is None or config.TRACEBACK() == "full" or not (isinstance(error, MEANT) or ends_outside(trace)):
        return
    error.__traceback__ = theirs(trace)


def located(error: Exception, name: str, where: Where) -> None:
    """Tells what an op's own code raised where the user asked for the op, unless it knows."""
    places = ", ".join(lines(where))
    if isinstance(error, SteleError):
        error.where = error.where or places
    elif not hasattr(error, "__notes__"):
        error.add_note(f"This was raised by {name} at {places}.")


def theirs(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of our own files."""
    found: list[TracebackType] = []
    while trace is not None:
        if not is_house(trace.tb_frame.f_code.co_filename):
            found.append(trace)
        trace = trace.tb_next
    made: TracebackType | None = None
    for part in reversed(found):
        made = TracebackType(made, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return made


def ends_outside(trace: TracebackType) -> bool:
    """Whether the line that raised is not ours, or the door's own: then the call had other arguments than f takes."""
    if trace.tb_next is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    return not is_house(trace.tb_frame.f_code.co_filename)


def flag(x: Any, what: str) -> bool:
    """True or False."""
    if not isinstance(x, bool) and type(x).__name__ not in ("bool", "bool_"):
        raise ArgumentError(f"{what} must be True or False, got {kind(x)}: {reprlib.repr(x)}")
    return bool(x)


def flags(f: Callable[..., Any]) -> list[tuple[int, str, bool]]:
    """Which parameters of a function are True or False by their annotations: place, name, and whether None is one too.

    >>> def pad(x, left: bool, wide: bool | None = None): ...
    >>> pad.__annotations__ = {"left": "bool", "wide": "bool | None"}   # as modules of ours have them
    >>> flags(pad)
    [(1, 'left', False), (2, 'wide', True)]
    """
    f = unwrap(f)
    if not isinstance(f, FunctionType):
        return []
    code, said = f.__code__, f.__annotations__
    names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    return [(k if k < code.co_argcount else MOST, name, said[name] != "bool") for k, name in enumerate(names)
            if said.get(name) in ("bool", "bool | None")]


def refuse_flags(known: Sequence[tuple[int, str, bool]], f: Callable[..., Any], args: Sequence[Any],
                 kwargs: Mapping[str, Any]) -> None:
    """Raises ArgumentError where a flag is given something else: text that says no is as true as any."""
    for k, name, optional in known:
        if k < len(args) or name in kwargs:
            x = args[k] if k < len(args) else kwargs[name]
            if x is not True and x is not False and not (optional and x is None):
                flag(x, f"{name} of {owner(f, args)}")


def public(f: Callable[P, R]) -> Callable[P, R]:
    """A function that users call, whose flags are checked; what is called often has the two lines of `leaving` in its
    own text instead.
    """
    known = flags(f)

    @wraps(f)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            try:
                if known:
                    refuse_flags(known, f, args, kwargs)
                return f(*args, **kwargs)
            except TypeError as error:
                refuse_form(error, f, args, kwargs)
                raise
        except Exception as error:
            leaving(error)
            raise

    return called


def public_methods(made: type[T]) -> type[T]:
    """A class whose own methods are called by users, those that begin with `_` left out."""
    for name, f in vars(made).copy().items():
        if isinstance(f, FunctionType) and not name.startswith("_"):
            setattr(made, name, public(f))
    return made


def refuse_form(error: TypeError, f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises ArgumentError if that is what Python had to say of a call with other arguments than f takes."""
    if type(error) is not TypeError or not (said := unfit(form := signature(f), args, kwargs)):
        return
    takes = ", ".join(name for name in form.parameters if name not in ("self", "cls"))
    name = said.partition(UNEXPECTED)[2].strip("'")
    hint = UNTAKEN.get(name, f"It takes {takes or 'nothing'}.")
    if twice := said.partition("multiple values for argument ")[2].strip("'"):
        hint = f"It takes {takes}, and {kind(args[[*form.parameters].index(twice)])} stands where {twice} does."
    if said == "too many positional arguments":
        hint = f"It gives a function: write st.{f.__name__}(f)(x)." if takes.split(", ")[0] == "f" else \
            f"Write {owner(f, args)}([x, y, ...])." if takes in PLURAL else hint
    raise ArgumentError(f"{owner(f, args)} cannot be called so: {said}", hint=hint) from None


def owner(f: Callable[..., Any], args: Sequence[Any]) -> str:
    """What a function is called in a message: a constructor by its class, a dtype by its name."""
    if f.__name__ == "__call__" and args:
        return str(args[0])
    if f.__name__ == "__new__" and args:
        return args[0].__name__
    return type(args[0]).__name__ if f.__name__ == "__init__" and args else f.__name__


def unfit(form: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Why a function of this form cannot be called with these arguments; nothing where it can."""
    try:
        form.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""
