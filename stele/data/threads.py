"""Batches of an epoch in order, made by threads that are a few of them ahead."""
from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stele.backend.workers import begun
from stele.data.epochs import Epoch, Task
from stele.errors import DataError
from stele.ir.door import shorten


@dataclass
class Failure:
    """What was raised in the place of a batch; its reader raises it."""

    error: BaseException


class Workers:
    """Those who make batches by number, so that they come in order however many make them.

    At most `ahead` batches are being made, or made and not given out.
    """

    def __init__(self, first: int, ahead: int) -> None:
        self.given = self.asked = first
        self.ahead = ahead
        self.end: int | None = None         # the number behind the last batch, once it is known
        self.ready: dict[int, Any] = {}
        self.process = os.getpid()

    def __iter__(self) -> Iterator[Any]:
        while self._is_there():
            yield self._take()

    def ask(self, until: int) -> None:
        """Has the batches from `asked` to `until` made."""
        raise NotImplementedError

    def receive(self) -> None:
        """Waits until something was made, and keeps it in `ready`, or learns the `end`."""
        raise NotImplementedError

    def ends(self, k: int) -> None:
        """There is no batch k, nor one behind it."""
        self.end = k if self.end is None else min(k, self.end)

    def _is_there(self) -> bool:
        """Waits for the next batch; false behind the last."""
        if os.getpid() != self.process:
            raise DataError("a loader's workers do not survive a fork, got a loop begun before it. "
                            "Begin a new loop over the loader in the child.")
        self._fill()
        while self.given not in self.ready and (self.end is None or self.given < self.end):
            self.receive()
        return self.given in self.ready

    def _take(self) -> Any:
        item = self.ready.pop(self.given)
        self.given += 1
        self._fill()
        if isinstance(item, Failure):
            raise item.error
        return item

    def _fill(self) -> None:
        until = self.given + self.ahead
        if self.asked < until:
            self.ask(until)
            self.asked = until


class Threads(Workers):
    """Workers in this process: numbers go to them through one queue, batches come back through another."""

    def __init__(self, epoch: Epoch, first: int, workers: int, ahead: int) -> None:
        super().__init__(first, ahead)
        self.epoch, self.tasks, self.workers = epoch, epoch.tasks(first), workers
        self.numbers: queue.SimpleQueue[int | None] = queue.SimpleQueue()       # None ends a worker
        self.made: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.reading = threading.Lock()
        try:
            for _ in range(workers):
                begun(self._run, "stele-loader")
        except BaseException:
            self.stop()
            raise

    def ask(self, until: int) -> None:
        """Their numbers, in order."""
        for k in range(self.asked, until):
            self.numbers.put(k)

    def receive(self) -> None:
        """What was made next, of any number."""
        k, item = self.made.get()
        if item is Ellipsis:
            self.ends(k)
        else:
            self.ready[k] = item

    def stop(self) -> None:
        """Every worker ends behind the batch that it makes; what is made is let go."""
        if os.getpid() != self.process:     # no thread came along, and whoever held the locks is gone
            return
        self.ready.clear()
        while not self.numbers.empty():
            try:
                self.numbers.get_nowait()
            except queue.Empty:
                break
        for _ in range(self.workers):
            self.numbers.put(None)

    def _run(self) -> None:
        """What a thread does."""
        make = self.epoch.making()
        while (claim := self._claim()) is not None:
            k, item = claim
            del claim
            if item is not Ellipsis and not isinstance(item, Failure):
                try:
                    item = make(k, item)
                except BaseException as error:  # handed to the reader, who raises it
                    item = failure(error)
            self.made.put((k, item))
            del item    # or the thread would hold it while it waits

    def _claim(self) -> tuple[int, Task] | None:
        """The next number, and what its batch is made of (`...` behind the last); a stream is read by one at a time."""
        with self.reading:
            k = self.numbers.get()
            if k is None:
                return None
            try:
                return k, next(self.tasks, Ellipsis)
            except BaseException as error:
                return k, failure(error)


def failure(error: BaseException) -> Failure:
    """What was raised in a worker, with the user's frames alone where the fault is theirs; its reader says where."""
    if isinstance(error, Exception):
        shorten(error)
    return Failure(error)


def inline(epoch: Epoch, first: int) -> Iterator[Any]:
    """The batches of an epoch, each made when it is asked for."""
    make = epoch.making()
    for k, task in enumerate(epoch.tasks(first), first):
        yield make(k, task)
