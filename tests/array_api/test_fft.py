"""The Fourier transforms of the array API standard: NumPy's numbers in every form, dtypes, and derivatives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import stele as st
from stele import fft
from stele.errors import DTypeError, OptionError, ShapeError

Array = np.ndarray[Any, Any]
REAL, COMPLEX = some.sampled_from(["float32", "float64"]), some.sampled_from(["complex64", "complex128"])
NORMS, SEEDS = some.sampled_from(["backward", "ortho", "forward"]), some.integers(0, 2**32 - 1)
SHAPES = some.lists(some.integers(1, 5), min_size=1, max_size=3).map(tuple)
checked = settings(max_examples=40, deadline=None)


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def close(y: Any, law: Array) -> None:
    """NumPy's numbers, shape and dtype."""
    assert y.shape == law.shape and y.dtype == law.dtype.name
    tolerance = 1e-5 if law.dtype.name in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(y.numpy(), law, rtol=tolerance, atol=tolerance * max(1, abs(law).max(initial=0)))


@given(SHAPES, some.data(), NORMS, SEEDS)
@checked
def test_along_one_axis(shape: Any, data: Any, norm: str, seed: int) -> None:
    name = data.draw(some.sampled_from(["fft", "ifft", "hfft", "irfft", "rfft", "ihfft"]))
    x = drawn(shape, data.draw(REAL if name in ("rfft", "ihfft") else COMPLEX), seed)
    axis = data.draw(some.integers(-len(shape), len(shape) - 1))
    n = data.draw(some.one_of(some.none() if shape[axis] > 1 or name not in ("hfft", "irfft") else some.integers(1, 3),
                              some.integers(1, 7)))
    close(getattr(fft, name)(st.tensor(x), n=n, axis=axis, norm=norm), getattr(np.fft, name)(x, n, axis, norm))


@given(SHAPES, some.data(), NORMS, SEEDS)
@checked
def test_along_several_axes(shape: Any, data: Any, norm: str, seed: int) -> None:
    name = data.draw(some.sampled_from(["fftn", "ifftn", "rfftn", "irfftn"]))
    x = drawn(shape, data.draw(REAL if name == "rfftn" else COMPLEX), seed)
    axes = data.draw(some.lists(some.integers(-len(shape), -1), unique=True, min_size=1))
    s = data.draw(some.one_of(some.none(), some.lists(some.integers(1, 6), min_size=len(axes), max_size=len(axes))))
    if name == "irfftn" and s is None:
        s = [max(1, shape[a]) for a in axes]
    found = getattr(fft, name)(st.tensor(x), s=s, axes=axes, norm=norm)
    close(found, getattr(np.fft, name)(x, s, axes, norm))
    if s is None and len(axes) == len(shape) and sorted(axes) == axes:
        close(getattr(fft, name)(st.tensor(x), norm=norm), getattr(np.fft, name)(x, norm=norm))


