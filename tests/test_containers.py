"""Containers among arguments and results: lists and dicts that a function changes, dataclasses, and other objects."""
from __future__ import annotations

import copy
import json
import pickle
from argparse import Namespace
from collections import OrderedDict, UserDict, defaultdict
from dataclasses import dataclass, replace
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError, DataError, DTypeError, GraphError, ShapeError
from stele.tracing.tree import attributes


@dataclass(frozen=True)
class Output:
    loss: Any
    name: str = "mean"


@dataclass(slots=True)
class Pair:
    a: Any
    b: Any


def popped(batch: dict[str, Any]) -> Any:
    y = batch.pop("label")
    batch["scaled"] = batch["x"] * 2
    batch["rows"] = batch["x"].shape[0]
    return y.sum() + batch["scaled"].sum()


def grown(stack: Any, table: Any) -> Any:
    stack.append(stack[-1] * 2)
    del table["inner"][0]
    table["inner"].append(3)
    stack.reverse()
    return stack[0]


def rebound(batch: dict[str, Any]) -> Any:
    batch["x"] += 1
    batch["x"] = batch["x"] * batch["x"]
    return batch["x"].sum()


def plain(x: Any) -> Any:
    """What a tree holds, its arrays as lists."""
    if isinstance(x, dict):
        return {key: plain(part) for key, part in x.items()}
    return [*map(plain, x)] if isinstance(x, list | tuple) else np.asarray(x).tolist() if hasattr(x, "shape") else x


CHANGING: dict[str, tuple[Any, Any]] = {
    "popped": (popped, lambda: ({"x": st.ones(2), "label": np.ones(2, "f4"), "raw": np.arange(3), "text": "t"},)),
    "grown": (grown, lambda: ([st.ones(2)], {"inner": [1, 2], "more": st.zeros(1)})),
    "rebound": (rebound, lambda: ({"x": st.ones(2)},)),
    "in order": (lambda d: d.update(a=d.pop("a")), lambda: (OrderedDict(a=st.ones(1), b=st.zeros(1)),)),
    "of a default": (lambda d: d.clear(), lambda: (defaultdict(list, a=st.ones(1)),)),
    "sorted": (lambda xs: xs.sort(key=lambda x: x.ndim), lambda: ([st.ones(2, 2), st.ones(3), st.tensor(1.0)],)),
}


@pytest.mark.parametrize("case", CHANGING)
def test_containers_among_arguments_change_as_they_do_without_a_program(case: str) -> None:
    f, make = CHANGING[case]
    g, mine, law = st.compile(f), make(), make()
    inner = [x for x in mine[-1].values() if isinstance(x, list)] if isinstance(mine[-1], dict) else []
    for _ in range(3):
        try:
            wanted = f(*law)
        except (KeyError, IndexError):
            break
        assert plain(g(*mine)) == plain(wanted)
        assert plain(mine) == plain(law)
    assert [type(x) for x in mine] == [type(x) for x in law]
    assert all(any(x is y for y in mine[-1].values()) for x in inner), "a list in a dict is another"


def test_an_array_that_stays_is_the_same_array() -> None:
    raw = np.arange(3)
    batch = {"x": st.ones(2), "label": st.ones(2), "raw": raw}
    st.compile(popped)(batch)
    assert batch["raw"] is raw


def test_what_a_changed_container_holds_has_its_gradient() -> None:
    w = st.ones(2, requires_grad=True)
    batch = {"w": w}
    st.compile(lambda batch: batch.update(y=batch["w"] * 3))(batch)
    batch["y"].sum().backward()
    assert w.grad is not None and w.grad.tolist() == [3.0, 3.0]


def test_programs_for_elsewhere_change_no_argument(tmp_path: Any) -> None:
    f = st.compile(popped)
    f({"x": st.ones(2), "label": st.ones(2)})
    with pytest.raises(DataError, match="changes a list or dict among its arguments"):
        st.save(f, tmp_path / "program")
    with pytest.raises(GraphError, match="rebinds what lies outside"):
        f.export_library(tmp_path / "library")


def test_a_gradient_is_of_what_was_given_though_the_function_takes_it_apart() -> None:
    def loss(p: dict[str, Any]) -> Any:
        return (p.pop("w") ** 2).sum()

    given = {"w": st.tensor([1.0, 2.0])}
    for f in (st.grad(loss), st.compile(st.grad(loss)), lambda p: st.vjp(loss, p)[1](st.tensor(1.0))[0]):
        assert plain(f(given)) == {"w": [2.0, 4.0]} and [*given] == ["w"]


