"""What users write in x[...]: lists become arrays, and bool masks positions on their axes taken as one."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable
from math import prod
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from stele.arrays.looking import Looking, is_traced
from stele.errors import BadKey
from stele.ir.door import public

SIMPLE = frozenset((int, slice, NoneType, EllipsisType))


def is_simple(key: Any) -> bool:
    """Whether a key is one of ints, slices, None and ... alone."""
    return type(key) in SIMPLE or (type(key) is tuple and SIMPLE.issuperset(map(type, key)))


def whole_numbers(key: Any) -> Any:
    """A key whose integers of NumPy are Python's."""
    if isinstance(key, tuple):
        return tuple([int(e) if isinstance(e, np.integer) else e for e in key])
    return int(key) if isinstance(key, np.integer) else key


@public
def resolved(x: Any, key: Any, constant: Callable[[Any], Any], axes: int | None = None) -> tuple[Any, Any]:
    """x and a key without lists and masks, of which x[key] is what was asked for.

    A mask of k axes becomes its positions, as integers, and those axes of x become one; so of True and False one of
    length 1. Numbers of masks are looked at, but not of one whose numbers only a program knows, and not where one value
    of so many `axes` is written at all places of a lone mask: such a mask stays, with one axis.
    """
    entries = [array(e, constant) for e in (key if isinstance(key, tuple) else (key,))]
    masks = [k for k, e in enumerate(entries) if is_mask(e)]
    if not masks:
        return x, tuple(entries)
    arrays = sum(hasattr(e, "ndim") for e in entries)
    behind = x.ndim - sum(map(taken, entries)) if masks[-1] == len(entries) - 1 else 0
    is_kept = axes is not None and arrays <= len(masks) == 1 and axes <= behind
    used, axis = sum(map(taken, entries)), 0
    shape: list[Any] = []
    for k, e in enumerate(entries):
        n = max(x.ndim - used, 0) if e is Ellipsis else taken(e)
        met = x.shape[axis: axis + n]
        if k in masks:
            fit(e, met, axis, x)
            entries[k] = places(e, x, constant, is_kept)
        shape += [prod(met)] if k in masks else met
        axis += n
    return x.reshape((*shape, *x.shape[axis:])), tuple(entries)


def array(e: Any, constant: Callable[[Any], Any]) -> Any:
    """An entry of a key; lists as tensors, and masks of NumPy."""
    if isinstance(e, list | tuple | range):
        made = constant(list(e))
        return made if made.size or made.dtype.kind == "b" else made.astype("int64")
    return constant(e) if isinstance(e, np.ndarray) and e.dtype == bool and e.ndim else e


def is_mask(e: Any) -> bool:
    """Whether an entry chooses by truth."""
    return isinstance(e, bool | np.bool_) or (isinstance(e, Looking | np.ndarray) and e.dtype == "bool")


def taken(e: Any) -> int:
    """How many axes an entry meets, but for `...`."""
    return getattr(e, "ndim", 0) if is_mask(e) else int(e is not None and e is not Ellipsis)


def fit(mask: Any, met: tuple[Any, ...], axis: int, x: Any) -> None:
    """Raises BadKey unless a mask has the shape of the axes it meets; an axis of length 0 fits any."""
    shape = getattr(mask, "shape", ())
    if len(met) < len(shape) or any(m not in (n, 0) for m, n in zip(shape, met)):
        raise BadKey(f"a mask has the shape of the axes it chooses from, got {shape} from axis {axis} of {x.shape} on")


def places(mask: Any, x: Any, constant: Callable[[Any], Any], is_kept: bool) -> Any:
    """Where a mask is true, counted through its axes; or the mask itself, with one axis."""
    if isinstance(mask, Looking):
        is_empty = any(type(n) is int and n == 0 for n in mask.shape)
        if not is_empty and (is_kept or is_traced(mask.value)):
            return mask.reshape(-1)     # type: ignore[attr-defined]
        mask = False if is_empty else mask.numpy()
    return constant(np.flatnonzero(mask)).to(x.device)
