"""Every rule fires on its example, and its two sides mean the same: values and gradients."""
from __future__ import annotations

import numpy as np
import pytest

from stele.backend import reference
from stele.ir.graph import Array, Graph
from stele.ir.rewrite import Report, Rule, rewrite
from stele.ir.types import float64
from stele.ir.verify import verify
from stele.transform import expand, simplify, stabilize

EPS = np.finfo(np.float64).eps
RULES = [*simplify.RULES, *stabilize.RULES, *expand.RULES]


def drawn(rule: Rule, graph: Graph) -> list[Array]:
    """Random inputs of a rule's domain."""
    rng = np.random.default_rng(7)
    low, high = rule.domain
    draws = {"f": lambda s: rng.uniform(low, high, s), "b": lambda s: rng.random(s) < 0.5,
             "i": lambda s: rng.integers(-5, 5, s), "u": lambda s: rng.integers(0, 9, s)}
    return [np.asarray(draws[p.dtype.kind](p.shape)).astype(p.dtype.numpy) for p in graph.parameters]


def distance(a: Array, b: Array) -> float:
    """max|a-b| / max|b|."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return 0.0 if a.size == 0 else float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_fires_on_its_example_and_keeps_the_meaning(rule: Rule) -> None:
    graph, report = verify(rule.graph(float64)), Report()
    after = verify(rewrite(graph, [rule], report=report))
    assert report.count(rule.name), f"{rule.name} does not fire on its example"
    assert not report.unfinished
    for a, b in zip(reference.run(after, drawn(rule, graph)), reference.run(graph, drawn(rule, graph))):
        assert a.dtype == b.dtype and a.shape == b.shape
        if rule.error:
            assert distance(a, b) <= rule.error * EPS
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_can_be_switched_off(rule: Rule) -> None:
    graph, report = rule.graph(float64), Report()
    assert rewrite(graph, [rule], off={rule.name}, report=report) is graph and report.total == 0


@pytest.mark.parametrize("rule", stabilize.RULES, ids=lambda r: r.name)
def test_stabilising_rule_is_strictly_better_where_the_original_fails(rule: Rule) -> None:
    if rule.hard is None:
        pytest.skip("better in its gradient alone")
    x, truth = rule.hard
    graph = rule.graph(float64)
    args = [np.full(p.shape, float(x) if p.op.label == "x" else 1.0) for p in graph.parameters]  # type: ignore[attr-defined]
    (before,), (after,) = (reference.run(g, args) for g in (graph, rewrite(graph, [rule])))
    np.testing.assert_allclose(after, np.broadcast_to(truth, after.shape), rtol=1e-12, atol=0)
    assert not np.allclose(before, truth, rtol=1e-3, atol=0)


def test_names_and_docs() -> None:
    assert len({r.name for r in RULES}) == len(RULES)
    for r in RULES:
        assert r.doc, f"{r.name} needs a docstring that states the identity"
