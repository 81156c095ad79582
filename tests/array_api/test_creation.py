"""Functions that make arrays, from the standard's text, with NumPy as the oracle where it says the same."""
from __future__ import annotations

import array
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

import stele as st
from stele.errors import ArgumentError, CopyError, DTypeError, OptionError, ShapeError
from stele.ir.types import DTYPES
from tests.styles import all_give

REAL = [n for n, d in DTYPES.items() if d.kind in "biuf"]
INTEGERS = [n for n, d in DTYPES.items() if d.kind in "iu"]
SHAPES = some.one_of(some.integers(0, 5), arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
SCALARS = {"b": [True, False], "i": [-128, 0, 127], "u": [0, 255], "f": [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan]}


def same(x: st.Tensor, want: Any) -> None:
    """Asserts dtype, shape and numbers, signs of zeros too."""
    want = np.asarray(want)
    assert x.dtype == want.dtype and x.shape == want.shape
    got = x.numpy()
    if x.dtype.is_float:
        got, want = got.astype("f8"), want.astype("f8")
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    np.testing.assert_array_equal(got, want)


@given(SHAPES, some.sampled_from([None, *REAL]))
def test_zeros_ones_empty(shape: Any, name: str | None) -> None:
    kind = DTYPES[name or "float32"].numpy
    for dtype in (name, kind, name and getattr(st, name)):
        same(st.zeros(shape, dtype=dtype), np.zeros(shape, kind))
        same(st.ones(shape=shape, dtype=dtype), np.ones(shape, kind))
        made = st.empty(shape, dtype=dtype)
        assert (made.shape, made.dtype) == (np.zeros(shape).shape, kind)
    for f, law in ((st.zeros_like, np.zeros), (st.ones_like, np.ones)):
        x = st.full(shape, 3, dtype="int16")
        same(f(x), law(shape, "int16"))
        same(f(x, dtype=name), law(shape, DTYPES[name].numpy if name else "int16"))
    assert st.empty_like(st.ones(shape), dtype=name).dtype == (name or "float32")


@given(SHAPES, some.sampled_from(REAL), some.data())
def test_full(shape: Any, name: str, data: some.DataObject) -> None:
    number = data.draw(some.sampled_from(SCALARS[DTYPES[name].kind]))
    want = np.full(shape, number, DTYPES[name].numpy)
    same(st.full(shape, number, dtype=name), want)
    same(st.full_like(st.zeros(shape, dtype=name), number), want)
    same(st.full_like(st.zeros(shape), fill_value=number, dtype=name), want)
    usual = {"b": "bool", "i": "int64", "u": "int64", "f": "float32"}[DTYPES[name].kind]
    assert st.full(shape, fill_value=number).dtype == usual


@settings(max_examples=200)
@given(some.integers(-40, 40), some.one_of(some.none(), some.integers(-40, 40)),
       some.integers(-9, 9).filter(bool), some.sampled_from([None, *REAL[1:]]))
def test_arange_of_whole_numbers(start: int, stop: int | None, step: int, name: str | None) -> None:
    numbers = range(start) if stop is None else range(start, stop, step)
    args = (start,) if stop is None else (start, stop, step)
    dtype = DTYPES[name or "int64"]
    if any(n < 0 for n in numbers) and dtype.kind == "u":
        return
    same(st.arange(*args, dtype=name), np.array([*numbers], dtype.numpy))


@given(some.floats(-20, 20, width=32), some.floats(-20, 20, width=32),
       some.floats(-3, 3, width=32).filter(lambda s: abs(s) > 0.01), some.sampled_from(["float32", "float64"]))
def test_arange_of_fractions(start: float, stop: float, step: float, name: str) -> None:
    x = st.arange(start, stop, step, dtype=name)
    n = max(0, math.ceil((stop - start) / step))
    assert x.shape == (n,) and x.dtype == name
    np.testing.assert_allclose(x.numpy(), start + step * np.arange(n), rtol=1e-6, atol=1e-5)


@settings(max_examples=200)
@given(some.floats(width=32, allow_nan=False, allow_infinity=False),
       some.floats(width=32, allow_nan=False, allow_infinity=False), some.integers(0, 9), some.booleans(),
       some.sampled_from([None, "float32", "float64"]))
def test_linspace_has_its_ends(start: float, stop: float, num: int, endpoint: bool, name: str | None) -> None:
    x = st.linspace(start, stop, num, dtype=name, endpoint=endpoint)
    assert x.shape == (num,) and x.dtype == (name or "float32")
    if num:
        assert float(x[0]) == start
    if num > 1 and endpoint:
        assert float(x[-1]) == stop
    if not endpoint:
        longer = st.linspace(start, stop, num + 1, dtype=name)[:-1]
        np.testing.assert_allclose(x.numpy(), longer.numpy(), rtol=1e-6, atol=abs(stop - start) * 1e-6 + 1e-30)


@pytest.mark.parametrize("num", [0, 1, 2, 5])
@pytest.mark.parametrize("start, stop, more", [
    (0, 1, {}), (3.0, -1, {"endpoint": False}), (0, 10, {"dtype": "i4"}), (1, 2j, {"dtype": "c16"}),
    (np.zeros(2), np.array([1.0, 4.0]), {"dtype": "f8"}), ([0, 1], [2, 5], {})])
def test_linspace_says_its_step_as_numpys(start: Any, stop: Any, more: dict[str, Any], num: int) -> None:
    for found, want in zip(st.linspace(start, stop, num, retstep=True, **more),
                           np.linspace(start, stop, num, retstep=True, **more)):
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-6)
        assert found.shape == np.shape(want) or num < 2


