"""Factors of matrices and what is solved with them, as loops over rows and columns whose number may be open.

Loops are unblocked: column by column as in Golub and Van Loan, Matrix Computations, 2013, chapters 3 to 5.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

from stele.interop.onnx.out.scope import Rule
from stele.ir.graph import Op, Value
from stele.ir.sizes import Dim
from stele.ops.along import take_along
from stele.ops.contraction import matmul
from stele.ops.control import scan
from stele.ops.diagonals import triu
from stele.ops.elementwise.arithmetic import Equal, NotEqual
from stele.ops.elementwise.binary import where
from stele.ops.elementwise.unary import absolute, log, sign, sqrt
from stele.ops.factors import Cholesky, Exchanged, Lu, Qr, columns, identity, left
from stele.ops.gather import Gather
from stele.ops.generate import iota
from stele.ops.lapack import Cofactors, Det, Inv, Slogdet, Solve, SolveTriangular, items, matrix_of
from stele.ops.linear import broadcast, cast, expand_dims, slice_axis, swap_last, transpose, zeros_like
from stele.ops.products import diagonal
from stele.ops.statistics import argmax, prod, sum


def down(v: Value) -> Value:
    """Numbers (..., m) as (..., m, 1), to meet the rows of matrices."""
    return expand_dims(v, (v.ndim,))


def row(x: Value, k: Value) -> Value:
    """Row k of matrices."""
    return Gather(x.ndim - 2)(x, k)


def column(x: Value, k: Value) -> Value:
    """Column k of matrices."""
    return Gather(x.ndim - 1)(x, k)


def element(v: Value, k: Value) -> Value:
    """Element k of vectors (..., n), as (..., 1)."""
    return down(Gather(v.ndim - 1)(v, k))


def looped(step: Any, start: tuple[Value, ...], length: Dim, reverse: bool = False) -> tuple[Any, Any]:
    """The last carries, and what is stacked, of `step(k, *carries)` for each k."""
    def one(carries: tuple[Value, ...], ks: tuple[Value, ...]) -> Any:
        return step(ks[0], *carries)

    return scan(one, start, (iota(length),), reverse=reverse)


def exchanged(v: Value) -> Value:
    """The order of rows after exchanges."""
    op: Any = v.op
    swaps = v.args[0]
    places = iota(op.n)
    order = (swaps.ndim - 1, *range(swaps.ndim - 1))

    def one(carries: tuple[Value, ...], given: tuple[Value, ...]) -> Any:
        (rows,), (k, p) = carries, given
        there = Equal()(places, down(p))
        other = down(sum(where(there, rows, 0), axis=-1))
        return (where(Equal()(places, k), other, where(there, element(rows, k), rows)),), ()

    start = broadcast(places, (*swaps.shape[:-1], op.n))
    return scan(one, (start,), (iota(swaps.shape[-1]), transpose(swaps, order)))[0][0]


def lu(v: Value) -> tuple[Value, ...]:
    """By columns, each with its largest element brought to the diagonal."""
    x = v.args[0]
    *_, m, n = x.shape
    down_to, across = iota(m), iota(n)

    def step(k: Value, a: Value) -> Any:
        size = absolute(column(a, k))
        p = argmax(where(down_to >= k, size, -1), axis=-1)
        here, there = down(Equal()(down_to, k)), Equal()(down_to, down(p))
        top = sum(where(down(there), a, 0), axis=-2)
        a = where(here, columns(top), where(down(there), columns(row(a, k)), a))
        pivot = element(top, k)
        factor = column(a, k) / where(Equal()(pivot, 0), 1, pivot)
        below = down(down_to > k)
        left = where(across > k, a - down(factor) * columns(top), where(Equal()(across, k), down(factor), a))
        return (where(below, left, a),), (p,)

    (a,), (swaps,) = looped(step, (x,), v.type.items[1].shape[-1])      # type: ignore[attr-defined]
    swaps = transpose(swaps, (*range(1, swaps.ndim), 0))
    return a, swaps, Exchanged(m)(swaps)


def solved(x: Value, b: Value) -> Value:
    """The y with x @ y = b: the rows of b in the order of the pivots, through both triangles."""
    a, _, rows = items(Lu()(x))
    return left(a, left(a, take_along(b, broadcast(down(rows), b.shape), -2), unit=True), lower=False)


def solve(v: Value) -> Value:
    """Through the factors of one operand."""
    x, b = v.args
    return solved(x, b)


def triangular(v: Value) -> Value:
    """By rows, each with what those before it gave."""
    op: Any = v.op
    a, b = v.args
    places = iota(a.shape[-1])

    def step(k: Value, y: Value) -> Any:
        line = row(a, k)
        known = where(places < k if op.lower else places > k, line, 0)
        rest = row(b, k) - slice_first(matmul(columns(known), y))
        new = rest if op.unit else rest / element(line, k)
        return (where(down(Equal()(places, k)), columns(new), y),), ()

    return looped(step, (zeros_like(b),), a.shape[-1], reverse=not op.lower)[0][0]


def slice_first(x: Value) -> Value:
    """The one row of matrices (..., 1, n)."""
    return sum(x, axis=-2)


def cholesky(v: Value) -> Value:
    """By columns; NaN where a matrix is not positive definite."""
    op: Any = v.op
    (x,) = v.args
    x = x if op.triangle == "L" else swap_last(x) if op.triangle == "U" else x * 0.5 + swap_last(x) * 0.5
    places = iota(x.shape[-1])

    def step(k: Value, y: Value) -> Any:
        rest = column(x, k) - sum(y * columns(row(y, k)), axis=-1)
        root = sqrt(element(rest, k))
        new = where(places > k, rest / root, where(Equal()(places, k), root, 0))
        return (where(Equal()(places, k), down(new), y),), ()

    return looped(step, (zeros_like(x),), x.shape[-1])[0][0]


def qr(v: Value) -> tuple[Value, Value]:
    """By reflections of columns, whose signs are LAPACK's."""
    (x,) = v.args
    *lead, m, _ = x.shape
    *_, k = v.type.items[0].shape       # type: ignore[attr-defined]
    places = iota(m)

    def step(k: Value, a: Value, q: Value) -> Any:
        line = column(a, k)
        head, tail = element(line, k), where(places > k, line, 0)
        rest = sum(tail * tail, axis=-1, keepdims=True)
        is_done = Equal()(rest, 0)
        end = where(head < 0, 1, -1) * sqrt(head * head + rest)
        by = where(is_done, 0, (end - head) / where(is_done, 1, end))
        mirror = where(Equal()(places, k), 1, tail / where(is_done, 1, head - end))
        a = a - down(by * mirror) * columns(sum(a * down(mirror), axis=-2))
        return (a, q - down(sum(q * columns(mirror), axis=-1)) * columns(by * mirror)), ()

    start = broadcast(identity(m, x), (*lead, m, m))
    (a, q), _ = looped(step, (x, start), least(v))
    return slice_axis(q, -1, 0, k), slice_axis(triu(a), -2, 0, k)


