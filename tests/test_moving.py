"""State in containers that a function puts others in place of: the second, third and later calls see the latest."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn


@dataclass
class Pair:
    h: Any
    c: Any


class Own:
    def __init__(self, h: Any) -> None:
        self.h = h


class Slots:
    __slots__ = ("h",)

    def __init__(self, h: Any) -> None:
        self.h = h


class Cell(nn.Module):
    """Keeps what it was last, as recurrent code does by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.state: Any = {"h": st.zeros(2), "c": st.zeros(2)}

    def forward(self, x: Any) -> Any:
        h = st.tanh(x + self.state["h"])
        self.state = {"h": h, "c": self.state["c"] + h}
        return self.state["c"]


def steps(read: Callable[[Any], Any], write: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A step that reads the last state out of a container, and puts a new container in its place."""
    def step(box: Any, x: Any) -> Any:
        h = 0 * x if box.inner is None else read(box.inner)
        box.inner = write(x + 2 * h)
        return h
    return step


def swapped(box: Any, x: Any) -> Any:
    box.a, box.b = box.b, box.a
    return box.a["h"] * 2 + x


def swapped_modules(box: Any, x: Any) -> Any:
    box.net, box.other = box.other, box.net
    return box.net(x)


def the_old_one(box: Any, x: Any) -> Any:
    before = box.inner
    box.inner = {"h": before["h"] + x}
    return before


def kept_elsewhere(box: Any, x: Any) -> Any:
    y = box.first["h"] + box.inner["h"]
    box.inner = {"h": x + y}
    return y


def counted(box: Any, x: Any) -> Any:
    box.inner = {"n": box.inner["n"] + 1, "h": x * box.inner["n"] + box.inner["h"]}
    return box.inner["h"]


def written_first(box: Any, x: Any) -> Any:
    inner = box.inner
    inner["h"] = inner["h"] + x
    box.inner = {**inner}
    return inner["h"]


def given_back(box: Any, x: Any) -> Any:
    before = box.inner
    box.inner = {"h": before["h"] + x}
    return before["h"] * 1


def toggled(box: Any, x: Any) -> Any:
    y = x if box.inner is None else x + box.inner["h"]
    box.inner = {"h": y} if box.inner is None else None
    return y


def arrays(box: Any, x: Any) -> Any:
    y = x * box.inner["w"]
    box.inner = {"w": box.inner["w"]}
    return y


def other_keys(box: Any, x: Any) -> Any:
    name = "a" if "a" in box.inner else "b"
    y = box.inner[name] + x
    box.inner = {("b" if name == "a" else "a"): y}
    return y


def in_parts(box: Any, x: Any) -> Any:
    box.inner = {"deep": {"h": [box.inner["deep"]["h"][0] + x]}, "net": box.inner["net"]}
    return box.inner["net"](box.inner["deep"]["h"][0])


TOP: Any = None


def of_the_module(box: Any, x: Any) -> Any:
    global TOP
    h = 0 * x if TOP is None else TOP["h"]
    TOP = {"h": h + x}
    return h


def held(**names: Any) -> Callable[[], Any]:
    return lambda: SimpleNamespace(**{k: f() if callable(f) else f for k, f in names.items()})


def net(seed: int) -> Callable[[], Any]:
    def made() -> Any:
        st.manual_seed(seed)
        return nn.Linear(2, 2)
    return made


EMPTY = held(inner=None)


def h_of(x: float) -> Callable[[], Any]:
    return lambda: {"h": st.tensor([x, 1.0])}


def shared() -> Any:
    one = {"h": st.ones(2)}
    return SimpleNamespace(first=one, inner=one)


CASES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], Any], int]] = {  # with the most traces
    "a dict":            (steps(lambda s: s["h"], lambda h: {"h": h}), EMPTY, 2),
    "a list":            (steps(lambda s: s[0], lambda h: [h]), EMPTY, 2),
    "a tuple":           (steps(lambda s: s[1], lambda h: (h * 3, h)), EMPTY, 2),
    "a dataclass":       (steps(lambda s: s.h + s.c, lambda h: Pair(h, h * 0.5)), EMPTY, 2),
    "a namespace":       (steps(lambda s: s.h, lambda h: SimpleNamespace(h=h)), EMPTY, 2),
    "an object":         (steps(lambda s: s.h, lambda h: Own(h)), EMPTY, 2),
    "slots":             (steps(lambda s: s.h, lambda h: Slots(h)), EMPTY, 2),
    "an ordered dict":   (steps(lambda s: s["h"], lambda h: OrderedDict(c=h, h=h)), EMPTY, 2),
    "dicts in a tuple":  (steps(lambda s: s[0]["h"], lambda h: ({"h": h}, {"c": h})), EMPTY, 2),
    "tuples in a dict":  (steps(lambda s: s["h"][1], lambda h: {"h": (h, h)}), EMPTY, 2),
    "objects in a list": (steps(lambda s: s[0].h["h"], lambda h: [Own({"h": h})]), EMPTY, 2),
    "swapped dicts":     (swapped, held(a=h_of(1.0), b=h_of(2.0)), 2),
    "swapped modules":   (swapped_modules, held(net=net(1), other=net(2)), 2),
    "kept elsewhere":    (kept_elsewhere, shared, 2),
    "numbers in it":     (counted, held(inner=lambda: {"n": 1, "h": st.ones(2)}), 6),
    "written first":     (written_first, held(inner=h_of(1.0)), 6),
    "given back":        (given_back, held(inner=h_of(1.0)), 2),
    "now and then":      (toggled, EMPTY, 2),
    "arrays":            (arrays, held(inner=lambda: {"w": np.array([2.0, 3.0], "f4")}), 2),
    "other keys":        (other_keys, held(inner=lambda: {"a": st.ones(2)}), 2),
    "parts":             (in_parts, held(inner=lambda: {"deep": {"h": [st.ones(2)]}, "net": net(1)()}), 2),
    "a global":          (of_the_module, EMPTY, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_each_call_sees_what_the_last_one_left(name: str) -> None:
    global TOP
    f, make, most = CASES[name]
    found: list[Any] = []
    traces = 0
    for g in (f, st.compile(f)):
        TOP, box = None, make()
        found.append([g(box, st.tensor([k + 1.0, 2.0])).tolist() for k in range(6)])
        traces = getattr(g, "traces", 0)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    assert traces <= most


def test_a_module_that_keeps_its_state_in_a_dict_needs_one_program() -> None:
    law, cell = Cell(), Cell()
    f = st.compile(cell)
    for k in range(5):
        np.testing.assert_allclose(f(st.ones(2) * k), law(st.ones(2) * k), rtol=1e-6)
    assert f.traces == 1 and cell.state["h"].tolist() == pytest.approx(law.state["h"].tolist())


def test_the_container_that_was_there_is_returned_itself() -> None:
    box, f = SimpleNamespace(inner={"h": st.ones(2)}), st.compile(the_old_one)
    for k in range(4):
        before = box.inner
        assert f(box, st.ones(2)) is before and box.inner["h"].tolist() == [k + 2, k + 2]


def test_what_is_put_there_from_outside_is_seen() -> None:
    box = SimpleNamespace(inner={"h": st.ones(2)})
    f = st.compile(CASES["a dict"][0])
    f(box, st.ones(2))
    box.inner = {"h": st.tensor([5.0, 7.0])}
    assert f(box, st.ones(2)).tolist() == [5, 7] and box.inner["h"].tolist() == [11, 15]
    box.inner = {"h": st.ones(3)}
    assert f(box, st.ones(3)).tolist() == [1, 1, 1]
    box.inner = {"h": st.ones(3), "more": 1}
    assert f(box, st.ones(3)).tolist() == [1, 1, 1]
    box.inner = None
    assert f(box, st.ones(2)).tolist() == [0, 0]


def test_gradients_reach_what_such_a_container_holds() -> None:
    def loss(box: Any, w: Any) -> Any:
        y = (w * box.inner["h"]).sum()
        box.inner = {"h": box.inner["h"] + 1}
        return y

    box, g = SimpleNamespace(inner={"h": st.ones(2)}), st.compile(st.grad(loss, argnums=1))
    assert [g(box, st.ones(2)).tolist() for _ in range(4)] == [[k, k] for k in (1, 2, 3, 4)]