def test_the_step_of_linspace_in_a_program() -> None:
    f: Any = lambda x: (lambda line, step: line * step)(*st.linspace(x, 3.0, 4, retstep=True))
    assert st.compile(f)(st.tensor(0.0)).tolist() == f(st.tensor(0.0)).tolist() == [0, 1, 2, 3]
    assert st.grad(lambda x: st.linspace(x, 3.0, 4, retstep=True)[1])(st.tensor(0.0)).tolist() == pytest.approx(-1 / 3)


def test_linspace_between_ends_that_no_float_is_apart() -> None:
    top = float(np.finfo("f8").max)
    for endpoint, want in ((True, [-1, -0.5, 0, 0.5, 1]), (False, [-1, -0.6, -0.2, 0.2, 0.6])):
        x = st.linspace(-top, top, 5, dtype="float64", endpoint=endpoint).tolist()
        assert x[0] == -top and (x[-1] == top) == endpoint
        np.testing.assert_allclose(np.array(x) / top, want, rtol=1e-15, atol=1e-15)


@given(some.integers(-2**63, 2**63 - 1), some.integers(-2**63, 2**63 - 1), some.integers(0, 9), some.booleans())
@example(-1, 2**53, 3, False)
@example(0, 5, 11, True)
def test_linspace_of_integers_drops_fractions_alone(start: int, stop: int, num: int, endpoint: bool) -> None:
    x = st.linspace(start, stop, num, dtype="int64", endpoint=endpoint).tolist()
    parts = max(num - endpoint, 1)
    assert x == [int(Fraction(start * parts + (stop - start) * k, parts)) for k in range(num)]
    assert st.linspace(2**64 - 3, 2**64 - 1, 3, dtype="uint64").tolist() == [2**64 - 3, 2**64 - 2, 2**64 - 1]


def test_linspace_of_an_open_size() -> None:
    f = st.compile(lambda x: (st.linspace(-1, 3, len(x)), st.linspace(-1, 3, len(x), endpoint=False)))
    for n in (5, 1, 7, 2):
        for got, closed in zip(f(st.ones(n)), (True, False)):
            np.testing.assert_allclose(got.numpy(), np.linspace(-1, 3, n, endpoint=closed), rtol=1e-6, atol=1e-7)


@given(some.integers(0, 6), some.one_of(some.none(), some.integers(0, 6)), some.integers(-8, 8),
       some.sampled_from([None, *REAL]))
def test_eye(n: int, m: int | None, k: int, name: str | None) -> None:
    same(st.eye(n, m, k=k, dtype=name), np.eye(n, m, k, DTYPES[name or "float32"].numpy))


def test_eye_of_diagonals_beyond_every_matrix() -> None:
    for k in (2**63 - 1, -(2**63), 10**30):
        assert not st.eye(3, 4, k=k).any()


@settings(deadline=None)
@given(some.lists(some.integers(0, 4), max_size=4), some.sampled_from(["xy", "ij"]), some.booleans(),
       some.sampled_from(REAL))
