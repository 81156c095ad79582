"""`stele train`: a run from files to a run folder, which goes on to the same bits wherever it was stopped."""
from __future__ import annotations

import resource
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import stele as st
from stele.commands.options import BATCH, SEED, TrainOptions
from stele.data import Loader, Splits
from stele.errors import DataError
from stele.ops.arguments import is_dict
from stele.train.history import Epoch
from stele.train.report import Report, table
from stele.train.run import Run, default_folder
from stele.train.stop import Stop, Stopped
from stele.train.workloads import OPTIMIZERS, WORKLOADS, Trainer, Workload

CHECKPOINT, MODEL = "checkpoint.safetensors", "model.safetensors"
EVERY = 60.0    # seconds between checkpoints inside an epoch
KEPT = ("workload", "data", "batch", "seed", "lr", "optimizer")     # options that stay what they were in a run


@dataclass
class Epochs:
    """How far a run is: the epochs there are, the one in progress, its sums so far and the seconds spent on it."""

    last: int
    number: int = 1
    total: float = 0.0
    correct: int = 0
    count: int = 0
    seconds: float = 0.0

    def state_dict(self) -> dict[str, Any]:
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over all but the number of epochs, which may be another now."""
        vars(self).update({f.name: state[f.name] for f in fields(self) if f.name != "last"})


class Training:
    """A run: what it is made of, its steps, and its checkpoints."""

    def __init__(self, options: TrainOptions, workload: Workload, data: Splits, last: int) -> None:
        self.options, self.data, self.epochs = options, data, Epochs(last)
        self.model = workload.model(data)
        self.optimizer = OPTIMIZERS[options.optimizer or workload.optimizer](self.model.parameters(), options.lr)
        self.trainer = Trainer(self.model, self.optimizer)
        self.loader = Loader((data.train.x, data.train.y), options.batch or BATCH, shuffle=True,
                             seed=options.seed or SEED)
        self.stop = Stop()

    def parts(self, run: Run) -> dict[str, Any]:
        """What a checkpoint holds the state of."""
        return {"model": self.model, "optimizer": self.optimizer, "loader": self.loader, "epochs": self.epochs,
                "random": st.default_generator, "history": run.history}

    def save(self, run: Run) -> None:
        """Writes the checkpoint and the model, each whole."""
        kept = {name: getattr(self.options, name) for name in KEPT}
        st.save(self.parts(run) | {"options": {n: str(x) if isinstance(x, Path) else x for n, x in kept.items()}},
                run.folder / CHECKPOINT)
        self.model.save(run.folder / MODEL)

    def run(self, run: Run, report: Report) -> None:
        """All epochs that are left. A signal is heard between two steps, where everything is whole, and saved first."""
        try:
            while self.epochs.number <= self.epochs.last:
                self.epoch(run, report)
                self.save(run)
                self.stop.check()
        except Stopped:
            self.save(run)
            raise

    def epoch(self, run: Run, report: Report) -> None:
        """Learns from every batch that is left of an epoch, then measures on the test set."""
        now, data = self.epochs, self.data
        report.begin(now.number, len(data.train), now.count, now.total, now.correct)
        start = saved = time.perf_counter() - now.seconds
        for x, y in self.loader if now.count < len(data.train) else ():
            loss, hits = self.trainer.step(x, y)
            n, value, k = len(y), float(loss), int(hits)
            now.total, now.correct, now.count = now.total + value * n, now.correct + k, now.count + n
            now.seconds = time.perf_counter() - start
            report.step(n, value, k)
            run.step(now.number - 1 + now.count / len(data.train), value)
            self.stop.check()
            if start + now.seconds - saved > EVERY:
                saved = start + now.seconds
                self.save(run)
        test_loss, test_accuracy = self.trainer.test(data.test.x, data.test.y, 200, self.stop.check)
        epoch = Epoch(now.number, now.total / now.count, now.correct / now.count, test_loss, test_accuracy,
                      time.perf_counter() - start)
        self.epochs = Epochs(now.last, now.number + 1)
        run.epoch(epoch)
        report.end(epoch)


def train(options: TrainOptions) -> None:
    """Trains a workload and leaves a run folder: history, curves, the model, and a checkpoint to go on from."""
    state = None if options.resume is None else checkpoint(options.resume)
    if state is not None:
        options = resumed(options, state)
    workload = WORKLOADS[options.workload or ""]
    if options.threads:
        st.set_threads(options.threads)
    st.manual_seed(options.seed or SEED)
    data = workload.find(options.data)
    last = options.epochs or (workload.epochs if options.data else workload.sample_epochs)
    training = Training(options, workload, data, last)
    meta = {"workload": options.workload, "data": data.name, "epochs": last, "batch": training.loader.batch_size,
            "seed": options.seed, "threads": st.get_threads(), "optimizer": type(training.optimizer).__name__,
            "lr": float(training.optimizer.lr)}
    run = Run(options.resume or options.out or default_folder(options.workload or ""), meta, state is not None)
    if state is not None:
        take_over(training, run, state)
    with run, Report(last) as report, training.stop:
        training.save(run)
        training.run(run, report)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        run.finish(parameters=sum(p.size for p in training.model.parameters()), peak_memory_mb=peak)
    print(f"run folder {run.folder}")
    print(table(run.history.epochs))


def checkpoint(folder: Path) -> dict[str, Any]:
    """The last state of a run."""
    if not (folder / CHECKPOINT).is_file():
        raise DataError(f"a run to go on with needs {CHECKPOINT}, got none in {folder}. Is the path right?")
    state = st.load(folder / CHECKPOINT)
    if not is_dict(state) or not {"options", "epochs"} <= state.keys():
        raise DataError(f"{folder / CHECKPOINT} is no checkpoint of stele train.")
    return state


def resumed(options: TrainOptions, state: dict[str, Any]) -> TrainOptions:
    """The options of the run, with those that were given for its rest."""
    was = {name: state["options"].get(name) for name in KEPT}
    for name in ("workload", "batch", "seed", "lr", "optimizer"):
        if getattr(options, name) not in (None, was[name]):
            raise DataError(f"the run in {options.resume} has {name} {was[name]}, got {getattr(options, name)}. "
                            "Leave it out to go on with the run, or begin another one.")
    if was["workload"] not in WORKLOADS:
        raise DataError(f"the run in {options.resume} is of {was['workload']!r}, which this version does not have.")
    data = options.data or (Path(was["data"]) if was["data"] else None)
    return replace(options, **(was | {"data": data}), epochs=options.epochs or state["epochs"]["last"])


def take_over(training: Training, run: Run, state: dict[str, Any]) -> None:
    """Puts the saved state into a run that was just made."""
    if (name := state["history"]["meta"].get("data")) != training.data.name:
        raise DataError(f"the run in {run.folder} learns from {name}, got {training.data.name}. Pass its --data.")
    for part, target in training.parts(run).items():
        target.load_state_dict(state[part])
