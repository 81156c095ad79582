"""Shapes and layouts as users write them: joining, splitting, padding, turning."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import copysign

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim, Size
from stele.ir.types import SIZES, Type, axes_of, axis_of, below, bool_, broadcast_shapes, int64, number_of, same, show
from stele.ops.arguments import choice, positive
from stele.ops.elementwise.arithmetic import GreaterEqual, Select
from stele.ops.generate import Iota
from stele.ops.linear import Concatenate, Pad, broadcast, expand_dims, full, reshape, slice_axis, transpose, zeros_like


def concatenate(xs: Sequence[Value], *, axis: int = 0) -> Value:
    """The arrays `xs`, a list of one or more, one behind the other along an axis; dtypes meet as in `add`.

    Raises ShapeError for no arrays, and where shapes differ along another axis.

    >>> x = st.tensor([[1, 2], [3, 4]])
    >>> st.concatenate([x, x[:1]]).tolist(), st.concatenate([x, x], axis=-1).shape
    ([[1, 2], [3, 4], [1, 2]], (2, 4))
    """
    if not xs:
        raise ShapeError("concatenate needs at least one array, got none")
    joined = Concatenate(axis_of(axis, xs[0].ndim))
    return xs[0] if len(xs) == 1 else joined(*xs)


def stack(xs: Sequence[Value], *, axis: int = 0) -> Value:
    """The arrays `xs`, a list of one or more of one shape, side by side along a new axis; dtypes meet as in `add`.

    Raises ShapeError for no arrays, and for shapes that differ.

    >>> st.stack([st.tensor([1, 2]), st.tensor([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    if not xs:
        raise ShapeError("stack needs at least one array, got none")
    axis = axis_of(axis, xs[0].ndim + 1)
    return concatenate([expand_dims(x, (axis,)) for x in xs], axis=axis)


def meshgrid(*arrays: Value, indexing: str = "xy") -> tuple[Value, ...]:
    """The coordinates of the points of a grid, as a tuple of one array for each of the `arrays` of one axis, or none.

    With `indexing` "ij" array k lies along axis k of all results; with "xy" the first two are exchanged, as of a
    picture whose first axis counts rows. Raises ShapeError for arrays of more axes, OptionError for another indexing.

    >>> x, y = st.meshgrid(st.tensor([1, 2, 3]), st.tensor([10, 20]))
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
    for x in arrays:
        if x.ndim > 1:
            raise ShapeError(f"meshgrid takes arrays of one axis, got {show(x.shape)}", hint="Write x.flatten().")
    axes = [*range(len(arrays))]
    if choice(indexing, "indexing of meshgrid", ("xy", "ij")) == "xy":
        axes[:2] = axes[:2][::-1]
    lines = [reshape(x, (-1, *(1,) * (len(axes) - 1 - k))) for x, k in zip(arrays, axes)]
    shape = broadcast_shapes(*(line.shape for line in lines)) if lines else ()
    return tuple(broadcast(line, shape) for line in lines)


def split(x: Value, size: int | Sequence[int], *, axis: int = 0) -> tuple[Value, ...]:
    """The parts of an array along an axis, as a tuple: of `size` elements each, or of the sizes that it lists.

    The last of equal parts may be shorter. Raises ShapeError for sizes that do not add up to the length of the axis.

    >>> [part.tolist() for part in st.split(st.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    >>> [part.shape for part in st.split(st.zeros((2, 5)), (1, 4), axis=1)]
    [(2, 1), (2, 4)]
    """
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
    """The array without axes of length 1: the given ones, or all of them (of a placeholder those that are named stay).

    Raises ShapeError for a given axis of another length, as NumPy; PyTorch would leave it.

    >>> x = st.zeros((1, 3, 1))
    >>> st.squeeze(x).shape, st.squeeze(x, -1).shape
    ((3,), (1, 3))
    """
    def is_one(n: Dim) -> bool: return n == 1 if isinstance(n, int) or SIZES.get() is None else same(n, 1)
    ones = [k for k, n in enumerate(x.shape) if is_one(n)] if axis is None else []
    given = ones if axis is None else [axis] if isinstance(axis, int) else axis
    axes = axes_of(given, x.ndim)
    if any(not same(x.shape[a], 1) for a in axes):
        raise ShapeError(f"squeeze drops axes of length 1, got axes {axes} of {show(x.shape)}")
    return reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in axes))


def permute(x: Value, *axes: int) -> Value:
    """x with its axes in another order, `permute(x, 1, 0)`; reversed without axes."""
    return transpose(x, axes or tuple(reversed(range(x.ndim))))


def swapaxes(x: Value, a: int, b: int) -> Value:
    """The array with its axes `a` and `b` exchanged.

    Raises ShapeError for an axis that x does not have.

    >>> st.swapaxes(st.zeros((2, 3, 5)), 0, -1).shape
    (5, 3, 2)
    """
    a, b = axis_of(a, x.ndim), axis_of(b, x.ndim)
    return transpose(x, tuple(b if k == a else a if k == b else k for k in range(x.ndim)))


def moveaxis(x: Value, source: int, target: int) -> Value:
    """The array with the axis `source` moved to the place `target`; the others keep their order.

    >>> images = st.zeros((8, 32, 32, 3))
    >>> st.moveaxis(images, -1, 1).shape
    (8, 3, 32, 32)
    """
    source, target = axis_of(source, x.ndim), axis_of(target, x.ndim)
    order = [k for k in range(x.ndim) if k != source]
    order.insert(target, source)
    return transpose(x, tuple(order))


def roll(x: Value, *, shift: Dim, axis: int) -> Value:
    """The array moved along an axis by `shift` places; what leaves at the end enters at the start.

    A shift may be negative, or longer than the axis.

    >>> st.roll(st.arange(5), 2, 0).tolist(), st.roll(st.arange(5), -1, 0).tolist()
    ([3, 4, 0, 1, 2], [1, 2, 3, 4, 0])
    """
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
    """The array with each element of an axis `times` times, one beside the other, as NumPy's repeat.

    >>> st.repeat(st.tensor([[1, 2], [3, 4]]), 2, axis=1).tolist()
    [[1, 1, 2, 2], [3, 3, 4, 4]]
    """
    axis = axis_of(axis, x.ndim)
    wide = expand_dims(x, (axis + 1,))
    wide = broadcast(wide, (*wide.shape[:axis + 1], times, *wide.shape[axis + 2:]))
    return reshape(wide, (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1:]))


def pad(x: Value, *, widths: Sequence[tuple[Dim, Dim]], value: float = 0.0) -> Value:
    """The array with `value` around it: `widths` has a pair (before, behind), or one number for both, for each axis.

    x and the value meet in one dtype as in `add`, but 0, the default, takes that of x. Raises ShapeError for another
    number of pairs, and for negative widths.

    >>> st.pad(st.tensor([[1, 2]]), [(0, 1), (2, 0)], value=9).tolist()
    [[9, 9, 1, 2], [9, 9, 9, 9]]
    """
    if len(widths) != x.ndim:
        raise ShapeError(f"pad needs a pair (before, behind) for each axis of {show(x.shape)}, got {widths}")
    if all(w == (0, 0) for w in widths):
        return x
    op = Pad(tuple(lo for lo, _ in widths), tuple(hi for _, hi in widths), (0,) * x.ndim)
    is_zero = value == 0 and (copysign(1, value) > 0 or not x.dtype.is_float)
    return op(x) if is_zero else Select()(op(full(x.shape, True, bool_)), op(x), value)


def triangle(n: Dim, m: Dim, k: int = 0) -> Value:
    """A bool matrix (n, m), true on and below diagonal k; no matrix has a diagonal beyond 2**62."""
    k = max(-1 << 62, min(k, 1 << 62))
    return GreaterEqual()(Iota((n, m), 0, int64)() + k, Iota((n, m), 1, int64)())


def needs_matrices(name: str, x: Value | Type) -> None:
    """Raises ShapeError unless x has two axes or more."""
    if x.ndim < 2:
        raise ShapeError(f"{name} needs an array of two axes or more, got {show(x.shape)}")


def tril(x: Value, *, k: int = 0) -> Value:
    """The lower triangle of x: zeros above diagonal `k` of its last two axes (0 the main one, 1 the one above it).

    Raises ShapeError for fewer than two axes.

    >>> st.tril(st.ones((3, 3), dtype="int64")).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    needs_matrices("tril", x)
    return Select()(triangle(x.shape[-2], x.shape[-1], k), x, zeros_like(x))


def triu(x: Value, *, k: int = 0) -> Value:
    """The upper triangle of x: zeros below diagonal `k` of its last two axes (0 the main one, 1 the one above it).

    Raises ShapeError for fewer than two axes.

    >>> st.triu(st.ones((2, 3), dtype="int64"), k=1).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    needs_matrices("triu", x)
    return Select()(triangle(x.shape[-2], x.shape[-1], k - 1), zeros_like(x), x)
