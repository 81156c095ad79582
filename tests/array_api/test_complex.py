"""Complex numbers: what the array API standard says of them, NumPy's arithmetic as the law, PyTorch's gradients."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import DTypeError, SteleError

Z = np.array([1 + 2j, 3 - 1j, -2 + 0.5j, 0.25 - 4j], np.complex64)


def given(x: Any) -> Any:
    """The numbers of a tensor with its dtype."""
    return x.numpy(), x.dtype.name


@pytest.mark.parametrize(("a", "b", "both"), [
    ("float32", "complex64", "complex64"), ("float64", "complex64", "complex128"), ("bool", "complex64", "complex64"),
    ("int64", "complex64", "complex64"), ("float16", "complex64", "complex64"), ("float32", "complex128", "complex128"),
    ("complex64", "complex128", "complex128")])
def test_a_complex_dtype_meets_others_in_its_parts(a: str, b: str, both: str) -> None:
    assert (st.ones(2, dtype=a) + st.ones(2, dtype=b)).dtype == both
    assert (st.ones(2, dtype=b) * st.ones(2, dtype=a)).dtype == both


def test_python_numbers_are_weak() -> None:
    assert (st.ones(2) * 1j).dtype == "complex64" and (st.ones(2, dtype="float64") + 1j).dtype == "complex128"
    assert (st.ones(2, dtype="complex64") * 2.0).dtype == "complex64"
    assert (st.ones(2, dtype="int64") + 1j).dtype == "complex64"
    assert st.tensor(1 + 2j).dtype == "complex64" and st.tensor(np.array([1j])).dtype == "complex128"


def test_creation_parts_and_looking() -> None:
    z = st.tensor([1 + 2j, complex(-0.0, float("inf"))])
    assert z.dtype == "complex64" and repr(z[:1]) == "tensor([1.+2.j], dtype=complex64)" and complex(z[0]) == 1 + 2j
    assert z.tolist() == [1 + 2j, complex(0, float("inf"))] and z.real.dtype == z.imag.dtype == "float32"
    assert np.signbit(z.real.numpy()).tolist() == [False, True]
    for made, wanted in ((st.zeros(2, dtype="complex64"), [0j, 0j]), (st.ones(1, dtype="complex128"), [1 + 0j]),
                         (st.full((2,), 1j), [1j, 1j]), (st.full_like(z, 2), [2 + 0j] * 2),
                         (st.eye(1, dtype="complex64"), [[1 + 0j]])):
        assert made.tolist() == wanted and made.dtype.is_complex
    np.testing.assert_array_equal(np.from_dlpack(st.tensor(Z)), Z)
    np.testing.assert_array_equal(st.from_dlpack(Z).numpy(), Z)


@pytest.mark.parametrize("ask", [
    lambda z: z < z, lambda z: st.maximum(z, 1), lambda z: z.max(), lambda z: st.argmin(z), lambda z: st.floor(z),
    lambda z: z.astype("float32"), lambda z: float(z[0]), lambda z: int(z[0]), lambda z: z // 2, lambda z: z % 2,
    lambda z: st.clip(z, 0, 1), lambda z: st.softmax(z), lambda z: z & z, lambda z: st.complex(z, z),
    lambda z: st.tensor([1j], dtype="float32"), lambda z: st.ones(2).__iadd__(z[:2]), lambda z: st.erf(z)])
def test_what_complex_numbers_have_not_is_refused_and_said(ask: Any) -> None:
    with pytest.raises(SteleError, match=r"real|keeps the dtype|integer") as error:
        ask(st.tensor(Z))
    assert error.value.hint


def test_a_gradient_starts_from_a_real_number() -> None:
    z = st.tensor(Z, requires_grad=True)
    for ask in (lambda: st.grad(lambda z: z.sum())(st.tensor(Z)), lambda: (z * z).sum().backward()):
        with pytest.raises(DTypeError, match="starts from a real number"):
            ask()


def test_the_gradient_is_the_direction_of_steepest_ascent() -> None:
    """Of |z|^2 it is 2z, as in PyTorch; JAX gives its conjugate."""
    for f in (lambda z: (st.abs(z) ** 2).sum(), lambda z: (z * z.conj()).real.sum(),
              lambda z: (z.real ** 2 + z.imag ** 2).sum()):
        np.testing.assert_allclose(st.grad(f)(st.tensor(Z)).numpy(), 2 * Z, rtol=1e-6)
    z = st.tensor(Z, requires_grad=True)
    (st.abs(z) ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * Z, rtol=1e-6)
