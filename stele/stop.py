"""Signals that end a training run between two steps, so that what is saved is whole."""
from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """A run was asked to stop, and has saved; `signal` says by what."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


class Stop:
    """Inside of it Ctrl-C and SIGTERM are noted, and `check` raises Stopped; a second one interrupts at once.

    Only the main thread hears signals; elsewhere nothing changes.
    """

    def __init__(self) -> None:
        self.number = 0
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self.hear) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def hear(self, number: int, frame: FrameType | None) -> None:
        """A signal arrived."""
        if self.number:
            raise KeyboardInterrupt
        self.number = number
        print("stopping after this step; once more stops at once", file=sys.stderr, flush=True)

    def check(self) -> None:
        """Raises Stopped if a signal has arrived: to be called where everything is whole."""
        if self.number:
            raise Stopped(self.number)
