"""Indexing as NumPy's, read and written, in every style: random keys of every kind, gradients, and what is refused."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st_

import stele as st
from stele import nn
from stele.errors import IndexOutOfRange
from tests.styles import Array

Key = Any


def drawn(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype("f4")


@st_.composite
def keys(draw: Any, shape: tuple[int, ...], masks: bool = True) -> Key:
    """A key for an array of a shape: ints, slices, None, ..., lists, integer arrays that broadcast, masks."""
    inner = draw(st_.sampled_from([(), (1,), (3,), (2, 1), (2, 3), (0,)]))
    entries: list[Any] = []
    axis = 0
    while axis < len(shape) and draw(st_.integers(0, 5)):
        n = shape[axis]
        kind = draw(st_.sampled_from(["int", "slice", "slice", "array", "list", "mask", "none", "bool", "number"]))
        axis += kind not in ("none", "bool")
        if kind == "int":
            assume(n)
            entries.append(draw(st_.integers(-n, n - 1)))
        elif kind == "number":
            assume(n)
            entries.append(np.int64(draw(st_.integers(-n, n - 1))))
        elif kind == "slice":
            ends = st_.none() | st_.integers(-n - 3, n + 3)
            entries.append(slice(draw(ends), draw(ends), draw(st_.sampled_from([None, 1, 2, -1, -2, 7]))))
        elif kind == "none":
            entries.append(None)
        elif kind in ("array", "list"):
            assume(n or 0 in inner)
            part = np.array(draw(st_.lists(st_.integers(-n, max(n - 1, 0)), min_size=6, max_size=6)))
            i = np.resize(part, tuple(draw(st_.sampled_from([1, k])) if k else k for k in inner))
            entries.append(i if kind == "array" else i.tolist() if i.ndim else int(i))
        elif masks and kind == "mask":
            many = draw(st_.integers(1, len(shape) - axis + 1))
            where = shape[axis - 1: axis - 1 + many]
            entries.append(np.random.default_rng(draw(st_.integers(0, 99))).random(where) < 0.5)
            axis += many - 1
        elif masks and kind == "bool":
            entries.append(draw(st_.booleans()))
        else:
            entries.append(slice(None))
    if draw(st_.booleans()):
        entries.insert(draw(st_.integers(0, len(entries))), ...)
    return tuple(entries) if len(entries) != 1 or draw(st_.booleans()) else entries[0]


@st_.composite
def cases(draw: Any, masks: bool = True) -> tuple[tuple[int, ...], Key]:
    """A shape, and a key that NumPy takes."""
    shape = draw(st_.sampled_from([(), (5,), (0,), (3, 4), (1, 3), (2, 3, 4), (2, 0, 3), (2, 3, 4, 2)]))
    key = draw(keys(shape, masks))
    try:
        drawn(shape)[key]
    except IndexError:
        assume(False)
    return shape, key


@given(cases())
@settings(max_examples=300, deadline=None)
def test_parts_are_numpys(case: tuple[tuple[int, ...], Key]) -> None:
    shape, key = case
    x = drawn(shape)
    right = np.asarray(x[key])
    try:
        found = st.tensor(x)[key].numpy()
    except IndexOutOfRange:     # NumPy looks at no index where nothing is taken, even of an axis of no elements
        assert 0 in shape and right.size == 0
        return
    assert found.shape == right.shape
    np.testing.assert_array_equal(found, right)


@given(cases(), st_.sampled_from(["number", "all", "ones", "leading"]))
@settings(max_examples=300, deadline=None)
def test_assignments_are_numpys(case: tuple[tuple[int, ...], Key], how: str) -> None:
    shape, key = case
    x, right = st.tensor(drawn(shape)), drawn(shape)
    part = np.asarray(right[key]).shape
    v = {"number": 7.0, "all": drawn(part, 1), "ones": drawn((1,) * len(part), 1),
         "leading": drawn((1, *part), 1)}[how]
    try:
        right[key] = v
    except (TypeError, ValueError):     # more axes of length 1 in front than NumPy takes of this key
        assume(how != "leading")
        raise
    x[key] = v
    np.testing.assert_array_equal(x.numpy(), right)


@given(cases(masks=False))
@settings(max_examples=25, deadline=None)
def test_keys_without_masks_are_part_of_programs(case: tuple[tuple[int, ...], Key]) -> None:
    shape, key = case
    x, v = drawn(shape), drawn(np.asarray(drawn(shape)[key]).shape, 1)

    def f(x: st.Tensor, v: st.Tensor) -> Any:
        y = x * 1
        y[key] = v
        return x[key], y

    right = x.copy()
    right[key] = v
    for backend in ("cpu", "reference"):
        part, whole = st.compile(f, backend=backend)(st.tensor(x), st.tensor(v))
        assert part.shape == np.shape(x[key])
        np.testing.assert_array_equal(part.numpy(), x[key])
        np.testing.assert_array_equal(whole.numpy(), right)
    places = [st.placeholder(a.shape, "float32") for a in (x, v)]
    part = st.function(places, f(*places)[0])(st.tensor(x), st.tensor(v))
    np.testing.assert_array_equal(part.numpy(), x[key])


@given(cases())
@settings(max_examples=60, deadline=None)
def test_gradients_reach_what_was_read_and_what_was_written(case: tuple[tuple[int, ...], Key]) -> None:
    """The gradient of a sum of squares is twice what was read, as often as it was; what is replaced has none."""
    shape, key = case
    x = drawn(shape)
    part = np.asarray(x[key])
    counts = np.zeros(shape)
    np.add.at(counts, key, 1)
    g = st.grad(lambda x: (x[key] ** 2).sum())(st.tensor(x))
    np.testing.assert_allclose(g.numpy(), 2 * x * counts, rtol=1e-5)

    def written(x: st.Tensor, v: st.Tensor) -> st.Tensor:
        y = x * 1
        y[key] = v
        return (y ** 2).sum()

    v, right, last = drawn(part.shape, 1), x.copy(), np.full(shape, -1)
    right[key] = v
    last[key] = np.arange(v.size).reshape(v.shape)
    dx, dv = st.grad(written, (0, 1))(st.tensor(x), st.tensor(v))
    np.testing.assert_allclose(dx.numpy(), np.where(counts > 0, 0, 2 * x), rtol=1e-5)
    stays = np.isin(np.arange(v.size), last).reshape(v.shape)
    np.testing.assert_allclose(dv.numpy(), np.where(stays, 2 * v, 0), rtol=1e-5)


def test_the_second_derivative_of_a_part_and_the_tangent() -> None:
    i = np.array([2, 0, 2])
    h = st.hessian(lambda x: (x[i] ** 3).sum())(st.tensor([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(h.numpy(), np.diag([6.0, 0.0, 36.0]))
    y, dy = st.jvp(lambda x: x[i], (st.tensor([1.0, 2.0, 3.0]),), (st.tensor([10.0, 20.0, 30.0]),))
    assert y.tolist() == [3.0, 1.0, 3.0] and dy.tolist() == [30.0, 10.0, 30.0]


@pytest.mark.parametrize("key", [([0, 2, 0],), (slice(None), [1, 1]), ([2, 0], [1, 3]), (0, [1, -1]),
                                 ([-1, 2, -1], slice(1, 3))])
def test_open_axes_are_read_and_written_at_arrays(key: Key) -> None:
    def f(x: st.Tensor, v: st.Tensor) -> Any:
        y = x * 1
        y[key] = v
        return x[key], y

    g = st.compile(f, dims={"x": {0: "n", 1: "m"}})
    for n, m in ((3, 4), (5, 6), (4, 9)):
        x = drawn((n, m))
        v = drawn(x[key].shape, 1)
        right = x.copy()
        right[key] = v
        part, whole = g(st.tensor(x), st.tensor(v))
        np.testing.assert_array_equal(part.numpy(), x[key])
        np.testing.assert_array_equal(whole.numpy(), right)


def test_masks_are_written_in_programs_with_one_value_for_all() -> None:
    def f(x: st.Tensor, row: st.Tensor) -> Any:
        a, b = x * 1, x * 1
        a[a > 0] = 7
        b[b[:, 0] > 0] = row
        b[:, b[0] < 0] = 2
        return a, b

    x, row = drawn((4, 3)), drawn((3,), 1)
    a, b = x.copy(), x.copy()
    a[a > 0] = 7
    b[b[:, 0] > 0] = row
    b[:, b[0] < 0] = 2
    for backend in ("cpu", "reference"):
        found = st.compile(f, backend=backend)(st.tensor(x), st.tensor(row))
        np.testing.assert_array_equal(found[0].numpy(), a)
        np.testing.assert_array_equal(found[1].numpy(), b)


def by_one(x: Any, y: Any, row: Any) -> Any:
    x[x > 0] += 1
    return x


def of_two(x: Any, y: Any, row: Any) -> Any:
    mask = (x > 0) & (y > 0)
    x[mask] = y[mask] * 2 - x[mask] / 3
    return x


def by_rows(x: Any, y: Any, row: Any) -> Any:
    mask = y[:, 0] > 0
    x[mask] *= row
    x[mask] = -abs(x[mask]) ** 2
    return x


def of_what_was(x: Any, y: Any, row: Any) -> Any:
    mask = x > 0
    before = x[mask]
    x[:] = 0
    x[mask] = 1 / (before + 3)
    return x


@pytest.mark.parametrize("f", [by_one, of_two, by_rows, of_what_was])
def test_what_masks_choose_is_computed_with_in_programs(f: Callable[..., Any]) -> None:
    x, y, row = drawn((4, 3)), drawn((4, 3), 1), drawn((3,), 2)
    right = f(x.copy(), y, row)
    g = st.compile(lambda x, y, row: f(x * 1, y, row), dims={"x": {0: "n"}, "y": {0: "n"}})
    np.testing.assert_allclose(g(*map(st.tensor, (x, y, row))).numpy(), right, rtol=1e-6)
    slope = st.grad(lambda x: f(x * 1, st.tensor(y), st.tensor(row)).sum())
    np.testing.assert_allclose(st.compile(slope)(st.tensor(x)).numpy(), slope(st.tensor(x)).numpy(), rtol=1e-5)


def spelled_twice(x: st.Tensor, w: st.Tensor) -> Any:
    x[x[:, 0] > 0] = st.exp(x[x[:, 0] > 0])
    return x


def of_an_inner_axis(x: st.Tensor, w: st.Tensor) -> Any:
    x[:, w[0] > 0] += 1
    x[..., None, w[0] > 0] *= x[:, :1].detach().reshape(-1, 1, 1)
    other = w * 1
    other[1, w[0] > 0] = other[2, w[0] > 0] - 1
    return x, other


def of_a_slice(x: st.Tensor, w: st.Tensor) -> Any:
    mask = x[:, 1] > 0
    x[mask, 1:] *= w[0, 1:]
    x[mask, 0] = st.log(abs(x[mask, 2]) + 1) + x[mask, 1]
    x[:, 0][x[:, 0] > 0] -= 1
    return x


def of_poles(x: st.Tensor, w: st.Tensor) -> Any:
    mask = x > 0
    x[mask] = w[1, 1] * st.log(x[mask]) + 1 / x[mask]
    x[mask] = st.where(x[mask] > 0, x[mask] ** 0.5, x[mask])
    return x


def of_whole_rows(x: st.Tensor, w: st.Tensor) -> Any:
    mask = x[:, 0] > 0
    y = nn.functional.layer_norm(x[mask] @ w, (3,))
    x[mask] = st.softmax(y, axis=-1) * y.sum(axis=1, keepdims=True) + nn.functional.silu(y)
    return x


def summed(x: st.Tensor, w: st.Tensor) -> Any:
    mask, rows = x > 0, x[:, 0] > -9
    return (x[mask].sum() + (x[mask] - x[mask].mean()).square().mean() + st.prod(x[rows], axis=0)
            + x[rows].var(axis=1).std(), st.any(x[mask] > 1))


def of_others(x: st.Tensor, w: st.Tensor) -> Any:
    mask, y = x > 0, st.zeros_like(x, dtype="int64")
    y[mask] = x[mask] * 3
    y[mask] //= st.maximum(y[mask], 1)
    picked = w[1, 1] * x[mask]
    picked += 1
    x[mask] = picked
    return x, y


ROWS = [spelled_twice, of_an_inner_axis, of_a_slice, of_poles, of_whole_rows, summed, of_others]


@pytest.mark.parametrize("f", ROWS)
@pytest.mark.filterwarnings("ignore")
def test_what_is_made_of_each_row_that_a_mask_chooses(f: Callable[..., Any]) -> None:
    """Gradients are those of what is chosen alone: none that elsewhere is none spoils them."""
    def whole(x: st.Tensor, w: st.Tensor) -> Any:
        return f(x * 1, w)

    def total(x: st.Tensor, w: st.Tensor) -> st.Tensor:
        return sum((y.astype("float32").sum() for y in leaves(whole(x, w))), st.tensor(0.0))

    a, b = st.placeholder(("n", 3)), st.placeholder((3, 3))
    slope, of_any = st.grad(total, (0, 1)), {"x": {0: "n"}}
    programs = [st.compile(whole), st.compile(whole, backend="reference"), st.compile(whole, dims=of_any),
                st.function([a, b], whole(a, b))]
    slopes = st.compile(slope, dims=of_any)
    for n in 5, 1, 0:
        x, w = st.tensor(drawn((n, 3))), st.tensor(drawn((3, 3), 1))
        wanted = leaves(whole(x, w))
        for g in programs:
            for found, right in zip(leaves(g(x, w)), wanted, strict=True):
                assert found.dtype == right.dtype
                np.testing.assert_allclose(found.numpy(), right.numpy(), 1e-5, 1e-6)
        for found, right in zip(slopes(x, w), slope(x, w), strict=True):
            np.testing.assert_allclose(found.numpy(), right.numpy(), 1e-4, 1e-5)


def leaves(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)


@pytest.mark.parametrize("f", [
    lambda x: st.sort(x[x > 0]), lambda x: st.cumsum(x[x > 0], axis=0)[0], lambda x: x[x > 0].max(),
    lambda x: x[x > 0][0], lambda x: x[x > 0].reshape(-1), lambda x: st.softmax(x[x > 0]), lambda x: x[x > 0] @ x,
    lambda x: st.concatenate([x[x > 0], x]), lambda x: st.exp(x[x > 0]), lambda x: x[x > 0] + x,
    lambda x: x[x > 0].shape, lambda x: x[x > 0] > 1, lambda x: (x[x > 0], x[x < 0]),
    lambda x: x[x > 0].sum(where=x[x < 0] < 0), lambda x: x[x > 0] + x[x < 0], lambda x: len(x[x > 0])])
def test_the_length_of_what_a_mask_chooses_is_unknown_to_a_program(f: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="has a shape that depends on numbers"):
        st.compile(f)(st.tensor(drawn((3,))))


def test_places_of_another_mask_are_others() -> None:
    def f(x: st.Tensor) -> st.Tensor:
        y = x * 1
        y[x > 0] = y[x < 0]
        return y

    def g(x: st.Tensor) -> st.Tensor:
        y, mask = x * 1, x > 0
        chosen = y[mask] * 2
        mask[0] = True
        y[mask] = chosen
        return y

    for each in (f, g):
        with pytest.raises(TypeError, match="has a shape that depends on numbers"):
            st.compile(each)(st.tensor(drawn((3,))))


def test_updates_through_masks_and_arrays() -> None:
    x, right = st.tensor(drawn((4, 3))), drawn((4, 3))
    x[x > 0] += 1
    right[right > 0] += 1
    x[[0, 2, 0]] *= 2
    right[[0, 2, 0]] *= 2
    x[1, ..., [0, 2]] -= 5
    right[1, ..., [0, 2]] -= 5
    np.testing.assert_array_equal(x.numpy(), right)


@pytest.mark.parametrize("key, error, text", [
    ((0, 0, 0), IndexError, "3 indices for an array of 2 axes"), ((..., ...), IndexError, "at most one ..."),
    (5, IndexError, "index 5 is out of range"), (-4, IndexError, "index -4 is out of range"),
    ([3], IndexError, "out of range"), ([-4], IndexError, "out of range"), (1.5, TypeError, "got float: 1.5"),
    ("a", TypeError, "got str"), (np.zeros((2, 2), bool), IndexError, "a mask has the shape"),
    (np.zeros(4, bool), IndexError, "a mask has the shape"), (np.array([0.5]), TypeError, "integer dtype"),
    (slice(None, None, 0), ValueError, "step other than 0")])
def test_what_is_no_key_is_refused(key: Key, error: type[Exception], text: str) -> None:
    x = st.tensor(drawn((3, 4)))
    with pytest.raises(error, match=text):
        x[key].numpy()
    with pytest.raises(error, match=text):
        x[key] = 0
        x.numpy()


def test_a_program_says_how_a_mask_is_read() -> None:
    with pytest.raises(TypeError, match=r"x\[st.nonzero\(mask, size=n\)\]"):
        st.compile(lambda x: x[x > 0])(st.tensor(drawn((3,))))
    with pytest.raises(TypeError, match="one value for all places"):
        def f(x: st.Tensor) -> st.Tensor:
            y = x * 1
            y[x > 0] = st.tensor([1.0, 2.0])
            return y
        st.compile(f)(st.tensor(drawn((3,))))


def test_an_index_out_of_range_is_an_index_error_of_a_program_too() -> None:
    f = st.compile(lambda x, i: x[i, 1])
    assert f(st.tensor(drawn((3, 2))), st.tensor([-1, 2])).shape == (2,)
    for i in ([3], [-4], [0, 1, 7]):
        with pytest.raises(IndexError, match=r"test_indexing\.py"):
            f(st.tensor(drawn((3, 2))), st.tensor(i)).numpy()
