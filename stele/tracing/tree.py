"""Nested containers: tuples, lists, dicts, dataclasses and modules taken apart into leaves and put together again."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple, Protocol, runtime_checkable


@runtime_checkable
class Branch(Protocol):
    """A container of tensors that names its parts, such as a module."""

    def named_parameters(self) -> Iterable[tuple[str, Any]]: ...


Entries = tuple[type, tuple[Any, ...], tuple[Any, ...]]


class Spec(NamedTuple):
    """The shape of a tree: the kind of container, its keys, and the specs of its parts. None stands for a leaf."""

    kind: type
    keys: tuple[Any, ...]
    parts: tuple[Spec | None, ...]


def is_record(x: Any) -> bool:
    """Whether x is an instance of a dataclass of the user's, and no module."""
    kind = type(x)
    return hasattr(kind, "__dataclass_fields__") and not kind.__module__.startswith("stele.") \
        and not isinstance(x, Branch)


def entries(x: Any, record: Callable[[Any], bool] = is_record) -> Entries | None:
    """Kind, keys and parts of a container; None for a leaf. What is no `record` is a leaf, though it be a dataclass."""
    if isinstance(x, tuple):
        return type(x), tuple(range(len(x))), x
    if isinstance(x, list):
        return list, tuple(range(len(x))), tuple(x)
    if isinstance(x, dict):
        return dict, tuple(x), tuple(x.values())
    if record(x):
        own = {f.name: getattr(x, f.name) for f in fields(x) if hasattr(x, f.name)} | getattr(x, "__dict__", {})
        return type(x), tuple(own), tuple(own.values())
    return None


def same(a: Entries | None, b: Entries | None) -> bool:
    """Whether a container has what it had: the same parts, under the same keys in that order."""
    return a is not None and b is not None and a[:2] == b[:2] and all(x is y for x, y in zip(a[2], b[2]))


def flatten(tree: Any, record: Callable[[Any], bool] = is_record) -> tuple[list[Any], Spec | None]:
    """The leaves in order, and the spec that puts them together again; dataclasses that are no `record` are leaves.

    >>> flatten({"a": (1, 2), "b": [3]})[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, record)


def _flatten(tree: Any, leaves: list[Any], record: Callable[[Any], bool]) -> Spec | None:
    found = entries(tree, record)
    if found is None:
        leaves.append(tree)
        return None
    kind, keys, parts = found
    return Spec(kind, keys, tuple(_flatten(part, leaves, record) for part in parts))


def given(x: Any) -> bool:
    """No dataclass among the arguments of a compiled function is a record: it is an object, whose state is found."""
    return False


def unflatten(spec: Spec | None, leaves: Iterable[Any]) -> Any:
    """The tree of this shape with these leaves.

    >>> unflatten(flatten([1, (2,)])[1], "ab")
    ['a', ('b',)]
    """
    return _unflatten(spec, iter(leaves))


def _unflatten(spec: Spec | None, leaves: Iterator[Any]) -> Any:
    if spec is None:
        return next(leaves)
    parts = [_unflatten(part, leaves) for part in spec.parts]
    if spec.kind is list:
        return parts
    if spec.kind is dict:
        return dict(zip(spec.keys, parts))
    if not issubclass(spec.kind, tuple):
        made = object.__new__(spec.kind)        # as a copy is made, by no constructor
        for key, part in zip(spec.keys, parts):
            object.__setattr__(made, key, part)
        return made
    return tuple(parts) if spec.kind is tuple else spec.kind(*parts)


def containers(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The lists and dicts of a tree, each behind the keys that lead to it, outer ones first."""
    if isinstance(x, list | dict):
        yield path, x
    found = entries(x, given)
    for key, part in zip(*found[1:]) if found is not None else ():
        yield from containers(part, (*path, key))


def expand(tree: Any) -> Any:
    """The tree with every `Branch` as a dict of its parameters that are not frozen."""
    if isinstance(tree, Branch):
        return {name: x for name, x in tree.named_parameters() if x.requires_grad}
    found = entries(tree)
    if found is None:
        return tree
    kind, keys, parts = found
    return unflatten(Spec(kind, keys, (None,) * len(keys)), [expand(part) for part in parts])


def map(f: Callable[..., Any], tree: Any) -> Any:
    """f on the leaves of a tree.

    >>> map(str, {"x": 1})
    {'x': '1'}
    """
    leaves, spec = flatten(tree)
    return unflatten(spec, [f(x) for x in leaves])


def paths(spec: Spec | None, root: str = "") -> list[str]:
    """A name for each leaf, such as `x`, `x.0` or `batch.images`.

    >>> paths(flatten({"a": (1, 2)})[1], "x")
    ['x.a.0', 'x.a.1']
    """
    if spec is None:
        return [root]
    joint = f"{root}." if root else ""
    return [path for key, part in zip(spec.keys, spec.parts) for path in paths(part, f"{joint}{key}")]
