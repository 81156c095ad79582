"""Matrices as products of simpler ones, by LAPACK through NumPy: triangular and orthogonal factors, spectra."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np

from stele.errors import GraphError, ShapeError
from stele.ir.graph import Array, Value
from stele.ir.sizes import Dim
from stele.ir.types import TupleType, Type, below, float32, int64, same, show
from stele.ops.diagonals import tril, triu
from stele.ops.elementwise.arithmetic import Equal, Select
from stele.ops.gather import check_index, needs_index
from stele.ops.generate import Iota
from stele.ops.joining import concatenate
from stele.ops.lapack import Lapack, Solve, SolveTriangular, adjoint, items, plus, squares, substituted
from stele.ops.linear import broadcast, cast, expand_dims, pad_axis, slice_axis, transfer
from stele.ops.parts import conj, imag, real
from stele.ops.products import diagonal
from stele.ops.shaping import needs_matrices
from stele.ops.statistics import sum

CLEAR = 0.7     # of the largest element of a vector: what decides about its sign, whatever rounding does
PANEL = 16      # columns that are eliminated one after the other
SYMMETRIC = np.array([[4, 1, -0.5], [1, 3, 0.5], [-0.5, 0.5, 2]], np.float32)


def identity(n: Dim, like: Value) -> Value:
    """The unit matrix of the dtype and on the device of another value."""
    rows, columns = (Iota((n, n), axis, int64)() for axis in (0, 1))
    return transfer(cast(Equal()(rows, columns), like.dtype), like.type.device)


def columns(v: Value) -> Value:
    """Numbers (..., n) as (..., 1, n), to meet the columns of matrices."""
    return expand_dims(v, (v.ndim - 1,))


def spread(v: Value) -> Value:
    """Diagonal matrices."""
    return columns(v) * identity(v.shape[-1], v)


def reciprocals(x: Value) -> Value:
    """1 / x, and 0 where x is 0: what does not depend on the choice of a basis has no part there."""
    is_zero = Equal()(x, 0)
    return Select()(is_zero, 0.0, 1 / Select()(is_zero, 1.0, x))


def gaps(v: Value) -> Value:
    """1 / (v_j - v_i), and 0 where they are equal."""
    return reciprocals(columns(v) - expand_dims(v, (v.ndim,)))


def symmetric(x: Value) -> Value:
    """Half the sum of matrices and their transposes."""
    return (x + adjoint(x)) * 0.5


class Symmetric(Lapack):
    """An op on symmetric matrices, of which one triangle is read, "L" or "U", or the symmetric part of any, "both".

    Derivatives are those among symmetric matrices: of "both" they are those of x.
    """

    triangle: str

    def whole(self, x: Array) -> Array:
        """Matrices whose lower triangle is that of the symmetric ones; halves of what is added do not overflow."""
        if self.triangle == "L":
            return x
        turned = np.conj(x.swapaxes(-1, -2))
        return turned if self.triangle == "U" else x / 2 + turned / 2


def upright(x: Array) -> Array:
    """The signs with which the first large element of each column is above 0; of complex numbers as it is."""
    if x.dtype.kind == "c" or not x.size:
        return np.ones((*x.shape[:-2], 1, x.shape[-1]), x.dtype)
    size = np.abs(x)
    first = (size >= CLEAR * size.max(-2, keepdims=True)).argmax(-2, keepdims=True)
    return np.where(np.take_along_axis(x, first, -2) < 0, -1, 1).astype(x.dtype)


def lower_half(x: Value) -> Value:
    """The lower triangle with half of the diagonal."""
    return (tril(x) + tril(x, k=-1)) * 0.5


def left(x: Value, b: Value, lower: bool = True, unit: bool = False) -> Value:
    """inv(x) @ b of a triangular x."""
    return SolveTriangular(lower, unit)(x, b)


def right(b: Value, x: Value, lower: bool = True, unit: bool = False) -> Value:
    """b @ inv(x) of a triangular x."""
    return adjoint(SolveTriangular(not lower, unit)(adjoint(x), adjoint(b)))


class Factor(Lapack):
    """What has several results: those whose derivatives are asked for are there as a tuple."""

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self.pulled(g, items(y), x[0]),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Any:
        return None if dx[0] is None else self.pushed(dx[0], items(y), x[0])

    def pulled(self, g: Sequence[Value | None], y: tuple[Value, ...], x: Value) -> Value | None:
        """The cotangent of x, given those of the results."""
        raise NotImplementedError(self.name)

    def pushed(self, t: Value, y: tuple[Value, ...], x: Value) -> tuple[Value | None, ...]:
        """The tangents of the results, given that of x."""
        raise NotImplementedError(self.name)


class Cholesky(Symmetric):
    """The lower triangular y with y @ y.mT = x.

    Derivatives: Murray, Differentiation of the Cholesky decomposition, 2016.
    """

    family: ClassVar[str] = "matrices"

    refusal: ClassVar[str] = "one of the matrices is not positive definite. Rounding alone may do that: " \
        "add a little to its diagonal, x + 1e-6 * st.eye(n)"

    def type(self, *x: Type) -> Type:
        squares(self.called, x[0])
        return x[0]

    def compute(self, *x: Array) -> Array:
        return np.linalg.cholesky(self.whole(x[0]))

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        inner = right(lower_half(adjoint(y) @ g), y)
        return symmetric(left(adjoint(y), inner, lower=False)),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        return y @ lower_half(right(left(y, symmetric(dx[0])), adjoint(y), lower=False))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls("both"), (SYMMETRIC,)), (cls("both"), (np.stack([SYMMETRIC, SYMMETRIC[::-1, ::-1]]),))


class Qr(Factor):
    """q (..., m, k) with orthonormal columns and r (..., k, n) upper triangular, of matrices x = q @ r with m >= n.

    k is n, or m where `complete`. Derivatives of the first: Seeger et al., Auto-differentiating linear algebra, 2017;
    they hold where the columns are linearly independent.
    """

    family: ClassVar[str] = "matrices"

    complete: bool

    def type(self, *x: Type) -> TupleType:
        needs_matrices(self.called, x[0])
        *lead, m, n = x[0].shape
        k = m if self.complete or below(m, n) else n
        return TupleType((x[0].with_shape((*lead, m, k)), x[0].with_shape((*lead, k, n))))

    def compute(self, *x: Array) -> tuple[Array, ...]:
        return tuple(np.linalg.qr(x[0], mode="complete" if self.complete else "reduced"))

    def check(self, x: Value) -> None:
        """Raises GraphError where columns of q may be chosen at will."""
        if self.complete and not same(x.shape[-2], x.shape[-1]):
            raise GraphError(f"qr of {show(x.shape)} with mode='complete' has no derivative: the last columns of q are "
                             "any that are orthogonal to the first", hint="Write mode='reduced'.")

    def pulled(self, g: Sequence[Value | None], y: tuple[Value, ...], x: Value) -> Value | None:
        self.check(x)
        (gq, gr), (q, r) = g, y
        m = plus(None if gr is None else r @ adjoint(gr), None if gq is None else -(adjoint(gq) @ q))
        assert m is not None
        total = plus(gq, q @ (lower_half(m) + adjoint(lower_half(m))))
        assert total is not None
        return right(total, adjoint(r))

    def pushed(self, t: Value, y: tuple[Value, ...], x: Value) -> tuple[Value | None, ...]:
        self.check(x)
        q, r = y
        moved = right(t, r, lower=False)
        within = adjoint(q) @ moved
        turn = lower_half(within) - adjoint(lower_half(within))
        return moved - q @ (within - turn), (within - turn) @ r

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(False), (Type(float32, (4, 3)),)), (cls(False), (Type(float32, (2, 2, 2)),)), \
               (cls(True), (Type(float32, (3, 3)),))


class Lu(Factor):
    """Of matrices (..., m, n): l below and u on and above the diagonal of one; which row each row was exchanged for, in
    order; and of which row of x each row of l @ u is: x[rows] = l @ u. Partial pivoting.

    Derivatives: de Hoog et al., The derivative of a matrix LU factorization, 2011.
    """

    family: ClassVar[str] = "matrices"

    def type(self, *x: Type) -> TupleType:
        needs_matrices(self.called, x[0])
        *lead, m, n = x[0].shape
        places = x[0].with_dtype(int64)
        return TupleType((x[0], places.with_shape((*lead, m if below(m, n) else n)), places.with_shape((*lead, m))))

    def compute(self, *x: Array) -> tuple[Array, ...]:
        *lead, m, n = x[0].shape
        many, k = np.arange(prod(lead)), min(m, n)
        a: Array = x[0].reshape(len(many), m, n).copy()
        swaps: Array = np.zeros((len(many), k), np.int64)
        rows: Array = np.tile(np.arange(m), (len(many), 1))     # type: ignore[reportUnknownArgumentType]
        for start in range(0, k, PANEL):
            stop = min(start + PANEL, k)
            for j in range(start, stop):
                swaps[:, j] = p = j + abs(a[:, j:, j]).argmax(1)
                for held in (a, rows):
                    held[many, j], held[many, p] = held[many, p], held[many, j]
                a[:, j + 1:, j] /= np.where(a[:, j, j] == 0, 1, a[:, j, j])[:, None]
                a[:, j + 1:, j + 1:stop] -= a[:, j + 1:, j, None] * a[:, j, None, j + 1:stop]
            unit = np.tril(a[:, start:stop, start:stop], -1) + np.eye(stop - start, dtype=a.dtype)
            a[:, start:stop, stop:] = substituted(unit, a[:, start:stop, stop:])
            a[:, stop:, stop:] -= a[:, stop:, start:stop] @ a[:, start:stop, stop:]
        return a.reshape(x[0].shape), swaps.reshape(*lead, k), rows.reshape(*lead, m)

    def squares(self, y: Value) -> tuple[Value, Value]:
        """l and u with columns and rows of the unit matrix behind, so that both are square."""
        *_, m, n = y.shape
        lower, upper = tril(y, k=-1), triu(y)
        if below(m, n):
            lower = slice_axis(lower, -1, 0, m)
            last = Iota((n,), 0, int64)() >= broadcast(slice_axis(Iota((n,), 0, int64)(), 0, m, 1), (n,))
            upper = pad_axis(upper, y.ndim - 2, 0, n - m) + spread(transfer(cast(last, y.dtype), y.type.device))
        else:
            lower, upper = pad_axis(lower, y.ndim - 1, 0, m - n), slice_axis(upper, -2, 0, n)
        return lower + identity(m, y), upper

    def pulled(self, g: Sequence[Value | None], y: tuple[Value, ...], x: Value) -> Value | None:
        if g[0] is None:
            return None
        lower, upper = self.squares(y[0])
        inner = tril(adjoint(lower) @ g[0], k=-1) + triu(g[0] @ adjoint(upper))
        return exchange(y[2], x) @ right(left(adjoint(lower), inner, lower=False, unit=True), adjoint(upper))

    def pushed(self, t: Value, y: tuple[Value, ...], x: Value) -> tuple[Value | None, ...]:
        lower, upper = self.squares(y[0])
        inner = right(left(lower, adjoint(exchange(y[2], x)) @ t, unit=True), upper, lower=False)
        return lower @ tril(inner, k=-1) + triu(inner) @ upper, None, None

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(), (Type(float32, shape),)) for shape in ((3, 3), (2, 4, 2), (2, 3)))


def exchange(rows: Value, like: Value) -> Value:
    """The matrices p with p[rows[i], i] = 1, in the dtype of another value."""
    n = rows.shape[-1]
    return cast(Equal()(columns(rows), transfer(Iota((n, n), 0, int64)(), rows.type.device)), like.dtype)


class Exchanged(Lapack):
    """The order of `n` rows after exchanges: of row k for row swaps[..., k], one after the other."""

    n: Dim

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        return args

    def type(self, *x: Type) -> Type:
        needs_index(self, x[0])
        if not x[0].shape or (isinstance(many := x[0].shape[-1], int) and isinstance(self.n, int) and many > self.n):
            raise ShapeError(f"exchanges of {self.n} rows are pivots (..., k), one for each at most, got "
                             f"{show(x[0].shape)}")
        return x[0].with_shape((*x[0].shape[:-1], self.n)).with_dtype(int64)

    def compute(self, *x: Array) -> Array:
        (swaps,) = x
        check_index(swaps, self.n)
        rows: Array = np.empty((*swaps.shape[:-1], self.n), np.int64)     # type: ignore[arg-type]
        rows[...] = np.arange(self.n)   # type: ignore[arg-type]
        for i in np.ndindex(*swaps.shape[:-1]):
            for k, p in enumerate(swaps[i]):
                rows[(*i, k)], rows[(*i, p)] = rows[(*i, p)], rows[(*i, k)]
        return rows

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(4), (np.array([[2, 1, 3], [3, 3, 3]], dtype),)) for dtype in (np.int64, np.uint8))


class Eigh(Factor, Symmetric):
    """The eigenvalues of symmetric matrices, ascending, and their eigenvectors as columns.

    Derivatives: Giles, Collected matrix derivative results, 2008. Of eigenvectors they hold where eigenvalues differ.
    """

    family: ClassVar[str] = "matrices"

    is_spectral: ClassVar[bool] = True

    def type(self, *x: Type) -> TupleType:
        squares(self.called, x[0])
        return TupleType((x[0].with_shape(x[0].shape[:-1]).with_dtype(x[0].dtype.real), x[0]))

    def compute(self, *x: Array) -> tuple[Array, ...]:
        w, v = np.linalg.eigh(self.whole(x[0]))
        return w, v * upright(v)

    def pulled(self, g: Sequence[Value | None], y: tuple[Value, ...], x: Value) -> Value | None:
        (gw, gv), (w, v) = g, y
        inner = plus(None if gw is None else spread(gw), None if gv is None else gaps(w) * (adjoint(v) @ gv))
        return None if inner is None else symmetric(v @ inner @ adjoint(v))

    def pushed(self, t: Value, y: tuple[Value, ...], x: Value) -> tuple[Value | None, ...]:
        w, v = y
        inner = adjoint(v) @ symmetric(t) @ v
        return real(diagonal(inner)), v @ (gaps(w) * inner)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls("both"), (SYMMETRIC,)), (cls("both"), (np.stack([SYMMETRIC, SYMMETRIC * SYMMETRIC]),))


class Eigvalsh(Symmetric):
    """The eigenvalues of symmetric matrices, ascending."""

    family: ClassVar[str] = "matrices"

    is_spectral: ClassVar[bool] = True

    def type(self, *x: Type) -> Type:
        squares(self.called, x[0])
        return x[0].with_shape(x[0].shape[:-1]).with_dtype(x[0].dtype.real)

    def compute(self, *x: Array) -> Array:
        return np.linalg.eigvalsh(self.whole(x[0]))

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        _, v = items(Eigh(self.triangle)(x[0]))
        return symmetric((v * columns(g)) @ adjoint(v)),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        _, v = items(Eigh(self.triangle)(x[0]))
        return real(sum(conj(v) * (symmetric(dx[0]) @ v), axis=-2))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return Eigh.examples.__func__(cls)      # type: ignore[attr-defined]


class Eig(Factor):
    """The eigenvalues of matrices, in no order, and their eigenvectors as columns: complex numbers.

    Derivatives: Giles, Collected matrix derivative results, 2008, less what changes the length of eigenvectors. They
    hold where eigenvalues differ.
    """

    is_spectral: ClassVar[bool] = True

    def type(self, *x: Type) -> TupleType:
        squares(self.called, x[0])
        v = x[0].with_dtype(x[0].dtype.complex)
        return TupleType((v.with_shape(v.shape[:-1]), v))

    def compute(self, *x: Array) -> tuple[Array, ...]:
        return tuple(part.astype(np.result_type(x[0], np.complex64)) for part in np.linalg.eig(x[0]))

    def pulled(self, g: Sequence[Value | None], y: tuple[Value, ...], x: Value) -> Value | None:
        (gw, gv), (w, v) = g, y
        inner = None if gw is None else spread(gw)
        if gv is not None:
            along = adjoint(v) @ gv
            inner = plus(inner, conj(gaps(w)) * (along - (adjoint(v) @ v) * columns(real(diagonal(along)))))
        return None if inner is None else Solve()(adjoint(v), inner @ adjoint(v))

    def pushed(self, t: Value, y: tuple[Value, ...], x: Value) -> tuple[Value | None, ...]:
        w, v = y
        inner = Solve()(v, t @ v)
        dv = v @ (gaps(w) * inner)
        return diagonal(inner), dv - v * columns(real(sum(conj(v) * dv, axis=-2)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 3)),)), (cls(), (np.array([[1, 2j, 0], [1, 1, 3], [0, 1 - 1j, -2]]),))


class Eigvals(Lapack):
    """The eigenvalues of matrices, in no order: complex numbers."""

    is_spectral: ClassVar[bool] = True

    def type(self, *x: Type) -> Type:
        squares(self.called, x[0])
        return x[0].with_dtype(x[0].dtype.complex).with_shape(x[0].shape[:-1])

    def compute(self, *x: Array) -> Array:
        return np.linalg.eigvals(x[0]).astype(np.result_type(x[0], np.complex64))

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        _, v = items(Eig()(x[0]))
        return Solve()(adjoint(v), expand_dims(g, (g.ndim,)) * adjoint(v)),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        _, v = items(Eig()(x[0]))
        return diagonal(Solve()(v, dx[0] @ v))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return Eig.examples.__func__(cls)      # type: ignore[attr-defined]


class Svd(Factor):
    """u (..., m, k), the singular values (..., k), descending, and v transposed (..., k, n) of matrices u @ s @ v.

    k is the smaller of m and n; with `full`, u and v are square. Derivatives: Townsend, Differentiating the singular
    value decomposition, 2016. Of u and v they hold where singular values differ and none is zero.
    """

    family: ClassVar[str] = "matrices"

    full: bool
    is_spectral: ClassVar[bool] = True

    def type(self, *x: Type) -> TupleType:
        needs_matrices(self.called, x[0])
        *lead, m, n = x[0].shape
        k = m if below(m, n) else n
        s = x[0].with_shape((*lead, k)).with_dtype(x[0].dtype.real)
        return TupleType((x[0].with_shape((*lead, m, m if self.full else k)), s,
                          x[0].with_shape((*lead, n if self.full else k, n))))

    def compute(self, *x: Array) -> tuple[Array, ...]:
        u, s, v = np.linalg.svd(x[0], full_matrices=self.full)
        signs, k = upright(u), s.shape[-1]
        return u * signs, s, np.concatenate([v[..., :k, :] * signs[..., :k].swapaxes(-1, -2), v[..., k:, :]], -2)

    def pulled(self, g: Sequence[Value | None], y: tuple[Value, ...], x: Value) -> Value | None:
        (gu, gs, gv), (u, s, v) = g, y
        if gu is None and gv is None:
            k = s.shape[-1]
            return None if gs is None else (first(u, k) * columns(gs)) @ slice_axis(v, -2, 0, k)
        return plus(self.pulled((None, gs, None), y, x), None if gu is None else turned(gu, u, s, v),
                    None if gv is None else adjoint(turned(adjoint(gv), adjoint(v), s, adjoint(u))))

    def pushed(self, t: Value, y: tuple[Value, ...], x: Value) -> tuple[Value | None, ...]:
        u, s, v = y
        k = s.shape[-1]
        inner = adjoint(first(u, k)) @ t @ adjoint(v)
        return moved(t, u, s, v), real(diagonal(first(inner, k))), adjoint(moved(adjoint(t), adjoint(v), s, adjoint(u)))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(full), (Type(float32, shape),)) for full in (False, True) for shape in ((3, 2), (2, 2, 3)))


def first(x: Value, k: Dim) -> Value:
    """The first k columns."""
    return slice_axis(x, -1, 0, k)


def turned(g: Value, u: Value, s: Value, v: Value) -> Value:
    """The cotangent of u @ s @ v, given that of u; columns of u beyond the singular values turn against the others."""
    k, m = s.shape[-1], u.shape[-2]
    a, ga, b = first(u, k), first(g, k), slice_axis(v, -2, 0, k)
    within = adjoint(a) @ ga
    slope = gaps(s * s) * within
    total = a @ ((slope + adjoint(slope)) * columns(s) + phase(within, s))
    if same(k, m):
        return total @ b
    beyond = ga - a @ within
    if not same(u.shape[-1], k):
        beyond = beyond - slice_axis(u, -1, k, m - k) @ (adjoint(slice_axis(g, -1, k, m - k)) @ a)
    return (total + beyond * columns(reciprocals(s))) @ b


def phase(within: Value, s: Value) -> Value | float:
    """How columns of u and v turn together, by half of an angle each, where they are complex."""
    return spread(imag(diagonal(within)) * reciprocals(s) * 0.5j) if within.dtype.is_complex else 0.0


def moved(t: Value, u: Value, s: Value, v: Value) -> Value:
    """The tangent of u, given that of u @ s @ v."""
    k, m = s.shape[-1], u.shape[-2]
    a, b = first(u, k), adjoint(slice_axis(v, -2, 0, k))
    within = adjoint(a) @ t @ b
    du = a @ (gaps(s * s) * (within * columns(s) + adjoint(within * columns(s))) + phase(within, s))
    if same(k, m):
        return du
    beyond = (t @ b) * columns(reciprocals(s))
    du = du + beyond - a @ (adjoint(a) @ beyond)
    if same(u.shape[-1], k):
        return du
    return concatenate([du, -a @ (adjoint(beyond) @ slice_axis(u, -1, k, m - k))], axis=-1)


class Svdvals(Lapack):
    """The singular values of matrices, descending."""

    family: ClassVar[str] = "matrices"

    is_spectral: ClassVar[bool] = True

    def type(self, *x: Type) -> Type:
        needs_matrices(self.called, x[0])
        *lead, m, n = x[0].shape
        return x[0].with_shape((*lead, m if below(m, n) else n)).with_dtype(x[0].dtype.real)

    def compute(self, *x: Array) -> Array:
        return np.linalg.svd(x[0], compute_uv=False)

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        u, _, v = items(Svd(False)(x[0]))
        return (u * columns(g)) @ v,

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        u, _, v = items(Svd(False)(x[0]))
        return real(sum(conj(u) * (dx[0] @ adjoint(v)), axis=-2))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return tuple((cls(), (Type(float32, shape),)) for shape in ((4, 2), (2, 2, 3)))


ALL = (Cholesky, Qr, Lu, Exchanged, Eigh, Eigvalsh, Eig, Eigvals, Svd, Svdvals)
