"""Graphs print and parse back: the same digest, the same bits, the same text."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stele.backend import reference
from stele.errors import GraphError
from stele.ir.graph import Constant, Graph, Item, Literal, Value, literal, parameter
from stele.ir.origin import Origin, inherit
from stele.ir.sizes import size
from stele.ir.text import parse, show
from stele.ir.types import Guard, Type, bfloat16, bool_, float32, int64, uint32
from stele.ir.verify import verify
from stele.ops import ALL
from stele.ops.control import Scan
from stele.ops.elementwise.unary import exp, tanh
from stele.ops.factors import Qr
from stele.ops.linear import Concatenate, Reshape, Sum, Transpose, reshape, zeros_like
from stele.ops.random import RandomBits
from stele.transform.pairs import Paired

HERE = frozenset((Origin("model.py:12", 0, "net.fc1"), Origin("train.py:3")))


def example() -> Graph:
    n = size("n")
    x, w = parameter("x", Type(float32, (n, 3))), parameter("fc1.weight", Type(float32, (3,)))
    with inherit(HERE):
        y = Concatenate(0)(exp(x), x) * w + literal(np.array([0.5, -0.0, np.inf], np.float32))
        return Graph((x, w), (Sum((0, 1))(y), reshape(y, (n * 6,))), (Guard(n, 1, "!="),))


GOLDEN = """\
graph(x: float32[n,3], fc1.weight: float32[3]) if n != 1:
  v0 = Exp()(x) : float32[n,3]  # model.py:12 (net.fc1), train.py:3
  v1 = Concatenate(axis=0)(v0, x) : float32[2*n,3]  # model.py:12 (net.fc1), train.py:3
  v2 = Broadcast(shape=(2*n, 3))(fc1.weight) : float32[2*n,3]  # model.py:12 (net.fc1), train.py:3
  v3 = Mul()(v1, v2) : float32[2*n,3]  # model.py:12 (net.fc1), train.py:3
  v4 = Constant(array=array(float32, (3,), [0.5, -0.0, inf]))() : float32[3]  # model.py:12 (net.fc1), train.py:3
  v5 = Broadcast(shape=(2*n, 3))(v4) : float32[2*n,3]  # model.py:12 (net.fc1), train.py:3
  v6 = Add()(v3, v5) : float32[2*n,3]  # model.py:12 (net.fc1), train.py:3
  v7 = Sum(axes=(0, 1))(v6) : float32[]  # model.py:12 (net.fc1), train.py:3
  v8 = Reshape(shape=(6*n,))(v6) : float32[6*n]  # model.py:12 (net.fc1), train.py:3
  return v7, v8
"""

GOLDEN_LOOP = """\
graph(x: float32[t,2], w: float32[2]):
  v0 = Literal(value=0, dtype=float32)() : float32[]  # r.py:1
  v1 = Broadcast(shape=(2,))(v0) : float32[2]  # r.py:1
  v2 = Scan(body=graph(0), carries=1, slices=1, length=t, reverse=True)(v1, x, w) : (float32[2], float32[t,2])  # r.py:1
    graph0(h: float32[2], x: float32[2], w: float32[2]):
      v0 = Mul()(h, w) : float32[2]  # r.py:1
      v1 = Add()(v0, x) : float32[2]  # r.py:1
      v2 = Tanh()(v1) : float32[2]  # r.py:1
      return v2, v2
  v3 = Item(k=1)(v2) : float32[t,2]  # r.py:1
  return v3
