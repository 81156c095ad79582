"""Sizes that stay open: one program for every image size, Python arithmetic on sizes, and every public function."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.errors import ShapeError

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
    (1, "same", 1, 8, (8, 8), (5, 3)),
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
