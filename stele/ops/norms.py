"""Norms of vectors and matrices, as users write them."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stele.errors import OptionError, ShapeError
from stele.ir.graph import Value
from stele.ir.types import DType, axes_of, is_zero, show
from stele.ops.arguments import choice, meant, number
from stele.ops.composite import Norm
from stele.ops.elementwise.arithmetic import Equal, NotEqual, Select
from stele.ops.elementwise.binary import pow
from stele.ops.elementwise.unary import absolute
from stele.ops.factors import Svdvals, identity
from stele.ops.lapack import Inv, Slogdet, items, matrix_of
from stele.ops.linear import cast, expand_dims, transpose
from stele.ops.shaping import needs_matrices
from stele.ops.statistics import Axes, max, min, over, sum, widened

ORDERS = {"fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf}


def vector_norm(x: Value, *, ord: float = 2, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None
                ) -> Value:
    """The norm of all entries, or of those along an axis or several: sum(abs(x) ** `ord`) ** (1 / ord).

    `ord` inf is the largest absolute value, -inf the smallest, 0 the number of entries that are not 0. Integers and
    bools become float32; 16-bit floats add up in float32; x becomes another `dtype` first where one is given. Of order
    2 no square over- or underflows. Where a norm is 0 its gradient is 0 (PyTorch's choice).
    Raises ShapeError for an axis that x does not have, and for the smallest of nothing.

    >>> x = st.tensor([[3.0, 4.0], [0.0, -2.0]])
    >>> st.linalg.vector_norm(x, axis=1).tolist(), st.linalg.vector_norm(x, ord=1).tolist()
    ([5.0, 2.0], 9.0)
    """
    p, x = number(ord, "ord of vector_norm"), x if dtype is None else cast(x, dtype)
    axes = over(axis, x.ndim)
    y = power_norm(widened(x), float(p), axes)
    return rounded(expand_dims(y, axes) if keepdims else y, x)


def rounded(y: Value, x: Value) -> Value:
    """A norm of x in its dtype, if that is a float of 16 bits."""
    return cast(y, x.dtype) if x.dtype.is_float and x.dtype.bits == 16 else y


def power_norm(x: Value, p: float, axes: tuple[int, ...]) -> Value:
    """The norm of order p of wide floats over some axes."""
    size = absolute(x)
    if p == math.inf:
        return sum(size, axis=axes) if any(is_zero(x.shape[a]) for a in axes) else max(size, axis=axes)
    if p == -math.inf:
        return min(size, axis=axes)
    if p == 0:
        return sum(cast(NotEqual()(x, 0), x.dtype.real), axis=axes)
    if p == 1:
        return sum(size, axis=axes)
    if p == 2:
        return Norm(axes)(size if x.dtype.is_complex else x)
    none = 0.0 if p > 0 else math.inf
    return guarded(sum(guarded(size, p, none), axis=axes), 1 / p, none)


def guarded(x: Value, p: float, none: float = 0.0) -> Value:
    """x to the power of p, and `none` where x is 0, without a derivative there."""
    is_zero = Equal()(x, 0)
    return Select()(is_zero, none, pow(Select()(is_zero, 1.0, x), p))


def matrix_norm(x: Value, *, ord: Any = "fro", axis: int | Sequence[int] = (-2, -1), keepdims: bool = False,
                dtype: DType | None = None) -> Value:
    """The norms of matrices x (..., m, n), whose rows and columns lie along a pair of axes.

    `ord` is "fro", the root of the sum of squares; "nuc", the sum of singular values; 2 or -2, the largest or smallest
    of them; 1 or -1, the largest or smallest sum of absolute values of a column; inf or -inf that of a row. Dtypes,
    and `dtype`, as in `vector_norm`. Raises ShapeError for fewer than two axes, OptionError for another order.

    >>> x = st.tensor([[3.0, 0.0], [4.0, 0.0]])
    >>> st.linalg.matrix_norm(x).tolist(), st.linalg.matrix_norm(x, ord=1).tolist()
    (5.0, 7.0)
    """
    needs_matrices("matrix_norm", x)
    if isinstance(ord, bool) or not isinstance(ord, str | int | float) or ord not in ORDERS:
        raise OptionError(f"ord of matrix_norm must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}",
                          hint=meant(ord, ("fro", "nuc")))
    both = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(both) != 2:
        raise ShapeError(f"axis of matrix_norm must be a pair, of rows and of columns, got {axis}")
    pair, x = axes_of(both, x.ndim), x if dtype is None else cast(x, dtype)
    y = pair_norm(widened(x), ord, pair)
    return rounded(expand_dims(y, pair) if keepdims else y, x)


def pair_norm(x: Value, ord: Any, pair: tuple[int, ...]) -> Value:
    """The norm of wide floats over a pair of axes, of rows and of columns."""
    if ord == "fro":
        return power_norm(x, 2, pair)
    best: Any = sum if ord == "nuc" else max if ord > 0 else min
    if ord in ("nuc", 2, -2):
        others = (k for k in range(x.ndim) if k not in pair)
        return best(Svdvals()(transpose(x, (*others, *pair))), axis=-1)
    added = pair[0] if ord in (1, -1) else pair[1]
    return best(sum(absolute(x), axis=added, keepdims=True), axis=pair)


def norm(x: Value, *, ord: Any = None, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None) -> Value:
    """The `matrix_norm` over a pair of axes, or the `vector_norm` over one, as NumPy and PyTorch choose between them.

    Without `ord` it is the root of the sum of squares, over all axes where none are named; with it and without axes x
    is a vector or a matrix. `dtype` as in `vector_norm`. Raises ShapeError for other axes, and as those do.

    >>> x = st.tensor([[3.0, 0.0], [4.0, 0.0]])
    >>> st.linalg.norm(x).tolist(), st.linalg.norm(x, 1).tolist(), st.linalg.norm(x, axis=0).tolist()
    (5.0, 7.0, [5.0, 0.0])
    """
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims, dtype=dtype)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1:
        return vector_norm(x, ord=2 if ord is None else ord, axis=axes, keepdims=keepdims, dtype=dtype)
    if len(axes) == 2:
        return matrix_norm(x, ord="fro" if ord is None else ord, axis=axes, keepdims=keepdims, dtype=dtype)
    raise ShapeError(f"norm is over one axis or over a pair of them, got axis={axis} for {show(x.shape)}",
                     hint="st.linalg.vector_norm takes any axes.")


def entry_norm(x: Value, *, p: float | str = "fro", axis: Axes = None, keepdims: bool = False,
               dtype: DType | None = None) -> Value:
    """The `linalg.vector_norm` of order `p` over one axis, several, or all of them (PyTorch's norm).

    "fro" is order 2, and "nuc" the `linalg.matrix_norm` of that name, over a pair of axes or the last two. `dtype` as
    of both. Of a matrix, p = 2 is so the root of the sum of squares, where `linalg.norm` has its largest singular
    value. Raises ShapeError for an axis that x does not have, OptionError for another word as p, DTypeError for another
    dtype than there is.

    >>> st.norm(st.tensor([[3.0, 0.0], [4.0, 0.0]])).tolist()
    5.0
    """
    if isinstance(p, str) and choice(p, "p of norm", ("fro", "nuc")) == "nuc":
        return matrix_norm(x, ord=p, axis=(-2, -1) if axis is None else axis, keepdims=keepdims, dtype=dtype)
    return vector_norm(x, ord=2 if isinstance(p, str) else p, axis=axis, keepdims=keepdims, dtype=dtype)


entry_norm.__name__ = "norm"    # as users call it


def cond(x: Value, *, p: Any = None) -> Value:
    """The condition numbers of matrices x (..., m, n): the largest singular value by the smallest; `p` is 2 or None.

    With p = -2 it is the inverse of that; any other order of `matrix_norm` is the norm of x times that of its inverse.
    Of singular matrices it is inf, as of zeros in any order. Integers become float32. Raises ShapeError for fewer than
    two axes and for no elements, OptionError for another order.

    >>> st.linalg.cond(st.tensor([[4.0, 0.0], [0.0, 2.0]])).tolist()
    2.0
    """
    needs_matrices("cond", x)
    if p not in (None, 2, -2):
        is_none = Equal()(items(Slogdet()(x))[0], 0)
        inverse = Inv()(Select()(matrix_of(is_none), identity(x.shape[-1], x), x))
        return Select()(is_none, math.inf, matrix_norm(x, ord=p) * matrix_norm(inverse, ord=p))
    s = Svdvals()(x)
    high, low = max(s, axis=-1), min(s, axis=-1)
    is_none = Equal()(high, 0)
    return Select()(is_none, math.inf, low / Select()(is_none, 1, high) if p == -2 else high / low)
