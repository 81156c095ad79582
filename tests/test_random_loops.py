"""Nests of loops and their gradients, written by hand and at random, give what the reference gives, in segments too."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import stele as st
from stele.backend import reference
from stele.backend.buffers import Buffer
from stele.ir.graph import Array, Graph, Item, parameter
from stele.ir.types import Type, float64
from stele.ir.verify import verify
from stele.ops.control import scan
from stele.ops.elementwise.unary import tanh
from stele.pipeline import Options, build, compiled, optimised, request
from stele.transform import segments
from tests.random_loops import random_nest


def agrees(graph: Graph, args: list[Array], seed: int = -1) -> None:
    results = build(graph, options=Options(backend="cpu")).run([Buffer.of(a) for a in args], {})
    alike([y.array for y in results], reference.run(graph, args), seed)


def alike(results: list[Array], wanted: list[Array], seed: int) -> None:
    for y, expected in zip(results, wanted, strict=True):
        usable = np.isfinite(expected)
        scale = max(1.0, float(np.abs(expected[usable]).max(initial=0)))
        assert y.shape == expected.shape and y.dtype == expected.dtype
        np.testing.assert_allclose(y[usable], expected[usable], rtol=0, atol=1e-7 * scale, err_msg=f"seed {seed}")


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


def test_random_nests_in_segments_are_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LEAST", 2)
    cut = 0
    for seed in range(60):
        graph, args = random_nest(seed)
        asked = request(graph, options=Options(backend="cpu"))
        after = optimised(replace(asked, levels=1 + seed % 2))
        if after.digest == optimised(asked).digest:
            continue
        verify(after)
        alike(reference.run(after, args), reference.run(graph, args), seed)
        cut += 1
        if cut < 4:
            made = compiled(replace(asked, levels=1)).run([Buffer.of(a) for a in args], {})
            alike([y.array for y in made], reference.run(graph, args), seed)
    assert cut > 8
