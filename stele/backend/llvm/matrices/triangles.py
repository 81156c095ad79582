"""Triangular factors of small matrices, what they solve, and determinants."""
from __future__ import annotations

from stele.backend.contract.code import Number
from stele.backend.llvm.matrices.sheets import Sheet, Work, put
from stele.backend.llvm.scalars import Scalar
from stele.ir.types import int64
from stele.ops.factors import Symmetric
from stele.ops.lapack import SolveTriangular


def symmetric(w: Work) -> Sheet:
    """The operand as matrices whose lower triangle is that of symmetric ones."""
    op = w.v.op
    assert isinstance(op, Symmetric)
    a = w.given()
    if op.triangle == "both":
        w.each(0, a.rows, lambda j: w.each(j + 1, a.rows, lambda i: put(a, i, j, a[i, j] * 0.5 + a[j, i] * 0.5)))
    return a.mT if op.triangle == "U" else a


def cholesky(w: Work) -> None:
    """The lower triangular factor of symmetric matrices, column by column."""
    x, a, s = symmetric(w), w.sheet(n := int(w.v.shape[-1]), n), w.s

    def column(j: Number) -> None:
        (d,) = w.less([x[j, j]], 0, j, lambda k: [(a[j, k], a[j, k])])
        w.refuse(d <= 0)
        root = s.sqrt(d)
        inverse = 1 / root

        def rows(i: Number, side: range) -> None:
            found = w.less([x[i + u, j] for u in side], 0, j, lambda k: [(a[i + u, k], a[j, k]) for u in side])
            for u, total in zip(side, found):
                a[i + u, j] = total * inverse
                a[j, i + u] = w.number(0)

        w.groups(j + 1, a.rows, rows)
        a[j, j] = root

    w.each(0, a.rows, column)
    w.result(a)


def eliminate(w: Work, a: Sheet, *others: Sheet) -> Sheet:
    """Makes of a what `Lu` does, by Crout's order and partial pivoting; gives the row that each row was exchanged for.
    Rows of `others` go along."""
    s, swaps = w.s, w.sheet(1, min(a.rows, a.columns), int64)

    def step(j: Number) -> None:
        def below(i: Number, side: range) -> None:
            found = w.less([a[i + u, j] for u in side], 0, j, lambda k: [(a[i + u, k], a[k, j]) for u in side])
            for u, x in zip(side, found):
                a[i + u, j] = x

        def larger(i: Number, best: list[Scalar]) -> list[Scalar]:
            x, (top, where) = abs(a[i, j]), best
            return [s.select(x > top, x, top), s.select(x > top, w.integer(i), where)]

        def right(c: Number, side: range) -> None:
            found = w.less([a[j, c + u] for u in side], 0, j, lambda k: [(a[j, k], a[k, c + u]) for u in side])
            for u, x in zip(side, found):
                a[j, c + u] = x

        w.groups(j, a.rows, below)
        _, where = w.fold(j + 1, a.rows, [abs(a[j, j]), w.integer(j)], larger)
        for x in (a, *others):
            w.exchange(x, j, where)
        swaps[0, j] = where
        pivot = a[j, j]
        divided = w.over(s.select(s.eq(pivot, 0), 1, pivot))
        w.each(j + 1, a.rows, lambda i: put(a, i, j, divided(a[i, j])))
        w.groups(j + 1, a.columns, right)

    w.each(0, swaps.columns, step)
    return swaps


def substitute(w: Work, a: Sheet, y: Sheet, lower: bool, unit: bool) -> None:
    """Makes of y the solution of a @ x = y, for triangular a."""
    n = a.rows

    def row(i: Number) -> None:
        start, stop = (0, i) if lower else (i + 1, n)
        divided = None if unit else w.over(a[i, i])

        def columns(c: Number, side: range) -> None:
            found = w.less([y[i, c + u] for u in side], start, stop, lambda k: [(a[i, k], y[k, c + u]) for u in side])
            for u, x in zip(side, found):
                y[i, c + u] = divided(x) if divided else x

        w.groups(0, y.columns, columns)

    (w.each if lower else w.back)(0, n, row)


def refuse_singular(w: Work, a: Sheet) -> None:
    """The program ends where a zero stands on a diagonal."""
    w.each(0, a.rows, lambda j: w.refuse(w.s.eq(a[j, j], 0)))


def solve(w: Work) -> None:
    """The solutions of systems, or inverses: those of unit matrices as right sides."""
    a = w.given()
    y = w.given(1) if len(w.v.args) > 1 else w.unit(a.rows, a.rows)
    eliminate(w, a, y)
    refuse_singular(w, a)
    substitute(w, a, y, lower=True, unit=True)
    substitute(w, a, y, lower=False, unit=False)
    w.result(y)


