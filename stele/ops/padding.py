"""Arrays with something around them: numbers, their own elements again, what these are in the mean, or steps."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign
from typing import Any

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import below, bool_, float64, same, show
from stele.ops import statistics
from stele.ops.arguments import choice, is_many, number, whole
from stele.ops.elementwise.arithmetic import Select
from stele.ops.elementwise.base import Numbers
from stele.ops.elementwise.binary import round
from stele.ops.elementwise.unary import floor, isnan
from stele.ops.generate import iota, quantity
from stele.ops.joining import concatenate
from stele.ops.linear import Pad, broadcast, cast, expand_dims, flip, full, reshape, slice_axis
from stele.ops.sorting import sort

# How an axis goes on beyond its end, by the names of NumPy and PyTorch: `turned` back and forth, without its `edge`.
MODES: dict[str, tuple[bool, int]] = {"reflect": (True, 1), "symmetric": (True, 0), "wrap": (False, 0),
                                      "circular": (False, 0)}
EDGE = ("edge", "replicate")


def pad(x: Value, *, widths: Sequence[tuple[Dim, Dim]], value: Numbers = 0.0, mode: str = "constant",
        stat_length: Numbers | None = None, end_values: Numbers = 0) -> Value:
    """The array with something around it: `widths` has a pair (before, behind) for each axis, or is one for all axes.

    A number in the place of a pair is for both sides. `mode` "constant" puts the number `value` there, "edge" or
    "replicate" the nearest element, "reflect" the elements from there backwards, "symmetric" the same with the edge
    twice, "wrap" or "circular" those of the other end; "mean", "median", "maximum" and "minimum" what these are along
    the axis, or of so many elements at the end as `stat_length` says; "linear_ramp" even steps to `end_values`. These
    three may have pairs too, as widths. x and a number that is the value meet in one dtype as in `add`, but 0, the
    default, takes that of x; else the dtype is that of x. Raises ShapeError for another number of pairs, for negative
    widths and for an axis of nothing to repeat, OptionError for another mode.

    >>> st.pad(st.tensor([[1, 2]]), [(0, 1), (2, 0)], value=9).tolist()
    [[9, 9, 1, 2], [9, 9, 9, 9]]
    >>> st.pad(st.tensor([1, 2, 3]), (2, 1), mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """
    if len(widths) == 1 and x.ndim > 1:
        widths = tuple(widths) * x.ndim
    if len(widths) != x.ndim:
        raise ShapeError(f"pad needs a pair (before, behind) for each axis of {show(x.shape)}, got {widths}")
    choice(mode, "mode of pad", ("constant", "linear_ramp", *MODES, *EDGE, *MIDDLES))
    if mode != "constant" or is_many(value):
        given = {"constant": value, "linear_ramp": end_values}.get(mode, stat_length)
        for axis, (low, high) in enumerate(widths):
            x = extended(x, axis, low, high, mode, for_each_side(given, x.ndim)[axis])
        return x
    value = number(value, "value of pad")
    if all(w == (0, 0) for w in widths):
        return x
    op = Pad(tuple(lo for lo, _ in widths), tuple(hi for _, hi in widths), (0,) * x.ndim)
    is_zero = value == 0 and (copysign(1, value) > 0 or not x.dtype.is_float)
    return op(x) if is_zero else Select()(op(full(x.shape, True, bool_)), op(x), value)


def for_each_side(given: Any, ndim: int) -> list[list[Any]]:
    """What is said of both sides of each axis: a pair for each, one for all, or one for both."""
    try:
        return np.broadcast_to(np.asarray(given, object), (ndim, 2)).tolist()
    except ValueError:
        raise ShapeError(f"pad needs a number, a pair (before, behind) or {ndim} of them, got {given!r}") from None


def extended(x: Value, axis: int, low: Dim, high: Dim, mode: str, given: Sequence[Any]) -> Value:
    """x with its own elements, or what is given, before and behind an axis."""
    if low == 0 and high == 0:
        return x
    if mode != "constant" and same(x.shape[axis], 0):
        raise ShapeError(f"mode {mode!r} of pad repeats elements, and axis {axis} of {show(x.shape)} has none")
    before = [flip(part, (axis,)) for part in beyond(flip(x, (axis,)), axis, low, mode, given[0])]
    return concatenate([*before[::-1], x, *beyond(x, axis, high, mode, given[1])], axis=axis)


def beyond(x: Value, axis: int, width: Dim, mode: str, given: Any = None) -> list[Value]:
    """What stands behind the end of an axis, for `width` elements, in parts."""
    n = x.shape[axis]
    if mode in ("constant", "linear_ramp", *MIDDLES):
        return [computed(x, axis, width, mode, given)] * (width != 0)
    if mode in EDGE:
        edge = slice_axis(x, axis, n - 1, 1)
        return [broadcast(edge, tuple(width if a == axis else k for a, k in enumerate(x.shape)))] * (width != 0)
    is_turned, edge = MODES[mode]
    if same(n, 1):
        edge = 0        # an axis of one element is that element everywhere
    period = (n - edge) * (1 + is_turned)
    if isinstance(width, int) and isinstance(period, int) and width > period:
        return [slice_axis(repeated(x, axis, period, width, mode), axis, 0, width)]
    parts: list[Value] = []
    while width != 0:
        x = flip(x, (axis,)) if is_turned else x
        length = n - edge if below(n - edge, width) else width
        parts.append(slice_axis(x, axis, edge, length))
        width = width - length
    return parts


def computed(x: Value, axis: int, width: Dim, mode: str, given: Any) -> Value:
    """What stands behind the end of an axis: a number, steps to one, or what so many elements are there."""
    shape, n = tuple(width if a == axis else k for a, k in enumerate(x.shape)), x.shape[axis]
    if mode == "constant":
        return full(shape, number(given, "every value of pad"), x.dtype)
    exact = mode in ("maximum", "minimum") or x.dtype.is_float
    wide = x if exact else cast(x, float64)
    if mode == "linear_ramp":
        end = number(given, "end_values of pad")
        steps = reshape(cast(flip(iota(width), (0,)), wide.dtype), tuple(-1 if a == axis else 1 for a in range(x.ndim)))
        y = steps * ((slice_axis(wide, axis, n - 1, 1) - end) / cast(quantity(width), wide.dtype)) + end
        return cast(floor(y) if x.dtype.kind in "iu" else y, x.dtype)
    many = None if given is None else whole(given, "stat_length of pad", 1)
    part = wide if many is None or not below(many, n) else slice_axis(wide, axis, n - many, many)
    y = MIDDLES[mode](part, axis=axis, keepdims=True)
    return broadcast(cast(round(y) if x.dtype.kind in "iu" and not exact else y, x.dtype), shape)


def median(x: Value, *, axis: int, keepdims: bool) -> Value:
    """The median along an axis, which stays, by sorting; NaN, which is last then, where an element is."""
    ordered: Any = sort(x, axis=axis)
    n = x.shape[axis]
    low, high, last = (slice_axis(ordered, axis, k, 1) for k in ((n - 1) // 2, n // 2, n - 1))
    return Select()(isnan(last), last, (low + high) / 2)


# What stands in the place of all elements at an end.
MIDDLES: dict[str, Callable[..., Any]] = {"mean": statistics.mean, "median": median, "maximum": statistics.max,
                                          "minimum": statistics.min}


def repeated(x: Value, axis: int, period: int, width: int, mode: str) -> Value:
    """What stands behind the end of an axis, as often as it takes for `width` elements."""
    one = expand_dims(concatenate(beyond(x, axis, period, mode), axis=axis), (axis,))
    times = -(-width // period)
    shape = tuple(times if a == axis else n for a, n in enumerate(one.shape))
    return reshape(broadcast(one, shape), (*x.shape[:axis], times * period, *x.shape[axis + 1:]))
