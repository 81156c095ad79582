"""Shapes and layouts as users write them: turning, repeating, windows, grids."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim, quotient
from stele.ir.types import (
    SIZES,
    Shape,
    Type,
    axes_of,
    axis_of,
    below,
    broadcast_shapes,
    number_of,
    product,
    same,
    settled,
    show,
)
from stele.ops.arguments import choice, is_many, positive
from stele.ops.joining import concatenate
from stele.ops.linear import broadcast, expand_dims, flip, full, reshape, slice_axis, transpose
from stele.ops.windows import Window


def squeeze(x: Value, *, axis: int | Sequence[int] | None = None, strict: bool = True) -> Value:
    """The array without axes of length 1: the given ones, or all of them (of a placeholder those that are named stay).

    In the dtype of x. Raises ShapeError for a given axis of another length, as NumPy; unless `strict` it stays, as
    PyTorch has it.

    >>> x = st.zeros((1, 3, 1))
    >>> st.squeeze(x).shape, st.squeeze(x, -1).shape
    ((3,), (1, 3))
    """
    def is_one(n: Dim) -> bool: return n == 1 if isinstance(n, int) or SIZES.get() is None else same(n, 1)
    ones = [k for k, n in enumerate(x.shape) if is_one(n)] if axis is None else []
    given = ones if axis is None else [axis] if isinstance(axis, int) else axis
    axes = axes_of(given, x.ndim if strict else max(x.ndim, 1))
    axes = axes if strict else tuple(a for a in axes if x.ndim and is_one(x.shape[a]))
    if any(not same(x.shape[a], 1) for a in axes):
        raise ShapeError(f"squeeze drops axes of length 1, got axes {axes} of {show(x.shape)}")
    return reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in axes))


def permute(x: Value, *axes: int) -> Value:
    """x with its axes in another order, `permute(x, 1, 0)`; reversed without axes."""
    return transpose(x, axes or tuple(reversed(range(x.ndim))))


def swapaxes(x: Value, a: int, b: int) -> Value:
    """The array with its axes `a` and `b` exchanged; of a number, whose axes are 0 and -1, itself.

    In the dtype of x. Raises ShapeError for an axis that x does not have.

    >>> st.swapaxes(st.zeros((2, 3, 5)), 0, -1).shape
    (5, 3, 2)
    """
    a, b = (axis_of(k, max(x.ndim, 1)) for k in (a, b))
    return transpose(x, tuple(b if k == a else a if k == b else k for k in range(x.ndim)))


def moveaxis(x: Value, source: int | Sequence[int], target: int | Sequence[int]) -> Value:
    """The array with the axis `source` moved to the place `target`, or several to several; others keep their order.

    In the dtype of x. Raises ShapeError for axes that x does not have, that are named twice, and for more of the one
    than of the other.

    >>> images = st.zeros((8, 32, 32, 3))
    >>> st.moveaxis(images, -1, 1).shape, st.moveaxis(images, (0, 3), (3, 0)).shape
    ((8, 3, 32, 32), (3, 32, 32, 8))
    """
    sources, targets = (axes_of(several(a), max(x.ndim, 1)) for a in (source, target))
    if len(sources) != len(targets):
        raise ShapeError(f"moveaxis needs a place for each axis, got {sources} and {targets}")
    order = [k for k in range(x.ndim) if k not in sources]
    for place, axis in sorted(zip(targets, sources)):
        order.insert(place, axis)
    return transpose(x, tuple(order)) if x.ndim else x


def several(n: Any) -> Sequence[Any]:
    """One or several as several."""
    return n if is_many(n) else (n,)  # type: ignore[return-value]


def roll(x: Value, *, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Value:
    """The array moved along an axis by `shift` places; what leaves at the end enters at the start.

    Several axes each by their shift, or all by one; without an axis the elements in row-major order. A shift may be
    negative, or longer than the axis. In the dtype of x. Raises ShapeError for more shifts than axes.

    >>> st.roll(st.arange(5), 2, 0).tolist(), st.roll(st.arange(5), -1).tolist()
    ([3, 4, 0, 1, 2], [1, 2, 3, 4, 0])
    >>> st.roll(st.arange(4).reshape(2, 2), (1, 1), (0, 1)).tolist()
    [[3, 2], [1, 0]]
    """
    if axis is None:
        return reshape(rolled(reshape(x, (-1,)), sum(several(shift)), 0), x.shape)
    shifts, axes = several(shift), [axis_of(a, x.ndim) for a in several(axis)]
    if len(shifts) not in (1, len(axes)):
        raise ShapeError(f"roll needs one shift, or one for each axis, got {shifts} for axes {axes}")
    for k, a in zip((*shifts,) * (len(axes) if len(shifts) == 1 else 1), axes):
        x = rolled(x, k, a)
    return x


def rolled(x: Value, k: Dim, axis: int) -> Value:
    """x moved along one axis by k places."""
    n = x.shape[axis]
    if same(n, 0):
        return x
    if below(k, 0):
        k = k + n
    if below(k, 0) or not below(k, n):
        k = number_of(k) % number_of(n)
    if same(k, 0):
        return x
    return concatenate([slice_axis(x, axis, n - k, k), slice_axis(x, axis, 0, n - k)], axis=axis)


def repeat(x: Value, *, times: Dim, axis: int | None = None) -> Value:
    """x with each element of an axis so many times, one beside the other; flat without an axis."""
    x, axis = (reshape(x, (-1,)), 0) if axis is None else (x, axis_of(axis, x.ndim))
    wide = expand_dims(x, (axis + 1,))
    wide = broadcast(wide, (*wide.shape[:axis + 1], times, *wide.shape[axis + 2:]))
    return reshape(wide, (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1:]))


def tile(x: Value, *, repetitions: Shape) -> Value:
    """The array beside itself along each axis, as often as `repetitions` say: of the last axes, more add axes in front.

    In the dtype of x. Raises ShapeError for negative repetitions.

    >>> st.tile(st.tensor([1, 2]), 2).tolist(), st.tile(st.tensor([[1, 2]]), (2, 1)).tolist()
    ([1, 2, 1, 2], [[1, 2], [1, 2]])
    """
    ndim = max(x.ndim, len(repetitions))
    shape = (*(1,) * (ndim - x.ndim), *x.shape)
    times = (*(1,) * (ndim - len(repetitions)), *repetitions)
    wide = reshape(x, tuple(k for n in shape for k in (1, n)))
    wide = broadcast(wide, tuple(k for pair in zip(times, shape) for k in pair))
    return reshape(wide, tuple(k * n for k, n in zip(times, shape)))


def rot90(x: Value, *, k: int = 1, axes: Sequence[int] = (0, 1)) -> Value:
    """The array turned by 90 degrees, `k` times, in the plane of two `axes`: from the first towards the second.

    In the dtype of x. Raises ShapeError unless axes are two that x has.

    >>> st.rot90(st.tensor([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    plane = axes_of(axes, x.ndim)
    if len(plane) != 2:
        raise ShapeError(f"rot90 turns in a plane of two axes, got {tuple(axes)}")
    a, b = plane
    turned = {0: (), 1: (b,), 2: (a, b), 3: (a,)}[k % 4]
    y = flip(x, turned) if turned else x
    return swapaxes(y, a, b) if k % 2 else y


def fliplr(x: Value) -> Value:
    """The array with the order along its second axis reversed. Raises ShapeError for fewer than two axes.

    In the dtype of x.

    >>> st.fliplr(st.tensor([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    return flip(x, (1,))


def flipud(x: Value) -> Value:
    """The array with the order along its first axis reversed. Raises ShapeError for a number.

    In the dtype of x.

    >>> st.flipud(st.tensor([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    return flip(x, (0,))


def unflatten(x: Value, axis: int, sizes: Sequence[int]) -> Value:
    """The array with an axis as several, of these `sizes`, one of which may be -1: what is left.

    In the dtype of x. Raises ShapeError for an axis that x does not have and where sizes do not multiply to its length.

    >>> st.unflatten(st.zeros((2, 6)), 1, (3, -1)).shape
    (2, 3, 2)
    """
    axis = axis_of(axis, x.ndim)
    known = product(tuple(n for n in sizes if n != -1))
    if known == 0 or list(sizes).count(-1) > 1:
        raise ShapeError(f"cannot tell what -1 stands for in {tuple(sizes)}, of an axis of {x.shape[axis]}")
    left = settled(quotient(x.shape[axis], known))
    inner = tuple(left if n == -1 else n for n in sizes)
    return reshape(x, (*x.shape[:axis], *inner, *x.shape[axis + 1:]))


def unfold(x: Value, axis: int, size: int, step: int = 1) -> Value:
    """The windows of `size` elements along an axis, one every `step`, as a new last axis (PyTorch's Tensor.unfold).

    Nothing is copied where a program reads them. A number has one axis, 0 or -1. In the dtype of x. Raises ShapeError
    where not one window fits.

    >>> st.unfold(st.arange(5), 0, 3, step=2).tolist()
    [[0, 1, 2], [2, 3, 4]]
    """
    step = positive(step, "step of unfold")
    if not x.ndim:
        return reshape(unfold(reshape(x, (1,)), axis, size, step), (-1,))
    if size == 0:
        axis = axis_of(axis, x.ndim)
        return full((*x.shape[:axis], x.shape[axis] // step + 1, *x.shape[axis + 1:], 0), 0, x.dtype)
    return Window(axis_of(axis, x.ndim), positive(size, "size of unfold"), step, 1)(x)


def broadcast_arrays(*xs: Value) -> tuple[Value, ...]:
    """The arrays `xs`, each repeated to the shape that all of them broadcast to, as a tuple.

    Each in its own dtype. Raises ShapeError where the shapes do not fit.

    >>> [x.shape for x in st.broadcast_arrays(st.zeros((3, 1)), st.zeros(4))]
    [(3, 4), (3, 4)]
    """
    shape = broadcast_shapes(*(x.shape for x in xs)) if xs else ()
    return tuple(broadcast(x, shape) for x in xs)


def meshgrid(*arrays: Value | Sequence[Value], indexing: str = "xy", sparse: bool = False) -> tuple[Value, ...]:
    """The coordinates of the points of a grid, as a tuple of one array for each of the `arrays` of one axis, or none.

    The arrays may also be one list; a list of numbers is an array. With `indexing` "ij" array k lies along axis k of
    all results; with "xy" the first two are exchanged, as of a picture whose first axis counts rows. `sparse` results
    are 1 long on other axes than their own. Each in its own dtype. Raises ShapeError for arrays of more axes,
    OptionError for another indexing.

    >>> x, y = st.meshgrid(st.tensor([1, 2, 3]), st.tensor([10, 20]))
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
    given = [x for part in arrays for x in ([part] if isinstance(part, Value) else part)]
    for x in given:
        if x.ndim > 1:
            raise ShapeError(f"meshgrid takes arrays of one axis, got {show(x.shape)}", hint="Write x.flatten().")
    axes = [*range(len(given))]
    if choice(indexing, "indexing of meshgrid", ("xy", "ij")) == "xy":
        axes[:2] = axes[:2][::-1]
    lines = [reshape(x, tuple(-1 if k == a else 1 for a in range(len(axes)))) for x, k in zip(given, axes)]
    shape = broadcast_shapes(*(line.shape for line in lines)) if lines else ()
    return tuple(line if sparse else broadcast(line, shape) for line in lines)


def needs_matrices(name: str, x: Value | Type) -> None:
    """Raises ShapeError unless x has two axes or more."""
    if x.ndim < 2:
        raise ShapeError(f"{name} needs an array of two axes or more, got {show(x.shape)}")
