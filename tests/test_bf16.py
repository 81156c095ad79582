"""Products in bfloat16: operands rounded once, sums in float32, on CPUs that have it."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import stele as st
from stele.backend.cpu import tuned
from stele.backend.cpu.target import detect
from stele.errors import DeviceError

RNG = np.random.default_rng(0)
on_such_a_cpu = pytest.mark.skipif(not detect().bf16, reason="this CPU has no AVX512-BF16")


def rounded(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.astype(ml_dtypes.bfloat16).astype(np.float64)


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape, np.float32)


def close(y: Any, expected: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(y.numpy(), expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@on_such_a_cpu
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 7, 5), (64, 64, 64), (33, 129, 70), (100, 1, 17), (5, 257, 300),
                                   (16, 5001, 24)])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_those_of_rounded_operands(sizes: tuple[int, int, int], transposed: bool) -> None:
    m, k, n = sizes
    x, w = numbers(m, k), numbers(k, n)
    if transposed:
        f = st.compile(lambda x, w: x.T @ w.T, precision="bf16")
        y = f(np.ascontiguousarray(x.T), np.ascontiguousarray(w.T))
    else:
        y = st.compile(lambda x, w: x @ w, precision="bf16")(x, w)
    close(y, rounded(x) @ rounded(w))


@on_such_a_cpu
def test_with_all_that_fuses_and_any_number_of_rows() -> None:
    f = st.compile(lambda x, w, b: st.relu((x * 2) @ w + b), dims={"x": {0: "rows"}}, precision="bf16")
    w, b = numbers(35, 40), numbers(40)
    for rows in (1, 6, 50):
        x = numbers(rows, 35)
        close(f(x, w, b), np.maximum(rounded(x * 2) @ rounded(w) + b, 0))
    assert f.compiles <= 2
    x, w = numbers(3, 9, 11), numbers(3, 11, 13)
    close(st.compile(lambda x, w: x @ w, precision="bf16")(x, w), rounded(x) @ rounded(w))


@on_such_a_cpu
def test_results_do_not_depend_on_threads_and_float64_stays() -> None:
    f, x, w, threads = st.compile(lambda x, w: x @ w, precision="bf16"), numbers(200, 300), numbers(300, 100), \
        st.get_threads()
    try:
        st.set_threads(1)
        alone = f(x, w).numpy().copy()
        st.set_threads(3)
        np.testing.assert_array_equal(f(x, w).numpy(), alone)
    finally:
        st.set_threads(threads)
    x, w = x.astype(np.float64), w.astype(np.float64)
    np.testing.assert_allclose(f(x, w).numpy(), x @ w, rtol=1e-10, atol=1e-10)


@on_such_a_cpu
def test_gradients_go_through_products_in_bfloat16_too() -> None:
    x, w, g = numbers(20, 30), numbers(30, 10), numbers(20, 10)
    f = st.compile(st.grad(lambda w, x, g: ((x @ w) * g).sum()), precision="bf16")
    close(f(st.tensor(w), st.tensor(x), st.tensor(g)), rounded(x).T @ rounded(g))


def test_never_by_default_and_refused_where_it_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = numbers(64, 64), numbers(64, 64)
    np.testing.assert_allclose(st.compile(lambda x, w: x @ w)(x, w).numpy(), x.astype(np.float64) @ w, atol=1e-4)
    monkeypatch.setenv("STELE_TARGET", "x86-64-v3")
    with pytest.raises(DeviceError, match="AVX512-BF16"):
        st.compile(lambda x, w: x @ w, precision="bf16")(x, w)


@on_such_a_cpu
def test_products_in_loops_and_beside_a_tuned_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("STELE_CACHE", str(tmp_path))
    x, w = numbers(4, 64, 64), numbers(64, 64)
    f = st.compile(lambda x, w: st.scan(lambda s, row: (s + row @ w, None), x[0] * 0, x)[0], precision="bf16")
    close(f(x, w), np.sum([rounded(row) @ rounded(w) for row in x], axis=0))
    tuned.remember(tuned.here(), {"product 64x64x64 float32 Gemm(left=False, right=False)": 1})
    x = x[0]
    close(st.compile(lambda x, w: x @ w, precision="bf16")(x, w), rounded(x) @ rounded(w))
