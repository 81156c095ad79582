"""Branches and loops with a test in native code: what runs, what is copied, what memory they take."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import stele as st
from stele import pipeline
from stele.arrays.tensor import lift
from stele.backend.cpu.build import Laid, lay_out
from stele.ir.graph import Array, Op, Value
from stele.ir.report import Report
from stele.ir.types import Type
from stele.kernel.steps import Again, Choice, Loop, everything


class Counted(Op):
    """The operand as it is; Python counts how often it was asked for."""

    name_of: str
    calls: ClassVar[dict[str, int]] = {}

    def type(self, *x: Type) -> Type:
        return x[0]

    def reference(self, *x: Array, **_: Any) -> Array:
        self.calls[self.name_of] = self.calls.get(self.name_of, 0) + 1
        return x[0].copy()

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        return g,


def counted(name: str) -> Callable[[Any], Any]:
    def run(x: Value) -> Value:
        return Counted(name)(x)

    return lift(run)


@pytest.fixture(autouse=True)
def none() -> Iterator[None]:
    Counted.calls.clear()
    yield


def slope(f: Any) -> Any:
    return st.compile(st.grad(lambda *x: f(*x)[1].sum(), 1))


@pytest.mark.parametrize("style", [lambda f: f, st.compile, slope])
def test_only_the_branch_that_is_taken_runs(style: Any) -> None:
    def f(p: Any, x: Any) -> Any:
        return p, st.cond(p, lambda x: counted("true")(x) ** 2, lambda x: counted("false")(x) ** 3, x)

    g = style(f)
    for p, calls in ((True, {"true": 1}), (False, {"true": 1, "false": 1}), (False, {"true": 1, "false": 2})):
        made = g(st.tensor(p), st.ones(3))
        assert made[1].tolist() == [1.0] * 3 if isinstance(made, tuple) else made.tolist() == [2.0 if p else 3.0] * 3
        assert Counted.calls == calls


def test_a_loop_runs_as_often_as_its_test_says() -> None:
    body: Any = lambda s: (s[0] + 1, counted("body")(s[1]))
    f = st.compile(lambda n, x: st.while_loop(lambda s: counted("test")(s[0]) < n, body, (0, x))[1])
    f(st.tensor(0), st.ones(3)).numpy()
    assert Counted.calls == {"test": 1}
    f(st.tensor(5), st.ones(3)).numpy()
    assert Counted.calls == {"test": 7, "body": 5}


def laid(f: Callable[..., Any], *args: Any) -> Laid:
    """A function laid out in memory."""
    compiled = st.compile(f)
    compiled(*args)
    report = Report()
    return lay_out(pipeline.lower(pipeline.request(compiled.graphs[-1]), report), report)


def test_carries_are_written_where_they_are_or_by_turns() -> None:
    def f(x: Any, w: Any) -> Any:
        return st.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, st.tanh(s[1] * 2), s[2] @ w), (0, x, x))

    found = laid(f, st.ones(8, 8), st.ones(8, 8))
    (loop,) = [step for step in everything(found.steps) if isinstance(step, Again)]
    assert not loop.shown
    assert [len(carry.ring) for carry in loop.carries] == [1, 1, 2], "in place, or by turns"


def test_what_a_branch_hands_through_is_shown_not_copied() -> None:
    """Also where a loop carries it."""
    def f(p: Any, x: Any) -> Any:
        same = st.cond(p, lambda x: x, lambda x: st.cumsum(x, 0), x)
        def step(c: Any, row: Any) -> tuple[Any, Any]:
            return st.cond(row > 0, lambda c: c, lambda c: c @ c, c), row
        last = st.scan(step, same, x[0])[0]
        body: Any = lambda s: (s[0] + 1, step(s[1], s[1].sum())[0])
        return st.while_loop(lambda s: s[0] < 3, body, (0, last * 2))[1] + same

    found = laid(f, st.tensor(True), st.ones(4, 4))
    steps = [*everything(found.steps)]
    choices = [step for step in steps if isinstance(step, Choice)]
    assert len(choices) == 3 and all(not way.copies for step in choices for way in step.ways)
    assert [len(way.shown) for step in choices for way in step.ways].count(1) >= 3
    assert all(not step.copies for step in steps if isinstance(step, Loop))


LATE: dict[str, Callable[[Any], Any]] = {
    "exchanged":       lambda s: (s[1], s[0], s[2]),
    "one behind":      lambda s: (s[1], s[1] @ s[2], s[2]),
    "two behind":      lambda s: (s[1], s[2], s[0] @ s[2] + 1),
    "round":           lambda s: (s[2], s[0], s[1]),
    "of one":          lambda s: (s[2] * 0.5, s[0], s[0] @ s[1]),
    "alike":           lambda s: ((y := s[0] @ s[1]), y, s[1]),
    "alike and late":  lambda s: ((y := s[0] @ s[1] + s[2]), y, s[1]),
    "one for two":     lambda s: (s[2], s[2], s[0] @ s[1]),
    "in place":        lambda s: (s[0] * 2 - s[1], s[2], s[1] + 1),
    "sometimes":       lambda s: (st.cond(s[2].sum() > 0, lambda a: a, lambda a: a @ a, s[0]), s[0], s[1] * 0.5),
}


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("move", [lambda x: st.roll(x, -1, axis=0), lambda x: x * 2, lambda x: st.flip(x) + x,
                                  lambda x: st.cumsum(x)], ids=["roll", "twice", "flip", "sums"])
@pytest.mark.parametrize("order", [(0, 0), (1, 1), (0, 1), (1, 0)], ids=str)
def test_one_value_is_carried_at_two_places(order: tuple[int, int], move: Callable[[Any], Any], steps: int) -> None:
    """What is written over the old value of one carry is not what the other one still reads."""
    x, y = np.arange(1, 6, dtype=np.float32), np.arange(11, 16, dtype=np.float32)

    def looped(n: Any, *carried: Any) -> Any:
        def body(state: Any) -> Any:
            made = move(state[2])
            both = made, made + 1
            return state[0] + 1, *(both[k] for k in order)
        return st.while_loop(lambda state: state[0] < n, body, (st.tensor(0), *carried))[1:]

    expected = [x, y]
    for _ in range(steps):
        made = move(st.tensor(expected[1])).numpy()
        expected = [(made, made + 1)[k] for k in order]
    for f in (looped, st.compile(looped)):
        found = f(st.tensor(steps), st.tensor(x), st.tensor(y))
        assert [v.tolist() for v in found] == [v.tolist() for v in expected]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32"])
def test_sums_over_steps_keep_the_dtype_of_the_loop(name: str) -> None:
    """Integers wrap as they do step by step, though sums of them elsewhere are of 64 bits."""
    x, start = (np.arange(12).reshape(4, 3) * 37 % 120).astype(name), np.full(3, 100, name)
    f = st.compile(lambda x, c: st.scan(lambda c, r: (c + st.sort(r, axis=0) - st.flip(r) * 2, None), c, x)[0])
    expected = start
    for row in x:
        expected = (expected + np.sort(row) - row[::-1] * np.array(2, name)).astype(name)
    found = f(st.tensor(x), st.tensor(start))
    assert found.dtype == name and found.tolist() == expected.tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("name", LATE)
def test_what_is_carried_late_is_shown_not_copied(name: str, count: int) -> None:
    step = LATE[name]

    def while_loop(n: Any, *s: Any) -> Any:
        return st.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, step(s[1])), (0, s))[1]

    def behind(n: Any, *s: Any) -> Any:
        """The results are read by others, so that they need no places of their own."""
        return tuple(y * 2 + 1 for y in while_loop(n, *s))

    def scan(n: Any, *s: Any) -> Any:
        return st.scan(lambda s, _: (step(s), None), s, length=count)[0]

    xs = [st.tensor((np.random.default_rng(k).normal(size=(2, 2)) * 0.5).astype("f4")) for k in range(3)]
    law: Any = tuple(xs)
    for _ in range(count):
        law = step(law)
    for f in (while_loop, behind, scan):
        found = [step for step in everything(laid(f, st.tensor(count), *xs).steps) if isinstance(step, Again | Loop)]
        assert (len(found) == 1 and (isinstance(found[0], Again) or not found[0].copies)) or (count < 2 and f is scan)
        for y, z in zip(st.compile(f)(st.tensor(count), *xs), law):
            np.testing.assert_allclose(y.numpy(), (z * 2 + 1 if f is behind else z).numpy(), rtol=1e-4, atol=1e-5)


def test_branches_take_memory_by_turns() -> None:
    """The arena holds what the largest branch takes, not what all take together."""
    def f(k: Any, x: Any) -> Any:
        def deep(w: float) -> Callable[[Any], Any]:
            return lambda x: ((x @ x * w) @ (x @ (x * w + 1))).sum(0)
        return st.switch(k, [deep(1.0), deep(2.0), deep(3.0), deep(4.0)], x)

    def arena(f: Callable[..., Any], *args: Any) -> int:
        compiled = st.compile(f)
        compiled(*args)
        return pipeline.memory(pipeline.request(compiled.graphs[-1])).arena.bytes

    one = arena(lambda x: ((x @ x) @ (x @ (x + 1))).sum(0), st.ones(64, 64))
    assert arena(f, st.tensor(2), st.ones(64, 64)) < 2 * one


def test_what_runs_on_several_threads_is_the_same_to_the_bit() -> None:
    def f(x: Any, w: Any) -> Any:
        def body(s: Any) -> Any:
            return s[0] + 1, st.cond(s[0] % 2 == 0, lambda h: st.tanh(h @ w), lambda h: h * 0.5 + s[1].mean(), s[1])
        return st.while_loop(lambda s: s[0] < 7, body, (0, x))[1]

    before, made = st.get_threads(), list[bytes]()
    x, w = (st.tensor(np.random.default_rng(k).normal(size=(128, 128)).astype("f4")) for k in range(2))
    g = st.compile(f)
    try:
        for threads in (1, 2, 4):
            st.set_threads(threads)
            made.append(g(x, w).numpy().tobytes())
    finally:
        st.set_threads(before)
    assert len(set(made)) == 1
    np.testing.assert_allclose(np.frombuffer(made[0], "f4"), f(x, w).numpy().ravel(), rtol=1e-5)
