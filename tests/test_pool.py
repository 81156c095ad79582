"""The thread pool: every task runs once, whatever happens to threads, forks, signals and the interpreter."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import native_programs
import numpy as np
import pytest
from native_programs import Counting

import stele as st
from stele import config
from stele.backend.cpu import pool, pool_code
from stele.backend.cpu.call import Frame
from stele.backend.cpu.image import Loaded
from stele.errors import ConfigError

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def native() -> Loaded:
    return native_programs.load()


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    yield
    pool.set_threads(config.THREADS())


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 16])
def test_every_task_runs_once(native: Loaded, threads: int) -> None:
    pool.set_threads(threads)
    for tasks in (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 100, 1000):
        counting = Counting(tasks, runs=200)
        assert counting.frame.run(native["repeat_count"]) == 0
        assert counting.is_exact(), (threads, tasks)
        assert not counting.share[threads:].any()


def test_no_tasks_run_nothing(native: Loaded) -> None:
    counting = Counting(4, runs=0)
    counting.frame.sizes[:2] = 0, 3
    assert counting.frame.run(native["repeat_count"]) == 0
    assert counting.is_exact()


def test_threads_share_the_work(native: Loaded) -> None:
    pool.set_threads(2)
    counting = Counting(100_000, runs=1)
    until = time.monotonic() + 10.0
    while not counting.share[:2].all() and time.monotonic() < until:
        counting.frame.run(native["repeat_count"])
    assert counting.share[:2].all() and not counting.share[2:].any()


@pytest.mark.parametrize("threads, tasks, begun", [
    (2, 12, {0: 3, 3: 3, 6: 3, 9: 3}), (2, 8, {0: 4, 4: 4}), (3, 11, {0: 3, 3: 4, 7: 4}),
    (4, 4, dict.fromkeys(range(4), 1)),
    (2, 48 + 48, {48 * v + 6 * k: 6 for v in (0, 1) for k in range(8)}), (1, 7, {0: 7})])
def test_tasks_that_share_what_they_lay_run_together(native: Loaded, threads: int, tasks: int, begun: dict[int, int]
                                                     ) -> None:
    """Three at a time here; but every thread has a part, and a range is cut into eight at most."""
    pool.set_threads(threads)
    counting = Counting(tasks, runs=1)
    assert counting.frame.run(native["repeat_begins"]) == 0
    assert {k: int(n) for k, n in enumerate(counting.seen) if n} == begun


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_nested_run_is_exact(native: Loaded, threads: int) -> None:
    pool.set_threads(threads)
    inner = [Counting(20, runs=50) for _ in range(9)]
    outer = Frame(buffers=3 + len(inner), sizes=2)
    outer.buffers[2:] = pool.current().address, *(counting.frame.address for counting in inner)
    outer.sizes[:] = len(inner), 50
    assert outer.run(native["repeat_nest"]) == 0
    assert all(counting.is_exact() for counting in inner)


def test_several_callers_and_changing_threads(native: Loaded) -> None:
    failures: list[int] = []

    def caller(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(60):
            counting = Counting(draw.randrange(1, 200), runs=draw.randrange(1, 60))
            counting.frame.run(native["repeat_count"])
            failures.extend([] if counting.is_exact() else [seed])

    callers = [threading.Thread(target=caller, args=(seed,)) for seed in range(3)]
    for thread in callers:
        thread.start()
    for threads in (1, 4, 2, 3, 1, 2):
        pool.set_threads(threads)
        time.sleep(0.02)
    for thread in callers:
        thread.join()
    assert not failures


def test_a_closed_pool_still_runs(native: Loaded) -> None:
    closed = pool.Pool(3)
    assert closed.close()
    counting = Counting(50, runs=20)
    assert closed.call(native["repeat_count"], counting.frame.address) == 0
    assert counting.is_exact() and counting.share[0] == 1000


def test_it_runs_without_futex(native: Loaded) -> None:
    other = pool.Pool(3, futex=False)
    for _ in range(50):
        counting = Counting(40, runs=5)
        assert other.call(native["repeat_count"], counting.frame.address) == 0
        assert counting.is_exact()
        time.sleep(0.0005)
    assert other.close()


def test_idle_workers_sleep(native: Loaded) -> None:
    pool.set_threads(4)
    Counting(8, runs=1).frame.run(native["repeat_count"])
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1


def test_scratch_is_aligned_and_one_per_thread(native: Loaded) -> None:
    pool.set_threads(3)
    frame = Frame(buffers=1, sizes=3, scratch_bytes=100)
    frame.run(native["empty"])
    assert frame.scratch_bytes == 128
    assert int(frame._ctx[0, 3]) % 64 == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_products_count_subnormal_numbers_as_zero_unless_strict(threads: int) -> None:
    pool.set_threads(threads)
    tiny = np.full((128, 128), 1e-39, np.float32)
    for precision, kept in (("fast", False), ("strict", True)):
        product = st.compile(lambda x, y: x @ y, precision=precision)(tiny, np.eye(128, dtype=np.float32)).numpy()
        np.testing.assert_array_equal(product, tiny if kept else 0)
        assert (tiny * np.float32(0.5)).min() > 0       # the thread that called computes as before
    np.testing.assert_array_equal(st.compile(lambda x: x * 2)(tiny).numpy(), tiny * 2)


def test_cancelling_ends_a_run_and_says_so(native: Loaded) -> None:
    own = pool.Pool(2)
    frame = Frame(buffers=2, sizes=3)
    frame.sizes[:] = 16, 1 << 60, 1000
    codes: list[int] = []
    runner = threading.Thread(target=lambda: codes.append(own.call(native["repeat_work"], frame.address)))
    runner.start()
    time.sleep(0.05)
    assert own.cancel(5.0)
    runner.join()
    assert codes == [pool_code.CANCELLED] and frame.status[3] == 1
    assert own.close()


def test_set_threads_teaches() -> None:
    with pytest.raises(ConfigError, match="1 to 64, got 65"):
        pool.set_threads(65)


# What the processes below share: a pool that has run, and a frame that runs for very long.
PRELUDE = """
import atexit, os, signal, sys, threading, time
FIRST = []
atexit.register(lambda: [f() for f in FIRST])   # runs after the pool has left
import native_programs
from native_programs import Counting
from stele.backend.cpu import pool
native = native_programs.load()
def once():
    counting = Counting(100, runs=20)
    assert counting.frame.run(native["repeat_count"]) == 0
    assert counting.is_exact()
