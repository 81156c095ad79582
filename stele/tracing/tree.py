"""Nested containers: tuples, lists, dicts, records and modules taken apart into leaves and put together again.

A record is an object that stands for its attributes, such as a dataclass; a list or dict of a class of its own is one,
of its entries and then of its attributes.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import cache, lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

from stele.errors import ArgumentError, kind

HEAP = 1 << 9       # Py_TPFLAGS_HEAPTYPE: a class that Python code made


@runtime_checkable
class Branch(Protocol):
    """A container of tensors that names its parts, such as a module."""

    def named_parameters(self) -> Iterable[tuple[str, Any]]: ...


Entries = tuple[type, tuple[Any, ...], tuple[Any, ...]]


class Again:
    """The kind of a container that a tree holds once more; its key is the number of the first among all that can be
    changed, in the order in which they come."""


class Attribute(str):
    """The key of an attribute of a list or dict of a class of its own, behind those of its entries."""

    __slots__ = ()


class Default(NamedTuple):
    """The last key of a `defaultdict`, which has no part: what makes entries that there are not."""

    made: Any


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


@lru_cache(maxsize=256)
def numbers(n: int) -> tuple[int, ...]:
    return tuple(range(n))


def slots_of(kind: type) -> list[str]:
    """The names a class and its bases keep in __slots__."""
    found: list[str] = []
    for base in kind.__mro__:
        own = vars(base).get("__slots__", ())
        found.extend(name for name in ((own,) if isinstance(own, str) else own) if not name.startswith("__"))
    return found


def attributes(x: Any) -> dict[str, Any]:
    """What an object holds, by name: fields of a dataclass first."""
    names = [f.name for f in fields(x)] if hasattr(type(x), "__dataclass_fields__") else slots_of(type(x))
    return {name: getattr(x, name) for name in names if hasattr(x, name)} | getattr(x, "__dict__", {})


def entries(x: Any, record: Callable[[Any], bool] = is_record) -> Entries | None:
    """Kind, keys and parts of a container; None for a leaf. What is no `record` is a leaf, though it be a dataclass."""
    if isinstance(x, tuple):
        return type(x), numbers(len(x)), x
    if isinstance(x, list | dict):
        keys, parts = (numbers(len(x)), tuple(x)) if isinstance(x, list) else (tuple(x), tuple(x.values()))
        kind = kind_of(type(x))
        return (kind, keys, parts) if kind in (list, dict) else (kind, *beside(x, keys, parts))
    if record(x):
        own = attributes(x)
        return type(x), tuple(own), tuple(own.values())
    return None


@cache
def kind_of(kind: type) -> type:
    """The class that a list or dict of a class has when it is made again: that, or Python's own for one of ours."""
    return (list if issubclass(kind, list) else dict) if kind.__module__.startswith("stele.") else kind


