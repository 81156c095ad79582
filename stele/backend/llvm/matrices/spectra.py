"""Eigenvalues and singular values of small matrices, with their vectors.

Symmetric matrices become tridiagonal by reflections and diagonal by the implicit QL algorithm (Dubrulle, Martin and
Wilkinson, The implicit QL algorithm, 1968); others bidiagonal and diagonal (Golub and Reinsch, Singular value
decomposition and least squares solutions, 1970). Lanes go through the same passes until the last of them is done.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stele.backend.contract.code import Number
from stele.backend.llvm.matrices.orthogonal import least_normal, reflect, reflector
from stele.backend.llvm.matrices.sheets import Sheet, Work, put
from stele.backend.llvm.matrices.triangles import symmetric
from stele.backend.llvm.scalars import Scalar
from stele.ir.types import TupleType, int32, int64
from stele.ops.factors import CLEAR

PASSES = 60
"""At most so many for one eigenvalue or singular value: about two are enough."""


def epsilon(w: Work) -> float:
    return float(np.finfo(w.dtype.numpy).eps)


def scaled(w: Work, a: Sheet, lower: bool = False) -> Scalar:
    """Divides matrices by powers of two near their largest elements, which it gives; refuses NaN and infinities. Of
    `lower` ones the lower triangle alone is there."""
    s = w.s

    def row(i: Number, top: list[Scalar]) -> list[Scalar]:
        return w.fold(0, i + 1 if lower else a.columns, top, lambda k, x: [s.max(x[0], abs(a[i, k]))])

    (top,) = w.fold(0, a.rows, [w.number(0)], row)
    w.refuse(~(top < float("inf")), 1)
    word, digits = (int64, 52) if w.dtype.bits == 64 else (int32, 23)
    exponent = (s.bitcast(s.max(top, least_normal(w)), word) >> digits) << digits
    scale = s.bitcast(exponent, w.dtype)
    divided = w.over(scale)
    w.each(0, a.rows, lambda i: w.each(0, i + 1 if lower else a.columns, lambda k: put(a, i, k, divided(a[i, k]))))
    return scale


def tridiagonal(w: Work, a: Sheet, d: Sheet, e: Sheet) -> Sheet:
    """Makes of the lower triangle of symmetric matrices a diagonal, and one below it; gives factors of reflections."""
    n, s = a.rows, w.s
    taus, u, p = w.sheet(1, n), w.sheet(1, n), w.sheet(1, n)
    w.each(0, n, lambda j: w.each(j + 1, n, lambda i: put(a, j, i, a[i, j])))

    def column(j: Number) -> None:
        taus[0, j] = tau = reflector(w, a, j + 1, j)
        w.each(j + 1, n, lambda i: put(u, 0, i, a[i, j]))
        e[0, j] = a[j + 1, j]
        u[0, j + 1] = w.number(1)

        def rows(i: Number, side: range) -> None:
            sums = w.plus([w.number(0) for _ in side], j + 1, n, lambda k: [(a[i + r, k], u[0, k]) for r in side])
            for r, x in zip(side, sums):
                p[0, i + r] = tau * x

        def update(i: Number) -> None:
            x, y = u[0, i], p[0, i]

            def columns(k: Number, side: range) -> None:
                for r in side:
                    a[i, k + r] = s.fma(-x, p[0, k + r], s.fma(-y, u[0, k + r], a[i, k + r]))

            w.groups(j + 1, n, columns)

        w.groups(j + 1, n, rows)
        (both,) = w.plus([w.number(0)], j + 1, n, lambda k: [(p[0, k], u[0, k])])
        half = tau * both * 0.5
        w.each(j + 1, n, lambda k: put(p, 0, k, s.fma(-half, u[0, k], p[0, k])))
        w.each(j + 1, n, update)

    w.each(0, n - 1, column)
    w.each(0, n, lambda j: put(d, 0, j, a[j, j]))
    e[0, n - 1] = w.number(0)
    return taus


def length(w: Work, f: Scalar, g: Scalar) -> tuple[Scalar, Scalar]:
    """The length of (f, g), and whether it is next to nothing: less than what squares tell, of elements of about 1."""
    total = w.s.fma(f, f, g * g)
    return w.s.sqrt(total), total < least_normal(w) / epsilon(w)


def first_small(w: Work, d: Sheet, e: Sheet, k: Number) -> tuple[Scalar, Scalar]:
    """The first place from k on behind which a tridiagonal matrix falls apart, and the diagonal there."""
    s, n = w.s, d.columns

    def look(i: Number, found: list[Scalar]) -> list[Scalar]:
        where, there = found
        is_open = s.eq(where, n)
        size = abs(d[0, i]) + abs(d[0, i + 1])
        ends = is_open & (abs(e[0, i]) <= size * epsilon(w) + epsilon(w) ** 2)
        return [s.select(ends, w.integer(i), where), s.select(ends, d[0, i], there)]

    where, there = w.fold(k, n - 1, [w.integer(n), d[0, n - 1]], look)
    return s.select(s.eq(where, n), n - 1, where), there


def step(w: Work, d: Sheet, e: Sheet, k: Number, turns: tuple[Sheet, Sheet]) -> Scalar:
    """One pass of QL that makes e[k] small, and the rotations it takes; gives the lanes where it was not."""
    s, n = w.s, d.columns
    last, there = first_small(w, d, e, k)
    goes = last > w.integer(k)
    slope = s.select(goes, e[0, k], 1)
    g = (d[0, k + 1] - d[0, k]) / (slope * 2)
    root = s.sqrt(s.fma(g, g, w.number(1)))
    root = s.select(root < float("inf"), root, abs(g))
    g = there - d[0, k] + slope / (g + w.signed(root, g))

    def rotate(t: Number, carried: list[Scalar]) -> list[Scalar]:
        i = n - 2 - t
        sine, cosine, p, g, broken = carried
        runs = goes & (w.integer(i) < last) & s.eq(broken, 0)
        f, h = sine * e[0, i], cosine * e[0, i]
        r, is_zero = length(w, f, g)
        e[0, i + 1] = s.select(runs, r, e[0, i + 1])
        breaks, moves = runs & is_zero, runs & ~is_zero
        d[0, i + 1] = s.select(breaks, d[0, i + 1] - p, d[0, i + 1])
        inverse = 1 / s.select(is_zero, 1, r)
        sine, cosine = s.select(moves, f * inverse, sine), s.select(moves, g * inverse, cosine)
        q = d[0, i + 1] - p
        r = s.fma(d[0, i] - q, sine, cosine * h * 2)
        turns[0][0, i] = s.select(moves, cosine, 1)
        turns[1][0, i] = s.select(moves, sine, 0)
        next_p = s.select(moves, sine * r, p)
        d[0, i + 1] = s.select(moves, q + next_p, d[0, i + 1])
        g = s.select(moves, s.fma(cosine, r, -h), g)
        return [sine, cosine, next_p, g, s.select(breaks, 1, broken)]

    one = w.number(1)
    _, _, p, g, broken = w.fold(0, n - 1 - k, [one, one, w.number(0), g, w.number(0)], rotate)
    ends = goes & s.eq(broken, 0)
    d[0, k] = s.select(ends, d[0, k] - p, d[0, k])
    e[0, k] = s.select(ends, g, e[0, k])
    w.each(k, n, lambda i: put(e, 0, i, s.select(goes & s.eq(last, w.integer(i)), 0, e[0, i])))
    return goes


def turn(w: Work, z: Sheet, k: Number, turns: tuple[Sheet, Sheet]) -> None:
    """Rotates neighbouring columns of z, from the last pair to that at k."""
    n, s = z.columns, w.s

    def rows(i: Number, side: range) -> None:
        def pair(t: Number, held: list[Scalar]) -> list[Scalar]:
            c = n - 2 - t
            cosine, sine = turns[0][0, c], turns[1][0, c]
            left = [z[i + u, c] for u in side]
            for u, x, y in zip(side, left, held):
                z[i + u, c + 1] = s.fma(sine, x, cosine * y)
            return [s.fma(cosine, x, -(sine * y)) for x, y in zip(left, held)]

        for u, x in zip(side, w.fold(0, n - 1 - k, [z[i + u, n - 1] for u in side], pair)):
            z[i + u, k] = x

    w.groups(0, z.rows, rows)


def in_order(w: Work, d: Sheet, descending: bool, *others: Sheet) -> None:
    """Sorts numbers, whose rows in `others` go along."""
    s = w.s

    def place(k: Number) -> None:
        def better(i: Number, best: list[Scalar]) -> list[Scalar]:
            x, (top, where) = d[0, i], best
            is_better = x > top if descending else x < top
            return [s.select(is_better, x, top), s.select(is_better, w.integer(i), where)]

        _, where = w.fold(k + 1, d.columns, [d[0, k], w.integer(k)], better)
        for x in (d.mT, *others):
            w.exchange(x, k, where)

    w.each(0, d.columns, place)


def upright(w: Work, z: Sheet, *others: Sheet) -> None:
    """Gives each row, and that of `others`, the sign with which the first of its large elements is above 0."""
    s = w.s

    def row(k: Number) -> None:
        (top,) = w.fold(0, z.columns, [w.number(0)], lambda i, x: [s.max(x[0], abs(z[k, i]))])

        def look(t: Number, found: list[Scalar]) -> list[Scalar]:
            x = z[k, z.columns - 1 - t]
            return [s.select(abs(x) >= top * CLEAR, x, found[0])]

        (first,) = w.fold(0, z.columns, [top], look)
        sign = w.signed(w.number(1), first)
        for x in (z, *others):
            w.each(0, x.columns, lambda i, x=x: put(x, k, i, x[k, i] * sign))   # type: ignore[misc]

    w.each(0, z.rows, row)


def eigh(w: Work) -> None:
    """Eigenvalues, ascending, and where they are asked for eigenvectors, as columns."""
    a, has_vectors = symmetric(w), isinstance(w.v.type, TupleType)
    n = a.rows
    d, e, turns = w.sheet(1, n), w.sheet(1, n), (w.sheet(1, n), w.sheet(1, n))
    scale = scaled(w, a, lower=True)
    taus = tridiagonal(w, a, d, e)
    z = w.unit(n, n) if has_vectors else None
    if z:
        w.back(0, n - 1, lambda j: reflect(w, a, j + 1, j, taus[0, j], z, j + 1))

    def value(k: Number) -> None:
        def once() -> Scalar:
            goes = step(w, d, e, k, turns)
            if z:
                with w.where(goes):
                    turn(w, z, k, turns)
            return goes

        w.refuse(w.again(PASSES, once))

    w.each(0, n - 1, value)
    in_order(w, d, False, *([z.mT] if z else []))
    w.each(0, n, lambda k: put(d, 0, k, d[0, k] * scale))
    if not z:
        w.result(d)
        return
    upright(w, z.mT)
    w.result(d, 0)
    w.result(z, 1)


def bidiagonal(w: Work, a: Sheet, d: Sheet, e: Sheet) -> tuple[Sheet, Sheet]:
    """Makes of matrices that are not wider than high a diagonal d, and what is above d[k] in e[k]; gives factors of
    reflections of columns and of rows, whose vectors stay in a."""
    n, taus = a.columns, (w.sheet(1, a.columns), w.sheet(1, a.columns))

    def column(j: Number) -> None:
        taus[0][0, j] = tau = reflector(w, a, j, j)
        reflect(w, a, j, j, tau, a, j + 1)
        d[0, j] = a[j, j]

    def both(j: Number) -> None:
        column(j)
        taus[1][0, j] = tau = reflector(w, a.mT, j + 1, j)
        reflect(w, a.mT, j + 1, j, tau, a.mT, j + 1)
        e[0, j + 1] = a[j, j + 1]

    w.each(0, n - 1, both)
    column(n - 1)
    e[0, 0] = e[0, n] = w.number(0)
    return taus


def shifted(w: Work, d: Sheet, e: Sheet, k: Number, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """What the first rotation of a pass turns to zero: x**2 - shift and x * y, for the eigenvalue of the last square of
    the product with the transpose that is nearer to its corner."""
    s, last, above, beside = w.s, d[0, k], d[0, k - 1], e[0, k]
    corner, b = s.fma(last, last, beside * beside), above * beside
    delta = (s.fma(above, above, e[0, k - 1] * e[0, k - 1]) - corner) * 0.5
    under = abs(delta) + s.sqrt(s.fma(delta, delta, b * b))
    shift = corner - w.signed(b * b / s.select(s.eq(under, 0), 1, under), delta)
    return x * x - shift, x * y


def turning(w: Work, f: Scalar, g: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Cosine and sine of the rotation that makes (f, g) to (r, 0), and r."""
    s, (r, is_zero) = w.s, length(w, f, g)
    inverse = 1 / s.select(is_zero, 1, r)
    return s.select(is_zero, 1, f * inverse), s.select(is_zero, 0, g * inverse), s.select(is_zero, f, r)


