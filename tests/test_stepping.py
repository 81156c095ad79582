"""Uncompiled code can be watched: each evaluation prints, and ops can run where they are written."""
from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.eager.evaluate import EVALUATOR
from stele.eager.follow import FOLLOWER, Follower
from stele.eager.handle import STEPPING
from stele.errors import IndexOutOfRange, TraceError
from stele.tracing import tree

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def balanced() -> Iterator[None]:
    yield
    assert not STEPPING


def has_numbers(x: Any) -> bool:
    return x.value.data is not None


# STELE_SHOW=evaluations

def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.split("== evaluations ")[1:]


def test_an_evaluation_prints_the_line_that_looked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
                                                   ) -> None:
    x = st.tensor(X)
    monkeypatch.setenv("STELE_SHOW", "evaluations")
    for _ in range(3):
        y = st.exp(x) * 2 + 1
        y.numpy()   # here
    here = test_an_evaluation_prints_the_line_that_looked.__code__.co_firstlineno + 6
    first, *others = shown(capsys)
    pattern = rf"test_stepping.py:{here}\n5 ops, compiled or loaded in [\d.]+ ms, run in [\d.]+ ms\n"
    assert re.fullmatch(pattern, first), first
    for text in others:     # numbers in the text are ops, too
        assert re.fullmatch(rf"test_stepping.py:{here}\n5 ops, replayed, run in [\d.]+ ms\n", text), text


def test_small_exact_code_is_interpreted_when_new_and_backward_prints(monkeypatch: pytest.MonkeyPatch,
                                                                      capsys: pytest.CaptureFixture[str]) -> None:
    x = st.tensor(X[:, :2] + 17, requires_grad=True)
    monkeypatch.setenv("STELE_SHOW", "evaluations")
    y = x - x * 0.375
    assert "interpreted" not in "".join(shown(capsys))
    y.tolist()
    text, = shown(capsys)
    assert ", interpreted, run in " in text
    (st.exp(x) * x).sum().backward()
    assert shown(capsys)[-1].startswith("test_stepping.py:")


