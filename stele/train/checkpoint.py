"""A training in a folder: what it was, what it learnt, and a checkpoint from which it goes on to the same bits."""
from __future__ import annotations

import resource
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stele as st
from stele import files
from stele.errors import DataError
from stele.interop.keywords import speaks
from stele.ops.arguments import is_dict, mapping, number
from stele.optim.optimizer import shortest
from stele.stop import Stop, Stopped
from stele.train.callbacks import Watching
from stele.train.run import Run

if TYPE_CHECKING:
    from stele.train.trainer import Trainer

CHECKPOINT, MODEL, BEST = "checkpoint.safetensors", "model.safetensors", "best.safetensors"


class Checkpoint(Watching):
    """Keeps a training in a `folder`: history, curves, the model, and a checkpoint from which it goes on.

    The folder gets `history.json`, `curves.html`, `model.safetensors` and `checkpoint.safetensors`, behind every epoch
    and after `every` seconds within one. Ctrl-C, SIGTERM and SIGHUP are heard between two steps, and save first. With
    `resume` a folder that has a checkpoint is gone on with, to the bits of a training that never stopped; without it
    there must be none. With `best` the model of the best epoch is in `best.safetensors`: by `monitor`, the loss unless
    given, with `mode` "min" or "max". `facts` are written into the history, a `note` of plain values into the
    checkpoint, and `again` says how to go on. Raises DataError for a folder that holds a run, for one whose checkpoint
    does not fit, and where another training keeps itself in it now.

    >>> x = np.ones((8, 1), np.float32)
    >>> def learn(epochs):
    ...     keep = train.Checkpoint("run", resume=True, best=True)
    ...     return train.fit(nn.Linear(1, 1), data.Loader((x, x), 8), loss="mse", epochs=epochs, callbacks=[keep])
    >>> len(learn(2).epochs), len(learn(3).epochs)
    (2, 3)
    >>> sorted(path.name for path in pathlib.Path("run").iterdir())[:2]
    ['best.safetensors', 'checkpoint.safetensors']
    """

    is_outermost = True

    @speaks
    def __init__(self, folder: str | Path, *, every: float = 60.0, best: bool = False, monitor: str | None = None,
                 mode: str | None = None, resume: bool = False, facts: Mapping[str, Any] | None = None,
                 note: Mapping[str, Any] | None = None, again: str | None = None) -> None:
        super().__init__(monitor, mode)
        self.folder, self.every, self.keeps_best = files.located(folder), number(every, "every of Checkpoint"), best
        self.facts, self.note = (dict(mapping(x or {}, f"{name} of Checkpoint"))
                                 for name, x in (("facts", facts), ("note", note)))
        self.resume, self.again = resume, again
        self.run: Run | None = None
        self.saved: float | None = None
        self.steps = 0      # that had been taken when it was saved
        self.stop, self.claim = Stop(), ExitStack()

    def on_train_begin(self, trainer: Trainer) -> None:
        goes_on, own, rate = self.run is not None, trainer.history.meta, shortest(trainer.optimizer.lr)
        with ExitStack() as begun:      # signals first: no file is written that one could leave half done
            begun.enter_context(self.stop)
            self.claim = begun.enter_context(ExitStack())
            self.claim.enter_context(alone(self.folder))
            if self.resume and not goes_on and (self.folder / CHECKPOINT).exists():
                state, goes_on = read(self.folder), True
                trainer.load_state_dict(state)
            facts = self.facts | own | {"epochs": trainer.epochs, "optimizer": type(trainer.optimizer).__name__,
                                        "lr": rate}
            self.run = Run(self.folder, facts, goes_on, trainer.history, self.again)
            begun.enter_context(self.run)
            begun.pop_all()

    def on_epoch_begin(self, trainer: Trainer) -> None:
        if self.saved is None:      # all others have begun
            self.save(trainer)

    def save(self, trainer: Trainer) -> None:
        """Writes the checkpoint and the model, each whole."""
        self.saved = time.monotonic()
        st.save(trainer.state_dict() | {"note": self.note}, self.folder / CHECKPOINT)
        trainer.model.save(self.folder / MODEL)
        self.steps = trainer.steps

    def on_batch_end(self, trainer: Trainer) -> None:
        if trainer.place.gathered:        # gradients that no checkpoint holds
            return
        self.stop.check()
        if time.monotonic() - (self.saved or 0.0) > self.every:
            self.save(trainer)

    def on_validation_batch(self, trainer: Trainer) -> None:
        self.stop.check()

    def on_epoch_end(self, trainer: Trainer, row: dict[str, Any]) -> None:
        assert self.run is not None
        if self.keeps_best and self.is_better(trainer, row):
            with self.as_measured(trainer):
                trainer.model.save(self.folder / BEST)
        self.run.write()
        self.save(trainer)
        self.stop.check()

    def on_train_end(self, trainer: Trainer, error: BaseException | None) -> None:
        assert self.run is not None
        with self.claim:
            if isinstance(error, Stopped):
                self.save(trainer)
            if isinstance(error, KeyboardInterrupt):
                self.run.kept = f", saved after step {self.steps}"
            if error is None:
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                trainer.model.save(self.folder / MODEL)     # which others may have put back to its best
                self.run.finish(parameters=sum(p.size for p in trainer.model.parameters()), peak_memory_mb=peak)
            self.stop.__exit__(None, None, None)
            self.run.__exit__(None if error is None else type(error), error, None)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.best = state["best"]


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """One training at a time in a folder: two would overwrite each other's checkpoints."""
    with ExitStack() as held:
        try:
            held.enter_context(files.claimed(files.usable_folder(folder)))
        except BlockingIOError:
            raise DataError(f"another training is going on in {folder}, and keeps itself there.",
                            hint="Wait until it has ended, or give another folder.") from None
        yield


def read(folder: Path) -> dict[str, Any]:
    """The last state of a training that was kept in a folder."""
    if not (folder / CHECKPOINT).is_file():
        raise DataError(f"a run to go on with needs {CHECKPOINT}, got none in {folder}. Is the path right?")
    state = st.load(folder / CHECKPOINT)
    if not is_dict(state) or not {"note", "place"} <= state.keys():
        raise DataError(f"{folder / CHECKPOINT} is no checkpoint of a training.")
    return state
