"""Products in tile registers: float32 in three pieces, against float64 NumPy and against sums of float32."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from contraction import AVX512, Bench, error
from hypothesis import given, settings
from hypothesis import strategies as hs
from test_contract import corners_hold, product

import stele as st
from stele.backend.cpu.target import detect
from stele.kernel.choice import Choices

pytestmark = pytest.mark.skipif(detect().vector_bytes < 64, reason="AMX comes with AVX-512, which this CPU lacks")
in_programs = pytest.mark.skipif(not detect().amx, reason="this CPU has no AMX with bfloat16, or Linux withholds it")


class InTiles(Choices):
    """Takes tile registers wherever they are a candidate."""

    def choose(self, question: str, candidates: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
        return next((c for c in candidates if getattr(c[1], "pieces", 0)), super().choose(question, candidates))


TILES = replace(AVX512, amx=True, l2=1 << 20, choices=InTiles())


def in_tiles(*sizes_and_more: Any, **more: Any) -> tuple[Bench, np.ndarray]:
    """A product in tile registers and what it should be."""
    bench, expected = product(TILES, np.float32, *sizes_and_more, **more)
    assert "tdpbf16ps" in bench.text
    return bench, expected


@settings(deadline=None, max_examples=40)
@given(hs.tuples(hs.integers(1, 3), hs.integers(1, 150), hs.integers(1, 150), hs.integers(1, 300)),
       hs.tuples(hs.booleans(), hs.booleans()), hs.booleans(), hs.sampled_from(["", "m", "bk", "mnk", "n"]),
       hs.booleans())
def test_any_sizes_in_any_layout(sizes: tuple[int, int, int, int], transposed: tuple[bool, bool], plain: bool,
                                 symbolic: str, shared: bool) -> None:
    bench, expected = in_tiles(sizes, transposed, plain, symbolic, shared)
    assert error(bench.check(), expected, sizes[3] ** 0.5) < 2e-6


@pytest.mark.parametrize("sizes", [(1, 600, 40, 1500), (1, 64, 1100, 70), (1, 40, 33, 9600), (20, 64, 64, 64)], ids=str)
def test_many_blocks_tasks_and_slices(sizes: tuple[int, int, int, int]) -> None:
    for symbolic in ("", "k"):
        bench, expected = in_tiles(sizes, symbolic=symbolic)
        assert error(bench.check(), expected) < 2e-6


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("side", [1, -1])
def test_corners_are_not_multiplied(transposed: bool, place: int, side: int) -> None:
    corners_hold(in_tiles, transposed, place, side)


@in_programs
def test_three_pieces_are_the_whole_number() -> None:
    rng, one = np.random.default_rng(0), np.eye(256, dtype=np.float32)
    x = np.ldexp(rng.uniform(-1, 1, (256, 256)), rng.integers(-100, 127, (256, 256))).astype(np.float32)
    x[np.abs(x) < 2.0 ** -100] = 0
    x[0, :4] = [0.0, np.finfo(np.float32).max, -1 - 2 ** -23, 2.0 ** -99 - 2.0 ** -123]
    f = st.compile(lambda x, w: x @ w)
    np.testing.assert_array_equal(f(x, one).numpy(), x)
    np.testing.assert_array_equal(f(one, x).numpy(), x)


@in_programs
@pytest.mark.parametrize("draw", [lambda r, s: r.standard_normal(s), lambda r, s: r.uniform(1, 2, s),
                                  lambda r, s: np.full(s, 1.0078), lambda r, s: np.exp(8 * r.standard_normal(s))],
                         ids=["normal", "positive", "equal", "wide"])
def test_errors_are_those_of_float32(draw: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = (draw(rng, shape).astype(np.float32) for shape in ((256, 1000), (1000, 256)))
    exact = x.astype(np.float64) @ w
    off = [np.abs(st.compile(lambda x, w: x @ w, precision=precision)(x, w).numpy() - exact).mean()
           for precision in ("fast", "strict")]
    assert off[0] <= 1.1 * off[1]


@in_programs
def test_what_is_not_finite_stays_in_its_row_or_column() -> None:
    x, w = np.ones((2, 256, 256), np.float32)
    x[3, 5], x[9, 0], w[7, 11] = np.nan, np.inf, -np.inf
    y = st.compile(lambda x, w: x @ w)(x, w).numpy()
    bad = np.zeros(y.shape, bool)
    bad[3], bad[9], bad[:, 11] = True, True, True
    assert not np.isfinite(y[bad]).any()
    assert (y[~bad] == 256).all()


@in_programs
def test_strict_programs_sum_float32_in_order() -> None:
    x = np.full((256, 256), 1 / 3, np.float32)
    total = np.float32(0)
    for _ in range(256):
        total = np.float32(np.float64(total) + np.float64(x[0, 0]) ** 2)
    assert (st.compile(lambda x: x @ x, precision="strict")(x).numpy() == total).all()
