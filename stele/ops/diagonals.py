"""Diagonals and triangles of matrices."""
from __future__ import annotations

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import axis_of, int64, show
from stele.ops import products
from stele.ops.elementwise.arithmetic import Equal, GreaterEqual, Select
from stele.ops.generate import Iota
from stele.ops.linear import expand_dims, pad_axis, transpose, zeros_like
from stele.ops.shaping import needs_matrices


def triangle(n: Dim, m: Dim, k: int = 0) -> Value:
    """A bool matrix (n, m), true on and below diagonal k; no matrix has a diagonal beyond 2**62."""
    k = max(-1 << 62, min(k, 1 << 62))
    return GreaterEqual()(Iota((n, m), 0, int64)() + k, Iota((n, m), 1, int64)())


def tril(x: Value, *, k: int = 0) -> Value:
    """The lower triangle of x: zeros above diagonal `k` of its last two axes (0 the main one, 1 the one above it).

    In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> st.tril(st.ones((3, 3), dtype="int64")).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    needs_matrices("tril", x)
    return Select()(triangle(x.shape[-2], x.shape[-1], k), x, zeros_like(x))


def triu(x: Value, *, k: int = 0) -> Value:
    """The upper triangle of x: zeros below diagonal `k` of its last two axes (0 the main one, 1 the one above it).

    In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> st.triu(st.ones((2, 3), dtype="int64"), k=1).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    needs_matrices("triu", x)
    return Select()(triangle(x.shape[-2], x.shape[-1], k - 1), zeros_like(x), x)


def diagonal(x: Value, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """The elements x[i, i + `offset`] of the matrices on two axes, `axis1` and `axis2`, as a new last axis.

    In the dtype of x. Raises ShapeError for axes that x does not have, or that are one.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.diagonal(x).tolist(), st.diagonal(x, offset=1).tolist(), st.diagonal(x, offset=-1).tolist()
    ([1, 5], [2, 6], [4])
    """
    needs_matrices("diagonal", x)
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if a == b:
        raise ShapeError(f"diagonal needs two axes, got axis {a} twice")
    x = transpose(x, (*(k for k in range(x.ndim) if k not in (a, b)), a, b))
    return products.diagonal(x, offset=offset)


def diag_embed(x: Value, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Value:
    """Matrices with the last axis of x on the diagonal `offset`, and zeros elsewhere.

    They stand on the axes `axis1` and `axis2` of the result. In the dtype of x. Raises ShapeError for axes that it does
    not have.

    >>> st.diag_embed(st.tensor([1, 2]), offset=1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    if not x.ndim:
        raise ShapeError("diag_embed needs an array of one axis or more, got a number")
    a, b = axis_of(axis1, x.ndim + 1), axis_of(axis2, x.ndim + 1)
    if a == b:
        raise ShapeError(f"diag_embed needs two axes, got axis {a} twice")
    low, high = max(-offset, 0), max(offset, 0)
    line = pad_axis(x, x.ndim - 1, high, low)       # element j of column j
    n = line.shape[-1]
    here = Equal()(Iota((n, n), 0, int64)() + offset, Iota((n, n), 1, int64)())
    rows = expand_dims(line, (-2,))
    made = Select()(here, rows, zeros_like(rows))
    order = list(range(x.ndim - 1))
    for axis, source in sorted([(a, x.ndim - 1), (b, x.ndim)]):
        order.insert(axis, source)
    return transpose(made, tuple(order))


def diag(x: Value, *, k: int = 0) -> Value:
    """Of a vector the matrix that has it on diagonal `k`, of a matrix its diagonal k (0 the main one, 1 above it).

    In the dtype of x. Raises ShapeError for another number of axes.

    >>> st.diag(st.tensor([1, 2])).tolist(), st.diag(st.tensor([[1, 2], [3, 4]]), k=1).tolist()
    ([[1, 0], [0, 2]], [2])
    """
    if x.ndim not in (1, 2):
        raise ShapeError(f"diag takes a vector or a matrix, got {show(x.shape)}",
                         hint="Write st.diagonal(x, axis1=-2, axis2=-1) for each matrix of a stack.")
    return diag_embed(x, offset=k) if x.ndim == 1 else diagonal(x, offset=k)
