"""The BLAS behind its thin surface."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import config
from stele.backend.cpu import blas, image, jit, pool
from stele.backend.cpu.call import Frame
from stele.backend.cpu.target import detect
from stele.errors import DeviceError

ROW_MAJOR, AS_IS, TRANSPOSED = 101, 111, 112
GEMM = "void(*)(int, int, int, int, int, int, {0}, {0} *, int, {0} *, int, {0}, {0} *, int)"
needs_blas = pytest.mark.skipif(config.BLAS() == "none", reason="STELE_BLAS is none")


def gemm(a: Any, b: Any) -> Any:
    """`a @ b` by the library."""
    name, scalar = ("sgemm", "float") if a.dtype == np.float32 else ("dgemm", "double")
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    ta, lda, a = operand(a)
    tb, ldb, b = operand(b)
    data = [blas.ffi.cast(f"{scalar} *", x.ctypes.data) for x in (a, b, c)]
    call = blas.ffi.cast(GEMM.format(scalar), blas.address(name))
    call(ROW_MAJOR, ta, tb, *c.shape, a.shape[1], 1.0, data[0], lda, data[1], ldb, 0.0, data[2], max(c.shape[1], 1))
    return c


def operand(x: Any) -> tuple[int, int, Any]:
    """Transposition, leading dimension and the array itself, copied only if neither axis is contiguous."""
    if x.flags.f_contiguous and not x.flags.c_contiguous:
        return TRANSPOSED, max(x.shape[0], 1), x
    return AS_IS, max(x.shape[1], 1), np.ascontiguousarray(x)


@needs_blas
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (3, 5, 7), (64, 33, 17), (1, 100, 3), (4, 0, 2)])
def test_gemm_multiplies(dtype: type, m: int, k: int, n: int) -> None:
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((m, k)).astype(dtype), draw.standard_normal((k, n)).astype(dtype)
    strided = np.repeat(a, 2, axis=1)[:, ::2]
    for x in (a, np.asfortranarray(a), strided):
        for y in (b, np.asfortranarray(b)):
            assert np.allclose(gemm(x, y), a @ b, rtol=1e-4, atol=1e-5)


@needs_blas
def test_threads_may_call_it_at_once() -> None:
    a = np.random.default_rng(0).standard_normal((200, 200))
    with ThreadPoolExecutor(4) as threads:
        assert all(np.array_equal(x, gemm(a, a)) for x in threads.map(lambda _: gemm(a, a), range(16)))


PRODUCTS = """
declare void @pool_run(ptr, ptr, ptr, i64, ptr)
@alone = private constant [1 x i64] [i64 1]
define void @products(ptr %ctx, i64 %thread, i64 %begin, i64 %end, ptr %places) {
entry:
  %bufs = load ptr, ptr %ctx
  %gemm = load ptr, ptr %bufs
  %a.at = getelementptr ptr, ptr %bufs, i64 1
  %a = load ptr, ptr %a.at
  %c.at = getelementptr ptr, ptr %bufs, i64 2
  %c = load ptr, ptr %c.at
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %i1, %loop ]
  %skip = mul i64 %i, 1024
  %x = getelementptr float, ptr %a, i64 %skip
  %y = getelementptr float, ptr %c, i64 %skip
  call void %gemm(i32 101, i32 111, i32 111, i32 32, i32 32, i32 32,
                  float 1.0, ptr %x, i32 32, ptr %x, i32 32, float 0.0, ptr %y, i32 32)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %loop, label %out
out:
  ret void
}
define i32 @program(ptr %ctx, ptr %pool) {
  call void @pool_run(ptr %pool, ptr @products, ptr %ctx, i64 200, ptr getelementptr (i64, ptr @alone, i64 1))
  ret i32 0
}
"""


@needs_blas
def test_native_code_calls_it_on_every_thread() -> None:
    a = np.random.default_rng(0).standard_normal((200, 32, 32)).astype(np.float32)
    c = np.zeros_like(a)
    loaded = image.load(jit.compile_module(PRODUCTS, detect()), pool.imports())
    frame = Frame(buffers=3, sizes=0)
    frame.buffers[:] = blas.address("sgemm"), a.ctypes.data, c.ctypes.data
    assert frame.run(loaded["program"]) == 0
    assert np.allclose(c, a @ a, rtol=1e-4, atol=1e-4)


def test_a_wrong_name_teaches() -> None:
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


@pytest.mark.parametrize("name, says", [("/nowhere/libblas.so", "cannot load"), ("libc.so.6", "no cblas_sgemm")])
def test_a_library_that_will_not_do_teaches(name: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BLAS", name)
    with pytest.raises(DeviceError, match=says):
        blas.library()


SHAPES = [((64, 64), (64, 64)), ((300, 70), (70, 1100)), ((1, 400), (400, 200)), ((513, 129), (129, 7))]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_programs_call_it_for_wide_products_of_doubles(shapes: tuple[tuple[int, int], ...], left: bool,
                                                       right: bool) -> None:
    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal(shape) for shape in shapes)
    multiply = st.compile(lambda x, w: (x.T if left else x) @ (w.T if right else w) + 1)
    y = multiply(a.T if left else a, b.T if right else b)
    np.testing.assert_allclose(y.numpy(), a @ b + 1, rtol=1e-12, atol=1e-12)
    kinds = [note.kind for note in multiply.programs[0].report().kernels]
    assert ("library" in kinds) == (blas.library() is not None and a.shape[0] * b.size >= 1 << 16)


def test_products_of_floats_stay_ours_where_vectors_are_wide() -> None:
    x = np.ones((64, 64), np.float32)
    multiply = st.compile(lambda x: x @ x)
    multiply(x)
    kinds = [note.kind for note in multiply.programs[0].report().kernels]
    assert kinds == (["contraction"] if detect().vector_bytes > 16 or blas.library() is None else ["library"])
