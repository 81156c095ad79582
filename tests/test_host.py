"""Ops without lowering run in Python, wherever they stand: in every style, in loops, on memory of the program."""
from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import ROOT

import stele as st
from stele.arrays.tensor import lift
from stele.backend.buffers import MEMORY
from stele.backend.reference import run
from stele.errors import DataError, GraphError, NotANumber
from stele.ir.graph import Array, Graph, Op, Value, parameter
from stele.ir.types import REAL, Type, dtype, float32
from stele.ops.linear import along, swap_last
from stele.transform.batch import batch
from tests.host_ops import does, ordered, running, spread, squares
from tests.styles import all_give

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 5)).astype(np.float32)




def whole(*shape: int) -> Array:
    """Small whole numbers, of which sums and halves have no error."""
    return RNG.integers(-9, 9, shape).astype(np.float32)


W = whole(4, 6)


def some(shape: tuple[int, ...], name: str) -> Array:
    """Numbers that add up exactly in any order."""
    return RNG.integers(0, 2 if name == "bool" else 5, shape).astype(dtype(name).numpy)


def cumulative(x: Array, axis: int = 0) -> Array:
    return np.logical_or.accumulate(x, axis) if x.dtype == bool else np.cumsum(
        x.astype(np.float64), axis).astype(x.dtype)


@pytest.mark.parametrize("name", map(str, REAL))
@pytest.mark.parametrize("shape", [(4, 5), (1,), (0, 3), (3, 0)])
def test_every_style_and_dtype(name: str, shape: tuple[int, ...]) -> None:
    x = some(shape, name)
    all_give(cumulative(x), running, x)
    at = np.argsort(x, axis=-1, kind="stable")
    all_give([np.take_along_axis(x, at, -1), at], ordered, x)


def test_arrays_of_no_axis_and_ops_of_no_operand() -> None:
    all_give(np.float32(3), does(lambda x: None), np.float32(3))
    all_give(np.arange(4) ** 2 + 1, lambda x: squares(x, 4), np.int64(1))
    all_give(np.full((4, 2, 3), 7, np.float32), lambda x, z: spread(x, z), np.full((2, 3), 7, np.float32), X)


def test_operands_lie_as_they_are_written() -> None:
    """Views, numbers, constants, the same operand twice."""
    all_give(cumulative(W.T), lambda x: running(x.T), W)
    all_give(cumulative(W[::-2, 1:]), lambda x: running(x[::-2, 1:]), W)
    all_give(cumulative(W.reshape(2, 12)), lambda x: running(x.reshape(2, 12)), W)
    all_give(cumulative(np.full((3, 2), 2.5, np.float32)), lambda x: running(st.full((3, 2), 2.5)) + x, np.float32(0))
    all_give(cumulative(W) + cumulative(W, 1), lambda x: running(x) + running(x, axis=1), W)
    ones = np.ones((3, 2), np.float32)
    all_give(cumulative(ones), lambda x: running(ones) + x, np.float32(0))


def test_what_stands_around_is_fused_and_the_op_is_not() -> None:
    f = st.compile(lambda x: running(x * 2 + 1) * 3 - 1)
    np.testing.assert_allclose(f(st.tensor(X)).numpy(), cumulative(X * 2 + 1) * 3 - 1, rtol=1e-5)
    assert [(note.kind, note.what) for note in f.programs[0].report().kernels] == [
        ("nest", "Broadcast Mul Broadcast Add"), ("host", "Running"), ("nest", "Broadcast Broadcast Mul Sub")]
    assert re.search(r"calls of Python\n  host +Running +# test_host.py", str(f.programs[0].report()))


# Loops

