"""Signals that end a training run between two steps, so that what is saved is whole."""
from __future__ import annotations

import errno
import os
import signal
import sys
import termios
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OTHERS = (signal.SIG_IGN, None)     # handlers that stay: nohup ignores, and None stands for one that is not Python's


class Stopped(KeyboardInterrupt):
    """A run was asked to stop, and has saved; `signal` says by what."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


class Stop:
    """Inside of it Ctrl-C, SIGTERM and SIGHUP are noted, and `check` raises Stopped; a second one interrupts at once.

    Only the main thread hears signals; elsewhere nothing changes. A signal that is ignored stays so.
    """

    def __init__(self) -> None:
        self.number = 0
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        self.number = 0
        if threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self.hear) for number in SIGNALS
                           if signal.getsignal(number) not in OTHERS}
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
        if number == signal.SIGHUP:
            leave_terminals()
        print("stopping after this step; once more stops at once", file=sys.stderr, flush=True)

    def check(self) -> None:
        """Raises Stopped if a signal has arrived: to be called where everything is whole."""
        if self.number:
            raise Stopped(self.number)


def leave_terminals() -> None:
    """What is still to be said on a terminal that is gone goes nowhere: to write to it would be an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    for number in (1, 2):
        try:
            termios.tcgetattr(number)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                os.dup2(nowhere, number)
    os.close(nowhere)