def least(v: Value) -> Dim:
    """How many columns of matrices are reflected: as many as the results of `Qr` have columns or rows."""
    q, r = v.type.items     # type: ignore[attr-defined]
    k, n = q.shape[-1], r.shape[-1]
    return k if isinstance(k, int) and isinstance(n, int) and k < n else n


def parity(swaps: Value, like: Value) -> Value:
    """-1 to the power of how many rows were exchanged for others, in the dtype of another value."""
    other = NotEqual()(swaps, iota(swaps.shape[-1]))
    return prod(cast(where(other, -1, 1), like.dtype), axis=-1)


def det(v: Value) -> Value:
    """The product of the pivots."""
    a, swaps, _ = items(Lu()(v.args[0]))
    return prod(diagonal(a), axis=-1) * parity(swaps, a)


def slogdet(v: Value) -> tuple[Value, Value]:
    """The sign of the product of the pivots, and the logarithm of its size."""
    a, swaps, _ = items(Lu()(v.args[0]))
    pivots = diagonal(a)
    return prod(sign(pivots), axis=-1) * parity(swaps, a), sum(log(absolute(pivots)), axis=-1)


def inv(v: Value) -> Value:
    """The solution for the unit matrix."""
    (x,) = v.args
    return solved(x, broadcast(identity(x.shape[-1], x), x.shape))


def cofactors(v: Value) -> Value:
    """Of matrices that have an inverse."""
    (x,) = v.args
    return swap_last(Inv()(x)) * matrix_of(Det()(x))


MEANINGS: dict[type[Op], Rule] = {
    Cholesky: cholesky, Cofactors: cofactors, Det: det, Exchanged: exchanged, Inv: inv, Lu: lu, Qr: qr,
    Slogdet: slogdet, Solve: solve, SolveTriangular: triangular,
}
