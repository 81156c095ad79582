"""Arrays of no axes and of no elements, zeros of either sign: the standard's functions beside NumPy, in every dtype."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

import stele as st
from stele.errors import ShapeError

REAL = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
ALL = (*REAL, "complex64", "complex128")
Call = Callable[..., Any]

# What takes an array of any shape, both of NumPy and of Stele; those of an axis stand below.
ANY: list[Call] = [
    lambda m, x: m.flip(x), lambda m, x: m.roll(x, 3), lambda m, x: m.tile(x, (2, 1)), lambda m, x: m.tile(x, ()),
    lambda m, x: m.repeat(x, 2), lambda m, x: m.repeat(x, np.array([2], "u1")),
    lambda m, x: m.reshape(x, (1, -1, 1) if x.size else (0, 5)), lambda m, x: m.stack([x, x], axis=-1),
    lambda m, x: m.concat([x, x], axis=None), lambda m, x: m.broadcast_to(x, (3, *x.shape)),
    lambda m, x: m.expand_dims(x, axis=-1), lambda m, x: m.squeeze(x[None, ..., None], axis=(0, -1)),
    lambda m, x: m.permute_dims(x, tuple(range(x.ndim))[::-1]), lambda m, x: m.zeros_like(x), lambda m, x: x[...],
    lambda m, x: x[None, ..., None], lambda m, x: x[m.asarray(True)], lambda m, x: x[m.asarray(False)],
    lambda m, x: m.where(m.asarray(True), x, x), lambda m, x: m.isin(x, x.reshape(-1)[:1]),
    lambda m, x: m.isin(x, x.reshape(-1)[:0], invert=True), lambda m, x: m.all(x), lambda m, x: m.any(x),
    lambda m, x: m.all(x, axis=()), lambda m, x: m.count_nonzero(x), lambda m, x: x == x,
    lambda m, x: m.not_equal(x, x), lambda m, x: m.unique_all(x)[0], lambda m, x: m.unique_inverse(x)[1],
    lambda m, x: m.unique_counts(x)[1], lambda m, x: m.astype(x, m.complex128), lambda m, x: m.astype(x, m.bool)]
ALONG: list[Call] = [
    lambda m, x: m.flip(x, axis=-1), lambda m, x: m.roll(x, -1, axis=0), lambda m, x: m.repeat(x, 2, axis=-1),
    lambda m, x: m.concat([x, x], axis=-1), lambda m, x: m.moveaxis(x, 0, -1), lambda m, x: m.all(x, axis=0),
    lambda m, x: m.any(x, axis=(-1,)), lambda m, x: m.count_nonzero(x, axis=0, keepdims=True),
    lambda m, x: m.nonzero(x)[0], lambda m, x: x[:0], lambda m, x: x[..., ::-1],
    lambda m, x: m.take(x, np.zeros(0, "i8"), axis=-1),
    lambda m, x: m.take_along_axis(x, np.zeros_like(x, "i8")[..., :0], axis=-1)]
NUMBERS: list[Call] = [
    lambda m, x: -x, lambda m, x: x * x, lambda m, x: m.square(x), lambda m, x: m.sum(x), lambda m, x: m.prod(x),
    lambda m, x: m.sum(x, axis=())]
SUMS: list[Call] = [
    lambda m, x: m.sum(x, axis=0), lambda m, x: m.prod(x, axis=-1, keepdims=True),
    lambda m, x: m.cumulative_sum(x, axis=-1), lambda m, x: m.cumulative_prod(x, axis=0, include_initial=True),
    lambda m, x: m.diff(x, axis=0, prepend=x, append=x)]
ORDERED: list[Call] = [
    lambda m, x: m.sort(x, axis=0), lambda m, x: m.sort(x.reshape(-1)), lambda m, x: m.argsort(x),
    lambda m, x: m.searchsorted(m.sort(x.reshape(-1)), x), lambda m, x: m.maximum(x, x)]


def same(y: Any, x: Any) -> None:
    """The same dtype, shape and elements."""
    x = np.asarray(x)
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    np.testing.assert_array_equal(y.numpy(), x)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (2, 3)])
@pytest.mark.parametrize("dtype", ALL)
def test_functions_of_any_shape(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    calls = [*ANY, *(NUMBERS if dtype != "bool" else ()), *(ALONG if shape else ()),
             *(SUMS if shape and dtype != "bool" else ()), *(ORDERED if shape and dtype in REAL else ())]
    for call in calls:
        same(call(st, st.asarray(x)), call(np, x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_statistics_of_nothing_are_nan(dtype: str) -> None:
    for f in (st.mean, st.var, st.std):
        same(f(st.zeros((0,), dtype=dtype)), np.array(np.nan, dtype))
        same(f(st.zeros((0, 3), dtype=dtype), axis=0), np.full(3, np.nan, dtype))
        same(f(st.zeros((0, 3), dtype=dtype), axis=1), np.zeros(0, dtype))
    for f in (st.max, st.min, st.argmax, st.argmin):
        with pytest.raises(ShapeError):
            f(st.zeros((0,), dtype=dtype))


@settings(max_examples=40)
@given(hs.integers(0, 5), hs.integers(0, 6) | hs.floats(0, 6), hs.sampled_from(["float32", "float64"]))
def test_a_variance_of_no_more_than_its_correction_is_nan(n: int, correction: float, dtype: str) -> None:
    x = np.arange(2.0 * n).reshape(2, n).astype(dtype)
    law = np.var(x, axis=1, ddof=correction) if n > correction else np.full(2, np.nan)
    for f, want in ((st.var, law), (st.std, np.sqrt(law))):
        for y in (f(st.asarray(x), axis=1, correction=correction),
                  st.compile(lambda x, f=f: f(x, axis=1, correction=correction))(st.asarray(x)),
                  st.compile(lambda x, f=f: f(x[:, :len(x[0])], axis=1, correction=correction))(st.asarray(x))):
            assert y.dtype == dtype
            np.testing.assert_allclose(y.numpy(), want, rtol=1e-5)


def test_parts_of_complex_numbers_are_averaged_by_themselves() -> None:
    for dtype in ("complex64", "complex128"):
        x = np.array([complex(math.nan, 1), complex(2, 3)], dtype)
        for backend in ("cpu", "reference"):
            y = st.compile(st.mean, backend=backend)(st.asarray(x))
            assert y.dtype == dtype and np.isnan(y.numpy().real) and y.numpy().imag == 2
        same(st.mean(st.zeros((0,), dtype=dtype)), np.array(complex(math.nan, math.nan), dtype))
        same(st.mean(st.asarray(x[1:]).reshape(1, 1), axis=0, keepdims=True), x[1:].reshape(1, 1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_zeros_keep_their_signs(dtype: str) -> None:
    """As written and compiled, with zeros that the program knows and those that it does not."""
    calls: dict[Call, list[float]] = {
        lambda x: x + 0.0: [0.0, 0.0, 0.0], lambda x: 0 + x: [0.0, 0.0, 0.0], lambda x: x + -0.0: [-0.0, 0.0, -0.0],
        lambda x: x - 0.0: [-0.0, 0.0, -0.0], lambda x: 0.0 - x: [0.0, 0.0, 0.0], lambda x: -0.0 - x: [0.0, -0.0, 0.0],
        lambda x: x + st.zeros_like(x): [0.0, 0.0, 0.0], lambda x: -(x - x): [-0.0, -0.0, -0.0],
        lambda x: x * 1: [-0.0, 0.0, -0.0], lambda x: x * -1: [0.0, -0.0, 0.0], lambda x: x / 1: [-0.0, 0.0, -0.0],
        lambda x: x ** 1: [-0.0, 0.0, -0.0], lambda x: x ** 2: [0.0, 0.0, 0.0], lambda x: x ** 0.5: [0.0, 0.0, 0.0]}
    x = st.tensor([-0.0, 0.0, -0.0], dtype=dtype)
    for call, want in calls.items():
        for y in (call(x), st.compile(call)(x)):
            assert y.numpy().astype("f8").tolist() == want and str(y.numpy().astype("f8").tolist()) == str(want)


def whole(x: float, z: float) -> float:
    """x // z, which at infinities is the floor of the quotient."""
    if math.isinf(x) or math.isinf(z) or z == 0 or x == 0:
        with np.errstate(all="ignore"):
            return float(np.float64(x) / np.float64(z))
    return x // z or math.copysign(0.0, x / z)


