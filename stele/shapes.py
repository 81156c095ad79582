"""Changes of shape as users write them, on values."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import ShapeError
from .ir.graph import Value
from .ir.sizes import Dim
from .ir.types import Shape, axis_of, promote, product, same, show
from .ops.linear import Concatenate, Pad, broadcast, cast, expand_dims, slice_axis, swap_last, transpose
from .ops.linear import reshape as as_shape


def shape_of(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """A shape given as one sequence or as several numbers."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given


def reshape(x: Value, *shape: Any) -> Value:
    """The same elements in row-major order under another shape; one entry may be -1."""
    wanted = shape_of(shape)
    if sum(n == -1 for n in wanted) > 1:
        raise ShapeError(f"reshape to {show(wanted)} leaves more than one size open; write -1 once")
    return as_shape(x, wanted)


def permute(x: Value, *axes: Any) -> Value:
    """x with its axes in another order; reversed without one."""
    return transpose(x, shape_of(axes) if axes else tuple(reversed(range(x.ndim))))


def swapaxes(x: Value, a: int, b: int) -> Value:
    """x with two axes exchanged."""
    order = list(range(x.ndim))
    a, b = axis_of(a, x.ndim), axis_of(b, x.ndim)
    order[a], order[b] = b, a
    return transpose(x, tuple(order))


def flatten(x: Value, *, start: int = 0, end: int = -1) -> Value:
    """x with the axes from `start` to `end` as one."""
    if x.ndim == 0:
        return as_shape(x, (1,))
    first, last = axis_of(start, x.ndim), axis_of(end, x.ndim)
    return as_shape(x, (*x.shape[:first], product(x.shape[first: last + 1]), *x.shape[last + 1:]))


def squeeze(x: Value, *, axis: int | tuple[int, ...] | None = None) -> Value:
    """x without axes of length 1: all of them, or those given."""
    if axis is None:
        dropped = {k for k, n in enumerate(x.shape) if n == 1}
    else:
        dropped = {axis_of(a, x.ndim) for a in ((axis,) if isinstance(axis, int) else axis)}
        if any(not same(x.shape[a], 1) for a in dropped):
            raise ShapeError(f"squeeze drops axes of length 1 only; axes {sorted(dropped)} of {show(x.shape)} are not")
    return as_shape(x, tuple(n for k, n in enumerate(x.shape) if k not in dropped))


def unsqueeze(x: Value, *, axis: int | tuple[int, ...]) -> Value:
    """x with axes of length 1 put in at the given positions of the result."""
    return expand_dims(x, (axis,) if isinstance(axis, int) else tuple(axis))


def expand(x: Value, *shape: Any) -> Value:
    """x repeated to a shape by NumPy's rule; -1 keeps an axis."""
    wanted = shape_of(shape)
    old = (1,) * (len(wanted) - x.ndim) + x.shape
    return broadcast(x, tuple(n if w == -1 else w for w, n in zip(wanted, old)))


def concatenate(parts: Sequence[Value], *, axis: int = 0) -> Value:
    """Arrays one behind the other along an axis."""
    if not parts:
        raise ShapeError("concatenate needs at least one array")
    return parts[0] if len(parts) == 1 else Concatenate(axis_of(axis, parts[0].ndim))(*parts)


def stack(parts: Sequence[Value], *, axis: int = 0) -> Value:
    """Arrays of one shape side by side along a new axis."""
    if not parts:
        raise ShapeError("stack needs at least one array")
    axis = axis_of(axis, parts[0].ndim + 1)
    return concatenate([expand_dims(p, (axis,)) for p in parts], axis=axis)


def split(x: Value, size: int | Sequence[int], *, axis: int = 0) -> tuple[Value, ...]:
    """Parts of `size` elements along an axis (the last may be shorter), or of the sizes given."""
    axis = axis_of(axis, x.ndim)
    total = x.shape[axis]
    if not isinstance(total, int):
        raise ShapeError(f"split needs an axis of known size, got {show(x.shape)}; take parts with slices")
    sizes = [min(size, total - k) for k in range(0, total, size)] if isinstance(size, int) else list(size)
    if sum(sizes) != total:
        raise ShapeError(f"split sizes {sizes} add up to {sum(sizes)}, but axis {axis} of {show(x.shape)} has {total}")
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(slice_axis(x, axis, start, n) for start, n in zip(starts, sizes))


def pad(x: Value, *, widths: Sequence[tuple[int, int]], value: float = 0) -> Value:
    """x with `widths[k] = (before, after)` elements of `value` around axis k."""
    low, high = zip(*widths) if widths else ((), ())
    if value == 0:
        return Pad(low, high, (0,) * x.ndim)(x)
    return Pad(low, high, (0,) * x.ndim)(x - value) + value


def broadcast_to(x: Value, shape: Shape) -> Value:
    """x repeated to a shape by NumPy's rule."""
    return broadcast(x, tuple(shape))


def transposed(x: Value) -> Value:
    """x with its axes reversed."""
    return transpose(x, tuple(reversed(range(x.ndim))))


def matrix_transpose(x: Value) -> Value:
    """x with its last two axes exchanged."""
    return swap_last(x)


def copied(x: Value) -> Value:
    """x itself: values never change, so a copy is the same value."""
    return x


def alike(x: Value, z: Value) -> tuple[Value, Value]:
    """Two arrays in the dtype they promote to."""
    both = promote(x.dtype, z.dtype)
    return cast(x, both), cast(z, both)


def dims(shape: Any) -> tuple[Dim, ...]:
    """A shape given as a number or a sequence."""
    return (shape,) if isinstance(shape, int) else tuple(shape)
