"""Nests of loops and their gradients, written by hand and at random, give what the reference gives."""
from __future__ import annotations

import numpy as np

import stele as st
from stele.backend import reference
from stele.backend.buffers import Buffer
from stele.ir.graph import Array, Graph, Item, parameter
from stele.ir.types import Type, float64
from stele.ops.control import scan
from stele.ops.elementwise.unary import tanh
from stele.pipeline import Options, build
from tests.random_loops import random_nest


def agrees(graph: Graph, args: list[Array], seed: int = -1) -> None:
    results = build(graph, options=Options(backend="cpu")).run([Buffer.of(a) for a in args], {})
    for y, expected in zip(results, reference.run(graph, args), strict=True):
        usable = np.isfinite(expected)
        scale = max(1.0, float(np.abs(expected[usable]).max(initial=0)))
        assert y.array.shape == expected.shape and y.array.dtype == expected.dtype
        np.testing.assert_allclose(y.array[usable], expected[usable], rtol=0, atol=1e-7 * scale, err_msg=f"seed {seed}")


def test_gradient_of_inner_ends_that_the_outer_loop_stacks() -> None:
    def f(x: st.Tensor) -> st.Tensor:
        outer = lambda c, q: (c, st.scan(lambda d, r: (d * r, d), q.sum(), q)[0])
        return st.tanh(st.scan(outer, x.sum(), x)[1]).sum()

    np.testing.assert_allclose(st.grad(f)(st.ones(1, 3)).numpy(), [[0.039464] * 3], rtol=1e-4)


def test_loops_of_one_body_have_places_of_their_own() -> None:
    x, w, z = (parameter(n, Type(float64, shape)) for n, shape in (("x", (3, 2)), ("w", (2,)), ("z", (4, 3, 2))))
    _, (y,) = scan(lambda c, xs: ([tanh(c[0] * xs[0] + w)], [c[0] * xs[0]]), [w], [x])
    one = y.args[0]
    again = one.op(w * 2, y, w)
    last, stacks = scan(lambda c, xs: ([Item(0)(one.op(c[0], xs[0], w))], [Item(1)(one.op(w, xs[0], c[0]))]), [w], [z])
    rng = np.random.default_rng(0)
    graph = Graph((x, w, z), (y, Item(0)(one), Item(0)(again), Item(1)(again), *last, *stacks))
    agrees(graph, [rng.normal(size=p.shape) for p in graph.parameters])


def test_random_nests_are_reference() -> None:
    for seed in (*range(30), 65):   # 65: two inner loops of one body, in different steps of the outer one's derivative
        agrees(*random_nest(seed), seed)
