"""Many small matrices, one in each lane: LAPACK's results but for rounding, its errors, and the same bits anywhere."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import linalg
from stele.ir import sizes
from stele.ir.graph import Value, parameter
from stele.ir.types import Type, complex64, float32, float64
from stele.kernel.kinds import Host, Matrices, role_of
from stele.ops.factors import Cholesky, Eigh, Lu, Qr, Svd
from stele.ops.lapack import Inv, Solve

Array = np.ndarray[Any, Any]
SHAPES = [(20, 1, 1), (9, 2, 2), (33, 3, 3), (2, 3, 5, 5), (17, 8, 8), (5, 17, 17), (9, 32, 32), (7, 6, 4), (7, 4, 6),
          (4, 31, 5), (4, 9, 32)]
SQUARE = [s for s in SHAPES if s[-1] == s[-2]]


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def both(f: Callable[..., Any], *x: Array) -> tuple[list[Array], list[Array]]:
    """Results of kernels of our own, and by LAPACK."""
    made: list[list[Array]] = []
    for backend in ("cpu", "reference"):
        y = st.compile(lambda *a: tuple(y) if isinstance(y := f(*a), tuple) else (y,), backend=backend)(
            *map(st.tensor, x))
        made.append([part.numpy() for part in y])
    return made[0], made[1]


def units(x: Array, y: Array, scale: Any = 1.0) -> float:
    """The largest difference by a scale of each matrix, in units of rounding."""
    return float((np.abs(x - y) / scale).max() / np.finfo(x.dtype).eps)


def conditions(x: Array) -> Array:
    return np.linalg.cond(x.astype(np.float64))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_solutions_are_lapack_s(shape: tuple[int, ...], dtype: str) -> None:
    n, x = shape[-1], drawn(shape, dtype)
    b, cond = drawn((*shape[:-1], 3), dtype, 1), conditions(x)[..., None, None]
    size = lambda y: np.abs(y).max((-1, -2), keepdims=True)
    for f, given in ((linalg.solve, (x, b)), (linalg.inv, (x,))):
        (y,), (law,) = both(f, *given)
        assert units(y, law, size(law) * cond) < 4
    (y,), (law,) = both(linalg.det, x)
    assert units(y, law, np.abs(law) * cond[..., 0, 0]) < 4
    (sign, log), law = both(linalg.slogdet, x)
    assert (sign == law[0]).all() and units(log, law[1], np.abs(law[1]) + cond[..., 0, 0]) < 4
    for upper in (False, True):
        for unit in (False, True):
            t = (np.triu(x, 1) if upper else np.tril(x, -1)) / n + np.eye(n, dtype=dtype)
            (y,), (law,) = both(partial(linalg.solve_triangular, upper=upper, unitriangular=unit), t, b)
            assert units(y, law, size(law)) < 50
    spd = x @ x.swapaxes(-1, -2) + np.eye(n, dtype=dtype)
    for upper in (False, True):
        (y,), (law,) = both(partial(linalg.cholesky, upper=upper), spd)
        assert units(y, law, size(law) * conditions(spd)[..., None, None]) < 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_are_lapack_s(shape: tuple[int, ...], dtype: str) -> None:
    """Matrices of ordinary numbers, of zeros, of low rank, and of very large and very small ones."""
    x, (m, n) = drawn(shape, dtype), shape[-2:]
    x[0], x[1, ..., -1] = 0, x[1, ..., 0]
    flat = x.reshape(-1, m, n)
    flat[2], flat[3] = flat[2] * np.float32(1e30), flat[3] * np.float32(1e-30)
    size = np.maximum(np.abs(x).max((-1, -2)), 1e-40)[..., None, None].astype(dtype)
    bound = 40 + 4 * max(m, n)

    def holds(y: Array, law: Any, scale: Any = 1.0) -> None:
        assert units(y, np.broadcast_to(law, y.shape), scale) < bound

    (q, r), _ = both(linalg.qr, x)
    holds(q @ (r / size), x / size), holds(q.swapaxes(-1, -2) @ q, np.eye(q.shape[-1], dtype=dtype))
    (p, low, up), _ = both(linalg.lu, x)
    assert (np.sort(p.argmax(-1)) == np.arange(m)).all() and (np.abs(low) <= 1).all()
    holds(p @ low @ (up / size), x / size)
    (u, s, v), law = both(lambda a: linalg.svd(a, full_matrices=False), x)
    holds(u * (s / size[..., 0])[..., None, :] @ v, x / size), holds(s, law[1], size[..., 0])
    holds(u.swapaxes(-1, -2) @ u, np.eye(min(m, n))), holds(v @ v.swapaxes(-1, -2), np.eye(min(m, n)))
    (s,), (law_s,) = both(linalg.svdvals, x)
    holds(s, law_s, size[..., 0])
    assert (s[..., :-1] >= s[..., 1:]).all() and (s >= 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_spectra_are_lapack_s(shape: tuple[int, ...], dtype: str) -> None:
    """Also of unit matrices, of zeros, of ones, of diagonal matrices and of low rank."""
    n, x = shape[-1], drawn(shape, dtype)
    x = x + x.swapaxes(-1, -2)
    if len(shape) == 3:
        for k, special in enumerate((np.eye(n), np.zeros((n, n)), np.ones((n, n)), np.diag(np.arange(n) - 1.0))):
            x[k] = special
    size = np.maximum(np.abs(x).max((-1, -2)), 1e-40)[..., None].astype(dtype)
    for triangle in "LU":
        half = (np.tril if triangle == "L" else np.triu)(x)
        (w, v), law = both(partial(linalg.eigh, UPLO=triangle), half)
        bound = 40 + 8 * n
        assert units(w, law[0], size) < bound and (np.diff(w) >= 0).all()
        assert units(v.swapaxes(-1, -2) @ v, np.broadcast_to(np.eye(n), v.shape)) < bound
        assert units(v * (w / size)[..., None, :] @ v.swapaxes(-1, -2), x / size[..., None]) < bound
        (w,), _ = both(partial(linalg.eigvalsh, UPLO=triangle), half)
        assert units(w, law[0], size) < bound


@pytest.mark.parametrize(("shape", "dtype"), [
    ((64, 2, 2), "float32"), ((64, 2, 2), "float64"), ((64, 3, 3), "float32"), ((64, 5, 5), "float64"),
    ((64, 8, 8), "float32"), ((64, 5, 3), "float64"), ((64, 3, 6), "float32")], ids=str)
def test_matrices_of_a_few_ones_have_factors(shape: tuple[int, ...], dtype: str) -> None:
    """Of less than full rank, nilpotent ones among them, and with columns of zeros."""
    rng, near = np.random.default_rng(0), {"atol": 200 * float(np.finfo(dtype).eps)}
    for drawn_from in ([0, 1], [0, 0, 0, 1], [0, 1, -1], [0, 1e-6, 1]):
        x = rng.choice(drawn_from, shape).astype(dtype)
        x[0] = np.eye(*shape[-2:], 1)
        u, values, v = (y.numpy() for y in linalg.svd(st.tensor(x), full_matrices=False))
        np.testing.assert_allclose((u * values[:, None, :]) @ v, x, **near)
        np.testing.assert_allclose(values, np.linalg.svd(x.astype("f8"))[1], **near)
        np.testing.assert_allclose(linalg.svdvals(st.tensor(x)).numpy(), values, **near)
        q, r = (y.numpy() for y in linalg.qr(st.tensor(x)))
        np.testing.assert_allclose(q @ r, x, **near)
        if shape[-1] == shape[-2]:
            whole = np.tril(x) + np.tril(x, -1).mT
            values, z = (y.numpy() for y in linalg.eigh(st.tensor(whole)))
            np.testing.assert_allclose((z * values[:, None, :]) @ z.mT, whole, **near)


def test_signs_of_vectors_are_those_of_lapack_s() -> None:
    x = drawn((20, 5, 5), "float64")
    for f in (lambda a: linalg.eigh(a + a.mT), linalg.svd):
        y, law = both(f, x)
        for one, other in zip(y, law):
            np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro"])
def test_condition_numbers_of_singular_matrices_are_numpys(p: Any) -> None:
    x = np.array([[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[1, 0], [0, 0]], [[2, 0], [0, 1]]], np.float32)
    want = np.linalg.cond(x.astype(np.float64), p)
    for f in (st.linalg.cond, st.compile(st.linalg.cond), st.compile(st.linalg.cond, backend="reference")):
        got = f(st.tensor(x), p).numpy()
        np.testing.assert_array_equal(got[1:], want[1:].astype(np.float32))
        assert got[0] == want[0] or np.isclose(min(got[0], 1 / got[0]), 0, atol=1e-6)   # singular up to rounding
    assert np.isfinite(st.grad(lambda x: st.linalg.cond(x, p).sum())(st.tensor(x[3:])).numpy()).all()


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_the_gradient_of_a_determinant_holds_for_singular_matrices(n: int) -> None:
    x = np.random.default_rng(0).integers(-2, 3, (20, n, n)).astype(np.float64)
    x[1], x[2, :, -1] = 0, x[2, :, 0]
    (y,), (law,) = both(st.grad(lambda a: st.sum(linalg.det(a))), x)
    np.testing.assert_allclose(y, law, atol=1e-9 * max(1, np.abs(law).max()))


def test_results_do_not_depend_on_threads_or_neighbours() -> None:
    x = drawn((301, 7, 7), "float32")
    before, f = st.get_threads(), st.compile(lambda a: (linalg.inv(a), *linalg.svd(a), *linalg.eigh(a)))
    try:
        seen = []
        for threads in (1, 3):
            st.set_threads(threads)
            seen.append([y.numpy() for y in f(st.tensor(x))])
        for one, other in zip(*seen):
            assert one.tobytes() == other.tobytes()
        turned = [y.numpy() for y in f(st.tensor(x[::-1].copy()))]
        for one, other in zip(seen[0], turned):
            assert one[::-1].tobytes() == other.tobytes()
    finally:
        st.set_threads(before)


def test_errors_are_those_of_lapack() -> None:
    x = drawn((40, 4, 4), "float32")
    for f, bad, lesson in ((linalg.inv, 0.0, r"inv of \(40, 4, 4\): .*singular"),
                           (linalg.cholesky, -1.0, "not positive definite"),
                           (linalg.eigh, np.nan, "eigh of .*, which holds NaN or infinities"),
                           (linalg.svd, np.inf, "svd of .*, which holds NaN or infinities"),
                           (lambda a: linalg.solve_triangular(a, a), 0.0, "zero stands on a diagonal")):
        y = x @ x.swapaxes(-1, -2) + np.eye(4, dtype="float32")
        y[17] = bad
        for backend in ("cpu", "reference"):
            with pytest.raises(np.linalg.LinAlgError, match=lesson) as caught:
                st.compile(f, backend=backend)(st.tensor(y))
            assert any("test_matrices.py" in note for note in caught.value.__notes__)


def test_cholesky_lets_nan_pass_as_lapack_does() -> None:
    y = np.eye(4, dtype="float64") + np.zeros((40, 4, 4))
    y[17, 3, 0] = y[18, 3, 3] = np.nan
    for backend in ("cpu", "reference"):
        factors = st.compile(linalg.cholesky, backend=backend)(st.tensor(y)).numpy()
        assert np.isnan(factors[17, 3, 0]) and np.isnan(factors[18, 3, 3])
        np.testing.assert_array_equal(factors[19], y[19])


def test_open_numbers_of_matrices() -> None:
    f = st.compile(lambda a: linalg.inv(a), dims={"a": {0: "n"}})
    for n in (1, 2, 15, 16, 17, 40):
        x = drawn((n, 4, 4), "float64") + 4 * np.eye(4)
        np.testing.assert_allclose(f(st.tensor(x)).numpy(), np.linalg.inv(x), atol=1e-12)


def test_which_matrices_are_small() -> None:
    def role(v: Value) -> Any:
        return role_of(v.args[0] if v.op.name == "Item" else v)

    def x(*shape: Any, dtype: Any = float32) -> Value:
        return parameter("x", Type(dtype, shape))

    n = sizes.size("n")
    for v in (Inv()(x(8, 8)), Inv()(x(2, 16, 16)), Cholesky("L")(x(n, 32, 32)), Eigh("L")(x(4, 32, 32, dtype=float64)),
              Qr(True)(x(4, 32, 5)), Lu()(x(2, 3, 8, 5)), Svd(False)(x(4, 6, 5)), Svd(True)(x(4, 6, 6))):
        assert role(v) is Matrices, v
    for v in (Inv()(x(9, 9)), Inv()(x(3, 32, 32)), Inv()(x(99, 33, 33)), Inv()(x(4, n, n)), Inv()(x(0, 3, 3)),
              Inv()(x(9, 3, 3, dtype=complex64)), Svd(True)(x(4, 6, 5)), Solve()(x(9, 3, 3), x(9, 3, 40))):
        assert role(v) is Host, v
