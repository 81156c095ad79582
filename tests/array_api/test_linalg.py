"""The linear algebra extension as the array API standard words it, what goes beyond it, and derivatives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import stele as st
from stele import linalg
from stele.errors import DTypeError, GraphError, OptionError, ShapeError
from tests.styles import styles

Array = np.ndarray[Any, Any]
EXTENSION = """cholesky cross det diagonal eig eigvals eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"""
FLOATS = some.sampled_from(["float32", "float64"])
LEADS = some.sampled_from([(), (3,), (2, 3), (0,), (1, 0)])
SIDES = some.sampled_from([0, 1, 2, 5])
SEEDS = some.integers(0, 2**32 - 1)
checked = settings(max_examples=30, deadline=None)


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Normal numbers, or small whole ones for integers."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=shape) if dtype.startswith("float") else rng.integers(0, 5, shape)
    return made.astype(dtype)


def close(y: Any, x: Any, dtype: str, scale: float = 1.0) -> None:
    """Of the same shape, and equal but for rounding."""
    assert y.shape == np.shape(x)
    np.testing.assert_allclose(y, x, rtol=2e-3 if dtype == "float32" else 1e-8,
                               atol=scale * (2e-3 if dtype == "float32" else 1e-8))


def numbers(*results: st.Tensor) -> list[Array]:
    """Factors as arrays: NumPy multiplies them again."""
    return [y.numpy() for y in results]


def regular(lead: tuple[int, ...], n: int, dtype: str, seed: int) -> Array:
    """Square matrices that are far from singular."""
    return drawn((*lead, n, n), dtype, seed) + 3 * np.eye(n, dtype=dtype) * np.sqrt(max(n, 1)).astype(dtype)


def definite(lead: tuple[int, ...], n: int, dtype: str, seed: int) -> Array:
    x = drawn((*lead, n, n), dtype, seed)
    return x @ x.swapaxes(-1, -2) + np.eye(n, dtype=dtype)


def test_the_extension_is_whole() -> None:
    assert set(EXTENSION.split()) <= set(linalg.__all__)
    assert all(callable(getattr(st, name)) for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"))


@given(LEADS, SIDES, FLOATS, some.booleans(), SEEDS)
@checked
def test_cholesky(lead: Any, n: int, dtype: str, upper: bool, seed: int) -> None:
    x = definite(lead, n, dtype, seed)
    y = linalg.cholesky(st.tensor(x), upper=upper).numpy()
    assert y.dtype == dtype and y.shape == x.shape
    np.testing.assert_array_equal(y, (np.triu if upper else np.tril)(y))
    close(y.mT @ y if upper else y @ y.mT, x, dtype, 10)


@given(LEADS, SIDES, FLOATS, SEEDS)
@checked
def test_square_matrices(lead: Any, n: int, dtype: str, seed: int) -> None:
    x = regular(lead, n, dtype, seed)
    t = st.tensor(x)
    close(linalg.inv(t), np.linalg.inv(x), dtype)
    det = linalg.det(t)
    scale = max(1, abs(np.linalg.det(x)).max(initial=0))
    close(det.numpy() / scale, np.linalg.det(x) / scale, dtype)
    sign, logabsdet = linalg.slogdet(t)
    close(sign, np.linalg.slogdet(x)[0], dtype), close(logabsdet, np.linalg.slogdet(x)[1], dtype)
    assert det.dtype == sign.dtype == logabsdet.dtype == dtype
    P, L, U = numbers(*linalg.lu(t))
    close(P @ L @ U, x, dtype, 5)
    assert abs(L).max(initial=0) <= 1


@given(LEADS, SIDES, FLOATS, some.integers(-3, 5), SEEDS)
@checked
def test_matrix_power(lead: Any, n: int, dtype: str, k: int, seed: int) -> None:
    x = regular(lead, n, dtype, seed) / 3
    close(linalg.matrix_power(st.tensor(x), k), np.linalg.matrix_power(x, k), dtype, 10)


@given(LEADS, SIDES, some.one_of(some.none(), some.integers(0, 4)), FLOATS, FLOATS, SEEDS)
@checked
def test_solve(lead: Any, n: int, columns: int | None, one: str, other: str, seed: int) -> None:
    x = regular(lead, n, one, seed)
    b = drawn((n,) if columns is None else (*lead[1:], n, columns), other, seed + 1)
    y = linalg.solve(st.tensor(x), st.tensor(b))
    assert y.dtype == np.result_type(one, other).name
    close(y, np.linalg.solve(x, b), min(one, other))


@pytest.mark.parametrize("shape, side, made", [
    ((3, 2, 2), (2,), (3, 2)), ((2, 2, 2), (2, 2), (2, 2, 2)), ((0, 0, 0), (0, 0), (0, 0, 0)),
    ((4, 0, 0), (0, 3), (4, 0, 3)), ((0, 2, 2), (2, 3), (0, 2, 3)), ((3, 2, 2), (3, 2), (3, 2)),
    ((3, 0, 0), (3, 0), (3, 0))])
def test_what_solve_takes_for_vectors(shape: Any, side: Any, made: Any) -> None:
    x = np.broadcast_to(np.eye(shape[-1]) * 2, shape)
    assert linalg.solve(st.tensor(x), st.ones(side, dtype="float64")).shape == made


@given(LEADS, SIDES, SIDES, FLOATS, some.sampled_from(["reduced", "complete"]), SEEDS)
@checked
def test_qr(lead: Any, m: int, n: int, dtype: str, mode: str, seed: int) -> None:
    x = drawn((*lead, m, n), dtype, seed)
    Q, R = numbers(*linalg.qr(st.tensor(x), mode=mode))
    k = m if mode == "complete" else min(m, n)
    assert Q.shape == (*lead, m, k) and R.shape == (*lead, k, n) and Q.dtype == R.dtype == dtype
    close(Q @ R, x, dtype)
    close(Q.mT @ Q, np.broadcast_to(np.eye(k), (*lead, k, k)), dtype)
    np.testing.assert_array_equal(np.tril(R, -1), 0)


@given(LEADS, SIDES, SIDES, FLOATS, some.booleans(), SEEDS)
@checked
def test_svd(lead: Any, m: int, n: int, dtype: str, full: bool, seed: int) -> None:
    x, k = drawn((*lead, m, n), dtype, seed), min(m, n)
    U, S, Vh = numbers(*linalg.svd(st.tensor(x), full_matrices=full))
    assert U.shape == (*lead, m, m if full else k) and Vh.shape == (*lead, n if full else k, n)
    assert S.shape == (*lead, k)
    assert U.dtype == S.dtype == Vh.dtype == dtype
    close(U[..., :k] * S[..., None, :] @ Vh[..., :k, :], x, dtype)
    for q in (U, Vh.mT):
        close(q.mT @ q, np.broadcast_to(np.eye(q.shape[-1]), (*lead, q.shape[-1], q.shape[-1])), dtype)
    s = linalg.svdvals(st.tensor(x)).numpy()
    close(s, S, dtype)
    assert (np.diff(s, axis=-1) <= 0).all() and (s >= 0).all()


@given(LEADS, SIDES, FLOATS, SEEDS)
@checked
def test_eigh(lead: Any, n: int, dtype: str, seed: int) -> None:
    x = drawn((*lead, n, n), dtype, seed)
    x = x + x.swapaxes(-1, -2)
    w, v = numbers(*linalg.eigh(st.tensor(x)))
    assert w.shape == (*lead, n) and v.shape == x.shape and w.dtype == v.dtype == dtype
    close(x @ v, v * w[..., None, :], dtype, 5)
    close(linalg.eigvalsh(st.tensor(x)), w, dtype)
    assert (np.diff(w, axis=-1) >= 0).all()


@given(LEADS, SIDES, SIDES, FLOATS, some.sampled_from([None, 0.0, 0.2, 1.0, "array"]), SEEDS)
@checked
def test_pinv_and_rank(lead: Any, m: int, n: int, dtype: str, rtol: Any, seed: int) -> None:
    x = drawn((*lead, m, 2), dtype, seed) @ drawn((*lead, 2, n), dtype, seed + 1) if rtol is None else \
        drawn((*lead, m, n), dtype, seed)
    tolerance = np.full(lead, 0.3, dtype) if rtol == "array" else rtol
    given_ = st.tensor(tolerance) if rtol == "array" else rtol
    y = linalg.pinv(st.tensor(x), rtol=given_)
    s = np.linalg.svd(x, compute_uv=False)
    bound = max(m, n) * np.finfo(dtype).eps if rtol is None else tolerance
    count = (s > np.asarray(bound * s.max(-1, initial=0))[..., None]).sum(-1)
    rank = linalg.matrix_rank(st.tensor(x), rtol=given_)
    assert rank.dtype == "int64" and y.dtype == dtype and y.shape == (*lead, n, m)
    np.testing.assert_array_equal(rank.numpy(), count)
    smallest = np.where(np.arange(min(m, n)) < count[..., None], s, np.inf).min(initial=np.inf)
    if smallest > 0.1:
        close(y, np.linalg.pinv(x, rtol=bound), dtype, 10)


ALL_DTYPES = "int32 int64 uint8 float32 float64"


@given(LEADS, SIDES, SIDES, some.integers(-6, 6), some.sampled_from([*ALL_DTYPES.split(), "bool"]), SEEDS)
@checked
def test_diagonal_and_trace(lead: Any, m: int, n: int, offset: int, dtype: str, seed: int) -> None:
    x = drawn((*lead, m, n), dtype, seed)
    y = linalg.diagonal(st.tensor(x), offset=offset)
    law = np.diagonal(x, offset, -2, -1)
    assert y.dtype == dtype and y.shape == law.shape
    np.testing.assert_array_equal(y.numpy(), law)
    total = linalg.trace(st.tensor(x), offset=offset)
    assert total.dtype == (dtype if dtype.startswith("float") else total.dtype) and total.shape == lead
    np.testing.assert_allclose(total.numpy(), np.trace(x, offset, -2, -1), rtol=1e-4, atol=1e-4)
    wide = linalg.trace(st.tensor(x), offset=offset, dtype=st.float64)
    assert wide.dtype == "float64"
    np.testing.assert_allclose(wide.numpy(), np.trace(x, offset, -2, -1, np.float64), atol=1e-12)


def test_diagonals_keep_signs_of_zeros_and_infinities() -> None:
    x = np.array([[-0.0, np.nan], [np.inf, -0.0]], np.float32)
    np.testing.assert_array_equal(np.signbit(linalg.diagonal(st.tensor(x)).numpy()), True)


KINDS = some.sampled_from([("int32", "int64"), ("int64", "int64"), ("uint8", "uint8"), ("float32", "float64"),
                           ("float32", "float32"), ("int32", "int32")])


@given(LEADS, SIDES, some.integers(1, 3), KINDS, SEEDS)
@checked
def test_vecdot(lead: Any, n: int, back: int, kinds: Any, seed: int) -> None:
    shape = (*lead, n, *(2,) * (back - 1))
    x, z = drawn(shape, kinds[0], seed), drawn(shape[1:] if len(shape) > back else shape, kinds[1], seed + 1)
    for f in (st.vecdot, linalg.vecdot):
        y = f(st.tensor(x), st.tensor(z), axis=-back)
        law = np.multiply(x, z).sum(-back)
        assert y.dtype == np.result_type(*kinds).name and y.shape == law.shape
        np.testing.assert_allclose(y.numpy(), law, rtol=1e-4, atol=1e-4)


@given(some.lists(some.integers(0, 3), max_size=4), some.data(), KINDS, SEEDS)
@checked
def test_tensordot(shape: Any, data: Any, kinds: Any, seed: int) -> None:
    x = drawn(tuple(shape), kinds[0], seed)
    used = data.draw(some.lists(some.sampled_from(range(len(shape))), unique=True) if shape else some.just([]))
    rest = data.draw(some.lists(some.integers(0, 3), max_size=2))
    places = data.draw(some.permutations(range(len(used) + len(rest))))[:len(used)]
    sizes: list[int] = []
    others = iter(rest)
    for k in range(len(used) + len(rest)):
        sizes.append(shape[used[places.index(k)]] if k in places else next(others))
    z = drawn(tuple(sizes), kinds[1], seed + 1)
    axes = ([a - len(shape) if data.draw(some.booleans()) else a for a in used], list(places))
    y, law = st.tensordot(st.tensor(x), st.tensor(z), axes=axes), np.tensordot(x, z, axes)
    assert y.dtype == np.result_type(*kinds).name and y.shape == law.shape
    np.testing.assert_allclose(y.numpy(), law, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axes", [0, 1, 2])
def test_tensordot_of_a_number_of_axes(axes: int) -> None:
    x, z = drawn((2, 3, 4), "float64", 0), drawn((4,) if axes == 1 else (3, 4), "float64", 1)
    np.testing.assert_allclose(st.tensordot(st.tensor(x), st.tensor(z), axes=axes).numpy(),
                               np.tensordot(x, z, axes), rtol=1e-12)


@given(LEADS, some.integers(1, 3), KINDS, SEEDS)
@checked
def test_cross_and_outer(lead: Any, back: int, kinds: Any, seed: int) -> None:
    shape = (*lead, 3, *(2,) * (back - 1))
    x, z = drawn(shape, kinds[0], seed), drawn(shape[-back:], kinds[1], seed + 1)
    y = linalg.cross(st.tensor(x), st.tensor(z), axis=-back)
    both = np.broadcast_arrays(x, z)
    law = np.cross(*(v.astype(np.result_type(*kinds)) for v in both), axis=-back)
    assert y.dtype == np.result_type(*kinds).name and y.shape == law.shape
    np.testing.assert_allclose(y.numpy(), law, rtol=1e-4, atol=1e-4)
    a, b = drawn((3,), kinds[0], seed), drawn((back,), kinds[1], seed)
    assert linalg.outer(st.tensor(a), st.tensor(b)).dtype == np.result_type(*kinds).name
    np.testing.assert_allclose(linalg.outer(st.tensor(a), st.tensor(b)).numpy(), np.outer(a, b), rtol=1e-6)


ORDERS = some.sampled_from([np.inf, -np.inf, 0, 1, 2, 3, -1, -2, 0.5, 2.5])


@given(some.lists(some.integers(1, 3), min_size=1, max_size=3), some.data(), ORDERS, some.booleans(), FLOATS, SEEDS)
@checked
def test_vector_norm(shape: Any, data: Any, order: float, keepdims: bool, dtype: str, seed: int) -> None:
    x = drawn(tuple(shape), dtype, seed)
    axes = some.sampled_from(range(-len(shape), len(shape)))
    axis = data.draw(some.one_of(some.none(), axes, some.lists(axes, unique_by=lambda a: a % len(shape), min_size=1)
                                 .map(tuple)))
    y = linalg.vector_norm(st.tensor(x), axis=axis, keepdims=keepdims, ord=order)
    law = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=order)
    assert y.dtype == dtype and y.shape == law.shape
    np.testing.assert_allclose(y.numpy(), law, rtol=1e-4)


@pytest.mark.parametrize("order", [1, 2, 0.5, 3, np.inf, 0])
def test_the_norm_of_nothing_is_nothing(order: float) -> None:
    assert linalg.vector_norm(st.zeros(0), ord=order).tolist() == 0
    g = st.grad(lambda x: linalg.vector_norm(x, ord=order))(st.zeros(3))
    assert np.isfinite(g.numpy()).all()


@given(LEADS, some.integers(1, 4), some.integers(1, 4), some.sampled_from(
    ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]), some.booleans(), FLOATS, SEEDS)
@checked
def test_matrix_norm(lead: Any, m: int, n: int, order: Any, keepdims: bool, dtype: str, seed: int) -> None:
    x = drawn((*lead, m, n), dtype, seed)
    y = linalg.matrix_norm(st.tensor(x), ord=order, keepdims=keepdims)
    law = np.linalg.matrix_norm(x, ord=order, keepdims=keepdims)
    assert y.dtype == dtype and y.shape == law.shape
    np.testing.assert_allclose(y.numpy(), law, rtol=1e-3, atol=1e-5)
    turned = linalg.matrix_norm(st.tensor(np.moveaxis(x, -1, 0)), ord=order, axis=(-1, 0), keepdims=keepdims)
    np.testing.assert_allclose(turned.numpy().ravel(), law.ravel(), rtol=1e-3, atol=1e-5)


# Beyond the standard

X, B = regular((2,), 20, "float64", 0), drawn((2, 20, 3), "float64", 1)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_solve_triangular(upper: bool, unit: bool, left: bool) -> None:
    x = (X + 3 * np.eye(20)) / 20 if unit else X
    half = (np.triu if upper else np.tril)(x, (1 if upper else -1) if unit else 0) + unit * np.eye(20)
    b = B if left else B.swapaxes(-1, -2)
    y = linalg.solve_triangular(st.tensor(x), st.tensor(b), upper=upper, left=left, unitriangular=unit).numpy()
    np.testing.assert_allclose(half @ y if left else y @ half, b, atol=1e-9)


def test_factors_solve_again() -> None:
    a, b = definite((2,), 6, "float64", 3), B[:, :6]
    for upper in (False, True):
        y = linalg.cho_solve(linalg.cholesky(st.tensor(a), upper=upper), st.tensor(b), upper=upper)
        np.testing.assert_allclose(a @ y.numpy(), b, atol=1e-9)
    for n in (1, 6, 20, 50):
        x = regular((2,), n, "float64", n)[:, ::-1]
        factors = linalg.lu_factor(st.tensor(x))
        b = drawn((2, n, 3), "float64", n)
        np.testing.assert_allclose(x @ linalg.lu_solve(*factors, st.tensor(b)).numpy(), b, atol=1e-9)
        P, L, U = linalg.lu(st.tensor(x))
        np.testing.assert_allclose((P @ L @ U).numpy(), x, atol=1e-10)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 5, 3), (4, 4)])
def test_lstsq(shape: tuple[int, ...]) -> None:
    x, b = drawn(shape, "float64", 5), drawn((*shape[:-1], 2), "float64", 6)
    y = linalg.lstsq(st.tensor(x), st.tensor(b))
    np.testing.assert_allclose(y.solution.numpy(), np.linalg.pinv(x) @ b, atol=1e-9)
    np.testing.assert_allclose(y.residuals.numpy(), ((x @ y.solution.numpy() - b) ** 2).sum(-2), atol=1e-9)
    np.testing.assert_array_equal(y.rank.numpy(), np.linalg.matrix_rank(x))
    np.testing.assert_allclose(y.singular_values.numpy(), np.linalg.svd(x, compute_uv=False), atol=1e-9)
    one = linalg.lstsq(st.tensor(x), st.tensor(b[(0,) * (b.ndim - 2)][:, 0]))
    assert one.solution.shape == (*shape[:-2], shape[-1]) and one.residuals.shape == shape[:-2]


def test_expm() -> None:
    """By the spectrum, of matrices small and large; of what is not diagonalisable by its series."""
    for scale in (1e-3, 1.0, 30.0):
        x = drawn((3, 5, 5), "float64", 1) * scale
        s = x + x.swapaxes(-1, -2) - 2 * scale * np.eye(5)
        w, v = np.linalg.eigh(s)
        law = v * np.exp(w)[..., None, :] @ v.swapaxes(-1, -2)
        y = linalg.expm(st.tensor(s)).numpy()
        np.testing.assert_allclose(y, law, rtol=1e-10, atol=1e-12 * abs(law).max())
    shift = st.tensor([[0.0, 7.0, 0.0], [0.0, 0.0, 7.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(linalg.expm(shift).numpy(), [[1, 7, 24.5], [0, 1, 7], [0, 0, 1]], rtol=1e-6)


def test_products_of_several() -> None:
    xs = [drawn(s, "float64", k) for k, s in enumerate([(2, 30), (30, 4), (4, 50), (50, 3)])]
    law = np.linalg.multi_dot(xs)
    np.testing.assert_allclose(linalg.multi_dot([st.tensor(x) for x in xs]).numpy(), law, rtol=1e-10)
    ends = [xs[0][0], *xs[1:3], xs[3][:, 0]]
    np.testing.assert_allclose(linalg.multi_dot([st.tensor(x) for x in ends]).numpy(), np.linalg.multi_dot(ends),
                               rtol=1e-10)
    for a, b in (((2, 3), (4, 5)), ((3,), (2, 2)), ((2, 1, 3), (2, 2)), ((), (2,))):
        x, z = drawn(a, "float64", 0), drawn(b, "float64", 1)
        np.testing.assert_allclose(linalg.kron(st.tensor(x), st.tensor(z)).numpy(), np.kron(x, z), rtol=1e-12)


def test_householder_product() -> None:
    x = drawn((5, 3), "float64", 2)
    reflectors, tau = np.linalg.qr(x, mode="raw")
    y = linalg.householder_product(st.tensor(reflectors.T.copy()), st.tensor(tau))
    np.testing.assert_allclose(y.numpy(), np.linalg.qr(x)[0], atol=1e-12)


def test_norms_by_either_name() -> None:
    x = drawn((3, 4), "float64", 3)
    for given_ in ({}, {"ord": 1}, {"ord": "nuc"}, {"axis": 0}, {"axis": 1, "ord": 3}, {"axis": (0, 1), "ord": 2},
                   {"axis": (1, 0), "ord": 1}):
        found: Any = linalg.norm(st.tensor(x), **given_)
        np.testing.assert_allclose(found.numpy(), np.linalg.norm(x, **given_), rtol=1e-10)
    for p in (None, 2, -2, "fro", 1, -np.inf):
        found = linalg.cond(st.tensor(x[:, :3]), p=p)
        np.testing.assert_allclose(found.numpy(), np.linalg.cond(x[:, :3], p), rtol=1e-8)


# Styles, derivatives

S = definite((), 4, "float64", 9)
SMOOTH: dict[str, Callable[..., Any]] = {
    "log of a density": lambda x: (linalg.cho_solve(y := linalg.cholesky(x), st.arange(4)) ** 2).sum()
        + st.log(linalg.diagonal(y)).sum(),
    "det":              lambda x: linalg.det(x) + linalg.slogdet(x).logabsdet,
    "inverse":          lambda x: (linalg.inv(x) ** 3).sum() + linalg.cond(x, p=1),
    "eigenvalues":      lambda x: (linalg.eigvalsh(x) ** 3).sum() + linalg.eigh(x).eigenvectors[0, 1] ** 2,
    "singular values":  lambda x: (linalg.svd(x[:, :3], full_matrices=False).U[0] ** 2 * st.arange(3)).sum()
        + linalg.matrix_norm(x, ord="nuc"),
    "orthogonal":       lambda x: (linalg.qr(x[:, :2]).R ** 2).sum() + (linalg.qr(x[:2]).R[0, 3] ** 2),
    "lu":               lambda x: (linalg.lu(x).U ** 2).sum() + (linalg.lu(x[:3]).L ** 3).sum(),
    "least squares":    lambda x: (linalg.lstsq(x[:, :2], x[:, 3]).solution ** 2).sum(),
    "short":            lambda x: (linalg.pinv(x[:2]) ** 2).sum() + linalg.vector_norm(x, ord=3),
    "powers":           lambda x: (linalg.expm(x / 10) ** 2).sum() + (linalg.matrix_power(x, -2) ** 2).sum(),
    "products":         lambda x: (st.tensordot(x, x, axes=1) * linalg.kron(x[:2, :2], x[:2, :2])).sum()
        + linalg.trace(x, offset=1) + st.vecdot(x, x.T).sum() + linalg.cross(x[:3, 0], x[:3, 1]).prod(),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_in_every_style(name: str) -> None:
    """First and second, along symmetric directions, where both modes and differences agree."""
    f, v = SMOOTH[name], np.random.default_rng(1).normal(size=(4, 4))
    v = v + v.T
    slope = lambda x: (st.grad(f)(x) * v).sum()
    both = lambda g: lambda x: ((st.grad(g)(x) * v).sum(), st.jvp(g, (x,), (st.tensor(v),))[1])
    first, second = both(f), st.compile(both(slope))
    for g, made in ((f, first(st.tensor(S))), (slope, second(st.tensor(S)))):
        numeric = (float(g(st.tensor(S + 1e-5 * v))) - float(g(st.tensor(S - 1e-5 * v)))) / 2e-5
        np.testing.assert_allclose([float(y) for y in made], numeric, rtol=2e-5, atol=1e-6 * max(1, abs(numeric)))


@pytest.mark.parametrize("name", SMOOTH)
def test_every_style_and_backend(name: str) -> None:
    f, x = SMOOTH[name], st.tensor(S)
    symbol = st.placeholder((4, 4), "float64")
    made = [f(x), st.compile(f)(x), st.compile(f, backend="reference")(x), st.function([symbol], f(symbol))(x),
            st.scan(lambda c, _: (c + f(x), None), st.tensor(0.0, dtype="float64"), length=2)[0] / 2]
    np.testing.assert_allclose([float(y) for y in made], float(made[0]), rtol=1e-10)


def test_gradients_of_symmetric_matrices_are_symmetric() -> None:
    """PyTorch's convention: one triangle is read, and both have a gradient."""
    junk = S + np.triu(np.ones((4, 4)), 1)
    for f in (lambda x: st.log(linalg.diagonal(linalg.cholesky(x))).sum() * 2, lambda x: linalg.slogdet(x).logabsdet):
        np.testing.assert_allclose(st.grad(f)(st.tensor(S)).numpy(), np.linalg.inv(S), rtol=1e-9)
    for f in (lambda x: linalg.cholesky(x).sum(), lambda x: linalg.eigvalsh(x)[0], lambda x: linalg.eigh(x)[0][1]):
        np.testing.assert_array_equal(f(st.tensor(junk)).numpy(), f(st.tensor(S)).numpy())
        g = st.grad(f)(st.tensor(junk)).numpy()
        np.testing.assert_allclose(g, g.T, atol=1e-12)
    turned = linalg.eigvalsh(st.tensor(junk), UPLO="U").numpy()
    np.testing.assert_allclose(turned, np.linalg.eigvalsh(junk, "U"), rtol=1e-12)


