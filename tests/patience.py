"""Seconds that count while a process runs: one that was stopped for a while has not hung."""
from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Late(BaseException):
    """What is limited took longer than it may; nothing that catches errors catches it."""


@contextmanager
def patience(seconds: int, act: Callable[[], object]) -> Iterator[None]:
    """Calls `act` where the block takes more than so many seconds, but for those in which this process stood still."""
    done = threading.Event()

    def watch() -> None:
        for _ in range(seconds):
            if done.wait(1):
                return
        act()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


@contextmanager
def limited(busy: float, idle: int) -> Iterator[None]:
    """Raises Late in a block of the main thread that takes more than `busy` processor seconds, or more than
    `idle` ones by the clock.
    """
    ticks = 0

    def late(*_: object) -> None:
        raise Late(f"takes more than {busy} processor seconds")

    def tick(*_: object) -> None:
        nonlocal ticks
        ticks += 1
        if ticks >= idle:
            raise Late(f"takes more than {idle} seconds")

    before = signal.signal(signal.SIGPROF, late), signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_PROF, busy)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before):
            signal.signal(number, handler)
