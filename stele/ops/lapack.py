"""What LAPACK makes of square matrices and right sides, through NumPy: solutions, inverses, determinants."""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Array, Item, Op, Placed, Value
from stele.ir.sizes import Dim
from stele.ir.types import Shape, TupleType, Type, broadcast_shapes, float32, promote, same, show
from stele.ops.contraction import matmul
from stele.ops.diagonals import tril, triu
from stele.ops.linear import Concatenate, along, broadcast, cast, expand_dims, slice_axis, swap_last, zeros_like
from stele.ops.parts import conj, imag, real
from stele.ops.shaping import needs_matrices
from stele.ops.statistics import sum

LinAlgError = np.linalg.LinAlgError
ROWS = 16       # of a triangular system that are solved for one after the other


class Lapack(Op):
    """An op on the last two axes of its operands, stacks of matrices of real or complex floats, single or double."""

    refusal: ClassVar[str] = "which it does not converge for"
    """Why there may be no result, if all numbers are finite."""
    is_spectral: ClassVar[bool] = False
    """Whether there is no result for NaN and infinities, which others hand on."""

    @property
    def called(self) -> str:
        """The function of the public interface."""
        return self.name.lower()

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        x = super().prepare(*args)
        dtype = reduce(promote, (v.dtype for v in x))
        if dtype.bits == 16 and dtype.is_float:
            raise DTypeError(f"{self.called} needs float32, float64 or complex numbers, got {dtype}",
                             hint="Sixteen bits are too few to take a matrix apart: write x.astype('float32').")
        return tuple(cast(v, dtype if dtype.is_float else float32) for v in x)

    def reference(self, *x: Array, **_: Any) -> Any:
        refusal, endless = self.refusals(x[0].shape)
        if self.is_spectral and not np.isfinite(x[0]).all():
            raise LinAlgError(endless)
        try:
            return self.compute(*x)
        except LinAlgError:
            raise LinAlgError(refusal) from None

    def refusals(self, shape: Shape) -> tuple[str, str]:
        """What is said where there is no result for finite numbers, and where there is none for others."""
        what = f"{self.called} of {show(shape)}"
        return f"{what}: {self.refusal}", f"{what}, which holds NaN or infinities"

    def compute(self, *x: Array) -> Any:
        """The result of arrays, or NumPy's LinAlgError where there is none."""
        raise NotImplementedError(self.name)

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        """By `pull`; rules beside the ops know no conjugates (`transform/autodiff.py`), matrices are full of them."""
        turned = [None if p is None else conj(p) for p in g] if isinstance(y.type, TupleType) else conj(g)
        return tuple(None if v is None else conj(v) if a.dtype.is_complex else real(v)
                     for v, a in zip(self.pull(turned, y, *x), x))

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        """What the operands move by where the results are to move by g: the adjoint of the derivative."""
        raise NotImplementedError(self.name)

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        made = self(*(along(a, n) for a in x))
        return items(made) if isinstance(made.type, TupleType) else made


def squares(called: str, x: Type | Value) -> None:
    """Raises ShapeError unless x is a square matrix or a stack of them."""
    needs_matrices(called, x)
    if not same(x.shape[-2], x.shape[-1]):
        raise ShapeError(f"{called} needs square matrices, got {show(x.shape)}",
                         hint="st.linalg.pinv and st.linalg.lstsq take others.")


def items(y: Value) -> tuple[Value, ...]:
    """The parts of a tuple."""
    return tuple(Item(k)(y) for k in range(len(y.type.items)))     # type: ignore[attr-defined]


def adjoint(x: Value) -> Value:
    """The conjugate transpose of each matrix of a stack."""
    return conj(swap_last(x))


def matrix_of(g: Value) -> Value:
    """Numbers with two axes of length 1 behind, to meet matrices."""
    return expand_dims(g, (g.ndim, g.ndim + 1))