def test_determinants_of_singular_matrices_have_gradients() -> None:
    """Of rank n - 1 the outer product of null vectors, of less rank zero; beside regular ones in one stack."""
    x = np.stack([S, np.diag([1.0, 2.0, 0.0, 3.0]), np.diag([1.0, 0.0, 0.0, 3.0]), np.zeros((4, 4))])
    g = st.grad(lambda x: linalg.det(x).sum())(st.tensor(x)).numpy()
    np.testing.assert_allclose(g[0], np.linalg.det(S) * np.linalg.inv(S), rtol=1e-9)
    np.testing.assert_allclose(g[1], np.diag([0, 0, 6.0, 0]), atol=1e-12)
    np.testing.assert_allclose(g[2:], 0, atol=1e-12)


def test_equal_eigenvalues_leave_gradients_finite() -> None:
    """What does not depend on the choice of eigenvectors: x itself, made again of them."""
    x = st.tensor(np.diag([2.0, 2.0, 5.0]))
    def again(x: Any) -> Any:
        w, v = linalg.eigh(x)
        return ((v * w) @ v.mT)[0, 1] + (v * w @ v.mT)[2, 2]
    g = st.grad(again)(x).numpy()
    assert np.isfinite(g).all()
    np.testing.assert_allclose(g[2, 2], 1)


