"""Elements picked, and replaced, by their positions along axes or by a mask, as users write it."""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from stele.errors import BadKey, DTypeError, ShapeError
from stele.ir.graph import Operand, Value
from stele.ir.sizes import Dim
from stele.ir.types import axis_of, below, bool_, product, same, show
from stele.ops.elementwise.arithmetic import Select
from stele.ops.gather import Gather
from stele.ops.indexing import cast_like, put, repeated, set_index, within, wrapped
from stele.ops.linear import cast, full, reshape, rowed, slice_axis
from stele.ops.sorting import take_along_axis

Positions = Value

def take(x: Value, i: Positions, *, axis: int | None = None, mode: str = "raise") -> Value:
    """The elements `i` of an axis: x.shape[:axis] + i.shape + x.shape[axis+1:]; negative ones count from the end.

    Without an axis those of the elements in row-major order, as of NumPy and PyTorch. Elements named twice sum their
    gradients. An index outside of the axis is the nearest one under `mode` "clip", and counted round under "wrap".
    Raises DTypeError for other than integers, OptionError for another mode and, when run, IndexOutOfRange for an index
    outside of the axis.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.take(x, st.tensor([0, -1]), axis=1).tolist()
    [[1, 3], [4, 6]]
    >>> st.take(x, st.tensor([[0, 5], [1, 1]])).tolist()
    [[1, 6], [2, 2]]
    """
    x = reshape(x, (-1,)) if axis is None else x
    axis = axis_of(axis or 0, x.ndim)
    return Gather(axis)(x, within(i, x.shape[axis], mode))


def embedding(table: Value, i: Value) -> Value:
    """The rows `i` of a `table` (rows, width), integers of any shape: i.shape + (width,), in the table's dtype.

    Rows named twice sum their gradients. Raises DTypeError for other than integers and, when run, IndexOutOfRange for a
    row outside of 0 .. rows - 1; `take` counts negative ones from the end.

    >>> table = st.tensor([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]])
    >>> st.embedding(table, st.tensor([2, 0, 2])).tolist()
    [[2.0, 2.5], [0.0, 0.5], [2.0, 2.5]]
    """
    return Gather(0)(table, i)


def gather(x: Value, axis: int, i: Value) -> Value:
    """The elements at positions `i` along an axis (PyTorch's gather): as `take_along_axis`, of as much of x as i names.

    Other axes of i may be shorter than those of x, whose rest is not looked at; nothing broadcasts. A number has one
    axis, 0 or -1. In the dtype of x. Raises ShapeError for an axis that x does not have and where i has other axes or
    is longer elsewhere, DTypeError for other positions than integers and, when run, IndexOutOfRange for one that the
    axis does not have.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.gather(x, 1, st.tensor([[2, 0]])).tolist()
    [[3, 1]]
    """
    if same(product(i.shape), 0):
        return full(i.shape, 0, x.dtype)
    shape, x, i = i.shape, rowed(x), rowed(i)
    axis = axis_of(axis, x.ndim)
    if i.ndim != x.ndim:
        raise ShapeError(f"gather needs as many axes of i as of x, got {show(i.shape)} of {show(x.shape)}")
    for a, n in enumerate(i.shape):
        if a != axis:
            if below(x.shape[a], n):
                raise ShapeError(f"gather along axis {axis} needs i no longer than x elsewhere, got {show(i.shape)} of "
                                 f"{show(x.shape)}")
            x = x if x.shape[a] == n else slice_axis(x, a, 0, n)
    return reshape(take_along_axis(x, i, axis=axis), shape)


def index_select(x: Value, axis: int, i: Value) -> Value:
    """The elements `i` of an axis, a vector of positions: `take` with PyTorch's order of arguments.

    A number has one axis, 0 or -1, and so it stays a number where i is one position. In the dtype of x. Raises
    ShapeError for an axis that x does not have, DTypeError for other positions than integers and, when run,
    IndexOutOfRange for one that the axis does not have.

    >>> st.index_select(st.tensor([[1, 2], [3, 4]]), 1, st.tensor([1])).tolist()
    [[2], [4]]
    """
    y = take(rowed(x), rowed(i), axis=axis)
    return y if x.ndim else reshape(y, ())


def rows_at(name: str, x: Value, axis: int, i: Value) -> tuple[int, Value]:
    """An axis and a vector of positions on it."""
    axis = axis_of(axis, x.ndim)
    if i.ndim > 1:
        raise ShapeError(f"{name} takes a vector of positions, got {show(i.shape)}")
    return axis, reshape(wrapped(i, x.shape[axis]), (-1,))


