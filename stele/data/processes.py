"""Batches of an epoch, made by processes, in memory that both sides share and that has no name to be left behind.

Each worker is a fork, so that it has the data as it stands. Numbers of batches come to it through one pipe for all, and
results go back through a socket of its own: arrays lie in memory files of the worker (`Arena`), which the reader maps,
the rest is pickled beside them. Nothing of it is in a file system: when the last process is gone, however it ended, so
is the memory.
"""
from __future__ import annotations

import gc
import mmap
import os
import pickle
import random
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import traceback
import warnings
import weakref
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from stele.data.chance import BATCHES, philox
from stele.data.collating import mapped
from stele.data.epochs import Epoch
from stele.data.threads import Failure, Workers, failure
from stele.errors import DataError
from stele.pipeline import set_threads

SLOTS = 16              # arenas of a worker that are used again; batches kept beyond them are copied
MOST = 4096             # batches that may be on their way: their numbers fit into a pipe
ALIGNED = 64
PULSE = 0.2             # seconds in which a worker learns that its parent is gone
TASK = struct.Struct("<q")
HEAD = struct.Struct("<qqqqq")      # batch, kind, arena, its new size or 0, bytes of the pickle behind
MADE, FAILED, ENDED = range(3)
_LOOSE = SLOTS          # the number of an arena that is used once
_FORKING = [threading.Lock()]       # one at a time: no worker inherits an end of another's socket
os.register_at_fork(after_in_child=lambda: _FORKING.__setitem__(0, threading.Lock()))


class Processes(Workers):
    """Workers in processes of their own."""

    def __init__(self, epoch: Epoch, first: int, workers: int, ahead: int) -> None:
        super().__init__(first, min(ahead, MOST))
        self.workers: list[Worker] = []
        self.numbers: tuple[int, ...] = os.pipe()
        self.poll = select.poll()
        try:
            for _ in range(workers):
                self.workers.append(Worker(epoch, first, self.numbers, self.workers))
                self.poll.register(self.workers[-1].socket, select.POLLIN)
            os.close(self.numbers[0])
            self.numbers = self.numbers[1:]     # who closes it again would close another file
        except BaseException:
            self.stop()
            raise

    def ask(self, until: int) -> None:
        """Their numbers, to whoever is free."""
        with suppress(BrokenPipeError):     # all are gone, which shows at once
            os.write(self.numbers[-1], b"".join(map(TASK.pack, range(self.asked, until))))

    def receive(self) -> None:
        """What has come from any of them; raises DataError where one is gone."""
        gone = [worker for worker in self.workers if worker.is_gone()]
        found = dict(self.poll.poll(0 if gone else 1000))
        for worker in self.workers:
            if worker.socket.fileno() in found:
                k, what, item = worker.receive()
                if what == ENDED:
                    self.ends(k)
                else:
                    self.ready[k] = item
            elif worker in gone:
                worker.lost()

    def stop(self) -> None:
        """Ends all workers at once: they hold nothing that anybody else needs."""
        if os.getpid() != self.process:
            return
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.end()
        for end in self.numbers:
            os.close(end)
        self.numbers = ()
        self.workers, self.ready = [], {}


