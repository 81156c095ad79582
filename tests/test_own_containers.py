"""Lists, dicts, tuples and objects of classes of the user's: arguments, results, carries and what is differentiated."""
from __future__ import annotations

import time
from collections import Counter, OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import stele as st
from stele.errors import TraceError


class Open(dict[str, Any]):
    """A dict whose entries are attributes too."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__      # type: ignore[assignment]


class Output(OrderedDict[str, Any]):
    """What models of other libraries return: entries by name and by number, and attributes beside them."""

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else tuple(self.values())[key]

    def __setattr__(self, name: str, x: Any) -> None:
        super().__setattr__(name, x)

    def update(self, *_: Any, **__: Any) -> Any:
        raise TypeError("no update here")


class Pair(tuple[Any, ...]):
    def total(self) -> Any:
        return self[0] + self[1]


class Rows(list[Any]):
    def total(self) -> Any:
        return sum(self)


class Loss:
    def __init__(self, loss: Any, logits: Any) -> None:
        self.loss, self.logits = loss, logits


class Slots:
    __slots__ = "a", "b"

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


def output(x: Any) -> Output:
    made = Output(logits=x * 2)
    made.extra = x
    return made


def ordered(x: Any) -> Any:
    return OrderedDict(b=x, a=x + 1)


def after(x: Any, *_: Any) -> Any:
    return x


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {     # a function, and what it is given
    "an ordered dict":     (lambda d: after(d["b"] * 2, d.move_to_end("b")), ordered),
    "a default":           (lambda d: [*d["none"], d["a"] * 2], lambda x: defaultdict(list, {"a": x})),
    "a default is made":   (lambda d: after(d, d["k"].append(d["a"] * 2)), lambda x: defaultdict(list, {"a": x})),
    "an open dict":        (lambda d: d.x * 2 + d.y, lambda x: Open(x=x, y=x)),
    "an open dict is set": (lambda d: after(d.x, setattr(d, "z", d.x * 2)), lambda x: Open(x=x)),
    "a pair":              (lambda p: Pair((p.total(), p[0])), lambda x: Pair((x, x * 2))),
    "a tuple of C's":      (lambda t: time.struct_time([2 * t.tm_year, *t[1:]]), lambda x: time.struct_time([x] * 9)),
    "rows":                (lambda r: Rows([r.total(), *r]), lambda x: Rows([x, x * 2])),
    "rows grow":           (lambda r: after(r[0], r.append(r[1])), lambda x: Rows([x, x * 2])),
    "counts":              (lambda c: c["a"] * st.ones(2), lambda x: Counter("aab")),
    "an output":           (lambda o: output(o.extra + o["logits"] + o[0]), output),
    "an output is set":    (lambda o: after(o[0], o.__setitem__("more", o.extra)), output),
    "a user's dict":       (lambda d: d["x"] * 2, lambda x: UserDict(x=x)),
    "an object":           (lambda x: Loss(x.sum(), {"all": x}), after),
    "a namespace":         (lambda x: SimpleNamespace(a=x * 2, b=3), after),
    "slots":               (lambda x: Slots(x * 2, "b"), after),
    "objects in a list":   (lambda x: [Loss(x.sum(), Slots(x, None))], after),
    "a derivative":        (st.grad(lambda d: (d["a"] * d["b"]).sum()), ordered),
    "tangents of a dict":  (lambda d: st.jvp(lambda d: d["a"] * d["b"], (d,), ({"a": d["a"], "b": d["b"]},))[1],
                            ordered),
    "a carry":             (lambda d: st.scan(lambda c, _: (ordered(c["a"]), None), d, length=3)[0], ordered),
    "another dict":        (lambda d: st.scan(lambda c, _: ({"a": c["b"], "b": c["a"] * 2}, None), d, length=3)[0],
                            ordered),
    "branches":            (lambda d: st.cond(d["a"].sum() > 0, lambda: {"a": d["a"], "b": d["b"]}, lambda: d),
                            ordered),
    "a loop":              (lambda d: st.while_loop(lambda d: d["a"].sum() < 50, lambda d: ordered(d["a"] * 2), d),
                            ordered),
    "many":                (st.vmap(lambda d: Open(s=d["a"] + d["b"])), ordered),
    "steps":               (lambda r: st.fori_loop(0, 3, lambda k, r: Rows([r[1], r[0] + k]), r),
                            lambda x: Rows([x, x])),
}


def shown(x: Any) -> Any:
    """What a tree is and holds."""
    if isinstance(x, st.Tensor):
        return x.tolist()
    own = {name: shown(v) for name, v in getattr(x, "__dict__", {}).items()}
    if isinstance(x, Slots):
        own = {name: shown(getattr(x, name)) for name in Slots.__slots__}
    if isinstance(x, dict):
        return type(x), [(k, shown(v)) for k, v in x.items()], own, isinstance(x, defaultdict) and x.default_factory
    return (type(x), [*map(shown, x)], own) if isinstance(x, list | tuple) else (type(x), own) if own else x


@pytest.mark.parametrize("name", CASES)
def test_they_stay_what_they_are_in_a_program(name: str) -> None:
    f, given = CASES[name]
    compiled = st.compile(f)
    for start in (1.0, 2.0, 3.0):
        law, own = given(st.arange(3) + start), given(st.arange(3) + start)
        want = shown(f(law))
        assert shown(compiled(own)) == want
        assert shown(own) == shown(law)
    assert compiled.traces == 1 + (name == "a user's dict")     # the first object of a class is taken whole


def test_what_is_used_up_by_the_first_call_is_no_result() -> None:
    for f in (lambda x: (v for v in [x]), lambda x: zip([x], [x]), lambda x: {"a": x}.values(),
              lambda x: [map(abs, [x])]):
        with pytest.raises(TraceError, match=r"Make a list of it: list\(\.\.\.\)"):
            st.compile(f)(st.ones(2))
    with pytest.raises(TraceError, match=r"keeps a deque that was made while tracing.*Return a list"):
        st.compile(lambda x: deque([x]))(st.ones(2))
    items = iter([1, 2])
    assert st.compile(lambda x, it: (x, it))(st.ones(2), items)[1] is items
