"""Where a value came from: the user's lines, the layer it belongs to and, for a gradient, the forward lines."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple
from warnings import warn_explicit

HOUSE = f"{os.path.dirname(os.path.dirname(__file__))}{os.sep}"
"""How the names of our own files begin, as code objects spell them: links are left as they are."""
GUESTS = f"{HOUSE}train{os.sep}models.py", f"{HOUSE}rosetta{os.sep}"


class Origin(NamedTuple):
    """A place in the user's code: code object and instruction offset, decoded when asked, the layer path, and whether
    it is where a gradient was asked for.
    """

    code: CodeType | str
    offset: int = 0
    layer: str = ""
    gradient: bool = False

    def __str__(self) -> str:
        line = self.code if isinstance(self.code, str) else decode(self.code, self.offset)
        return f"{line} ({self.layer})" if self.layer else line


Where = frozenset[Origin]
NOWHERE: Where = frozenset()


class Scope(NamedTuple):
    """What holds for values made now: their layer path, or the origins they take over from others."""

    layer: str = ""
    inherited: Where | None = None


MOST_PLACES = 1 << 12
PLACES: dict[tuple[int, int, str], Where] = {}     # each entry holds its code object, whose id so stays its own

SCOPE: ContextVar[Scope] = ContextVar("scope", default=Scope())  # noqa: B039 (a NamedTuple of what never changes)


def users_frame() -> FrameType:
    """The nearest frame that runs no code of ours; to be asked by a function that is called by one of ours."""
    frame = sys._getframe(3)  # type: ignore[reportPrivateUsage]
    while is_house(frame.f_code.co_filename) and (outer := frame.f_back) is not None:
        frame = outer
    return frame


def here() -> Where:
    """The origins of a value made now: inherited ones, or the nearest line that is not ours."""
    layer, inherited = SCOPE.get()
    if inherited is not None:
        return inherited
    frame = sys._getframe(2)  # type: ignore[reportPrivateUsage]
    if (found := PLACES.get((id(frame.f_code), frame.f_lasti, layer))) is not None:
        return found            # that frame is a user's: others are not kept
    frame = users_frame()
    code, offset = frame.f_code, frame.f_lasti
    if (found := PLACES.get(key := (id(code), offset, layer))) is None:
        if len(PLACES) >= MOST_PLACES:
            PLACES.clear()
        found = PLACES[key] = frozenset((Origin(code, offset, layer),))
    return found


def note(message: str) -> None:
    """Warns at the user's line, once a line unless warnings are filtered otherwise."""
    frame = users_frame()
    warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"),
                  frame.f_globals.setdefault("__warningregistry__", {}))


def asked_here() -> Where:
    """The origins of a gradient made now, marked as such."""
    where = here()
    return where if is_gradient(where) else frozenset(origin._replace(gradient=True) for origin in where)


def is_gradient(where: Where) -> bool:
    """Whether these are the origins of a value of a gradient."""
    return any(origin.gradient for origin in where)


@lru_cache(maxsize=4096)
def is_house(filename: str) -> bool:
    """Whether a file belongs to the framework itself (its ready-made models count as user code)."""
    return filename.startswith(HOUSE) and not filename.startswith(GUESTS)


class setting:
    """A context in which a context variable, such as the scope, holds this."""

    def __init__(self, variable: ContextVar[Any], value: Any) -> None:
        self.variable, self.value = variable, value
        self.tokens: list[Any] = []

    def __enter__(self) -> None:
        self.tokens.append(self.variable.set(self.value))

    def __exit__(self, *error: object) -> None:
        self.variable.reset(self.tokens.pop())


def inherit(where: Where) -> setting:
    """Values made inside take these origins: for rewrites and derivatives."""
    return setting(SCOPE, Scope(SCOPE.get().layer, where))


@lru_cache(maxsize=65536)
def decode(code: CodeType, offset: int) -> str:
    """`file:line` of an instruction."""
    return f"{os.path.basename(code.co_filename)}:{line_of(code, offset)}"


def line_of(code: CodeType, offset: int) -> int:
    """The line of an instruction."""
    return next((n for start, end, n in code.co_lines() if start <= offset < end and n), code.co_firstlineno)


def lines(where: Iterable[Origin]) -> tuple[str, ...]:
    """The places in order, as text.

    >>> lines({Origin("train.py:3"), Origin("model.py:12", 0, "fc1")})
    ('model.py:12 (fc1)', 'train.py:3')
    """
    return tuple(sorted({str(origin) for origin in where}))
