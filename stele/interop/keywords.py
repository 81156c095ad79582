"""Functions that understand arguments by the names of other frameworks, and objects that answer for their methods."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from stele.arrays.spellings import unknown
from stele.errors import ArgumentError, nearest
from stele.interop.arguments import INSTEAD, SAME
from stele.interop.names import Table
from stele.ir.door import P, R, flags, leaving, owner, refuse_flags, refuse_form


def speaks(f: Callable[P, R]) -> Callable[P, R]:
    """A function that users call, or a constructor: an argument under another name is taken where it means the same,
    and any other is answered by ArgumentError, which says what to write, as is a flag that is neither True nor False.

    >>> len(data.Loader((np.arange(6),), 2, collate_fn=list))
    3
    >>> data.Loader((np.arange(6),), 2, pin_memory=True)        # doctest: +ELLIPSIS
    Traceback (most recent call last):
    stele.errors.ArgumentError: Loader takes no 'pin_memory'... Leave it out: batches are NumPy arrays that ...
    """
    taken = signature(f).parameters
    known = flags(f)
    takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in taken.values())

    @wraps(f)
    def called(*args: P.args, **given: P.kwargs) -> R:
        call: Any = f
        named: dict[str, Any] = given
        try:
            try:
                if not takes_all and not given.keys() <= taken.keys():
                    named = {own(owner(f, args), f.__module__, name, [*taken], [*given, *[*taken][:len(args)]]): x
                             for name, x in given.items()}
                refuse_flags(known, f, args, named)
                return call(*args, **named)
            except TypeError as error:
                refuse_form(error, f, args, named)
                raise
        except Exception as error:
            leaving(error)
            raise

    return called


def own(owner: str, module: str, name: str, taken: list[str], given: list[str]) -> str:
    """What an argument is called here; ArgumentError where nothing means the same, or where it is given already."""
    if name in taken:
        return name
    same = SAME.get(name, "")
    if same in taken and same not in given:
        return same
    if same in given:
        raise ArgumentError(f"{owner} takes {same}, which is its word for {name!r} too", hint="Leave one of them out.")
    instead = INSTEAD.get(module.split(".")[1], {}).get(name)
    words = [word for word in taken if word not in ("self", "cls")]
    near = nearest(name, words, 0.6)
    raise ArgumentError(f"{owner} takes no {name!r}", hint=instead or (
        f"Did you mean {near!r}?" if near else f"It takes {', '.join(words)}."))


def answering(what: str, elsewhere: Table) -> Callable[[Any, str], Any]:
    """A `__getattr__` for a class: what others have there is answered with what to write, all else by Python."""
    def answer(x: Any, name: str) -> Any:
        if name in elsewhere:
            raise unknown(what, name, (), elsewhere)
        return object.__getattribute__(x, name)     # raises once more, with what Python has to say of it

    return answer
