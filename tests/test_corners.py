"""Corners of matrices: found behind masks made of positions, and left out of products that stay as they were."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import stele as st
from stele.ir.graph import Graph, Value, parameter
from stele.ir.types import Type, bool_, float32
from stele.kernel.corners import NONE, Corner, Corners
from stele.kernel.fuse import fuse
from stele.kernel.kinds import Contraction
from stele.ops import operators  # noqa: F401
from stele.ops.contraction import matmul
from stele.ops.diagonals import triangle, tril, triu
from stele.ops.elementwise.arithmetic import Select
from stele.ops.functional import softmax
from stele.ops.generate import arange
from stele.ops.joining import concatenate
from stele.ops.linear import expand_dims, full, swap_last
from stele.ops.statistics import sum as total
from stele.transform.expand import expand
from tests.first_steps import distance, in_float64

ABOVE, BELOW = Corner(1, 1), Corner(-1, 1)


def masked(mask: Callable[[int, int], Value], rows: int = 6, columns: int = 6) -> tuple[Corners, ...]:
    """The corners of both products of attention whose scores are -inf where the mask does not hold."""
    q, k = (parameter(name, Type(float32, (2, n, 3))) for name, n in (("q", rows), ("k", columns)))
    scores = matmul(q, swap_last(k))
    weights = softmax(Select()(mask(rows, columns), scores * 0.5, -np.inf), axis=-1)
    return found(Graph((q, k), (matmul(weights, k),)))


def found(graph: Graph) -> tuple[Corners, ...]:
    """The corners of the matrix products of a graph, in order."""
    return tuple(kernel.corners for kernel in fuse(expand(graph)).kernels if isinstance(kernel, Contraction))


def places(n: int, axis: int) -> Value:
    return expand_dims(arange(0, n), (1 - axis,))


@pytest.mark.parametrize(("mask", "expected"), [
    (triangle, (ABOVE,)),
    (lambda n, m: triangle(n, m, 2), (Corner(1, 3),)),
    (lambda n, m: tril(full((n, m), 1, float32)) > 0, (ABOVE,)),
    (lambda n, m: triu(full((n, m), 1, float32)) > 0, (BELOW,)),
    (lambda n, m: places(n, 0) >= places(m, 1), (ABOVE,)),
    (lambda n, m: places(m, 1) < places(n, 0) + 2, (Corner(1, 2),)),
    (lambda n, m: places(m, 1) > places(n, 0) - 3, (Corner(-1, 3),)),
    (lambda n, m: triangle(n, m) & (places(m, 1) > places(n, 0) - 3), (ABOVE, Corner(-1, 3))),
    (lambda n, m: triangle(n, m) & parameter("keep", Type(bool_, (m,))), (ABOVE,)),
    (lambda n, m: triangle(n, m, -1), ()),
    (lambda n, m: places(n, 0) * 2 >= places(m, 1), ()),
    (lambda n, m: parameter("mask", Type(bool_, (n, m))), ()),
])
def test_corners_of_attention(mask: Callable[[int, int], Value], expected: tuple[Corner, ...]) -> None:
    assert masked(mask) == (((), (), expected), (expected, (), ()))


def test_a_row_or_column_without_scores_is_left_as_it_is() -> None:
    assert masked(triangle, 4, 6) == (NONE, NONE)
    assert masked(triangle, 6, 4) == masked(triangle)
    late = masked(lambda n, m: triangle(n, m, m - n), 4, 6)
    assert late == (((), (), (Corner(1, 3),)), ((Corner(1, 3),), (), ()))


def test_an_added_mask_tells_as_much() -> None:
    q = parameter("q", Type(float32, (5, 3)))
    mask = Select()(triangle(5, 5), full((5, 5), 0, float32), -np.inf)
    assert found(Graph((q,), (matmul(softmax(matmul(q, swap_last(q)) + mask), q),)))[1] == ((ABOVE,), (), ())


def test_what_comes_about_otherwise_tells_nothing() -> None:
    q = parameter("q", Type(float32, (5, 5)))
    for x in (concatenate([tril(q), tril(q)], axis=0), total(tril(q), axis=1), swap_last(tril(q)) + 1):
        x = x if x.ndim == 2 else expand_dims(x, (0,))
        assert found(Graph((q,), (matmul(x, q),)))[0] == NONE


def test_a_product_that_is_looked_at_elsewhere_has_no_corner() -> None:
    q = parameter("q", Type(float32, (5, 3)))
    scores = matmul(q, swap_last(q))
    for other in (scores, scores * 2, scores + swap_last(scores)):
        assert found(Graph((q,), (tril(scores), other))) == (NONE,)
    assert found(Graph((q,), (tril(scores), tril(scores * 2)))) == (((), (), (ABOVE,)),)


@pytest.mark.parametrize(("words", "keys"), [(5, 5), (64, 64), (130, 130), (33, 100)])
def test_attention_and_its_gradients_are_those_of_float64(words: int, keys: int) -> None:
    rng = np.random.default_rng(0)
    q, k, v, g = (rng.standard_normal((2, 3, n, 16), np.float32) for n in (words, keys, keys, words))

    def score(q: st.Tensor, k: st.Tensor, v: st.Tensor, g: st.Tensor) -> st.Tensor:
        scores = st.where(st.tril(st.ones((words, keys)), k=keys - words) > 0, q @ k.swapaxes(-1, -2) / 4, -np.inf)
        return (st.softmax(scores, axis=-1) @ v * g).sum()

    f = st.compile(st.value_and_grad(score, argnums=(0, 1, 2)))
    _, gradients = f(q, k, v, g)
    for got, exact in zip(gradients, in_float64(f, q, k, v, g)[1:], strict=True):
        assert distance(got.numpy(), exact) < 2e-6


def attention(q: st.Tensor, k: st.Tensor, v: st.Tensor) -> st.Tensor:
    n = q.shape[1]
    return st.softmax(st.where(st.tril(st.ones((n, n))) > 0, q @ k.swapaxes(-1, -2), -np.inf), axis=-1) @ v


def test_what_a_mask_hides_is_never_met() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 200, 16), np.float32) for _ in range(3))
    f = st.compile(attention)
    whole = f(q, k, v).numpy()
    v[:, 190:] = np.nan
    assert np.array_equal(f(q, k, v).numpy()[:, :100], whole[:, :100])


def test_lengths_may_be_open() -> None:
    rng = np.random.default_rng(0)
    f = st.compile(attention, dims={name: {1: "words"} for name in "qkv"})
    for words in (7, 150):
        q, k, v = (rng.standard_normal((2, words, 16), np.float32) for _ in range(3))
        assert distance(f(q, k, v).numpy(), in_float64(f, q, k, v)[0]) < 2e-6
    assert f.compiles == 1