"""


def loop() -> Graph:
    t = size("t")
    x, w = parameter("x", Type(float32, (t, 2))), parameter("w", Type(float32, (2,)))
    with inherit(frozenset((Origin("r.py:1"),))):
        inner = [parameter(name, Type(float32, (2,))) for name in ("h", "x", "w")]
        h = tanh(inner[0] * inner[2] + inner[1])
        loop = Scan(Graph(tuple(inner), (h, h)), carries=1, slices=1, length=t, reverse=True)
        return Graph((x, w), (Item(1)(loop(zeros_like(w), x, w)),))


@pytest.mark.parametrize(("graph", "text"), [(example(), GOLDEN), (loop(), GOLDEN_LOOP)], ids=["guards", "loop"])
def test_golden(graph: Graph, text: str) -> None:
    assert show(graph) == text
    again = verify(parse(text, ALL), {"n": 4, "t": 3})
    assert show(again) == text and again.digest == graph.digest
    args = [np.linspace(-1, 1, 4 * 2 * 3, dtype=np.float32).reshape(-1, p.shape[-1]) if p.ndim == 2 else
            np.ones(p.shape, np.float32) for p in graph.parameters]
    for a, b in zip(reference.run(graph, args), reference.run(again, args), strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("array", [
    np.array(3.5), np.zeros((0, 2), np.float32), np.arange(100).reshape(4, 25), np.array([np.nan, 1], np.float32),
    np.array([True, False]), np.array([1.5, -2], bfloat16.numpy), np.array([2**32 - 1], np.uint32),
    np.array(1e-45, np.float32),
], ids=str)
def test_constants_keep_their_bits(array: np.ndarray) -> None:  # type: ignore[type-arg]
    graph = Graph((), (Constant(array)(),))
    (again,) = reference.run(parse(show(graph), ALL), [])
    assert again.dtype == array.dtype and again.shape == array.shape and again.tobytes() == array.tobytes()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -0.0, 1e300, True, -7])
def test_numbers_keep_their_bits(value: float) -> None:
    graph = Graph((), (Literal(value, bool_ if value is True else int64 if value == -7 else float32)(),))
    (a,), (b,) = reference.run(graph, []), reference.run(parse(show(graph), ALL), [])
    assert a.tobytes() == b.tobytes() and a.dtype == b.dtype


def test_an_op_that_holds_an_op_prints_and_parses() -> None:
    x = parameter("x", Type(float32, (3, 3, 2)))
    y = Paired(Qr(False), (True,))(x)
    graph = Graph((x,), (Item(0)(y), Item(1)(y)))
    assert "Paired(op=Qr(complete=False), complexes=(True,))(x)" in show(graph)
    assert parse(show(graph), {**ALL, "Paired": Paired}).results[0].args[0].op == y.op


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_op_prints_and_parses(name: str) -> None:
    examples = getattr(ALL[name], "examples", None)
    if examples is None:
        pytest.skip("made by the graph itself, or without attributes")
    for op, operands in examples():
        x = [parameter(f"x{k}", t if isinstance(t, Type) else Type(Constant(np.asarray(t)).type().dtype, np.shape(t)))
             for k, t in enumerate(operands)]
        y = op(*x)
        results = (y,) if isinstance(y.type, Type) else tuple(Item(k)(y) for k in range(len(y.type.items)))
        graph = Graph(tuple(x), results)
        assert parse(show(graph), ALL).digest == graph.digest


@pytest.mark.parametrize(("broken", "message"), [
    ("graph(x: float32[3]):\n  v0 = Exq()(x) : float32[3]\n  return v0", "no op is named 'Exq'"),
    ("graph(x: float32[3]):\n  v0 = Exp()(z) : float32[3]\n  return v0", "no value is named 'z'"),
    ("graph(x: float32[3]):\n  v0 = Exp()(x) : float32[3]", "ends before"),
    ("graph(x: float32[3]):\n  v0 = Exp(x) : float32[3]\n  return v0", "expected"),
    ("x: float32[3]", "expected 'graph"),
])
def test_what_cannot_be_read_says_where(broken: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        parse(broken, ALL)


def faulty(change: str) -> Graph:
    """A graph that breaks one invariant."""
    x, z = (parameter(label, Type(float32, (2, 3))) for label in "xz")
    y = exp(x)
    match change:
        case "cycle":
            object.__setattr__(y, "args", (y,))
        case "foreign":
            return Graph((x,), (x + z,))
        case "twice":
            return Graph((x, x), (y,))
        case "type":
            y = Value(y.op, y.args, Type(float32, (3, 2)), y.where)
        case "operands":
            y = Value(Transpose((0, 0)), (x,), Type(float32, (2, 3)), y.where)
        case "number":
            y = Value((x + z).op, (x,), y.type, y.where)
        case "key":
            word = parameter("word", Type(uint32))
            return Graph((word,), (Value(RandomBits((2,)), (word,) * 2, Type(uint32, (2,)), HERE),))
        case "origin":
            y = Value(y.op, y.args, y.type, frozenset())
        case "guard":
            return Graph((x,), (y,), (Guard(size("m"), 1),))
        case "tuple":
            return replace_scan_result()
        case _:
            body = Graph((z,), (x + z,))
            return Graph((z,), (Value(Item(0), (holder(body, z),), z.type, HERE),))
    return Graph((x,), (y,))


def holder(body: Graph, x: Value) -> Value:
    """A loop of one step over a body."""
    good = loop().results[0].args[0]
    return Value(replace(good.op, body=body, carries=1, slices=0, length=1), (x,), good.type, HERE)  # type: ignore[type-var]


def replace_scan_result() -> Graph:
    graph = loop()
    return Graph(graph.parameters, (graph.results[0].args[0],))


@pytest.mark.parametrize(("change", "message"), [
    ("cycle", "needs itself"), ("foreign", "belongs to no list"), ("twice", "stands in the list twice"),
    ("type", "its op infers"), ("operands", "does not take its operands"), ("origin", "lost its origin"),
    ("number", "takes 2 operands, got 1"), ("key", "RandomBits needs a key"),
    ("guard", "no parameter has"), ("tuple", "a result is the tuple"), ("inner", "in graph 0 of"),
])
def test_each_invariant_is_checked(change: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        verify(faulty(change))


def test_assumptions_need_guards() -> None:
    n, m = size("n"), size("m")
    x = parameter("x", Type(float32, (n,)))
    y = Value(Reshape((m,)), (x,), Type(float32, (m,)), HERE)
    z = parameter("z", Type(float32, (m,)))
    with pytest.raises(GraphError, match="no guard states"):
        verify(Graph((x, z), (y,)), {"n": 3, "m": 3})
    verify(Graph((x, z), (y,), (Guard(n, m),)), {"n": 3, "m": 3})


