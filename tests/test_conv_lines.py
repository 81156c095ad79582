"""Convolutions of single channels and over long lines, each by its own algorithm, against float64 NumPy."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from contraction import AVX2, AVX512, SSE4
from llvmlite import ir
from test_contract import HERE, TOLERANCE, benches, error

import stele as st
from stele.backend.contract.conv import depthwise
from stele.backend.contract.conv.layer import forward
from stele.backend.contract.conv.lines import steps
from stele.backend.contract.conv.stencil import Conv
from stele.backend.llvm.access import size_of
from stele.kernel.choice import Choices
from stele.kernel.machine import Machine

FLOAT = ir.FloatType()
MACHINES = HERE, *(m for m in (AVX2, SSE4) if m.vector_bytes < HERE.vector_bytes)


class Alone(Choices):
    """Takes the algorithms for single channels wherever they can be taken, and candidate `n` of their schedules."""

    def __init__(self, n: int = 0) -> None:
        super().__init__()
        self.n, self.taken = n, 0

    def choose(self, question: str, candidates: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
        if question.startswith("depthwise "):
            self.taken += 1
            return candidates[self.n % len(candidates)]
        found = [c for c in candidates if c[1] == "depthwise"]
        return found[0] if found else super().choose(question, candidates)


SINGLE = (          # n, c, o, (h, w), (kh, kw), and what is not the default
    (2, 5, 5, (9, 35), (3, 3), {"padding": ((1, 1), (1, 1)), "groups": 5}),
    (3, 6, 6, (14, 14), (5, 5), {"padding": ((2, 2), (2, 2)), "groups": 6}),
    (2, 4, 4, (20, 35), (3, 3), {"padding": ((1, 1), (1, 1)), "stride": (2, 2), "groups": 4}),
    (2, 4, 4, (12, 40), (2, 3), {"padding": ((0, 1), (2, 0)), "stride": (1, 2), "groups": 4}),
    (1, 3, 3, (40, 9), (3, 2), {"padding": ((2, 2), (0, 0)), "stride": (2, 1), "dilation": (2, 3), "groups": 3}),
    (2, 3, 6, (8, 17), (3, 3), {"padding": ((1, 1), (1, 1)), "groups": 3}),
    (2, 6, 3, (8, 33), (3, 3), {"padding": ((1, 1), (1, 1)), "groups": 3}),
    (1, 2, 2, (30, 140), (7, 7), {"padding": ((3, 3), (3, 3)), "groups": 2}),
    (2, 7, 7, (3, 3), (3, 3), {"groups": 7}),
    (1, 2, 2, (4, 5), (1, 1), {"stride": (2, 2), "groups": 2}),
    (2, 17, 17, (9, 35), (3, 3), {"padding": ((1, 1), (1, 1)), "groups": 17}),
    (3, 16, 16, (14, 14), (5, 5), {"padding": ((2, 2), (2, 2)), "groups": 16}),
    (2, 16, 16, (19, 40), (3, 2), {"padding": ((1, 0), (0, 1)), "stride": (2, 2), "dilation": (1, 2), "groups": 16}),
    (2, 8, 16, (7, 20), (7, 7), {"padding": ((3, 3), (3, 3)), "groups": 8}),
)
LINES = (
    (2, 3, 5, (1, 5000), (1, 9), {"padding": ((0, 0), (4, 4))}),
    (1, 40, 7, (1, 3001), (1, 4), {"padding": ((0, 0), (0, 3)), "stride": (1, 3), "dilation": (1, 5)}),
    (2, 6, 4, (1, 4099), (1, 3), {"padding": ((0, 0), (2, 0)), "stride": (1, 2), "groups": 2}),
    (1, 1, 1, (1, 9000), (1, 64), {}),
)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("case", SINGLE, ids=str)
def test_single_channels(case: tuple[Any, ...], dtype: type, machine: Machine) -> None:
    n = (SINGLE.index(case) + MACHINES.index(machine) + [*TOLERANCE].index(dtype)) % len(depthwise.ROWS)
    chosen = Alone(n)
    for bench, expected in benches(replace(machine, choices=chosen), dtype, case, n == 0):
        assert error(bench.check(), expected) < TOLERANCE[dtype]
    assert chosen.taken >= 2


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}")
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("case", LINES, ids=str)
def test_long_lines(case: tuple[Any, ...], symbolic: bool, machine: Machine) -> None:
    for bench, expected in benches(machine, np.float32, case, symbolic):
        assert error(bench.check(), expected) < TOLERANCE[np.float32]


def test_lines_are_cut_into_whole_vectors_that_fit_the_cache() -> None:
    for machine in (AVX512, AVX2, SSE4):
        for length, channels, unit in ((16_000, 96, 1), (100_000, 3, 2), (5_000, 900, 1)):
            step = steps(machine, length, channels, FLOAT, unit)
            assert step is not None and step % (machine.lanes(4) * unit) == 0 and step < length
        assert steps(machine, 64, 900, FLOAT, 1) is None


def test_what_is_fused_around_single_channels_is_computed() -> None:
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype("f4") for s in ((2, 8, 15, 33), (8, 1, 3, 3), (8, 1, 1)))
    y = st.compile(lambda x, w, b: st.relu(st.conv2d(x, w, padding=1, groups=8) + b) * 2)(x, w, b).numpy()
    law = st.compile(lambda x, w, b: st.relu(st.conv2d(x, w, padding=1, groups=8) + b) * 2, backend="reference")
    np.testing.assert_allclose(y, law(x, w, b).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("machine", (AVX512, AVX2, SSE4), ids=lambda m: f"{m.vector_bytes}")
def test_steps_within_an_image_are_those_that_need_no_masks(machine: Machine) -> None:
    for n, c, o, image, window, options in SINGLE:
        conv = Conv(n, c, o, image, window, FLOAT, **options)
        layer, lanes = forward(conv), machine.lanes(size_of(FLOAT))
        steps_ = depthwise.Steps(layer.stencil, 2)
        (top, bottom), (left, right) = steps_.reach
        (down, across), (height, width) = layer.stencil.phases, layer.stencil.source
        inside = [(y, x) for y in range(0, layer.stencil.rows, 2) for x in range(0, layer.stencil.width, lanes)
                  if y * down + top >= 0 and y * down + bottom < height and y + 2 <= layer.stencil.target[0]
                  and x * across + left >= 0 and x * across + right + lanes * across <= width
                  and x + lanes <= layer.stencil.target[1]]
        assert steps_.inner(lanes) == len(inside)


@pytest.mark.parametrize("stride", [(1, 2), (2, 1), (2, 2)], ids=str)
@pytest.mark.parametrize("channels, groups", [(1, 1), (3, 3), (3, 1)])
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (2, 1)], ids=str)
def test_gradients_of_images_of_a_pixel_or_two(size: tuple[int, int], channels: int, groups: int,
                                               stride: tuple[int, int]) -> None:
    """Phases of strides of which most lie behind the image: they are stored nowhere."""
    rng = np.random.default_rng(0)
    x = st.tensor(rng.standard_normal((2, channels, *size)))
    w = st.tensor(rng.standard_normal((2 * groups, channels // groups, 3, 3)))

    def slopes(x: st.Tensor, w: st.Tensor) -> Any:
        return st.grad(lambda x, w: (st.conv2d(x, w, stride=stride, padding=2, groups=groups) ** 2).sum(),
                       argnums=(0, 1))(x, w)

    for found, expected in zip(st.compile(slopes)(x, w), st.compile(slopes, backend="reference")(x, w)):
        assert np.allclose(found.numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)
