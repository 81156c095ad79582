"""What PyTorch's calls ask of functions beside the standard: numbers as rows of one, positions, roundings."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

import stele as st
from stele.errors import BadAxis, OptionError, ShapeError

few = settings(max_examples=25, deadline=None)
wholes = arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=some.integers(-4, 4))
floats = arrays.arrays(np.float32, arrays.array_shapes(min_dims=1, max_dims=3, max_side=4),
                       elements=some.sampled_from([-2.5, -0.5, 0.0, 1.5, 7.0, float("nan")]))
X = st.tensor([[3.0, 1.0, 3.0], [2.0, 5.0, 4.0]])

OF_A_NUMBER: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (st.sum, st.prod, st.mean, st.max, st.min, st.std, st.logsumexp, st.nansum, st.nanmean,
                               st.median, st.nanmedian, st.cumulative_sum, st.cumulative_prod, st.logcumsumexp,
                               st.softmax, st.log_softmax, st.sort, st.cummax, st.flip)},
    "vector_norm": lambda x, axis: st.linalg.vector_norm(x, axis=axis),
    "squeeze": lambda x, axis: st.squeeze(x, axis, strict=False),
    "swapaxes": lambda x, axis: st.swapaxes(x, axis, axis),
    "moveaxis": lambda x, axis: st.moveaxis(x, axis, axis),
    "gather": lambda x, axis: st.gather(x, axis, st.tensor(0)),
    "index_select": lambda x, axis: st.index_select(x, axis, st.tensor(0)),
    "index_add": lambda x, axis: st.index_add(x, st.tensor(0), st.tensor(0.0), axis=axis),
    "topk": lambda x, axis: st.topk(x, 1, axis=axis)[0], "kthvalue": lambda x, axis: st.kthvalue(x, 1, axis=axis)[0],
    "max_pair": lambda x, axis: st.max(x, axis, return_indices=True)[0],
    "sort_pair": lambda x, axis: st.sort(x, axis, return_indices=True)[0],
}


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_a_number_has_an_axis_that_is_0_or_minus_1(name: str) -> None:
    f = OF_A_NUMBER[name]
    for x in (st.tensor(2.0), st.tensor(2.0, requires_grad=True)):
        for axis in (0, -1):
            y = f(x, axis)
            expected = {"softmax": 1.0, "log_softmax": 0.0, "std": 0.0}.get(name, 2.0)
            assert y.shape == () and float(y) == expected
    with pytest.raises(BadAxis):
        f(st.tensor(2.0), 1)


@few
@given(floats, some.data())
def test_positions_beside_values_are_those_of_argmax_and_argsort(x: Any, data: Any) -> None:
    axis = data.draw(some.integers(-x.ndim, x.ndim - 1))
    for f, law in ((st.max, np.argmax), (st.min, np.argmin)):
        y, i = f(st.tensor(x), axis, return_indices=True)
        at = law(x, axis)
        assert np.array_equal(i.numpy(), at)
        found = np.take_along_axis(x, np.expand_dims(at, axis), axis).squeeze(axis)
        assert np.array_equal(y.numpy(), found, equal_nan=True)
        y, i = f(st.tensor(x), None, True, return_indices=True)
        assert i.shape == (1,) * x.ndim and int(i.numpy().ravel()[0]) == law(x)
    y, i = st.sort(st.tensor(x), axis, return_indices=True)
    assert np.array_equal(i.numpy(), np.argsort(x, axis, kind="stable"))
    assert np.array_equal(y.numpy(), np.sort(x, axis), equal_nan=True)
    y, i = st.cummax(st.tensor(x), axis, return_indices=True)
    assert np.array_equal(np.take_along_axis(x, i.numpy(), axis), y.numpy(), equal_nan=True)


def test_a_position_has_the_gradient_alone() -> None:
    slope = st.grad(lambda x: st.max(x, 1, return_indices=True)[0].sum())(X)
    assert slope.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert st.grad(lambda x: st.max(x, 1).sum())(X).tolist() == [[0.5, 0, 0.5], [0, 1, 0]]


@few
@given(floats, some.booleans(), some.data())
def test_the_lower_median_is_an_element(x: Any, skips: bool, data: Any) -> None:
    axis = data.draw(some.one_of(some.none(), some.integers(-x.ndim, x.ndim - 1)))
    rows = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])

    def middle(row: Any) -> float:
        known = np.sort(row[~np.isnan(row)])
        return float("nan") if not len(known) or (len(known) < len(row) and not skips) else known[(len(known) - 1) // 2]
    expected = np.array([middle(row) for row in rows])
    y, i = (st.nanmedian if skips else st.median)(st.tensor(x), axis, method="lower", return_indices=True)
    assert np.array_equal(y.numpy().ravel(), expected, equal_nan=True)
    assert np.array_equal(rows[np.arange(len(rows)), i.numpy().ravel()], expected, equal_nan=True)


def test_the_lower_median_keeps_integers_and_others_have_no_position() -> None:
    assert st.median(st.tensor([4, 1, 3, 9]), method="lower").dtype == "int64"
    with pytest.raises(OptionError, match="Write 'lower'"):
        st.median(X, return_indices=True)


@few
@given(wholes, some.integers(-4, 4).filter(bool))
def test_quotients_of_integers_are_rounded_as_asked(x: Any, z: int) -> None:
    ours = st.divide(st.tensor(x), z, rounding_mode="trunc")
    assert ours.dtype == "int64" and np.array_equal(ours.numpy(), np.trunc(x / z))
    assert np.array_equal(st.divide(st.tensor(x), z, rounding_mode="floor").numpy(), x // z)


def test_quotients_of_floats_are_rounded_as_asked() -> None:
    x = st.tensor([7.5, -7.5, 1.0, 0.0])
    assert st.divide(x, st.tensor([2.0, 2.0, 0.0, 0.0]), rounding_mode="trunc").tolist()[:3] == [3, -3, float("inf")]
    with pytest.raises(OptionError, match="rounding_mode"):
        st.divide(x, 2, rounding_mode="ceil")


@few
@given(arrays.arrays(np.int64, 5, elements=some.integers(-10 ** 6, 10 ** 6)), some.integers(-8, 3))
def test_integers_are_rounded_to_tens(x: Any, decimals: int) -> None:
    assert np.array_equal(st.round(st.tensor(x), decimals=decimals).numpy(), np.round(x, decimals))


def test_numbers_are_rounded_to_decimals() -> None:
    x = np.array([1.255, -2.5, 1234.5], np.float64)
    for decimals in (-2, 0, 1, 2):
        assert np.array_equal(st.round(st.tensor(x), decimals=decimals).numpy(), np.round(x, decimals))
    assert st.round(st.tensor(np.array([100], "i1")), decimals=-5).tolist() == [0]


def test_sums_with_a_factor() -> None:
    assert st.add(st.tensor([1, 2]), st.tensor([3, 4]), alpha=10).tolist() == [31, 42]
    assert st.subtract(st.tensor([1.0]), 3, alpha=0.5).tolist() == [-0.5]
    nothing = st.full((2, 2), float("nan"))
    assert st.addmm(nothing, st.eye(2), st.ones(2, 2), beta=0).tolist() == [[1, 1], [1, 1]]
    assert st.addmm(st.ones(2), st.eye(2), st.tensor([3.0, 4.0]), beta=2).tolist() == [5, 6]


@few
@given(wholes, some.data())
def test_distinct_parts_of_an_axis(x: Any, data: Any) -> None:
    axis = data.draw(some.integers(-x.ndim, x.ndim - 1))
    law = np.unique(x, True, True, True, axis)
    ours = st.unique(st.tensor(x), return_index=True, return_inverse=True, return_counts=True, axis=axis)
    for y, z in zip(ours, law):
        assert np.array_equal(y.numpy(), np.reshape(z, y.shape))
    assert np.array_equal(st.argwhere(st.tensor(x)).numpy(), np.argwhere(x))


def test_distinct_rows_in_a_program() -> None:
    x = st.tensor([[2, 1], [1, 9], [2, 1]])
    rows, counts = st.compile(lambda x: st.unique(x, return_counts=True, axis=0, size=3))(x)
    assert rows.tolist() == [[1, 9], [2, 1], [1, 9]] and counts.tolist() == [1, 2, 0]
    assert st.unique(st.tensor([3, 1, 3])).tolist() == [1, 3]
    assert st.argwhere(st.tensor(5)).shape == (1, 0) and st.argwhere(st.tensor(0)).shape == (0, 0)


def test_positions_of_nothing_and_of_parts() -> None:
    nothing = st.zeros((0, 3, 2), dtype="int64")
    assert st.gather(X, 0, nothing).shape == (0, 3, 2)
    assert st.scatter(X, nothing, st.zeros(0, 3, 2), axis=1).tolist() == X.tolist()
    assert st.gather(X, 1, st.tensor([[2, 0]])).tolist() == [[3.0, 3.0]]
    assert st.index_add(st.zeros(3), st.tensor([1]), st.tensor([2.0]), alpha=3).tolist() == [0, 6, 0]
    assert st.take(X, st.tensor([0, -1])).tolist() == [3, 4]
    assert st.take_along_axis(X, st.tensor([5, 0]), axis=None).tolist() == [4, 3]
    edges = st.tensor([1.0, 3.0])
    assert st.bucketize(X, edges, out_int32=True).dtype == "int32"
    assert st.bucketize(X, edges, right=True).tolist() == np.digitize(X.numpy(), [1, 3]).tolist()


def test_shapes_in_pytorchs_habits() -> None:
    assert st.squeeze(st.zeros((1, 3, 1)), (0, 1), strict=False).shape == (3, 1)
    with pytest.raises(ShapeError):
        st.squeeze(st.zeros((1, 3, 1)), (0, 1))
    grid = st.meshgrid([st.tensor([1, 2]), st.tensor([3])], indexing="ij")
    assert [g.tolist() for g in grid] == [[[1], [2]], [[3], [3]]]
    assert st.concatenate([st.zeros(0), X], axis=1).shape == (2, 3) and st.concatenate([st.zeros(0)]).shape == (0,)
    assert st.tensordot(st.ones((2, 1)), st.ones((3, 2)), axes=([0, 1], [1, 0])).tolist() == 6
    assert st.unfold(st.tensor(2.0), 0, 1, 1).tolist() == [2.0] and st.unfold(X, 1, 0, 2).shape == (2, 2, 0)
    assert st.softmax(st.tensor([0, 0]), dtype="float64").tolist() == [0.5, 0.5]
    assert np.allclose(st.fft.fftn(X, axes=-1).numpy(), np.fft.fft(X.numpy()))


def test_matrices_in_pytorchs_habits() -> None:
    a = np.random.default_rng(0).normal(size=(2, 3, 3)).astype(np.float32)
    b = a[:, 0]
    y = st.linalg.solve(st.tensor(a), st.tensor(b)).numpy()
    assert np.allclose(y, np.linalg.solve(a, b[..., None])[..., 0], atol=1e-4)
    nothing, r = st.linalg.qr(st.tensor(a), mode="r")
    assert nothing.shape == (0,) and np.allclose(r.numpy(), np.linalg.qr(a).R, atol=1e-5)
    x = st.tensor([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.1]])
    assert st.linalg.matrix_rank(x, atol=0.5).tolist() == 2 and st.linalg.matrix_rank(x, rtol=0.5).tolist() == 1
    assert st.linalg.matrix_rank(x, atol=2, rtol=0.5).tolist() == 1 and st.linalg.matrix_rank(x, atol=0).tolist() == 3
    assert np.allclose(st.linalg.pinv(x, atol=0.5).numpy(), np.diag([1 / 3, 1, 0]))
    upper = st.tensor([[2.0, 9.0], [1.0, 2.0]])     # of which the lower half counts
    assert np.allclose(st.linalg.pinv(upper, hermitian=True).numpy(), np.linalg.inv([[2, 1], [1, 2]]))
    assert st.linalg.matrix_rank(st.tensor([[1.0, 9.0], [1.0, 1.0]]), hermitian=True).tolist() == 1
    U, S, Vh = st.linalg.svd(upper, hermitian=True)
    assert np.allclose((U * S @ Vh).numpy(), [[2, 1], [1, 2]]) and np.allclose(S.numpy(), [3, 1])
    assert np.allclose(st.norm(x).numpy(), np.sqrt(10.01)) and np.allclose(st.norm(x, "nuc").numpy(), 4.1)
    assert np.allclose(st.norm(x, 1, dtype="float64").numpy(), 4.1, atol=1e-6)
