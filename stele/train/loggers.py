"""Where numbers of a training are written beside its folder: JSON lines, TensorBoard, MLflow, Weights & Biases."""
from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

import numpy as np

from stele import files
from stele.errors import DataError
from stele.io.pictures import bytes_of, encoded
from stele.ir.door import public
from stele.ops.arguments import positive
from stele.train.callbacks import Callback
from stele.train.history import finite

if TYPE_CHECKING:
    from stele.train.trainer import Trainer


class Logger(Callback):
    """The base of loggers: a class of its own writes `write(values, trainer)`, and `sample` if it can show one.

    It gets "loss" and "lr" of the step every `every` steps, the measures of every epoch, and whatever callbacks log,
    each by its name. Raises ShapeError for less than one step.

    >>> class Printed(train.Logger):
    ...     def write(self, values, trainer):
    ...         print(trainer.steps, list(values))
    >>> x = np.ones((8, 1), np.float32)
    >>> _ = train.fit(nn.Linear(1, 1), data.Loader((x, x), 4), loss="mse", callbacks=[Printed(every=2)])
    2 ['loss', 'lr']
    2 ['epoch', 'train_loss', 'seconds']
    """

    sees_gradients = False

    @public
    def __init__(self, every: int = 50) -> None:
        self.every = positive(every, f"every of {type(self).__name__}")

    def write(self, values: Mapping[str, Any], trainer: Trainer) -> None:
        """Keeps numbers of the step where the trainer stands."""
        raise NotImplementedError(f"{type(self).__name__} has no write(self, values, trainer)")

    def sample(self, name: str, made: Any, trainer: Trainer) -> None:
        """Keeps a string or an array; most have no place for one."""

    def on_step_end(self, trainer: Trainer) -> None:
        if trainer.steps % self.every == 0:
            self.write({"loss": trainer.place.found["loss"], "lr": float(trainer.optimizer.lr)}, trainer)

    def on_epoch_end(self, trainer: Trainer, row: dict[str, Any]) -> None:
        self.write(row, trainer)

    def on_log(self, trainer: Trainer, values: Mapping[str, Any]) -> None:
        for name in [name for name, x in values.items() if not isinstance(x, int | float)]:
            self.sample(name, values[name], trainer)
        if numbers := {name: x for name, x in values.items() if isinstance(x, int | float)}:
            self.write(numbers, trainer)


class JSONLines(Logger):
    """Writes a line of JSON for every `every` steps, every epoch, and all that callbacks log, to the file at `path`.

    A line has "step" and the numbers by name; those that are not finite are null. Lines come behind those that are
    there; a training that goes on takes the file up where its checkpoint stood. Raises ArgumentError for what is no
    path, and StorageError, naming the file, where it cannot be written.

    >>> x = np.ones((8, 1), np.float32)
    >>> _ = train.fit(nn.Linear(1, 1), data.Loader((x, x), 8), loss="mse", callbacks=[train.JSONLines("log.jsonl")])
    >>> [sorted(json.loads(line)) for line in open("log.jsonl")]
    [['epoch', 'seconds', 'step', 'train_loss']]
    """

    @public
    def __init__(self, path: str | Path, every: int = 50) -> None:
        super().__init__(every)
        self.path = files.located(path)
        self.bytes: int | None = None       # of the file, as far as it is known

    def on_train_begin(self, trainer: Trainer) -> None:
        self.bytes = files.append(self.path, b"", keep=self.bytes)

    def write(self, values: Mapping[str, Any], trainer: Trainer) -> None:
        line = json.dumps(finite({"step": trainer.steps, **values}), allow_nan=False).encode() + b"\n"
        self.bytes = files.append(self.path, line)

    def state_dict(self) -> dict[str, Any]:
        return {"bytes": self.bytes}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.bytes = state["bytes"]


