"""What the reference says of halves and of integers, where it could not say it or said it wrong."""
from __future__ import annotations

import numpy as np
import pytest

import stele as st
from stele.errors import GraphError


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_convolutions_of_halves_have_a_reference(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, w = (st.tensor(rng.uniform(-1, 1, s).astype("f4")).astype(dtype) for s in ((2, 4, 6, 5), (6, 2, 3, 3)))

    def slopes(x: st.Tensor, w: st.Tensor) -> tuple[st.Tensor, ...]:
        y = st.conv2d(x, w, padding=1, groups=2)
        return y, *st.gradients((y * y).astype("float32").sum(), [x, w])

    found = [st.compile(slopes, backend=b)(x, w) for b in ("cpu", "reference")]
    exact = st.compile(slopes, backend="reference")(x.float(), w.float())
    for native, law, wide in zip(*found, exact):
        assert native.dtype == law.dtype == x.dtype
        for y in (native, law):
            np.testing.assert_allclose(y.float().numpy(), wide.numpy(), atol=0.02 * float(st.abs(wide).max()))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32"])
def test_log_sigmoid_of_integers(dtype: str) -> None:
    x = st.tensor([0, 1, 1]).astype(dtype)
    for backend in ("cpu", "reference"):
        y = st.compile(st.log_sigmoid, backend=backend)(x)
        np.testing.assert_allclose(y.numpy(), -np.log1p(np.exp(-x.numpy().astype("f8"))), rtol=1e-6)


def test_the_derivative_in_the_exponent() -> None:
    """y log x: 0 at base 0, and not a number below."""
    x, z = st.tensor([2.0, 0.0, -2.0]), st.tensor([3.0, 2.0, 3.0])
    slope = st.grad(lambda z: (x ** z).sum())(z).numpy()
    np.testing.assert_allclose(slope, [8 * np.log(2), 0, np.nan], rtol=1e-6)


def test_gradients_of_what_was_looked_at() -> None:
    """A path that ends at a number computed before is an error, and no silent zero; with requires_grad it is kept."""
    for marked, expected in ((True, [3.0, 3.0]), (False, None)):
        x = st.tensor([1.0, 2.0], requires_grad=marked)
        y = x * 2
        y.numpy()
        loss = (y + x).sum()
        if expected is None:
            with pytest.raises(GraphError, match="requires_grad=True"):
                st.gradients(loss, x)
        else:
            assert st.gradients(loss, x).tolist() == expected
