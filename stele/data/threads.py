"""Batches of an epoch, made by threads that are a few of them ahead."""
from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stele.data.epochs import Epoch, Task
from stele.errors import DataError
from stele.ir.door import leaving


@dataclass
class Failure:
    """What was raised in the place of a batch; its reader raises it."""

    error: BaseException


class Threads:
    """Workers that take batches by number, so that they come in order however many there are.

    At most `ahead` batches are being made or made and not given out.
    """

    def __init__(self, epoch: Epoch, first: int, workers: int, ahead: int) -> None:
        self.epoch, self.tasks, self.ahead = epoch, epoch.tasks(first), ahead
        self.claimed = self.given = first
        self.end: int | None = None         # the number behind the last batch, once it is known
        self.ready: dict[int, Any] = {}
        self.is_stopped = False
        self.claiming, self.changed = threading.Lock(), threading.Condition()
        self.process = os.getpid()
        for _ in range(workers):
            threading.Thread(target=self._run, name="stele-loader", daemon=True).start()

    def __iter__(self) -> Iterator[Any]:
        while self._is_there():
            yield self._take()

    def _is_there(self) -> bool:
        """Waits for the next batch; false behind the last."""
        refuse_fork(self.process)
        with self.changed:
            while self.given not in self.ready and (self.end is None or self.given < self.end):
                self.changed.wait()
            return self.given in self.ready

    def _take(self) -> Any:
        with self.changed:
            item = self.ready.pop(self.given)
            self.given += 1
            self.changed.notify_all()
        if isinstance(item, Failure):
            raise item.error
        return item

    def stop(self) -> None:
        """Every worker ends behind the batch that it makes; what is made is let go."""
        if os.getpid() != self.process:     # no thread came along, and whoever held the locks is gone
            return
        with self.changed:
            self.is_stopped = True
            self.ready.clear()
            self.changed.notify_all()

    def _run(self) -> None:
        """What a thread does."""
        make = self.epoch.making()
        while (claim := self._claim()) is not None:
            k, item = claim
            del claim
            if not isinstance(item, Failure):
                try:
                    item = make(k, item)
                except BaseException as error:  # handed to the reader, who raises it
                    item = failure(error)
            self._put(k, item)
            del item    # or the thread would hold it while it waits

    def _claim(self) -> tuple[int, Task] | None:
        """The next batch's number, when there is room, and what it is made of; one at a time reads a stream."""
        with self.claiming:
            with self.changed:
                while self.claimed >= self.given + self.ahead and not self.is_stopped:
                    self.changed.wait()
                if self.is_stopped or self.end is not None:
                    return None
                k = self.claimed
                self.claimed += 1
            try:
                return k, next(self.tasks)
            except StopIteration:
                self._ends(k)
                return None
            except BaseException as error:      # nothing can be read behind it
                self._ends(k + 1)
                return k, failure(error)

    def _ends(self, k: int) -> None:
        with self.changed:
            self.end = k
            self.changed.notify_all()

    def _put(self, k: int, item: Any) -> None:
        with self.changed:
            if not self.is_stopped:
                self.ready[k] = item
            self.changed.notify_all()


def failure(error: BaseException) -> Failure:
    """What was raised in a worker, with the user's frames alone where the fault is theirs."""
    if isinstance(error, Exception):
        leaving(error)
    return Failure(error)


def inline(epoch: Epoch, first: int) -> Iterator[Any]:
    """The batches of an epoch, each made when it is asked for."""
    make = epoch.making()
    for k, task in enumerate(epoch.tasks(first), first):
        yield make(k, task)


def refuse_fork(process: int) -> None:
    """Raises where a loop goes on in the child of a fork."""
    if os.getpid() != process:
        raise DataError("a loader's workers do not survive a fork, got a loop begun before it. "
                        "Begin a new loop over the loader in the child.")