endless = Counting(16, runs=1 << 60)
endless.frame.sizes[2] = 2000
once()
"""

ENDINGS = {
    "return": "",
    "sys.exit": "sys.exit(0)",
    "thread at work": """
threading.Thread(target=lambda: endless.frame.run(native["repeat_work"]), daemon=True).start()
time.sleep(0.05)
""",
    "threads at work on replaced pools": """
for count in (2, 3, 1):
    pool.set_threads(count)
    threading.Thread(target=lambda: endless.frame.run(native["repeat_work"]), daemon=True).start()
    time.sleep(0.05)
""",
    "threads that go on": """
def forever():
    while True: once()
for _ in range(3): threading.Thread(target=forever, daemon=True).start()
time.sleep(0.1)
""",
    "a run at exit": "FIRST.append(once)",
    "fork under a compile": """
def compiling():
    while True: native_programs.load()
threading.Thread(target=compiling, daemon=True).start()
for _ in range(5):
    child = os.fork()
    if child == 0:
        native_programs.load()
        once()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
""",
    "fork": """
child = os.fork()
once()
if child == 0: sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
""",
    "fork under a run": """
threading.Thread(target=lambda: endless.frame.run(native["repeat_work"]), daemon=True).start()
time.sleep(0.02)
for _ in range(5):
    child = os.fork()
    once()
    if child == 0: sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
""",
    "_exit in the child": """
child = os.fork()
if child == 0:
    once()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""",
    "interrupt": """
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    endless.frame.run(native["repeat_work"])
except KeyboardInterrupt:
    assert time.monotonic() - begin < 3.0
    once()
else:
    sys.exit("not interrupted")
""",
    "interrupt, one thread": """
pool.set_threads(1)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    endless.frame.run(native["repeat_work"])
except KeyboardInterrupt:
    once()
else:
    sys.exit("not interrupted")
""",
    "handler of the user": """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(once()))
signal.setitimer(signal.ITIMER_REAL, 0.05)
threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    endless.frame.run(native["repeat_work"])
except KeyboardInterrupt:
    assert seen == [None]
else:
    sys.exit("not interrupted")
""",
    "many threads": "pool.set_threads(8); once(); pool.set_threads(2); once()",
}


def _start(body: str, **environment: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    return subprocess.Popen([sys.executable, "-X", "faulthandler", "-c", PRELUDE + body], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": paths, **environment})


@pytest.mark.parametrize("name", ENDINGS)
def test_processes_end_well(name: str) -> None:
    processes = [_start(ENDINGS[name]) for _ in range(3)]
    for process in processes:
        try:
            _, errors = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            for hanging in processes:
                hanging.kill()
            pytest.fail(f"{name}: hangs")
        assert process.returncode == 0, errors


def test_ctrl_c_ends_a_process_as_python_does() -> None:
    process = _start("print('ready', flush=True)\nendless.frame.run(native['repeat_work'])")
    assert process.stdout and process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors


def test_it_needs_nothing_on_the_path() -> None:
    process = _start("print('fine')", PATH="", STELE_CACHE_SIZE="0")
    out, errors = process.communicate(timeout=60)
    assert out == "fine\n", errors


def test_results_do_not_depend_on_spinning() -> None:
    processes = [_start("once(); time.sleep(0.01); once()", STELE_SPIN=spin) for spin in ("0", "100000")]
    assert [process.wait(60) for process in processes] == [0, 0]
    for process in processes:
        process.communicate()
