"""Changes of shape in the habits of the user, where they differ from those of values."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import Shape, axis_of, product, show
from stele.opensize import plain
from stele.ops import linear, shaping
from stele.ops.arguments import shape, wholes

Sizes = Any     # whole numbers one by one, or one sequence of them


def order_of(given: tuple[Any, ...], what: str = "axis") -> tuple[Any, ...]:
    """Whole numbers, given as one sequence or as several."""
    return wholes(plain(given[0] if len(given) == 1 else given), f"every {what}")


def shape_of(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """A shape, given as one sequence of sizes or as several sizes."""
    return shape(plain(given[0] if len(given) == 1 else given))


def reshape(x: Value, *sizes: Sizes) -> Value:
    """The same elements in row-major order under another shape; one entry may be -1."""
    wanted = order_of(sizes, "size")
    if sum(n == -1 for n in wanted) > 1:
        raise ShapeError(f"reshape to {show(wanted)} leaves more than one size open; write -1 once")
    return linear.reshape(x, wanted)


def permute(x: Value, *axes: Sizes) -> Value:
    """x with its axes in another order; reversed without one."""
    return shaping.permute(x, *order_of(axes))


def transpose(x: Value, *axes: Sizes) -> Value:
    """x with two axes exchanged, as in PyTorch; with all in another order, as in NumPy; reversed without one."""
    order = order_of(axes)
    return shaping.swapaxes(x, *order) if len(order) == 2 else shaping.permute(x, *order)


def flatten(x: Value, *, start: int = 0, end: int = -1) -> Value:
    """x with the axes from `start` to `end` as one."""
    if x.ndim == 0:
        return linear.reshape(x, (1,))
    first, last = axis_of(start, x.ndim), axis_of(end, x.ndim)
    return linear.reshape(x, (*x.shape[:first], product(x.shape[first: last + 1]), *x.shape[last + 1:]))


def unsqueeze(x: Value, *, axis: int | Sequence[int]) -> Value:
    """x with axes of length 1 put in at the given positions of the result."""
    return linear.expand_dims(x, (axis,) if isinstance(axis, int) else tuple(axis))


def expand(x: Value, *sizes: Sizes) -> Value:
    """x repeated to a shape by NumPy's rule; -1 keeps an axis."""
    wanted = order_of(sizes, "size")
    old = (1,) * (len(wanted) - x.ndim) + x.shape
    return linear.broadcast(x, tuple(n if w == -1 else w for w, n in zip(wanted, old)))


def broadcast_to(x: Value, shape: Shape) -> Value:
    """x repeated to a shape by NumPy's rule."""
    return linear.broadcast(x, tuple(shape))


def flip(x: Value, *, axis: int | Sequence[int] | None = None) -> Value:
    """x with the order of some axes, or of all, reversed."""
    return linear.flip(x, tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis))


def transposed(x: Value) -> Value:
    """x with its axes reversed."""
    return shaping.permute(x)


def copied(x: Value) -> Value:
    """x itself: values never change, so a copy is the same value."""
    return x
