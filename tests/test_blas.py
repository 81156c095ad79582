"""The BLAS behind its thin surface."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from stele.backend.cpu import blas
from stele.errors import DeviceError, DTypeError, ShapeError


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (3, 5, 7), (64, 33, 17), (1, 100, 3), (4, 0, 2)])
def test_gemm_multiplies(dtype: type, m: int, k: int, n: int) -> None:
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((m, k)).astype(dtype), draw.standard_normal((k, n)).astype(dtype)
    strided = np.repeat(a, 2, axis=1)[:, ::2]
    for x in (a, np.asfortranarray(a), strided):
        for y in (b, np.asfortranarray(b)):
            assert np.allclose(blas.gemm(x, y), a @ b, rtol=1e-4, atol=1e-5)


def test_threads_may_call_it_at_once() -> None:
    a = np.random.default_rng(0).standard_normal((200, 200))
    with ThreadPoolExecutor(4) as threads:
        assert all(np.array_equal(x, blas.gemm(a, a)) for x in threads.map(lambda _: blas.gemm(a, a), range(16)))


def test_wrong_operands_teach() -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ShapeError, match=r"got \(2, 3\) and \(2, 3\)"):
        blas.gemm(x, x)
    with pytest.raises(DTypeError, match="float32 and float64"):
        blas.gemm(x, np.ones((3, 2)))
    with pytest.raises(DeviceError, match="got zgemm"):
        blas.address("zgemm")


def test_the_library_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BLAS", "openblas")
    assert blas.address("sgemm") != blas.address("dgemm") != 0
    assert blas.describe()["library"] == "openblas" and "OpenBLAS" in blas.describe()["config"]
    monkeypatch.setenv("STELE_BLAS", blas.describe()["path"])
    assert blas.describe()["library"].startswith("libscipy_openblas")
    monkeypatch.setenv("STELE_BLAS", "none")
    assert blas.library() is None and blas.address("sgemm") == 0 and blas.describe() == {"library": "none"}
    with pytest.raises(DeviceError, match="there is no BLAS"):
        blas.gemm(np.ones((1, 1)), np.ones((1, 1)))


@pytest.mark.parametrize("name, says", [("/nowhere/libblas.so", "cannot load"), ("libc.so.6", "no cblas_sgemm")])
def test_a_library_that_will_not_do_teaches(name: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BLAS", name)
    with pytest.raises(DeviceError, match=says):
        blas.library()
