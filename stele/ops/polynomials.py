"""Polynomials as rows of coefficients, the highest power first, as NumPy's poly functions have them."""
from __future__ import annotations

from functools import reduce
from typing import Any

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import float32, int64, number_of, promote, show, uint64
from stele.ops.arguments import times, whole
from stele.ops.contraction import matmul
from stele.ops.elementwise.arithmetic import Equal
from stele.ops.elementwise.unary import sqrt, square
from stele.ops.generate import iota
from stele.ops.joining import concatenate, stack
from stele.ops.linalg import eigvals, pinv
from stele.ops.linear import cast, expand_dims, flip, full, pad_axis, reshape, slice_axis, zeros_like
from stele.ops.quantiles import convolve
from stele.ops.statistics import sum


def coefficients(p: Value, name: str) -> Value:
    """The coefficients of a polynomial as a row; a number is a polynomial of one. Raises ShapeError for more axes."""
    if p.ndim > 1:
        raise ShapeError(f"{name} needs the coefficients of a polynomial in a row, got {show(p.shape)}")
    return p if p.ndim else reshape(p, (1,))


def polyval(p: Value, x: Value) -> Value:
    """The values at x of the polynomial with the coefficients `p` (n,), the highest power first, by Horner's rule.

    x has any shape; dtypes meet as in `add`. Raises ShapeError where p is no row.

    >>> st.polyval(st.tensor([1, 0, 2]), st.tensor([0, 3])).tolist()
    [2, 11]
    """
    p = coefficients(p, "polyval")
    parts = [reshape(slice_axis(p, 0, k, 1), ()) for k in range(number_of(p.shape[0]))]
    return reduce(lambda y, c: y * x + c, parts, zeros_like(x))


def polyadd(p: Value, q: Value) -> Value:
    """The coefficients of the sum of two polynomials `p` and `q`.

    Both are rows, the highest power first; dtypes meet as in `add`. Raises ShapeError for other shapes than rows.

    >>> st.polyadd(st.tensor([1, 2]), st.tensor([9, 5, 4])).tolist()
    [9, 6, 6]
    """
    p, q = coefficients(p, "polyadd"), coefficients(q, "polyadd")
    n = max(number_of(p.shape[0]), number_of(q.shape[0]))
    p, q = (pad_axis(v, 0, n - number_of(v.shape[0]), 0) for v in (p, q))
    return p + q


def polysub(p: Value, q: Value) -> Value:
    """The coefficients of the difference of two polynomials `p` and `q`.

    Both are rows, the highest power first; dtypes meet as in `subtract`. Raises ShapeError for other shapes than rows,
    DTypeError for bools.

    >>> st.polysub(st.tensor([2, 10]), st.tensor([1, 1])).tolist()
    [1, 9]
    """
    return polyadd(coefficients(p, "polysub"), -cast(coefficients(q, "polysub"), promote(p.dtype, q.dtype)))


def polymul(p: Value, q: Value) -> Value:
    """The coefficients of the product of two polynomials `p` and `q`.

    Both are rows, the highest power first; dtypes meet as in `multiply`. Raises ShapeError for other shapes than rows
    of 1 coefficient or more.

    >>> st.polymul(st.tensor([1, 2]), st.tensor([1, 3])).tolist()
    [1, 5, 6]
    """
    return convolve(coefficients(p, "polymul"), coefficients(q, "polymul"))


def polydiv(p: Value, q: Value) -> tuple[Value, Value]:
    """The coefficients of the quotient and of the remainder of two polynomials `p` and `q`. Integers become float32.

    Both are rows, the highest power first. The remainder has one coefficient less than q, of which NumPy drops those
    that are 0 in front. Raises ShapeError for other shapes than rows of 1 coefficient or more.

    >>> [v.tolist() for v in st.polydiv(st.tensor([3.0, 5.0, 2.0]), st.tensor([2.0, 1.0]))]
    [[1.5, 1.75], [0.25]]
    """
    dtype = promote(p.dtype, q.dtype)
    p, q = (cast(coefficients(v, "polydiv"), dtype if dtype.is_float else float32) for v in (p, q))
    m, n, found = number_of(p.shape[0]), number_of(q.shape[0]), list[Value]()
    if not (m and n):
        raise ShapeError(f"polydiv needs a coefficient or more, got {m} and {n}")
    for left in range(m - 1, n - 2, -1):
        found.append(slice_axis(p, 0, 0, 1) / slice_axis(q, 0, 0, 1))
        p = slice_axis(p - pad_axis(found[-1] * q, 0, 0, left + 1 - n), 0, 1, left)
    none = full((1,), 0, p.dtype)
    return concatenate(found or [none]), p if number_of(p.shape[0]) else none


def polyder(p: Value, *, m: int = 1) -> Value:
    """The coefficients of derivative number `m` of the polynomial `p`.

    p is a row, the highest power first, and its dtype stays. Raises ShapeError for other shapes and a negative m.

    >>> st.polyder(st.tensor([1, 1, 1, 1])).tolist()
    [3, 2, 1]
    """
    p = coefficients(p, "polyder")
    for _ in range(times(m, "m of polyder")):
        n = number_of(p.shape[0])
        p = slice_axis(p, 0, 0, n - 1) * flip(iota(n - 1) + 1, (0,)) if n > 1 else slice_axis(p, 0, 0, 0)
    return p


