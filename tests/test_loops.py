"""Loops are joined, pruned and split, and still mean the same."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from stele.backend import reference
from stele.ir.graph import Array, Graph, Value, literal, parameter, walk
from stele.ir.sizes import Dim, size
from stele.ir.types import Type, float64
from stele.ir.verify import verify
from stele.ops.contraction import MatMul, matmul
from stele.ops.control import Scan, scan
from stele.ops.elementwise.unary import sigmoid, tanh
from stele.ops.gather import Gather
from stele.ops.linear import slice_axis, swap_last, zeros_like
from stele.ops.statistics import sum as total
from stele.transform.autodiff import gradients
from stele.transform.hoist import hoist
from stele.transform.join import join
from stele.transform.merge import merge
from stele.transform.prune import prune
from stele.transform.share import share
from stele.transform.simplify import simplify

T, N, INPUTS, HIDDEN = 5, 2, 3, 4
SIZES = {"t": T, "n": N}


def given(label: str, *shape: Dim) -> Value:
    return parameter(label, Type(float64, shape))


def random_args(graph: Graph) -> list[Array]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=[d if isinstance(d, int) else d.at(SIZES) for d in p.shape]) for p in graph.parameters]


def assert_same(a: Graph, b: Graph) -> None:
    """Two graphs over the same parameters agree within a few roundings."""
    args = random_args(a)
    for x, z in zip(reference.run(verify(a), args), reference.run(verify(b), args), strict=True):
        np.testing.assert_allclose(z, x, rtol=0, atol=1e-13 * max(1.0, float(np.abs(x).max())))


def scans(graph: Graph) -> list[Scan]:
    return [v.op for v in walk(graph.results) if isinstance(v.op, Scan)]


def products(values: Sequence[Value]) -> int:
    return sum(isinstance(v.op, MatMul) for v in walk(values))


Cell = Callable[[list[Value], Value, list[Value]], list[Value]]


def gru(state: list[Value], x: Value, w: list[Value]) -> list[Value]:
    (h,), (wi, wh, bi, bh) = state, w
    parts = [[slice_axis(z, 1, k * HIDDEN, HIDDEN) for k in range(3)] for z in (
        matmul(x, swap_last(wi)) + bi, matmul(h, swap_last(wh)) + bh)]
    r, z = sigmoid(parts[0][0] + parts[1][0]), sigmoid(parts[0][1] + parts[1][1])
    n = tanh(parts[0][2] + r * parts[1][2])
    return [(1 - z) * n + z * h]


def lstm(state: list[Value], x: Value, w: list[Value]) -> list[Value]:
    (h, c), (wi, wh, bi, bh) = state, w
    gates = matmul(x, swap_last(wi)) + bi + matmul(h, swap_last(wh)) + bh
    i, f, g, o = (slice_axis(gates, 1, k * HIDDEN, HIDDEN) for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return [sigmoid(o) * tanh(c), c]


def gru_of_parts(state: list[Value], x: Value, w: list[Value]) -> list[Value]:
    """The same cell, written with a product for each gate."""
    (h,), (wi, wh, bi, bh) = state, w

    def gate(z: Value, weight: Value, bias: Value, k: int) -> Value:
        return matmul(z, swap_last(slice_axis(weight, 0, k * HIDDEN, HIDDEN))) + slice_axis(bias, 0, k * HIDDEN, HIDDEN)

    r, z = (sigmoid(gate(x, wi, bi, k) + gate(h, wh, bh, k)) for k in (0, 1))
    n = tanh(gate(x, wi, bi, 2) + r * gate(h, wh, bh, 2))
    return [(1 - z) * n + z * h]


def training_graph(cell: Cell, gates: int, t: Dim, n: Dim, reverse: bool) -> Graph:
    """A loss of a recurrent layer and all its gradients, everything computed inside the loop."""
    x = given("x", t, n, INPUTS)
    w = [given("wi", gates * HIDDEN, INPUTS), given("wh", gates * HIDDEN, HIDDEN),
         given("bi", gates * HIDDEN), given("bh", gates * HIDDEN)]
    zeros = zeros_like(given("h", n, HIDDEN))
    start = [zeros] * (2 if cell is lstm else 1)

    def step(state: tuple[Value, ...], xs: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        new = cell(list(state), xs[0], w)
        return new, new[:1]

    last, (ys,) = scan(step, start, [x], reverse=reverse)
    loss = total(ys * ys) + total(last[0] * last[0] * last[0])
    found = gradients([loss], [literal(1.0, float64)], [x, *w])
    return Graph((x, *w), (loss, *(g for g in found if g is not None)))


@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "symbolic"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(("cell", "gates"), [(gru, 3), (lstm, 4)], ids=["gru", "lstm"])
def test_a_recurrent_layer_keeps_one_product_per_step(cell: Cell, gates: int, reverse: bool, symbolic: bool) -> None:
    graph = training_graph(cell, gates, size("t") if symbolic else T, size("n") if symbolic else N, reverse)
    after = merge(simplify(share(graph)))
    assert_same(graph, after)
    forward, backward = scans(after)
    assert [products(s.body.results) for s in (forward, backward)] == [1, 1]
    assert backward.carries == forward.carries, "no weight or bias gradient is added up inside"
    assert products(after.results) == 4, "inputs, their gradient, and one product for each weight gradient"


def test_a_product_for_each_gate_is_one_product() -> None:
    graph = training_graph(gru_of_parts, 3, T, N, False)
    after = merge(simplify(share(graph)))
    assert_same(graph, after)
    assert [products(s.body.results) for s in scans(after)] == [1, 1]


def test_loops_over_the_same_steps_are_joined() -> None:
    x, w = given("x", T, N), given("w", N)
    h = zeros_like(given("h", N))
    _, (a,) = scan(lambda c, xs: ((c[0] * w + xs[0],), (c[0] * w + xs[0],)), [h], [x])
    (last,), (b,) = scan(lambda c, xs: ((c[0] * w + xs[0],), (tanh(c[0]),)), [h], [x])
    graph = Graph((x, w), (a, b, last))
    after = join(share(graph))
    assert len(scans(graph)) == 2 and len(scans(after)) == 1
    assert_same(graph, after)


def test_different_loops_stay_apart() -> None:
    x, h = given("x", T, N), zeros_like(given("h", N))
    (a,), _ = scan(lambda c, xs: ((c[0] + xs[0],), ()), [h], [x])
    (b,), _ = scan(lambda c, xs: ((c[0] * 2 + xs[0],), ()), [h], [x])
    assert len(scans(join(share(Graph((x,), (a, b)))))) == 2


def test_what_nobody_takes_goes() -> None:
    x, z, w = given("x", T, N), given("z", T, N), given("w", N)
    h = zeros_like(given("h", N))
    (a, _, same), (_, kept, again, given_back) = scan(
        lambda c, xs: ((c[0] + xs[0] * c[2], c[1] * tanh(xs[1]), c[2]), (c[1] + xs[1], c[0], c[0], xs[0])),
        [h, h, w], [x, z])
    graph = Graph((x, z, w), (a, same, kept, again, given_back))
    after = prune(graph)
    assert_same(graph, after)
    (loop,) = scans(after)
    assert (loop.carries, loop.slices, len(loop.body.results), len(loop.body.parameters)) == (1, 1, 2, 3)
    assert after.results[1] is w and after.results[4] is x
    assert prune(after) is after


def test_early_values_move_before_the_loop() -> None:
    x, w, v = given("x", T, N, INPUTS), given("w", INPUTS, INPUTS), given("v", INPUTS)
    (a,), (ys,) = scan(lambda c, xs: ((tanh(c[0] + matmul(xs[0], w) * v),), (xs[0] * v,)),
                       [zeros_like(given("h", N, INPUTS))], [x])
    graph = Graph((x, w, v), (a, ys))
    after = prune(hoist(graph))
    assert_same(graph, after)
    (loop,) = scans(after)
    assert products(loop.body.results) == 0 and len(loop.body.results) == 1
    assert hoist(after) is after


def test_a_chain_of_products_stays_inside() -> None:
    x, w = given("x", T, N, INPUTS), given("w", INPUTS, INPUTS)
    (a,), _ = scan(lambda c, xs: ((tanh(matmul(c[0], w) + xs[0]),), ()), [zeros_like(given("h", N, INPUTS))], [x])
    graph = Graph((x, w), (a,))
    assert_same(graph, after := merge(graph))
    assert products(scans(after)[0].body.results) == 1


def test_an_embedding_inside_a_loop_has_one_gradient() -> None:
    table, x = given("table", 7, INPUTS), given("x", T, N, INPUTS)
    index = literal(np.arange(T * N).reshape(T, N) % 7)
    (a,), _ = scan(lambda c, xs: ((tanh(c[0] * xs[1] + Gather(0)(table, xs[0])),), ()),
                   [zeros_like(given("h", N, INPUTS))], [index, x])
    [dtable] = gradients([total(a)], [literal(1.0, float64)], [table])
    assert dtable is not None
    graph = Graph((table, x), (a, dtable))
    after = merge(simplify(share(graph)))
    assert_same(graph, after)
    assert all(v.op.name != "ScatterAdd" for s in scans(after) for v in s.body)


def test_loops_inside_loops() -> None:
    x, w = given("x", T, N, INPUTS), given("w", INPUTS, INPUTS)

    def inner(c: tuple[Value, ...], xs: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        return [tanh(c[0] + matmul(xs[0], w))], []

    def outer(c: tuple[Value, ...], xs: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        (h,), _ = scan(inner, [c[0]], [x])
        return [h * xs[0]], [h]

    last, (ys,) = scan(outer, [zeros_like(given("h", N, INPUTS))], [x])
    loss = total(ys * ys) + total(last[0])
    [dw, dx] = gradients([loss], [literal(1.0, float64)], [w, x])
    assert dw is not None and dx is not None
    graph = Graph((x, w), (loss, dw, dx))
    assert_same(graph, merge(simplify(share(graph))))