def test_meshgrid(sizes: list[int], indexing: str, sparse: bool, name: str) -> None:
    lines = [np.arange(n).astype(DTYPES[name].numpy) for n in sizes]
    found = st.meshgrid(*map(st.tensor, lines), indexing=indexing, sparse=sparse)
    assert isinstance(found, tuple) and len(found) == len(sizes)
    for x, want in zip(found, np.meshgrid(*lines, indexing=indexing, sparse=sparse)):
        same(x, want)


def test_meshgrid_in_every_style() -> None:
    x, y, z = np.arange(3.0, dtype="f4"), np.arange(4), np.float32(7)
    for indexing in ("xy", "ij"):
        all_give(np.meshgrid(x, y, z, indexing=indexing), lambda *v: st.meshgrid(*v, indexing=indexing), x, y, z)  # noqa: B023
    f = st.compile(lambda x, y: st.meshgrid(x, y))
    for n in (2, 5, 1):
        same(f(st.arange(n), st.arange(3))[1], np.meshgrid(np.arange(n), np.arange(3))[1])
    g = st.grad(lambda v: (st.meshgrid(v, st.ones(2))[0] * st.arange(6.0).reshape(2, 3)).sum())(st.ones(3))
    assert g.tolist() == [3, 5, 7]
    for lists in (([1, 2], [3.5, 4, 5]), ([1, 2, 3],), ((1.5, 2.0), np.arange(3)), ([],)):
        for found, want in zip(st.meshgrid(*lists), np.meshgrid(*lists), strict=True):
            assert found.tolist() == want.tolist()
    with pytest.raises(ShapeError, match=r"meshgrid takes arrays of one axis, got \(2, 2\)"):
        st.meshgrid(st.ones((2, 2)))
    with pytest.raises(OptionError, match="'xy' or 'ij'"):
        st.meshgrid(st.ones(2), indexing="yx")


