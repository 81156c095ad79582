"""The cross-entropy of a projection, some rows at a time: its numbers, derivatives of both modes, and its memory."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ShapeError
from stele.nn.functional import projected

F = nn.functional
RNG = np.random.default_rng(0)
N, D, C = 11, 3, 5
X, W, B = (RNG.standard_normal(shape).astype("f4") for shape in ((N, D), (C, D), (C,)))
LABELS = RNG.integers(0, C, N)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rows at a time, and the last three."""
    monkeypatch.setattr(projected, "LEAST", 4)
    monkeypatch.setattr(projected, "LOGITS", 1)


def rows_at_a_time(x: Any, w: Any, b: Any) -> Any:
    return F.linear_cross_entropy(x, w, LABELS, linear_bias=b, label_smoothing=0.1, reduction="none")


def all_at_once(x: Any, w: Any, b: Any) -> Any:
    return F.cross_entropy(F.linear(x, w, b), st.tensor(LABELS), label_smoothing=0.1, reduction="none")


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_are_those_of_all_logits(compiled: bool) -> None:
    x, w, b = map(st.tensor, (X, W, B))
    moved = [st.tensor(np.cos(np.arange(a.size)).reshape(a.shape).astype("f4")) for a in (X, W, B)]
    found: list[list[Any]] = []
    for f in (rows_at_a_time, all_at_once):
        def every(x: Any, w: Any, b: Any, f: Any = f) -> Any:
            def weighed(*args: Any) -> Any:
                return (f(*args) * st.arange(1.0, N + 1)).sum()

            loss, slopes = st.value_and_grad(weighed, argnums=(0, 1, 2))(x, w, b)
            twice = st.grad(lambda v: (st.grad(weighed, argnums=1)(x, v, b) * moved[1]).sum())(w)
            return loss, *slopes, twice, st.jvp(f, (x, w, b), tuple(moved))[1]
        found.append([y.numpy() for y in (st.compile(every) if compiled else every)(x, w, b)])
    for y, expected in zip(*found, strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.usefixtures("few")
def test_one_program_of_every_number_of_rows() -> None:
    f = st.compile(lambda x, t: F.linear_cross_entropy(x, W, t, linear_bias=B), dims={"x": {0: "n"}, "t": {0: "n"}})
    for n in (1, 4, 9, 11):
        expected = F.cross_entropy(X[:n] @ W.T + B, LABELS[:n])
        assert float(f(X[:n], LABELS[:n])) == pytest.approx(float(expected), rel=1e-5)
    assert f.compiles == 1


def test_a_step_holds_a_part_of_the_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training step over (2048, 1024) logits, 64 rows at a time."""
    monkeypatch.setattr(projected, "LOGITS", 1)
    rows, classes, taken = 2048, 1024, list[int]()
    t = RNG.integers(0, classes, rows)
    for chunked in (True, False):
        x, w = (st.tensor(RNG.random((n, 8), "f4"), requires_grad=True) for n in (rows, classes))

        @st.compile
        def step(t: Any, x: Any = x, w: Any = w, chunked: bool = chunked) -> Any:
            loss = F.linear_cross_entropy(x, w, t) if chunked else F.cross_entropy(F.linear(x, w), t)
            loss.backward()
            w.assign(w - 0.1 * w.grad)
            w.grad = x.grad = None
            return loss

        step(t)
        taken.append(step.programs[0].memory({}).arena.bytes)  # type: ignore[attr-defined]
    assert taken[1] > 4 * rows * classes > 4 * taken[0]


def test_wrong_shapes_teach() -> None:
    for x, w, t in (((2, 3), (4, 5), (2,)), ((2, 3), (4, 3), (3,)), ((3,), (4, 2, 3), (2,)), ((1, 2, 3), (4, 3), (1,))):
        with pytest.raises(ShapeError, match="linear_cross_entropy needs"):
            F.linear_cross_entropy(st.ones(x), st.ones(w), st.zeros(t, dtype="int64"))
