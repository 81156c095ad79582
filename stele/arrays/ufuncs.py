"""What the methods of NumPy's ufuncs mean on tensors, with its arguments: reduce, accumulate, outer, at, reduceat."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from inspect import signature
from operator import index
from types import ModuleType
from typing import Any, NoReturn, cast

import numpy as np

from stele.arrays.looking import Looking
from stele.errors import ArgumentError, DTypeError, IndexOutOfRange, kind
from stele.ir.door import public
from stele.ops.arguments import refuse

REDUCED = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
           "logical_or": "any"}
RUNNING = {"add": "cumulative_sum", "multiply": "cumulative_prod", "maximum": "cummax", "minimum": "cummin",
           "logaddexp": "logcumsumexp"}
COMBINED = {"add": "add", "subtract": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


form_of = cache(signature)


@cache
def method_of(f: np.ufunc, method: str, own: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A method of a ufunc whose counterpart is `own`; None where tensors have none."""
    known, made = METHODS[method]
    return partial(made, f, own) if own is not None and (f.nin == 2 if known is None else f.__name__ in known) else None


def with_methods(functions: Iterable[tuple[str, Any]]) -> None:
    """Gives functions that stand for ufuncs their methods: `st.add.outer(x, y)` as `np.add.outer(x, y)`."""
    for name, own in functions:
        f = getattr(np, name, None)
        if isinstance(f, np.ufunc) and f.signature is None:
            for method in METHODS:
                setattr(own, method, method_of(f, method, own) or partial(missing, name, method))


@public
def missing(name: str, method: str, *_: Any, **__: Any) -> NoReturn:
    """Refuses a method of a ufunc that functions here do not have."""
    f = getattr(np, name)
    if f.nin == 1 and method != "at":
        raise ArgumentError(f"{name} has no {method}: it is a function of one array", hint=f"Write st.{name}(x).")
    raise ArgumentError(f"{name} has no {method}", hint=f"Write {INSTEAD[method].replace('f(', f'st.{name}(')}.")


def stele() -> ModuleType:
    """The namespace."""
    return sys.modules["stele"]


def put_into(f: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a function of tensors gives, written into the tensors that are given as `out`, which are returned.

    With `where`, a ufunc's result is written where that is True. Raises ArgumentError for an `out` that is no tensor,
    for another number of them, and for a mask where NumPy has no ufunc.
    """
    named = {name: x for name, x in kwargs.items() if name != "out"}
    if (out := kwargs["out"]) is None:
        return f(*args, **named)
    mask = named.pop("where", True) if isinstance(getattr(np, f.__name__, None), np.ufunc) else True
    made, given = f(*args, **named), out if isinstance(out, tuple | list) else (out,)
    found = made if isinstance(made, tuple | list) else (made,)
    if len(given) != len(found) or not all(isinstance(x, Looking) for x in given):
        wanted = "a tensor" if len(found) == 1 else f"{len(found)} tensors"
        raise ArgumentError(f"out of {f.__name__} needs {wanted}, got {kind(out)}",
                            hint="Write array[...] = f(x).numpy() into an array of NumPy.")
    for x, y in zip(given, found):
        x.rebind((y if mask is True else stele().where(mask, y, x)).broadcast_to(x.shape))
    return out if made is found else given[0]


def reduced(f: np.ufunc, own: Callable[..., Any], array: Any, axis: Any = 0, dtype: Any = None, *,
            keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """All elements along axes as one: those that `where` leaves out change nothing, or are `initial`."""
    made = typed(getattr(stele(), REDUCED[f.__name__]), stele().asarray(array), dtype)
    made = partial(made, axis=axis, keepdims=keepdims, where=None if where is True else where)
    if initial is None or not f.__name__.startswith("logical"):
        return made() if initial is None else made(initial=initial)
    return own(made(), initial)


def running(f: np.ufunc, own: Callable[..., Any], array: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Of each element and all before it."""
    return typed(getattr(stele(), RUNNING[f.__name__]), stele().asarray(array), dtype)(axis=axis)


def typed(function: Callable[..., Any], x: Any, dtype: Any) -> Callable[..., Any]:
    """A function of x in a dtype, which it may have to be told where its results have a wider one."""
    if dtype is None:
        return partial(function, x)
    return partial(function, x.astype(dtype), **{"dtype": dtype} if "dtype" in form_of(function).parameters else {})


def parts(f: np.ufunc, own: Callable[..., Any], array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Each part of an axis as one, from one position to the next, or the element there where that is not behind it."""
    x = stele().moveaxis(stele().asarray(array), axis, 0)
    n, at = x.shape[0], [*map(index, indices)]
    if any(k < 0 or k >= n for k in at):
        raise IndexOutOfRange(f"np.{f.__name__}.reduceat takes positions from 0 to {n - 1} of this axis, got {at}")
    rows = [typed(getattr(stele(), REDUCED[f.__name__]), x[k:max(end, k + 1)], dtype)(axis=0)
            for k, end in zip(at, [*at[1:], n])]
    return stele().moveaxis(stele().stack(rows), 0, axis)


def outer(f: np.ufunc, own: Callable[..., Any], a: Any, b: Any) -> Any:
    """Of each element of one and each of the other."""
    x, z = map(stele().asarray, (a, b))
    return own(x.reshape(*x.shape, *(1,) * z.ndim), z)


def combined(f: np.ufunc, own: Callable[..., Any], a: Any, indices: Any, b: Any) -> None:
    """Writes to elements what they and all operands meant for them are: one that is named twice takes both."""
    if not isinstance(a, Looking):
        refuse(f"what {f.__name__}.at writes to", "a tensor", a)
    x, z = cast(Any, a), stele().asarray(b)
    none = x.reshape(-1)[:0]
    made = own(none, z.reshape(-1)[:0] if z is b or z.ndim else b)
    if made.dtype.kind != x.dtype.kind:
        raise DTypeError(f"np.{f.__name__}.at cannot write {made.dtype} into {x.dtype}",
                         hint=f"Convert: b.astype('{x.dtype}').")
    at = stele().arange(x.size).reshape(x.shape)[indices]
    z = stele().broadcast_to(z.astype(x.dtype), at.shape).reshape(-1)
    x[...] = stele().scatter(x.reshape(-1), at.reshape(-1), -z if f.__name__ == "subtract" else z,
                             mode=COMBINED[f.__name__]).reshape(x.shape)


# What to write for those that a function does not have.
INSTEAD = {"at": "x[i] = f(x[i], ...), which takes an element that i names twice once", "reduceat": "f(x, z) of parts",
           "reduce": "a loop, y = f(y, row) for row in x", "accumulate": "a loop, y = f(y, row), and st.stack of all y"}
METHODS: dict[str, tuple[dict[str, str] | None, Callable[..., Any]]] = {
    "reduce": (REDUCED, reduced), "accumulate": (RUNNING, running), "reduceat": (REDUCED, parts),
    "at": (COMBINED, combined), "outer": (None, outer)}
