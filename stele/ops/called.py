"""Functions of a user's on NumPy's arrays, which programs call in Python."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from stele.errors import GraphError, TraceError, kind
from stele.ir.graph import Array, Graph, Item, Op, Placed, Value
from stele.ir.origin import lines
from stele.ir.record import Aside
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, dtype
from stele.ops.linear import along

Result = Type | TupleType
CODES: WeakValueDictionary[str, Code] = WeakValueDictionary()


class Code(Aside):
    """A function of arrays with the types of its results. Its name is its own: no two that live have the same one.

    Where it is `vectorized`, further axes in front of all operands are further axes in front of all results. Calls that
    are `in_turn` are for what such a function of the user's does, not for what they return. What is `defined` has this
    name in each process that runs its definition, unless several functions have it.
    """

    def __init__(self, name: str, run: Callable[..., Any], type: Callable[..., Result], vectorized: bool = False,
                 in_turn: Callable[..., Any] | None = None, defined: bool = False) -> None:
        self.name = next(n for k in count() if (n := f"{name}#{k}" if k else name) not in CODES)
        self.defined = defined and self.name == name
        self.run, self.type, self.vectorized, self.in_turn = run, type, vectorized, in_turn
        self.placed: WeakValueDictionary[tuple[bool, ...], Code] = WeakValueDictionary()
        CODES[self.name] = self

    def at_many(self, flags: tuple[bool, ...]) -> Code:
        """The function at each of many places; the same one as long as it lives: a graph made again is the same."""
        if (many := self.placed.get(flags)) is None:
            many = self.placed[flags] = Code(f"{self.name} at many places", lambda *x: each(self, flags, x),
                                             lambda *t: spread(self, flags, t), in_turn=self.in_turn)
        return many


class Called(Op):
    """What a function of arrays returns, which Python calls amid a program; by itself it has no derivative."""

    function: str
    code: Any       # a Code: None where the op was read from text
    family: ClassVar[str] = "host"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Called) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    @property
    def is_there(self) -> bool:
        """Whether this process has the code."""
        return self.code is not None or self.function in CODES

    @property
    def name(self) -> str:
        return self.function.partition("#")[0]

    @property
    def found(self) -> Code:
        """The code, which text knows by its name alone."""
        code = self.code or CODES.get(self.function)
        if code is None:
            raise GraphError(f"there is no function {self.function!r} here",
                             hint="Run the file that defines it with @st.op.")
        return code

    def type(self, *x: Type) -> Result:  # type: ignore[override]
        return self.found.type(*x)

    def reference(self, *x: Array, **_: Any) -> Any:
        made, wanted = self.found.run(*x), self.type(*(Type(dtype(a.dtype), a.shape) for a in x))
        if isinstance(wanted, TupleType):
            parts = made if isinstance(made, tuple | list) else (made,)
            if len(parts) != len(wanted.items):
                raise GraphError(f"{self.function} returns {len(parts)} arrays where its shape rule says "
                                 f"{len(wanted.items)}")
            return tuple(fitted(self.function, y, t) for y, t in zip(parts, wanted.items))
        return fitted(self.function, made, wanted)

    def refuse_zero(self, rule: str, y: Value) -> None:
        if isinstance(y.type, TupleType) or y.dtype.is_float:
            raise GraphError(f"{self.function} has no derivative",
                             hint="Say it: @st.op(vjp=...) or @st.op(jvp=...); or "
                                  f"cut it off with x.detach() before {self.function}.")

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        code = self.found
        if code.vectorized:
            made = self(*(along(a, n) for a in x))
        else:
            many = code.at_many(tuple(is_placed for _, is_placed in x))
            made = Called(many.name, many)(*(a for a, _ in x))
        return tuple(Item(k)(made) for k in range(len(y.type.items))) if isinstance(y.type, TupleType) else made

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(SHOWN.name, SHOWN), (np.array([3, 1, 2]),)),


def refuse_turns(graphs: Iterable[Graph], what: str) -> None:
    """Raises TraceError for prints and callbacks in graphs that examples leave at their own steps or do not take."""
    for v in (v for graph in graphs for v in graph.everything if isinstance(v.op, Called) and v.op.found.in_turn):
        raise TraceError(f"st.{v.op.name} stands in {what} under st.vmap, where it is computed "
                         "for all of them", where=", ".join(lines(v.where)),
                         hint="Put it in front of it or behind it, or call the function for one example.")


def fitted(name: str, y: Any, t: Type) -> Array:
    """A result of the type that it has to have."""
    if not isinstance(y, np.ndarray | np.generic | bool | int | float | complex):
        raise GraphError(f"{name} returns {kind(y)} where its shape rule says {t}", hint="Several results need a shape "
                         "rule that returns a list." if isinstance(y, tuple) else
                         f"Return an array of NumPy: np.asarray(y, {t.dtype.name!r}).")
    array = np.asarray(y)
    if array.dtype != t.dtype.numpy or array.shape != t.shape:
        what = f"an array of {list(t.shape)}" if array.dtype == t.dtype.numpy else f"y.astype({t.dtype.name!r})"
        raise GraphError(f"{name} returns {array.dtype}{list(array.shape)} where its shape rule says {t}",
                         hint=f"Return {what}, or give @st.op the shape rule that holds.")
    return array


def each(code: Code, flags: Sequence[bool], x: Sequence[Array]) -> Any:
    """The function at each place by itself, one after the other."""
    n = next(len(a) for a, flag in zip(x, flags) if flag)
    many = spread(code, flags, [Type(dtype(a.dtype), a.shape) for a in x])
    made = [code.run(*(a[k] if flag else a for a, flag in zip(x, flags))) for k in range(n)]
    stack: Callable[..., Array] = lambda t, y: np.stack(y) if y else np.zeros(t.shape, t.dtype.numpy)
    if isinstance(many, TupleType):
        return tuple(stack(t, [row[k] for row in made]) for k, t in enumerate(many.items))
    return stack(many, made)


def spread(code: Code, flags: Sequence[bool], x: Sequence[Type]) -> Result:
    """The types of the results at all places."""
    n = next(t.shape[0] for t, flag in zip(x, flags) if flag)
    one = code.type(*(t.with_shape(t.shape[1:]) if flag else t for t, flag in zip(x, flags)))
    many: Callable[[Type], Type] = lambda t: t.with_shape((n, *t.shape))
    return TupleType(tuple(map(many, one.items))) if isinstance(one, TupleType) else many(one)


SHOWN = Code("largest first", lambda x: np.sort(x)[::-1], lambda t: t)
ALL = (Called,)
