"""Matrices that are far from singular, and what NumPy says of them in any float, by elimination row by row."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import stele as st
from stele.ir.types import DType
from tests.programs.kind import Kind, Made
from tests.programs.numbers import Array
from tests.programs.windows import product

if TYPE_CHECKING:
    from tests.programs.grammar import Growth


def square(g: Growth, x: str) -> Any:
    """Matrices of floats that LAPACK has, of which a square is cut."""
    g.need(g.ndim(x) > 1 and g.dtype(x).bits > 16)
    g.need(is_square(g, x) or not any(g.is_open(x, k) for k in (-1, -2)))
    return (x,), {}


def is_square(g: Growth, x: str) -> bool:
    return all(env[x].shape[-1] == env[x].shape[-2] for env in g.envs)


def cut(x: Any) -> Any:
    """The first rows and columns of matrices, as many of the ones as of the others."""
    m, n = x.shape[-2:]
    return x if m == n else x[..., :min(m, n), :min(m, n)]


def system(g: Growth, x: str) -> Any:
    """Square matrices, and right sides for them."""
    square(g, x)
    g.need(is_square(g, x))
    (_, z), _ = product(g, x)
    g.need(g.ndim(z) == 1 or g.shape(z)[-2] == g.shape(x)[-1])
    return (x, z), {}


def small(x: Any) -> Any:
    """x with elements of size 1 at most."""
    f = np if isinstance(x, np.ndarray) else st
    return x / (1 + f.abs(x)) if "complex" in str(x.dtype) else f.tanh(x)


def solved(g: Growth, x: str) -> Any:
    """Systems, at once or by factors."""
    args, _ = system(g, x)
    return args, {"by": g.choose(["solve", "solve", "factors"])}


def st_solve(x: Any, z: Any, by: str) -> Any:
    if by == "solve":
        return st.linalg.solve(x, z)
    lead = np.broadcast_shapes(x.shape[:-2], z.shape[:-2])
    factors = st.linalg.lu_factor(st.broadcast_to(x, (*lead, *x.shape[-2:])))
    y = st.linalg.lu_solve(*factors, z[..., None] if z.ndim == 1 else z)
    return y[..., 0] if z.ndim == 1 else y


def dominant(x: Any) -> Any:
    """x with a diagonal that outweighs the rest of its rows and columns."""
    n = x.shape[-1]
    if isinstance(x, np.ndarray):
        return small(x) + np.eye(n, dtype=x.dtype) * x.dtype.type(2 * max(n, 1))
    return small(x) + st.eye(n, dtype=x.dtype) * (2 * st.maximum(n, 1)).astype(x.dtype)


def definite(x: Any) -> Any:
    """Hermitian and positive definite."""
    return dominant(x) + adjoint(dominant(x))


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return np.conj(x).swapaxes(-1, -2) if isinstance(x, np.ndarray) else st.conj(x).swapaxes(-1, -2)


def steps(x: Any) -> Any:
    """The diagonal 3n, 6n, ..., 3nn: with off-diagonal elements up to 1, eigenvalues and singular values are apart."""
    n = x.shape[-1]
    if isinstance(x, np.ndarray):
        return np.diag(np.arange(1, n + 1) * (3 * n)).astype(x.dtype)
    return st.eye(n, dtype=x.dtype) * ((st.arange(n) + 1) * (3 * n)).astype(x.dtype)


def spread(x: Any) -> Any:
    """Matrices whose singular values are apart; their eigenvalues too, which are real where x is."""
    return (np.tanh(x) if isinstance(x, np.ndarray) else st.tanh(x)) + steps(x)


def mirrored(x: Any) -> Any:
    """Symmetric matrices whose eigenvalues are apart."""
    return spread(x) + adjoint(spread(x))


def eliminated(x: Array) -> tuple[Array, Array]:
    """l and u with l @ u = x, without exchanges."""
    u, n = x.copy(), x.shape[-1]
    lower = np.broadcast_to(np.eye(n, dtype=x.dtype), x.shape).copy()
    for k in range(n):
        lower[..., k + 1:, k] = u[..., k + 1:, k] / u[..., k, k, None]
        u[..., k + 1:, :] -= lower[..., k + 1:, k, None] * u[..., k, None, :]
    return lower, u


def substituted(lower: Array, b: Array) -> Array:
    if lower.shape[-1] != b.shape[-2]:
        raise ValueError("right sides of another length")
    y = np.broadcast_to(b, (*np.broadcast_shapes(lower.shape[:-2], b.shape[:-2]), *b.shape[-2:])).copy()
    for k in range(lower.shape[-1]):
        y[..., k, :] -= (lower[..., k, None, :k] @ y[..., :k, :])[..., 0, :]
        y[..., k, :] /= lower[..., k, k, None]
    return y


def solve(x: Array, z: Array, by: str = "") -> Array:
    if z.ndim == 1:
        return solve(x, z[:, None])[..., 0]
    lower, u = eliminated(x)
    return substituted(u[..., ::-1, ::-1], substituted(lower, z)[..., ::-1, :])[..., ::-1, :]


def inverse(x: Array) -> Array:
    return solve(x, np.eye(x.shape[-1], dtype=x.dtype))


def slogdet(x: Array) -> Array:
    _, u = eliminated(x)
    return np.log(np.abs(np.diagonal(u, axis1=-2, axis2=-1))).sum(-1)


def factor(a: Array) -> Array:
    """The lower factor of positive definite matrices."""
    lower, u = eliminated(a)
    return np.tril(lower * np.sqrt(np.diagonal(u, axis1=-2, axis2=-1))[..., None, :])


def triangular(x: Array, z: Array) -> Array:
    if z.ndim == 1:
        return triangular(x, z[:, None])[..., 0]
    return substituted(np.tril(x), z)


# Factors: what is the same for whichever of them a library chooses

def factored(*names: str, most: int = 12) -> Callable[[Growth, str], Made]:
    """Small square matrices, and which factor is asked for."""
    def make(g: Growth, x: str) -> Made:
        square(g, x)
        g.need(0 < min(g.shape(x)[-2:]) <= most)
        return (x,), {"part": g.choose(names)}
    return make


def tall(g: Growth, x: str) -> Made:
    """Matrices with at least as many rows as columns, of full rank."""
    square(g, x)
    n = min(g.shape(x)[-2:])
    g.need(1 < n <= 12)
    return (x,), {"drop": g.integer(0, n - 1)}


def st_lu(x: Any, part: str) -> Any:
    """Of matrices whose rows are turned round, which exchanges undo."""
    return getattr(st.linalg.lu(st.flip(x, -2)), part)


def lu(x: Array, part: str) -> Array:
    if part == "P":
        return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype)[::-1], x.shape)
    return eliminated(x)[part == "U"]


def st_qr(x: Any, part: str) -> Any:
    """With a diagonal of r above 0."""
    q, r = st.linalg.qr(x)
    signs = st.stop_gradient(st.sign(st.diagonal(r, axis1=-2, axis2=-1)))
    return q * signs[..., None, :] if part == "Q" else r * signs[..., :, None]


def qr(x: Array, part: str) -> Array:
    """r is the Cholesky factor of x.mT @ x."""
    r = factor(adjoint(x) @ x).swapaxes(-1, -2)
    return r if part == "R" else substituted(r.swapaxes(-1, -2), x.swapaxes(-1, -2)).swapaxes(-1, -2)


def refined(a: Array) -> tuple[Array, Array]:
    """The eigenvalues and eigenvectors of symmetric matrices: NumPy's, and steps of Newton's method in wider floats."""
    w, v = (p.astype(a.dtype) for p in np.linalg.eigh(a.astype(np.float64)))
    for _ in range(2):
        inner = v.swapaxes(-1, -2) @ a @ v
        w = np.diagonal(inner, axis1=-2, axis2=-1)
        gaps = w[..., None, :] - w[..., :, None]
        v = v + v @ np.where(gaps == 0, 0, inner / np.where(gaps == 0, 1, gaps))
        v = v @ (3 * np.eye(a.shape[-1], dtype=a.dtype) - v.swapaxes(-1, -2) @ v) / 2
    return w, v


def st_eigh(x: Any, part: str) -> Any:
    """The eigenvalues, or the logarithm of a matrix, which is made of both."""
    if part == "only values":
        return st.linalg.eigvalsh(x)
    w, v = st.linalg.eigh(x)
    return w if part == "values" else (v * st.log(w)[..., None, :]) @ v.swapaxes(-1, -2)


def eigh(x: Array, part: str) -> Array:
    w, v = refined(x)
    return (v * np.log(w)[..., None, :]) @ v.swapaxes(-1, -2) if part == "logarithm" else w


def st_svd(x: Any, part: str) -> Any:
    """The singular values, or the orthogonal matrix next to one."""
    if part == "only values":
        return st.linalg.svdvals(x)
    u, s, v = st.linalg.svd(x, full_matrices=part == "full")
    return s if part == "values" else u @ v


def svd(x: Array, part: str) -> Array:
    w, v = refined(adjoint(x) @ x)
    s = np.sqrt(w)
    return s[..., ::-1] if "values" in part else x @ (v / s[..., None, :]) @ v.swapaxes(-1, -2)


def st_eig(x: Any, part: str) -> Any:
    """The sum of the squares of all eigenvalues, which are in no order; or what eigenvectors say of the matrix."""
    if part == "values":
        return st.real(st.sum(st.square(st.linalg.eigvals(x)), axis=-1))
    w, v = st.linalg.eig(x)
    return st.real((v * (1 / w)[..., None, :]) @ st.linalg.inv(v))


def eig(x: Array, part: str) -> Array:
    return np.trace(x @ x, axis1=-2, axis2=-1) if part == "values" else inverse(x)


def pinv(x: Array, drop: int) -> Array:
    a = x[..., drop:]
    return inverse(adjoint(a) @ a) @ adjoint(a)


def powers(g: Growth, x: str) -> Any:
    factored("", most=8)(g, x)
    return (x,), {"times": g.choose([1, 2, 0.25])}


def expm(x: Array, times: float) -> Array:
    """The series, of a matrix halved six times."""
    term = y = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for k in range(1, 25):
        term = term @ (x * (times / 64)) / k
        y = y + term
    for _ in range(6):
        y = y @ y
    return y


def det(x: Array) -> Array:
    return np.diagonal(eliminated(x)[1], axis1=-2, axis2=-1).prod(-1)


def unit(x: Any) -> Any:
    """Matrices with determinants near 1."""
    n = x.shape[-1]
    return dominant(x) / (x.dtype.type(2 * max(n, 1)) if isinstance(x, np.ndarray) else 2 * st.maximum(n, 1))


def sign_of(x: Array) -> Array:
    u = np.diagonal(eliminated(x)[1], axis1=-2, axis2=-1)
    return (u / np.abs(u)).prod(-1)


NO_FACTORS = " of what is not finite"


def real(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    return d[0].real,


def matrix(name: str, stele: Callable[..., Any], numpy: Callable[..., Array], make: Any,
           made: Callable[[Any], Any] = dominant, **changes: Any) -> Kind:
    """A function of what is made of a square that is cut of the first operand. What is not finite has no factors, and
    right sides that are not spread what they hold: NumPy refuses it here and spreads it there, by the order of the
    steps."""
    def prepare(x: Any) -> Any: return made(cut(x))

    def finite(x: Array, *more: Any, **how: Any) -> Array:
        wide = (y.astype(np.complex128 if y.dtype.kind == "c" else np.float64) for y in (x, *more))
        if not all(np.isfinite(y).all() for y in wide):
            raise np.linalg.LinAlgError(f"{name}{NO_FACTORS}")
        return numpy(x, *more, **how)
    return Kind(name, lambda x, *more, **how: stele(prepare(x), *more, **how), finite, make,
                **{"domain": "f", "noise": "coarse", "prepare": prepare, **changes})


LINEAR = (
    matrix("solve", st_solve, solve, solved, weight=2.0),
    matrix("solve_triangular", lambda x, z: st.linalg.solve_triangular(x, z, upper=False), triangular, system),
    matrix("inv", st.linalg.inv, inverse, square), matrix("det", st.linalg.det, det, square, unit),
    matrix("slogdet", lambda x: st.linalg.slogdet(x).logabsdet, slogdet, square, result=real),
    matrix("sign_of_det", lambda x: st.linalg.slogdet(x).sign, sign_of, square, smooth=False, weight=0.5),
    matrix("cholesky", st.linalg.cholesky, factor, square, definite),
    matrix("lu", st_lu, lu, factored("P", "L", "U")), matrix("qr", st_qr, qr, factored("Q", "R")),
    matrix("eigh", st_eigh, eigh, factored("only values", "values", "logarithm"), mirrored),
    matrix("svd", st_svd, svd, factored("only values", "values", "polar", "full"), spread),
    matrix("eig", st_eig, eig, factored("values", "inverse"), spread, weight=0.5),
    matrix("pinv", lambda x, drop: st.linalg.pinv(x[..., drop:]), pinv, tall),
    matrix("expm", lambda x, times: st.linalg.expm(x * times), expm, powers, small),
)
