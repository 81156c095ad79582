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

    On a terminal a progress bar with loss, accuracy, samples a second and time left in the epoch, for which 60 columns
    suffice; elsewhere a plain line now and then, and one per epoch.
    """

    def __init__(self, epochs: int, out: TextIO | None = None) -> None:
        self.epochs = epochs
        self.out = out or sys.stdout
        self.bar = _bar(self.out) if self.out.isatty() else None
        self.compiled = False

    def __enter__(self) -> "Report":
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.bar:
            self.bar.stop()

    def begin(self, epoch: int, samples: int, done: int = 0, loss: float = 0.0, correct: int = 0) -> None:
        """Epoch `epoch`, counted from 1, of `samples` samples, starts, or goes on behind `done` of them."""
        self.epoch, self.samples = epoch, samples
        self.done, self.loss, self.correct = done, loss, correct
        self.said = time.perf_counter()
        if self.compiled:
            self.clocked, self.counted = self.said, done
        if self.bar:
            self.task = self.bar.add_task(f"{epoch}/{self.epochs}", total=samples, completed=done, facts="")

    def step(self, count: int, loss: float, correct: int) -> None:
        """A batch of `count` samples is trained: their mean loss, and how many were right."""
        self.done += count
        self.loss += loss * count
        self.correct += correct
        now = time.perf_counter()
        if not self.compiled:
            self.compiled, self.clocked, self.counted = True, now, self.done
        if self.bar:
            self.bar.update(self.task, completed=self.done, facts=self._short(now))
        elif now - self.said >= EVERY:
            self.said = now
            self._say(f"epoch {self.epoch}/{self.epochs}  {self.done}/{self.samples}  "
                      f"loss {self.loss / self.done:.4f}  accuracy {self.correct / self.done:.4f}  "
                      f"{self._rate(now):,.0f} samples/s  {self._left(now):.0f} s left")

    def end(self, epoch: Epoch) -> None:
        """The epoch is trained and tested."""
        if self.bar:
            self.bar.refresh()
            self.bar.remove_task(self.task)
        self._say(f"epoch {epoch.epoch}/{self.epochs}  train loss {epoch.train_loss:.4f} accuracy "
                  f"{epoch.train_accuracy:.4f}  test loss {epoch.test_loss:.4f} accuracy {epoch.test_accuracy:.4f}  "
                  f"{epoch.seconds:.1f} s")

    def _rate(self, now: float) -> float:
        """Samples a second, without the first step, which compiles."""
        return (self.done - self.counted) / max(now - self.clocked, 1e-9)

    def _left(self, now: float) -> float:
        """Seconds to the end of the epoch; 0 while nothing was clocked."""
        rate = self._rate(now)
        return (self.samples - self.done) / rate if rate else 0.0

    def _short(self, now: float) -> str:
        """What stands behind the bar: 40 columns at most."""
        facts = f"loss {self.loss / self.done:.4g} acc {self.correct / self.done:.3f}"
        if self.done == self.counted:
            return facts
        minutes, seconds = divmod(round(self._left(now)), 60)
        return f"{facts} {_count(self._rate(now))}/s {minutes}:{seconds:02}"

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


def _count(n: float) -> str:
    """A number in four columns.

    >>> _count(950.3), _count(12_345), _count(2_500_000)
    ('950', '12k', '2.5M')
    """
    if n < 1000:
        return f"{n:.0f}"
    return f"{n / 1e3:.0f}k" if n < 1e6 else f"{n / 1e6:.1f}M"


def _bar(out: TextIO) -> "Progress":
    """A bar of rich that shows the facts behind it; what is left of the line is the bar's."""
    from rich.console import Console  # imported late: 60 ms that a script without a terminal does not need
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.table import Column

    return Progress(TextColumn("{task.description}"), BarColumn(None, table_column=Column(ratio=1, min_width=4)),
                    TaskProgressColumn(), TextColumn("{task.fields[facts]}", table_column=Column(no_wrap=True)),
                    console=Console(file=out), refresh_per_second=5, expand=True)
