"""Statistical and cumulative functions as the array API standard says them, on arrays that Hypothesis draws."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from hypothesis.extra import numpy as hnp

import stele as st
from stele.errors import OptionError, ShapeError
from stele.ops.quantiles import METHODS

FEW = settings(max_examples=30)
NUMBERS = {"f": hs.floats(-100, 100, width=16) | hs.sampled_from([np.nan, np.inf, -np.inf, -0.0]),
           "i": hs.integers(-9, 9), "u": hs.integers(0, 9)}


@hs.composite
def arrays(draw: Any, least_side: int = 0, dtypes: tuple[str, ...] = ("float32", "float64", "int32", "int64", "uint8")
           ) -> Any:
    dtype = np.dtype(draw(hs.sampled_from(dtypes)))
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=least_side, max_side=5))
    return draw(hnp.arrays(dtype, shape, elements=NUMBERS[dtype.kind]))


def close(y: Any, x: Any) -> None:
    y = y.numpy()
    assert y.shape == np.shape(x)
    np.testing.assert_allclose(y, x, rtol=2e-4, atol=1e-3)


def law(f: Any, x: Any, *args: Any, **rest: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(x.astype("f8") if x.dtype.kind == "f" else x, *args, **rest)


@hs.composite
def reduced(draw: Any, least_side: int = 0) -> Any:
    x = draw(arrays(least_side))
    axis = draw(hs.none() | hs.integers(-x.ndim, x.ndim - 1) | hs.just(tuple(range(x.ndim))))
    return x, axis, draw(hs.booleans())


@FEW
@given(reduced(), hs.sampled_from(["sum", "prod", "mean"]))
def test_sums_products_means(case: Any, name: str) -> None:
    x, axis, keepdims = case
    y = getattr(st, name)(st.tensor(x), axis=axis, keepdims=keepdims)
    close(y, law(getattr(np, name), x, axis=axis, keepdims=keepdims))
    assert x.dtype.kind != "f" or y.dtype == x.dtype


@FEW
@given(reduced(), hs.sampled_from(["float64", "int32", "int64"]))
def test_a_dtype_may_be_given(case: Any, name: str) -> None:
    x, axis, keepdims = case
    if x.dtype.kind == "f":
        name = "float64"
    for ours, theirs in ((st.sum, np.sum), (st.prod, np.prod)):
        y = ours(st.tensor(x), axis=axis, keepdims=keepdims, dtype=name)
        assert y.dtype == name
        np.testing.assert_allclose(y.numpy(), law(theirs, x.astype(name), axis=axis, keepdims=keepdims, dtype=name),
                                   rtol=1e-4)


@FEW
@given(reduced(least_side=1), hs.sampled_from([0, 1, 0.5]))
def test_extremes_and_spread(case: Any, correction: float) -> None:
    x, axis, keepdims = case
    for name in ("max", "min"):
        y = getattr(st, name)(st.tensor(x), axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(y.numpy(), getattr(np, name)(x, axis=axis, keepdims=keepdims))
        assert y.dtype == x.dtype
    if np.isfinite(x).all():
        for name in ("var", "std"):
            close(getattr(st, name)(st.tensor(x), axis=axis, keepdims=keepdims, correction=correction),
                  law(getattr(np, name), x, axis=axis, keepdims=keepdims, ddof=correction))


@FEW
@given(arrays(least_side=1), hs.data())
def test_places_of_extremes(x: Any, data: Any) -> None:
    axis, keepdims = data.draw(hs.none() | hs.integers(-x.ndim, x.ndim - 1)), data.draw(hs.booleans())
    for name in ("argmax", "argmin"):
        y = getattr(st, name)(st.tensor(x), axis=axis, keepdims=keepdims)
        assert y.dtype == st.int64
        np.testing.assert_array_equal(y.numpy(), getattr(np, name)(x, axis=axis, keepdims=keepdims))


@FEW
@given(arrays(), hs.data())
def test_running_totals(x: Any, data: Any) -> None:
    axis, initial = data.draw(hs.integers(-x.ndim, x.ndim - 1)), data.draw(hs.booleans())
    whole = {"f": x.dtype, "u": np.dtype(np.uint64)}.get(x.dtype.kind, np.dtype(np.int64))
    for ours, theirs, start in ((st.cumulative_sum, np.cumsum, 0), (st.cumulative_prod, np.cumprod, 1)):
        y = ours(st.tensor(x), axis=axis, include_initial=initial)
        e = law(theirs, x, axis=axis, dtype=whole)
        if initial:
            e = np.concatenate([np.full_like(np.take(e, [0] * 1, axis) if e.shape[axis] else
                                             np.zeros([1 if k == axis % x.ndim else n for k, n in enumerate(x.shape)],
                                                      e.dtype), start), e], axis)
        close(y, e)
        assert y.dtype == whole
    for ours, theirs in ((st.cummax, np.maximum), (st.cummin, np.minimum)):
        np.testing.assert_array_equal(ours(st.tensor(x), axis=axis).numpy(), theirs.accumulate(x, axis))


@FEW
@given(arrays(), hs.data())
def test_differences(x: Any, data: Any) -> None:
    axis, n = data.draw(hs.integers(-x.ndim, x.ndim - 1)), data.draw(hs.integers(0, 3))
    close(st.diff(st.tensor(x), axis=axis, n=n), law(np.diff, x, n=n, axis=axis))
    close(st.diff(st.tensor(x), axis=axis, prepend=st.tensor(x), append=st.tensor(x)),
          law(np.diff, x, axis=axis, prepend=x, append=x))


def test_an_axis_may_be_left_out_of_one_alone() -> None:
    assert st.cumulative_sum(st.tensor([1, 2])).tolist() == [1, 3]
    with pytest.raises(ShapeError, match="needs an axis"):
        st.cumulative_sum(st.ones((2, 2)))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_without_an_axis_numpys_names_run_through_all_elements(name: str) -> None:
    x = np.arange(1, 7, dtype="f4").reshape(2, 3)
    for found in (getattr(st, name)(st.tensor(x)), getattr(st.tensor(x), name)(),
                  st.compile(getattr(st, name))(st.tensor(x))):
        np.testing.assert_array_equal(found.numpy(), getattr(np, name)(x))
    for more in ({"axis": -1}, {"dim": 0}, {"axis": 0, "dtype": "f8"}, {"dtype": "i8"}):
        theirs = {"axis": more["dim"]} if "dim" in more else more
        found = getattr(st, name)(st.tensor(x), **more)
        want = getattr(np, name)(x, **theirs)
        np.testing.assert_array_equal(found.numpy(), want)
        assert found.dtype == want.dtype


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_are_those_of_numpy(method: str) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 10):
        x = rng.normal(size=(n, 3)).round(1)
        q = np.array([0, 0.1, 0.25, 0.5, 0.7, 1])
        close(st.quantile(st.tensor(x), q, axis=0, method=method), np.quantile(x, q, 0, method=method))
        y = np.where(rng.random(x.shape) < 0.3, np.nan, x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            close(st.nanquantile(st.tensor(y), q, axis=1, method=method), np.nanquantile(y, q, 1, method=method))
            close(st.quantile(st.tensor(y), 0.3, method=method, keepdims=True),
                  np.quantile(y, 0.3, method=method, keepdims=True))


def test_quantiles_say_what_is_wrong() -> None:
    x = st.tensor([1.0, 2.0])
    with pytest.raises(OptionError, match="Did you mean 'linear'"):
        st.quantile(x, 0.5, method="liner")
    with pytest.raises(ShapeError, match=r"st\.percentile"):
        st.quantile(x, 50)
    with pytest.raises(ShapeError, match="no elements"):
        st.median(st.zeros(0))


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd", "nanmedian"])
def test_what_leaves_nan_out(name: str) -> None:
    x = np.where(np.random.default_rng(0).random((4, 5)) < 0.4, np.nan, np.arange(20.0).reshape(4, 5))
    x[2] = np.nan
    for axis in (None, 0, 1):
        close(getattr(st, name)(st.tensor(x), axis=axis), law(getattr(np, name), x, axis=axis))
    whole = np.arange(6).reshape(2, 3)
    close(getattr(st, name)(st.tensor(whole), axis=1, keepdims=True), getattr(np, name)(whole, axis=1, keepdims=True))


def test_histograms() -> None:
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=1000), [np.nan])
    w = rng.random(1001)
    for bins, ends in ((10, (-2, 2)), (np.array([-1.0, 0, 0.5, 3]), None)):
        e = np.histogram(x, bins, ends)
        made = st.histogram(st.tensor(x), bins if isinstance(bins, int) else st.tensor(bins), range=ends)
        np.testing.assert_array_equal(made[0].numpy(), e[0])
        close(made[1], e[1])
        close(st.histogram(st.tensor(x), bins, range=ends, density=True)[0],
              np.histogram(x, bins, ends, density=True)[0])
        close(st.histogram(st.tensor(x), bins, range=ends, weights=w)[0], np.histogram(x, bins, ends, weights=w)[0])
    for edges in ([0, 1, 2.5], (0, 1, 2.5)):
        for made, e in zip(st.histogram(st.tensor(x), edges), np.histogram(x, edges)):
            close(made, e)
        close(st.histogram_bin_edges(st.tensor(x), edges), np.array(edges))
    x = x[:-1]
    for made, e in zip(st.histogram2d(st.tensor(x), st.tensor(x), [[0, 1], 3]), np.histogram2d(x, x, [[0, 1], 3])):
        close(made, e)
    assert st.histogram(st.tensor([3.0, 3.0]), 2)[0].tolist() == [0, 2]
    assert st.histogram(st.zeros(0), 2)[0].tolist() == [0, 0]


@FEW
@given(hs.lists(hs.integers(-3, 3), max_size=6), hs.booleans(), hs.booleans(),
       hnp.arrays("i8", (2, 4), elements=hs.integers(-4, 4)))
def test_a_bin_holds_its_smaller_edge_or_its_larger_one(edges: list[int], falls: bool, right: bool, x: Any) -> None:
    bins = np.array(sorted(edges, reverse=falls), "i8")
    np.testing.assert_array_equal(st.digitize(x, bins, right=right).numpy(), np.digitize(x, bins, right))


def test_quantiles_between_what_is_infinite() -> None:
    x = np.array([[-np.inf, 2.5, 5.8], [1.0, 2.0, np.inf], [-np.inf, 0.0, np.inf]])
    q = np.linspace(0, 1, 11)
    for method in ("linear", "hazen", "midpoint", "lower", "higher"):
        found = st.quantile(st.tensor(x), st.tensor(q), axis=1, method=method).numpy()
        with np.errstate(invalid="ignore"):
            wanted = np.quantile(x, q, axis=1, method=method)
        np.testing.assert_array_equal(np.where(np.isnan(wanted), np.nan, found), wanted)
        assert not np.isnan(found[[0, -1]]).any()       # NumPy's are, where a weight of 0 meets what is infinite


@pytest.mark.parametrize("f", [st.inner, st.vdot])
def test_a_row_of_one_is_not_repeated(f: Any) -> None:
    with pytest.raises(ShapeError, match=f.__name__):
        f(st.ones(1), st.ones(3))


def test_covariances() -> None:
    x = np.random.default_rng(0).normal(size=(3, 9))
    close(st.cov(st.tensor(x)), np.cov(x))
    close(st.cov(st.tensor(x[0])), np.cov(x[0]))
    close(st.cov(st.tensor(x), rowvar=False, correction=0), np.cov(x, rowvar=False, ddof=0))
    f, a = np.arange(1, 10), np.linspace(0.1, 1, 9)
    close(st.cov(st.tensor(x), fweights=f, aweights=a), np.cov(x, fweights=f, aweights=a))
    close(st.corrcoef(st.tensor(x)), np.corrcoef(x))
    y = x[:2] ** 2
    close(st.cov(st.tensor(x), st.tensor(y)), np.cov(x, y))
    close(st.corrcoef(st.tensor(x.T), st.tensor(y.T), rowvar=False), np.corrcoef(x.T, y.T, rowvar=False))
    close(st.corrcoef(st.tensor(x[0]), st.tensor(y[0])), np.corrcoef(x[0], y[0]))
    z = x + 1j * x[::-1] ** 2
    close(st.cov(st.tensor(z), aweights=a), np.cov(z, aweights=a))
    close(st.corrcoef(st.tensor(z)), np.corrcoef(z))
    close(st.corrcoef(st.tensor(z[0]), st.tensor(z[1])), np.corrcoef(z[0], z[1]))
    with pytest.raises(ShapeError, match="as many observations of y as of x"):
        st.cov(st.tensor(x), st.ones(3, 8))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_rows(mode: Any) -> None:
    rng = np.random.default_rng(0)
    for n, m in ((5, 3), (3, 5), (4, 4), (6, 1), (1, 1), (7, 4)):
        for kind in ("float64", "int64"):
            x, v = (rng.integers(-5, 5, k).astype(kind) for k in (n, m))
            close(st.convolve(st.tensor(x), st.tensor(v), mode=mode), np.convolve(x, v, mode))


def test_lines_through_points() -> None:
    x, xp, fp = np.array([-1.0, 0, 0.3, 1, 1.5, 2, 9, np.nan]), np.array([0.0, 1, 2]), np.array([5.0, 7, -1])
    close(st.interp(st.tensor(x), st.tensor(xp), st.tensor(fp)), np.interp(x, xp, fp))
    close(st.interp(st.tensor(x), st.tensor(xp), st.tensor(fp), left=0.0, right=-7.0), np.interp(x, xp, fp, 0, -7))
    close(st.interp(st.tensor(x[:-1]), st.tensor(xp[:1]), st.tensor(fp[:1])), np.interp(x[:-1], xp[:1], fp[:1]))
    for period in (3.0, -4.0):
        made = st.interp(st.tensor(x), st.tensor(xp), st.tensor(fp), left=7.0, period=period)
        close(made, np.interp(x, xp, fp, 7, period=period))
    with pytest.raises(st.errors.ArgumentError, match="period of 0"):
        st.interp(st.tensor(x), st.tensor(xp), st.tensor(fp), period=0)
