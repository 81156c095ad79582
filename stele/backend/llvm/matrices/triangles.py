"""Triangular factors of small matrices, what they solve, and determinants."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from stele.backend.contract.code import Number
from stele.backend.llvm.matrices.sheets import Sheet, Work, lay, put
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
    """The lower triangular factor of symmetric matrices, by blocks of columns; in place where rows are in order."""
    x, n, s = symmetric(w), int(w.v.shape[-1]), w.s
    a = x if x.apart[1] == 1 else w.sheet(n, n)

    def block(j: Number, wide: range) -> None:
        corner, inverse, bad = w.tile(x, (j, wide), (j, wide), a, a.mT, 0, j), list[Scalar](), w.number(0) > 0

        def divide(row: list[Scalar], v: int) -> None:
            for p in range(v):
                row[v] = s.fma(-row[p], corner[v][p], row[v])
            row[v] = row[v] * inverse[v]

        for v in wide:
            for p in range(v):
                corner[v][v] = s.fma(-corner[v][p], corner[v][p], corner[v][v])
            bad = bad | (corner[v][v] <= 0)
            corner[v][v] = s.sqrt(corner[v][v])
            inverse.append(1 / corner[v][v])
            for u in wide[v + 1:]:
                divide(corner[u], v)
                a[j + v, j + u] = w.number(0)
        w.refuse(bad)
        for u in wide:
            lay(a, j + u, j, [corner[u][:u + 1]])

        def below(i: Number, side: range) -> None:
            found = w.tile(x, (i, side), (j, wide), a, a.mT, 0, j)
            for u, row in zip(side, found):
                for v in wide:
                    divide(row, v)
                    a[j + v, i + u] = w.number(0)
            lay(a, i, j, found)

        w.blocks(j + len(wide), n, below)

    w.blocks(0, n, block)
    w.result(a)


def eliminate(w: Work, a: Sheet, *others: Sheet) -> Sheet:
    """Makes of a what `Lu` does, by Crout's order and partial pivoting, block by block of columns; gives the row that
    each row was exchanged for. Rows of `others` go along."""
    s, swaps = w.s, w.sheet(1, min(a.rows, a.columns), int64)

    def better(x: Scalar, i: Number, best: list[Scalar]) -> list[Scalar]:
        top, where = best
        is_better = abs(x) > top
        return [s.select(is_better, abs(x), top), s.select(is_better, w.integer(i), where)]

    def column(j: Number, rest: int, where: Scalar) -> Scalar:
        """Divides column j by its pivot, and takes it from the `rest` of its block; gives where the next pivot is."""
        for x in (a, *others):
            w.exchange(x, j, where)
        swaps[0, j] = where
        pivot = a[j, j]
        divided, ahead = w.over(s.select(s.eq(pivot, 0), 1, pivot)), [a[j, j + k] for k in range(1, rest + 1)]

        def row(i: Number, best: list[Scalar]) -> list[Scalar]:
            a[i, j] = factor = divided(a[i, j])
            made = [s.fma(-factor, x, a[i, j + k]) for k, x in enumerate(ahead, 1)]
            lay(a, i, j + 1, [made])
            return better(made[0], i, best) if made else best

        return w.fold(j + 1, a.rows, [w.number(-1), w.integer(j + 1)], row)[1]

    def block(j: Number, wide: range) -> None:
        w.blocks(j, a.rows, lambda i, side: lay(a, i, j, w.tile(a, (i, side), (j, wide), a, a, 0, j)))
        _, where = w.fold(j, a.rows, [w.number(-1), w.integer(j)], lambda i, best: better(a[i, j], i, best))
        for v in wide:
            where = column(j + v, wide[-1] - v, where)

        def right(c: Number, across: range) -> None:
            found = w.tile(a, (j, wide), (c, across), a, a, 0, j)
            solved(w, a, j, found, True, None)
            lay(a, j, c, found)

        w.blocks(j + len(wide), a.columns, right)

    w.blocks(0, swaps.columns, block)
    return swaps


def solved(w: Work, a: Sheet, i: Number, block: list[list[Scalar]], lower: bool,
           divided: Sequence[Callable[[Scalar], Scalar]] | None) -> None:
    """Makes of a block the solution of the triangular system that begins at a[i, i]."""
    side = range(len(block))
    for u in side if lower else reversed(side):
        for p in side[:u] if lower else side[u + 1:]:
            factor = a[i + u, i + p]
            block[u] = [w.s.fma(-factor, x, y) for x, y in zip(block[p], block[u])]
        if divided:
            block[u] = [divided[u](x) for x in block[u]]


def substitute(w: Work, a: Sheet, y: Sheet, lower: bool, unit: bool) -> None:
    """Makes of y the solution of a @ x = y, for triangular a."""
    def rows(i: Number, side: range) -> None:
        start, stop = (0, i) if lower else (i + len(side), a.rows)
        divided = None if unit else [w.over(a[i + u, i + u]) for u in side]

        def columns(c: Number, wide: range) -> None:
            found = w.tile(y, (i, side), (c, wide), a, y, start, stop)
            solved(w, a, i, found, lower, divided)
            lay(y, i, c, found)

        w.blocks(0, y.columns, columns)

    w.blocks(0, a.rows, rows, back=not lower)


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
