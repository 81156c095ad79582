"""What the variables of a statement are behind each way through it, and which of them the graph hands through."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from stele.arrays.tensor import Tensor, constant
from stele.errors import ShapeError, TraceError
from stele.ir.graph import number_dtype
from stele.ir.origin import here, lines
from stele.ir.types import DType, Type, promote
from stele.ops.control import fits
from stele.ops.linear import full
from stele.staged.lower import RESULT
from stele.tracing import tree
from stele.tracing.state import SCALARS, exact

NUMBERS = (bool, int, float, complex, np.generic, np.ndarray, Tensor)


class Unset:
    """What a variable is that only some ways through the program set: it says so where it is used."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why

    def __repr__(self) -> str:
        return f"{self.name} is used, which {self.why}"

    def refuse(self, *_: Any) -> Any:
        raise TraceError(f"{self!r}", where=", ".join(lines(here())), hint=f"Set {self.name} before that line.")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = refuse
    __rmatmul__ = __pow__ = __rpow__ = __neg__ = __getitem__ = __call__ = __bool__ = __lt__ = __gt__ = refuse
    __le__ = __ge__ = __iter__ = __len__ = __float__ = __int__ = __index__ = refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):       # what Python asks of any object
            raise AttributeError(name)
        return self.refuse()


UNSET = Unset("", "")
"""What a variable is that nothing has set yet."""


class Scope(NamedTuple):
    """The variables that a statement binds: how they are read and set, and their names; what it may change in place;
    its line."""

    get: Callable[[], list[Any]]
    put: Callable[[Sequence[Any]], None]
    names: tuple[str, ...]
    changed: Callable[[], list[Any]]
    line: int


def held(read: Callable[[], Any]) -> Any:
    """What a variable is, UNSET where it is not."""
    try:
        return read()
    except (NameError, AttributeError, LookupError):
        return UNSET


class Seen(NamedTuple):
    """A leaf behind a way through the program, with its type if it is a tensor or a number."""

    leaf: Any
    type: Type | None


def seen(x: Any) -> Seen:
    """A leaf as it is now."""
    if isinstance(x, Tensor):
        return Seen(x, x.value.type)
    if isinstance(x, np.ndarray):
        return Seen(x, Type(number_dtype(x), x.shape))
    return Seen(x, Type(number_dtype(x)) if isinstance(x, NUMBERS) else None)


class Variable(NamedTuple):
    """A variable by its leaves: of each the type as which the graph hands it through, or what it is in any case."""

    spec: tree.Spec | None
    leaves: tuple[Type | Seen, ...]

    @property
    def types(self) -> list[Type]:
        """The types of the leaves that are handed through."""
        return [t for t in self.leaves if isinstance(t, Type)]

    def is_like(self, other: Variable) -> bool:
        """Whether another is handed through alike."""
        return self.spec == other.spec and all(
            a == b if isinstance(a, Type) or isinstance(b, Type) else is_same(a.leaf, b.leaf)
            for a, b in zip(self.leaves, other.leaves, strict=True))

    def given(self, x: Any) -> Iterator[Tensor]:
        """The leaves of x that are handed through; zeros where x is nothing yet."""
        values = [x] * len(self.leaves) if x is UNSET else tree.flatten(x)[0]
        for value, t in zip(values, self.leaves):
            if isinstance(t, Type):
                made = Tensor(full(t.shape, 0, t.dtype)) if value is UNSET else constant(
                    value, None if isinstance(value, Tensor | np.ndarray) else t.dtype)
                yield made if made.dtype == t.dtype else made.astype(t.dtype)

    def made(self, values: Iterator[Any]) -> Any:
        """The variable of what was handed through."""
        return tree.unflatten(self.spec, [next(values) if isinstance(t, Type) else t.leaf for t in self.leaves])


Behind = tuple[tree.Spec | None, list[Seen]]
"""A variable behind one way through the program."""


def behind(x: Any) -> Behind:
    """A variable as it is now."""
    leaves, spec = tree.flatten(x)
    return spec, list(map(seen, leaves))


def joined(name: str, ways: Sequence[Behind], why: str, line: int) -> Variable:
    """A variable behind several ways, in the order in which they are tried; `why` says what sets it on some alone.

    Raises ShapeError for tensors that differ in shape or dtype: the graph hands one of them through.
    """
    there = [(spec, leaves) for spec, leaves in ways if not any(x.leaf is UNSET for x in leaves)]
    if not there:
        return Variable(None, (Seen(UNSET, None),))
    spec = there[0][0]
    unset = Variable(None, (Seen(Unset(name, f"{why} line {line}"), None),))
    if any(other != spec for other, _ in there) or (len(there) < len(ways) and name != RESULT):
        return unset
    leaves = [leaf(name, together, len(there) < len(ways), line) for together in zip(*(leaves for _, leaves in there))]
    return unset if None in leaves else Variable(spec, tuple(leaves))   # type: ignore[arg-type]


def leaf(name: str, ways: Sequence[Seen], filled: bool, line: int) -> Type | Seen | None:
    """One leaf behind several ways, None where it has no place in a graph."""
    first = ways[0]
    if all(is_same(first.leaf, x.leaf) for x in ways) and (not filled or first.type is None):
        return first
    types = [x.type for x in ways]
    known = [t for t in types if t is not None]
    if len(known) < len(types):
        return None
    strong = [x.type for x in ways if x.type is not None and isinstance(x.leaf, Tensor | np.ndarray)]
    if any(not fits(t, strong[0]) for t in strong) or (strong and strong[0].shape and len(strong) < len(ways)):
        raise ShapeError(f"{'the result' if name == RESULT else name} is {' or '.join(dict.fromkeys(map(str, known)))} "
                         f"behind line {line}, by what numbers of tensors say there",
                         hint="A graph holds one dtype and one shape: cast or broadcast to those of the other.")
    return strong[0] if strong and not widened(strong[0].dtype, known) else Type(
        reduce(promote, (t.dtype for t in known)), known[0].shape)


def widened(dtype: DType, types: Sequence[Type]) -> bool:
    """Whether numbers of another kind are among these, such as a float beside tensors of integers."""
    return any("biufc".index(t.dtype.kind) > "biufc".index(dtype.kind) for t in types)


def is_same(a: Any, b: Any) -> bool:
    """Whether a leaf is the same on two ways: one object, or equal Python values."""
    unset = isinstance(a, Unset) and isinstance(b, Unset)
    return a is b or unset or (type(a) is type(b) and isinstance(a, SCALARS) and exact(a) == exact(b))