class Worker:
    """A process that makes batches, as its parent sees it."""

    def __init__(self, epoch: Epoch, first: int, numbers: tuple[int, ...], others: list[Worker]) -> None:
        self.arenas: dict[int, Arena] = {}
        self.code: int | None = None        # how the process ended
        self.used = mmap.mmap(-1, mmap.PAGESIZE)    # of each arena one byte: whether its batch is still needed
        parent = os.getpid()
        with suppress(Exception):
            sys.stdout.flush()      # or its text would be there twice
        with _FORKING[0], warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)     # of forks beside threads: all locks are free then
            self.socket, theirs = socket.socketpair()
            masked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:    # no handler may raise in the child before it is one
                self.pid = os.fork()
                if not self.pid:
                    _child(epoch, first, numbers, theirs, self, others, parent)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, masked)
                theirs.close()

    def receive(self) -> tuple[int, int, Any]:
        """What the worker sent next: the number of a batch, what it is, and the batch or what was raised."""
        head, fds = bytearray(), list[int]()
        while len(head) < HEAD.size:
            part, found, _, _ = socket.recv_fds(self.socket, HEAD.size - len(head), 1, socket.MSG_CMSG_CLOEXEC)
            fds += found
            head += part or self.lost()
        k, what, number, size, length = HEAD.unpack(head)
        if fds:
            self.arenas[number] = Arena(fds[0], size)
        text = memoryview(bytearray(length))
        read = 0
        while read < length:
            read += self.socket.recv_into(text[read:]) or self.lost()
        if what == FAILED:
            return k, what, Failure(_raised(bytes(text)))
        return k, what, None if what == ENDED else self._batch(number, text)

    def _batch(self, number: int, text: memoryview) -> Any:
        body, spans = pickle.loads(text)
        if not spans:
            return pickle.loads(body)
        arena = self.arenas[number]
        seen = arena.lent(self.used, number) if number < _LOOSE else arena.copied()
        whole: Any = memoryview(seen)       # pyright: ignore[reportArgumentType]
        return pickle.loads(body, buffers=[whole[a:b] for a, b in spans])

    def is_gone(self, waits: bool = False) -> bool:
        """Whether the process has ended; then it has been waited for, and its number may be another's."""
        if self.code is None:
            try:
                pid, status = os.waitpid(self.pid, 0 if waits else os.WNOHANG)
            except ChildProcessError:       # somebody else has waited for it
                pid, status = self.pid, 0
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is not None

    def lost(self) -> NoReturn:
        """The process ended in the midst of its work."""
        self.is_gone(waits=True)
        code = self.code or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        raise DataError(f"a process of the loader ended while it made batches ({how}).",
                        hint="SIGKILL often means that memory was exhausted: take fewer num_workers, a smaller "
                             "batch_size or prefetch, or num_workers=0 to see where it happens.")

    def kill(self) -> None:
        """Tells the process to end."""
        if not self.is_gone():
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Waits until the process is gone; batches that were given out stay."""
        self.is_gone(waits=True)
        self.socket.close()


class Arena:
    """Memory of a worker as both sides see it: an open file without a name, mapped; closed at once."""

    def __init__(self, fd: int, size: int) -> None:
        try:
            self.memory = mmap.mmap(fd, size)
        finally:
            os.close(fd)
        self.size = size
        self.loan: weakref.ref[Any] | None = None

    def lent(self, used: mmap.mmap, number: int) -> np.ndarray:
        """Its bytes; when nothing refers to them any more, the worker may write there again."""
        seen = np.frombuffer(self.memory, np.uint8)
        self.loan = weakref.ref(seen, lambda _: used.__setitem__(number, 0))
        return seen

    def copied(self) -> np.ndarray:
        """Its bytes, elsewhere."""
        return np.frombuffer(self.memory, np.uint8).copy()


def _child(epoch: Epoch, first: int, numbers: tuple[int, ...], sending: socket.socket, worker: Worker,
           others: list[Worker], parent: int) -> NoReturn:
    """The whole life of a worker."""
    try:
        gc.freeze()         # what the parent left is not ours to finalise
        _deaf()
        os.close(numbers[1])
        for one in (worker, *others):
            one.socket.close()
        threading.Thread(target=_outlive, args=(parent,), daemon=True).start()
        _calm()
        Making(epoch, first, sending, worker.used).run(numbers[0])
    except BaseException:       # the socket's other end is gone, or worse
        os._exit(1)
    os._exit(0)


def _deaf() -> None:
    """Handlers of the parent's are not ours; Ctrl-C it hears itself, and ends us."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _outlive(parent: int) -> None:
    """Ends this process when its parent is gone, whatever it does."""
    while os.getppid() == parent:
        time.sleep(PULSE)
    os.kill(os.getpid(), signal.SIGKILL)


def _calm() -> None:
    """One thread for each worker, in libraries that would start as many as there are cores."""
    if "stele.backend.cpu.pool" in sys.modules:
        set_threads(1)
    if "torch" in sys.modules:      # whose threads did not survive the fork
        sys.modules["torch"].set_num_threads(1)