def steps(x: st.Tensor, h: st.Tensor) -> Any:
    """A loop with two host ops in its body, one of two results."""
    def step(c: st.Tensor, row: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
        y, at = ordered(running(c * 0.5 + row, axis=-1))
        return y * 0.5, y + at
    return st.scan(step, h, x)


def stepped(x: Array, h: Array) -> list[Array]:
    ys: list[Array] = []
    for row in x:
        z = cumulative(h * np.float32(0.5) + row, -1)
        at = np.argsort(z, axis=-1, kind="stable")
        h = np.take_along_axis(z, at, -1) * np.float32(0.5)
        ys.append((h * 2 + at).astype(np.float32))
    return [h, np.stack(ys) if ys else np.zeros((0, *h.shape), np.float32)]


@pytest.mark.parametrize("length", [0, 1, 2, 7])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (40, 3)])
def test_loops(length: int, shape: tuple[int, ...]) -> None:
    x, h = whole(length, *shape), whole(*shape)
    all_give(stepped(x, h), steps, x, h)


def test_loops_of_open_length_and_width() -> None:
    f = st.compile(steps, dims={"x": {0: "steps", 1: "rows"}, "h": {0: "rows"}})
    for length, rows in ((3, 2), (5, 2), (0, 4), (1, 0), (9, 70), (3, 2)):
        x, h = whole(length, rows, 3), whole(rows, 3)
        for a, b in zip(f(st.tensor(x), st.tensor(h)), stepped(x, h)):
            np.testing.assert_array_equal(a.numpy(), b)
    assert f.compiles == 1


def test_a_size_that_is_open_stands_in_the_op() -> None:
    f = st.compile(lambda x, z: spread(x * 2, z) + z, dims={"z": {0: "n"}})
    for n in (3, 1, 0, 8):
        z = RNG.normal(size=(n, 2)).astype(np.float32)
        np.testing.assert_array_equal(f(st.tensor(X[0, :2]), st.tensor(z)).numpy(), X[0, :2] * 2 + z)
    assert f.compiles == 1


def test_loops_in_loops() -> None:
    inner = lambda d, r: (running(d) + r, d)
    def f(x: st.Tensor) -> Any:
        return st.scan(lambda c, row: ((lambda last, ys: (last, ys.sum(0)))(*st.scan(inner, c, row))), x[0, 0] * 0, x)
    x = RNG.integers(-3, 3, (3, 4, 5)).astype(np.float32)
    c, outs = np.zeros(5, np.float32), []
    for row in x:
        ys = []
        for r in row:
            ys.append(c)
            c = np.cumsum(c) + r
        outs.append(np.sum(ys, 0))
    all_give([c, np.stack(outs)], f, x)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_bits_are_those_of_any_number_of_threads(threads: int) -> None:
    x, h = RNG.normal(size=(6, 200, 30)).astype(np.float32), RNG.normal(size=(200, 30)).astype(np.float32)
    f = st.compile(lambda x, h: (steps(st.sin(x @ st.ones(30, 30)), h)[1] ** 2).sum((0, 1)))
    before = st.get_threads()
    try:
        found = []
        for count in (1, threads):
            st.set_threads(count)
            found.append(f(st.tensor(x), st.tensor(h)).numpy().tobytes())
        assert found[0] == found[1]
    finally:
        st.set_threads(before)


# Derivatives

SMOOTH: dict[str, Callable[..., Any]] = {
    "running": lambda x: (running(st.sin(x)) ** 2).sum(),
    "two results": lambda x: (ordered(x)[0] ** 3 * st.arange(5)).sum(),
    "spread": lambda x: (spread(st.sin(x[0]), x) * x).sum(),
    "in a loop": lambda x: (steps(x, st.sin(x[0]))[1] ** 2).sum(),
    "twice": lambda x: st.grad(lambda z: (running(z * z) ** 2).sum())(x).sum(),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_of_both_modes(name: str, compiled: bool) -> None:
    f = SMOOTH[name]
    x, v = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5))
    numeric = (float(f(st.tensor(x + 1e-5 * v))) - float(f(st.tensor(x - 1e-5 * v)))) / 2e-5
    wrapped = st.compile if compiled else (lambda g: g)
    backward = float((wrapped(st.grad(f))(st.tensor(x)) * v).sum())
    _, forward = wrapped(lambda x, v: st.jvp(f, (x,), (v,)))(st.tensor(x), st.tensor(v))
    np.testing.assert_allclose([backward, float(forward)], numeric, rtol=1e-6)