def chase(w: Work, d: Sheet, e: Sheet, k: Number, small: Scalar, turns: Sequence[Sheet]) -> Scalar:
    """One pass of Golub and Kahan's algorithm that makes e[k] small, and the rotations of columns and of rows it takes;
    gives the lanes where it was not. (Golub and Van Loan, Matrix Computations, algorithm 8.6.2.) Where a number on the
    diagonal is next to nothing, so is a singular value, which is found without a shift: with one such a pass may turn
    nothing. (Demmel and Kahan, Accurate singular values of bidiagonal matrices, 1990.)"""
    s = w.s

    def look(i: Number, found: list[Scalar]) -> list[Scalar]:
        begins, is_flat = abs(e[0, i]) <= small, abs(d[0, i]) <= small
        return [s.select(begins, w.integer(i), found[0]), s.select(is_flat, 1, s.select(begins, 0, found[1]))]

    first, flat = w.fold(0, k + 1, [w.integer(0), w.number(0)], look)
    goes, is_flat = first < w.integer(k), ~s.eq(flat, 0)

    def rotate(i: Number, carried: list[Scalar]) -> list[Scalar]:
        runs, begins = goes & (w.integer(i) >= first), s.eq(first, w.integer(i))
        x, y = d[0, i], e[0, i + 1]
        f, g = (s.select(begins, s.select(is_flat, plain, new), old)
                for plain, new, old in zip((x, y), shifted(w, d, e, k, x, y), carried))
        cosine, sine, r = turning(w, f, g)
        e[0, i] = s.select(runs & ~begins, r, e[0, i])
        z = d[0, i + 1]
        f, y, g, z = s.fma(cosine, x, sine * y), s.fma(cosine, y, -(sine * x)), sine * z, cosine * z
        turns[0][0, i], turns[1][0, i] = s.select(runs, cosine, 1), s.select(runs, sine, 0)
        cosine, sine, r = turning(w, f, g)
        turns[2][0, i], turns[3][0, i] = s.select(runs, cosine, 1), s.select(runs, sine, 0)
        d[0, i] = s.select(runs, r, x)
        f, z, next_e = s.fma(cosine, y, sine * z), s.fma(cosine, z, -(sine * y)), e[0, i + 2]
        d[0, i + 1] = s.select(runs, z, d[0, i + 1])
        e[0, i + 1] = s.select(runs, f, e[0, i + 1])
        e[0, i + 2] = s.select(runs, cosine * next_e, next_e)
        return [f, sine * next_e]

    w.fold(0, k, [w.number(0)] * 2, rotate)
    return goes