def solve_triangular(w: Work) -> None:
    """The solutions of triangular systems."""
    op = w.v.op
    assert isinstance(op, SolveTriangular)
    a, y = w.given(), w.given(1)
    if not op.unit:
        refuse_singular(w, a)
    substitute(w, a, y, op.lower, op.unit)
    w.result(y)


def lu(w: Work) -> None:
    """The factors, the exchanges, and the order of rows that they leave."""
    a = w.given()
    rows = w.sheet(a.rows, 1, int64)
    w.each(0, a.rows, lambda i: put(rows, i, 0, w.integer(i)))
    swaps = eliminate(w, a, rows)
    for k, y in enumerate((a, swaps, rows)):
        w.result(y, k)


def odd(w: Work, swaps: Sheet, j: Number) -> Scalar:
    """Whether row j was exchanged for another one."""
    return w.s.ne(swaps[0, j], w.integer(j))


def logarithm(w: Work, a: Sheet, swaps: Sheet) -> tuple[Scalar, Scalar]:
    """The sign of a determinant and the logarithm of its absolute value, of factors."""
    s = w.s

    def factor(j: Number, total: list[Scalar]) -> list[Scalar]:
        x, (sign, size) = a[j, j], total
        turn = s.select(s.eq(x, 0), 0.0, s.select(x < 0, -sign, sign))
        return [s.select(odd(w, swaps, j), -turn, turn), size + s.log(abs(x))]

    sign, size = w.fold(0, a.rows, [w.number(1), w.number(0)], factor)
    return s.select(s.ne(size, size), size, sign), size


def slogdet(w: Work) -> None:
    """Signs and logarithms of absolute values of determinants."""
    a = w.given()
    swaps = eliminate(w, a)
    for k, x in enumerate(logarithm(w, a, swaps)):
        y = w.sheet(1, 1)
        y[0, 0] = x
        w.result(y, k)


def det(w: Work) -> None:
    """Determinants: products, and where those leave the range of the dtype on the way, by logarithms."""
    a, y, s = w.given(), w.sheet(1, 1), w.s
    swaps = eliminate(w, a)

    def factor(j: Number, total: list[Scalar]) -> list[Scalar]:
        x = total[0] * a[j, j]
        return [s.select(odd(w, swaps, j), -x, x)]

    def slow() -> Scalar:
        sign, size = logarithm(w, a, swaps)
        return sign * s.exp(size)

    (x,) = w.fold(0, a.rows, [w.number(1)], factor)
    y[0, 0] = s.rare(s.eq(x, 0) | ~(abs(x) < float("inf")), slow, x)
    w.result(y)


def cofactors(w: Work) -> None:
    """Cofactors, of singular matrices too: of factors with pivots from all that is left, the last of which may be 0."""
    a, s, n = w.given(), w.s, int(w.v.shape[-1])
    y, product, swaps = w.unit(n, n).mT, w.sheet(1, 1), w.sheet(1, n, int64)
    product[0, 0] = w.number(1)

    def step(j: Number) -> None:
        def larger(i: Number, best: list[Scalar]) -> list[Scalar]:
            def across(k: Number, best: list[Scalar]) -> list[Scalar]:
                x, (top, *where) = abs(a[i, k]), best
                return [s.select(x > top, x, top), *(s.select(x > top, w.integer(p), q) for p, q in zip((i, k), where))]

            return w.fold(j, n, best, across)

        _, row, column = w.fold(j, n, [abs(a[j, j]), w.integer(j), w.integer(j)], larger)
        for x in (a, y):
            w.exchange(x, j, row)
        w.exchange(a.mT, j, column)
        swaps[0, j] = column
        is_odd = s.ne(row, w.integer(j)) ^ s.ne(column, w.integer(j))
        product[0, 0] = s.select(is_odd, -product[0, 0], product[0, 0])
        divided = w.over(s.select(s.eq(a[j, j], 0), 1, a[j, j]))

        def below(i: Number) -> None:
            factor = divided(a[i, j])
            a[i, j] = factor

            def columns(c: Number, side: range) -> None:
                for u in side:
                    a[i, c + u] = s.fma(-factor, a[j, c + u], a[i, c + u])

            w.groups(j + 1, n, columns)

        w.each(j + 1, n, below)

    w.each(0, n, step)
    w.each(0, n - 1, lambda j: put(product, 0, 0, product[0, 0] * a[j, j]))
    substitute(w, a, y, lower=True, unit=True)
    w.each(0, n - 1, lambda i: w.each(0, n, lambda c: put(y, i, c, y[i, c] * product[0, 0] * a[n - 1, n - 1])))
    w.each(0, n, lambda c: put(y, n - 1, c, y[n - 1, c] * product[0, 0]))
    w.each(0, n, lambda j: put(a, j, j, s.select(s.eq(a[j, j], 0), 1, a[j, j])))
    a[n - 1, n - 1] = w.number(1)
    substitute(w, a, y, lower=False, unit=False)
    w.back(0, n, lambda j: w.exchange(y, j, swaps[0, j]))
    w.result(y.mT)
