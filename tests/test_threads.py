"""Threads beside programs: one trace of a step that several begin at once, pools that come back, a silent end."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TypeVar
from weakref import ref

import numpy as np
import pytest

import stele as st
from stele.backend.cpu import pool
from stele.call import variants

T = TypeVar("T")


@pytest.fixture
def often() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[], T]) -> list[T]:
    """What eight threads make that begin at once."""
    barrier = threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda _: (barrier.wait(), work())[1], range(8)))


def test_threads_that_begin_a_step_at_once_trace_it_once() -> None:
    barrier, results = threading.Barrier(8), list[float]()
    w = st.ones(4)

    @st.compile
    def step(x: st.Tensor) -> st.Tensor:
        time.sleep(0.05)        # as long as a step takes to trace
        return (x * w).sum()

    def run() -> None:
        barrier.wait()
        results.append(step(st.ones(4)).item())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4.0] * 8 and (step.traces, step.compiles) == (1, 1)


def test_threads_draw_different_numbers(often: None) -> None:
    st.manual_seed(0)
    drawn = at_once(lambda: [st.rand(1) for _ in range(200)])
    assert len({x.item() for xs in drawn for x in xs}) == 1600
    assert st.default_generator.state.tolist() == [0, 0, 1600, 0]


def test_threads_may_trace_different_calls_at_once(often: None) -> None:
    f, numbers = st.compile(lambda *xs: sum(x.sum() for x in xs)), count(1)

    def work() -> list[tuple[int, float]]:
        mine = [next(numbers) for _ in range(8)]
        return [(n, f(*[st.ones(1)] * n).item()) for n in mine]

    assert all(n == x for found in at_once(work) for n, x in found)


def test_programs_of_a_function_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "PROGRAMS", 4)
    f = st.compile(lambda x, n: x * n)
    x = st.ones(3)
    for n in range(2, 14):
        assert f(x, 1.5).tolist() == [1.5] * 3      # in use all the time, and traced once
        assert f(x, n).tolist() == [n] * 3
    assert f.compiles <= 4 and f.traces == 13
    assert sum(map(len, f.variants.all.values())) <= 4 and sum(map(len, f.variants.at_hand.values())) <= 4
    assert f(x, 2).tolist() == [2] * 3 and f.traces == 14


def test_nothing_holds_programs_that_were_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "PROGRAMS", 4)
    f = st.compile(lambda *xs: sum(x.sum() for x in xs))
    made = list[ref[object]]()
    for n in range(1, 12):
        assert f(*[st.ones(1)] * n).item() == n
        made.append(ref(f.programs[-1]))
    gc.collect()
    assert sum(one() is not None for one in made) <= 5      # and the one of the latest call


def test_call_patterns_are_bounded_where_all_share_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "PATTERNS", 5)
    monkeypatch.setattr(variants, "CALLS", 5)
    f = st.compile(lambda d: sum(d.values()))
    for n in range(30):
        assert f({f"of {n}": st.ones(2)}).tolist() == [1, 1]
    found = f.variants
    assert f.compiles == 1 and max(map(len, (found.all, found.history, found.at_hand))) <= 5
    assert f({"of 29": st.ones(2)}).tolist() == [1, 1] and f.traces == 30


def test_calls_of_many_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "CALLS", 5)
    f = st.compile(lambda x: x + 1, dims={"x": {0: "n"}})
    for n in range(1, 30):
        assert f(np.zeros(n, np.float32)).shape == (n,)
    assert len(f.variants.at_hand) <= 5 and f.traces == 1


def test_pools_come_back_when_their_number_of_threads_does() -> None:
    f = st.compile(lambda x: (x * 2).sum())
    x, before = st.ones(100_000), st.get_threads()
    try:
        st.set_threads(2)
        f(x)
        made, running = len(pool._made), threading.active_count()
        for _ in range(20):
            for threads in (1, 3, 2):
                st.set_threads(threads)
                assert st.get_threads() == threads and f(x).item() == 200_000
        assert len(pool._made) <= made + 2 and threading.active_count() == running
    finally:
        st.set_threads(before)


SILENT = """
import threading, time, numpy as np, stele as st
x = st.ones(300, 300)
f = st.compile(lambda x: x @ x * 0.001)
f(x)
def forever():
    while True: f(x)
def cold():
    for n in range(2, 10**6): st.compile(lambda x: x * n)(x)
def eager():
    while True: (x @ x).numpy()
def long(): st.rand(2**40).sum().item()
for work in (forever, cold, eager, long): threading.Thread(target=work, daemon=True).start()
time.sleep(1.0)
"""


def test_daemon_threads_end_in_silence() -> None:
    processes = [subprocess.Popen([sys.executable, "-c", SILENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env={**os.environ, "STELE_SPIN": "0"}) for _ in range(2)]
    for process in processes:
        out, errors = process.communicate(timeout=90)
        assert (process.returncode, out, errors) == (0, "", "")
