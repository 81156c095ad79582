"""Pooling to a given size, whatever the size before: evenly, unevenly and at random."""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim, quotient
from stele.ir.types import is_zero, product
from stele.nn.functional.pooling import maxima, planes
from stele.ops.along import take_along
from stele.ops.arguments import is_series, positive
from stele.ops.elementwise.arithmetic import Minimum
from stele.ops.elementwise.binary import where
from stele.ops.gather import Gather
from stele.ops.generate import factor, iota, quantity
from stele.ops.linear import broadcast, cast, expand_dims, reshape, transpose
from stele.ops.pooling import geometry
from stele.ops.statistics import argmax, mean, sum

Wanted = int | Sequence[int | None]


class Windows(NamedTuple):
    """Uneven windows along an axis: where each starts, how many elements it has, and how many the longest has."""

    start: Value
    count: Value
    most: Dim


def sizes(name: str, x: Value, axes: int, wanted: Any) -> tuple[Dim, ...]:
    """The size of each of the last axes after pooling; None keeps that of x."""
    several: tuple[Any, ...] = tuple(wanted) if is_series(wanted) else (wanted,) * axes
    if len(several) not in (1, axes):
        raise ShapeError(f"output_size of {name} must be one whole number or {axes}, got {several}")
    last = planes(name, x, axes).shape[x.ndim - axes:]
    return tuple(positive(n if w is None else w, f"output_size of {name}")
                 for w, n in zip(several * axes if len(several) == 1 else several, last))


def is_even(n: Dim, wanted: Dim) -> bool:
    """Whether windows of one length, one behind the other, make up an axis: of open sizes if a trace tells."""
    if not isinstance(wanted, int):
        return n is wanted
    return is_zero(n % wanted)


def shares(n: Dim, wanted: Dim) -> Windows:
    """The elements n * i // wanted to n * (i + 1) / wanted, rounded up, for each i."""
    i, length, parts = iota(wanted), quantity(n), quantity(wanted)
    start = i * length // parts
    end = ((i + 1) * length + parts - 1) // parts
    most = max_length(n, wanted) if isinstance(n, int) and isinstance(wanted, int) else quotient(n - 1, wanted) + 2
    return Windows(start, end - start, most)