def test_pinv_of_a_matrix_of_less_rank_has_its_gradient() -> None:
    a, b, v = (np.random.default_rng(k).normal(size=(4, 2)) for k in range(3))
    f = lambda a: (linalg.pinv(a @ st.tensor(b).mT, rtol=1e-8) ** 2).sum()
    numeric = (float(f(st.tensor(a + 1e-6 * v))) - float(f(st.tensor(a - 1e-6 * v)))) / 2e-6
    np.testing.assert_allclose(float((st.grad(f)(st.tensor(a)) * v).sum()), numeric, rtol=1e-5)


def test_one_program_for_all_sizes() -> None:
    f = st.compile(lambda x, z: (linalg.cholesky(x @ x.mT + st.eye(len(x), dtype=x.dtype)), linalg.svdvals(z),
                                 linalg.diagonal(x), linalg.qr(x).R, linalg.pinv(z), linalg.inv(x), linalg.lu(x).U,
                                 linalg.trace(x), linalg.slogdet(x), linalg.eigvalsh(x + x.mT), linalg.expm(x)),
                   dims={"x": {0: "n", 1: "n"}, "z": {0: "n"}})
    for n in (5, 3, 8):
        x, z = regular((), n, "float64", n), drawn((n, 3), "float64", n)
        made = f(st.tensor(x), st.tensor(z))
        np.testing.assert_allclose(made[1].numpy(), np.linalg.svd(z, compute_uv=False), rtol=1e-9)
        np.testing.assert_allclose(made[2].numpy(), np.diag(x))
        np.testing.assert_allclose(made[5].numpy(), np.linalg.inv(x), rtol=1e-9)
    assert f.compiles == 1