def beside(x: Any, keys: tuple[Any, ...], parts: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The keys and parts of a list or dict of a class of its own, with its attributes."""
    own = attributes(x)
    default = (Default(x.default_factory),) if isinstance(x, defaultdict) else ()
    return (*keys, *[Attribute(name) for name in own], *default), (*parts, *own.values())


def same(a: Entries | None, b: Entries | None) -> bool:
    """Whether a container has what it had: the same parts, under the same keys in that order."""
    return a is not None and b is not None and a[:2] == b[:2] and all(x is y for x, y in zip(a[2], b[2]))


def flatten(tree: Any, record: Callable[[Any], bool] = is_record, shared: bool = False
            ) -> tuple[list[Any], Spec | None]:
    """The leaves in order, and the spec that puts them together again; objects that are no `record` are leaves.

    A list, dict or record that the tree holds at two places is taken for two, unless it is to stay `shared`.

    >>> flatten({"a": (1, 2), "b": [3]})[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []
    try:
        return leaves, _flatten(tree, leaves, record, {} if shared else None)
    except RecursionError:
        raise ArgumentError(f"{kind(tree)} holds containers that stand too deep in each other, or in themselves",
                            hint="Give lists, tuples and dicts that end.") from None


def _flatten(tree: Any, leaves: list[Any], record: Callable[[Any], bool], met: dict[int, int] | None) -> Spec | None:
    found = entries(tree, record)
    if found is None:
        leaves.append(tree)
        return None
    kind, keys, parts = found
    if met is not None and not isinstance(tree, tuple):
        if id(tree) in met:
            return Spec(Again, (met[id(tree)],), ())
        met[id(tree)] = len(met)
    return Spec(kind, keys, tuple([_flatten(part, leaves, record, met) for part in parts]))


def given(x: Any) -> bool:
    """No object is a record: among the arguments of a compiled function it is one whose state is found."""
    return False


def comes_again(spec: Spec | None) -> bool:
    """Whether a tree holds something at two places."""
    return spec is not None and (spec.kind is Again or any(comes_again(part) for part in spec.parts))


def kinds(spec: Spec | None) -> frozenset[type]:
    """The classes of the records and named tuples in a tree."""
    if spec is None:
        return frozenset()
    own = () if spec.kind in (tuple, list, dict, Again) else (spec.kind,)
    return frozenset(own).union(*(kinds(part) for part in spec.parts))


@cache
def base_of(kind: type) -> Any:
    """The class of Python's own that objects of a class are laid out as: `object`, where its attributes are all."""
    return next(base for base in kind.__mro__ if not base.__flags__ & HEAP)


def blank(kind: Any) -> Any:
    """An object of a class that holds nothing yet, as one is made for a copy."""
    return base_of(kind).__new__(kind)


def unflatten(spec: Spec | None, leaves: Iterable[Any], table: type[dict[Any, Any]] = dict,
              made: list[Any] | None = None) -> Any:
    """The tree of this shape with these leaves, its dicts of the class `table`; what of it can be changed is added to
    the list `made`, outer ones first.

    >>> unflatten(flatten([1, (2,)])[1], "ab")
    ['a', ('b',)]
    """
    return _unflatten(spec, iter(leaves), table, [] if made is None else made)


def _unflatten(spec: Spec | None, leaves: Iterator[Any], table: type[dict[Any, Any]], met: list[Any]) -> Any:
    if spec is None:
        return next(leaves)
    kind, keys, parts = spec
    if kind is Again:
        return met[keys[0]]
    if issubclass(kind, tuple):
        held = [_unflatten(part, leaves, table, met) for part in parts]
        is_c = kind is not tuple and isinstance(vars(kind).get("n_sequence_fields"), int)     # as that of `time.gmtime`
        return (kind if is_c else tuple).__new__(kind, held)
    made: Any = table() if kind is dict else [] if kind is list else blank(kind)
    met.append(made)
    for key, part in zip(keys, parts):
        held = _unflatten(part, leaves, table, met)
        if kind is list:
            made.append(held)
        elif kind is dict:
            made[key] = held
        else:
            put(made, key, held)
    if keys and isinstance(keys[-1], Default):
        made.default_factory = keys[-1].made
    return made


def put(made: Any, key: Any, held: Any) -> None:
    """Gives a record, or a list or dict of a class of its own, one part more."""
    if isinstance(key, Attribute) or not isinstance(made, list | dict):
        object.__setattr__(made, key, held)
    elif isinstance(made, list):
        list.append(made, held)
    else:
        base_of(type(made)).__setitem__(made, key, held)


def containers(x: Any, record: Callable[[Any], bool]) -> list[tuple[tuple[Any, ...], Any]]:
    """The lists, dicts and records of a tree, each behind the keys that lead to it first, outer ones first."""
    found: dict[int, tuple[tuple[Any, ...], Any]] = {}
    _containers(x, record, (), found)
    return [*found.values()]


def _containers(x: Any, record: Callable[[Any], bool], path: tuple[Any, ...],
                found: dict[int, tuple[tuple[Any, ...], Any]]) -> None:
    held = entries(x, record)
    if held is None or id(x) in found:
        return
    if not isinstance(x, tuple):
        found[id(x)] = path, x
    for key, part in zip(*held[1:]):
        _containers(part, record, (*path, key), found)


class Held:
    """A container that a tree holds, behind these keys, as an entry of another one."""

    def __init__(self, path: tuple[Any, ...]) -> None:
        self.path = path

    def of(self, x: Any) -> Any:
        """What this tree holds there."""
        for key in self.path:
            is_entry = isinstance(x, tuple | list | dict) and not isinstance(key, Attribute)
            x = base_of(type(x)).__getitem__(x, key) if is_entry else getattr(x, key)
        return x


def refill(x: Any, content: Any) -> None:
    """Makes a list, a dict or a record hold what another one holds."""
    base = base_of(type(x))
    if isinstance(x, list):
        base.__setitem__(x, slice(None), content)
    elif isinstance(x, dict):
        base.clear(x)
        for key, held in content.items():
            base.__setitem__(x, key, held)
    if type(x) not in (list, dict):
        now, new = attributes(x), attributes(content)
        for name in now.keys() - new.keys():
            object.__delattr__(x, name)
        for name, held in new.items():
            object.__setattr__(x, name, held)


def expand(tree: Any) -> Any:
    """The tree with every `Branch` as a dict of its parameters that are not frozen."""
    if isinstance(tree, Branch):
        return {name: x for name, x in tree.named_parameters() if x.requires_grad}
    found = entries(tree)
    if found is None:
        return tree
    kind, keys, parts = found
    return unflatten(Spec(kind, keys, (None,) * len(parts)), [expand(part) for part in parts])


def map(f: Callable[..., Any], tree: Any) -> Any:
    """f on the leaves of a tree.

    >>> map(str, {"x": 1})
    {'x': '1'}
    """
    leaves, spec = flatten(tree)
    return unflatten(spec, [f(x) for x in leaves])


def arranged(tree: Any, spec: Spec | None) -> Any:
    """The tree with its dicts of the class and with the order of keys that the spec has, where the keys are the same.

    >>> arranged({"b": 2, "a": 1}, flatten({"a": 0, "b": 0})[1])
    {'a': 1, 'b': 2}
    """
    found = entries(tree)
    if found is None or spec is None or len(found[2]) != len(spec.parts):
        return tree
    kind, keys, parts = found
    held, named = dict(zip(keys, parts)), [key for key, _ in zip(spec.keys, spec.parts)]
    if issubclass(kind, dict) and issubclass(spec.kind, dict) and held.keys() == {*named}:
        kind, keys, parts = spec.kind, spec.keys, tuple(held[key] for key in named)
    return unflatten(Spec(kind, keys, (None,) * len(parts)), [arranged(x, part) for x, part in zip(parts, spec.parts)])


def keyed(f: Callable[[Any], Any], spec: Spec | None) -> Spec | None:
    """The spec of a tree with f on its keys."""
    return spec and Spec(spec.kind, tuple(f(key) for key in spec.keys), tuple(keyed(f, part) for part in spec.parts))


def paths(spec: Spec | None, root: str = "") -> list[str]:
    """A name for each leaf, such as `x`, `x.0` or `batch.images`.

    >>> paths(flatten({"a": (1, 2)})[1], "x")
    ['x.a.0', 'x.a.1']
    """
    if spec is None:
        return [root]
    joint = f"{root}." if root else ""
    return [path for key, part in zip(spec.keys, spec.parts) for path in paths(part, f"{joint}{key}")]