def test_an_op_without_rules_has_no_derivative() -> None:
    class Ruleless(Op):
        def type(self, *x: Any) -> Any: return x[0]
        def reference(self, *x: Any, **_: Any) -> Any: return x[0]

    def _ruleless(x: Value) -> Value: return Ruleless()(x)
    ruleless = lift(_ruleless)
    x = st.tensor(X)
    with pytest.raises(GraphError, match=r"Ruleless has no derivative: its class has no vjp.*detach"):
        st.grad(lambda x: ruleless(x).sum())(x)
    with pytest.raises(GraphError, match="its class has no jvp"):
        st.jvp(lambda x: ruleless(x).sum(), (x,), (x,))
    np.testing.assert_array_equal(st.grad(lambda x: (ruleless(x.detach()) * x).sum())(x).numpy(), X)
    np.testing.assert_array_equal(st.grad(lambda x: (ruleless(x.astype("int64")) * x).sum())(x).numpy(), X.astype(int))


# Errors

def refuse(limit: float) -> Callable[[Array], None]:
    def act(x: Array) -> None:
        if x.max(initial=0) > limit:
            raise ZeroDivisionError("too large")
    return act


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_what_an_op_raises_leaves_with_the_users_line(backend: str) -> None:
    line = refuse.__code__.co_firstlineno
    f = st.compile(lambda x: does(refuse(10))(x * 2) + 1, backend=backend)
    one, ten = st.ones(2), st.full((2,), 10.0)
    assert f(one).tolist() == [3, 3]
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="too large") as caught:
            f(ten)
        (note,) = caught.value.__notes__
        assert note.startswith("This was raised by Does at test_host.py:") and line > 0
        assert f(one).tolist() == [3, 3]
    assert not [entry for entry in caught.traceback if "/stele/" in str(entry.path)]


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_errors_of_ours_know_the_line(backend: str) -> None:
    def act(x: Array) -> None:
        raise DataError("this matrix is singular")

    f = st.compile(lambda x: st.scan(lambda c, _: (does(act)(c), None), x, length=3)[0], backend=backend)
    with pytest.raises(DataError, match=r"this matrix is singular at test_host.py:\d+"):
        f(st.ones(2))


@pytest.mark.parametrize("made", [np.ones(3, np.float32), np.ones(2), np.float32(1), [1, 2]])
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_what_is_not_of_the_type_is_refused(made: Any, backend: str) -> None:
    with pytest.raises(GraphError, match=r"the reference of Does\(.*\) gave .* where its type says float32\[2\]"):
        st.compile(lambda x: does(lambda _: made)(x), backend=backend)(st.ones(2))


def test_state_is_whole_when_an_op_raises() -> None:
    """Wherever the op stands beside what is overwritten, whatever it raises, and when."""
    a, b = st.zeros(64), st.zeros(64)
    armed: list[type[BaseException]] = []

    def act(x: Array) -> None:
        if armed:
            raise armed[0]

    @st.compile
    def step() -> None:
        a.assign(a + 1)
        b.assign(does(act)(b + a) * 0 + a)
        a.assign(does(act)(a) + 1)

    step()
    for error in (ValueError, KeyboardInterrupt, MemoryError):
        armed[:] = [error]
        before = a.tolist(), b.tolist()
        with pytest.raises(error):
            step()
        assert (a.tolist(), b.tolist()) == before
        armed.clear()
        step()
        assert a.tolist() == [before[0][0] + 2] * 64 and b.tolist() == [before[0][0] + 1] * 64


def test_memory_is_overwritten_behind_the_last_call_only() -> None:
    nothing, w, v = does(lambda x: None), st.ones(64, 64), st.ones(64, 64)

    @st.compile
    def before() -> st.Tensor:
        w.assign(w * 2)
        return nothing(w).sum()

    @st.compile
    def behind() -> None:
        v.assign(v * nothing(v.sum()))

    before(), behind()
    assert not before.programs[0].manifest.plan.in_place and behind.programs[0].manifest.plan.in_place


# Stopping

def test_an_op_that_takes_long_is_interrupted() -> None:
    x = st.zeros(3)
    raised = False

    def act(_: Array) -> None:
        for _ in range(1000):
            time.sleep(0.01)

    @st.compile
    def step() -> None:
        x.assign(does(act)(x) + 1)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        step()
    except KeyboardInterrupt:
        raised = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised and x.tolist() == [0, 0, 0]