def test_dataclasses_are_made_anew_by_every_call() -> None:
    f = st.compile(lambda x: (Output((x * 2).sum()), [Pair(x, x + 1)]))
    for k in range(3):
        output, (pair,) = f(st.full((2,), float(k)))
        assert output == Output(output.loss) and float(output.loss) == 4 * k
        assert isinstance(pair, Pair) and pair.b.tolist() == [k + 1.0] * 2
    there = Output(st.ones(1))
    assert st.compile(lambda x: there)(st.ones(1)) is there


def test_dataclasses_go_through_loops_branches_and_derivatives() -> None:
    x = st.arange(4).astype("float32")
    last, sums = st.scan(lambda c, q: (Pair(c.a + q, c.b * q), c.a), Pair(st.tensor(0.0), st.tensor(1.0)), x + 1)
    assert (float(last.a), float(last.b), sums.tolist()) == (10.0, 24.0, [0.0, 1.0, 3.0, 6.0])
    grads = st.grad(lambda d: (d.a * d.b).sum())(Pair(x, x * 3))
    assert isinstance(grads, Pair) and grads.a.tolist() == [0.0, 3.0, 6.0, 9.0]
    mapped = st.vmap(lambda d: Pair(d.a + d.b, d.a))(Pair(x, x))
    assert mapped.a.tolist() == [0.0, 2.0, 4.0, 6.0]
    while_ = st.while_loop(lambda d: d.a.sum() < 10, lambda d: Pair(d.a + 1, d.b * 2), Pair(x, x))
    assert while_.b.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert st.cond(x.sum() > 0, lambda x: Pair(x, x), lambda x: Pair(-x, x), x).a.tolist() == x.tolist()


class Rows:
    """A class of plain Python, with code that reads its attributes, its class and a global."""

    scale = 3.0

    def __init__(self, x: Any) -> None:
        self.x, self.parts, self.seen = x, [x], {"times": 0}

    def __len__(self) -> int:
        return self.x.shape[0]

    def __getitem__(self, k: int) -> Any:
        return self.x[k]

    @property
    def scaled(self) -> Any:
        return self.x * self.scale + OFFSET


OFFSET = 1.5


class Slotted:
    __slots__ = "x", "y"

    def __init__(self, x: Any) -> None:
        self.x = x


class Words(UserDict[str, Any]):
    pass


def rows(k: int, n: int = 3) -> Any:
    return st.tensor(np.arange(n, dtype="f4") + k)


def writes(a: Any, b: Any) -> Any:
    a.y = a.x * 2
    return b.y.sum()


def moves(r: Any) -> Any:
    r.seen["times"] = r.parts[0] * r.scale
    r.parts[0] = r.x * 1
    r.x += 1
    r.last = r.parts
    return r.parts[0]


def twice(make: Any) -> Any:
    return lambda k: (made := make(k), made)


OBJECTS: dict[str, tuple[Any, Any]] = {
    "of a dataclass": (lambda p: p.a * p.b, lambda k: (Pair(rows(k), rows(1)),)),
    "frozen, with slots": (lambda o: o.loss * 2, lambda k: (Output(rows(k)),)),
    "of any size": (lambda r: r.scaled.sum() + r.x.shape[0], lambda k: (Rows(rows(k, 3 + k)),)),
    "of NumPy's arrays": (lambda p: st.tensor(p.a).sum() * 2, lambda k: (Pair(np.arange(3.0) + k, None),)),
    "with operators": (lambda r: r[0] * r.scaled, lambda k: (Rows(rows(k)),)),
    "with slots": (lambda s: s.x * 2, lambda k: (Slotted(rows(k)),)),
    "dict of the user's": (lambda d: d["x"] * 2, lambda k: (Words(x=rows(k), name="t"),)),
    "namespace": (lambda s: s.x * s.rate, lambda k: (SimpleNamespace(x=rows(k), rate=2.0),)),
    "arguments of a command": (lambda s: s.x * s.rate, lambda k: (Namespace(x=rows(k), rate=2.0),)),
    "inside of each other": (lambda p: p.a["r"].x + p.b[0].loss, lambda k: (Pair({"r": Rows(rows(k))},
                                                                              (Output(rows(1)),)),)),
    "returned": (lambda r: (r, [r.x]), lambda k: (Rows(rows(k)),)),
    "written to": (lambda s: writes(s, s), lambda k: (SimpleNamespace(x=rows(k), rate=1),)),
    "moved": (moves, lambda k: (Rows(rows(k)),)),
    "given twice": (writes, twice(lambda k: SimpleNamespace(x=rows(k), y=None))),
    "with functions": (lambda p: p.b(p.a), lambda k: (Pair(rows(k), st.relu),)),
    "printed": (lambda o: (repr(o)[:7], o.loss), lambda k: (Output(rows(k)),)),
    "made anew": (lambda o: replace(o, loss=o.loss * 3), lambda k: (Output(rows(k)),)),
}


