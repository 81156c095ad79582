"""Numbers combined at computed places, as users write it: scatters and segments, in a fixed order."""
from __future__ import annotations

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import axis_of, below, product, same, show
from stele.ops.along import positions
from stele.ops.arguments import choice
from stele.ops.elementwise.arithmetic import Maximum, Minimum
from stele.ops.elementwise.base import Operand
from stele.ops.gather import (
    CheckIndex,
    Scatter,
    ScatterAdd,
    ScatterMax,
    ScatterMin,
    ScatterMul,
    ScatterOnto,
    from_beginning,
)
from stele.ops.indexing import cast_like, checked, put
from stele.ops.linear import Slice, broadcast, cast, reshape, rowed

SCATTERS: dict[str, type[Scatter]] = {"add": ScatterAdd, "mul": ScatterMul, "max": ScatterMax, "min": ScatterMin}


def scatter(x: Value, i: Value, v: Operand, *, axis: int = 0, mode: str = "set") -> Value:
    """The array x with the elements of `v` put in at the positions `i` along an axis, or combined with what is there.

    What `take_along_axis` reads at i: y[a, i[a, k, b], b] becomes v[a, k, b] under `mode` "set", and the sum, product,
    maximum or minimum of x's element and all those of v under "add", "mul", "max" and "min". i has as many axes as x,
    each but `axis` no longer than that of x, v the shape of i at least (PyTorch's rule) or is a number. Where i names
    an element twice the last one stays, and others combine in an order that shapes say, on any number of threads.
    Negative positions count from the end. v and x have one dtype, which the result has. Raises ShapeError for shapes
    that do not fit, OptionError for another mode and, when run, IndexOutOfRange for a position outside of the axis.

    >>> i = st.tensor([0, 2, 0])
    >>> st.scatter(st.zeros(3), i, st.tensor([1.0, 2.0, 3.0]), mode="add").tolist()
    [4.0, 0.0, 2.0]
    >>> st.scatter(st.zeros(3), i, st.tensor([1.0, 2.0, 3.0])).tolist()
    [3.0, 0.0, 2.0]
    """
    choice(mode, "mode of scatter", ("set", *SCATTERS))
    if same(product(i.shape), 0):
        return x
    if not x.ndim:
        return reshape(scatter(reshape(x, (1,)), reshape(i, (-1,)), reshaped(v), mode=mode), ())
    axis = axis_of(axis, x.ndim)
    v = cast_like(v, x)
    v = broadcast(v, i.shape) if not v.ndim else v
    if x.ndim != i.ndim or v.ndim != i.ndim or any(
            below(b, n) or (k != axis and below(m, n)) for k, (m, n, b) in enumerate(zip(x.shape, i.shape, v.shape))):
        raise ShapeError(f"scatter along axis {axis} needs i within x beside the axis, and v no smaller than i; got x "
                         f"{show(x.shape)}, i {show(i.shape)} and v {show(v.shape)}",
                         hint="To add rows at positions of an axis write st.index_add(x, i, rows, axis).")
    v = v if v.shape == i.shape else Slice((0,) * i.ndim, i.shape, (1,) * i.ndim)(v)
    at = positions(checked(i, x.shape[axis]), axis, x.shape)
    return reshape(combined(reshape(x, (-1,)), at, v, mode), x.shape)


def reshaped(v: Operand) -> Operand:
    """Elements in a row."""
    return reshape(v, (-1,)) if isinstance(v, Value) else v


def combined(x: Value, at: Value, v: Value, mode: str) -> Value:
    """The row x with the elements v at places of it."""
    if mode == "set":
        return put(x, 0, reshape(at, (-1,)), reshape(v, (-1,)))
    y = SCATTERS[mode](0, x.shape[0])(v, at)
    return {"add": lambda: x + y, "mul": lambda: x * y,
            "max": lambda: Maximum()(x, y), "min": lambda: Minimum()(x, y)}[mode]()


def index_add(x: Value, i: Value, v: Value, *, axis: int = 0, alpha: float = 1) -> Value:
    """The array x with the parts of `v` along an axis, `alpha` times, added at the positions `i` of it, integers (k,).

    v has the shape of x but for k along the axis. Positions may repeat, and negative ones count from the end; sums are
    made in an order that the shapes say. Raises ShapeError for shapes that do not fit and, when run, IndexOutOfRange.

    >>> st.index_add(st.zeros((2, 2)), st.tensor([1, 1]), st.ones((2, 2))).tolist()
    [[0.0, 0.0], [2.0, 2.0]]
    """
    row, v, i = rowed(x), rowed(v if alpha == 1 else v * alpha), rowed(i)
    axis = axis_of(axis, row.ndim)
    n = row.shape[axis]
    at = CheckIndex(n)(from_beginning(i, n) if i.dtype.kind == "i" else i)
    return reshape(ScatterOnto(axis, n)(row, cast(v, x.dtype), at), x.shape)


def segment_sum(x: Value, i: Value, segments: int) -> Value:
    """The sum of those rows of x whose entry of `i` names the same of so many `segments`: (segments, ...).

    i holds integers from 0 to segments - 1, one for each row of x (n, ...), sorted or not. 0 where a segment has none;
    sums are made in an order that the shapes say.
    Raises ShapeError where i does not fit and, when run, IndexOutOfRange for another segment.

    >>> st.segment_sum(st.tensor([1.0, 2.0, 3.0]), st.tensor([0, 0, 2]), 3).tolist()
    [3.0, 0.0, 3.0]
    """
    return ScatterAdd(0, segments)(x, i)


def segment_prod(x: Value, i: Value, segments: int) -> Value:
    """The product of those rows of x whose entry of `i` names the same segment; 1 where it has none.

    Shapes, order and errors as of `segment_sum`, of so many `segments`. Raises ShapeError where i is not as long as x,
    DTypeError for other positions than integers.

    >>> st.segment_prod(st.tensor([2.0, 3.0, 4.0]), st.tensor([0, 0, 2]), 3).tolist()
    [6.0, 1.0, 4.0]
    """
    return ScatterMul(0, segments)(x, i)


def segment_max(x: Value, i: Value, segments: int) -> Value:
    """The largest of those rows of x whose entry of `i` names the same segment, element by element; NaN if one is.

    Where a segment has none it is -inf, of integers the lowest number. Shapes and errors as of `segment_sum`, of so
    many `segments`; elements that tie share the gradient. Raises ShapeError where i is not as long as x, DTypeError for
    complex numbers and for other positions than integers.

    >>> st.segment_max(st.tensor([1, 5, 3]), st.tensor([0, 0, 1]), 2).tolist()
    [5, 3]
    """
    return ScatterMax(0, segments)(x, i)


def segment_min(x: Value, i: Value, segments: int) -> Value:
    """The smallest of those rows of x whose entry of `i` names the same segment, element by element; NaN if one is.

    Where a segment has none it is inf, of integers the highest number. Shapes and errors as of `segment_sum`, of so
    many `segments`; elements that tie share the gradient. Raises ShapeError where i is not as long as x, DTypeError for
    complex numbers and for other positions than integers.

    >>> st.segment_min(st.tensor([1, 5, 3]), st.tensor([0, 0, 1]), 2).tolist()
    [1, 3]
    """
    return ScatterMin(0, segments)(x, i)
