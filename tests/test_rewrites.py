"""Every rule fires on its example, and its two sides mean the same: values and gradients."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from stele.backend import reference
from stele.errors import GraphError, SteleError
from stele.ir.graph import Array, Graph, Value, literal, parameter
from stele.ir.origin import Origin, inherit, lines
from stele.ir.report import Report
from stele.ir.rewrite import Rule, rewrite, rule
from stele.ir.types import REAL, DType, Type, bool_, float64
from stele.ir.verify import verify
from stele.ops.elementwise.base import Elementwise
from stele.ops.elementwise.unary import exp, log, reciprocal, tanh
from stele.ops.linear import Cast, Sum, zeros_like
from stele.ops.reduction import highest, lowest
from stele.transform import expand, movement, simplify, stabilize
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
    graph, report = verify(rule.graph(float64 if float64 in rule.dtypes else rule.dtypes[-1])), Report()
    after = verify(rewrite(graph, [rule], report=report))
    assert rule.name in report.rules, f"{rule.name} does not fire on its example"
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
        assert np.abs(a - b).max(initial=0) <= 1e3 * np.finfo(a.dtype).eps * np.abs(b).max(initial=1)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_holds_for_every_dtype_it_claims_whatever_the_numbers(rule: Rule, dtype: DType) -> None:
    """Integers overflow, floats are infinite, NaN, too large, zeros of either sign; every op of `also` has its turn."""
    for k, graph in enumerate(examples(rule, dtype)):
        report, is_claimed = Report(), dtype in rule.dtypes and graph.results[0].args[-1].dtype == dtype
        after = verify(rewrite(graph, [rule], report=report))
        assert k or not is_claimed or rule.name in report.rules, f"{rule.name} claims {dtype}, and does not fire"
        for args in extremes(rule, graph):
            want, got = (reference.run(g, args)[0] for g in (graph, after))
            assert got.dtype == want.dtype
            is_same(rule, got, want, args)


def examples(rule: Rule, dtype: DType) -> Iterator[Graph]:
    """The example of a rule over parameters of a dtype, if there is one, and the same under each other op of `also`."""
    if rule in stabilize.RULES and dtype not in rule.dtypes:
        return
    try:
        graph = rule.graph(dtype)
    except SteleError:
        return
    (y,) = graph.results
    yield graph
    for op in rule.also:
        if not fields(op) and issubclass(op, Elementwise) and op.arity == len(y.args) and op is not type(y.op):
            with suppress(SteleError):
                yield Graph(graph.parameters, (op()(*y.args),))


def extremes(rule: Rule, graph: Graph) -> Iterator[list[Array]]:
    """Inputs of the rule's domain with special numbers among them, and large ones: as large as their dtypes hold where
    the rule has no error. (In another order a sum of the largest numbers overflows elsewhere.)"""
    rng, is_positive = np.random.default_rng(7), rule.domain[0] > 0
    for scale in (None,) if rule in stabilize.RULES else (None, 0.3) if rule.error else (None, 1.0, 0.6, 0.3):
        for _ in range(4):
            yield [extreme(rng, p.type, rule.domain, scale, is_positive) for p in graph.parameters]


def extreme(rng: np.random.Generator, type: Type, domain: tuple[float, float], scale: float | None,
            is_positive: bool) -> Array:
    """One input: of the domain with special numbers where `scale` is None, else about the largest number ** scale."""
    dtype, shape = type.dtype, type.shape
    if dtype == bool_:
        return rng.random(shape) < 0.5
    if not dtype.is_float:
        low, high = lowest(dtype), highest(dtype)
        ends = np.array([low, low + 1, high, high - 1, 0, 1, high // 2 + 1, 2], np.object_)
        return np.where(rng.random(shape) < 0.7, rng.choice(ends, shape), rng.integers(0, 9, shape)).astype(dtype.numpy)
    if scale is not None:
        x = float(ml_dtypes.finfo(dtype.numpy).max) ** scale * rng.uniform(0.5, 0.99, shape)
        return (x if is_positive else x * rng.choice([-1, 1], shape)).astype(dtype.numpy)
    special = [np.nan, np.inf] if is_positive else [np.nan, np.inf, -np.inf, 0.0, -0.0]
    x = np.where(rng.random(shape) < 0.3, rng.choice(special, shape), rng.uniform(*domain, shape))
    with np.errstate(invalid="ignore"):
        return x.astype(dtype.numpy)


def is_same(rule: Rule, got: Array, want: Array, args: list[Array]) -> None:
    """Asserts the same bits from a rule without an error, zeros and NaN included. One with an error may miss the sign
    of a zero and last digits; one that stabilises may also give numbers where the original has none."""
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    eps, got, want = float(ml_dtypes.finfo(want.dtype).eps), got.astype(np.float64), want.astype(np.float64)
    if rule.error == 0:
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got) | np.isnan(got), np.signbit(want) | np.isnan(want))
        return
    finite = np.isfinite(want)
    if rule not in stabilize.RULES:
        np.testing.assert_array_equal(got[~finite], want[~finite])
    elif want.ndim:
        finite &= finite.all(axis=-1, keepdims=True)    # an infinite number leaves nothing of a row's softmax
    if finite.any():
        assert np.abs(got[finite] - want[finite]).max() <= rule.error * eps * max(np.abs(want[finite]).max(), 1)


def test_a_cast_is_left_out_only_where_no_number_changes() -> None:
    rng = np.random.default_rng(7)
    for old, inner, new in product(REAL, repeat=3):
        x = parameter("x", Type(old, (60,)))
        graph = Graph((x,), (Cast(new)(Cast(inner)(x)),))
        for scale in (None, 1.0, 0.5):
            args = [extreme(rng, x.type, (-3, 3), scale, False)]
            want, got = (reference.run(g, args)[0] for g in (graph, rewrite(graph, [movement.cast_through_wider])))
            got, want = (y if new.kind in "biu" else y.astype(np.float64) for y in (got, want))
            np.testing.assert_array_equal(got, want, err_msg=f"{old} to {inner} to {new}")


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
    assert rewrite(graph, [rule], off={rule.name}, report=report) is graph and not report.rules


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
