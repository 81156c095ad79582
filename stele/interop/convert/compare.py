"""How far results are apart, and where weights went: under which name, in which order of axes."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from stele.ir.graph import Array

AXES = 5        # of weights whose axes may have changed places


def difference(x: Any, y: Any) -> float:
    """The largest difference of two outputs, over 1 or their size; infinite where they are of other types.

    >>> difference(np.float32([1, 2]), np.float32([1, 2.5])), difference(np.float32([1]), np.float64([1]))
    (0.2, inf)
    """
    if isinstance(x, list) or isinstance(y, list):
        same = isinstance(x, list) and isinstance(y, list) and len(x) == len(y)
        return max((difference(a, b) for a, b in zip(x, y)), default=0.0) if same else np.inf
    if not isinstance(x, np.ndarray) or (x.dtype, x.shape) != (np.asarray(y).dtype, np.shape(y)):
        return 0.0 if x is y else np.inf
    if x.dtype.kind in "OSU":
        return 0.0 if np.array_equal(x, y) else np.inf
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    a, b = x.astype(wide), np.asarray(y).astype(wide)
    away = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / np.maximum(1, np.abs(b)))
    return float(np.max(np.nan_to_num(away, nan=np.inf, posinf=np.inf), initial=0.0))


@dataclass(frozen=True)
class Moves:
    """What became of weights: those that have their name still, pairs of the old name and the new, those whose axes are
    in another order, those that the result does not hold, and what it holds beside them.
    """

    kept: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    transposed: tuple[tuple[str, str, tuple[int, ...]], ...]
    left: tuple[str, ...]
    new: tuple[str, ...]


def moves(before: Mapping[str, Array], after: Mapping[str, Array]) -> Moves:
    """Where weights went, found by their numbers.

    >>> a, b = np.arange(6.0).reshape(2, 3), np.ones(2)
    >>> moves({"a": a, "b": b}, {"c": a.T, "b": b})
    Moves(kept=('b',), renamed=(), transposed=(('a', 'c', (1, 0)),), left=(), new=())
    """
    kept = tuple(name for name, x in after.items() if name in before and same(before[name], x))
    rest = {name: x for name, x in before.items() if name not in kept}
    found: dict[str, list[str]] = {}
    for name, x in rest.items():
        found.setdefault(key(x), []).append(name)
    renamed, transposed, new = list[tuple[str, str]](), list[tuple[str, str, tuple[int, ...]]](), list[str]()
    for name, x in after.items():
        if name in kept:
            continue
        if (old := found.get(key(x))):
            # of equal numbers, new statistics of layers among them, those that the name speaks of
            renamed.append((old.pop(next((k for k, was in enumerate(old) if was in name), -1)), name))
            continue
        turned = next(((old.pop(), p) for p in turns(x) if (old := found.get(key(x.transpose(p))))), None)
        if turned:
            transposed.append((turned[0], name, tuple(map(int, np.argsort(turned[1])))))
        else:
            new.append(name)
    gone = {old for old, *_ in (*renamed, *transposed)}
    return Moves(kept, tuple(renamed), tuple(transposed), tuple(name for name in rest if name not in gone), tuple(new))


def turns(x: Array) -> Iterator[tuple[int, ...]]:
    """The other orders of axes."""
    return (p for p in permutations(range(x.ndim)) if p != tuple(range(x.ndim)) and 1 < x.ndim <= AXES)


def same(x: Array, y: Array) -> bool:
    """Whether two weights are the same bits."""
    return (x.dtype, x.shape) == (y.dtype, y.shape) and key(x) == key(y)


def key(x: Array) -> str:
    """What is the same for equal weights."""
    return f"{x.dtype} {x.shape} {hashlib.sha256(np.ascontiguousarray(x).reshape(-1).view(np.uint8).data).hexdigest()}"