def polyint(p: Value, *, m: int = 1, k: float = 0) -> Value:
    """The coefficients of the `m`-fold integral of the polynomial `p`, with constants `k`. Integers become float32.

    p is a row, the highest power first. Raises ShapeError for other shapes and a negative m.

    >>> st.polyint(st.tensor([3.0, 2.0, 1.0])).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    p = coefficients(p if p.dtype.is_float else cast(p, float32), "polyint")
    for _ in range(times(m, "m of polyint")):
        n = number_of(p.shape[0])
        p = concatenate([p / flip(iota(n) + 1, (0,)), full((1,), k, p.dtype)])
    return p


def poly(x: Value) -> Value:
    """The coefficients of the polynomial whose zeros are x (n,), or the eigenvalues of a matrix x (n, n), 1 first.

    Of whole numbers they are float32. Raises ShapeError for other shapes, DTypeError for bools.

    >>> st.poly(st.tensor([1.0, 2.0])).tolist()
    [1.0, -3.0, 2.0]
    """
    zeros = eigvals(x) if x.ndim == 2 else coefficients(x, "poly")
    zeros = cast(zeros, float32) if zeros.dtype.kind in "iu" else zeros
    one = full((1,), 1, zeros.dtype)
    parts = [slice_axis(zeros, 0, k, 1) for k in range(number_of(zeros.shape[0]))]
    return reduce(lambda p, zero: convolve(p, concatenate([one, -zero])), parts, one)


def roots(p: Value) -> Value:
    """The zeros of the polynomial with the coefficients `p` (n + 1,), complex, as eigenvalues of its companion matrix.

    The first coefficient is to be other than 0. Raises ShapeError for fewer than two.

    >>> st.sort(st.real(st.roots(st.tensor([1.0, -3.0, 2.0])))).tolist()
    [1.0, 2.0]
    """
    n = number_of(p.shape[0]) - 1 if p.ndim == 1 else 0
    if n < 1:
        raise ShapeError(f"roots needs a row of two coefficients or more, got {show(p.shape)}")
    p = p if p.dtype.is_float else cast(p, float32)
    top = reshape(-slice_axis(p, 0, 1, n) / slice_axis(p, 0, 0, 1), (1, n))
    below = cast(Equal()(reshape(iota(n - 1), (-1, 1)), iota(n)), p.dtype)
    return eigvals(concatenate([top, below]))


def vander(x: Value, *, n: int | None = None, increasing: bool = False) -> Value:
    """The powers of the elements of a row x (k,) as columns (k, `n`), square without n: the highest first.

    With `increasing` the 0th first. In the dtype of x, of integers and bools in int64. Raises ShapeError where x is no
    row, and for a negative n.

    >>> st.vander(st.tensor([1, 2, 3]), 3).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    if x.ndim != 1:
        raise ShapeError(f"vander needs a row, got {show(x.shape)}")
    x = x if x.dtype.is_float or x.dtype == uint64 else cast(x, int64)
    many: int = number_of(x.shape[0]) if n is None else times(n, "n of vander")
    if not many:
        return full((x.shape[0], 0), 0, x.dtype)
    columns = [full(x.shape, 1, x.dtype)]
    while len(columns) < many:
        columns.append(columns[-1] * x)
    return stack(columns if increasing else columns[::-1], axis=1)


def polyfit(x: Value, y: Value, deg: int, *, w: Value | None = None) -> Value:
    """The coefficients (`deg` + 1,), or (deg + 1, k) of y (n, k), of the polynomial of this degree nearest to y at x.

    In the sum of squares, in which each difference is first multiplied by its `w`; by the pseudo-inverse of a scaled
    Vandermonde matrix. Integers become float32. Raises ShapeError unless x is a row as long as y, and w too.

    >>> c = st.polyfit(st.tensor([0.0, 1.0, 2.0, 3.0]), st.tensor([1.0, 3.0, 5.0, 7.0]), 1)
    >>> [round(n, 3) for n in c.tolist()]
    [2.0, 1.0]
    """
    dtype = promote(x.dtype, y.dtype)
    x, y = (cast(v, dtype if dtype.is_float else float32) for v in (x, y))
    if y.ndim not in (1, 2):
        raise ShapeError(f"polyfit needs y (n,) or (n, k), got {show(y.shape)}")
    a = vander(x, n=whole(deg, "deg of polyfit", 0) + 1)
    if w is not None:
        a, y = a * reshape(w, (-1, 1)), y * (reshape(w, (-1, 1)) if y.ndim == 2 else w)
    scale = sqrt(sum(square(a), axis=0))
    made: Any = matmul(pinv(a / scale), y if y.ndim == 2 else expand_dims(y, (1,))) / reshape(scale, (-1, 1))
    return made if y.ndim == 2 else reshape(made, (-1,))