class Making:
    """What a worker does: takes numbers, makes batches, writes them into its arenas."""

    def __init__(self, epoch: Epoch, first: int, sending: socket.socket, used: mmap.mmap) -> None:
        self.epoch, self.sending, self.used = epoch, sending, used
        self.make, self.tasks = epoch.making(), enumerate(epoch.tasks(first), first)
        self.arenas: dict[int, mmap.mmap] = {}

    def run(self, numbers: int) -> None:
        """Until nobody asks any more."""
        while len(record := os.read(numbers, TASK.size)) == TASK.size:
            k = TASK.unpack(record)[0]
            try:
                task = next((task for number, task in self.tasks if number == k), None)
                if task is None:
                    self._send(k, ENDED)
                    continue
                self._seed(k)
                batch = mapped(_packed, self.make(k, task))
                buffers: list[pickle.PickleBuffer] = []
                body = pickle.dumps(batch, 5, buffer_callback=buffers.append)
            except BaseException as error:
                self._send(k, FAILED, _told(failure(error).error))
                continue
            self._deliver(k, body, buffers)
            del batch, buffers
            with suppress(Exception):
                sys.stdout.flush()

    def _seed(self, k: int) -> None:
        """What draws from the generators of Python, NumPy or PyTorch gets other numbers in each batch, the same in any
        worker."""
        words = philox(self.epoch.seed, self.epoch.epoch, BATCHES + k).random_raw(2)
        random.seed(int(words[0]))
        np.random.seed(int(words[1]) & 0xFFFFFFFF)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(int(words[0]) >> 1)

    def _deliver(self, k: int, body: bytes, buffers: list[pickle.PickleBuffer]) -> None:
        """Copies the arrays of a batch into an arena and says where they are."""
        raws = [buffer.raw() for buffer in buffers]
        spans, end = list[tuple[int, int]](), 0
        for raw in raws:
            start = -(-end // ALIGNED) * ALIGNED
            spans.append((start, end := start + raw.nbytes))
        text = pickle.dumps((body, spans), 5)
        if not spans:
            self._send(k, MADE, text)
            return
        number, fd = self._room(max(end, 1))
        memory = memoryview(self.arenas[number])
        for (a, b), raw in zip(spans, raws):
            memory[a:b] = raw
        if number < _LOOSE:
            self.used[number] = 1
        self._send(k, MADE, text, number, len(memory), fd)

    def _room(self, size: int) -> tuple[int, int | None]:
        """An arena of so many bytes that nobody reads, and its file if it is new."""
        free = [n for n in range(SLOTS) if not self.used[n]]
        for n in free:
            if n in self.arenas and len(self.arenas[n]) >= size:
                return n, None
        n = free[0] if free else _LOOSE
        pages = -(-size // mmap.PAGESIZE)
        fd = _nameless(pages * mmap.PAGESIZE)
        self.arenas[n] = mmap.mmap(fd, pages * mmap.PAGESIZE)
        return n, fd

    def _send(self, k: int, what: int, text: bytes = b"", number: int = 0, size: int = 0,
              fd: int | None = None) -> None:
        head = HEAD.pack(k, what, number, size if fd is not None else 0, len(text))
        if fd is None:
            self.sending.sendall(head + text)
            return
        sent = socket.send_fds(self.sending, [head], [fd])
        os.close(fd)
        self.sending.sendall(head[sent:] + text)


def _nameless(size: int) -> int:
    """A file of memory that is in no folder."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("stele-loader", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.truncate(fd, size)
    return fd


def _packed(x: Any) -> Any:
    """An array in one piece, or it would be pickled byte by byte."""
    return np.ascontiguousarray(x) if type(x) is np.ndarray and x.ndim else x


class WorkerError(Exception):
    """The traceback of an error where it was raised: in another process."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def _told(error: BaseException) -> bytes:
    """An error with its traceback as text; one that cannot be pickled as what it says."""
    text = "".join(traceback.format_exception(error))
    try:
        told = pickle.dumps((error, text))
        pickle.loads(told)
        return told
    except Exception:
        said = "".join(traceback.format_exception_only(error)).strip()
        return pickle.dumps((DataError(f"a process of the loader raised {said}"), text))


def _raised(told: bytes) -> BaseException:
    error, text = pickle.loads(told)
    error.__cause__ = WorkerError(text)
    return error
