"""Random graphs mean the same after every pass; `python -m tests.long_random_graphs --n 50000` tries many more."""
from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stele.backend import reference
from stele.backend.buffers import Buffer
from stele.ir.graph import Array, Graph
from stele.ir.rewrite import Report
from stele.ir.text import parse, show
from stele.ir.verify import verify
from stele.ops import ALL
from stele.pipeline import PASSES, Options, build
from stele.transform.simplify import simplify
from tests.random_graphs import random_graph

TOLERANCE = 1e-7


def check(seed: int) -> None:
    """One random graph: every pass keeps the invariants and the meaning, its text reads back, nothing loops."""
    graph, args = random_graph(seed, reference.run)
    verify(graph)
    expected = reference.run(graph, args)
    assert_reads_back(graph)
    after = graph
    for _, change in PASSES:
        after = verify(change(after))
    assert_reads_back(after)
    report = Report()
    simplify(after, report=report)
    assert not report.unfinished
    for a, b in zip(reference.run(after, args), expected, strict=True):
        assert_close(a, b, seed)


def assert_close(a: Array, expected: Array, seed: int) -> None:
    """Where the reference is finite, a result differs from it by roundings at most."""
    usable = np.isfinite(expected)
    scale = max(1.0, float(np.abs(expected[usable]).max(initial=0)))
    assert a.shape == expected.shape and a.dtype == expected.dtype
    np.testing.assert_allclose(a[usable], expected[usable], rtol=0, atol=TOLERANCE * scale, err_msg=f"seed {seed}")


def assert_reads_back(graph: Graph) -> None:
    again = parse(show(graph), ALL)
    assert again.digest == graph.digest and show(again) == show(graph)


def check_program(seed: int, backend: str) -> None:
    """One random graph: its program gives what the reference gives."""
    graph, args = random_graph(seed, reference.run)
    results = build(graph, options=Options(backend=backend)).run([Buffer.of(a) for a in args], {})
    for y, expected in zip(results, reference.run(graph, args), strict=True):
        assert_close(y.array, expected, seed)


def test_programs_are_reference() -> None:
    # 1083: a sum whose slice is read under bounds, beside the whole; 7423: a matrix none of whose axes is dense
    for seed in (*range(100), 1083, 7423):
        check_program(seed, "cpu")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_optimised_is_reference(seed: int) -> None:
    check(seed)