def inner(x: Value, z: Value) -> Value:
    """The sum of the products of all entries of two matrices."""
    return sum(x * z, axis=(-2, -1))


def plus(*terms: Value | None) -> Value | None:
    """The sum of those terms that there are."""
    found = [t for t in terms if t is not None]
    return reduce(lambda a, b: a + b, found) if found else None


class System(Lapack):
    """The y with x @ y = b, for matrices x (..., n, n) and b (..., n, k); leading axes broadcast."""

    family: ClassVar[str] = "matrices"

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        x, b = super().prepare(*args)
        lead = broadcast_shapes(x.shape[:-2], b.shape[:-2])
        return tuple(broadcast(v, (*lead, *v.shape[-2:])) for v in (x, b))

    def type(self, *x: Type) -> Type:
        squares(self.called, x[0])
        if not same(x[0].shape[-1], x[1].shape[-2]):
            shapes = " and ".join(show(t.shape) for t in x)
            raise ShapeError(f"{self.called} needs x.shape[-1] == b.shape[-2], got {shapes}",
                             hint="A stack of vectors b (..., n) is one of matrices of one column: b[..., None].")
        return x[1]

    def adjoint(self) -> System:
        """The same for transposed matrices."""
        return self

    def part(self, x: Value) -> Value:
        """What is read of matrices."""
        return x

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        back = self.adjoint()(adjoint(x[0]), g)
        return self.part(-matmul(back, adjoint(y))), back

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        da, db = dx
        moved = plus(db, None if da is None else -matmul(self.part(da), y))
        return None if moved is None else self(x[0], moved)


class Solve(System):
    """The y with x @ y = b, for matrices x (..., n, n) and b (..., n, k); leading axes broadcast."""

    refusal: ClassVar[str] = "one of the matrices is singular and has no inverse. " \
        "Add a little to its diagonal, x + 1e-6 * st.eye(n), or write st.linalg.lstsq(x, b)"

    def compute(self, *x: Array) -> Array:
        return np.linalg.solve(*x)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 3)), Type(float32, (3, 2)))), \
               (cls(), (Type(float32, (2, 2, 2)), Type(float32, (2, 2, 1))))


class SolveTriangular(System):
    """`Solve` of triangular matrices: the other half is not read, nor the diagonal where it is taken to be ones."""

    lower: bool
    unit: bool
    refusal: ClassVar[str] = "a zero stands on a diagonal, so the matrix is singular"

    @property
    def called(self) -> str:
        return "solve_triangular"

    def compute(self, *x: Array) -> Array:
        a, b = x
        if self.unit:
            a = a * (1 - np.eye(a.shape[-1], dtype=a.dtype)) + np.eye(a.shape[-1], dtype=a.dtype)
        if (np.diagonal(a, axis1=-2, axis2=-1) == 0).any():
            raise LinAlgError
        return substituted(a, b) if self.lower else substituted(a[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]

    def adjoint(self) -> SolveTriangular:
        return SolveTriangular(not self.lower, self.unit)

    def part(self, x: Value) -> Value:
        return tril(x, k=-self.unit) if self.lower else triu(x, k=int(self.unit))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        x, b = np.array([[2, 0.5, -1], [1, -1.5, 0.3], [0.5, 2, 3]], np.float32), Type(float32, (3, 2))
        return (cls(True, False), (x, b)), (cls(False, False), (x, b)), (cls(True, True), (x, b)), \
               (cls(False, True), (np.stack([x, x.T]), Type(float32, (2, 3, 1))))


def substituted(a: Array, b: Array) -> Array:
    """The y with a @ y = b, for lower triangular a: by halves, whose products NumPy computes, then row by row."""
    n = a.shape[-1]
    if n > ROWS:
        top = substituted(a[..., :n // 2, :n // 2], b[..., :n // 2, :])
        rest = b[..., n // 2:, :] - a[..., n // 2:, :n // 2] @ top
        return np.concatenate([top, substituted(a[..., n // 2:, n // 2:], rest)], -2)
    y = b.copy()
    for k in range(n):
        y[..., k:k + 1, :] -= a[..., k:k + 1, :k] @ y[..., :k, :]
        y[..., k, :] /= a[..., k, k, None]
    return y


class Inv(Lapack):
    """The inverses of square matrices."""

    family: ClassVar[str] = "matrices"

    refusal: ClassVar[str] = "one of the matrices is singular and has no inverse. " \
        "Add a little to its diagonal, x + 1e-6 * st.eye(n), or write st.linalg.pinv(x)"

    def type(self, *x: Type) -> Type:
        squares(self.called, x[0])
        return x[0]

    def compute(self, *x: Array) -> Array:
        return np.linalg.inv(x[0])

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return -(adjoint(y) @ g @ adjoint(y)),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else -(y @ dx[0] @ y)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 3)),)), (cls(), (Type(float32, (2, 2, 2)),))


class Det(Lapack):
    """The determinants of square matrices."""

    family: ClassVar[str] = "matrices"

    def type(self, *x: Type) -> Type:
        squares(self.called, x[0])
        return x[0].with_shape(x[0].shape[:-2])

    def compute(self, *x: Array) -> Array:
        return np.asarray(np.linalg.det(x[0]))

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return matrix_of(g) * conj(Cofactors()(x[0])),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else inner(dx[0], Cofactors()(x[0]))

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 3)),)), (cls(), (Type(float32, (2, 2, 2)),))