def test_a_loop_of_calls_is_interrupted() -> None:
    code = "import os, signal, threading, stele as st\n" \
           "from tests.host_ops import running\n" \
           "timer = threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT)); timer.daemon = True; timer.start()\n" \
           "st.compile(lambda x: st.scan(lambda c, _: (running(c) * .5, None), x, length=2**40)[0])(st.ones(3))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGINT and "KeyboardInterrupt" in done.stderr


def test_a_thread_that_calls_for_ever_ends_with_the_interpreter() -> None:
    code = "import threading, time, stele as st\n" \
           "from tests.host_ops import running\n" \
           "f = st.compile(lambda x: st.scan(lambda c, _: (running(c) * .5, None), x, length=2**40)[0])\n" \
           "threading.Thread(target=f, args=(st.ones(3),), daemon=True).start(); time.sleep(3); print('left')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


# What a call may do

def test_ops_run_programs_themselves() -> None:
    """The function that is running too, and what is looked at is computed in the midst of it."""
    @st.compile
    def f(x: st.Tensor) -> st.Tensor:
        return does(again)(x) * 2 + 1

    def again(x: Array) -> Any:
        return None if x[0] <= 0 else f(st.tensor(x - 1)).numpy() + (st.tensor(x) * 0).numpy()

    def plain(x: Array) -> Array:
        return (x if x[0] <= 0 else plain(x - 1)) * 2 + 1

    for n in (0, 1, 3):
        x = np.full(3, n, np.float32)
        np.testing.assert_array_equal(f(st.tensor(x)).numpy(), plain(x))


