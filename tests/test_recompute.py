"""Scores of attention are not kept for gradients, and lie in memory for no longer than one head takes."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stele import pipeline
from stele.backend.buffers import Buffer
from stele.backend.reference import run
from stele.ir.graph import Array, Graph, Value, parameter
from stele.ir.types import Type, float32, uint32
from stele.kernel import order
from stele.nn.functional.attention import weights
from stele.ops.contraction import MatMul, matmul
from stele.ops.elementwise.unary import tanh
from stele.ops.linear import ones_like, reshape, transpose
from stele.ops.random import dropout
from stele.ops.statistics import sum
from stele.transform import recompute
from stele.transform.autodiff import gradients
from stele.transform.expand import expand
from stele.transform.share import share

VARIANTS: dict[str, Any] = {"plain": {}, "causal": {"is_causal": True}, "window": {"window": 3}, "dropout": {"p": 0.25},
            "masked": {"is_masked": True}}


def layer(heads: int, length: int, *, p: float = 0.0, is_masked: bool = False, is_causal: bool = False,
          window: int | None = None, batch: int = 2, features: int = 8) -> Graph:
    """Attention to a projection of x, its loss, and the gradients of x and the projection."""
    x = parameter("x", Type(float32, (batch, length, heads * features)))
    w = parameter("w", Type(float32, (heads * features, heads * features)))
    key, mask = parameter("key", Type(uint32, (4,))), parameter("mask", Type(float32, (length, length)))

    def split(v: Value) -> Value:
        return transpose(reshape(v, (batch, length, heads, features)), (0, 2, 1, 3))

    q, k, v = split(matmul(x, w)), split(x), split(tanh(x))
    scores = weights(q, k, mask if is_masked else None, None, None, is_causal=is_causal, scale=None, window=window)
    y = matmul(dropout(scores, key, p=p) if p else scores, v)
    loss = sum(tanh(y))
    found = [g for g in gradients([loss], [ones_like(loss)], [x, w]) if g is not None]
    return Graph((x, w, key, mask), (loss, *found))


def numbers() -> list[Array]:
    """Operands of a layer with two heads of 16 places and 2 features."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal((2, 16, 4), np.float32), rng.standard_normal((4, 4), np.float32),
            rng.integers(0, 2 ** 32, 4, np.uint32), rng.standard_normal((16, 16), np.float32)]


def products(graph: Graph) -> int:
    return len([v for v in graph if isinstance(v.op, MatMul) and v.shape[-2:] == (16, 16)])


@pytest.mark.parametrize("name", VARIANTS)
def test_large_scores_are_computed_again_and_mean_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = share(expand(layer(2, 16, **VARIANTS[name], features=2)))
    assert recompute.recompute(graph) == graph, "small scores are kept"
    monkeypatch.setattr(recompute, "LARGE", 1)
    monkeypatch.setattr(recompute, "RATIO", 4)
    again = recompute.recompute(graph)
    assert products(again) == products(graph) + 1, "the scores, and not their gradient"
    args = numbers()
    for a, b in zip(run(graph, args), run(again, args), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["plain", "causal", "dropout"])
def test_no_kernel_leaves_large_scores_in_memory(name: str) -> None:
    graph = layer(8, 512, **VARIANTS[name], batch=4)
    scores = 4 * 8 * 512 * 512 * 4
    kept = pipeline.memory(pipeline.request(graph, options=pipeline.Options(without=frozenset({"recompute"}))))
    again = pipeline.memory(pipeline.request(graph))
    assert kept.arena.bytes > scores > 4 * again.arena.bytes


def test_kernels_that_read_large_products_wait_for_nothing_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = share(expand(layer(2, 16, features=2)))
    monkeypatch.setattr(order, "LARGE", 1)
    made = pipeline.compiled(pipeline.request(graph)).run([Buffer.of(a) for a in numbers()], {})
    for a, b in zip(made, run(graph, numbers()), strict=True):
        np.testing.assert_allclose(a.array, b, rtol=1e-5, atol=1e-5)
