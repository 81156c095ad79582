"""Kernels in chains: who may be in one, and that results do not tell."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import stele as st
from stele.ir.graph import Graph, Value, parameter
from stele.ir.types import Type, float32
from stele.kernel.bodies import step as laid
from stele.kernel.chain import parts
from stele.kernel.fuse import fuse
from stele.kernel.slots import Slots
from stele.ops import operators  # noqa: F401
from stele.ops.contraction import matmul
from stele.ops.functional import softmax
from stele.ops.linear import swap_last, transpose
from stele.ops.statistics import sum as total
from stele.transform.expand import expand
from tests.first_steps import distance, in_float64


def chained(f: Callable[[Value], Value], *shape: int) -> int:
    """In how many parts all kernels of a function may run."""
    x = parameter("x", Type(float32, shape))
    graph = expand(Graph((x,), (f(x),)))
    slots = Slots(fuse)
    slots.at[x] = slots.new("parameter", 0, "x")
    fused = fuse(graph)
    slots.views |= fused.views
    kernels = fused.kernels
    for kernel in kernels:
        laid(slots, kernel)
    return parts(kernels, slots)


@pytest.mark.parametrize(("f", "count"), [
    (lambda s: matmul(softmax(s), swap_last(s)), 24),
    (lambda s: softmax(softmax(swap_last(s))), 24),
    (lambda s: total(softmax(s), axis=3), 24),
    (lambda s: total(softmax(s), axis=1), 0),
    (lambda s: matmul(softmax(s), total(s, axis=0)), 0),
    (lambda s: matmul(transpose(softmax(s), (1, 0, 2, 3)), transpose(s, (1, 0, 2, 3))), 0),
    (lambda s: softmax(s, axis=1), 0),
])
def test_chains_stay_in_their_part(f: Callable[[Value], Value], count: int) -> None:
    assert chained(lambda x: f(matmul(x, swap_last(x))), 4, 6, 8, 8) == count
    assert chained(lambda x: f(matmul(x, swap_last(x))), 2, 2, 8, 8) == 0


def attention(q: st.Tensor, k: st.Tensor, v: st.Tensor) -> st.Tensor:
    n = q.shape[2]
    return st.softmax(st.where(st.tril(st.ones((n, n))) > 0, q @ k.swapaxes(-1, -2) / 4, -np.inf), axis=-1) @ v


def mixed(q: st.Tensor, k: st.Tensor, v: st.Tensor) -> st.Tensor:
    """Heads that meet: their weights are shared out anew."""
    weights = st.softmax(q @ k.swapaxes(-1, -2) / 4, axis=-1)
    return (weights / weights.sum(axis=1, keepdims=True)).swapaxes(0, 1) @ v.swapaxes(0, 1)


def scattered(q: st.Tensor, k: st.Tensor, v: st.Tensor) -> st.Tensor:
    """Scores beside others whose heads lie next to each other in memory, so that loops walk through heads last."""
    others = st.tensor(np.random.default_rng(1).standard_normal((4, q.shape[2], q.shape[2], 5), np.float32))
    return st.softmax(st.tanh(q @ k.swapaxes(-1, -2) / 9) * others.permute(0, 3, 1, 2), axis=-1) @ v


@pytest.mark.parametrize("f", [attention, mixed, scattered])
@pytest.mark.parametrize("words", [16, 33, 128])
def test_heads_and_their_gradients_are_those_of_float64(f: Callable[..., st.Tensor], words: int) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((4, 5, words, 16), np.float32) for _ in range(3))
    step = st.compile(st.value_and_grad(lambda q, k, v: (f(q, k, v) ** 2).sum(), argnums=(0, 1, 2)))
    value, gradients = step(q, k, v)
    exact = in_float64(step, q, k, v)
    for got, expected in zip((value, *gradients), exact, strict=True):
        assert distance(got.numpy(), expected) < 2e-6
    threads = st.get_threads()
    st.set_threads(7)
    again = step(q, k, v)[1]
    st.set_threads(threads)
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(again, gradients, strict=True))