def max_length(n: int, wanted: int) -> int:
    """The length of the longest window: what n * i leaves, divided by `wanted`, is any multiple of their divisor."""
    return -(-(n + wanted - math.gcd(n, wanted)) // wanted)


def taken(x: Value, axis: int, at: Windows) -> tuple[Value, Value]:
    """The elements of windows along an axis, which becomes two, the last element again behind its end; and whether an
    element is one of its window, (windows, most)."""
    k = expand_dims(iota(at.most), (0,))
    i = expand_dims(at.start, (1,)) + Minimum()(k, expand_dims(at.count, (1,)) - 1)
    return Gather(axis)(x, i), k < expand_dims(at.count, (1,))


def adaptive_avg_pool1d(input: Value, output_size: Any) -> Value:
    """The means of `output_size` windows that share signals (N, C, L) or (C, L) as evenly as they can.

    Windows and errors are as in `adaptive_avg_pool2d`. Integers become float32. Raises ShapeError for other axes and
    for less than 1 window.

    >>> F.adaptive_avg_pool1d(st.tensor([[1.0, 3.0, 2.0]]), 2).tolist()
    [[2.0, 2.5]]
    """
    return means("adaptive_avg_pool1d", input, 1, output_size)


def adaptive_avg_pool2d(input: Value, output_size: Any) -> Value:
    """The means of windows that share images (N, C, H, W) or (C, H, W) as evenly as they can.

    `output_size` is a number, or one for each axis, of which None keeps the axis as it is. Window i of OH has the rows
    i * H // OH to (i + 1) * H / OH, rounded up, so that windows overlap where OH does not divide H. Integers become
    float32. Raises ShapeError for another number of sizes and for sizes below 1.

    >>> F.adaptive_avg_pool2d(st.arange(6.0).reshape(1, 2, 3), (1, 2)).tolist()
    [[[2.0, 3.0]]]
    >>> F.adaptive_avg_pool2d(st.ones((8, 3, 7, 5)), 1).shape
    (8, 3, 1, 1)
    """
    return means("adaptive_avg_pool2d", input, 2, output_size)


def adaptive_avg_pool3d(input: Value, output_size: Any) -> Value:
    """The means of windows that share volumes (N, C, D, H, W) or (C, D, H, W) as evenly as they can.

    `output_size` and errors are as in `adaptive_avg_pool2d`. Integers become float32. Raises ShapeError for other axes
    and for less than 1 window.

    >>> F.adaptive_avg_pool3d(st.ones((1, 4, 5, 6)), (2, None, 1)).shape
    (1, 2, 5, 1)
    """
    return means("adaptive_avg_pool3d", input, 3, output_size)


def means(name: str, x: Value, axes: int, output_size: Any) -> Value:
    """The mean of each window, one axis after the other."""
    for axis, wanted in enumerate(sizes(name, x, axes, output_size), x.ndim - axes):
        n = x.shape[axis]
        if n is wanted or n == wanted:
            continue
        if wanted == 1:
            x = mean(x, axis=axis, keepdims=True)
        elif is_even(n, wanted):
            x = mean(reshape(x, (*x.shape[:axis], wanted, quotient(n, wanted), *x.shape[axis + 1:])), axis=axis + 1)
        else:
            at = shares(n, wanted)
            found, is_own = taken(x, axis, at)
            behind = tuple(range(-(x.ndim - axis - 1), 0))
            own = where(expand_dims(is_own, behind), found, 0.0)
            x = sum(own, axis=axis + 1) / cast(expand_dims(at.count, behind), x.dtype)
    return x


def adaptive_max_pool1d(input: Value, output_size: Any, return_indices: bool = False
                        ) -> Any:
    """The largest elements of `output_size` windows that share signals (N, C, L) or (C, L) as evenly as they can.

    Windows are those of `adaptive_avg_pool2d`, `return_indices` is as in `max_pool2d`. Raises ShapeError for other axes
    and for less than 1 window, DTypeError for complex numbers.

    >>> F.adaptive_max_pool1d(st.tensor([[1.0, 3.0, 2.0]]), 2).tolist()
    [[3.0, 3.0]]
    """
    return largest("adaptive_max_pool1d", input, 1, output_size, return_indices)


def adaptive_max_pool2d(input: Value, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that share images (N, C, H, W) or (C, H, W) as evenly as they can.

    `output_size` and windows are as in `adaptive_avg_pool2d`, `return_indices` as in `max_pool2d`. Raises ShapeError
    for other axes and for less than 1 window, DTypeError for complex numbers.

    >>> F.adaptive_max_pool2d(st.arange(6.0).reshape(1, 2, 3), (1, 2)).tolist()
    [[[4.0, 5.0]]]
    """
    return largest("adaptive_max_pool2d", input, 2, output_size, return_indices)


def adaptive_max_pool3d(input: Value, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that share volumes (N, C, D, H, W) or (C, D, H, W) as evenly as they can.

    `output_size` and windows are as in `adaptive_avg_pool2d`, `return_indices` as in `max_pool2d`. Raises ShapeError
    for other axes and for less than 1 window, DTypeError for complex numbers.

    >>> F.adaptive_max_pool3d(st.arange(8.0).reshape(1, 2, 2, 2), 1).tolist()
    [[[[7.0]]]]
    """
    return largest("adaptive_max_pool3d", input, 3, output_size, return_indices)


def largest(name: str, x: Value, axes: int, output_size: Any, return_indices: bool) -> Any:
    """The largest element of each window, and where it stands."""
    wanted = sizes(name, x, axes, output_size)
    last = x.shape[x.ndim - axes:]
    if all(isinstance(n, int) and isinstance(w, int) and n % w == 0 and n for n, w in zip(last, wanted)):
        size = tuple(n // w for n, w in zip(last, wanted))  # type: ignore[operator]
        return maxima(x, geometry(x, axes, size, None, 0), return_indices)
    at = [shares(n, w) for n, w in zip(last, wanted)]
    starts = [expand_dims(a.start, tuple(k for k in range(axes) if k != axis)) for axis, a in enumerate(at)]
    return at_best(x, starts, at, return_indices)


def at_best(x: Value, starts: Sequence[Value], at: Sequence[Windows], return_indices: bool) -> Any:
    """The largest element of windows whose first elements stand at `starts`, which broadcast to the result's planes."""
    axes, first = len(at), x.ndim - len(at)
    found = x
    inside: list[Value] = []
    for k, own in enumerate(at):
        found, is_own = taken(found, first + 2 * k, own)
        inside.append(expand_dims(is_own, tuple(j for j in range(2 * axes) if j // 2 != k)))
    order = (*range(first), *range(first, first + 2 * axes, 2), *range(first + 1, first + 2 * axes, 2))
    mask = transpose(broadcast(reduce(lambda a, b: a & b, inside), found.shape[first:]),
                     tuple(k - first for k in order[first:]))
    shown = where(mask, transpose(found, order), -math.inf)
    lengths = [a.most for a in at]
    best = argmax(reshape(shown, (*shown.shape[:first + axes], product(tuple(lengths)))), axis=-1)
    place: Any = 0
    for k, start in enumerate(starts):
        offset = best // factor(product(tuple(lengths[k + 1:]))) % factor(lengths[k])
        place = place * factor(x.shape[first + k]) + (start + offset)
    planes = reshape(x, (*x.shape[:first], product(x.shape[first:])))
    flat = reshape(place, (*place.shape[:first], product(place.shape[first:])))
    y = reshape(take_along(planes, flat, -1), place.shape)
    return (y, place) if return_indices else y
