"""Frozen records: classes that list their fields as a dataclass does, and share the methods that it would write."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass
from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True)
@dataclass(init=False, repr=False, eq=False)
class Record:
    """What is nothing but its fields, which are never set: equal to another of its class with equal fields.

    A subclass is a frozen dataclass to `dataclasses.fields` and `replace`, to patterns and to type checkers. Methods
    written for each class would be a fifth of what `import stele` takes.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(y=2, x=1) == Point(1, 2)
    (Point(x=1, y=0), True)
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        if any("ClassVar" not in str(a) for a in vars(cls).get("__annotations__", {}).values()):
            dataclass(init=False, repr=False, eq=False)(cls)

    def __init__(self, *args: Any, **named: Any) -> None:
        names = self.__match_args__
        if named or len(args) != len(names):
            args = in_order(type(self), args, named)
        self.__dict__.update(zip(names, args))

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object, /) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={x!r}' for name, x in vars(self).items())})"


class Single(Record):
    """A record that is equal to itself alone."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def in_order(cls: type[Record], args: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
    """What the fields are to hold, in their order, with defaults. Raises TypeError, as a call of a function does."""
    names = cls.__match_args__
    given = dict(zip(names, args)) | named
    found: tuple[Any, ...] = tuple(given[name] if name in given else getattr(cls, name, MISSING) for name in names)
    if len(args) + len(named) > len(given) or not given.keys() <= {*names} or any(x is MISSING for x in found):
        raise TypeError(f"{cls.__name__} takes {', '.join(names) or 'nothing'}; got {len(args)} by place"
                        + "".join(f", {name}=" for name in named))
    return found


class Aside:
    """What an op knows beside all that decides its results: it has no text, and equal graphs may differ in it."""

    def __repr__(self) -> str:
        return "None"