@given(arrays.arrays(some.sampled_from([DTYPES[n].numpy for n in REAL if n != "bfloat16"]),
                     arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
def test_asarray_of_arrays_and_lists(x: np.ndarray[Any, Any]) -> None:
    same(st.asarray(x), x)
    same(st.asarray(x.tolist(), dtype=x.dtype), np.asarray(x.tolist(), x.dtype))
    same(st.asarray(x[..., ::-1] if x.ndim else x), x[..., ::-1] if x.ndim else x)
    y = st.asarray(x)
    assert st.asarray(y) is y and st.asarray(y, copy=False) is y
    z = st.asarray(y, copy=True)
    assert z is not y
    same(z, x)


def test_asarray_of_numbers_and_buffers() -> None:
    for number, dtype in ((True, "bool"), (3, "int64"), (2.5, "float32")):
        x = st.asarray(number)
        assert (x.dtype, x.shape, x.tolist()) == (dtype, (), number)
    assert st.asarray([[1, 2.5], [True, 3]]).dtype == "float32" and st.asarray([]).shape == (0,)
    assert st.asarray(range(3)).tolist() == [0, 1, 2]
    assert st.asarray(array.array("h", [1, -2])).dtype == "int16"
    assert st.asarray(memoryview(bytearray(b"abc"))).tolist() == [97, 98, 99]
    assert st.asarray(st.arange(3), dtype="float64").dtype == "float64"
    assert st.asarray([2**64 - 1], dtype="uint64").tolist() == [2**64 - 1]
    with pytest.raises(DTypeError, match="does not fit in int8"):
        st.asarray([300], dtype="int8")
    with pytest.raises(DTypeError, match="holds numbers"):
        st.asarray("text")


def test_asarray_of_lists_of_tensors_is_part_of_the_program() -> None:
    x = st.tensor([1.0, 2.0], requires_grad=True)
    y = st.asarray([x[1], x[0] * 3, 5])
    assert y.tolist() == [2, 3, 5]
    y.sum().backward()
    assert x.grad.tolist() == [3, 1]
    all_give(np.array([[1, 2], [3, 4]], "f4"), lambda a: st.asarray([[a[0], a[1]], [a[2], a[3]]]),
             np.array([1, 2, 3, 4], "f4"))


def test_memory_is_shared_where_that_is_asked_for() -> None:
    x = np.arange(6.0).reshape(2, 3)
    y, z = st.asarray(x, copy=False), st.asarray(x)
    x[0, 0] = 7
    assert y.tolist() == x.tolist() and float(z[0, 0]) == 0
    later = st.asarray(x) + 1
    x[0, 0] = 9
    assert later.tolist()[0][0] == 8
    for refused in (x.T, x[:, ::2], [1, 2], 3, np.float64(2), x[::-1]):
        with pytest.raises(CopyError, match="copy=False"):
            st.asarray(refused, copy=False)
    for options in ({"dtype": "float32"}, {"device": "cpu:1"}):
        with pytest.raises(ValueError, match="copy"):
            st.asarray(x, copy=False, **options)
        with pytest.raises(BufferError, match="copy"):
            st.asarray(y, copy=False, **options)


def test_shared_memory_is_never_written_to() -> None:
    x = np.ones((64, 64), np.float32)
    step = st.compile(lambda a: a * 2 + 1)
    y = st.asarray(x, copy=False)
    for _ in range(4):
        y = step(y)
    z = st.asarray(x, copy=False)
    z += 1
    w = st.asarray(x, copy=False).reshape(-1)
    w = w * 3 + 1
    assert (x == 1).all() and (z == 2).all() and (w == 4).all()


def test_packed_weights_follow_shared_memory() -> None:
    w, x = np.eye(64, dtype=np.float32), st.ones((8, 64))
    shared = st.asarray(w, copy=False)
    f = st.compile(lambda x: x @ shared)
    assert float(f(x).sum()) == 512 and float(f(x).sum()) == 512
    w *= 2
    assert float(f(x).sum()) == 1024


def test_everything_that_is_made_may_carry_gradients() -> None:
    like = st.ones((2, 2))
    for x in (st.zeros(3, requires_grad=True), st.ones(3, requires_grad=True), st.empty(3, requires_grad=True),
              st.full((2,), 1.0, requires_grad=True), st.eye(2, requires_grad=True),
              st.arange(3.0, requires_grad=True), st.arange(0.5, 3, requires_grad=True),
              st.linspace(0, 1, 3, requires_grad=True), st.zeros_like(like, requires_grad=True),
              st.ones_like(like, requires_grad=True), st.full_like(like, 2, requires_grad=True),
              st.empty_like(like, requires_grad=True), st.rand(3, requires_grad=True), st.randn(3, requires_grad=True)):
        assert x.requires_grad and x.leaf
        (x * 2).sum().backward()
        assert x.grad.shape == x.shape and bool((x.grad == 2).all())
    with pytest.raises(DTypeError, match="only float"):
        st.zeros(3, dtype="int8", requires_grad=True)


def test_devices_of_what_is_made() -> None:
    x = st.ones(2, device="cpu:1")
    for y in (st.zeros_like(x), st.full_like(x, 2), st.asarray(x), st.asarray([x[0], x[1]])):
        assert y.device == "cpu:1"
    for y in (st.zeros_like(x, device="cpu"), st.asarray(x, device="cpu"), st.empty(3)):
        assert y.device == "cpu"
    for y in (st.empty(3, device="cpu:1"), st.asarray([1], device="cpu:1"), st.eye(2, device="cpu:1"),
              st.linspace(0, 1, 3, device="cpu:1"), st.arange(3, device=st.device("cpu:1"))):
        assert y.device == "cpu:1"


@pytest.mark.parametrize("f", [
    lambda m, x, v: m.r_[v, 0, v], lambda m, x, v: m.r_[x, x], lambda m, x, v: m.r_[1:4, [5, 6], 7],
    lambda m, x, v: m.r_[0:1:3j], lambda m, x, v: m.c_[v, v], lambda m, x, v: m.c_[x, v[:2]],
    lambda m, x, v: m.c_[[1, 2, 3], v], lambda m, x, v: m.c_[1, 2], lambda m, x, v: x[m.s_[1:, ::2]]])
def test_joined_by_brackets_as_numpy_does(f: Any) -> None:
    x, v = np.arange(6.0, dtype="f4").reshape(2, 3), np.arange(3.0, dtype="f4")
    for y in (f(st, st.tensor(x), st.tensor(v)), st.compile(lambda x, v: f(st, x, v))(x, v)):
        np.testing.assert_allclose(y.numpy(), f(np, x, v))
        assert y.shape == f(np, x, v).shape
    with pytest.raises(ArgumentError, match=r"st\.concatenate"):
        st.r_["c", v]
