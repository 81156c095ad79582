"""The folder of a training run: always a valid `history.json` and `curves.html`, whatever ends the run."""

import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any

from stele import __version__, files
from stele.errors import DataError
from stele.train.history import History, Row
from stele.train.page import page

VERSIONS = ("numpy", "llvmlite")


def default_folder(workload: str) -> Path:
    """`runs/<workload>-<time>`, a name that is free."""
    stem = Path("runs") / f"{workload}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (stem if k == 1 else stem.with_name(f"{stem.name}-{k}") for k in range(1, 10_000))
    return next(path for path in names if not path.exists())


class Run:
    """A run being recorded.

    ```
    with Run(folder, {"workload": "cnn", "seed": 0}) as run:
        for ...:
            run.step(epoch_so_far, loss)
            run.epoch({"epoch": 1, "train_loss": train_loss, "test_loss": test_loss, "seconds": seconds})
        run.finish(parameters=3_441_592)
    ```

    The folder is made on entry; both files are written on entry, after each epoch and on leaving. Ctrl-C
    marks the run as interrupted, an exception as failed. A run that `goes_on` finds its folder there. `meta` gets the
    command, versions and machine. `history` is one that somebody else fills, `again` says how to go on, `kept` from
    what.
    """

    def __init__(self, folder: Path, meta: dict[str, Any], goes_on: bool = False, history: History | None = None,
                 again: str | None = None) -> None:
        self.folder, self.goes_on = Path(folder), goes_on
        self.again = again or f"go on with: stele train --resume {self.folder}"
        self.kept = ""
        self.history = history or History({})
        self.history.meta = self.history.meta | meta | _surroundings()

    def __enter__(self) -> "Run":
        if not self.goes_on and (self.folder / "history.json").exists():
            raise DataError(f"a run needs a folder of its own, got {self.folder}, which holds one. "
                            "Give another folder, go on with it (resume=True, or --resume), or delete it.")
        files.usable_folder(self.folder)
        self.history.begin()
        self.write()
        return self

    def step(self, epoch: float, loss: float) -> None:
        """One training step ended at `epoch` (1.5: half of the second epoch done)."""
        self.history.curve.add(epoch, loss)

    def epoch(self, row: Row) -> None:
        """One epoch is trained and tested; the files are written."""
        self.history.epochs.append(row)
        self.write()

    def finish(self, **facts: Any) -> None:
        """Facts known only at the end join `meta`; they are written on leaving."""
        self.history.meta.update(facts)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.history.end(kind, error, trace)
        if isinstance(error, KeyboardInterrupt):
            self.history.message += f"; {self.again}"
            error.add_note(f"the run so far is in {self.folder}{self.kept}, {self.again}")
        self.write()

    def write(self) -> None:
        """Writes both files."""
        files.write(self.folder / "history.json", self.history.to_json().encode())
        files.write(self.folder / "curves.html", page(self.history).encode())


def _surroundings() -> dict[str, Any]:
    """What a reader needs to repeat the run."""
    return {"command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]), "started": time.strftime("%Y-%m-%d %H:%M:%S"),
            "python": platform.python_version(), "stele": __version__, **{name: _version(name) for name in VERSIONS},
            "machine": f"{platform.system()} {platform.machine()}"}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