def swing(w: Work, z: Sheet, k: Number, cosines: Sheet, sines: Sheet) -> None:
    """Rotates neighbouring columns of z, from the first pair to that before k."""
    s = w.s

    def rows(i: Number, side: range) -> None:
        def pair(c: Number, held: list[Scalar]) -> list[Scalar]:
            cosine, sine, right = cosines[0, c], sines[0, c], [z[i + u, c + 1] for u in side]
            for u, x, y in zip(side, held, right):
                z[i + u, c] = s.fma(cosine, x, sine * y)
            return [s.fma(cosine, y, -(sine * x)) for x, y in zip(held, right)]

        for u, x in zip(side, w.fold(0, k, [z[i + u, 0] for u in side], pair)):
            z[i + u, k] = x

    w.groups(0, z.rows, rows)


def singular(w: Work, d: Sheet, e: Sheet, vectors: Sequence[Sheet]) -> None:
    """Makes of d and e singular values in d, of either sign; columns of `vectors`, v and u, are turned with them."""
    s, n, turns = w.s, d.columns, [w.sheet(1, d.columns) for _ in range(4)]
    (top,) = w.fold(0, n, [w.number(0)], lambda i, x: [s.max(x[0], abs(d[0, i]) + abs(e[0, i]))])
    small = top * epsilon(w)

    def value(k: Number) -> None:
        def once() -> Scalar:
            goes = chase(w, d, e, k, small, turns)
            if vectors:
                with w.where(goes):
                    for z, both in zip(vectors, (turns[:2], turns[2:])):
                        swing(w, z, k, *both)
            return goes

        w.refuse(w.again(PASSES, once))

    w.back(1, n, value)