def inside(x: Any) -> Any:
    """What a tree holds, with objects as what they hold."""
    if isinstance(x, list | tuple):
        return [*map(inside, x)]
    if isinstance(x, dict):
        return {key: inside(part) for key, part in x.items()}
    return plain(x) if hasattr(x, "shape") or not hasattr(x, "__dict__") | hasattr(x, "__slots__") or callable(x) \
        else inside(attributes(x))


@pytest.mark.parametrize("case", OBJECTS)
def test_another_object_of_data_at_each_call_is_no_other_function(case: str) -> None:
    f, make = OBJECTS[case]
    g = st.compile(f)
    for k in range(8):
        mine, law = make(k), make(k)
        assert inside(g(*mine)) == inside(f(*law))
        assert inside(mine) == inside(law)
        assert mine[0] is mine[-1]
    assert g.traces <= 3, g


def matched(d: dict[str, Any]) -> Any:
    match d:
        case {"id": k, "x": x}:
            return x * k
        case _:
            raise AssertionError


def stored(d: dict[str, Any]) -> Any:
    d["id"] = 0
    d["z"] = d["x"] * 2
    return d["x"]


def joined(d: dict[str, Any]) -> Any:
    d |= {"id": 7}
    return d["x"]


def removed(d: dict[str, Any]) -> Any:
    del d["id"]
    return d.pop("x") * 2


def batch(k: int) -> dict[str, Any]:
    return {"x": rows(k), "id": k, "path": f"{k}.png", "words": [f"a{k}", k], "inner": {"t": k, "y": rows(1)},
            "plain": {"a": k, "b": [k]}}


READ: dict[str, Any] = {
    "by key": lambda d: d["x"] * d["id"],
    "in a dict": lambda d: d["x"] * d["inner"]["t"],
    "in a list": lambda d: d["x"] * d["words"][1],
    "taken": lambda d: d.pop("id") * d["x"],
    "as names": lambda d: (lambda x, **more: x * more["id"])(**d),
    "copied": lambda d: {**d}["id"] * d["x"],
    "copied by dict": lambda d: dict(d)["id"] * d.copy()["id"] * d["x"],
    "copied by copy": lambda d: copy.copy(d)["id"] * d["x"],
    "pickled": lambda d: pickle.loads(pickle.dumps(d["plain"]))["a"] * d["x"],
    "gone through": lambda d: next(v for k, v in d.items() if k == "id") * d["x"],
    "values": lambda d: [*d.values()][1] * d["x"],
    "asked for": lambda d: d.get("id", 3) * d["x"],
    "set where there is none": lambda d: d.setdefault("id", 3) * d["x"],
    "joined": lambda d: (d | {"q": 1})["id"] * d["x"],
    "joined to another": lambda d: ({"q": 1} | d)["id"] * d["x"],
    "compared": lambda d: d["x"] * (2 if d["plain"] == {"a": 2, "b": [2]} else 3),
    "not equal": lambda d: d["x"] * (2 if d["plain"] != {"a": 2, "b": [2]} else 3),
    "printed": lambda d: (repr(d["plain"]), str(d["words"]), d["x"]),
    "formatted": lambda d: ("%(id)s" % d, "{id}".format_map(d), d["x"]),    # noqa: UP031
    "written as JSON": lambda d: (json.dumps(d["plain"]), d["x"]),
    "by an operator": lambda d: itemgetter("id")(d) * d["x"],
    "matched": matched,
    "names of code": lambda d: eval("id * 2", {}, d) * d["x"],
    "the last": lambda d: d.popitem()[1]["a"] * d["x"],
    "returned": lambda d: (d["inner"], d["plain"], d["x"]),
    "stored": stored,
    "updated": lambda d: d.update(id=5, w=d["x"] * 3),
    "joined in place": joined,
}

