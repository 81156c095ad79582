"""Elements at computed positions along one axis, an own position for each place beside it; and the transpose."""
from __future__ import annotations

from functools import reduce

from stele.ir.graph import Value
from stele.ir.types import Shape, int64, product
from stele.ops.gather import Gather, ScatterAdd
from stele.ops.generate import factor, iota_like
from stele.ops.linear import cast, reshape


def in_line(x: Value, axis: int | None) -> tuple[Value, int]:
    """An array and its axis; all elements in a row, and that one, without."""
    return (reshape(x, (-1,)), 0) if axis is None else (x, axis)


def positions(i: Value, axis: int, shape: Shape) -> Value:
    """Where in an array of `shape`, its elements in a row, those stand that `i` names along an axis."""
    own = cast(i, int64)
    places = [own if k == axis else iota_like(own, k) for k in range(i.ndim) if k == axis or shape[k] != 1]
    strides = [product(shape[k + 1:]) for k in range(i.ndim) if k == axis or shape[k] != 1]
    return reduce(lambda a, b: a + b, (v if n == 1 else v * factor(n) for v, n in zip(places, strides)))


def take_along(x: Value, i: Value, axis: int) -> Value:
    """y[a, k, b] = x[a, i[a, k, b], b], for positions that the axis has."""
    return Gather(0)(reshape(x, (-1,)), positions(i, axis % x.ndim, x.shape))


def put_along(g: Value, i: Value, axis: int, shape: Shape) -> Value:
    """The transpose of `take_along` from an array of `shape`: y[a, i[a, k, b], b] is the sum of those g[a, k, b]."""
    return reshape(ScatterAdd(0, product(shape))(g, positions(i, axis % len(shape), shape)), shape)
