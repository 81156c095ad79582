"""Sorting, searching and sets as the array API standard says them, on arrays that Hypothesis draws."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from hypothesis.extra import numpy as hnp

import stele as st
from stele.errors import ArgumentError, BadAxis, IndexOutOfRange, ShapeError, TraceError

FEW = settings(max_examples=30)
DTYPES = ("float32", "float64", "int32", "int64", "uint8", "bool")
EDGES = {"f": [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan], "i": [0, 1, -1, 7], "u": [0, 1, 255],
         "b": [False, True]}


@hs.composite
def arrays(draw: Any, least: int = 1, dtypes: tuple[str, ...] = DTYPES) -> Any:
    """An array of few distinct elements, so that there are ties."""
    dtype = np.dtype(draw(hs.sampled_from(dtypes)))
    shape = draw(hnp.array_shapes(min_dims=least, max_dims=3, min_side=0, max_side=5))
    return draw(hnp.arrays(dtype, shape, elements=hs.sampled_from(EDGES[dtype.kind])))


def order(x: Any, axis: int, descending: bool) -> Any:
    """The law: equal elements, zeros of either sign among them, stay in order, and NaN is the largest."""
    flipped = np.flip(x, axis) if descending else x
    i = np.argsort(flipped, axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - i, axis) if descending else i


def same(y: Any, x: Any) -> None:
    """The same dtype, shape and bits; any NaN is one."""
    y = y.numpy()
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    np.testing.assert_array_equal(y, x)
    if x.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(y) & ~np.isnan(y), np.signbit(x) & ~np.isnan(x))


@FEW
@given(arrays(), hs.data())
def test_sort_and_argsort(x: Any, data: Any) -> None:
    axis, descending = data.draw(hs.integers(-x.ndim, x.ndim - 1)), data.draw(hs.booleans())
    i = order(x, axis, descending)
    same(st.argsort(st.tensor(x), axis=axis, descending=descending), i)
    same(st.sort(st.tensor(x), axis=axis, descending=descending, stable=False), np.take_along_axis(x, i, axis))


@FEW
@given(arrays(), hs.data())
def test_the_first_of_an_order(x: Any, data: Any) -> None:
    axis, largest = data.draw(hs.integers(-x.ndim, x.ndim - 1)), data.draw(hs.booleans())
    k = data.draw(hs.integers(0, x.shape[axis]))
    i = np.take(order(x, axis, largest), np.arange(k), axis)
    values, places = st.topk(st.tensor(x), k, axis=axis, largest=largest)
    same(values, np.take_along_axis(x, i, axis))
    same(places, i)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "uint32", "int64", "bool"])
def test_the_first_few_of_many(name: str) -> None:
    rng = np.random.default_rng(3)
    for n, k in ((8, 1), (100, 12), (1000, 2), (1203, 150)):
        drawn = rng.choice(EDGES["f"], (3, n)) if name[0] == "f" else rng.integers(0, 9, (3, n))
        x = drawn.astype(name)
        for rows in (x, np.sort(x, -1), rng.permuted(np.arange(3 * n).reshape(3, n), axis=1).astype(name)):
            for largest in (True, False):
                i = order(rows, 1, largest)[:, :k]
                same(st.topk(st.tensor(rows), k, largest=largest)[1], i)
        same(st.kthvalue(st.tensor(x), k, axis=1)[1], order(x, 1, False)[:, k - 1])


@FEW
@given(arrays(), arrays(least=0), hs.sampled_from(["left", "right"]), hs.booleans())
def test_searchsorted(x: Any, z: Any, side: Any, by: bool) -> None:
    x, z = x.reshape(-1), np.nan_to_num(z).astype(x.dtype)
    row, i = np.sort(x), np.argsort(x, kind="stable")
    made = st.searchsorted(st.tensor(x), st.tensor(z), side=side, sorter=st.tensor(i)) if by else \
        st.searchsorted(st.tensor(row), st.tensor(z), side=side)
    same(made, np.asarray(np.searchsorted(row, z, side)))


@FEW
@given(arrays(least=0))
def test_distinct_elements(x: Any) -> None:
    found = st.unique_all(st.tensor(x))
    values, indices, inverse, counts = (v.numpy() for v in found)
    law = np.unique(x, equal_nan=False)
    np.testing.assert_array_equal(values, law)
    assert values.dtype == x.dtype and (indices.dtype, inverse.dtype, counts.dtype) == (np.int64,) * 3
    assert inverse.shape == x.shape and counts.sum() == x.size
    np.testing.assert_array_equal(values[inverse], x)
    np.testing.assert_array_equal(x.reshape(-1)[indices], values)
    for k, (value, first) in enumerate(zip(values, indices)):
        if value == value:
            assert counts[k] == (x == value).sum() and first == np.flatnonzero(x.reshape(-1) == value)[0]
    same(st.unique_values(st.tensor(x)), values)
    same(st.unique_counts(st.tensor(x)).counts, counts)
    same(st.unique_inverse(st.tensor(x)).inverse_indices, inverse)


@FEW
@given(arrays())
def test_places_of_what_is_not_zero(x: Any) -> None:
    for rows, law in zip(st.nonzero(st.tensor(x)), np.nonzero(x), strict=True):
        same(rows, law)
    same(st.count_nonzero(st.tensor(x)), np.asarray(np.count_nonzero(x)))
    same(st.count_nonzero(st.tensor(x), axis=-1, keepdims=True), np.asarray(np.count_nonzero(x, -1, keepdims=True)))


@FEW
@given(arrays())
def test_a_condition_alone_has_places(x: Any) -> None:
    for rows, law in zip(st.where(st.tensor(x)), np.where(x), strict=True):
        same(rows, law)


def test_a_condition_and_one_operand_are_no_question() -> None:
    x = st.tensor([0.0, 3.0])
    for ask in (lambda: st.where(x > 0, x), lambda: st.where(x > 0, z=x)):
        with pytest.raises(ArgumentError, match="a condition alone"):
            ask()
    with pytest.raises(TraceError, match=r"st\.nonzero\(x, size=n\)"):
        st.compile(lambda x: st.where(x))(x)


@FEW
@given(arrays(least=0), arrays(least=0), hs.booleans())
def test_isin(x: Any, z: Any, invert: bool) -> None:
    z = np.nan_to_num(z).astype(x.dtype)
    same(st.isin(st.tensor(x), st.tensor(z), invert=invert), np.isin(x, z, invert=invert))


@FEW
@given(arrays(), hs.data())
def test_elements_along_an_axis(x: Any, data: Any) -> None:
    axis = data.draw(hs.integers(0, x.ndim - 1))
    n = x.shape[axis]
    shape = tuple((data.draw(hs.integers(0, 4)) if n else 0) if k == axis else m for k, m in enumerate(x.shape))
    i = data.draw(hnp.arrays(np.int64, shape, elements=hs.integers(-n, max(n - 1, -n))))
    same(st.take_along_axis(st.tensor(x), st.tensor(i), axis=axis), np.take_along_axis(x, i, axis))


# Sizes that numbers decide

def test_compiled_results_have_a_stated_size() -> None:
    x = st.tensor([0.0, 3.0, 0.0, 1.0])
    for size, law in ((2, [1, 3]), (3, [1, 3, -1]), (6, [1, 3, -1, -1, -1, -1])):
        assert st.compile(lambda x, size=size: st.nonzero(x, size=size, fill=-1)[0])(x).tolist() == law
    f = st.compile(lambda x: st.nonzero(x, size=1))
    with pytest.raises(ShapeError, match=r"2 elements were found.*size=2"):
        f(x)
    with pytest.raises(TraceError, match=r"st\.nonzero\(x, size=n\)"):
        st.compile(lambda x: st.nonzero(x))(x)
    with pytest.raises(TraceError, match=r"st\.unique_all\(x, size=n\)"):
        st.compile(lambda x: st.unique_all(x).values)(x)
    found = st.compile(lambda x: tuple(st.unique_all(x, size=4)))(x)
    assert [v.tolist() for v in found] == [[0, 1, 3, 0], [0, 3, 1, 0], [0, 2, 0, 1], [2, 1, 1, 0]]
    with pytest.raises(ShapeError, match="3 elements were found"):
        st.compile(lambda x: st.unique_values(x, size=2))(x)
    assert st.compile(lambda x: st.bincount(x, size=3))(st.tensor([0, 2, 2])).tolist() == [1, 0, 2]
    with pytest.raises(IndexOutOfRange):
        st.compile(lambda x: st.bincount(x, size=2))(st.tensor([0, 2, 2]))


@pytest.mark.parametrize("name", ["sort", "argsort", "cumulative_sum", "cumulative_prod", "cummax", "cummin",
                                  "logcumsumexp"])
def test_a_number_has_one_axis(name: str) -> None:
    f, x = getattr(st, name), st.tensor(3.0)
    assert f(x, axis=0).tolist() == f(x, axis=-1).tolist() == (0 if name == "argsort" else 3)
    for axis in (1, -2):
        with pytest.raises(BadAxis, match=f"axis {axis} is out of range"):
            f(x, axis=axis)


def test_a_row_has_positions_of_half_a_word() -> None:
    for f in (st.sort, st.argsort, lambda x: st.topk(x, 3)):
        with pytest.raises(ShapeError, match=r"less than 2\*\*32 elements"):
            f(st.placeholder((2**32,), dtype="uint8"))


def test_all_elements_are_partitioned_without_an_axis() -> None:
    x = np.array([[3, 1, 2], [5, 0, 4]])
    assert st.partition(st.tensor(x), 4, axis=None).tolist() == [0, 1, 2, 3, 4, 5]
    assert st.argpartition(st.tensor(x), [0, -1], axis=None).tolist() == [4, 1, 2, 0, 5, 3]
    for k, axis, n in ((6, None, 6), (3, -1, 3), (-3, 0, 2)):
        with pytest.raises(ShapeError, match=f"element {k} in order of {n}: there is none"):
            st.partition(st.tensor(x), k, axis=axis)


def test_a_number_has_no_places() -> None:
    with pytest.raises(ShapeError, match="one axis or more"):
        st.nonzero(st.tensor(3.0))


# Rows that digits sort, in several chunks

@pytest.mark.parametrize("name", ["float32", "float64", "int64", "uint8", "float16"])
def test_long_rows(name: str) -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(2, 70_001)) * 50).astype(name if name != "uint8" else "int64").astype(name)
    if x.dtype.kind == "f":
        x = np.where(rng.random(x.shape) < 0.01, np.nan, np.round(x)).astype(name)
    for descending in (False, True):
        i = order(x, 1, descending)
        same(st.argsort(st.tensor(x), descending=descending), i)
        same(st.sort(st.tensor(x), descending=descending), np.take_along_axis(x, i, 1))


# Gradients

def numeric(f: Any, x: Any, step: float = 1e-4) -> Any:
    """Central differences."""
    slopes = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[k] = step
        slopes[k] = (f(x + e) - f(x - e)) / (2 * step)
    return slopes


X = np.random.default_rng(3).normal(size=(3, 4))
W = np.random.default_rng(4).normal(size=(3, 4))
I = np.argsort(W, 1)
SMOOTH: dict[str, Any] = {
    "sort": lambda x: (st.sort(x, axis=0) ** 2 * W).sum(),
    "descending": lambda x: (st.sort(x, descending=True) ** 3 * W).sum(),
    "topk": lambda x: (st.topk(x, 2)[0] ** 2 * W[:, :2]).sum(),
    "kthvalue": lambda x: (st.kthvalue(x, 2)[0] ** 2).sum(),
    "take_along_axis": lambda x: (st.take_along_axis(x ** 2, I[:, :2], axis=1) * W[:, :2]).sum(),
    "scatter": lambda x: (st.scatter(st.tensor(W), I, x ** 2, axis=1) * W).sum(),
    "scatter_add": lambda x: (st.scatter(x, I // 2, x ** 2, axis=1, mode="add") ** 2).sum(),
    "scatter_max": lambda x: (st.scatter(x, I // 2, x * 2, axis=1, mode="max") ** 2).sum(),
    "scatter_mul": lambda x: (st.scatter(x, I // 2, x + 1, axis=1, mode="mul") ** 2).sum(),
    "segment_prod": lambda x: (st.segment_prod(x, np.array([1, 0, 1]), 2) ** 2).sum(),
    "segment_min": lambda x: (st.segment_min(x, np.array([1, 0, 1]), 2) ** 2).sum(),
    "cumulative_sum": lambda x: (st.cumulative_sum(x, axis=1) ** 2 * W).sum(),
    "cumulative_prod": lambda x: (st.cumulative_prod(x, axis=1) * W).sum(),
    "cummin": lambda x: (st.cummin(x, axis=0) ** 2 * W).sum(),
    "logcumsumexp": lambda x: (st.logcumsumexp(x, axis=1) * W).sum(),
    "median": lambda x: (st.median(x, axis=0) ** 2).sum() + st.median(x) ** 2,
    "quantile": lambda x: (st.quantile(x, [0.1, 0.6], axis=1) ** 2).sum(),
    "nanstd": lambda x: st.nanstd(x, axis=0).sum(),
    "cov": lambda x: (st.cov(x) ** 2).sum(),
    "interp": lambda x: st.interp(x, np.array([-1.0, 0, 1]), np.array([1.0, 5, 2])).sum(),
    "convolve": lambda x: (st.convolve(x[0], x[1]) ** 2).sum(),
    "trapezoid": lambda x: (st.trapezoid(x, x ** 2, axis=0) ** 2).sum(),
    "unique_values": lambda x: (st.unique_values(x)[:5] ** 2).sum(),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_both_modes_and_second_order(name: str) -> None:
    f = SMOOTH[name]
    x, dx = st.tensor(X), st.tensor(np.cos(X))
    g = st.grad(f)(x)
    np.testing.assert_allclose(g.numpy(), numeric(lambda x: float(f(st.tensor(x))), X), rtol=1e-5, atol=1e-6)
    if name == "unique_values":
        return
    np.testing.assert_allclose(float(st.jvp(f, (x,), (dx,))[1]), float((g * dx).sum()), rtol=1e-8)
    slopes = st.grad(lambda x: (st.grad(f)(x) * dx).sum())(x)
    law = numeric(lambda x: float((st.grad(f)(st.tensor(x)) * dx).sum()), X)
    np.testing.assert_allclose(slopes.numpy(), law, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("x", [[0.0, 2, 3], [2.0, 0, 3], [0.0, 0, 3], [2.0, 0, 0], [0.0, 0, 0]])
def test_products_with_zeros_have_their_gradients(x: Any) -> None:
    w = np.array([1.0, 10, 100])
    for f in (lambda x: (st.cumulative_prod(x) * w).sum(), lambda x: st.segment_prod(x, np.array([0, 0, 0]), 1).sum()):
        law = numeric(lambda x, f=f: float(f(st.tensor(x))), np.array(x))
        np.testing.assert_allclose(st.grad(f)(st.tensor(np.array(x))).numpy(), law, atol=1e-6)


@pytest.mark.parametrize("name", ["float32", "int16", "bool"])
def test_places_of_many(name: str) -> None:
    rng = np.random.default_rng(5)
    for n in (63, 64, 100, 16_384, 40_003):
        for most in (1, 3, 200):
            x = (rng.integers(0, 200, n) < most).astype(name)
            same(st.nonzero(st.tensor(x))[0], np.flatnonzero(x))
            made = st.compile(lambda x, n=n: st.nonzero(x, size=n, fill=-1)[0])(st.tensor(x)).numpy()
            assert (made[:np.count_nonzero(x)] == np.flatnonzero(x)).all() and (made[np.count_nonzero(x):] == -1).all()
