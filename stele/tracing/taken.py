"""Which attributes code takes, of anything or of what is of some classes, and what stands under which names."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache
from types import ModuleType
from typing import Any

from stele.tracing.names import Holder, Names, Taken
from stele.tracing.tree import slots_of

HEAP = 1 << 9       # set in the flags of classes that a `class` statement makes
Key = str | tuple[Any, str]     # an attribute's name, of anything or of what is of one class


class Answering:
    """An object of ours that answers to the names of what it holds, beside those of its attributes."""

    def held(self) -> dict[str, Any]:
        return vars(self)


class Lookups:
    """The attributes that code takes, and by which names; `counted` is told of names that code takes from now on.

    What is taken of that which a name holds, as in `self.optimizer.step()`, counts for the classes of all that stands
    under this name in any object, unless something else may stand there.
    """

    def __init__(self, counted: Callable[[Set[str]], None], everything: bool) -> None:
        self.counted = counted
        self.everything = everything
        self.names: set[Key] = set()
        self.called: set[Key] = set()       # to call them
        self.mentioned: set[str] = set()    # of all keys
        self.looked: set[str] = set()       # attributes that code does not only set
        self.taken: dict[Holder, set[Taken]] = {}   # of what a name holds
        self.owners: dict[Holder, set[Any]] = {}    # classes and modules of what stands under a name
        self.unsure: set[Holder] = set()            # names under which anything may stand
        self.computed = False                       # and under any, for attributes are computed
        self.noted: set[type] = set()

    def is_taken(self, name: str, owner: Any, is_number: bool) -> bool:
        """Whether code that was seen so far takes an attribute of this name, of what is as its owner is: no number only
        to call it.
        """
        if name not in self.mentioned:
            return self.everything
        return (self.everything or name in self.names or (owner, name) in self.names
                or (not is_number and (name in self.called or (owner, name) in self.called)))

    def note_parts(self, x: Any) -> None:
        """Notes what stands under the names that an object answers to."""
        slots = slots_of(type(x))
        for kind in type(x).__mro__:
            if kind not in self.noted:
                self.noted.add(kind)
                self.note({name: part for name, part in vars(kind).items() if name not in slots})
        self.note({name: object.__getattribute__(x, name) for name in slots if has(x, name)} | attributes(x))
        if isinstance(x, Answering):
            self.note(x.held())
        if computes(type(x)) or (isinstance(x, ModuleType) and "__getattr__" in vars(x)):
            self.computed = True
            self.doubt({*self.taken})

    def note(self, named: Mapping[Any, Any]) -> None:
        """Notes of which classes something is that stands under a name, or that it may give anything."""
        for name, x in named.items():
            known, kind = self.owners.get(name, ()), type(x)
            if hasattr(kind, "__get__"):
                self.doubt({name})
            elif kind not in known or isinstance(x, type | ModuleType):
                new = {*kind.__mro__, *owned(x)}.difference(known)
                self.owners.setdefault(name, set()).update(new)
                self.own(self.taken.get(name, ()), new)

    def own(self, taken: Iterable[Taken], owners: Iterable[Any]) -> None:
        """Has what code takes count for these classes and modules."""
        keys = [(x.is_called, (owner, x.name)) for x in taken for owner in owners]
        self.count({key for is_called, key in keys if not is_called}, {key for is_called, key in keys if is_called})

    def doubt_unknown(self) -> None:
        """Doubts names of which code takes something, and under which nothing stands that was seen."""
        self.doubt(self.taken.keys() - self.owners.keys())

    def doubt(self, holders: Set[Holder]) -> None:
        """Has what code takes of that which stands under these names count for all classes, now and later."""
        self.unsure |= holders
        taken = [x for holder in holders & self.taken.keys() for x in self.taken.pop(holder)]
        self.count({x.name for x in taken if not x.is_called}, {x.name for x in taken if x.is_called})

    def learn(self, names: Names, everything: bool) -> None:
        """Has what code looks up count, or all there is."""
        self.everything = self.everything or everything
        self.looked |= names.attributes | names.methods | {x.name for x in names.taken}
        for x in names.taken:
            self.taken.setdefault(x.holder, set()).add(x)
            self.own([x], self.owners.get(x.holder, ()))
        self.doubt(names.stored | (self.taken.keys() if self.computed else self.taken.keys() & self.unsure))
        self.count(names.attributes | {name for name in names.stored if isinstance(name, str)}, names.methods)

    def count(self, names: Set[Key], called: Set[Key]) -> None:
        """Has attributes count, of a name or of a class and a name: those that code takes, and those that it calls."""
        new = {key if isinstance(key, str) else key[1] for key in (names - self.names) | (called - self.called)}
        self.names |= names
        self.called |= called
        self.mentioned |= new
        if new or self.everything:
            self.counted(new)


def owned(x: Any) -> tuple[Any, ...]:
    """What has the attributes that are taken of x, beside its class: itself, where it is a module or a class."""
    return x.__mro__ if isinstance(x, type) else (x,) if isinstance(x, ModuleType) else ()


@cache
def computes(kind: type) -> bool:
    """Whether objects of a class that is not ours may compute what stands under a name."""
    return any(is_made and not {"__getattr__", "__getattribute__"}.isdisjoint(vars(base)) for base in kind.__mro__
               if (is_made := base.__flags__ & HEAP) and base.__module__.partition(".")[0] not in ("stele", "enum"))


def has(x: Any, name: str) -> bool:
    """Whether an object has an attribute that its class makes room for; its own `__getattr__` is not asked."""
    try:
        object.__getattribute__(x, name)
    except AttributeError:
        return False
    return True


def attributes(x: Any) -> Any:
    """The namespace of an object, a class or a module, as `vars` gives it; its own `__getattribute__` is not asked."""
    return type.__getattribute__(x, "__dict__") if isinstance(x, type) else \
        object.__getattribute__(x, "__dict__") if has(x, "__dict__") else {}
