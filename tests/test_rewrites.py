"""Every rule fires on its example, and its two sides mean the same: values and gradients."""
from __future__ import annotations

import sys

import numpy as np
import pytest

from stele.backend import reference
from stele.errors import GraphError
from stele.ir.graph import Array, Graph, Value, literal, parameter
from stele.ir.origin import Origin, inherit, lines
from stele.ir.rewrite import Report, Rule, rewrite, rule
from stele.ir.types import Type, float64
from stele.ir.verify import verify
from stele.ops.elementwise.unary import exp, log, reciprocal, tanh
from stele.ops.linear import Sum, zeros_like
from stele.transform import expand, simplify, stabilize
from stele.transform.autodiff import gradients

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


@pytest.mark.parametrize("rule", [r for r in RULES if r is not simplify.stop_gradient_is_done], ids=lambda r: r.name)
def test_rule_keeps_the_gradients(rule: Rule) -> None:
    graph = rule.graph(float64)
    sides = [with_gradients(g) for g in (graph, rewrite(graph, [rule]))]
    if not sides[0].results:
        pytest.skip("no float depends on a float")
    for a, b in zip(*(reference.run(g, drawn(rule, g)) for g in reversed(sides)), strict=True):
        assert np.abs(a - b).max() <= 1e3 * np.finfo(a.dtype).eps * max(1.0, np.abs(b).max())


def with_gradients(graph: Graph) -> Graph:
    """The gradients of a weighted sum of the results."""
    (y,) = graph.results
    wrt = [p for p in graph.parameters if p.dtype.is_float]
    if not y.dtype.is_float or not wrt:
        return Graph(graph.parameters, ())
    weights = literal(np.cos(np.arange(y.type.size)).reshape(y.shape).astype(y.dtype.numpy))  # type: ignore[arg-type]
    found = gradients([y], [weights], wrt)
    return Graph(graph.parameters, tuple(zeros_like(p) if g is None else g for g, p in zip(found, wrt)))


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


def test_simplify_takes_time_in_proportion_to_the_graph() -> None:
    def calls(length: int) -> int:
        v = x = parameter("x", Type(float64, (3,)))
        for k in range(length):
            v = tanh(v * 2 + k)
        graph, seen = Graph((x,), (v,)), 0

        def count(*_: object) -> None:
            nonlocal seen
            seen += 1

        sys.setprofile(count)
        try:
            simplify.simplify(graph)
        finally:
            sys.setprofile(None)
        return seen

    calls(10)
    assert calls(800) < 2.2 * calls(400)


def test_origins_are_united() -> None:
    x = parameter("x", Type(float64, (3,)))
    with inherit(frozenset((Origin("a.py:1"),))):
        inner = exp(x)
    with inherit(frozenset((Origin("b.py:2"),))):
        outer = log(inner + 1)
    report = Report()
    (y,) = stabilize.stabilize(Graph((x,), (outer,)), report=report).results
    assert lines(y.where) == ("a.py:1", "b.py:2") and "b.py:2" in str(report)


def test_rules_that_undo_each_other_stop() -> None:
    @rule(lambda x, z: x + z)
    def forth(v: Value) -> Value | None:
        """x + z = x - -z"""
        return v.args[0] - (-v.args[1])

    @rule(lambda x, z: x - z)
    def back(v: Value) -> Value | None:
        """x - z = x + -z"""
        return v.args[0] + (-v.args[1])

    report, graph = Report(), forth.graph(float64)
    after = verify(rewrite(graph, (forth, back), report=report))
    assert set(report.unfinished) == {"forth", "back"} and "stopped" in str(report)
    for a, b in zip(reference.run(after, drawn(forth, graph)), reference.run(graph, drawn(forth, graph)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_rule_that_changes_the_type_is_told() -> None:
    @rule(lambda x: exp(x))
    def wrong(v: Value) -> Value | None:
        """exp(x) = sum(x)"""
        return Sum((0,))(v.args[0])

    with pytest.raises(GraphError, match="the rule wrong made"):
        rewrite(wrong.graph(), [wrong])


def test_a_factor_cancels_once() -> None:
    x = parameter("x", Type(float64, (3,)))
    below = reciprocal(exp(x))
    graph = Graph((x,), (below * below * exp(x),))
    for change in (stabilize.stabilize, lambda g: rewrite(g, [stabilize.reciprocal_times_itself])):
        (y,) = reference.run(change(graph), [np.array([0.0, 1.0, 2.0])])
        np.testing.assert_allclose(y, np.exp([-0.0, -1.0, -2.0]), rtol=1e-14)


def test_names_and_docs() -> None:
    assert len({r.name for r in RULES}) == len(RULES)
    for r in RULES:
        assert r.doc, f"{r.name} needs a docstring that states the identity"