# Errors

@pytest.mark.parametrize("call, error, lesson", [
    (lambda: linalg.inv(st.ones(2, 2)).numpy(), np.linalg.LinAlgError, r"inv of \(2, 2\): .*singular.*st.linalg.pinv"),
    (lambda: linalg.cholesky(-st.eye(2)).numpy(), np.linalg.LinAlgError, r"not positive definite.*1e-6 \* st.eye"),
    (lambda: linalg.solve(st.zeros(2, 2), st.ones(2)).numpy(), np.linalg.LinAlgError, r"solve of \(2, 2\): .*singular"),
    (lambda: linalg.svd(st.full((2, 2), np.nan)).S.numpy(), np.linalg.LinAlgError, r"svd of .*NaN or infinities"),
    (lambda: linalg.eigh(st.full((2, 2), np.nan)).eigenvalues.numpy(), np.linalg.LinAlgError, "NaN or infinities"),
    (lambda: linalg.solve_triangular(st.zeros(2, 2), st.ones(2)).numpy(), np.linalg.LinAlgError, "zero.*diagonal"),
    (lambda: linalg.det(st.ones(2, 3)), ShapeError, r"det needs square matrices, got \(2, 3\)"),
    (lambda: linalg.eigh(st.ones(2, 3)), ShapeError, "eigh needs square matrices"),
    (lambda: linalg.cholesky(st.ones(3)), ShapeError, "cholesky needs an array of two axes or more"),
    (lambda: linalg.svd(st.ones(3)), ShapeError, "svd needs an array of two axes"),
    (lambda: linalg.inv(st.ones(2, 2, dtype="float16")), DTypeError, r"inv needs float32, float64 or complex.*astype"),
    (lambda: linalg.qr(st.ones(2, 2), mode="full"), OptionError, "mode of qr must be 'reduced', 'complete' or 'r'"),
    (lambda: linalg.matrix_norm(st.ones(2, 2), ord=3), OptionError, "ord of matrix_norm must be"),
    (lambda: linalg.norm(st.ones(2, 2, 2), ord=2), ShapeError, "vector_norm takes any axes"),
    (lambda: linalg.cross(st.ones(2), st.ones(2)), ShapeError, "three entries"),
    (lambda: st.vecdot(st.ones(2), st.ones(1)), ShapeError, "one size along axis -1"),
    (lambda: st.tensordot(st.ones(2, 3), st.ones(2), axes=1), ShapeError, "pairs of one size"),
    (lambda: linalg.outer(st.ones(2, 2), st.ones(2)), ShapeError, "two vectors"),
    (lambda: linalg.multi_dot([]), ShapeError, "at least one matrix"),
    (lambda: st.grad(lambda x: linalg.qr(x, mode="complete").Q.sum())(st.ones(3, 2)), GraphError, "has no derivative"),
    (lambda: linalg.lstsq(st.ones(3, 2), st.ones(2, 2)), ShapeError, r"lstsq needs x.shape\[-2\] == b.shape\[-2\]"),
    (lambda: linalg.eigh(st.eye(2), UPLO="l"), OptionError, "UPLO must be 'L' or 'U'"),
])
def test_errors_teach(call: Callable[[], Any], error: type[Exception], lesson: str) -> None:
    with pytest.raises(error, match=lesson):
        call()