class TensorBoard(Logger):
    """Writes events for TensorBoard to a `folder`, every `every` steps and every epoch; needs `stele-dl[tensorboard]`.

    Numbers are shown, and of samples texts and pictures: arrays (C, H, W), or (N, C, H, W) for N of them, of 1, 3 or 4
    channels, uint8 or float from 0 to 1; others stay in their own files alone. So do MLflow and WandB. What an earlier
    session wrote behind the checkpoint that a training goes on from is shown no more. Where TensorBoard, or Pillow for
    a picture, is not installed the error says what to install. Raises ShapeError for less than one step.

    >>> issubclass(train.TensorBoard, train.Logger)
    True
    """

    @public
    def __init__(self, folder: str | Path, every: int = 50) -> None:
        super().__init__(every)
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2  # pyright: ignore
            from tensorboard.plugins.text import metadata  # pyright: ignore
            from tensorboard.summary.writer.event_file_writer import EventFileWriter  # pyright: ignore
        except ImportError:
            raise missing("TensorBoard", "tensorboard") from None
        self.writer: Any = EventFileWriter(str(files.located(folder)))
        self.event: Any = event_pb2.Event   # pyright: ignore
        self.summary: Any = summary_pb2.Summary   # pyright: ignore
        self.session: Any = event_pb2.SessionLog    # pyright: ignore
        self.tensor: Any = tensor_pb2.TensorProto   # pyright: ignore
        self.text: Any = metadata.create_summary_metadata("", "")   # pyright: ignore

    def on_train_begin(self, trainer: Trainer) -> None:
        if trainer.steps:       # what an earlier session wrote behind its checkpoint is shown no more
            began = self.session(status=self.session.START)
            self.writer.add_event(self.event(wall_time=time(), step=trainer.steps + 1, session_log=began))

    def write(self, values: Mapping[str, Any], trainer: Trainer) -> None:
        self.add([{"tag": name, "simple_value": x} for name, x in values.items()
                  if name not in ("epoch", "seconds") and isinstance(x, int | float)], trainer)

    def sample(self, name: str, made: Any, trainer: Trainer) -> None:
        if isinstance(made, str):
            text = self.tensor(dtype="DT_STRING", string_val=[made.encode()], tensor_shape={})
            self.add([{"tag": name, "tensor": text, "metadata": self.text}], trainer)
        else:
            self.add([{"tag": f"{name}/{k}", "image": self.summary.Image(
                height=x.shape[1], width=x.shape[2], colorspace=len(x),
                encoded_image_string=encoded(x, "PNG", "a sample for TensorBoard"))}
                for k, x in enumerate(pictures(made))], trainer)

    def add(self, values: list[dict[str, Any]], trainer: Trainer) -> None:
        """Writes what has a tag each, for the step where the trainer stands."""
        summary = self.summary(value=[self.summary.Value(**x) for x in values])
        self.writer.add_event(self.event(wall_time=time(), step=trainer.steps, summary=summary))

    def on_train_end(self, trainer: Trainer, error: BaseException | None) -> None:
        self.writer.flush()


class MLflow(Logger):
    """Logs to MLflow, as a run of an `experiment`, every `every` steps and every epoch; needs `stele-dl[mlflow]`.

    `uri` is where it keeps runs, `name` what the run is called. The facts of the history are its parameters; a training
    that goes on goes on with its run, and what an earlier session logged behind the checkpoint, which MLflow lets
    nobody delete, is not logged again. A run that is active already is logged to, and is active still at the end. Where
    MLflow is not installed the error says what to install. Raises ShapeError for less than one step.

    >>> issubclass(train.MLflow, train.Logger)
    True
    """

    @public
    def __init__(self, experiment: str | None = None, *, uri: str | None = None, name: str | None = None,
                 every: int = 50) -> None:
        super().__init__(every)
        try:
            import mlflow  # pyright: ignore
        except ImportError:
            raise missing("MLflow", "mlflow") from None
        self.mlflow: Any = mlflow
        self.name, self.id, self.ends = name, None, True
        self.goes_on, self.known = False, dict[str, int]()      # the last step of each measure that its run holds
        if uri is not None:
            mlflow.set_tracking_uri(uri)    # pyright: ignore
        if experiment is not None:
            mlflow.set_experiment(experiment)   # pyright: ignore

    def on_train_begin(self, trainer: Trainer) -> None:
        run = self.mlflow.active_run()
        self.ends = run is None
        if run is None:
            run = self.mlflow.start_run(run_id=self.id) if self.id else self.mlflow.start_run(run_name=self.name)
        self.goes_on, self.id, self.known = run.info.run_id == self.id, run.info.run_id, {}
        known = self.mlflow.get_run(self.id).data.params        # which MLflow lets nobody change
        self.mlflow.log_params({name: x for name, x in trainer.history.meta.items()
                                if x is not None and name not in known})

    def write(self, values: Mapping[str, Any], trainer: Trainer) -> None:
        self.mlflow.log_metrics({name: x for name, x in values.items()
                                 if isinstance(x, int | float) and self.last(name) < trainer.steps}, step=trainer.steps)

    def last(self, name: str) -> int:
        """The last step of which earlier sessions have logged a measure."""
        if self.goes_on and name not in self.known:
            had = self.mlflow.MlflowClient().get_metric_history(self.id, name)
            self.known[name] = max((x.step for x in had), default=-1)
        return self.known.get(name, -1)

    def sample(self, name: str, made: Any, trainer: Trainer) -> None:
        place = f"{name}/step-{trainer.steps:06}"
        if isinstance(made, str):
            self.mlflow.log_text(made, f"{place}.txt")
        for k, x in enumerate(pictures(made)):
            self.mlflow.log_image(shown(x), f"{place}-{k}.png")

    def on_train_end(self, trainer: Trainer, error: BaseException | None) -> None:
        if self.ends:
            self.mlflow.end_run("FINISHED" if error is None else "KILLED" if isinstance(error, KeyboardInterrupt)
                                else "FAILED")

    def state_dict(self) -> dict[str, Any]:
        return {"id": self.id}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.id = state["id"]


