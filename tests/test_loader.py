"""The loader: order, batches, memory, and that its thread always ends."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stele.data import Loader, unit
from stele.errors import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (103, 3, 8, 8), np.uint8)
LABELS = np.arange(103, dtype=np.int64)


def threads() -> int:
    return sum(thread.name == "stele-loader" for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    deadline = time.monotonic() + 5
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not threads()


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 60), batch=st.integers(1, 70), shuffle=st.booleans(), drop=st.booleans(),
       seed=st.integers(-2, 9))
def test_every_sample_once(n: int, batch: int, shuffle: bool, drop: bool, seed: int) -> None:
    x = np.arange(n, dtype=np.int32)
    loader = Loader((x, x * 2.0), batch, shuffle=shuffle, seed=seed, drop_last=drop)
    batches = list(loader)
    assert len(batches) == len(loader) == (n // batch if drop else -(-n // batch))
    assert all(len(a) == batch for a, _ in batches[:-1])
    got = np.concatenate([a for a, _ in batches]) if batches else np.zeros(0)
    assert len(set(got.tolist())) == len(got) == (n // batch * batch if drop else n)
    assert all(np.array_equal(b, a * 2.0) and a.dtype == np.int32 for a, b in batches)
    if not shuffle:
        assert np.array_equal(got, x[:len(got)])


def test_images_come_out_as_unit_floats() -> None:
    for x, y in Loader((IMAGES, LABELS), 10, shuffle=True):
        assert x.dtype == np.float32 and y.dtype == np.int64
        assert np.array_equal(x, unit(IMAGES[y]))


def test_labels_of_bytes_stay_labels() -> None:
    labels, masks, flat = LABELS.astype(np.uint8), IMAGES[:, 0], IMAGES.reshape(103, -1)
    for x, y, m, f in Loader((IMAGES, labels, masks, flat), 10):
        assert (x.dtype, y.dtype, m.dtype, f.dtype) == (np.float32, np.uint8, np.uint8, np.uint8)
        assert np.array_equal(m, masks[y]) and np.array_equal(f, flat[y]) and np.array_equal(x, unit(IMAGES[y]))


@pytest.mark.parametrize("scale, wanted", [(True, "fff"), (False, "uuu"), ((False, True, False), "ufu"), (None, "fuu")])
def test_scaling_can_be_asked_for(scale: bool | tuple[bool, ...] | None, wanted: str) -> None:
    flat, labels = IMAGES.reshape(103, -1), LABELS.astype(np.uint8)
    for x, f, y in Loader((IMAGES, flat, labels), 10, scale=scale):
        assert x.dtype.kind + f.dtype.kind + y.dtype.kind == wanted
        assert f.dtype == np.uint8 or float(f.max()) <= 1


def test_what_cannot_be_scaled_is_refused() -> None:
    with pytest.raises(DataError, match="array 1 is int64"):
        Loader((IMAGES, LABELS), scale=(True, True))
    with pytest.raises(DataError, match="scale says it of 1 arrays, but the loader has 2"):
        Loader((IMAGES, LABELS), scale=(True,))


def test_order_is_a_function_of_seed_and_epoch() -> None:
    def labels(loader: Loader) -> list[int]:
        return [int(n) for (y,) in loader for n in y]
    first, again = (Loader((LABELS,), 16, shuffle=True, seed=3) for _ in range(2))
    epochs = [labels(first), labels(first), labels(first)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert [int(n) for (y,) in again.batches(2) for n in y] == epochs[2], "an epoch can be had alone"
    assert labels(again) == epochs[0], "batches(k) does not move the loader on"
    assert labels(Loader((LABELS,), 16, shuffle=True, seed=4)) != epochs[0]
    assert labels(Loader((LABELS,), 7, shuffle=True, seed=3)) == epochs[0], "the batch size does not matter"


def test_order_is_pinned() -> None:
    assert Loader((np.arange(8),), shuffle=True, seed=1).order(2).tolist() == PINNED


PINNED = [4, 2, 0, 6, 1, 5, 7, 3]


def test_batches_are_the_readers_to_keep() -> None:
    kept = list(Loader((IMAGES, LABELS), 4))
    assert all(np.array_equal(x, unit(IMAGES[y])) for x, y in kept)
    assert len({x.__array_interface__["data"][0] for x, _ in kept}) == len(kept)


def test_views_are_the_readers_to_keep() -> None:
    kept = [(x[0, 0], int(y[0])) for x, y in Loader((IMAGES, LABELS), 4)]
    assert all(np.array_equal(view, unit(IMAGES[label])[0]) for view, label in kept)


def test_memory_is_used_again() -> None:
    addresses = set()
    for x, _ in Loader((np.tile(IMAGES, (5, 1, 1, 1)), np.tile(LABELS, 5)), 4, prefetch=2):
        addresses.add(x.__array_interface__["data"][0])
        del x, _
    assert len(addresses) <= 5, "prefetched ones, one at the reader's, one being gathered"


def test_transform_gets_a_generator_of_its_own() -> None:
    def noise(batch: tuple[np.ndarray, ...], rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        assert threading.current_thread().name == "stele-loader"
        return (*batch, rng.random(3))
    loader = Loader((LABELS,), 50, batch_transform=noise)
    numbers = [tuple(r) for _ in range(2) for _, r in loader]
    assert len(set(numbers)) == 6
    assert numbers == [tuple(r) for epoch in range(2) for _, r in loader.batches(epoch)]


def test_leaving_early_stops_the_thread() -> None:
    for prefetch in (1, 2, 4):
        for _ in Loader((IMAGES, LABELS), 1, prefetch=prefetch):
            break
    with pytest.raises(ZeroDivisionError):
        for _ in Loader((IMAGES, LABELS), 1):
            raise ZeroDivisionError
    batches = iter(Loader((IMAGES, LABELS), 1))
    next(batches)
    del batches


def test_an_error_in_the_thread_is_raised_here() -> None:
    def fail(batch: tuple[np.ndarray, ...], rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        raise KeyError("in the transform")
    with pytest.raises(KeyError, match="in the transform"):
        list(Loader((IMAGES, LABELS), 4, batch_transform=fail))


def test_batches_are_ready_before_they_are_asked_for() -> None:
    made: list[int] = []

    def count(batch: tuple[np.ndarray, ...], rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        made.append(1)
        return batch
    batches = iter(Loader((LABELS,), 10, batch_transform=count, prefetch=3))
    next(batches)
    deadline = time.monotonic() + 5
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(made) == 5, "one read, three waiting, one in the thread's hand"


SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
from stele.data import Loader
batches = iter(Loader((np.zeros((1000, 100)),), 1))
next(batches)
"""
ENDINGS = {
    "exit with a loop open": ("", 0),
    "an uncaught error": ("raise SystemExit(3)", 3),
    "Ctrl-C while it waits": (
        "def slow(b, r): time.sleep(60)\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    next(iter(Loader((np.zeros(9),), 1, batch_transform=slow)))\n"
        "except KeyboardInterrupt:\n    sys.exit(130)", 130),
    "fork": (
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    assert sum(1 for _ in Loader((np.zeros(9),), 1)) == 9\n"
        "    try: next(batches)\n"
        "    except ValueError as error: os._exit(7 if 'fork' in str(error) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))", 7),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_processes_end(ending: str) -> None:
    code, wanted = ENDINGS[ending]
    done = subprocess.run([sys.executable, "-c", SCRIPT + code], timeout=20, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == wanted, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("make, message", [
    (lambda: Loader(()), "at least one array"),
    (lambda: Loader((IMAGES, LABELS[:5])), "of one length"),
    (lambda: Loader((np.float32(1),)), "whose first axis counts the samples"),
    (lambda: Loader((LABELS[:0],)), "at least one sample"),
    (lambda: Loader((LABELS,), 0), "batch_size >= 1"),
    (lambda: Loader((LABELS,), prefetch=0), "prefetch >= 1"),
])
def test_bad_arguments(make, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()
