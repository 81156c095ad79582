"""What passes make of branches and of loops with a test: nothing twice, nothing idle, invariants outside."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stele.backend.reference import run
from stele.ir.graph import Graph, Literal, Op, Value, kind_of, literal, parameter, walk
from stele.ir.text import parse, show
from stele.ir.types import Type, bool_, float32, int32
from stele.ops import ALL
from stele.ops.branch import Cond, branch
from stele.ops.contraction import matmul
from stele.ops.control import inside
from stele.ops.elementwise.unary import Not, exp, sin, tanh
from stele.ops.gather import CheckIndex
from stele.ops.repeat import While, repeat
from stele.pipeline import Options, optimise
from stele.transform.autodiff import gradients


def leaf(name: str, *shape: int, of: Any = float32) -> Value:
    return parameter(name, Type(of, shape))


def cond(index: Value, ways: Sequence[Any], *x: Value) -> tuple[Value, ...]:
    known = set(x)
    entries = [inside([v.type for v in x], kind_of(x)) for _ in ways]
    return branch(index, [(entry, tuple(way(*entry))) for entry, way in zip(entries, ways)], x, known)


def loop(test: Any, body: Any, init: Sequence[Value], *known: Value) -> tuple[Value, ...]:
    first, second = (inside([v.type for v in init], kind_of(init)) for _ in range(2))
    return repeat((first, (test(*first),)), (second, tuple(body(*second))), init, set(known))


def ops(graph: Graph, kind: type[Op]) -> list[Any]:
    return [v for v in walk(graph.results) if isinstance(v.op, kind)]


def optimised(inputs: Sequence[Value], results: Sequence[Value]) -> Graph:
    """The graph after all passes; it means the same."""
    graph = Graph(tuple(inputs), tuple(results))
    after = optimise(graph, Options())
    rng = np.random.default_rng(0)
    for truth in (True, False):
        args = [np.asarray(truth if p.dtype == bool_ else 2 * truth if p.dtype == int32 else
                           rng.normal(size=p.shape)).astype(p.dtype.numpy) for p in inputs]
        for a, b in zip(run(graph, args), run(after, args), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert parse(show(after), ALL) == after
    return after


def test_the_forward_branch_of_a_gradient_is_there_once() -> None:
    p, x = leaf("p", of=bool_), leaf("x", 3)
    (y,) = cond(p, [lambda x: [tanh(x) * 2], lambda x: [exp(sin(x))]], x)
    (dx,) = gradients([y], [y], [x])
    assert dx is not None
    after = optimised([p, x], [y, dx])
    assert len(ops(after, Cond)) == 2
    inner = [v.op.name for c in ops(after, Cond) for way in c.op.branches for v in way]
    assert inner.count("Tanh") == inner.count("Sin") == inner.count("Exp") == 1


def test_branches_give_and_take_what_is_needed_alone() -> None:
    p, x, z = leaf("p", of=bool_), leaf("x", 3), leaf("z", 3)
    ways = [lambda x, z, u: [x, sin(x), sin(x), exp(z)], lambda x, z, u: [x, tanh(u), tanh(u), z]]
    a, b, c, _ = cond(p, ways, x, z, x)
    after = optimised([p, x, z], [a, b, c])
    (v,) = ops(after, Cond)
    assert after.results[0] is after.parameters[1] and after.results[1] is after.results[2]
    assert len(v.args) == 2 and len(v.op.branches[0].results) == 1


def test_a_choice_that_is_known_is_none() -> None:
    x = leaf("x", 3)
    (a,) = cond(Literal(True, bool_)(), [lambda x: [sin(x)], lambda x: [exp(x)]], x)
    (b,) = cond(literal(9), [lambda x: [sin(x)], lambda x: [exp(x)], lambda x: [tanh(x)]], x)
    after = optimised([x], [a, b])
    assert not ops(after, Cond) and {v.op.name for v in walk(after.results)} == {"Parameter", "Exp", "Tanh"}


def test_the_opposite_of_a_choice_is_the_same_choice() -> None:
    p, x = leaf("p", of=bool_), leaf("x", 3)
    (a,), (b,) = cond(p, [lambda x: [sin(x)], lambda x: [exp(x)]], x), \
        cond(Not()(p), [lambda x: [sin(x)], lambda x: [exp(x)]], x)
    after = optimised([p, x], [a, b])
    assert len(ops(after, Cond)) == 1 and not ops(after, Not)


def test_a_loop_loses_what_it_does_not_need() -> None:
    n, x, w = leaf("n", of=int32), leaf("x", 3), leaf("w", 3)
    i, _, y, fixed = loop(lambda i, a, b, c: i < n, lambda i, a, b, c: [i + 1, a * 2, b * c + sin(w), c],
                          [literal(0, int32), x, x, w], n, w)
    after = optimised([n, x, w], [i, y, fixed])
    (v,) = ops(after, While)
    assert v.op.carries == 2 and after.results[2] is after.parameters[2]
    assert [v.op.name for v in walk(after.results)].count("Sin") == 1, "what never changes is computed before"
    assert not any(u.op.name == "Sin" for u in v.op.body)


def test_products_of_one_operand_in_a_loop_are_one() -> None:
    n, x, u, w = leaf("n", of=int32), leaf("x", 4, 4), leaf("u", 4, 4), leaf("w", 4, 4)
    _, y = loop(lambda i, a: i < n, lambda i, a: [i + 1, tanh(matmul(a, u)) * tanh(matmul(a, w))],
                [literal(0, int32), x], n, u, w)
    after = optimised([n, x, u, w], [y])
    (v,) = ops(after, While)
    assert sum(u.op.family == "contraction" for u in v.op.body) == 1


def test_what_may_raise_stays_in_a_loop_that_may_make_no_step() -> None:
    n, k, x = leaf("n", of=int32), leaf("k", of=int32), leaf("x", 3)
    _, y = loop(lambda i, a: i < n, lambda i, a: [i + 1, a + CheckIndex(3)(k)], [literal(0, int32), k], n, k)
    after = optimised([n, k, x], [y])
    (v,) = ops(after, While)
    assert any(u.op.name == "CheckIndex" for u in v.op.body)


def test_text_of_branches_and_loops() -> None:
    p, n, x = leaf("p", of=bool_), leaf("n", of=int32), leaf("x", 3)
    _, y = loop(lambda i, a: i < n, lambda i, a: [i + 1, cond(p, [lambda a: [sin(a)], lambda a: [exp(a)]], a)[0]],
                [literal(0, int32), x], n, p)
    text = show(Graph((p, n, x), (y,)))
    assert [line.split("  #")[0] for line in text.splitlines()] == """\
graph(p: bool[], n: int32[], x: float32[3]):
  v0 = Literal(value=0, dtype=int32)() : int32[]
  v1 = While(test=graph(0), body=graph(1), carries=2)(v0, x, n, p) : (int32[], float32[3])
    graph0(x0: int32[], x1: float32[3], k0: int32[], k1: bool[]):
      v0 = Less()(x0, k0) : bool[]
      return v0
    graph1(x0: int32[], x1: float32[3], k0: int32[], k1: bool[]):
      v0 = Literal(value=1, dtype=int32)() : int32[]
      v1 = Add()(x0, v0) : int32[]
      v2 = Cond(branches=(graph(0), graph(1)))(k1, x1) : (float32[3])
        graph0(x0: float32[3]):
          v0 = Sin()(x0) : float32[3]
          return v0
        graph1(x0: float32[3]):
          v0 = Exp()(x0) : float32[3]
          return v0
      v3 = Item(k=0)(v2) : float32[3]
      return v1, v3
  v2 = Item(k=1)(v1) : float32[3]
  return v2""".splitlines()
    assert parse(text, ALL) == Graph((p, n, x), (y,))