def svd(w: Work) -> None:
    """Singular values, descending, and where they are asked for the vectors on both sides."""
    x, has_vectors = w.given(), isinstance(w.v.type, TupleType)
    scale, is_tall = scaled(w, x), x.rows >= x.columns
    a = x if is_tall else x.mT
    n = a.columns
    d, e = w.sheet(1, n), w.sheet(1, n + 1)
    left, right = bidiagonal(w, a, d, e)
    v, u = (w.unit(n, n).mT, w.unit(a.rows, n)) if is_tall else (w.unit(n, n), w.unit(n, a.rows).mT)
    if has_vectors:
        w.back(0, n, lambda j: reflect(w, a, j, j, left[0, j], u, j))
        w.back(0, n - 1, lambda j: reflect(w, a.mT, j + 1, j, right[0, j], v, j + 1))
    singular(w, d, e, (v, u) if has_vectors else ())

    def positive(k: Number) -> None:
        sign = w.signed(w.number(1), d[0, k])
        d[0, k] = abs(d[0, k]) * scale
        w.each(0, n if has_vectors else 0, lambda i: put(v, i, k, v[i, k] * sign))

    w.each(0, n, positive)
    in_order(w, d, True, *((v.mT, u.mT) if has_vectors else ()))
    w.result(d, 1 if has_vectors else None)
    if has_vectors:
        u, v = (u, v) if is_tall else (v, u)
        upright(w, u.mT, v.mT)
        w.result(u, 0)
        w.result(v.mT, 2)
