"""What a person sees while a network trains: a progress bar or plain lines, and the final table."""
from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from stele.ir.door import public
from stele.ops.arguments import refuse
from stele.train.callbacks import Callback
from stele.train.cell import Cell, is_notebook
from stele.train.history import Row

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from stele.train.trainer import Trainer

EVERY, REFRESH = 5.0, 0.2  # seconds between plain lines, and between looks at the numbers behind a bar
SHORT = {"accuracy": "acc"}


class Progress(Callback):
    """Shows the steps of a training: a bar on a terminal and in a notebook, elsewhere a plain line now and then.

    There is a line for each epoch. The bar shows means so far, samples a second and the time left in the epoch, for
    which 60 columns suffice. `out` is where to write, standard output unless given. Raises nothing of its own.

    >>> x = np.ones((8, 1), np.float32)
    >>> lines = io.StringIO()
    >>> _ = train.fit(nn.Linear(1, 1), data.Loader((x, x), 8), loss="mse", callbacks=[train.Progress(lines)])
    >>> lines.getvalue().split()[:4]
    ['epoch', '1/1', 'train', 'loss']
    """

    sees_gradients = False

    @public
    def __init__(self, out: TextIO | None = None) -> None:
        if out is not None and not hasattr(out, "isatty"):
            refuse("out of Progress", "a stream of text, such as sys.stderr", out)
        self.out = sys.stdout if out is None else out
        self.bar: Any = _bar(self.out) if self.out.isatty() else Cell() if out is None and is_notebook() else None
        self.is_compiled = False

    def on_train_begin(self, trainer: Trainer) -> None:
        if self.bar:
            self.bar.start()

    def on_train_end(self, trainer: Trainer, error: BaseException | None) -> None:
        if self.bar:
            self.bar.stop()

    def on_epoch_begin(self, trainer: Trainer) -> None:
        self.said = time.perf_counter()
        if self.is_compiled:
            self.clocked, self.samples, self.batches = self.said, trainer.place.samples, trainer.place.batches
        if self.bar:
            self.task = self.bar.add_task(f"{trainer.epoch + 1}/{trainer.epochs}", total=trainer.place.length,
                                          completed=trainer.place.batches, facts="")

    def on_batch_end(self, trainer: Trainer) -> None:
        now, place = time.perf_counter(), trainer.place
        if not self.is_compiled:
            self.is_compiled, self.clocked, self.samples, self.batches = True, now, place.samples, place.batches
        if now - self.said < (REFRESH if self.bar else EVERY):
            return
        self.said = now
        if self.bar:
            self.bar.update(self.task, completed=place.batches, facts=self._short(trainer, now))
            return
        length = trainer.place.length
        done = f"{place.batches}/{length}" if length else f"{place.batches}"
        left = f"  {self._left(trainer, now):.0f} s left" if length else ""
        pace = f"  {self._rate(trainer, now):,.0f} samples/s{left}" if place.batches > self.batches else ""
        self._say(f"epoch {trainer.epoch + 1}/{trainer.epochs}  batch {done}  {shown(trainer.results(), '  ')}{pace}")

    def on_epoch_end(self, trainer: Trainer, row: dict[str, Any]) -> None:
        if self.bar:
            self.bar.refresh()
            self.bar.remove_task(self.task)
        parts = [f"{phase} {shown(of, ' ')}" for phase, of in phases(row).items()]
        self._say("  ".join([f"epoch {row['epoch']}/{trainer.epochs}", *parts, f"{row['seconds']:.1f} s"]))

    def _rate(self, trainer: Trainer, now: float) -> float:
        """Samples a second, without the first step, which compiles."""
        return (trainer.place.samples - self.samples) / max(now - self.clocked, 1e-9)

    def _left(self, trainer: Trainer, now: float) -> float:
        """Seconds to the end of the epoch; 0 while nothing was clocked."""
        place = trainer.place
        rate = (place.batches - self.batches) / max(now - self.clocked, 1e-9)
        return ((trainer.place.length or 0) - place.batches) / rate if rate else 0.0

    def _short(self, trainer: Trainer, now: float) -> str:
        """What stands behind the bar: 40 columns at most where there are two short measures."""
        facts = " ".join(f"{SHORT.get(name, name)} {x:{'.4g' if name.endswith('loss') else '.3f'}}"
                         for name, x in numbers(trainer.results()))
        if trainer.place.batches == self.batches:
            return facts
        minutes, seconds = divmod(round(self._left(trainer, now)), 60)
        left = f" {minutes}:{seconds:02}" if trainer.place.length else ""
        return f"{facts} {_count(self._rate(trainer, now))}/s{left}"

    def _say(self, line: str) -> None:
        """A line above the bar where there is one."""
        if self.bar:
            self.bar.console.print(line, highlight=False, soft_wrap=True)
        else:
            print(line, file=self.out, flush=True)


