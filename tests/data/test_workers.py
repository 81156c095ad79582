"""A loader's threads and processes: the same batches for any number, resumed anywhere, and none is left behind."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stele.data import IterableDataset, Loader, unit
from stele.data.processes import SLOTS
from stele.errors import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (53, 3, 4, 4), np.uint8)
LABELS = np.arange(53)
WORKERS = [(0, False), (1, False), (3, False), (1, True), (2, True)]


def noisy(sample: Any, rng: np.random.Generator) -> Any:
    image, label = sample
    return {"image": image[:, ::-1], "label": label, "noise": rng.random(2), "name": f"sample {label}"}


def mixed(batch: Any, rng: np.random.Generator) -> Any:
    return (*batch.values(), rng.random())


def plain(batch: Any) -> Any:
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in batch]


def squares() -> Iterator[int]:
    return (k * k for k in range(53))


def loader(is_stream: bool, workers: int, processes: bool) -> Loader:
    if is_stream:
        numbers = IterableDataset(squares).filter(lambda k: k % 3).map(lambda k, rng: (k, rng.random()))
        return Loader(numbers, 5, seed=3, num_workers=workers, processes=processes,
                      batch_transform=lambda batch, rng: (*batch, rng.random()))
    return Loader((IMAGES, LABELS), 5, shuffle=True, seed=3, transform=noisy, batch_transform=mixed,
                  num_workers=workers, processes=processes)


@pytest.mark.parametrize("is_stream", [False, True])
def test_the_same_bits_for_any_number_of_workers(is_stream: bool) -> None:
    made = [loader(is_stream, *how) for how in WORKERS]
    epochs = [[[plain(batch) for batch in one] for _ in range(2)] for one in made]
    assert all(epoch == epochs[0] for epoch in epochs) and epochs[0][0] != epochs[0][1]
    assert [len(epoch) for epoch in epochs[0]] == ([7, 7] if is_stream else [11, 11])
    for one, how in zip(made, WORKERS):
        batches = iter(one)
        for _ in range(4):
            next(batches)
        state = one.state_dict()
        del batches
        again = loader(is_stream, *how)
        again.load_state_dict(state)
        rest = [plain(batch) for batch in again]
        assert rest == [plain(batch) for batch in one.batches(2, 4)] and len(rest) == len(epochs[0][0]) - 4


def test_batches_of_processes_are_the_readers_to_keep() -> None:
    kept = list(Loader((IMAGES, LABELS), 1, num_workers=2, processes=True))
    assert len(kept) > 2 * SLOTS
    assert all(np.array_equal(x, unit(IMAGES[y])) and x.flags.writeable for x, y in kept)
    kept[0][0][:] = 7
    assert np.array_equal(kept[1][0], unit(IMAGES[1:2]))


def arenas() -> int:
    """Memory files of loaders that this process has mapped."""
    return Path("/proc/self/maps").read_text().count("/memfd:stele-loader (deleted)")


def test_shared_memory_is_used_again_and_given_back() -> None:
    files = len(os.listdir("/proc/self/fd"))
    addresses, last = set(), None
    for x, _ in Loader((np.tile(IMAGES, (4, 1, 1, 1)), np.tile(LABELS, 4)), 4, num_workers=1, processes=True):
        addresses.add(x.__array_interface__["data"][0])
        last = x
        del x, _
    assert len(addresses) < 12 and last is not None and arenas() == 1
    del last
    assert arenas() == 0 and len(os.listdir("/proc/self/fd")) == files


def test_an_error_in_a_worker_has_its_own_traceback() -> None:
    def fail(sample: Any) -> Any:
        if sample[1] == 17:
            raise KeyError("in the transform")
        return sample

    for processes in (False, True):
        batches = iter(Loader((IMAGES, LABELS), 5, transform=fail, num_workers=2, processes=processes))
        assert [int(y[0]) for _, y in (next(batches) for _ in range(3))] == [0, 5, 10]
        with pytest.raises(KeyError, match="in the transform") as found:
            next(batches)
        said = "".join(traceback.format_exception(found.value))
        assert 'raise KeyError("in the transform")' in said and "in fail" in said and "sample 17 of epoch 0" in said
        assert next(batches, None) is None


@pytest.mark.parametrize("processes", [False, True])
def test_an_error_in_a_worker_names_the_line_of_the_loop(processes: bool) -> None:
    with pytest.raises(DataError, match=r"at test_workers.py:\d+\. Samples of a batch need one shape"):
        list(Loader([np.zeros(2), np.zeros(3)], 2, num_workers=2, processes=processes))


def test_each_of_two_loops_at_once_counts_its_own_batches() -> None:
    loader = Loader(np.arange(40), 4)
    first, second = iter(loader), iter(loader)
    for steps in (first, first, second, first):
        next(steps)
    assert [loader.state_dict()[name] for name in ("epoch", "batch")] == [0, 3]
    next(second)
    assert [loader.state_dict()[name] for name in ("epoch", "batch")] == [1, 2]
    again = Loader(np.arange(40), 4)
    again.load_state_dict(loader.state_dict())
    assert next(iter(again)).tolist() == next(second).tolist()


class Stubborn(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_processes_that_end_or_raise_what_cannot_be_sent() -> None:
    def killed(sample: Any) -> Any:
        if sample[1] == 17:
            os.kill(os.getpid(), signal.SIGKILL)
        return sample

    def stubborn(sample: Any) -> Any:
        raise Stubborn(1, 2)

    with pytest.raises(DataError, match=r"ended while it made batches \(signal SIGKILL"):
        list(Loader((IMAGES, LABELS), 5, transform=killed, num_workers=2, processes=True))
    with pytest.raises(DataError, match="Stubborn: 1 and 2"):
        list(Loader((IMAGES, LABELS), 5, transform=stubborn, num_workers=1, processes=True))


def test_generators_of_the_whole_process_differ_between_batches_and_agree_between_runs() -> None:
    def drawn(sample: Any) -> Any:
        return np.random.rand()

    runs = [[x.tolist() for x in Loader(LABELS, 20, transform=drawn, num_workers=n, processes=True)] for n in (1, 2)]
    assert runs[0] == runs[1] and len({x for batch in runs[0] for x in batch}) == 53


def test_a_stream_that_raises_is_heard_behind_what_it_gave() -> None:
    def broken() -> Iterator[int]:
        yield from range(5)
        raise OSError("the disk is gone")

    for workers, processes in WORKERS:
        batches = iter(Loader(IterableDataset(broken), 2, num_workers=workers, processes=processes))
        assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
        with pytest.raises(OSError, match="the disk is gone"):
            next(batches)


SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
from stele.data import Loader
def named(k):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    return k
loader = Loader(np.arange(1000), 1, transform=named, num_workers=2, processes=True)
batches = iter(loader)
for _ in range(9): next(batches)
"""
ENDINGS = {
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    "killed while they are busy": (
        "slow = iter(Loader(np.arange(9), 1, transform=lambda k: time.sleep(60), num_workers=1, processes=True))\n"
        "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()\nnext(slow)", -signal.SIGKILL),
    "Ctrl-C": (
        "def slow(k): time.sleep(60)\n"
        "threading.Timer(0.2, os.killpg, (os.getpid(), signal.SIGINT)).start()\n"
        "try: next(iter(Loader(np.arange(9), 1, transform=slow, num_workers=2, processes=True)))\n"
        "except KeyboardInterrupt: sys.exit(130)", 130),
    "exit with a loop open, and a fork": (
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    assert sum(1 for _ in Loader(np.zeros(9), 1, num_workers=1, processes=True)) == 9\n"
        "    try: next(batches)\n"
        "    except ValueError as error: os._exit(7 if 'fork' in str(error) else 1)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n"
        "next(batches)", 0),
}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("ending", ENDINGS)
def test_workers_end_with_their_parent(ending: str, tmp_path: Path) -> None:
    code, wanted = ENDINGS[ending]
    done = subprocess.run([sys.executable, "-c", SCRIPT + code, str(tmp_path)], timeout=20, capture_output=True,
                          text=True, start_new_session=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == wanted and "Traceback" not in done.stderr, done.stderr
    workers = [int(name) for name in os.listdir(tmp_path)]
    deadline = time.monotonic() + 5
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert workers and not any(map(alive, workers))
