"""Sizes in the hands of the user: comparing an open one is an assumption that is checked at every call."""
from __future__ import annotations

from typing import Any, NoReturn

from .errors import ShapeError
from .ir.sizes import Dim, Size
from .ir.types import same


class OpenSize(Size):
    """A symbolic size whose comparisons are guarded, never guessed."""

    __slots__ = ()
    __hash__ = Size.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | Size) and same(plain(self), plain(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: Dim) -> Dim: return opened(Size.__add__(self, plain(other)))
    def __sub__(self, other: Dim) -> Dim: return opened(Size.__sub__(self, plain(other)))
    def __mul__(self, other: Dim) -> Dim: return opened(Size.__mul__(self, plain(other)))
    def __neg__(self) -> Dim: return opened(Size.__neg__(self))
    def __mod__(self, by: int) -> Dim: return opened(Size.__mod__(plain(self), by))
    def __floordiv__(self, by: Dim) -> Dim: return opened(Size.__floordiv__(plain(self), plain(by)))
    def __rsub__(self, other: Dim) -> Dim: return opened(Size.__rsub__(self, plain(other)))

    __radd__, __rmul__ = __add__, __mul__

    def undecided(self, other: Any) -> NoReturn:
        raise ShapeError(f"cannot tell which is larger, the open size {self} or {other}",
                         hint="Compare with ==, use st.where on numbers, or do not leave this axis open.")

    __lt__ = __le__ = __gt__ = __ge__ = undecided


def opened(n: Dim) -> Dim:
    """A dimension for the user."""
    return OpenSize(n.terms) if isinstance(n, Size) else n


def plain(x: Any) -> Any:
    """A size, or a shape, as the compiler sees it."""
    if isinstance(x, OpenSize):
        return Size(x.terms)
    return tuple(map(plain, x)) if isinstance(x, tuple) else list(map(plain, x)) if isinstance(x, list) else x
