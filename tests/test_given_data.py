"""`x.data = y`: what shared the numbers of x keeps them, as arrays of NumPy do when a name is given another one."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import ShapeError, TraceError

KINDS = "part", "end", "turned", "put", "add", "copy", "give", "give", "take", "add to data", "read"
STYLES: list[Callable[[Any], Any]] = [lambda f: f, st.compile]
Line = tuple[str, int, int, int]


class Named:
    """An array under a name that may be given another one."""

    def __init__(self, x: Any) -> None:
        self.x = x


def lines(rng: random.Random, most: int) -> list[Line]:
    return [(rng.choice(KINDS), rng.randrange(60), rng.randrange(60), rng.randrange(1, 9))
            for _ in range(rng.randrange(most))]


def numpys(program: list[Line], held: list[Named]) -> list[Any]:
    seen: list[Any] = []
    for kind, i, j, c in program:
        a, b = held[i % len(held)], held[j % len(held)]
        match kind:
            case "part": held.append(Named(a.x[:]))
            case "end" if a.x.size > 1: held.append(Named(a.x[1:]))
            case "turned": held.append(Named(a.x[::-1]))
            case "put": a.x[c % a.x.size] = c
            case "copy": a.x[...] = np.arange(a.x.size) * c
            case "give": a.x = np.arange(a.x.size, dtype="f4") + c
            case "take" if a.x.size == b.x.size: a.x = b.x * 2
            case "add" | "add to data": a.x[...] = a.x + c
            case "read": seen.append(a.x * 1)
            case _: pass
    return seen


def ours(program: list[Line], held: list[Any]) -> list[Any]:
    seen: list[Any] = []
    for kind, i, j, c in program:
        a, b = held[i % len(held)], held[j % len(held)]
        match kind:
            case "part": held.append(a.data)
            case "end" if a.size > 1: held.append(a[1:])
            case "turned": held.append(a[::-1])
            case "put": a[c % a.size] = c
            case "add": a += c
            case "copy": a.copy_(st.arange(a.size) * c)
            case "give": a.data = st.arange(a.size).astype("float32") + c
            case "take" if a.size == b.size: a.data = b * 2
            case "add to data": a.data += c
            case "read": seen.append(a * 1)
            case _: pass
    return seen


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("style", STYLES)
def test_random_programs_share_what_numpys_names_do(style: Callable[[Any], Any], seed: int) -> None:
    rng = random.Random(seed)
    before, step, after, gone = lines(rng, 6), lines(rng, 10), lines(rng, 4), rng.random() < 0.3
    wanted, found = [Named(np.arange(5, dtype="f4")), Named(np.arange(5, dtype="f4") * 10)], [
        st.arange(5).astype("float32").requires_grad_(), st.arange(5).astype("float32") * 10]
    with st.no_grad():
        numpys(before, wanted)
        ours(before, found)
        if gone:
            del wanted[0], found[0]
        run = style(lambda: ours(step, [*found]))
        for _ in range(3):
            seen = [*numpys(step, [*wanted]), *(a.x for a in wanted)]
            for a, b in zip(seen, [*run(), *found], strict=True):
                assert np.array_equal(a, b.numpy())
        numpys(after, wanted)
        ours(after, found)
        assert all(np.array_equal(a.x, b.numpy()) for a, b in zip(wanted, found, strict=True))


def test_what_follows_is_looked_for_at_each_call() -> None:
    w = st.zeros(2)
    held = [w, w.data]
    step = st.compile(lambda: (held[0].assign(held[0] + 1), held[1] * 1)[1])
    assert step().tolist() == [1, 1]
    held[1] = st.ones(2) * 7
    assert step().tolist() == [7, 7] and w.tolist() == [2, 2]


def test_loops_and_branches_give_other_data() -> None:
    w = st.zeros(2)
    held = w.data

    def step(c: Any, x: Any) -> Any:
        here = w.data
        w.data = w + x
        return c, w - here

    _, moved = st.scan(step, st.zeros(()), st.ones(3, 2))
    assert moved.tolist() == [[1, 1]] * 3 and w.tolist() == [3, 3] and held.tolist() == [0, 0]

    @st.compile(control="python")
    def branch(x: st.Tensor) -> st.Tensor:
        for row in x:
            if row.sum() > 1:
                w.data = row
        return w * 1

    held = w.data
    assert branch(st.tensor([[1.0, 2.0], [0.0, 0.0]])).tolist() == [1, 2] and held.tolist() == [3, 3]

    def twice(c: Any, x: Any) -> Any:
        w[0] = 9
        w.data = x
        return c, c

    held = w.data
    with pytest.raises(TraceError, match=r"the step of scan sets x\.data of what it has written to"):
        st.scan(twice, st.zeros(()), st.ones(3, 2))
    assert held.tolist() == w.tolist() == [1, 2]


def test_a_trace_that_fails_leaves_what_is_shared() -> None:
    w = st.zeros(2)
    held = w.data

    @st.compile
    def step() -> None:
        w.data = st.ones(2)
        float(w.sum() + held.sum())

    with pytest.raises(TraceError):
        step()
    w += 1
    assert held.tolist() == [1, 1]


@pytest.mark.parametrize("style", STYLES)
def test_what_does_not_fit_changes_nothing(style: Callable[[Any], Any]) -> None:
    w = st.ones(3)
    held = w.data

    def give(y: st.Tensor) -> None:
        w.data = y

    with pytest.raises(ShapeError, match="broadcast"):
        style(give)(st.ones(2))
    w[0] = 7
    assert held.tolist() == w.tolist() == [7, 1, 1]
