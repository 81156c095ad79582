"""Sizes that stay open: one program for every image size, Python arithmetic on sizes, and every public function."""
from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.arrays.opensize import OpenSize
from stele.eager.replay import OPS
from stele.errors import ShapeError
from stele.ir import sizes
from stele.kernel.index import is_positive
from stele.tracing import tree

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def no_notes() -> Iterator[None]:
    """What cannot stay open says so: a failure here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*cannot stay open")
        yield


def drawn(*shape: int) -> Any:
    return st.tensor(RNG.normal(size=shape).astype("f4"))


# stride, padding, dilation, groups, channels in and out, kernel
CONVOLUTIONS: tuple[tuple[Any, ...], ...] = (
    (1, 0, 1, 1, (4, 6), (3, 3)),
    (2, 1, 1, 1, (3, 5), (3, 3)),
    ((2, 1), ((1, 0), (1, 2)), (1, 2), 1, (4, 6), (3, 2)),
    ((1, 2), "valid", 1, 2, (4, 6), (3, 3)),
    ((3, 2), 2, (2, 3), 2, (4, 6), (3, 3)),
    (1, 3, 1, 1, (2, 3), (2, 2)),
    (2, 0, 1, 1, (4, 6), (1, 1)),
    (3, 1, (1, 2), 1, (3, 5), (2, 4)),
    (1, "same", 1, 8, (8, 8), (5, 3)),
    (1, 0, 1, 1, (8, 9), (3, 3)),
    (1, 1, 1, 1, (17, 12), (3, 3)),
    (1, ((2, 0), (1, 2)), 1, 1, (9, 33), (3, 3)),
    (1, 2, 1, 1, (40, 16), (3, 3)),
)


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_a_convolution_of_open_images_is_one_program(case: tuple[Any, ...]) -> None:
    stride, padding, dilation, groups, (c, o), kernel = case
    w = drawn(o, c // groups, *kernel)

    def y(x: Any, w: Any) -> Any:
        return st.conv2d(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)

    def both(x: Any, w: Any) -> Any:
        return y(x, w), *st.grad(lambda x, w: (y(x, w) ** 2).sum(), (0, 1))(x, w)

    f = st.compile(both, dims={"x": {0: "n", 2: "height", 3: "width"}})
    law = st.compile(both, backend="reference")
    for n, size in ((1, (9, 11)), (3, (16, 8)), (2, (7, 23))):
        x = drawn(n, c, *size)
        for a, b in zip(f(x, w), law(x, w)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4 * np.abs(b.numpy()).max())
    assert f.compiles == 1


@pytest.mark.parametrize("padding", [0, 1, 2, ((0, 2), (2, 1))], ids=str)
def test_patches_of_open_images_lie_end_to_end(padding: Any) -> None:
    """Images of one pixel, rows of fewer patches than a vector and of several, patches of many images in one task, and
    none at all; with what is fused in front and behind."""
    w, bias = drawn(12, 10, 3, 3), drawn(12, 1, 1)

    def loss(x: Any, w: Any) -> Any:
        return st.tanh(st.conv2d(st.relu(x), w, padding=padding) * 0.1 + bias)

    def all_of_it(x: Any, w: Any) -> Any:
        return loss(x, w), *st.grad(lambda x, w: loss(x, w).sum(), (0, 1))(x, w)

    f, law = (st.compile(all_of_it, dims={"x": {0: "n", 2: "height", 3: "width"}}),
              st.compile(all_of_it, backend="reference"))
    least = 3 if padding == 0 else 1
    images = (1, least, least), (70, 3, 4), (2, 5, 40), (3, 8, 17), (1, 61, 70), (0, 9, 9), (2, 200, 4)
    for n, height, width in images:
        x = drawn(n, 10, height, width)
        for a, b in zip(f(x, w), law(x, w)):
            assert a.shape == b.shape
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5 * np.abs(b.numpy()).max(initial=1))
    assert f.compiles == 1
    assert "winograd4 output" in str(f.programs[0].report())


def test_strict_programs_convolve_open_images_directly() -> None:
    w = drawn(12, 10, 3, 3)
    f = st.compile(lambda x: st.conv2d(x, w), dims={"x": {2: "height", 3: "width"}}, precision="strict")
    f(drawn(1, 10, 8, 8)).numpy()
    assert "winograd" not in str(f.programs[0].report())


@pytest.mark.parametrize("name, axes, options, w", [
    ("conv1d", 1, {"stride": 2, "padding": 1, "groups": 2}, (6, 2, 3)),
    ("conv_transpose1d", 1, {"stride": 2, "padding": 1, "output_padding": 1}, (4, 3, 3)),
    ("conv3d", 3, {"padding": 1}, (6, 4, 3, 3, 2)),
    ("conv3d", 3, {"stride": 2, "dilation": (1, 2, 1)}, (6, 4, 2, 3, 3)),
    ("conv_transpose3d", 3, {"stride": 2, "padding": (1, 0, 1)}, (4, 3, 3, 2, 3)),
], ids=str)
def test_convolutions_of_other_axes_are_one_program(name: str, axes: int, options: dict[str, Any], w: Any) -> None:
    def both(x: Any, w: Any) -> Any:
        y = lambda x, w: getattr(st, name)(x, w, **options)
        return y(x, w), *st.grad(lambda x, w: (y(x, w) ** 2).sum(), (0, 1))(x, w)

    weights = drawn(*w)
    f = st.compile(both, dims={"x": {0: "n", **{2 + k: f"side{k}" for k in range(axes)}}})
    law = st.compile(both, backend="reference")
    for n, size in ((1, (9, 6, 7)), (3, (6, 11, 5))):
        x = drawn(n, 4, *size[:axes])
        for a, b in zip(f(x, weights), law(x, weights)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4 * np.abs(b.numpy()).max())
    assert f.compiles == 1


@pytest.mark.parametrize("k, channels", [(3, (8, 4)), (2, (4, 4)), (2, (8, 1))], ids=str)
def test_strided_and_transposed_of_open_images_with_channels_last(k: int, channels: tuple[int, int]) -> None:
    """A padding that depends on the size makes the next one a quotient that falls as the size grows."""
    o, p = channels
    w, back = drawn(o, 1, k, k), drawn(o, p, 2, 2)

    def f(x: Any) -> Any:
        x = st.permute(x, (0, 3, 1, 2))
        total = [max((-(-n // 2) - 1) * 2 + k - n, 0) for n in x.shape[2:]]
        y = st.conv2d(x, w, stride=2, padding=tuple((t // 2, t - t // 2) for t in total))
        return st.permute(nn.functional.conv_transpose2d(y, back, stride=2), (0, 2, 3, 1))

    program = st.compile(f, dims={"x": {0: "n", 1: "h", 2: "w"}})
    for shape in ((2, 8, 12, 1), (1, 5, 4, 1)):
        x = drawn(*shape)
        np.testing.assert_allclose(program(x).numpy(), f(x).numpy(), rtol=1e-4, atol=1e-4)
    assert program.compiles == 1


def test_what_is_positive_at_every_size_is_so_at_each() -> None:
    rng, found = random.Random(0), 0
    n, h = sizes.size("n"), sizes.size("h")

    def part(deep: bool) -> Any:
        if deep and rng.random() < 0.5:
            return (part(False) * rng.randint(-2, 2) + part(False) + rng.randint(-3, 3)) // rng.randint(2, 3)
        return rng.choice([n, h, rng.randint(-3, 4)])

    for _ in range(5_000):
        x = part(True) * part(True) * rng.randint(-2, 2) + part(True) + rng.randint(-3, 4)
        if is_positive(x):
            found += 1
            assert all(sizes.at(x, {"n": a, "h": b}) > 0 for a in range(1, 8) for b in range(1, 8)), x
    assert found > 500 and is_positive(n * -2 + (h * -1) // 2 * -2 + n * 2 + h)


def test_a_network_of_convolutions_trains_at_any_image_size() -> None:
    network = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                            nn.MaxPool2d(2), nn.Conv2d(8, 4, 3, padding=1))
    optimizer = optim.SGD(network.parameters(), 0.01)

    @st.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (network(x).mean((2, 3)) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(step(drawn(2, 3, n, m))) for n, m in ((12, 12), (15, 18), (20, 16), (33, 12))]
    assert np.isfinite(losses).all() and step.compiles == 2     # the first size, then any


def test_an_image_that_is_too_small_is_refused_at_any_size() -> None:
    w = drawn(2, 3, 3, 3)
    f = st.compile(lambda x: st.conv2d(x, w).sum(), dims={"x": {2: "height", 3: "width"}})
    f(drawn(1, 3, 8, 8))
    with pytest.raises(ShapeError, match="does not fit"):
        f(drawn(1, 3, 2, 8))
    x = st.placeholder((2, 3, "height", "width"))
    g = st.function([x], st.conv2d(x, w).sum())
    assert np.isclose(float(g(y := drawn(2, 3, 7, 9))), float(st.conv2d(y, w).sum()), rtol=1e-3)
    with pytest.raises(ShapeError, match=r"Conv2d makes .* which is \(2, 2, -1, 7\) for height = 1, width = 9"):
        g(drawn(2, 3, 1, 9))


@pytest.mark.parametrize("f", [
    lambda x: st.max_pool2d(x, 2), lambda x: st.avg_pool2d(x, (3, 2), (2, 1), ((1, 1), (0, 1))),
    lambda x: st.grad(lambda x: (st.max_pool2d(x, 3, 2, 1) ** 2).sum())(x),
    lambda x: st.grad(lambda x: (st.avg_pool2d(x, 3, 2) ** 2).sum())(x),
])
def test_pooling_of_open_images_is_one_program(f: Any) -> None:
    g = st.compile(f, dims={"x": {0: "n", 2: "height", 3: "width"}})
    for shape in ((2, 3, 8, 8), (1, 3, 9, 12), (3, 3, 17, 6)):
        x = drawn(*shape)
        np.testing.assert_allclose(g(x).numpy(), f(x).numpy(), rtol=1e-5, atol=1e-6)
    assert g.compiles == 1


PYTHON: dict[str, Any] = {
    "1 / n": lambda x: x * (1 / x.shape[0]),
    "n * .5": lambda x: x * (x.shape[0] * 0.5),
    "n ** .5": lambda x: x / x.shape[0] ** 0.5,
    "n ** 2": lambda x: x * x.shape[0] ** 2,
    "n - 2 * n": lambda x: x * (x.shape[0] - 2 * x.shape[0]),
    "2 * n // n": lambda x: x * (2 * x.shape[0] // x.shape[0]),
    "math.sqrt": lambda x: x / math.sqrt(x.shape[0]),
    "np.sqrt": lambda x: x * np.sqrt(x.shape[0]).astype("f4"),
    "float": lambda x: x * float(x.shape[0]),
    "array * n": lambda x: x.sum() + st.tensor(np.ones(4, np.float32) * x.shape[0]),
    "len": lambda x: x / len(x),
    "zeros(len)": lambda x: st.zeros(len(x)) + x,
    "arange(len)": lambda x: st.arange(len(x)) * x,
    "np.arange(len)": lambda x: st.tensor(np.arange(len(x)).astype("f4")) + x,
    "np.linspace": lambda x: st.tensor(np.linspace(0, 1, x.shape[0]).astype("f4")) + x,
    "max": lambda x: x * max(x.shape[0], 3),
    "min of both": lambda x: x * min(x.shape[0], 3),
    "n > 1": lambda x: x * 2 if x.shape[0] > 1 and x.shape[0] >= 1.5 and not x.shape[0] < 2 else x,
    "if n": lambda x: x + 1 if x.shape[0] else x,
    "inf": lambda x: x + 1 if x.shape[0] < math.inf else x,
    "round": lambda x: x * round(x.shape[0]) + math.floor(x.shape[0]),
    "arange": lambda x: st.arange(x.shape[0]) * x + st.arange(1, x.shape[0] + 1),
    "arange by 2": lambda x: st.arange(0, x.shape[0], 2, dtype="float32"),
    "arange down": lambda x: st.arange(x.shape[0], 0, -1) - x,
    "arange of floats": lambda x: st.arange(0, x.shape[0], 0.5),
    "linspace": lambda x: st.linspace(-1, 3, x.shape[0]) * x,
    "eye": lambda x: st.eye(x.shape[0]) + x,
    "eye of both": lambda x: st.eye(3, x.shape[0]) * x,
    "split in half": lambda x: st.split(x, [x.shape[0] // 2, x.shape[0] - x.shape[0] // 2])[1],
    "x[:1]": lambda x: x[:1] + x[-1:] + x[0] * x[-1],
    "x[n // 2]": lambda x: x[x.shape[0] // 2] + x[:x.shape[0] // 2].sum() + x[x.shape[0] // 2:].sum(),
    "x[::-1]": lambda x: x[::-1] + x[x.shape[0]:0:-1].sum(),
    "table[:n]": lambda x: st.arange(200)[:x.shape[0]] * x,
    "table[n:]": lambda x: st.arange(200)[x.shape[0]:].sum() * x,
    "roll": lambda x: st.roll(x, 2, 0) + st.roll(x, -1, 0),
    "roll by half": lambda x: st.roll(x, x.shape[0] // 2, 0),
    "one_hot": lambda x: st.one_hot(st.argmax(x), x.shape[0]) + st.one_hot(st.argmin(x, axis=0), len(x)),
    "f'{n}'": lambda x: x if f"{x.shape[0]}" else x * 2,
    "reshape(n // 1, -1)": lambda x: x.reshape(x.shape[0], -1) + x.reshape(1, len(x)),
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_computes_with_open_sizes_without_another_program(name: str) -> None:
    f = PYTHON[name]
    g = st.compile(f)
    for n in (4, 9, 6, 7, 101):
        x = np.cos(np.arange(n, dtype=np.float32))
        a, b = g(x).numpy(), f(st.tensor(x)).numpy()
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert g.compiles == 2      # of the first size, and of all


def test_a_transformer_with_positions_and_masks_is_one_program_at_twenty_lengths() -> None:
    width, heads = 16, 2
    table, words = drawn(64, width), drawn(11, width)
    layers = [nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, 11)]

    def logits(tokens: Any) -> Any:
        batch, length = tokens.shape
        x = st.embedding(words, tokens) + table[:length] + st.embedding(table, st.arange(length))
        q, k, v = st.split(layers[0](x), width, axis=-1)
        q, k, v = (t.reshape(batch, length, heads, -1).permute(0, 2, 1, 3) for t in (q, k, v))
        scores = q @ k.mT / math.sqrt(width // heads) / math.sqrt(len(tokens[0]))
        mask = st.tril(st.ones(length, length)) == 0
        scores = st.where(mask, -math.inf, scores) + st.where(st.eye(length) > 0, 0.5, 0.0)
        y = (st.softmax(scores) @ v).permute(0, 2, 1, 3).reshape(batch, length, width)
        return layers[2](layers[1](y))[:, -1] / max(length, 3)

    f, law = st.compile(logits), st.compile(logits, backend="reference")
    with pytest.warns(UserWarning, match=r"ask for no number of it \(len\(x\)"):     # each length is traced, though
        for length in range(3, 23):
            tokens = st.tensor(RNG.integers(0, 11, (2, length)))
            np.testing.assert_allclose(f(tokens).numpy(), law(tokens).numpy(), rtol=1e-4, atol=1e-5)
    assert f.compiles == 2


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-10), ("float16", 2e-2)])
def test_a_convolution_of_open_images_in_every_precision(dtype: str, tolerance: float) -> None:
    w = drawn(6, 4, 3, 3).astype(dtype)
    f = lambda x: st.conv2d(x, w, stride=2, padding=1)
    g, law = st.compile(f, dims={"x": {2: "height", 3: "width"}}), st.compile(f, backend="reference")
    for size in ((8, 8), (9, 13)):
        x = drawn(2, 4, *size).astype(dtype)
        np.testing.assert_allclose(g(x).numpy(), law(x).numpy(), rtol=tolerance, atol=tolerance)
    assert g.compiles == 1


def test_second_derivatives_of_convolutions_of_open_images() -> None:
    w = drawn(3, 2, 3, 3)
    first = st.grad(lambda x: (st.conv2d(x, w, padding=1) ** 3).sum())
    second = st.grad(lambda x: (first(x) ** 2).sum())
    g, law = st.compile(second, dims={"x": {2: "height", 3: "width"}}), st.compile(second, backend="reference")
    for size in ((5, 6), (8, 7)):
        x = drawn(1, 2, *size)
        scale = np.abs(law(x).numpy()).max()
        np.testing.assert_allclose(g(x).numpy(), law(x).numpy(), rtol=1e-3, atol=1e-4 * scale)
    assert g.compiles == 1


def test_square_images_open_both_sides_by_one_name() -> None:
    w = drawn(3, 2, 3, 3)
    f = lambda x: (st.conv2d(x, w), *st.grad(lambda x, w: (st.conv2d(x, w, stride=2) ** 2).sum(), (0, 1))(x, w),
                   st.grad(lambda x: (st.conv2d(x, w) ** 2).sum())(x))
    g, law = st.compile(f), st.compile(f, backend="reference")
    for n, size in ((2, 9), (1, 7), (2, 3), (0, 5), (3, 12)):
        for a, b in zip(g(x := drawn(n, 2, size, size)), law(x)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4)
    assert g.compiles == 2


def test_products_of_several_open_batch_axes() -> None:
    f = lambda q, k, v: st.softmax(q @ k.mT) @ v
    g = st.compile(f, dims={name: {0: "n", 1: "heads", 2: "length"} for name in "qkv"})
    law = st.compile(f, backend="reference")
    for n, heads, length in ((2, 3, 4), (1, 2, 7), (3, 1, 5)):
        x = [drawn(n, heads, length, 8) for _ in "qkv"]
        np.testing.assert_allclose(g(*x).numpy(), law(*x).numpy(), rtol=1e-4, atol=1e-5)
    assert g.compiles == 1


def test_a_call_that_joins_no_others_closes_nothing() -> None:
    f = lambda x: st.roll(x, 2, 0) * len(x)
    g = st.compile(f)
    for n in (5, 7, 1, 2, 6, 9, 3):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_allclose(g(x).numpy(), np.roll(x, 2) * n)
    assert g.compiles == 4      # the first size, all from 3, 1 and 2


@pytest.mark.parametrize("order", [st.sort, st.argsort, lambda x: st.topk(x, 2)[1]], ids=["sort", "argsort", "topk"])
def test_rows_too_long_to_order_are_refused_once_their_length_is_known(order: Any) -> None:
    """Positions are half a word: what a known size says at once, an open one says before memory is asked for."""
    x = st.placeholder(("n",), "int8")
    f = st.function([x], order(x))
    f(st.zeros(3, dtype="int8"))
    with pytest.raises(ShapeError, match=r"rows of less than 2\*\*32 elements, got \(4294967296,\)"):
        f.program.bound({"n": 2**32})


NUMBERS: dict[str, Any] = {     # of how many rows, as Python's own number
    "a half": lambda x: st.concatenate([x[:len(x) // 2] * 2, x[len(x) // 2:]]),
    "a third, rounded": lambda x: x[:round(x.shape[0] / 3)],
    "floor and ceil": lambda x: x[math.floor(x.shape[0] / 3):math.ceil(x.shape[0] / 1.5)],
    "a share": lambda x: st.cumulative_sum(x[:int(len(x) * 0.8)], axis=0),
    "its gradient": lambda x: st.grad(lambda x: (x[:len(x) // 2] ** 2).sum())(x),
    "the middle": lambda x: x[len(x) // 2] * math.sqrt(len(x)),
    "so many of the largest": lambda x: st.sort(x.reshape(-1))[:int(len(x) * 1.5)],
    "rolled": lambda x: st.roll(x, len(x) // 3, 0),
    "rows of one kind": lambda x: x[[*range(0, len(x), 3)]],
    "flat": lambda x: x.reshape(len(x), -1).sum(1),
    "apart": lambda x: st.unflatten(x.reshape(-1), 0, (len(x), -1)),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_of_any_formula_are_sizes_of_their_own(case: str) -> None:
    """The first size, a straight line through two, and then numbers of no formula, where none is empty."""
    f, g = NUMBERS[case], st.compile(NUMBERS[case])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*was traced")
        for n in (6, 3, 9, 4, 7, 5, 10, 13, 24, 9):
            x = drawn(n, 3, 2)
            np.testing.assert_allclose(g(x).numpy(), f(x).numpy(), rtol=1e-5, atol=1e-6)
    assert g.compiles <= 3


def test_an_axis_is_no_size() -> None:
    g = st.compile(lambda x: x.sum(axis=len(x) % 3))
    with pytest.warns(UserWarning, match="cannot stay open"):
        for n in (3, 4, 5, 7):
            x = drawn(n, 2, 4)
            np.testing.assert_allclose(g(x).numpy(), x.numpy().sum(axis=n % 3), rtol=1e-5, atol=1e-6)


VIEWED: dict[str, Any] = {      # what in NumPy shares memory, though sizes say so only by their numbers or by guards
    "rows of so many": lambda x: x.reshape(len(x), -1),
    "so many columns": lambda x: x.reshape(-1, len(x)).T,
    "some of thrice as many": lambda x: x.reshape(len(x) * 3, -1)[1:len(x)],
    "the rest in a row": lambda x: x[len(x) // 3:].reshape(-1),
    "halves": lambda x: x.reshape(2, -1),
    "every other, in pairs": lambda x: x[::2].reshape(-1, 2, 3),
    "turned, in pairs": lambda x: x.T.reshape(3, 2, -1),
    "turned and a copy": lambda x: x.T.reshape(-1),
}


@pytest.mark.parametrize("case", VIEWED)
def test_parts_of_open_sizes_share_what_is_written(case: str) -> None:
    part = VIEWED[case]

    def f(x: Any) -> Any:
        v = part(x)
        x -= 1
        before = v * 1
        v *= 2
        return before, x * 1

    g = st.compile(f)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*was traced")
        for n in (8, 12, 16, 24, 12):
            x = drawn(n, 3)
            for found, wanted in zip(g(x.copy()), f(x.numpy().copy())):
                np.testing.assert_array_equal(found.numpy(), wanted)
    assert g.compiles <= 3


KEPT: dict[Any, Any] = {}


def looked_at(x: Any) -> Any:
    """All that Python sees of sizes, of which none is part of the graph."""
    n, m = x.shape
    KEPT.setdefault(n, x.size)
    return {"shape": x.shape, "of": (n, x.size, n // 2, [len(x), -n]), n: f"{n:>4} {x.shape} {m!s}", "sum": x.sum()}, \
        n in {3, 8}, {3: "three", 8: "eight"}.get(n, "none"), sorted({n, 3}), np.array(x.shape)


@pytest.mark.parametrize("dims", [None, {"x": {0: "n", 1: "m"}}], ids=["opened", "open"])
def test_sizes_leave_a_compiled_function_as_numbers(dims: Any) -> None:
    f = st.compile(looked_at, dims=dims)
    for shape in ((5, 2), (8, 3), (3, 3), (0, 1), (5, 2)):
        x = drawn(*shape)
        KEPT.clear()
        want, kept = repr(looked_at(x)), repr(KEPT)
        for _ in range(2):
            KEPT.clear()
            assert (repr(f(x)), repr(KEPT)) == (want, kept)
            assert all(type(key) is int for key in KEPT)


def test_sizes_stay_as_numbers_in_what_a_compiled_function_changes() -> None:
    class Holder:
        rows: Any = 0

    holder = Holder()

    @st.compile
    def f(d: Any) -> Any:
        holder.rows = d["x"].shape[0] + 1
        d[d["x"].shape[0]] = [d["x"].shape]
        return d["x"] * 2

    for n in (4, 6, 1, 6):
        d = {"x": drawn(n, 2)}
        f(d)
        assert (holder.rows, d[n], type(list(d)[-1]), type(d[n][0][0])) == (n + 1, [(n, 2)], int, int)


def test_the_size_of_a_placeholder_has_a_name() -> None:
    n = st.placeholder(("n", 3)).shape[0]
    assert (str(n), f"{n + 1:>5}", hash(n)) == ("n", "  n+1", hash(n + 0))


def test_all_of_one_open_length_are_combined_by_one_graph() -> None:
    f = st.compile(lambda x, y: st.associative_scan(lambda a, b: (a[0] + b[0], a[1] * b[1]), (x, y)), dims={
        "x": {0: "n"}, "y": {0: "n"}})
    for n in (3, 8, 5):
        x, y = drawn(n), drawn(n)
        for got, want in zip(f(x, y), (np.cumsum(x), np.cumprod(y))):
            np.testing.assert_allclose(got, want, rtol=1e-5)


OF_A_SHARE: dict[str, Callable[[Any, Any], Any]] = {     # of a row and a share of its length
    "every second":     lambda x, k: x[k:][::2] * 2,
    "some of a third":  lambda x, k: x[::3][:k] + 1,
    "backwards":        lambda x, k: x[k:][::-1],
    "not read":         lambda x, k: (x[k:], x[:2])[1],
    "turned":           lambda x, k: st.concatenate([x[k:], x[:k]]),
    "rolled":           lambda x, k: st.roll(x, k),
    "as rows":          lambda x, k: x[:k * 2].reshape(2, -1),
    "its sum":          lambda x, k: x[k:].sum() * k,
    "padded":           lambda x, k: st.pad(x, (k, 0)),
    "the first":        lambda x, k: st.where(st.arange(len(x)) < k, x, 0),
    "in order":         lambda x, k: st.sort(x[k:][::2]),
    "running":          lambda x, k: st.cumsum(x[k:], 0)[::2],
    "a product":        lambda x, k: x[k:][None, :] @ x[k:][:, None],
    "a slope":          lambda x, k: st.grad(lambda x: (x[k:][::2] ** 2).sum())(x),
}


@pytest.mark.parametrize("name", OF_A_SHARE)
def test_parts_of_parts_between_shares_of_a_length(name: str) -> None:
    """Sizes that stand for shares may be gone once slices are one, and are none that a program is asked for."""
    f = OF_A_SHARE[name]
    compiled = st.compile(lambda x: f(x, len(x) // 2))
    for n in (6, 8, 10, 20, 11):
        x = st.arange(1.0, n + 1)
        np.testing.assert_allclose(compiled(x), f(x, n // 2))


def test_what_is_written_to_parts_of_shares_leaves_no_open_size_behind() -> None:
    """Ops of views are shared among all traces: one that held an open size was another's at a number."""
    def f(x: Any, k: Any) -> Any:
        n = x.shape[0]
        part = x[int(n * 0.5):n][0:0]
        part[0:-1:1] = st.zeros(0)
        y = st.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * 0.5), (k, x ** 0))[1]
        y -= 1
        return y

    slope = st.compile(st.grad(lambda x, k: f(x, k).sum()))
    compiled = st.compile(f)
    for n in (2, 3, 5, 8):
        assert slope(st.arange(1.0, n + 1), st.tensor(3)).tolist() == [0] * n
        assert compiled(st.arange(1.0, n + 1), st.tensor(1)).tolist() == [-0.5] * n
    assert not any(isinstance(x, OpenSize) for op in OPS.values() for x in tree.flatten(vars_of(op))[0])


@pytest.mark.parametrize("f", [
    lambda x: nn.functional.pad(x, (0, -x.shape[3] % 8, 0, -x.shape[2] % 8)),
    lambda x: nn.functional.pad(x, (1, x.shape[3] - 5, x.shape[2] - 9, 0), value=2.0),
    lambda x: nn.functional.pad(x, (0, x.shape[3] - 5), mode="circular"),
    lambda x: nn.functional.pad(x, (x.shape[3] - 5, 2), mode="reflect")],
    ids=["multiples", "cut", "circular", "reflect"])
def test_widths_of_padding_may_follow_from_sizes(f: Callable[[Any], Any]) -> None:
    """Of either sign: where it changes, another program takes over."""
    compiled = st.compile(f), st.compile(f, dims={"x": {2: "h", 3: "w"}})
    for shape in ((1, 2, 9, 6), (1, 2, 16, 8), (2, 2, 17, 7), (1, 2, 8, 9), (1, 2, 8, 4)):
        x = drawn(*shape)
        assert all(np.array_equal(g(x), f(x)) for g in compiled)


def vars_of(op: Any) -> list[Any]:
    return [getattr(op, f.name) for f in fields(op)]
