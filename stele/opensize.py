"""Sizes in the hands of the user: comparing an open one is an assumption that is checked at every call."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from stele.errors import ShapeError
from stele.ir.origin import here, lines
from stele.ir.sizes import Dim, Size
from stele.ir.types import same


class OpenSize(Size):
    """A symbolic size whose comparisons are guarded, never guessed."""

    __slots__ = ()
    __hash__ = Size.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | Size) and same(plain(self), plain(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: Any) -> Any: return combined(Size.__add__, self, other)
    def __sub__(self, other: Any) -> Any: return combined(Size.__sub__, self, other)
    def __rsub__(self, other: Any) -> Any: return combined(Size.__rsub__, self, other)
    def __mul__(self, other: Any) -> Any: return combined(Size.__mul__, self, other)
    def __floordiv__(self, other: Any) -> Any: return combined(Size.__floordiv__, self, other)
    def __mod__(self, other: Any) -> Any: return combined(Size.__mod__, self, other)
    def __neg__(self) -> Dim: return self * -1
    def __truediv__(self, other: Any) -> Any: return combined(refused, self, other)

    __radd__, __rmul__, __rtruediv__ = __add__, __mul__, __truediv__

    def __lt__(self, other: Any) -> Any: return combined(refused, self, other)

    __le__ = __gt__ = __ge__ = __lt__

    def __index__(self) -> int:
        refused(self, int)

    __int__ = __float__ = __index__  # type: ignore[assignment]


def combined(operation: Callable[[Size, Any], Dim], n: OpenSize, other: Any) -> Any:
    """The dimension an operation makes; a tensor on the other side answers itself."""
    if isinstance(other, int | Size):
        return opened(operation(Size(n.terms), plain(other)))
    return refused(n, other) if isinstance(other, float) else NotImplemented


def refused(n: Size, other: Any) -> NoReturn:
    """The error for what a size that is known at run time cannot do in Python."""
    what = "is asked for as a Python number" if isinstance(other, type) else f"meets {other!r} in Python"
    raise ShapeError(f"the open size {n} {what}, but it is known only when the program runs",
                     where=", ".join(lines(here())),
                     hint="Compare with ==, compute with a tensor (x / x.shape[0]), or do not leave this axis open.")


def opened(n: Dim) -> Dim:
    """A dimension for the user."""
    return OpenSize(n.terms) if isinstance(n, Size) else n


def plain(x: Any) -> Any:
    """A size, or a shape, as the compiler sees it."""
    if isinstance(x, OpenSize):
        return Size(x.terms)
    return tuple(map(plain, x)) if isinstance(x, tuple) else list(map(plain, x)) if isinstance(x, list) else x
