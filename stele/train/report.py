"""What a person sees while a network trains: a progress bar or plain lines, and the final table."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from stele.train.history import Epoch

if TYPE_CHECKING:
    from rich.progress import Progress

EVERY = 5.0  # seconds between plain lines


class Report:
    """Shows the steps of training: `with Report(epochs) as report`, `begin` each epoch, `step` each batch, `end`.

    On a terminal a progress bar with loss, accuracy, samples/s and time left; elsewhere a plain line now and then, and
    one per epoch.
    """

    def __init__(self, epochs: int, out: TextIO | None = None) -> None:
        self.epochs = epochs
        self.out = out or sys.stdout
        self.bar = _bar(self.out) if self.out.isatty() else None

    def __enter__(self) -> "Report":
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.bar:
            self.bar.stop()

    def begin(self, epoch: int, samples: int) -> None:
        """Epoch `epoch`, counted from 1, of `samples` samples, starts."""
        self.epoch, self.samples = epoch, samples
        self.done, self.loss, self.correct = 0, 0.0, 0
        self.started = self.said = time.perf_counter()
        if self.bar:
            self.task = self.bar.add_task(f"epoch {epoch}/{self.epochs}", total=samples, facts="")

    def step(self, count: int, loss: float, correct: int) -> None:
        """A batch of `count` samples is trained: their mean loss, and how many were right."""
        self.done += count
        self.loss += loss * count
        self.correct += correct
        now = time.perf_counter()
        if self.bar:
            self.bar.update(self.task, completed=self.done, facts=self._facts(now))
        elif now - self.said >= EVERY:
            self.said = now
            left = (now - self.started) / self.done * (self.samples - self.done)
            self._say(f"epoch {self.epoch}/{self.epochs}  {self.done}/{self.samples}  {self._facts(now)}  "
                      f"{left:.0f} s left")

    def end(self, epoch: Epoch) -> None:
        """The epoch is trained and tested."""
        if self.bar:
            self.bar.refresh()
            self.bar.remove_task(self.task)
        self._say(f"epoch {epoch.epoch}/{self.epochs}  train loss {epoch.train_loss:.4f} accuracy "
                  f"{epoch.train_accuracy:.4f}  test loss {epoch.test_loss:.4f} accuracy {epoch.test_accuracy:.4f}  "
                  f"{epoch.seconds:.1f} s")

    def _facts(self, now: float) -> str:
        rate = self.done / max(now - self.started, 1e-9)
        return f"loss {self.loss / self.done:.4f}  accuracy {self.correct / self.done:.4f}  {rate:,.0f} samples/s"

    def _say(self, line: str) -> None:
        """A line above the bar where there is one."""
        if self.bar:
            self.bar.console.print(line, highlight=False, soft_wrap=True)
        else:
            print(line, file=self.out, flush=True)


def table(epochs: Sequence[Epoch]) -> str:
    """The final table; its last line reads `test accuracy 0.xxxx`.

    >>> print(table([Epoch(1, 0.8, 0.71, 0.52, 0.8125, 12.3)]))
    epoch  train loss  train accuracy  test loss  test accuracy  seconds
        1      0.8000          0.7100     0.5200         0.8125     12.3
    test accuracy 0.8125
    """
    heads = ("epoch", "train loss", "train accuracy", "test loss", "test accuracy", "seconds")
    rows = [(f"{e.epoch}", f"{e.train_loss:.4f}", f"{e.train_accuracy:.4f}", f"{e.test_loss:.4f}",
             f"{e.test_accuracy:.4f}", f"{e.seconds:.1f}") for e in epochs]
    lines = ["  ".join(cell.rjust(len(head)) for cell, head in zip(row, heads, strict=True)) for row in (heads, *rows)]
    return "\n".join([*lines, *(f"test accuracy {e.test_accuracy:.4f}" for e in epochs[-1:])])


def _bar(out: TextIO) -> "Progress":
    """A bar of rich that shows the facts after the time left."""
    from rich.console import Console  # imported late: 60 ms that a script without a terminal does not need
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(TextColumn("{task.description}"), BarColumn(None), TaskProgressColumn(),
                    TextColumn("{task.fields[facts]}"), TimeRemainingColumn(compact=True), TextColumn("left"),
                    console=Console(file=out), refresh_per_second=5, expand=True)
