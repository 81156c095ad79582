"""Shapes and layouts as users write them: joining, splitting, padding, turning."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim, Size
from stele.ir.types import SIZES, axis_of, below, bool_, int64, number_of, same, show
from stele.ops.arguments import positive
from stele.ops.elementwise.arithmetic import GreaterEqual, Select
from stele.ops.generate import Iota
from stele.ops.linear import Concatenate, Pad, broadcast, expand_dims, full, reshape, slice_axis, transpose, zeros_like


def concatenate(xs: Sequence[Value], *, axis: int = 0) -> Value:
    """The arrays one behind the other along an axis."""
    if not xs:
        raise ShapeError("concatenate needs at least one array, got none")
    joined = Concatenate(axis_of(axis, xs[0].ndim))
    return xs[0] if len(xs) == 1 else joined(*xs)


def stack(xs: Sequence[Value], *, axis: int = 0) -> Value:
    """The arrays along a new axis."""
    if not xs:
        raise ShapeError("stack needs at least one array, got none")
    axis = axis_of(axis, xs[0].ndim + 1)
    return concatenate([expand_dims(x, (axis,)) for x in xs], axis=axis)


def split(x: Value, size: int | Sequence[int], *, axis: int = 0) -> tuple[Value, ...]:
    """Parts of `size` elements along an axis (the last may be shorter), or of the sizes given."""
    axis = axis_of(axis, x.ndim)
    total = x.shape[axis]
    sizes = list(cut(total, positive(size, "size of split"))) if isinstance(size, int | Size) else list(size)
    if not same(sum(sizes), total):
        raise ShapeError(f"split sizes {sizes} add up to {sum(sizes)}, but axis {axis} of {show(x.shape)} has {total}")
    return tuple(slice_axis(x, axis, sum(sizes[:k]), n) for k, n in enumerate(sizes))


def cut(total: Dim, size: Dim) -> Iterator[Dim]:
    """Sizes that add up to the total, all but the last of them `size`."""
    while below(size, total):
        yield size
        total = total - size
    if below(0, total):
        yield total


def squeeze(x: Value, *, axis: int | Sequence[int] | None = None) -> Value:
    """x without axes of length 1: the given ones, or all (of a placeholder those that are named stay)."""
    def is_one(n: Dim) -> bool: return n == 1 if isinstance(n, int) or SIZES.get() is None else same(n, 1)
    ones = [k for k, n in enumerate(x.shape) if is_one(n)] if axis is None else []
    given = ones if axis is None else [axis] if isinstance(axis, int) else axis
    axes = {axis_of(a, x.ndim) for a in given}
    if any(not same(x.shape[a], 1) for a in axes):
        raise ShapeError(f"squeeze drops axes of length 1, got axes {tuple(sorted(axes))} of {show(x.shape)}")
    return reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in axes))


def permute(x: Value, *axes: int) -> Value:
    """x with its axes in another order, `permute(x, 1, 0)`; reversed without axes."""
    return transpose(x, axes or tuple(reversed(range(x.ndim))))


def swapaxes(x: Value, a: int, b: int) -> Value:
    """x with two axes exchanged."""
    a, b = axis_of(a, x.ndim), axis_of(b, x.ndim)
    return transpose(x, tuple(b if k == a else a if k == b else k for k in range(x.ndim)))


def moveaxis(x: Value, source: int, target: int) -> Value:
    """x with one axis moved to another place."""
    source, target = axis_of(source, x.ndim), axis_of(target, x.ndim)
    order = [k for k in range(x.ndim) if k != source]
    order.insert(target, source)
    return transpose(x, tuple(order))


def roll(x: Value, *, shift: Dim, axis: int) -> Value:
    """x moved along an axis by `shift` places; what leaves at the end enters at the start."""
    n, k = x.shape[axis_of(axis, x.ndim)], shift
    if same(n, 0):
        return x
    if below(k, 0):
        k = k + n
    if below(k, 0) or not below(k, n):
        k = number_of(k) % number_of(n)
    if same(k, 0):
        return x
    return concatenate([slice_axis(x, axis, n - k, k), slice_axis(x, axis, 0, n - k)], axis=axis)


def repeat(x: Value, *, times: int, axis: int) -> Value:
    """Each element of an axis `times` times."""
    axis = axis_of(axis, x.ndim)
    wide = expand_dims(x, (axis + 1,))
    wide = broadcast(wide, (*wide.shape[:axis + 1], times, *wide.shape[axis + 2:]))
    return reshape(wide, (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1:]))


def pad(x: Value, *, widths: Sequence[tuple[Dim, Dim]], value: float = 0.0) -> Value:
    """x with `value` around it: (before, behind) for each axis."""
    if len(widths) != x.ndim:
        raise ShapeError(f"pad needs a pair (before, behind) for each axis of {show(x.shape)}, got {widths}")
    if all(w == (0, 0) for w in widths):
        return x
    op = Pad(tuple(lo for lo, _ in widths), tuple(hi for _, hi in widths), (0,) * x.ndim)
    return op(x) if value == 0 else Select()(op(full(x.shape, True, bool_)), op(x), value)


def triangle(n: Dim, m: Dim, k: int = 0) -> Value:
    """A bool matrix (n, m), true on and below diagonal k; no matrix has a diagonal beyond 2**62."""
    k = max(-1 << 62, min(k, 1 << 62))
    return GreaterEqual()(Iota((n, m), 0, int64)() + k, Iota((n, m), 1, int64)())


def needs_matrices(name: str, x: Value) -> None:
    """Raises ShapeError unless x has two axes or more."""
    if x.ndim < 2:
        raise ShapeError(f"{name} needs an array of two axes or more, got {show(x.shape)}")


def tril(x: Value, *, k: int = 0) -> Value:
    """x with zeros above diagonal k of its last two axes."""
    needs_matrices("tril", x)
    return Select()(triangle(x.shape[-2], x.shape[-1], k), x, zeros_like(x))


def triu(x: Value, *, k: int = 0) -> Value:
    """x with zeros below diagonal k of its last two axes."""
    needs_matrices("triu", x)
    return Select()(triangle(x.shape[-2], x.shape[-1], k - 1), zeros_like(x), x)
