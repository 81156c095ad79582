"""Gradients of tables of which few rows occur: which rows those are, and what is added up for each."""
from __future__ import annotations

from stele.arrays import functions as F
from stele.arrays.creation import arange
from stele.arrays.families import argsort, cumulative_sum, segment_max, segment_sum
from stele.arrays.tensor import Tensor, lift
from stele.ir.graph import Value
from stele.ops.gather import CheckIndex, Gather, ScatterOnto, rows_added


def rows_of(x: Value, at: Value) -> Value:
    """The rows of a table at numbers from its beginning."""
    return Gather(0)(x, at)


def onto(x: Value, parts: Value, at: Value) -> Value:
    """The table with parts added to those rows."""
    return ScatterOnto(0, x.shape[0])(x, parts, at)


def within(at: Value, x: Value) -> Value:
    """Numbers of rows, looked at before anything is written."""
    return CheckIndex(x.shape[0])(at)


at_rows, added, checked = lift(rows_of), lift(onto), lift(within)


def taken(g: Tensor) -> tuple[Tensor, Tensor] | None:
    """What a gradient adds to rows, and their numbers, while it is traced; None where they are as many as there are."""
    found = rows_added(g.value)
    return None if found is None else (Tensor(found[0]), Tensor(found[1]))


def summed(g: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """The same with each row once: the sum of what is added to it, its number, and whether any of that is not zero.

    There are as many as of `taken`: where rows occurred more than once, the last ones are row 0, and nothing is added.
    """
    if (found := taken(g)) is None:
        return None
    parts, at = found[0].reshape(-1, *g.shape[1:]), found[1].flatten()
    order, k = argsort(at), at.shape[0]
    sorted_ = at[order]
    segment = cumulative_sum(F.concatenate([arange(1), (sorted_[1:] != sorted_[:-1]).astype("int64")]))
    sums = segment_sum(parts[order], segment, k)
    occurs = F.any(sums != 0, axis=tuple(range(1, g.ndim)), keepdims=True) if g.ndim > 1 else sums != 0
    return sums, checked(F.maximum(segment_max(sorted_, segment, k), 0), g), occurs