class WandB(Logger):
    """Logs to Weights & Biases, as a run of a `project`, every `every` steps and every epoch; needs `stele-dl[wandb]`.

    `name` is what the run is called, and `options` are those of `wandb.init`, such as mode="offline". The facts of the
    history are its configuration; a training that goes on goes on with its run, and what an earlier session logged
    behind the checkpoint is not logged again: `ID.json` in wandb's folder says what that was, of a session that ended.
    Where wandb is not installed the error says what to install. Raises ShapeError for less than one step.

    >>> issubclass(train.WandB, train.Logger)
    True
    """

    @public
    def __init__(self, project: str | None = None, *, name: str | None = None, every: int = 50, **options: Any) -> None:
        super().__init__(every)
        try:
            import wandb  # pyright: ignore
        except ImportError:
            raise missing("wandb", "wandb") from None
        self.begin: Any = wandb.init    # pyright: ignore
        self.html: Any = wandb.Html     # pyright: ignore
        self.image: Any = wandb.Image   # pyright: ignore
        self.options, self.id = {"project": project, "name": name, **options}, None
        self.run: Any = None
        self.logged, self.known = dict[str, int](), dict[str, int]()    # the last step of each name, here and before
        self.ended = False      # whether the session before did, so that W&B has all that it logged
        self.is_over = False    # whether this one did

    def on_train_begin(self, trainer: Trainer) -> None:
        again = {"id": self.id, "resume": "allow"} if self.id else {}
        self.run = self.begin(config=dict(trainer.history.meta), **self.options, **again)
        self.id, self.logged = self.run.id, {}
        was: dict[str, Any] = {"ended": False, "steps": {}}
        if again and self.file.exists():
            was = json.loads(self.file.read_bytes())
        self.ended, self.known = was["ended"], was["steps"]
        self.is_over = False
        self.note()

    @property
    def file(self) -> Path:
        """Where it stands what sessions have logged."""
        return Path(self.run.dir).parents[1] / f"{self.id}.json"

    def note(self) -> None:
        """Writes down the last step of each name that W&B has: of a session that is killed nobody knows."""
        if self.file.parent.is_dir():       # not where W&B is disabled
            files.write(self.file, json.dumps({"ended": self.is_over, "steps": self.known | self.logged}).encode())

    def write(self, values: Mapping[str, Any], trainer: Trainer) -> None:
        self.log({name: x for name, x in values.items() if isinstance(x, int | float)}, trainer)

    def log(self, values: Mapping[str, Any], trainer: Trainer) -> None:
        """Logs values of the step where the trainer stands, or of the first one that W&B takes now."""
        new = {name: x for name, x in values.items() if self.known.get(name, -1) < trainer.steps}
        if new and (self.ended or trainer.steps >= self.run.starting_step):
            self.run.log(new, step=max(trainer.steps, self.run.starting_step))
            self.logged |= dict.fromkeys(new, trainer.steps)

    def sample(self, name: str, made: Any, trainer: Trainer) -> None:
        seen = self.html(f"<pre>{escape(made)}</pre>") if isinstance(made, str) else [
            self.image(shown(x)) for x in pictures(made)]
        if seen:
            self.log({name: seen}, trainer)

    def on_train_end(self, trainer: Trainer, error: BaseException | None) -> None:
        self.run.finish(exit_code=0 if error is None else 1)
        self.is_over = True
        self.note()

    def state_dict(self) -> dict[str, Any]:
        return {"id": self.id}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.id = state["id"]


def pictures(made: Any) -> list[Any]:
    """The pictures (C, H, W) of bytes in a sample: of an array of one or of several, with 1, 3 or 4 channels."""
    if isinstance(made, str) or made.ndim not in (3, 4) or made.shape[-3] not in (1, 3, 4) or not made.size:
        return []
    is_shown = made.dtype == np.uint8 or (made.dtype.kind == "f" and np.isfinite(made).all())
    return [bytes_of(x) for x in (made if made.ndim == 4 else made[None])] if is_shown else []


def shown(picture: Any) -> Any:
    """A picture as other libraries take it, (H, W, C), or (H, W) for one channel."""
    return picture[0] if len(picture) == 1 else picture.transpose(1, 2, 0)


def missing(name: str, package: str) -> DataError:
    """The error for a library that is not there."""
    return DataError(f"{name} is not installed", hint=f"pip install 'stele-dl[{package}]'")