def rest(x: float, z: float) -> float:
    return math.nan if math.isinf(x) or z == 0 else x % z


FLOATS = hs.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, 3.0, -3.0]) | hs.floats(
    -1e6, 1e6, allow_subnormal=False)


@settings(max_examples=200)
@given(hs.lists(hs.tuples(FLOATS, FLOATS), min_size=1, max_size=8), hs.booleans())
def test_remainders_and_whole_quotients_are_python_s(pairs: list[tuple[float, float]], is_number: bool) -> None:
    x, z = (np.array(column) for column in zip(*pairs))
    if is_number:
        z = np.full_like(z, z[0])
    by: Any = float(z[0]) if is_number else st.asarray(z)
    for f, law in ((st.remainder, rest), (st.floor_divide, whole)):
        want = np.array([law(a, b) for a, b in zip(x.tolist(), z.tolist())])
        made = f(st.asarray(x), by).numpy()
        np.testing.assert_array_equal(made, want)
        np.testing.assert_array_equal(np.signbit(made) & ~np.isnan(made), np.signbit(want) & ~np.isnan(want))


# The exchange protocols' arguments

@pytest.mark.parametrize("dtype", ALL)
def test_every_argument_of_an_exchange(dtype: str) -> None:
    law = np.ones((2, 3), dtype)
    x = st.asarray(law)
    for options in ({}, {"stream": None}, {"max_version": None}, {"max_version": (0, 8)}, {"max_version": (1, 1)},
                    {"max_version": (2, 0)}, {"dl_device": (1, 0)}, {"dl_device": None}, {"copy": True},
                    {"copy": False}, {"copy": None, "dl_device": (1, 0), "max_version": (1, 0), "stream": None}):
        assert "dltensor" in str(x.__dlpack__(**options))
    for options in ({}, {"copy": None}, {"copy": True}, {"copy": False}, {"device": None}, {"device": x.device},
                    {"device": x.device, "copy": True}, {"device": x.device, "copy": False}):
        same(st.from_dlpack(x, **options), law)
        same(st.from_dlpack(law, **options), law)
    copied = st.from_dlpack(x, copy=True)
    copied[0, 0] = 0
    same(x, law)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    for other in (st.__array_namespace_info__().devices()):
        assert st.from_dlpack(x, device=other).device == other
    with pytest.raises(ValueError, match="copy=False"):
        st.asarray([1, 2], copy=False)
