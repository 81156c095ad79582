"""The locks of a process, in the order of taking them; a fork waits for all, so that its child finds them free."""
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any

from stele.ir.types import HOME

HOST = threading.RLock()
RUNNING: dict[str, Any] = {HOME: HOST}
"""One program at a time on each device, in the order of their opening: what is updated in place is seen whole by every
thread, before and after a fork."""
COMPILING = threading.RLock()
"""LLVM runs one thing at a time: a child never inherits a compile cut in half. Who has it takes no other lock."""


class Several:
    """Locks as one, taken in their order."""

    def __init__(self, locks: Collection[Any]) -> None:
        self.locks, self.taken = locks, list[Any]()

    def __enter__(self) -> None:
        try:
            for lock in self.locks:
                lock.acquire()
                self.taken.append(lock)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        while self.taken:
            self.taken.pop().release()


def held(devices: Collection[str] | None = None) -> AbstractContextManager[Any]:
    """The lock of some devices, all of them without any named."""
    locks = [lock for name, lock in RUNNING.items() if devices is None or name in devices]
    return locks[0] if len(locks) == 1 else Several(locks)


FORKING = Several(())
SETTLING: list[Callable[[], None]] = []     # what has to come to rest before a fork, once nobody begins anything


def before_fork() -> None:
    FORKING.locks = (*RUNNING.values(), COMPILING)
    FORKING.__enter__()
    for settle in SETTLING:
        settle()


os.register_at_fork(before=before_fork, after_in_parent=FORKING.__exit__, after_in_child=FORKING.__exit__)
