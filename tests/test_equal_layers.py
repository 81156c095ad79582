"""Layers that are equal but for their numbers are compiled once; memory is planned by a tree as piece by piece."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.backend.cpu.target import detect
from stele.ir.graph import parameter
from stele.ir.report import Report
from stele.ir.types import Type, float32
from stele.kernel.memory import Piece, layout, rounded
from stele.kernel.stretches import begin
from stele.pipeline import Options, Request, write

RANDOM = np.random.default_rng(0)


def recurrence(x: Any, w: Any, u: Any) -> Any:
    h = st.zeros((x.shape[1], u.shape[0]))
    for k in range(x.shape[0]):
        h = st.tanh(x[k] @ w + h @ u)
    return (h ** 2).mean()


def layers(x: Any, w: Any, u: Any) -> Any:
    y = x[0]
    for k in range(x.shape[0]):
        y = y + st.tanh(y @ w[k]) @ u
    return (y ** 2).mean()


Shapes = tuple[tuple[int, ...], ...]
CASES: dict[str, tuple[Callable[..., Any], Callable[[int], Shapes]]] = {
    "recurrence": (recurrence, lambda n: ((n, 4, 8), (8, 8), (8, 8))),
    "layers": (layers, lambda n: ((n, 4, 8), (n, 8, 8), (8, 8)))}


def numbers(*shapes: tuple[int, ...]) -> list[Any]:
    return [st.tensor(RANDOM.normal(0, 0.3, shape).astype(np.float32)) for shape in shapes]


@pytest.mark.parametrize("name", CASES)
def test_a_deeper_network_has_as_many_modules(name: str) -> None:
    f, shapes = CASES[name]

    def modules(n: int) -> int:
        slope, found = st.compile(st.value_and_grad(f, argnums=(0, 1, 2))), list[object]()
        slope(*numbers(*shapes(n)))
        write(Request(slope.graphs[0], {}, (), Options(), detect()), found.append, Report())
        return len(found)

    few = modules(12)
    assert modules(24) == few < 24


@pytest.mark.parametrize("name", CASES)
def test_shared_code_computes_what_each_layer_is(name: str) -> None:
    f, shapes = CASES[name]
    x, slope = numbers(*shapes(9)), st.value_and_grad(f, argnums=(0, 1, 2))
    expected = st.compile(slope, backend="reference")(*x)
    for y, law in zip(leaves(st.compile(slope)(*x)), leaves(expected), strict=True):
        np.testing.assert_allclose(y, law, rtol=1e-4, atol=1e-6)


def leaves(y: Any) -> list[Any]:
    value, gradients = y
    return [value.numpy(), *(g.numpy() for g in gradients)]


CUTS: list[tuple[Callable[[Any], Any], int | None]] = [
    (lambda x: x[2], 4 * 2 * 12), (lambda x: x[1:3], 4 * 12), (lambda x: x[1:2, 1:], 4 * (12 + 4)),
    (lambda x: x[:, :2], None), (lambda x: x[::2], None), (lambda x: x[::-1], None), (lambda x: x[0, :, 1:2], None)]


@pytest.mark.parametrize(("cut", "first"), CUTS)
def test_a_stretch_begins_where_its_first_element_lies(cut: Callable[[Any], Any], first: int | None) -> None:
    y = cut(parameter("x", Type(float32, (5, 3, 4))))
    while y.op.name == "Reshape":
        y = y.args[0]
    assert begin(y) == first


def test_a_number_that_is_a_result_too_is_no_operand() -> None:
    """Kernels that differ in a number that is written into one of them share no code."""
    def f(x: Any, first: Any) -> Any:
        return first, st.broadcast_to(first, (2, 3)), st.broadcast_to(x, (2, 3)), st.broadcast_to(first + 0, (3, 2))

    for first in (0.0, 7.0):
        number, *wide = st.compile(lambda x: f(x, st.full((), first)))(st.tensor(5.0))  # noqa: B023  (called at once)
        assert [number.tolist(), *({*y.numpy().ravel().tolist()} for y in wide)] == [first, {first}, {5.0}, {first}]


def test_pieces_lie_at_their_lowest_fit() -> None:
    chance = random.Random(0)
    for _ in range(300):
        last = chance.choice([0, 3, 10, 100])
        lives = [sorted((chance.randint(0, last), chance.randint(0, last))) for _ in range(chance.randrange(40))]
        pieces = [Piece(k, chance.choice([0, 64, 100, chance.randrange(5000)]), *life) for k, life in enumerate(lives)]
        assert dict(layout(pieces, {}).offsets) == one_by_one(pieces)


def one_by_one(pieces: list[Piece]) -> dict[int, int]:
    """Offsets of pieces, each compared with all that were placed before it."""
    placed: list[tuple[int, int, Piece]] = []
    for p in sorted(pieces, key=lambda p: (-rounded(int(p.bytes)), p.first, p.slot)):
        start, bytes_ = 0, rounded(int(p.bytes))
        for low, high, other in sorted(placed, key=lambda at: at[0]):
            if other.first <= p.last and p.first <= other.last and low < start + bytes_:
                start = max(start, high)
        placed.append((start, start + bytes_, p))
    return {p.slot: start for start, _, p in placed}
