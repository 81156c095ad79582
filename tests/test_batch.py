"""Every op at many places at once is what it is at each of them."""
from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case

from stele.backend.reference import run
from stele.ir.graph import Array, Graph, parameter
from stele.ir.sizes import size
from stele.ir.types import Type, dtype
from stele.ops import ALL
from stele.ops.contraction import KIN, WeightGrad, matmul
from stele.ops.control import scan
from stele.ops.elementwise.unary import Tanh, tanh
from stele.transform.batch import BatchError, batch

PLACES = 3
NO_PLACES = ("Parameter", "Literal", "Constant", "Item", "Iota")
"""Ops without operands, and the parts of a tuple, which go with it."""
FIXED = tuple(op.__name__ for kin in KIN.values() for op in kin)
"""Ops that need to know how many places there are, where both operands have them."""
OF_ALL = ("AllSum", "AllMax", "AllGather")
"""Ops that are of all places: a second operand with an axis ends them."""


KEPT = ("Cholesky",)
"""Ops whose operands cannot be put in any order."""


def places_of(operand: Array, seed: int, name: str = "") -> Array:
    """Other numbers of the same kind at each place."""
    if name in KEPT:
        return np.stack([operand * (k + 1) for k in range(PLACES)])
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(operand.reshape(-1)).reshape(operand.shape) for _ in range(PLACES)])


def check(case: Case, placed: tuple[bool, ...], n: Any) -> None:
    """The batched graph on stacked operands is the stack of the graph's results."""
    graph = case.graph()
    many = batch(graph, placed, n)
    args = [places_of(a, k, case.op.name) if has_axis else a
            for k, (a, has_axis) in enumerate(zip(case.operands, placed))]
    found = run(many, args)
    each = [run(graph, [a[k] if has_axis else a for a, has_axis in zip(args, placed)]) for k in range(PLACES)]
    for y, *expected in zip(found, *each, strict=True):
        assert y.shape == (PLACES, *expected[0].shape) and y.dtype == expected[0].dtype
        wide = "c16" if y.dtype.kind == "c" else "f8"
        np.testing.assert_allclose(y.astype(wide), np.stack(expected).astype(wide), rtol=2e-6, atol=2e-6)


def test_every_op_has_a_case() -> None:
    assert {type(p.values[0].op).__name__ for p in CASES if p.values[0].operands} == set(ALL) - set(NO_PLACES)


@pytest.mark.parametrize("case", [p for p in CASES if p.values[0].operands])
def test_batched_equals_stacked(case: Case) -> None:
    count = len(case.operands) - (case.op.name == "Foreign")      # whose address is the same everywhere, or it loops
    rest = (False,) * (len(case.operands) - count)
    ways = [(*way, *rest) for way in product((False, True), repeat=count) if any(way)]
    for way in ways[:1 if case.op.name in OF_ALL else 7]:
        check(case, way[::-1] if case.op.name in OF_ALL else way, PLACES)


@pytest.mark.parametrize("case", [p for p in CASES if p.values[0].operands])
def test_at_any_number_of_places(case: Case) -> None:
    way = (True,) + (case.op.name not in (*FIXED, *OF_ALL, "Foreign"),) * (len(case.operands) - 1)
    if not isinstance(case.op, WeightGrad):
        check(case, way, size("n"))


class Unplaced(Tanh):
    """An op without a rule for places."""

    def batch(self, d: Any, n: Any, x: Any, y: Any) -> Any:
        return None


def test_what_has_no_form_is_a_loop_where_loops_are_allowed() -> None:
    x = parameter("x", Type(dtype("float32"), (4,)))
    graph = Graph((x,), (Unplaced()(x) * 2, x))
    with pytest.raises(BatchError, match=r"Unplaced .* has no form"):
        batch(graph, (True,), PLACES)
    many = batch(graph, (True,), PLACES, loops=True)
    assert [v.op.name for v in many if v.op.family == "control"] == ["Scan"]
    xs = np.random.default_rng(0).normal(size=(PLACES, 4)).astype("f4")
    np.testing.assert_allclose(run(many, [xs])[0], np.tanh(xs) * 2, rtol=2e-6)
    of_two = Graph((a := parameter("a", Type(dtype("float32"), (1, 2, 5))), w := parameter("w", a.type)),
                   (KIN[1][0]((1,), ((0, 0),), (1,), 1)(a, w),))
    found = batch(of_two, (True, True), size("n"), loops=True)
    both = np.random.default_rng(1).normal(size=(2, PLACES, 1, 2, 5)).astype("f4")
    np.testing.assert_allclose(run(found, [*both])[0][:, 0, 0, 0], (both[0] * both[1]).sum((1, 2, 3)), rtol=2e-6)


def test_graphs_are_batched_whole() -> None:
    """Loops with what they hold, several results, and what is the same at all places."""
    x, w = parameter("x", Type(dtype("float32"), (4,))), parameter("w", Type(dtype("float32"), (4, 4)))
    (last,), ys = scan(lambda c, _: ((tanh(matmul(c[0], w)),), (c[0] + x,)), [x], [], length=5)
    graph = Graph((x, w), (last, ys[0], w))
    rng = np.random.default_rng(0)
    xs, one = rng.normal(size=(PLACES, 4)).astype("f4"), rng.normal(size=(4, 4)).astype("f4")
    found = run(batch(graph, (True, False), PLACES), [xs, one])
    for y, *expected in zip(found, *(run(graph, [v, one]) for v in xs), strict=True):
        np.testing.assert_allclose(y, np.stack(expected), rtol=2e-6, atol=2e-6)
