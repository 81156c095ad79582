"""Reflections of small matrices (Householder's), and the factors that they make: Golub and Van Loan, Matrix
Computations, chapter 5; signs are LAPACK's."""
from __future__ import annotations

import numpy as np

from stele.backend.contract.code import Number
from stele.backend.llvm.matrices.sheets import Sheet, Work, put
from stele.backend.llvm.scalars import Scalar
from stele.ops.factors import Qr


def least_normal(w: Work) -> float:
    """What may divide one without an overflow."""
    return float(np.finfo(w.dtype.numpy).tiny)


def reflector(w: Work, a: Sheet, i: Number, j: Number) -> Scalar:
    """Makes of column j from row i on a number on top of zeros, where the vector of the reflection is put instead, less
    its first element, a one; gives the factor of the reflection."""
    s, alpha, m = w.s, a[i, j], a.rows
    (top,) = w.fold(i + 1, m, [w.number(0)], lambda k, x: [s.max(x[0], abs(a[k, j]))])
    size = s.max(top, least_normal(w))
    scaled = w.over(size)

    def squares(k: Number, total: list[Scalar]) -> list[Scalar]:
        x = scaled(a[k, j])
        return [s.fma(x, x, total[0])]

    (total,) = w.fold(i + 1, m, [w.number(0)], squares)
    high = s.max(size, abs(alpha))
    first, rest = alpha / high, size / high
    beta = -w.signed(high * s.sqrt(s.fma(first, first, total * rest * rest)), alpha)
    is_done = top < least_normal(w)
    divided = w.over(s.select(is_done, 1, alpha - beta))
    w.each(i + 1, m, lambda k: put(a, k, j, divided(a[k, j])))
    a[i, j] = s.select(is_done, alpha, beta)
    return s.select(is_done, 0, (beta - alpha) / s.select(is_done, 1, beta))


def reflect(w: Work, a: Sheet, i: Number, j: Number, tau: Scalar, y: Sheet, start: Number) -> None:
    """Reflects the columns of y from `start` on by what `reflector` has put into column j of a."""
    def columns(c: Number, side: range) -> None:
        sums = w.plus([y[i, c + u] for u in side], i + 1, a.rows, lambda k: [(a[k, j], y[k, c + u]) for u in side])
        sums = [tau * x for x in sums]
        for u, x in zip(side, sums):
            y[i, c + u] = y[i, c + u] - x

        def row(k: Number) -> None:
            v = a[k, j]
            for u, x in zip(side, sums):
                y[k, c + u] = w.s.fma(-v, x, y[k, c + u])

        w.each(i + 1, a.rows, row)

    w.groups(start, y.columns, columns)


def triangular(w: Work, a: Sheet) -> Sheet:
    """Makes of a an upper triangular matrix above the vectors of reflections, whose factors it gives."""
    taus = w.sheet(1, min(a.rows, a.columns))

    def column(j: Number) -> None:
        taus[0, j] = tau = reflector(w, a, j, j)
        reflect(w, a, j, j, tau, a, j + 1)

    w.each(0, taus.columns, column)
    return taus


def orthogonal(w: Work, a: Sheet, taus: Sheet, y: Sheet) -> Sheet:
    """Makes of columns of the unit matrix those of the product of reflections."""
    w.back(0, taus.columns, lambda j: reflect(w, a, j, j, taus[0, j], y, j))
    return y


def qr(w: Work) -> None:
    """Orthonormal columns, and the triangular matrix that makes of them the operand."""
    op = w.v.op
    assert isinstance(op, Qr)
    a = w.given()
    taus = triangular(w, a)
    k = a.rows if op.complete else taus.columns
    w.result(orthogonal(w, a, taus, w.unit(a.rows, k)), 0)
    r = w.sheet(k, a.columns)
    w.each(0, k, lambda i: w.each(0, a.columns, lambda c: put(r, i, c, a[i, c])))
    w.each(0, a.columns, lambda c: w.each(c + 1, k, lambda i: put(r, i, c, w.number(0))))
    w.result(r, 1)
