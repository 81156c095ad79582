"""The Python state a function can reach: what it may read or rebind, found through names, attributes and entries."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import enum
import os
import sys
import sysconfig
from array import array
from collections import UserDict, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from inspect import getattr_static
from itertools import accumulate
from types import BuiltinMethodType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from stele.arrays.spoken import Said
from stele.eager.handle import Handle
from stele.eager.hooks import LEAVES
from stele.ir.types import DType
from stele.tracing import tree
from stele.tracing.later import PARTIAL, Chain
from stele.tracing.names import Names, names_of
from stele.tracing.taken import Lookups, attributes, computes, has
from stele.tracing.tree import slots_of

CODE = FunctionType, type
WRAPPED = property, staticmethod, classmethod, cached_property
SCALARS: tuple[type, ...] = (bool, int, float, complex, str, bytes, type(None), DType, enum.Enum, np.generic)
METHODS = FunctionType, classmethod, staticmethod, type(list.append), type(list.__len__)     # as classes hold them
LATER = ("stele.debug", "callback"), ("functools", PARTIAL)     # what calls later what it is given, and where it is
CONSTRUCTORS = ("__new__", "__init__", "__post_init__")
SHOWING = ("__repr__", "__str__", "__format__", "__getstate__", "__reduce__", "__del__")    # to look at
PACKAGES = ("site-packages", "dist-packages")   # of other environments too
LONG = 256          # containers of numbers longer than this are held to their identity, length and a few elements
FEW = 64            # of which a call looks at so many
NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace")
INSIDE = ("stele.nn", "stele.optim", "stele.metrics", "stele.train", "stele.interop.onnx", "stele.interop.torch",
          "stele.interop.huggingface", "stele.interop.keras", "stele.interop.caffe", "stele.interop.imported",
          "stele.arrays.streams", "stele.arrays.generator", "stele.eager.hooks")


class Opaque:
    """An object of ours whose attributes are no state of the user's, but for what `inside` names."""

    def inside(self) -> tuple[Any, ...]:
        return ()