def test_threads_call_at_the_same_time() -> None:
    f, found = st.compile(steps), dict[int, list[bytes]]()
    arrays = [RNG.normal(size=(20, 3, 5)).astype(np.float32) for _ in range(4)]
    h = st.zeros(3, 5)
    expected = [f(st.tensor(x), h)[1].numpy().tobytes() for x in arrays]

    def work(k: int) -> None:
        found[k] = [f(st.tensor(arrays[k]), h)[1].numpy().tobytes() for _ in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: [expected[k]] * 20 for k in range(4)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_processes_fork_inside_of_an_op() -> None:
    """Parent and child both run the rest of the program, each with threads and tasks of its own."""
    code = "import os, numpy as np, stele as st\n" \
           "from tests.host_ops import does\n" \
           "from stele.backend.cpu import pool\n" \
           "inside = []\n" \
           "def act(x):\n" \
           "    used = pool.current()\n" \
           "    inside.append((os.fork(), used))\n" \
           "f = st.compile(lambda x: (does(act)(x * 2) @ x).sum())\n" \
           "y = float(f(st.ones(300, 300)))\n" \
           "assert y == 2 * 300**3, y\n" \
           "[(child, used)] = inside\n" \
           "if child == 0:\n" \
           "    used._set('tasks', 77)\n" \
           "    os._exit(7)\n" \
           "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n" \
           "assert used._get('tasks') != 77, 'the child writes into the pool of its parent'\n" \
           "print(y == float(f(st.ones(300, 300))))\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("True") and not done.returncode, done.stderr


def test_python_computes_as_it_always_does() -> None:
    """Programs with products count subnormal numbers as zero, Python in the midst of them does not."""
    tiny, seen = np.full((2, 2), 1e-39, np.float32), list[float]()

    def act(x: Array) -> Array:
        seen.append(float((np.full(4, 1e-39, np.float32) * np.float32(0.5)).sum()))
        return np.full((2, 2), 1e-39, np.float32)

    f = st.compile(lambda x: (lambda y: (y, does(act)(y) * 1.0 + (y @ y)))(x @ x))
    _, y = f(st.tensor(tiny))
    assert seen[0] > 0 and y.tolist() == [[0, 0], [0, 0]]
    assert float((np.full(4, 1e-39, np.float32) * np.float32(0.5)).sum()) > 0


def test_warnings_are_not_the_users() -> None:
    f = st.compile(lambda x: does(lambda x: np.log(x))(x))
    with np.errstate(all="raise"):
        assert np.isneginf(f(st.zeros(2)).numpy()).all()
        with pytest.raises(FloatingPointError):
            np.log(np.zeros(2))


def test_operands_cannot_be_written_and_may_be_kept() -> None:
    """What an op keeps is memory that stays, and not what the next call is given."""
    kept: list[Array] = []

    def act(x: Array) -> Array:
        with pytest.raises(ValueError, match="read-only"):
            x += 1
        kept.append(x)
        made = x.copy()
        x.shape = (6,)
        return made

    f = st.compile(lambda x: does(act)(x * 2).sum())
    for k in range(4):
        assert float(f(st.full((2, 3), float(k)))) == 12 * k
    del f
    gc.collect()
    for _ in range(8):
        st.ones(1 << 20).sum().item()
    assert len({id(x.base) for x in kept}) == 4 and all(np.isfinite(x).all() for x in kept)


def test_errors_that_are_kept_hold_what_they_show() -> None:
    errors: list[BaseException] = []

    def act(x: Array) -> None:
        raise ValueError("no")

    f = st.compile(lambda x: does(act)(x * 2).sum())
    for _ in range(4):
        try:
            f(st.ones(1000, 1000))
        except ValueError as error:
            errors.append(error)
    del f
    gc.collect()
    for error in errors:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        assert trace is not None and trace.tb_frame.f_locals["x"].copy().shape == (1000, 1000)


def test_nothing_is_left_behind() -> None:
    """Neither objects nor memory, whether the op raises or not."""
    nothing = does(lambda x: None)
    f = st.compile(lambda x: nothing(x * 2) + 1)
    raising = st.compile(lambda x: does(refuse(1))(x * 2) + 1)
    x = st.ones(1000)

    found: list[tuple[int, int, int]] = []
    for count in (20, 200):
        for _ in range(count):
            f(x)
            with pytest.raises(ZeroDivisionError):
                raising(x)
        gc.collect()
        found.append((sys.getrefcount(None), len(gc.get_objects()), MEMORY.used))
    (nones, objects, used), after = found
    assert abs(after[0] - nones) < 100 and after[1] - objects < 100 and after[2] == used
    programs = [weakref.ref(g.programs[0]) for g in (f, raising)]
    del f, raising
    gc.collect()
    assert [program() for program in programs] == [None, None]


# Programs on the disk

WARM = """
import sys, numpy as np, stele as st
from stele.ops import ALL
from tests.host_ops import Double, does, double, running, ordered, spread
ALL["Double"] = Double
class Plus(int):
    def __repr__(self): return f"Plus({int(self)})"
    def __call__(self, x): return x + np.float32(self)
def steps(x, h):
    return st.scan(lambda c, r: (running(c + r), ordered(c)[0]), h, x)
x = st.tensor(np.arange(20, dtype=np.float32).reshape(4, 5) % 3)
f = st.compile(lambda x: (running(x * 2, axis=1), double(x), does(Plus(3))(x), *steps(x, x[0]), *ordered(x)))
g = st.compile(lambda x, z: spread(x, z), dims={"z": {0: "n"}})
for y in (*f(x), g(x, x), g(x, x[:2]), st.compile(st.grad(lambda x: steps(x, x[0])[1].sum()))(x)):
    print(y.numpy().tolist())
print("llvmlite.binding" in sys.modules, file=sys.stderr)
print(*f.programs[0].report().kernels)
"""


def test_programs_from_the_disk_find_their_ops(tmp_path: Path) -> None:
    environment = {**os.environ, "STELE_CACHE": str(tmp_path)}
    done = [subprocess.run([sys.executable, "-c", WARM], cwd=ROOT, env=environment, capture_output=True, text=True,
                           timeout=300) for _ in range(2)]
    assert [run.stderr for run in done] == ["True\n", "False\n"]
    assert done[0].stdout == done[1].stdout and "host" in done[0].stdout


def test_an_op_of_the_same_name_is_not_mistaken() -> None:
    """The disk knows no code of ops: a program of it calls the op that was asked for now."""
    def adding(k: int) -> Any:
        return st.compile(lambda x: does(lambda x: x + np.float32(k))(x * 2))

    for k in range(3):
        assert adding(k)(st.ones(2)).tolist() == [2 + k] * 2


def test_what_settled_values_decide_is_computed_once() -> None:
    calls: list[int] = []

    def act(x: Array) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("not yet")

    w = st.ones(4, 4)
    counted = does(act)
    f = st.compile(lambda x: x @ counted(w))
    with pytest.raises(ValueError, match="not yet"):
        f(st.ones(2, 4))
    for _ in range(3):
        assert f(st.ones(2, 4)).tolist() == [[4] * 4] * 2
    settled = len(calls)
    w.assign(w * 2)
    for _ in range(3):
        assert f(st.ones(2, 4)).tolist() == [[8] * 4] * 2
    assert settled in (2, 4) and len(calls) in (3, 7)


def test_checks_and_stages_know_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("STELE_CHECK", "graph,nan")
    monkeypatch.setenv("STELE_SHOW", "graph,fuse,memory,time")
    f = st.compile(lambda x: running(st.log(x)) * 2)
    assert np.isfinite(f(st.ones(3)).numpy()).all()
    with pytest.raises(NotANumber, match="Log made NaN"):
        f(-st.ones(3))
    assert "host (float32[3]) -> Running -> (float32[3])" in capsys.readouterr().err


def test_the_linter_finds_it_in_loops_too() -> None:
    def f(x: st.Tensor) -> Any:
        return st.scan(lambda c, _: (running(c) * 0.5, None), x, length=3)[0]  # here

    (finding,) = st.lint(f, st.ones(3))
    assert finding.check == "host-op" and "Running has no kernel: NumPy computes it" in finding.message
    assert finding.line == f.__code__.co_firstlineno + 1


def test_the_op_of_the_guide_is_whole() -> None:
    """The class that CONTRIBUTING.md shows: its numbers, both derivatives, at several places, on empty matrices."""
    (text,) = re.findall(r"```python\n(class Inverse.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    known: dict[str, Any] = {"np": np, "Op": Op, "Any": Any, "swap_last": swap_last, "along": along}
    exec(compile("from __future__ import annotations\n" + text, "CONTRIBUTING.md", "exec"), known)
    op = known["Inverse"]()

    def _inverse(x: Value) -> Value: return op(x)
    inverse = lift(_inverse)
    (_, (x,)), = op.examples()
    all_give(np.linalg.inv(x), inverse, x)
    all_give(np.zeros((2, 0, 0), np.float32), inverse, np.zeros((2, 0, 0), np.float32))
    y, wide = np.linalg.inv(x.astype("f8")), st.tensor(x.astype("f8"))
    expected = -y.T @ np.ones_like(y) @ y.T
    np.testing.assert_allclose(st.grad(lambda x: inverse(x).sum())(wide).numpy(), expected)
    np.testing.assert_allclose(st.jvp(lambda x: inverse(x).sum(), (wide,), (wide * 0 + 1,))[1].numpy(), expected.sum())
    graph = Graph((p := parameter("x", Type(float32, (3, 3))),), (op(p),))
    np.testing.assert_allclose(run(batch(graph, (True,), 2), [np.stack([x, x + 1])])[0],
                               np.linalg.inv(np.stack([x, x + 1])), rtol=1e-5)


COMPLEX = """
import stele as st
x = st.placeholder(("n", 3), "complex64")
f = st.function([x], (st.fft.ifft(st.fft.fft(x) * 2), st.linalg.inv(x.mT @ x + 9 * st.eye(3))))
print(*(part.tolist() for part in f(st.ones((2, 3), dtype="complex64"))))
print(f.program.report())
"""


def test_a_program_of_complex_host_ops_is_told_of_alike_from_the_disk(tmp_path: Path) -> None:
    """Numbers and report, by the process that compiles it and by one that finds it."""
    told = [subprocess.run([sys.executable, "-c", COMPLEX], capture_output=True, text=True, check=True,
                           env=os.environ | {"STELE_CACHE": str(tmp_path)}).stdout for _ in range(2)]
    assert told[0] == told[1] and "host         Fft" in told[0] and "pairs" in told[0]