class Cofactors(Lapack):
    """The cofactors of square matrices, which are the derivatives of their determinants, also of singular ones.

    Where there is an inverse they are det(x) inv(x).mT, else they are products of singular values (Stewart, On the
    adjugate matrix, 1998).
    """

    family: ClassVar[str] = "matrices"

    def type(self, *x: Type) -> Type:
        squares(self.called, x[0])
        return x[0]

    def compute(self, *x: Array) -> Array:
        (a,) = x
        det = np.asarray(np.linalg.det(a))
        is_singular = det == 0
        y = np.linalg.inv(np.where(is_singular[..., None, None], np.eye(a.shape[-1], dtype=a.dtype), a))
        y = y.swapaxes(-1, -2) * det[..., None, None]
        if is_singular.any():
            u, s, v = np.linalg.svd(a[is_singular])
            others = np.stack([np.delete(s, k, -1).prod(-1) for k in range(s.shape[-1])], -1)
            turn = np.linalg.det(u) * np.linalg.det(v)
            y[is_singular] = (np.conj(u) * others[:, None, :]) @ np.conj(v) * turn[:, None, None]
        return y

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        t = adjoint(Inv()(x[0]))
        return matrix_of(inner(g, conj(y))) * t - t @ swap_last(g) @ conj(y),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        t = swap_last(Inv()(x[0]))
        return matrix_of(inner(dx[0], t)) * y - y @ swap_last(dx[0]) @ t

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 3)),)), (cls(), (Type(float32, (2, 2, 2)),))


class Slogdet(Lapack):
    """The signs of determinants, and the logarithms of their absolute values."""

    family: ClassVar[str] = "matrices"

    def type(self, *x: Type) -> TupleType:
        squares(self.called, x[0])
        sign = x[0].with_shape(x[0].shape[:-2])
        return TupleType((sign, sign.with_dtype(sign.dtype.real)))

    def compute(self, *x: Array) -> tuple[Array, ...]:
        return tuple(np.linalg.slogdet(x[0]))

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        sign, _ = items(y)
        turn = None if g[0] is None or not sign.dtype.is_complex else imag(sign * conj(g[0])) * -1j
        total = plus(g[1], turn)
        return None if total is None else matrix_of(total) * adjoint(Inv()(x[0])),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Any:
        if dx[0] is None:
            return None
        (sign, _), t = items(y), inner(dx[0], swap_last(Inv()(x[0])))
        return sign * (imag(t) * 1j) if sign.dtype.is_complex else None, real(t)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 3)),)), (cls(), (Type(float32, (2, 2, 2)),))