UNREAD: dict[str, Any] = {
    "beside": lambda d: d["x"] * 2,
    "beside what is inside": lambda d: d["x"] * d["inner"]["y"],
    "asked whether it is there": lambda d: d["x"] if "id" in d and len(d) > 2 else d["inner"]["y"],
    "in order": lambda d: (sorted(d), [*d], d["x"]),
    "beside what is taken": lambda d: d.pop("x") * 2,
    "beside what is new": lambda d: d.update(z=d["x"] * 2),
    "removed": removed,
    "all removed": lambda d: d.clear(),
}


@pytest.mark.parametrize("case", [*READ, *UNREAD])
def test_numbers_and_texts_of_a_dict_are_reasons_to_trace_where_they_are_read(case: str) -> None:
    f = {**READ, **UNREAD}[case]
    g = st.compile(f)
    for k in range(4):
        mine, law = batch(k), batch(k)
        assert plain(g(mine)) == plain(f(law))
        assert plain(mine) == plain(law) and [*mine] == [*law]
    assert g.traces == (1 if case in UNREAD else 4)


def test_what_one_trace_reads_another_may_not() -> None:
    f = st.compile(lambda d: d["x"] * d["id"] if d["x"].shape[0] == 2 else d["x"])
    for k, n in enumerate((3, 3, 2, 2, 3, 2)):
        x = st.full((n,), 2.0)
        assert f({"x": x, "id": k}).tolist() == [2.0 * k if n == 2 else 2.0] * n


def changes_both(a: Any, b: Any) -> Any:
    a["y"] = a["x"] * 2
    a["rows"].append(b["y"])
    return b["y"]


def test_a_container_given_twice_is_one() -> None:
    f = st.compile(changes_both)
    for k in range(3):
        d: dict[str, Any] = {"x": rows(k), "y": None, "rows": []}
        d["me"], inner = d, d["rows"]
        assert f(d, d).tolist() == d["y"].tolist() == d["rows"][0].tolist() == (rows(k) * 2).tolist()
        assert d["me"] is d and d["rows"] is inner
    one, other = ({"x": rows(0), "y": rows(5), "rows": []} for _ in range(2))
    assert f(one, other).tolist() == rows(5).tolist() and one["y"].tolist() == [0.0, 2.0, 4.0]


def test_what_an_object_holds_has_its_gradient() -> None:
    f = st.compile(lambda p: (p.a * p.b).sum().backward())
    for k in range(4):
        pair = Pair(st.ones(3, requires_grad=True), rows(k))
        f(pair)
        assert pair.a.grad.tolist() == rows(k).tolist()


class Counted:
    def __init__(self) -> None:
        self.total = st.zeros(3)

    @st.compile
    def add(self, x: Any) -> Any:
        self.total = self.total + x
        return self.total.sum()


def test_objects_of_compiled_methods_stay_what_they_are() -> None:
    ones = [Counted() for _ in range(3)]
    for k in range(3):
        for one in ones:
            one.add(rows(k))
    assert [one.total.tolist() for one in ones] == [[3.0, 6.0, 9.0]] * 3 and Counted.add.traces == 3


def test_an_object_that_is_another_at_each_call_is_warned_of() -> None:
    f = st.compile(lambda batch: batch.a * 2)
    with pytest.warns(UserWarning, match="batch is another object now, <Pair .*a dict or a named tuple"):
        for k in range(9):
            assert f(Pair(rows(k), {"a set"})).tolist() == (rows(k) * 2).tolist()
    assert f.compiles == 1


