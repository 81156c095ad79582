"""Differences and sums of neighbours along an axis: slopes, jumps taken out, areas."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import axis_of, below, float32, same, show
from stele.ops.arguments import number
from stele.ops.cumulative import cumulative_sum, diff
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.elementwise.base import Operand
from stele.ops.elementwise.binary import logical_and, remainder
from stele.ops.joining import concatenate
from stele.ops.linear import cast, flip, full, pad_axis, reshape, slice_axis
from stele.ops.parts import conj
from stele.ops.quantiles import convolve


def gradient(x: Value, *spacing: Operand, axis: int | Sequence[int] | None = None, edge_order: int = 1
             ) -> Value | tuple[Value, ...]:
    """The slopes of x along an axis, or a tuple of them along several, all of them without `axis`: second order inside.

    `spacing` is the distance of elements, 1 where it is not given, or a row of their places, for each axis where there
    are several. At both ends they are differences of order `edge_order`, 1 or 2. Integers become float32. The formulas
    are those of NumPy's gradient (Quarteroni and others, Numerical Mathematics, 2007). Raises ShapeError for axes
    shorter than edge_order + 1.

    >>> st.gradient(st.tensor([1.0, 2.0, 4.0, 7.0])).tolist(), st.gradient(st.tensor([0.0, 4.0]), 2.0).tolist()
    ([1.0, 1.5, 2.5, 3.0], [2.0, 2.0])
    """
    x = x if x.dtype.is_float else cast(x, float32)
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    places = [axis_of(a, x.ndim) for a in axes]
    steps = [*spacing] * len(places) if len(spacing) == 1 else [*spacing] or [1.0] * len(places)
    if len(steps) != len(places) or edge_order not in (1, 2):
        raise ShapeError(f"gradient needs one spacing, or one for each of {len(places)} axes, and edge_order 1 or 2, "
                         f"got {len(steps)} and {edge_order}")
    made = tuple(slope(x, a, h, edge_order) for a, h in zip(places, steps))
    return made[0] if len(made) == 1 else made


def slope(x: Value, axis: int, h: Operand, order: int) -> Value:
    """The slopes along one axis: a weighted mean of the differences on both sides."""
    n = x.shape[axis]
    if below(n, order + 1):
        raise ShapeError(f"gradient needs {order + 1} elements or more along axis {axis}, got {show(x.shape)}")
    row = tuple(-1 if k == axis else 1 for k in range(x.ndim))
    wide = isinstance(h, Value) and h.ndim == 1
    if isinstance(h, Value) and (h.ndim > 1 or (wide and not same(h.shape[0], n))):
        raise ShapeError(f"gradient needs a number between elements, or their {show((n,))} places along axis {axis}, "
                         f"got {show(h.shape)}")
    gaps = reshape(cast(diff(h), x.dtype), row) if wide else None
    steps = diff(x, axis=axis) / (h if gaps is None else gaps)
    first, last = slice_axis(steps, axis, 0, 1), slice_axis(steps, axis, n - 2, 1)
    if gaps is None:
        inner = (slice_axis(x, axis, 2, n - 2) - slice_axis(x, axis, 0, n - 2)) / (h + h)
    else:
        before, after = slice_axis(steps, axis, 0, n - 2), slice_axis(steps, axis, 1, n - 2)
        a, b = slice_axis(gaps, axis, 0, n - 2), slice_axis(gaps, axis, 1, n - 2)
        inner = (before * b + after * a) / (a + b)
    if order == 2:      # the line through the first slopes, and through the last ones
        first = first * 2 - slice_axis(inner, axis, 0, 1) if gaps is None else bent(steps, gaps, axis, 0, 1)
        last = last * 2 - slice_axis(inner, axis, n - 3, 1) if gaps is None else bent(steps, gaps, axis, n - 2, n - 3)
    return concatenate([first, inner, last], axis=axis)


def bent(steps: Value, gaps: Value, axis: int, end: Any, inner: Any) -> Value:
    """The slope at an end of the parabola through the three elements there."""
    s, t, a, b = (slice_axis(v, axis, k, 1) for v in (steps, gaps) for k in (end, inner))
    return s + (s - t) * a / (a + b)


def ediff1d(x: Value, *, to_end: Value | None = None, to_begin: Value | None = None) -> Value:
    """The differences of neighbours of the flat array, behind the elements of `to_begin` and before those of `to_end`.

    In the dtype of x. x has any shape. Raises ArgumentError for what is neither an array nor a number.

    >>> st.ediff1d(st.tensor([1, 2, 4])).tolist()
    [1, 2]
    """
    inner = diff(reshape(x, (-1,)))
    around = (to_begin, inner, to_end)
    return concatenate([reshape(cast(v, x.dtype), (-1,)) for v in around if v is not None])


def unwrap(x: Value, *, discont: float | None = None, axis: int = -1, period: float = 2 * math.pi) -> Value:
    """Phases along an axis without jumps: where neighbours differ by more than half a `period` whole ones go.

    Only where they differ by more than `discont`, if that is more. Integers become float32. Raises ShapeError for an
    axis that x does not have, DTypeError for complex numbers.

    >>> st.unwrap(st.tensor([0.0, 3.0, 6.0, 1.0]), period=8).tolist()
    [0.0, 3.0, 6.0, 9.0]
    """
    x = x if x.dtype.is_float else cast(x, float32)
    axis, half = axis_of(axis, x.ndim), period / 2
    jump = diff(x, axis=axis)
    least = remainder(jump + half, period) - half
    least = Select()(logical_and(Equal()(least, -half), jump > 0), half, least)
    size = Select()(jump < 0, -jump, jump)
    change = Select()(size < (half if discont is None else discont), 0.0, least - jump)
    return x + pad_axis(cumulative_sum(change, axis=axis), axis, 1, 0)


def cumulative_trapezoid(y: Value, x: Value | None = None, *, dx: float = 1.0, axis: int = -1,
                         initial: float | None = None) -> Value:
    """The areas under the line through y from the first element to each of the others, by the trapezoidal rule.

    At the places x, a row or an array of the shape of y, or `dx` apart; with `initial` (0) that number stands in front.
    Integers become float32. As SciPy's. Raises ShapeError for an axis that y does not have, where there is no element,
    and where x does not fit.

    >>> st.cumulative_trapezoid(st.tensor([1.0, 3.0, 5.0])).tolist()
    [2.0, 6.0]
    """
    y = y if y.dtype.is_float else cast(y, float32)
    axis = axis_of(axis, y.ndim)
    n = y.shape[axis]
    gap: Any = dx
    if x is not None:
        gap = diff(x, axis=-1 if x.ndim == 1 else axis)
        gap = reshape(gap, tuple(-1 if k == axis else 1 for k in range(y.ndim))) if x.ndim == 1 else gap
    parts = (slice_axis(y, axis, 0, n - 1) + slice_axis(y, axis, 1, n - 1)) * gap * 0.5
    made = cumulative_sum(parts, axis=axis)
    if initial is None:
        return made
    start = full((*made.shape[:axis], 1, *made.shape[axis + 1:]), number(initial, "initial"), made.dtype)
    return concatenate([start, made], axis=axis)


def correlate(x: Value, v: Value, *, mode: str = "valid") -> Value:
    """The sums of products of a row x with a row `v`, conjugated, at every place: of those `mode` says, as `convolve`.

    Dtypes meet as in `multiply`. Raises ShapeError for other shapes than rows of 1 element or more, OptionError for
    another mode.

    >>> st.correlate(st.tensor([1, 2, 3]), st.tensor([0, 1, 0.5])).tolist()
    [3.5]
    """
    if mode != "full" and x.ndim == v.ndim == 1 and below(x.shape[0], v.shape[0]):    # from the other side
        return flip(conj(correlate(v, x, mode=mode)), (0,))
    return convolve(x, flip(conj(v), (0,)) if v.ndim else v, mode=mode)
