"""Products with one column: each row's element is stored alone, for behind it stand results of other threads."""
from __future__ import annotations

import numpy as np
import pytest

import stele as st
from stele.backend.cpu.pool import current


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(4096, 64), (4, 4, 1, 7), (64, 3, 33)])
def test_one_column(dtype: str, shape: tuple[int, ...]) -> None:
    rng, before = np.random.default_rng(0), current().threads
    x = st.tensor(rng.uniform(-1, 1, shape).astype(dtype))
    w = st.tensor(rng.uniform(-1, 1, (shape[-1], 1)).astype(dtype))
    product = st.compile(lambda x, w: st.tanh(x) @ w)
    expected = np.tanh(x.numpy().astype("f8")) @ w.numpy().astype("f8")
    try:
        st.set_threads(1)
        alone = product(x, w).numpy().tobytes()
        np.testing.assert_allclose(product(x, w).numpy(), expected, atol=1e-2 if dtype == "float16" else 1e-5)
        for threads in (2, 4):
            st.set_threads(threads)
            assert all(product(x, w).numpy().tobytes() == alone for _ in range(30))
    finally:
        st.set_threads(before)
