"""Indices of several dtypes, parts of open axes that may be empty, and elements picked out of integers."""
from __future__ import annotations

import numpy as np
import pytest

import stele as st
from stele.ir.types import REAL


@pytest.mark.parametrize("dtypes", [("int32", "uint8"), ("uint8", "uint8"), ("int64", "int32")])
def test_index_arrays_of_any_dtype_meet(dtypes: tuple[str, str]) -> None:
    x = np.arange(200 * 150, dtype="f4").reshape(200, 150)
    i, j = (np.array([199, 3, 100]).astype(dtypes[0]), np.array([149, 0, 7]).astype(dtypes[1]))
    for backend in ("cpu", "reference"):
        found = st.compile(lambda x, i, j: x[i, j], backend=backend)(x, i, j)
        assert (found.numpy() == x[i, j]).all()


@pytest.mark.parametrize("key", [slice(3, 0), slice(-2, 0), slice(-1, 1), slice(1, -2), slice(-2, 1, 2)])
def test_slices_of_open_axes_may_be_empty(key: slice) -> None:
    f = st.compile(lambda x: x[key] * 2)
    for n in (4, 7, 5, 1, 2, 3, 0):
        x = np.arange(n, dtype="f4")
        assert f(st.tensor(x)).tolist() == (x[key] * 2).tolist()


def test_an_open_axis_is_squeezed_where_it_is_one() -> None:
    f = st.compile(lambda x: st.squeeze(x) * 2)
    for n in (2, 9, 1, 3):
        assert f(st.ones(n, 3)).shape == np.squeeze(np.ones((n, 3))).shape


@pytest.mark.parametrize("dtype", [d.name for d in REAL])
def test_picked_elements_keep_their_dtype(dtype: str) -> None:
    x = st.tensor(np.arange(12).reshape(3, 4) % 5).astype(dtype)
    found = st.pick(x, st.tensor([3, 0, 2]))
    assert found.dtype == x.dtype
    assert found.astype("float32").tolist() == [x.astype("float32").tolist()[k][i] for k, i in enumerate((3, 0, 2))]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gelu_of_halves(dtype: str) -> None:
    x = st.tensor(np.linspace(-2, 2, 9)).astype(dtype)
    for approximate in ("none", "tanh"):
        y, law = (st.compile(lambda x: st.gelu(x, approximate), backend=b)(x) for b in ("cpu", "reference"))  # noqa: B023
        assert y.dtype == law.dtype == x.dtype
        np.testing.assert_allclose(y.float().numpy(), law.float().numpy(), atol=0.02)


def test_empty_slices_with_steps_of_open_axes_are_written() -> None:
    def f(x: st.Tensor) -> st.Tensor:
        y = x * 1
        y[2:1:3] = 7
        return y

    for backend in ("cpu", "reference"):
        compiled = st.compile(f, backend=backend)
        for n in (7, 1, 2, 5):
            assert compiled(st.tensor(np.arange(n, dtype="f4"))).tolist() == list(range(n))
