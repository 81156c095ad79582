"""Max-pooling to a given size over windows of one length that begin at random places."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import int64, product
from stele.ops.along import take_along
from stele.ops.elementwise.binary import equal, where
from stele.ops.elementwise.unary import trunc
from stele.ops.generate import factor, iota, quantity
from stele.ops.linear import broadcast, cast, expand_dims, reshape, slice_axis
from stele.ops.statistics import argmax


def starts(u: Value, n: Dim, size: int, wanted: int) -> Value:
    """Where windows begin along an axis of n, by a random number each (Graham, 2014): (..., wanted)."""
    if wanted == 1:
        return expand_dims(cast(u * 0, int64), (-1,)) + quantity(n - size)
    i = iota(wanted)
    step = cast(quantity(n - size), u.dtype) / (wanted - 1)
    u = expand_dims(u, (-1,))
    found = cast(trunc((cast(i, u.dtype) + u) * step), int64) - cast(trunc(u * step), int64)
    return where(equal(i, wanted - 1), quantity(n - size), found)


def fractional(x: Value, samples: Value, *, size: Sequence[int], wanted: Sequence[int], return_indices: bool) -> Any:
    """The largest elements of windows, and where they stand: x (N, C, ...), samples (N, C, axes), those of two axes the
    last one first (PyTorch's order)."""
    axes, first = len(size), x.ndim - len(size)
    last, outer = x.shape[first:], x.shape[:first]
    place: Any = 0
    for k in range(axes):
        u = reshape(slice_axis(samples, -1, 1 - k if axes == 2 else k, 1), samples.shape[:-1])
        own = expand_dims(starts(u, last[k], size[k], wanted[k]), (-1,)) + iota(size[k])
        others = tuple(len(outer) + j for j in range(2 * axes) if j % axes != k)
        place = place * factor(last[k]) + expand_dims(own, others)
    shape = (*outer, *wanted, *size)
    flat = reshape(broadcast(place, shape), (*outer, product(shape[first:])))
    planes = reshape(x, (*outer, product(last)))
    found = reshape(take_along(planes, flat, -1), (*outer, *wanted, product(tuple(size))))
    best = expand_dims(argmax(found, axis=-1), (-1,))
    y = reshape(take_along(found, best, -1), (*outer, *wanted))
    if not return_indices:
        return y
    return y, reshape(take_along(reshape(flat, found.shape), best, -1), y.shape)