def numbers(values: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Those of the values that are single numbers."""
    return [(name, x) for name, x in values.items() if isinstance(x, int | float)]


def shown(values: Mapping[str, Any], between: str) -> str:
    """Measures with four digits behind the point, their names in front.

    >>> shown({"loss": 0.5, "counts": [[1, 2]], "accuracy": 0.75}, ", ")
    'loss 0.5000, accuracy 0.7500'
    """
    return between.join(f"{name} {x:.4f}" for name, x in numbers(values))


def phases(row: Row) -> dict[str, dict[str, Any]]:
    """The measures of an epoch by the data they are of.

    >>> phases({"epoch": 1, "train_loss": 0.5, "val_loss": 0.75, "seconds": 3.0})
    {'train': {'loss': 0.5}, 'val': {'loss': 0.75}}
    """
    found: dict[str, dict[str, Any]] = {}
    for name, x in row.items():
        phase, _, measure = name.partition("_")
        if measure:
            found.setdefault(phase, {})[measure] = x
    return found


def table(epochs: Sequence[Row]) -> str:
    """The final table; its last line reads `test accuracy 0.xxxx`, or what else was measured last.

    >>> print(table([{"epoch": 1, "train_loss": 0.8, "test_loss": 0.52, "test_accuracy": 0.8125, "seconds": 12.3}]))
    epoch  train loss  test loss  test accuracy  seconds
        1      0.8000     0.5200         0.8125     12.3
    test accuracy 0.8125
    """
    names = list(dict.fromkeys(name for row in epochs for name, _ in numbers(row))) or ["epoch", "seconds"]
    heads = [name.replace("_", " ", 1) for name in names]
    form = {"epoch": "{}", "seconds": "{:.1f}"}
    rows = [[form.get(name, "{:.4f}").format(row[name]) if name in row else "" for name in names] for row in epochs]
    lines = ["  ".join(cell.rjust(len(head)) for cell, head in zip(row, heads, strict=True)) for row in (heads, *rows)]
    measures = [name for name in names if name not in form]
    return "\n".join([*lines, *(f"{name.replace('_', ' ', 1)} {epochs[-1][name]:.4f}" for name in measures[-1:])])


def _count(n: float) -> str:
    """A number in four columns.

    >>> _count(950.3), _count(12_345), _count(2_500_000)
    ('950', '12k', '2.5M')
    """
    if n < 1000:
        return f"{n:.0f}"
    return f"{n / 1e3:.0f}k" if n < 1e6 else f"{n / 1e6:.1f}M"


def _bar(out: TextIO) -> Bar:
    """A bar of rich that shows the facts behind it; what is left of the line is the bar's."""
    from rich.console import Console  # imported late: 60 ms that a script without a terminal does not need
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.table import Column

    return Progress(TextColumn("{task.description}"), BarColumn(None, table_column=Column(ratio=1, min_width=4)),
                    TaskProgressColumn(), TextColumn("{task.fields[facts]}", table_column=Column(no_wrap=True)),
                    console=Console(file=out), refresh_per_second=5, expand=True)