def test_keys_of_dicts_may_come_in_any_order() -> None:
    """Of tangents, cotangents, carries and results of branches: they were taken by their places."""
    a, b, one, none = (st.tensor(v) for v in (2.0, 5.0, 1.0, 0.0))
    d, change = {"a": a, "b": b}, {"b": one, "a": none}

    def product(d: Any) -> Any:
        return d["a"] ** 2 * d["b"]

    @st.custom_jvp
    def both(x: Any) -> Any:
        return {"a": x * 2, "b": x * 3}

    @both.defjvp
    def _(args: Any, tangents: Any) -> Any:
        return {"b": args[0] * 3, "a": args[0] * 2}, {"b": tangents[0] * 3, "a": tangents[0] * 2}

    turned = lambda c, *_: {"b": c["b"] + 1, "a": c["a"] * 2}
    for run in (lambda f: f, st.compile):
        assert float(run(lambda: st.jvp(product, (d,), (change,))[1])()) == 4
        assert {k: float(v) for k, v in run(lambda: st.hvp(product, d, change))().items()} == {"a": 4, "b": 0}
        assert float(run(lambda: st.vjp(lambda x: {"a": x, "b": x * 7}, a)[1](change)[0])()) == 7
        assert {k: float(v) for k, v in run(lambda: st.jvp(both, (a,), (one,))[1])().items()} == {"a": 2, "b": 3}
        for f in (lambda: st.fori_loop(0, 2, lambda i, c: turned(c), d),
                  lambda: st.while_loop(lambda c: c["b"] < 7, turned, d),
                  lambda: st.scan(lambda c, x: (turned(c), x), d, st.ones(2))[0],
                  lambda: st.cond(a > 0, lambda: {"b": b + 2, "a": a * 4}, lambda: d)):
            assert {k: float(v) for k, v in run(f)().items()} == {"a": 8, "b": 7}
        sums = run(lambda: st.associative_scan(lambda x, y: {"b": x["b"] + y["b"], "a": x["a"] * y["a"]},
                                               {"a": st.ones(3) * 2, "b": st.ones(3)}))()
        assert (sums["a"].tolist(), sums["b"].tolist()) == ([2, 4, 8], [1, 2, 3])


@pytest.mark.parametrize("tangents, message", [
    (({"c": 1.0, "a": 0.0},), r"the structure of its arguments, \(\{'a': float32\[\], 'b': float32\[\]\},\), got "),
    (([1.0, 0.0],), "have the structure of its arguments"), (st.ones(2), r"the tangents of jvp must be a tuple")])
def test_tangents_of_another_structure_are_refused(tangents: Any, message: str) -> None:
    with pytest.raises((GraphError, ArgumentError), match=message):
        st.jvp(lambda d: d["a"] * d["b"], ({"a": 2.0, "b": 5.0},), tangents)
    with pytest.raises(ArgumentError, match=r"the arguments of jvp must be a tuple.*st\.jvp\(f, \(x,\), \(dx,\)\)"):
        st.jvp(lambda x: x * 2, st.ones(3), st.ones(3))


def test_modules_are_differentiated_in_every_mode() -> None:
    layer, x = nn.Linear(2, 1), st.tensor([3.0, 4.0])
    w = layer.weight.numpy().copy()
    change = {"bias": st.zeros(1), "weight": st.ones(1, 2)}
    found = st.hvp(lambda layer: (layer.weight ** 3).sum() + layer.bias.sum(), layer, change)
    np.testing.assert_allclose(found["weight"], 6 * w, rtol=1e-6)
    _, dy = st.jvp(lambda layer: layer(x), (layer,), (change,))
    np.testing.assert_allclose(dy, [7.0], rtol=1e-6)
    _, pull = st.vjp(lambda layer, x: layer(x), layer, x)
    of_layer, of_x = pull(st.tensor([2.0]))
    np.testing.assert_allclose(of_layer["weight"], [[6.0, 8.0]], rtol=1e-6)
    np.testing.assert_allclose(of_x, 2 * w[0], rtol=1e-6)
    assert layer.weight.grad is None and of_layer["bias"].tolist() == [2.0]


def test_what_backward_starts_from() -> None:
    x = st.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for gradient in (st.ones(4), st.ones(1), st.ones(2, 3), 2.0):
        with pytest.raises(ShapeError, match=r"starts from has the shape \(3,\) of the tensor, got \("):
            (x * 2).backward(gradient)
    for loss in ((x * 2).astype("int32").sum(), st.tensor([1, 2]).sum(), (x > 1).sum()):
        with pytest.raises(DTypeError, match=r"starts from a float number, got int\d\d: there is no derivative"):
            loss.backward()
    assert (x.is_leaf, (x * 2).is_leaf, (x * 2).detach().is_leaf, st.ones(2).is_leaf) == (True, False, True, True)
