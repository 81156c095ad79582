"""Gradients of tables of which few rows occur: which rows those are, and what is added up for each."""
from __future__ import annotations

from stele.arrays import functions as F
from stele.arrays.creation import arange
from stele.arrays.families import argsort, cumulative_sum, segment_max, segment_sum
from stele.arrays.tensor import Tensor
from stele.ir.graph import Value
from stele.ir.types import product
from stele.ops.gather import ScatterAdd


def taken(g: Tensor) -> tuple[Tensor, Tensor] | None:
    """Numbers of rows (k,) and what a gradient adds to each, (k, ...), while it is traced; None where rows are many."""
    match g.value:
        case Value(ScatterAdd(0), [parts, at]):
            k = product(at.shape)
            if isinstance(k, int) and 0 < k < g.shape[0]:
                return Tensor(at).flatten(), Tensor(parts).reshape(k, *g.shape[1:])
        case _: pass
    return None


def summed(g: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """The same with each row once: its number, the sum of what is added to it, and whether any of that is not zero.

    There are as many as of `taken`: where rows occurred more than once, the last ones are row 0, and nothing is added.
    """
    if (found := taken(g)) is None:
        return None
    at, parts = found
    order, k = argsort(at), at.shape[0]
    sorted_ = at[order]
    begins = F.concatenate([arange(1), (sorted_[1:] != sorted_[:-1]).astype("int64")])
    segment = cumulative_sum(begins)
    sums = segment_sum(parts[order], segment, k)
    occurs = F.any(sums != 0, axis=tuple(range(1, g.ndim)), keepdims=True) if g.ndim > 1 else sums != 0
    return F.maximum(segment_max(sorted_, segment, k), 0), sums, occurs