def test_integers_are_computed_in_float32() -> None:
    assert linalg.inv(st.tensor([[2, 0], [0, 4]])).dtype == "float32"
    assert linalg.matrix_power(st.tensor([[1, 1], [1, 0]]), 10).tolist() == [[89, 55], [55, 34]]


# Complex numbers

Z = np.random.default_rng(4).normal(size=(4, 4)) + 1j * np.random.default_rng(5).normal(size=(4, 4))
HERMITIAN = Z @ Z.conj().T + np.eye(4)
COMPLEX: dict[str, tuple[Array, Callable[..., Any]]] = {
    "cholesky": (HERMITIAN, lambda x: (st.abs(linalg.cholesky(x)) ** 3).sum() + linalg.cholesky(x)[2, 1].real),
    "eigh":     (HERMITIAN, lambda x: st.abs(linalg.eigh(x).eigenvectors[0, 1]) ** 2 + (linalg.eigvalsh(x) ** 3).sum()),
    "eig":      (Z, lambda x: (st.abs(linalg.eig(x).eigenvectors[0]) ** 2).sum() + (linalg.eigvals(x) ** 3).sum().imag),
    "det":      (Z, lambda x: (linalg.det(x) * (1 + 2j)).real + (linalg.slogdet(x).sign * (2 - 1j)).imag),
    "inv":      (Z, lambda x: (linalg.inv(x) ** 2).sum().real + linalg.slogdet(x).logabsdet),
    "svd":      (Z[:, :3], lambda x: (linalg.svd(x).U[0, 0] * linalg.svd(x).Vh[0, 1]).real + linalg.svdvals(x)[1]),
    "qr":       (Z[:, :3], lambda x: (linalg.qr(x).Q[0, 1] * linalg.qr(x).R[1, 2]).real),
    "lu":       (Z, lambda x: (linalg.lu(x).U ** 2).sum().real + (linalg.lu(x).L ** 3).sum().imag),
    "pinv":     (Z[:, :2], lambda x: (linalg.pinv(x) ** 2).sum().real),
    "norms":    (Z, lambda x: linalg.vector_norm(x, ord=3) + linalg.matrix_norm(x) + linalg.cond(x)
                 + st.vecdot(x, x * x).sum().imag + (linalg.expm(x / 4) ** 2).sum().real),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_gradients_of_complex_matrices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's convention; both modes against differences."""
    monkeypatch.setenv("STELE_BACKEND", "reference")
    x, f = COMPLEX[name]
    rng = np.random.default_rng(6)
    v = rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)
    v = v + v.conj().T if x is HERMITIAN else v
    numeric = (float(f(st.tensor(x + 1e-5 * v))) - float(f(st.tensor(x - 1e-5 * v)))) / 2e-5
    made = [float((st.grad(f)(st.tensor(x)).numpy().conj() * v).sum().real),
            float(st.jvp(f, (st.tensor(x),), (st.tensor(v),))[1])]
    np.testing.assert_allclose(made, numeric, rtol=1e-5, atol=1e-6 * max(1, abs(numeric)))


