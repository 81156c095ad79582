"""Where a value came from: the user's lines, the layer it belongs to and, for a gradient, the forward lines."""
from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType, FrameType
from typing import NamedTuple
from warnings import warn_explicit

HOUSE = f"{os.path.dirname(os.path.dirname(__file__))}{os.sep}"
"""How the names of our own files begin, as code objects spell them: links are left as they are."""
GUESTS = tuple(f"{HOUSE}{room}{os.sep}" for room in ("train", "rosetta"))


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


SCOPE: ContextVar[Scope] = ContextVar("scope", default=Scope())  # noqa: B039 (a NamedTuple of what never changes)


def users_frame() -> FrameType:
    """The nearest frame that runs no code of ours."""
    frame = sys._getframe(1)  # type: ignore[reportPrivateUsage]
    while frame.f_back is not None and is_house(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def here() -> Where:
    """The origins of a value made now: inherited ones, or the nearest line that is not ours."""
    scope = SCOPE.get()
    if scope.inherited is not None:
        return scope.inherited
    frame = users_frame()
    return frozenset((Origin(frame.f_code, frame.f_lasti, scope.layer),))


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


@contextmanager
def inherit(where: Where) -> Generator[None, None, None]:
    """Values made inside take these origins: for rewrites and derivatives."""
    token = SCOPE.set(Scope(SCOPE.get().layer, where))
    try:
        yield
    finally:
        SCOPE.reset(token)


@contextmanager
def layer(path: str) -> Generator[None, None, None]:
    """Values made inside belong to this layer."""
    token = SCOPE.set(SCOPE.get()._replace(layer=path))
    try:
        yield
    finally:
        SCOPE.reset(token)


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
