"""Numbers of Stele's own objects that a trace depends on where it asks for them, and not wherever code names them."""
from __future__ import annotations

from functools import cache
from typing import Any

from stele.eager.handle import TRACING


class Asked:
    """A number in an object's `__dict__` that tells a trace when it is read or set: how far a schedule has come."""

    name: str

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, x: object, kind: type | None = None) -> Any:
        if x is None:
            return self
        self.tell(x)
        try:
            return vars(x)[self.name]
        except KeyError:
            raise AttributeError(f"{type(x).__name__!r} object has no attribute {self.name!r}") from None

    def __set__(self, x: object, number: Any) -> None:
        self.tell(x)
        vars(x)[self.name] = number

    def tell(self, x: object) -> None:
        """Has the trace there is know of it."""
        if (tracing := TRACING.get()) is not None:
            tracing.asks(vars(x), self.name, f"{type(x).__name__}.{self.name}")


@cache
def asked_of(kind: type) -> frozenset[str]:
    """The names of such numbers in objects of a class.

    >>> class Counter:
    ...     count = Asked()
    >>> asked_of(Counter)
    frozenset({'count'})
    """
    return frozenset(name for base in kind.__mro__ for name, x in vars(base).items() if isinstance(x, Asked))