class Naming:
    """An object of ours that has names for the tensors within it."""

    def named_members(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        return iter(())


def below(prefix: str, members: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Members by names that begin with a `prefix`, where there is one."""
    return ((f"{prefix}.{name}" if prefix else name, x) for name, x in members)


@dataclass(frozen=True, slots=True)
class Cell:
    """A closure cell that reads and writes like a container of one entry."""

    cell: Any

    def __getitem__(self, key: Any) -> Any:
        return self.cell.cell_contents

    def __setitem__(self, key: Any, x: Any) -> None:
        self.cell.cell_contents = x


@dataclass(frozen=True, slots=True)
class Within:
    """The entries of whatever tuple a slot holds now."""

    slot: Slot

    def __getitem__(self, key: Any) -> Any:
        return self.slot.base[self.slot.key][key]


@dataclass(frozen=True, slots=True)
class Attributes:
    """An object with __slots__ that reads and writes like a dict."""

    of: Any

    def __getitem__(self, key: str) -> Any:
        try:
            return getattr(self.of, key)
        except AttributeError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, x: Any) -> None:
        setattr(self.of, key, x)


@dataclass(frozen=True, slots=True)
class Static:
    """The attributes of an object and of its class as they are held: methods of no object."""

    of: Any

    def __getitem__(self, key: str) -> Any:
        return getattr_static(self.of, key)


@dataclass(frozen=True, slots=True)
class Content:
    """What a set, an array, bytes that change or a long container of numbers holds, as an entry that reads like a
    number: of long ones their length and some of their elements.
    """

    of: Any

    def __getitem__(self, key: Any) -> Any:
        x = self.of
        if isinstance(x, np.ndarray):
            return x.shape, x.dtype.str, x.tobytes() if x.size <= LONG else x.flat[::x.size // FEW].tobytes()
        if len(x) > LONG:
            step = len(x) // FEW
            return (len(x), *x[::step]) if isinstance(x, list | bytearray | array) else len(x)
        return tuple(x) if isinstance(x, list) else frozenset(x) if isinstance(x, set) else bytes(x)

    def whole(self) -> Any:
        """A copy of all of it."""
        return bytes(self.of) if isinstance(self.of, bytearray | array) else self.of.copy()

    def restore(self, before: Any) -> None:
        """Has it hold what it held."""
        x = self.of
        if isinstance(x, array):
            del x[:]
            x.frombytes(before)
        elif isinstance(x, bytearray | list):
            x[:] = before
        else:
            x.clear()
            x.extend(before) if isinstance(x, deque) else x.update(before)


@dataclass(frozen=True, slots=True)
class Having:
    """Whether an object has the attributes that its class makes room for."""

    of: Any

    def __getitem__(self, key: str) -> bool:
        return has(self.of, key)


NOWHERE = LookupError, AttributeError, ValueError, TypeError      # what looking for a place raises that is no more


class Gone:
    """What a place holds that is no more."""

    def __repr__(self) -> str:
        return "gone"


GONE = Gone()


class Slot(NamedTuple):
    """A place that holds something: `base[key]`, and its name for messages."""

    base: Any
    key: Any
    path: str

    def get(self) -> Any:
        return self.base[self.key]

    def held(self) -> Any:
        """What it holds, GONE where it is no more."""
        try:
            return self.get()
        except NOWHERE:
            return GONE


class Record(NamedTuple):
    """A container as it was before tracing. `names` limits a namespace to the entries a function can mean."""

    base: Any
    path: str
    before: dict[Any, Any]
    names: frozenset[str] | None

    def now(self) -> dict[Any, Any]:
        return entries(self.base, self.names)


@dataclass
class Space:
    """A namespace with so many names, and those that code looks up and that are `absent`, but for those that are
    `known` by other ways."""

    base: Any
    size: int
    path: str
    is_global: bool
    absent: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()


def entries(base: Any, names: frozenset[str] | None = None) -> dict[Any, Any]:
    """The entries of a container by key."""
    if isinstance(base, (list, tuple, deque)):
        return dict(enumerate(base))
    if isinstance(base, Cell):
        try:
            return {0: base[0]}
        except ValueError:
            return {}
    if isinstance(base, Attributes):
        return {name: getattr(base.of, name) for name in slots_of(type(base.of)) if has(base.of, name)}
    return dict(base) if names is None else {name: base[name] for name in names if name in base}


def exact(x: Any) -> Any:
    """What of a number, a text or a tuple of them is equal where it is the same: of a zero, which has a sign, of NaN
    and of complex numbers their text, of which their type makes them; of what a tuple holds the types too.

    >>> exact(0.0), exact(-0.0), exact(1.0), exact(float("nan")), exact((1,)) == exact((1.0,))
    ('0.0', '-0.0', 1.0, 'nan', False)
    """
    if isinstance(x, tuple):
        return tuple((type(part), exact(part)) for part in x)
    is_inexact = type(x) is float or type(x) is complex or isinstance(x, np.inexact)
    return str(x) if is_inexact and (not x or x != x or isinstance(x, complex | np.complexfloating)) else x


def is_long(x: Any) -> bool:
    """Whether a container of numbers is held to its identity, its length and a few elements alone."""
    return len(x) > LONG and all(isinstance(part, SCALARS) for part in entries(x).values())


def inherited(kind: type) -> list[str]:
    """The names of numbers that the user's classes give their objects."""
    return list({key: None for base in kind.__mro__ if is_state_of(base.__module__)
                 for key, x in vars(base).items() if isinstance(x, SCALARS) and not key.startswith("__")})


class State:
    """What is reachable from a function and its arguments: tensors, arrays, numbers, and the containers on the way.

    Globals count where the function that could read them looks them up, attributes where some reachable code takes an
    attribute of their name (numbers: other than to call it), so that data sets, counters, loop variables and other
    belongings that the function never touches are left alone. What code takes of that which a name holds, as in
    `self.optimizer.step()`, counts for the classes of all that stands under this name, unless something else may stand
    there. Code of the user's that computes names may mean all. What is given to `st.debug.callback`, to be called when
    programs run, has to be the same one: what it holds, and what its code looks up, does not count for that.
    """

    def __init__(self, roots: dict[str, Any], everything: bool = False) -> None:
        self.tensors: dict[int, list[Slot]] = {}
        self.arrays: dict[int, Slot] = {}
        self.numbers: list[tuple[Slot, Any]] = []
        self.objects: list[tuple[Slot, Any]] = []
        self.kinds: list[tuple[Slot, type]] = []        # of objects that are others at each call
        self.tuples: list[tuple[Slot, tuple[Any, ...]]] = []
        self.codes: list[tuple[FunctionType, CodeType, tuple[Any, ...] | None]] = []    # which an editor may replace
        self.lengths: list[tuple[Any, int, str]] = []
        self.spaces: dict[int, Space] = {}      # by the id of what holds the names
        self.records: list[Record] = []
        self.lookups = Lookups(self.count, everything)
        self.absent: set[str] = set()       # modules that code imports, and that nobody has imported yet
        self.waiting: dict[str, list[tuple[Slot, Any, Any]]] = {}
        self.given: list[tuple[Slot, Sequence[Any]]] = []    # what is called later, by the attributes on the way to it
        self.given_by: set[tuple[Any, ...]] = set()     # attributes of variables, on such ways
        self.seen: dict[int, Any] = {}
        self.classes: set[type] = set()     # of objects, whose code is waiting
        self.namespaces: dict[type, MappingProxyType[str, Any]] = {}    # one for each class: `vars` gives a new one
        self.asked: set[int] = set()        # objects on such ways that compute their attributes
        self.alone: set[int] = set()        # objects that no slot holds: arguments, parts of code
        self.queue: list[tuple[Slot | None, Any, str]] = [(None, x, path) for path, x in roots.items()]
        given: list[tuple[Slot, Any]] = []
        while self.queue:
            self.visit(*self.queue.pop())
            if not self.queue:
                self.lookups.doubt_unknown()
            if not self.queue:
                given = [*self.ways()]
        self.numbers += [(slot, x) for slot, x in given if isinstance(x, SCALARS)]
        self.objects += [(slot, x) for slot, x in given if not isinstance(x, (Handle, ModuleType, *SCALARS))]
        for space in self.spaces.values():
            looked = space.absent if space.is_global else self.lookups.looked
            space.absent = frozenset(looked - space.known - space.base.keys())

    def visit(self, slot: Slot | None, x: Any, path: str) -> None:
        """Notes what a slot holds, and queues what that holds in turn."""
        if isinstance(x, CODE):
            if slot and is_state_of(x.__module__):      # nobody rebinds those of others
                self.objects.append((slot, x))
            self.enter_once(x, path)
        elif isinstance(x, Handle):
            self.tensors.setdefault(id(x), []).extend([slot] if slot else [])
            if LEAVES.known:
                self.queue += [(None, hook.f, path) for hooks in LEAVES.of(x) for hook in hooks]
        elif isinstance(x, SCALARS):
            self.numbers.extend([(slot, x)] if slot else [])
        elif isinstance(x, np.ndarray):
            if slot:
                self.arrays.setdefault(id(x), slot)
                self.objects.append((slot, x))
        elif isinstance(x, tuple) and slot:
            self.tuples.append((slot, x))
            self.lookups.note_parts(x)
            self.queue += [(Slot(Within(slot), k, f"{path}[{k}]"), part, f"{path}[{k}]") for k, part in enumerate(x)]
        else:
            if slot is None:
                self.alone.add(id(x))
            elif not isinstance(x, ModuleType):
                self.objects.append((slot, x))
            self.enter_once(x, path)

    def enter_once(self, x: Any, path: str) -> None:
        """Queues the parts of something, unless it was seen before."""
        if id(x) not in self.seen:
            self.seen[id(x)] = x
            if not isinstance(x, ModuleType) or is_users(x.__name__):
                self.lookups.note_parts(x)
            self.enter(x, path)

    def enter(self, x: Any, path: str) -> None:
        """Queues the parts of something that is seen for the first time."""
        if isinstance(x, FunctionType):
            if is_state_of(x.__module__) and not isinstance(getattr(x, "__wrapped__", None), Said):   # no memory
                self.enter_function(x, path)
        elif isinstance(x, BuiltinMethodType):
            self.queue.append((None, x.__self__, path.rpartition(".")[0] or path))
        elif isinstance(x, MethodType):
            self.queue += [(None, x.__self__, path.rpartition(".")[0] or path), (None, x.__func__, path)]
        elif isinstance(x, partial):
            self.queue += [(None, part, path) for part in (x.func, x.args, x.keywords)]
        elif isinstance(x, Opaque):
            self.queue += [(None, part, path) for part in x.inside()]
        elif isinstance(x, WRAPPED):
            part = x.fget if isinstance(x, property) else x.func if isinstance(x, cached_property) else x.__func__
            self.queue.append((None, part, path))
        elif isinstance(x, (dict, list, tuple, deque)):
            self.enter_entries(x, path)
        elif isinstance(x, (set, bytearray, array)):
            self.hold_content(x, path)
            self.queue += [(None, part, path) for part in x if not isinstance(part, SCALARS)]
        elif isinstance(x, ModuleType):
            if is_users(x.__name__):
                self.queue.append((None, vars(x).get("__getattr__"), path))
                self.wait(vars(x), path, x, [key for key in vars(x) if not key.startswith("__")])
        elif isinstance(x, type):
            if is_state_of(x.__module__):
                self.wait(self.namespace(x), path, x)
                self.enter_classes(type(x), path)
                made = (f for kind in x.__mro__ if is_users(kind.__module__) for f in vars(kind).values())
                self.queue += [(None, f, path) for f in made if getattr(f, "__name__", "") in CONSTRUCTORS]
        elif f"{type(x).__module__}.{type(x).__name__}" in NAMESPACES or is_state_of(type(x).__module__):
            self.enter_object(x, path)

    def enter_function(self, f: FunctionType, path: str) -> None:
        """Closure cells, and the globals its code names; of ours that check arguments only what these are for."""
        names, own = found(f), is_users(f.__module__ or "__main__")
        if not own and isinstance(inner := getattr(f, "__wrapped__", None), FunctionType):
            return self.queue.append((None, inner, path))
        self.lookups.note({(name,): f.__globals__[name] for name in names.globals & f.__globals__.keys()})
        self.lookups.learn(names, everything=names.any_attribute and own)
        cells = {name: Cell(cell) for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ())}
        for name, cell in cells.items():
            if own if name == "__class__" else not names.later or name in names.used:
                self.hold(cell, name, {0: name})      # our own code asks a class for what comes behind it alone
        shared = [(first[0], way) for first, *way in names.given if isinstance(first, tuple)]
        self.given += [(Slot(cells[first], 0, first), way) for first, *way in names.given if first in cells]
        self.given += [(Slot(f.__globals__, name, name), way) for name, way in shared if name in f.__globals__]
        self.given_by |= {tuple(way) for first, *way in names.given if way and isinstance(first, str)}
        if names.modules:
            above = accumulate((f.__globals__.get("__package__") or "").split("."), "{}.{}".format)
            imported = {f"{package}.{name}".strip(".") for package in ("", *above) for name in names.modules}
            self.queue += [(None, sys.modules[name], name) for name in imported & sys.modules.keys()]
            self.absent |= imported - sys.modules.keys()
        for default in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self.queue.append((None, default, path))
        if vars(f):
            self.wait(vars(f), path, FunctionType)
        if own:
            self.codes.append((f, f.__code__, f.__defaults__))
            every = (key for key in f.__globals__ if names.any_global and not key.startswith("__"))
            self.hold(f.__globals__, "", None, names.globals.union(every))
            self.space(f.__globals__, "", names.globals.union(name for name, _ in shared))

    def enter_entries(self, x: Any, path: str) -> None:
        """A list or dict: all entries count, of a long one of numbers its length and a few."""
        self.lengths.append((x, len(x), path))
        if not is_long(x):
            self.hold(x, path, {key: f"{path}[{key!r}]" for key in entries(x)})
        elif not isinstance(x, tuple):
            self.hold_content(x, path)

    def hold_content(self, x: Any, path: str) -> None:
        """What is held to its elements as one number is."""
        slot = Slot(Content(x), None, path)
        self.numbers.append((slot, slot.get()))

    def enter_classes(self, kind: type, path: str) -> None:
        """The code of an object's class and of what that inherits of, by name."""
        for base in kind.__mro__:
            if base not in self.classes and is_state_of(base.__module__):
                self.classes.add(base)
                names = [name for name, part in vars(base).items() if not isinstance(part, SCALARS)]
                self.wait(self.namespace(base), path, base, names)

    def namespace(self, kind: type) -> MappingProxyType[str, Any]:
        """What a class holds."""
        return self.namespaces.setdefault(kind, vars(kind))

    def enter_object(self, x: Any, path: str) -> None:
        """Attributes by name, and the code of its class."""
        self.enter_classes(type(x), path)
        slots = {name: has(x, name) for name in slots_of(type(x))}
        if there := [name for name, is_there in slots.items() if is_there]:
            self.wait(Attributes(x), path, type(x), there)
        self.numbers += [(Slot(Having(x), name, f"hasattr {path}.{name}"), False) for name in slots.keys() - there]
        if has(x, "__dict__"):
            own, numbers = attributes(x), inherited(type(x))
            self.wait(own, path, type(x))
            self.spaces[id(own)].known = frozenset(numbers)
            self.wait(Attributes(x), path, type(x), [key for key in numbers if key not in own])

    def hold(self, base: Any, path: str, paths: dict[Any, str] | None, names: frozenset[str] | None = None) -> None:
        """Records a container and queues its entries."""
        before = entries(base, names)
        self.records.append(Record(base, path, before, names))
        if isinstance(base, dict) and names is None:    # which may answer to them as to attributes
            self.lookups.note({key: x for key, x in before.items() if isinstance(key, str)})
        for key, x in before.items():
            name = paths[key] if paths is not None else str(key)
            self.queue.append((Slot(base, key, name), x, name))

    def wait(self, base: Any, path: str, owner: Any, keys: list[str] | None = None) -> None:
        """Entries of a namespace of which only those count that code mentions by name, or takes of what is as the owner
        is."""
        read_only = isinstance(base, MappingProxyType)
        if not isinstance(base, Attributes):
            self.space(base, path)
        if not read_only and not (isinstance(base, Attributes) and has(base.of, "__dict__")):
            self.records.append(Record(base, path, entries(base), None))
        for key in entries(base) if keys is None else keys:
            x = base[key]
            item = (Slot(base, key, f"{path}.{key}" if path else key), x)
            if self.lookups.is_taken(key, owner, isinstance(x, SCALARS)) or (read_only and is_implicit(key, x)):
                self.queue.append((*item, item[0].path))
            else:
                self.waiting.setdefault(key, []).append((*item, owner))

    def space(self, base: Any, path: str, names: frozenset[str] | None = None) -> None:
        """Notes a namespace, in which some names are looked up that are not there; attributes without `names`."""
        found = self.spaces.setdefault(id(base), Space(base, len(base), path, names is not None))
        found.absent |= names or frozenset()

    def ways(self) -> Iterator[tuple[Slot, Any]]:
        """What is called later, and all on the way to it; what computes attributes there is queued."""
        of_variables = ((slot, way[1:]) for way in self.given_by for slot, *_ in self.waiting.get(way[0], ()))
        for slot, way in (*self.given, *of_variables):
            yield slot, (x := slot.get())
            for name in way:
                held = getattr_static(x, name, None)
                is_held = held is not None and (isinstance(held, METHODS) or not hasattr(type(held), "__get__"))
                if computes(type(x)) or not (is_held or name in slots_of(type(x))):
                    self.queue += [(slot, x, slot.path)] * (id(x) not in self.asked)
                    self.asked.add(id(x))
                    break
                slot = Slot((Static if is_held else Attributes)(x), name, f"{slot.path}.{name}")
                yield slot, (x := slot.get())

    def count(self, names: Set[str]) -> None:
        """Queues what waited for one of these names."""
        for name in list(self.waiting) if self.lookups.everything else names & self.waiting.keys():
            items = self.waiting.pop(name)
            taken = [self.lookups.is_taken(name, owner, isinstance(x, SCALARS)) for _, x, owner in items]
            self.queue += [(slot, x, slot.path) for (slot, x, _), is_taken in zip(items, taken) if is_taken]
            if not all(taken):
                self.waiting[name] = [item for item, is_taken in zip(items, taken) if not is_taken]


def found(f: FunctionType) -> Names:
    """The names that a function looks up, but for what it gives to `st.debug.callback`."""
    names, later = names_of(f.__code__), frozenset[Chain]()
    if not names.any_global:
        later = frozenset(way for way in names.later.union((name,) for name in names.globals) if is_later(f, way))
    if all(way[-1] == PARTIAL for way in later):
        return names._replace(later=frozenset())
    return names_of(f.__code__, later)._replace(later=later)


def is_later(f: FunctionType, way: Chain) -> bool:
    """Whether names find, from a global of a function on, what calls later what it is given: itself, or a function that
    gives its first argument to that and does nothing else with it."""
    x = at_end(f, way)
    if not isinstance(x, FunctionType) or is_called_later(x, way):
        return is_called_later(x, way)
    own, code = names_of(x.__code__), x.__code__
    later = frozenset(w for w in own.later.union((name,) for name in own.globals) if is_called_later(at_end(x, w), w))
    return code.co_argcount > 0 and any(w[-1] != PARTIAL for w in later) and not own.any_global and \
        code.co_varnames[0] not in names_of(code, later).used


def at_end(f: FunctionType, way: Chain) -> Any:
    """What names find, from a global of a function on through modules."""
    x = f.__globals__.get(way[0])
    for name in way[1:]:
        x = getattr(x, name, None) if isinstance(x, ModuleType) else None
    return x


def is_called_later(x: Any, way: Chain) -> bool:
    """Whether what names found calls later what it is given, or is functools.partial."""
    return isinstance(x, CODE) and (x.__module__, x.__qualname__) == LATER[way[-1] == PARTIAL]


@cache
def installed() -> tuple[str, ...]:
    """The folders of Python itself and of what was installed into it."""
    return tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def is_users(module: str) -> bool:
    """Whether a module is the user's own: not ours, not Python's, not an installed package's, unless that is written
    with Stele. One that nobody imported is a text that somebody ran, or was made by hand."""
    if module == "__main__" or (found := sys.modules.get(module)) is None:
        return True
    if (file := getattr(found, "__file__", None)) is None:
        return getattr(found, "__spec__", None) is None
    package = module.partition(".")[0]
    return package != "stele" and (not is_installed(file) or is_written_with_stele(package, len(sys.modules)))


@cache
def is_installed(file: str) -> bool:
    """Whether a file of Python's lies where packages do, or Python itself."""
    return file.startswith(installed()) or any(f"{os.sep}{folder}{os.sep}" in file for folder in PACKAGES)


@lru_cache(maxsize=4096)
def is_written_with_stele(package: str, loaded: int) -> bool:
    """Whether a module of a package names Stele, or something of it, where so many modules are loaded."""
    if package in sys.stdlib_module_names:
        return False
    modules = [x for name, x in [*sys.modules.items()] if name.partition(".")[0] == package and type(x) is ModuleType]
    homes = (vars(x).get("__name__") if isinstance(x, ModuleType) else x.__module__ if isinstance(x, CODE) else ""
             for module in modules for x in [*vars(module).values()])
    return any(str(home).partition(".")[0] == "stele" for home in homes)


def is_implicit(key: str, x: Any) -> bool:
    """Whether code may call this entry of a class and not name it: an operator. What a dataclass writes reads all."""
    generated = isinstance(x, FunctionType) and x.__code__.co_qualname.startswith("__create_fn__")
    return key.startswith("__") and key not in (*CONSTRUCTORS, *SHOWING) and callable(x) and not generated


def is_state_of(module: str | None) -> bool:
    """Whether functions and objects of a module are walked into: the user's, and those of ours that hold state."""
    return module is not None and (is_users(module) or module.startswith(INSIDE))


def is_data(x: Any) -> bool:
    """Whether x holds nothing but tensors, arrays, numbers, functions, and containers and objects that hold such."""
    leaves, spec = tree.flatten(x, lambda x: is_open(type(x)), shared=True)
    return spec is not None and all(isinstance(leaf, (Handle, np.ndarray, *SCALARS, *CODE)) for leaf in leaves)


@cache
def is_open(kind: type) -> bool:
    """Whether objects of a class are their attributes and no more, as far as those who made it let one know."""
    is_ours = issubclass(kind, Opaque | tree.Branch) or kind.__module__.partition(".")[0] == "stele"
    is_known = hasattr(kind, "__dataclass_fields__") or issubclass(kind, UserDict | SimpleNamespace) \
        or is_users(kind.__module__) or f"{kind.__module__}.{kind.__name__}" in NAMESPACES
    return is_known and not is_ours and not hasattr(kind, "__del__") \
        and tree.base_of(kind) in (object, SimpleNamespace)