@pytest.mark.parametrize(("name", "backend"), [*((name, "reference") for name in COMPLEX), ("svd", "cpu"),
                                               ("det", "cpu")])
def test_second_derivatives_of_complex_matrices(name: str, backend: str) -> None:
    """Both modes over the reverse one, against differences of that."""
    x, f = COMPLEX[name]
    rng = np.random.default_rng(6)
    v = rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)
    v = v + v.conj().T if x is HERMITIAN else v
    slope = lambda x: (st.grad(f)(x) * v.conj()).sum().real
    second = lambda x: ((st.grad(slope)(x) * v.conj()).sum().real, st.jvp(slope, (x,), (st.tensor(v),))[1])
    made = [float(y) for y in st.compile(second, backend=backend)(st.tensor(x))]
    ends = [float(st.compile(slope, backend=backend)(st.tensor(x + h * v))) for h in (1e-5, -1e-5)]
    numeric = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(made, numeric, rtol=1e-5, atol=1e-6 * max(1, abs(numeric)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_matrices_come_apart(dtype: str) -> None:
    x, h, eps = st.tensor(Z.astype(dtype)), st.tensor(HERMITIAN.astype(dtype)), 1e-4 if dtype == "complex64" else 1e-10
    w, v = linalg.eig(x)
    U, S, Vh = linalg.svd(x)
    y, real = linalg.cholesky(h), "float32" if dtype == "complex64" else "float64"
    assert w.dtype == v.dtype == U.dtype == y.dtype == dtype
    assert S.dtype == linalg.eigvalsh(h).dtype == linalg.slogdet(x).logabsdet.dtype == linalg.norm(x).dtype == real
    for made, law in ((x @ v, v * w[None]), (U * S @ Vh, x), (y @ y.mT.conj(), h), (linalg.inv(x) @ x, np.eye(4)),
                      (linalg.qr(x).Q @ linalg.qr(x).R, x)):
        np.testing.assert_allclose(made.numpy(), np.asarray(law), rtol=eps, atol=eps * 10)


@pytest.mark.parametrize("shapes", [((), (2, 3)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)),
                                    ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (5, 4, 2)), ((2, 0), (0, 3)),
                                    ((2, 1, 0), (3, 0, 2))], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "bool"])
def test_dot_is_numpys(shapes: Any, dtype: str) -> None:
    x, z = ((np.random.default_rng(k).standard_normal(s) * 3).astype(dtype) for k, s in enumerate(shapes))
    for style, (y,) in styles(st.dot, x, z):
        np.testing.assert_allclose(y, np.dot(x, z), rtol=1e-5, atol=1e-5, err_msg=style)
        assert y.dtype == np.dot(x, z).dtype


def test_dot_refuses_what_does_not_fit_and_has_gradients() -> None:
    with pytest.raises(ShapeError, match="as many columns of x as rows of z"):
        st.dot(st.ones(2, 3, 1), st.ones(4, 3, 5))
    g = st.grad(lambda x: st.dot(x, st.ones(4, 3, 5)).sum())(st.ones(2, 3))
    assert np.array_equal(g.numpy(), np.full((2, 3), 20))
