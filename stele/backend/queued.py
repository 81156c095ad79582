"""A CPU as a device apart: memory of its own, and queues that threads work off, so that copies and programs overlap."""
from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple
from weakref import WeakSet, finalize

from stele.backend.buffers import Blocks, Buffer
from stele.backend.cpu import pool
from stele.backend.devices import Device, Event, Stream, Work, marked
from stele.backend.locks import RUNNING, SETTLING
from stele.backend.workers import begun
from stele.ir.types import DType, Type

AHEAD, LONGEST = 1000, 1000     # pieces of work that wait at most, and that are remembered
SECONDS = 2.0                   # how long the exit waits for one
STREAMS: WeakSet[Queue] = WeakSet()
LEAVING = threading.Event()


class Away(Buffer):
    """The numbers of an array on a device of this kind, once its event is reached; whoever looks gets a copy."""

    __slots__ = ("at", "device", "event")

    def __init__(self, at: Queued, dtype: DType, shape: tuple[int, ...]) -> None:
        self.at, self.device, self.dtype, self.shape = at, at.name, dtype, shape     # type: ignore[misc]
        self.event = Event()

    def fill(self, own: Buffer) -> None:
        """Takes over what lies in memory of the device."""
        self.block, self.address = own.block, own.address

    def own(self) -> Buffer:
        """The same as the device itself sees it, once it is there."""
        return Buffer(self.block, self.dtype, self.shape)

    def wait(self) -> None:
        self.event.wait()

    def home(self) -> Buffer:
        made: list[Buffer] = []
        self.at.here().give(f"copy {self.dtype}{list(self.shape)} to the host", lambda: made.append(
            Buffer.of(self.own().array)), (self.event,)).wait()
        return made[0]

    @property
    def array(self) -> Any:
        """A copy of the numbers."""
        return self.home().array


class Span(NamedTuple):
    """A piece of work of a stream, and when it ran, in seconds of `time.perf_counter`."""

    what: str
    begin: float
    end: float


class Queue(Stream):
    """Work in the order in which it is given, done by a thread of its own while Python goes on."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.log: deque[Span] = deque(maxlen=LONGEST)
        self.begin()
        STREAMS.add(self)

    def begin(self) -> None:
        """With an empty queue, and no thread yet: also in the child of a fork, which no thread came along to."""
        self.jobs: SimpleQueue[Any] = SimpleQueue()
        self.thread: threading.Thread | None = None
        self.last = Event()
        self.lock = threading.Lock()
        finalize(self, self.jobs.put, None)

    def give(self, what: str, work: Work, before: Sequence[Event] = (), event: Event | None = None) -> Event:
        event = marked(event)
        job = what, work, before, event
        if self.jobs.qsize() >= AHEAD:
            self.last.flag.wait()
        self.last = event
        if LEAVING.is_set():
            done(self.log, *job)
            return event
        self.jobs.put(job)
        with self.lock:
            if self.thread is None:
                self.thread = begun(serve, f"stele-{self.device}", self.jobs, self.log)
        return event


def serve(jobs: SimpleQueue[Any], log: deque[Span]) -> None:
    """Works off a queue until it says None, and holds nothing of what is done."""
    while (job := jobs.get()) is not None:
        done(log, *job)
        del job


def done(log: deque[Span], what: str, work: Work, before: Sequence[Event], event: Event) -> None:
    """Does one piece of work, or notes for whoever waits for it why it could not be done."""
    begin = time.perf_counter()
    try:
        for other in before:
            other.wait()
        if LEAVING.is_set() and threading.current_thread() is not threading.main_thread():
            raise pool.stopped()
        begin = time.perf_counter()
        work()
    except BaseException as error:      # whoever waits raises it
        event.error = error
    log.append(Span(what, begin, time.perf_counter()))
    event.flag.set()


class Queued(Device):
    """A CPU behind queues."""

    def __init__(self, name: str) -> None:
        super().__init__(name, Blocks())
        RUNNING.setdefault(name, threading.RLock())

    def copy(self, x: Buffer) -> Buffer:
        if x.device == self.name:
            return x
        made = Away(self, x.dtype, x.shape)
        self.here().give(f"copy {x.dtype}{list(x.shape)} to {self}", lambda: made.fill(Buffer.of(x.array, self.memory)),
                         (), made.event)
        return made

    def launch(self, what: str, run: Callable[[Sequence[Buffer]], Sequence[Buffer]], given: Sequence[Any],
               types: Sequence[Type]) -> Sequence[Buffer]:
        made = [Away(self, t.dtype, t.shape) for t in types]  # type: ignore[arg-type]
        event = Event()
        for y in made:
            y.event = event

        def work() -> None:
            for y, own in zip(made, run([x.own() for x in given])):
                y.fill(own)

        self.here().give(what, work, [x.event for x in given], event)
        return made

    def stream(self) -> Queue:
        return Queue(self)


def settle() -> None:
    """Before a fork: all that was given is done, so that the child's memory is whole, and its queues are empty."""
    for event in [stream.record() for stream in [*STREAMS] if stream.thread is not None]:
        event.flag.wait()


def in_child() -> None:
    """The queues begin anew."""
    for stream in [*STREAMS]:
        stream.begin()


def leave() -> None:
    """At exit: what runs is stopped, what waits is not begun."""
    LEAVING.set()
    pool.leave()
    for stream in list(STREAMS):
        stream.jobs.put(None)
        if stream.thread is not None:
            stream.thread.join(SECONDS)


SETTLING.append(settle)
os.register_at_fork(after_in_child=in_child)
atexit.register(leave)