def index_copy(x: Value, axis: int, i: Value, source: Value) -> Value:
    """The array with its elements `i` of an axis replaced by the parts of `source`; the last of those that name one.

    source broadcasts to the shape of x with as many elements along the axis as i, a vector. In the dtype of x. Raises
    ShapeError for an axis that x does not have and where source does not broadcast, DTypeError for other positions than
    integers and, when run, IndexOutOfRange for one that the axis does not have.

    >>> st.index_copy(st.zeros(3), 0, st.tensor([2, 0]), st.tensor([1.0, 2.0])).tolist()
    [2.0, 0.0, 1.0]
    """
    axis, i = rows_at("index_copy", x, axis, i)
    return put(x, axis, i, repeated(cast_like(source, x), (*x.shape[:axis], i.shape[0], *x.shape[axis + 1:])))


def index_fill(x: Value, axis: int, i: Value, value: float) -> Value:
    """The array with its elements `i` of an axis replaced by the number `value`.

    i is a vector. Raises ShapeError for an axis that x does not have, DTypeError for other positions than integers and,
    when run, IndexOutOfRange for one that the axis does not have.

    >>> st.index_fill(st.zeros((2, 2)), 1, st.tensor([1]), 5).tolist()
    [[0.0, 5.0], [0.0, 5.0]]
    """
    return index_copy(x, axis, i, cast_like(value, x))


def index_put(x: Value, indices: Sequence[Value], values: Value, *, accumulate: bool = False) -> Value:
    """The array with x[indices] replaced by `values`, or with them added if they are to `accumulate`.

    `indices` are integer arrays of the first axes that broadcast against each other. As `x[i, j] = values` of a copy:
    the last of those that name one element stays; if they accumulate, all count. Raises ShapeError where values do not
    broadcast and for more indices than axes, DTypeError for other positions than integers.

    >>> st.index_put(st.zeros(3), (st.tensor([1, 1]),), st.tensor([1.0, 2.0]), accumulate=True).tolist()
    [0.0, 3.0, 0.0]
    """
    return set_index(x, values, key=tuple(indices), adds=accumulate)


def masked_fill(x: Value, mask: Value, value: Value) -> Value:
    """The array with the number `value` where `mask`, which broadcasts to its shape, is true; in the dtype of x.

    Raises DTypeError for other than a bool mask, ShapeError for a value of more than one element.

    >>> st.masked_fill(st.tensor([1.0, 2.0]), st.tensor([True, False]), 0).tolist()
    [0.0, 2.0]
    """
    if mask.dtype != bool_:
        raise DTypeError(f"masked_fill needs a bool mask, got {mask.type}", hint="Write mask != 0.")
    if value.ndim:
        raise ShapeError(f"masked_fill fills in one number, got {value.type}", hint="Write st.where(mask, values, x).")
    return Select()(mask, cast(value, x.dtype), x)


def select(conditions: Sequence[Value], choices: Sequence[Value], *, default: Operand = 0) -> Value:
    """The element of the first of the `choices` whose condition is true, else of `default` (NumPy's select).

    `conditions`, bool arrays, and choices are lists of one length; all broadcast, and choices meet in one dtype. Raises
    ShapeError where lists or shapes do not fit, DTypeError for conditions that are no bools.

    >>> x = st.arange(5)
    >>> st.select([x < 2, x > 3], [x, x * 10], default=-1).tolist()
    [0, 1, -1, -1, 40]
    """
    if len(conditions) != len(choices):
        raise ShapeError(f"select needs a choice for each condition, got {len(conditions)} and {len(choices)}")
    pairs = reversed(list(zip(conditions, choices)))
    return reduce(lambda y, pair: Select()(*pair, y), pairs, default)   # type: ignore[return-value]


def narrow(x: Value, axis: int, start: Dim, length: Dim) -> Value:
    """The `length` elements of an axis from `start` on, which may count from the end (PyTorch's narrow).

    In the dtype of x. Raises BadKey where they do not lie within the axis.

    >>> st.narrow(st.arange(5), 0, 1, 3).tolist()
    [1, 2, 3]
    """
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    low = start + n if below(start, 0) else start
    if below(low, 0) or below(length, 0) or below(n, low + length):
        raise BadKey(f"narrow needs elements within axis {axis} of {show(x.shape)}, got {length} from {start} on")
    return slice_axis(x, axis, low, length)
