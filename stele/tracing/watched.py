"""The containers among the arguments of a function that is traced, and which entries of dicts it has read."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import ItemsView, Iterator, Sequence, ValuesView
from dataclasses import dataclass
from typing import Any

from stele.tracing import tree
from stele.tracing.state import SCALARS


class Watched(dict[Any, Any]):
    """A dict among the arguments. `seen` are the keys whose entries the function has read or set: all of them where it
    went through the entries, copied, compared or printed them.

    That it has an `__iter__` of its own is what makes Python itself, as in `{**d}`, ask for entries one by one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[Any] = set()

    def all(self) -> Watched:
        """The dict, all of whose entries are read."""
        self.seen.update(self.keys())
        return self

    def __getitem__(self, key: Any) -> Any:
        self.seen.add(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, x: Any) -> None:
        self.seen.add(key)
        super().__setitem__(key, x)

    def update(self, *other: Any, **named: Any) -> None:
        for key, x in dict(*other, **named).items():
            self[key] = x

    def __ior__(self, other: Any) -> Watched:   # type: ignore[override]
        self.update(other)
        return self

    def get(self, key: Any, default: Any = None) -> Any:
        self.seen.add(key)
        return super().get(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        self.seen.add(key)
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        self.all()
        return super().popitem()

    def setdefault(self, key: Any, default: Any = None) -> Any:
        self.seen.add(key)
        return super().setdefault(key, default)

    def __iter__(self) -> Iterator[Any]:
        return super().__iter__()

    def items(self) -> ItemsView[Any, Any]:     # type: ignore[override]
        self.all()
        return super().items()                  # type: ignore[return-value]

    def values(self) -> ValuesView[Any]:        # type: ignore[override]
        self.all()
        return super().values()                 # type: ignore[return-value]

    def copy(self) -> dict[Any, Any]:
        return {**self}

    def __or__(self, other: Any) -> Any:
        return {**self} | other

    def __ror__(self, other: Any) -> Any:
        return other | {**self}

    def __eq__(self, other: object) -> bool:
        return {**self} == other

    def __ne__(self, other: object) -> bool:
        return {**self} != other

    def __repr__(self) -> str:
        return repr({**self})

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, ({**self},)


class Watch:
    """The containers among the arguments, and which numbers and texts in dicts a function reads: where a tree holds
    something twice, all of them.
    """

    def __init__(self, spec: tree.Spec | None, leaves: Sequence[Any]) -> None:
        self.spec, self.kinds = spec, tree.kinds(spec)
        self.scalars = {k for k, x in enumerate(leaves) if isinstance(x, SCALARS)}
        self.is_watched = bool(self.scalars) and not tree.comes_again(spec)
        self.made: list[Any] = []
        self.places: list[Any] = []         # what was made, with numbers for the leaves
        self.held: dict[int, tree.Held] = {}
        self.numbered = tree.unflatten(spec, range(len(leaves)), made=self.places)

    def given(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with these leaves."""
        args = tree.unflatten(self.spec, leaves, Watched if self.is_watched else dict, self.made)
        paths = (path for path, _ in tree.containers(self.numbered, self.is_record))
        self.held = {id(x): tree.Held(path) for x, path in zip(self.made, paths, strict=True)}
        for x in self.made:
            if isinstance(x, Watched):      # which was filled, but not read
                x.seen.clear()
        return args

    def is_record(self, x: Any) -> bool:
        """Whether an object is of a class that stands for what it holds here."""
        return type(x) in self.kinds

    def entries(self, x: Any) -> tree.Entries | None:
        """What a container holds; nobody has read it for that."""
        if isinstance(x, Watched):
            return dict, tuple(x), tuple(dict.values(x))
        return tree.entries(x, self.is_record)

    def unread(self) -> frozenset[int]:
        """The leaves that the function cannot have seen."""
        left = (tree.flatten(place[key], self.is_record)[0] for x, place in zip(self.made, self.places)
                if isinstance(x, Watched) for key in place.keys() - x.seen)
        return frozenset(k for ks in left for k in ks) & self.scalars

    def kept(self, x: Any) -> Any:
        """A tree with the place of each container in it that is among the arguments, and the numbers of unread leaves.
        """
        found = self.entries(x)
        if found is None:
            return x
        kind, keys, parts = found
        left = {key: Left(k) for y, place in zip(self.made, self.places) if y is x and isinstance(x, Watched)
                for key, k in place.items() if key not in x.seen and isinstance(k, int) and k in self.scalars}
        return tree.unflatten(tree.Spec(kind, keys, (None,) * len(parts)),
                              [left.get(key) or self.held.get(id(part)) or self.kept(part)
                               for key, part in zip(keys, parts)])


@dataclass(frozen=True)
class Left:
    """A leaf of the arguments that nobody has read, by its number."""

    number: int