def test_nothing_prints_where_another_stage_is_asked_for(monkeypatch: pytest.MonkeyPatch,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("STELE_SHOW", "memory")
    (st.tensor(X) - 3).numpy()
    assert not shown(capsys)


# st.eager

def test_every_op_has_its_numbers_at_once() -> None:
    x = st.tensor(X)
    assert not has_numbers(x * 2)
    with st.eager():
        made = [x * 2, st.exp(x), x[0], x.T, *st.split(x, 3, axis=1), st.zeros(3), st.randn(2)]
        made.append(st.linalg.inv(st.eye(2)))
        x += 1
        made += [x, st.where(x > 0, x, 0.0)]
        assert all(map(has_numbers, made))
        x[0] = 7
        assert has_numbers(x)
    assert not has_numbers(x * 2)
    np.testing.assert_array_equal(x.numpy(), [[7, 7, 7], [4, 5, 6]])


def test_an_error_comes_from_its_own_line() -> None:
    x, bad = st.tensor(X), st.tensor([0, 9])
    with st.eager(), pytest.raises(IndexOutOfRange) as caught:
        y = st.take(x, bad, axis=0)     # this one
        y.numpy()
    line = test_an_error_comes_from_its_own_line.__code__.co_firstlineno + 3
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [(f.name, f.lineno) for f in frames] == [("test_an_error_comes_from_its_own_line", line)]


def test_gradients_are_those_of_recorded_code() -> None:
    def loss(x: st.Tensor) -> st.Tensor:
        return (st.tanh(x) * x).sum()

    found: list[Any] = []
    for context in (st.enable_grad(), st.eager()):
        x = st.tensor(X, requires_grad=True)
        with context:
            loss(x).backward()
            assert x.grad is not None
            found.append(x.grad.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_it_nests_and_decorates_and_ends_with_an_error() -> None:
    x, step = st.tensor(X), st.eager()
    with step:
        with step, st.no_grad():
            assert has_numbers(x + 1)
        assert has_numbers(x + 1)
    assert not has_numbers(x + 1)

    @st.eager()
    def f(x: st.Tensor, deeper: bool) -> st.Tensor:
        """Its words."""
        y = f(x, False) if deeper else x * 3
        assert has_numbers(y)
        return y

    assert f(x, True).tolist() == (X * 3).tolist() and f.__doc__ == "Its words."
    with pytest.raises(ZeroDivisionError), st.eager():
        _ = 1 / 0
    assert not has_numbers(x + 1)


def test_other_threads_go_on_recording() -> None:
    wait, found = Barrier(2), dict[str, bool]()

    def run(name: str) -> None:
        x = st.tensor(X)
        if name == "steps":
            with st.eager():
                wait.wait()
                found[name] = has_numbers(x - 1)
                wait.wait()
        else:
            wait.wait()
            found[name] = has_numbers(x - 1)
            wait.wait()

    threads = [Thread(target=run, args=(name,)) for name in ("steps", "records")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"steps": True, "records": False}


def in_place(see: Any, x: Any) -> Any:
    """A step that writes to its state, and returns it as its output too."""
    def step(s: st.Tensor, r: st.Tensor) -> Any:
        see(s)
        s += r.sum()
        return s, s

    start = st.tensor(0.0)
    return st.scan(step, start, x), start


def test_compiled_functions_run_as_python_inside() -> None:
    seen: list[bool] = []

    def noted(y: st.Tensor) -> st.Tensor:
        seen[:] = [has_numbers(y)]
        return y

    f, x = st.compile(lambda x: noted(x * 2) + 1), st.tensor(X)
    with st.eager():
        inside = f(x)
        assert seen == [True] and has_numbers(inside) and f.traces == 0
    np.testing.assert_array_equal(f(x).numpy(), inside.numpy())
    assert f.traces == 1 and seen == [False]


BODIES: dict[str, tuple[Any, list[float]]] = {     # a function of one that is called in the body, and what it sees
    "scan":       (lambda see, x: st.scan(lambda s, r: (s + see(r).sum(), (see(s), None, {"n": 1})), 0.0, x),
                   [3.0, 0.0, 12.0, 3.0]),
    "reversed":   (lambda see, x: st.scan(lambda s, r: (s + see(r).sum(), s), 0.0, x, reverse=True), [12.0, 3.0]),
    "no xs":      (lambda see, x: st.scan(lambda s, _: (see(s) + 1, None), 0, length=3)[0], [0, 1, 2]),
    "two xs":     (lambda see, x: st.scan(lambda s, r: (s, see(r[0] + r[1])), (), (x, x)), [6.0, 24.0]),
    "map":        (lambda see, x: st.map(lambda r: see(r) * 2, x), [3.0, 12.0]),
    "fori_loop":  (lambda see, x: st.fori_loop(1, 3, lambda i, s: see(s) * i, x), [15.0, 15.0]),
    "while_loop": (lambda see, x: st.while_loop(lambda s: see(s).sum() < 50, lambda s: s * 2, x), [15.0, 30.0, 60.0]),
    "cond":       (lambda see, x: st.cond(x[0, 0] > 1, lambda x: see(x), lambda x: see(x * 2), x), [30.0]),
    "switch":     (lambda see, x: st.switch(x[0, 1].astype(int), [lambda: see(x), lambda: x]), []),
    "checkpoint": (lambda see, x: st.checkpoint(lambda x: see(x) * 2)(x), [15.0]),
    "inner":      (lambda see, x: st.map(lambda r: st.fori_loop(0, 2, lambda i, s: see(s + i), r), x), [3, 6, 12, 15]),
    "in place":   (in_place, [0.0, 3.0]),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_are_stepped_through(name: str) -> None:
    """Each step has its numbers, where a breakpoint or print would ask, and its results are those of the program."""
    f, expected = BODIES[name]
    seen: list[float] = []

    def see(x: Any) -> Any:
        seen.append(x.numpy().sum())
        return x

    x = st.tensor(X)
    with st.eager():
        stepped = st.compile(lambda x: f(see, x))(x)
    assert seen == expected
    (ys, spec), (zs, same) = map(tree.flatten, (stepped, st.compile(lambda x: f(lambda y: y, x))(x)))
    assert spec == same
    for y, z in zip(ys, zs):
        assert y is z is None or (y.dtype == z.dtype and y.tolist() == z.tolist())


def test_loops_of_nothing_and_of_placeholders_are_graphs() -> None:
    step: Any = lambda s, r: (s + r.sum(), r * 2)
    with st.eager():
        total, rows = st.scan(step, st.tensor(1.0), st.ones(0, 2))
        assert (total.item(), rows.shape) == (1.0, (0, 2))
        x = st.placeholder((2, 3))
        f = st.function([x], [st.scan(step, st.tensor(0.0), x)[0], st.while_loop(lambda s: s.sum() < x.sum(),
                                                                                lambda s: s + 1, st.zeros(2))])
        assert [y.tolist() for y in f(st.ones(2, 3))] == [6.0, [3.0, 3.0]]


def test_steps_that_return_other_containers_are_told() -> None:
    def step(s: st.Tensor, x: st.Tensor) -> Any:
        return s + x, (x, x) if s > 0 else x

    with st.eager(), pytest.raises(TraceError, match=r"the step of scan returns .* where it returned"):
        st.scan(step, st.tensor(0.0), st.ones(3))


def test_inside_of_a_compiled_function_it_teaches() -> None:
    @st.compile
    def f(x: st.Tensor) -> st.Tensor:
        with st.eager():
            return x * 2

    with pytest.raises(TraceError, match=r"st\.eager\(\) inside of a function that is being compiled"):
        f(st.tensor(X))
    with pytest.raises(TraceError, match="as plain Python"):
        st.compile(st.eager()(lambda x: x * 2))(st.tensor(X))
    with st.eager():        # there it is no trace at all
        assert has_numbers(f(st.tensor(X)))


def test_placeholders_stay_symbolic() -> None:
    with st.eager():
        x = st.placeholder((3,))
        f = st.function([x], x * 2 + 1)
        assert f(st.ones(3)).tolist() == [3, 3, 3]


def test_one_op_is_one_evaluation() -> None:
    class Counts(Follower):
        evaluated_ones = 0

        def evaluated(self, order: Any, wanted: Any) -> None:
            self.evaluated_ones += 1

    follower = Counts()
    token = FOLLOWER.set(follower)
    try:
        with st.eager():
            x = st.tensor(X)
            for _ in range(5):
                x = x * 2
        assert follower.evaluated_ones == 5 and EVALUATOR.recorded == 0
    finally:
        FOLLOWER.reset(token)
