"""Where the elements of parts of tensors would lie in memory: as far apart as NumPy's, and which parts overlap."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from stele.ir.sizes import Dim
from stele.ir.types import Shape, below, same, settled

WORK = 10_000       # steps after which NumPy gives up to say whether parts overlap
NOWHERE = 1 << 60   # an address for what NumPy only compares

Laid = tuple[Dim | None, Sequence[Dim]]
"""Where the first element lies, None where nobody says, and how far apart the neighbours along each axis are."""


def numbers(shape: Sequence[Dim]) -> Shape:
    """A shape with the numbers of open sizes that were asked for, as numbers stand for them elsewhere."""
    return tuple(map(settled, shape))


def rows(shape: Shape) -> list[Dim]:
    """How many elements apart the neighbours along each axis are, where rows stand behind each other."""
    found: list[Dim] = [1]
    for n in shape[:0:-1]:
        found.append(found[-1] * n)
    return found[::-1][:len(shape)]


def reshaped(shape: Shape, strides: Sequence[Dim], new: Shape) -> list[Dim] | None:
    """The strides of elements under another shape; None where there are none, and they are copied.

    >>> reshaped((2, 6), (6, 1), (2, 2, 3)), reshaped((6, 2), (1, 6), (2, 3, 2)), reshaped((6, 2), (1, 6), (12,))
    ([6, 3, 1], [3, 1, 6], None)
    """
    if 0 in shape or [*strides] == rows(shape):
        return rows(new)
    old = [(n, stride) for n, stride in zip(shape, strides) if n != 1]
    found: list[Dim] = []
    i = k = 0
    while k < len(new):
        if new[k] == 1 or i == len(old):
            found, k = [*found, 1], k + 1
            continue
        there, wanted, j, m = old[i][0], new[k], i + 1, k + 1     # axes i to j are seen as axes k to m
        while not same(there, wanted):
            if below(wanted, there):
                wanted, m = wanted * new[m], m + 1
            else:
                there, j = there * old[j][0], j + 1
        if not all(same(apart, inner * n) for (_, apart), (n, inner) in pairwise(old[i:j])):
            return None
        found += [old[j - 1][1] * stride for stride in rows(new[k:m])]
        i, k = j, m
    return found


def meet(one: tuple[Laid | None, Shape], other: tuple[Laid | None, Shape]) -> bool:
    """Whether two parts, each laid somewhere and of some shape, have elements in common; they have where nobody knows.

    >>> meet(((0, (5, 1)), (3, 4)), ((4, (5,)), (3,))), meet(((0, (5, 1)), (3, 5)), ((4, (5,)), (3,)))
    (False, True)
    """
    found: list[Any] = []
    for laid, shape in (one, other):
        start, strides = laid or (None, ())
        dims = numbers(shape)
        if not isinstance(start, int) or not all(isinstance(n, int) for n in (*strides, *dims)):
            return True
        found.append(np.asarray(Memory({"data": (NOWHERE + start, True), "shape": dims, "strides": tuple(strides),
                                        "typestr": "|u1", "version": 3})))
    try:
        return np.shares_memory(*found, max_work=WORK)      # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


@dataclass(frozen=True)
class Memory:
    """Where elements lie, for NumPy to compare: nobody reads what is there."""

    __array_interface__: dict[str, Any]