@pytest.mark.parametrize("n", range(1, 8))
def test_frequencies_and_their_order(n: int) -> None:
    np.testing.assert_allclose(fft.fftfreq(n, d=0.3).numpy(), np.fft.fftfreq(n, 0.3), rtol=1e-6)
    np.testing.assert_allclose(fft.rfftfreq(n, d=0.3, dtype=st.float64).numpy(), np.fft.rfftfreq(n, 0.3), rtol=1e-15)
    assert fft.fftfreq(n).dtype == "float32"
    x = drawn((n, 3, 4), "float32", n)
    for axes in (None, 0, (0, 2), (-1,)):
        np.testing.assert_array_equal(fft.fftshift(st.tensor(x), axes=axes).numpy(), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(fft.ifftshift(st.tensor(x), axes=axes).numpy(), np.fft.ifftshift(x, axes))


def test_other_dtypes_become_complex64() -> None:
    for dtype in ("int32", "bool", "float16"):
        assert fft.fft(st.ones(3, dtype=dtype)).dtype == "complex64"
    assert fft.rfft(st.ones(3, dtype="int64")).dtype == "complex64" and fft.irfft(st.ones(3)).dtype == "float32"


SMOOTH: dict[str, Callable[[Any], Any]] = {
    "fft":   lambda x: (st.abs(fft.fft(x, n=6)) ** 2 * st.arange(6)).sum(),
    "rfft":  lambda x: (st.abs(fft.rfft(x, norm="ortho")) ** 2 * st.arange(3)).sum() + fft.rfft(x[:4])[1].imag ** 2,
    "irfft": lambda x: (fft.irfft(x * (1 + 2j), n=7) ** 3).sum() + (fft.irfft(x * 1j) ** 3).sum(),
    "hfft":  lambda x: (fft.hfft(x * (1 - 1j)) ** 3).sum() + st.abs(fft.ihfft(x)[1]) ** 4,
    "fftn":  lambda x: (fft.irfftn(fft.rfftn(x[:, None] * x) * (2 + 1j), s=(5, 5)) ** 3).sum(),
    "shift": lambda x: (fft.fftshift(fft.fft(x)) * st.arange(5)).real.sum() ** 2,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name: str) -> None:
    """First and second, of both modes, imperative and compiled."""
    f, x, v = SMOOTH[name], drawn((5,), "float64", 1), drawn((5,), "float64", 2)
    slope = lambda x: (st.grad(f)(x) * v).sum()
    for g in (f, slope):
        numeric = (float(g(st.tensor(x + 1e-5 * v))) - float(g(st.tensor(x - 1e-5 * v)))) / 2e-5
        made = [float((st.grad(g)(st.tensor(x)) * v).sum()), float(st.jvp(g, (st.tensor(x),), (st.tensor(v),))[1])]
        np.testing.assert_allclose(made, numeric, rtol=1e-6, atol=1e-6 * max(1, abs(numeric)))
    np.testing.assert_allclose(st.compile(st.grad(f))(st.tensor(x)).numpy(), st.grad(f)(st.tensor(x)).numpy(),
                               rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft"])
def test_gradients_of_complex_numbers(name: str) -> None:
    x, v = drawn((4,), "complex128", 1), drawn((4,), "complex128", 2)
    f = lambda x: (st.abs(getattr(fft, name)(x)) ** 3).sum()
    numeric = (float(f(st.tensor(x + 1e-6 * v))) - float(f(st.tensor(x - 1e-6 * v)))) / 2e-6
    g = st.grad(f)(st.tensor(x)).numpy()
    np.testing.assert_allclose((g.conj() * v).sum().real, numeric, rtol=1e-6)


def test_one_program_for_all_lengths() -> None:
    f = st.compile(lambda x: (fft.irfft(fft.rfft(x) * 2), fft.fft(x, axis=0)), dims={"x": {0: "n"}})
    for n in (4, 7, 1):
        x = drawn((n, 6), "float32", n)
        y, z = f(st.tensor(x))
        close(y, x * 2)
        close(z, np.fft.fft(x, axis=0))
    assert f.compiles == 1


@pytest.mark.parametrize("call, error, lesson", [
    (lambda: fft.fft(st.zeros(3, 0)), ShapeError, "needs one element or more"),
    (lambda: fft.fft(st.ones(3), n=0), ShapeError, "size of fft must be at least 1"),
    (lambda: fft.fft(st.ones(3), norm="orto"), OptionError, "Did you mean 'ortho'"),
    (lambda: fft.rfft(st.ones(3) * 1j), DTypeError, "rfft needs real numbers.*st.fft.fft"),
    (lambda: fft.fftn(st.ones(3, 3), s=(3,), axes=(0, 1)), ShapeError, "a size for each of 2 axes"),
    (lambda: fft.fft(st.ones(3), axis=1), ShapeError, "axis 1 is out of range"),
])
def test_errors_teach(call: Callable[[], Any], error: type[Exception], lesson: str) -> None:
    with pytest.raises(error, match=lesson):
        call()