class Pinv(Lapack):
    """The pseudo-inverses of matrices; singular values up to rtol (...) times the largest one count as zero.

    Derivatives by Golub and Pereyra, The differentiation of pseudo-inverses, 1973: they need no singular vectors, and
    hold where the rank does not change.
    """

    is_spectral: ClassVar[bool] = True

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        (x,), rtol = super().prepare(args[0]), args[1]
        needs_matrices(self.called, x)
        return x, broadcast(cast(rtol, x.dtype.real), x.shape[:-2])

    def type(self, *x: Type) -> Type:
        return x[0].with_shape((*x[0].shape[:-2], x[0].shape[-1], x[0].shape[-2]))

    def compute(self, *x: Array) -> Array:
        return np.linalg.pinv(x[0], rtol=x[1])

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        a, h = x[0], adjoint(g)
        over, under = y @ adjoint(y), adjoint(y) @ y
        return (h - a @ (y @ h)) @ over + under @ (h - (h @ y) @ a) - adjoint(y) @ g @ adjoint(y), None

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        if dx[0] is None:
            return None
        a, h = x[0], adjoint(dx[0])
        over, under = y @ (adjoint(y) @ h), (h @ adjoint(y)) @ y
        return (over - (over @ a) @ y) + (under - y @ (a @ under)) - y @ dx[0] @ y

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        rtol = np.float32(1e-6)
        return (cls(), (Type(float32, (4, 3)), rtol)), (cls(), (Type(float32, (2, 2, 3)), rtol))


# The Pade approximant of degree 13 of exp, and the norm up to which it is exact to a float64 (Higham, The scaling and
# squaring method for the matrix exponential revisited, 2005, table 2.3).
PADE = tuple(float(math.comb(13, k) * math.factorial(26 - k) // math.factorial(13)) for k in range(14))
REACH = 5.371920351148152


class Expm(Lapack):
    """The exponentials of square matrices, computed in double precision.

    The derivative in a direction e is the corner of exp of [[x, e], [0, x]] (Higham, Functions of matrices, 2008,
    theorem 3.6), and its transpose that of the transposed matrix.
    """

    def type(self, *x: Type) -> Type:
        squares(self.called, x[0])
        return x[0]

    def compute(self, *x: Array) -> Array:
        a = x[0].astype(np.result_type(x[0], np.float64))
        size = np.abs(a).sum(-2).max(-1, initial=0) / REACH
        halvings = np.ceil(np.log2(np.where(np.isfinite(size) & (size > 1), size, 1))).astype(int)[..., None, None]
        a = a * np.ldexp(1.0, -halvings)
        power, even, odd = np.eye(a.shape[-1]), np.zeros_like(a), np.zeros_like(a)
        for k in range(0, 14, 2):
            even, odd = even + PADE[k] * power, odd + PADE[k + 1] * power
            power = power @ (a @ a)
        odd = a @ odd
        y = np.linalg.solve(even - odd, even + odd)
        for k in range(halvings.max(initial=0)):
            y = np.where(k < halvings, y @ y, y)
        return y.astype(x[0].dtype)

    def corner(self, x: Value, e: Value) -> Value:
        """The derivative at x in the direction e."""
        n = x.shape[-1]
        rows = Concatenate(x.ndim - 1)(x, e), Concatenate(x.ndim - 1)(zeros_like(x), x)
        return slice_axis(slice_axis(self(Concatenate(x.ndim - 2)(*rows)), -2, 0, n), -1, n, n)

    def pull(self, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return self.corner(adjoint(x[0]), g),

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        return None if dx[0] is None else self.corner(x[0], dx[0])

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (cls(), (Type(float32, (3, 3)),)), (cls(), (Type(float32, (2, 2, 2)),))


ALL = (Solve, SolveTriangular, Inv, Det, Cofactors, Slogdet, Pinv, Expm)
