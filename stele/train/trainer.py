"""The training loop: a model, its batches, an optimiser, and steps that a class of one's own writes anew."""
from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache, partial
from inspect import Signature, signature
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

import stele as st
from stele import nn, optim
from stele.backend.base import Precision
from stele.eager.handle import TRACING
from stele.errors import ArgumentError, DataError, TraceError, kind
from stele.interop.keywords import answering, speaks
from stele.interop.names import TRAINERS
from stele.ir.door import public, unfit
from stele.ops.arguments import choice, is_many, is_mapping, number, positive, sequence, whole
from stele.tracing.state import Opaque
from stele.train.callbacks import Callback
from stele.train.history import History
from stele.train.parts import (
    Batch,
    at_epoch,
    batches_of,
    first_of,
    length_of,
    loss_of,
    made_whole,
    metrics_of,
    model_of,
    modes_of,
    open_axes,
    optimizer_of,
    outcome,
    own_parts,
    parts_of,
    plain,
    prefixed,
    restore,
    schedule_of,
    size_of,
)


@dataclass
class Place(Opaque):
    """Where a training stands: epochs that are finished, steps that were taken, how far the epoch in progress is."""

    epoch: int = 0
    steps: int = 0
    batches: int = 0            # of the epoch in progress, as all that follows
    samples: int = 0
    sums: dict[str, float] = field(default_factory=dict[str, float])
    seconds: float = 0.0
    is_trained: bool = False    # all its batches are done, and what is left is to validate

    def __post_init__(self) -> None:
        self.batch: Batch = None                # the one in progress
        self.found: dict[str, float] = {}       # what the last step found
        self.gathered = 0                       # batches whose gradients wait for others
        self.length: int | None = None          # batches of an epoch, where somebody knows

    def state_dict(self) -> dict[str, Any]:
        return asdict(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        vars(self).update({f.name: state[f.name] for f in fields(self)})
        self.gathered = 0

    def next_epoch(self) -> None:
        """Nothing is counted any more but epochs and steps; it stays the same object, which steps may know."""
        self.load_state_dict(asdict(Place(self.epoch + 1, self.steps)))

    def add(self, found: Mapping[str, float], samples: int) -> None:
        """Counts a batch of so many samples, with the means that were found for it."""
        self.found, self.gathered = dict(found), self.gathered + 1
        self.batches, self.samples = self.batches + 1, self.samples + samples
        for name, x in found.items():
            self.sums[name] = self.sums.get(name, 0.0) + x * samples


@dataclass
class Programs(Opaque):
    """The steps as they run, each made where it is first taken, which is no news to the others."""

    learn: Callable[..., Any] | None = None
    measure: Callable[..., Any] | None = None
    finish: Callable[..., Any] | None = None    # with the gradients of the last batches of an epoch


class Trainer:
    """A `model` with `data` to learn from: `fit` runs its epochs, by steps that a class of its own may write anew.

    `data` and `validation` give batches, epoch by epoch: a `data.Loader`, or a list of them. Of a batch, a tuple or a
    dict of arrays, the last entry is the target and those before it are what the model takes. `loss` is a function of
    predictions and target or the name of one ("cross_entropy", "mse"), `optimizer` one of `stele.optim`, a function of
    parameters or a name, with its rate `lr`, `metrics` are metrics or names, or a dict of them, counted inside of the
    compiled step. `schedule` is a schedule or a function of the optimizer, stepped with `schedule_every` "step" or
    "epoch". Gradients of `accumulate` batches make one step, and are scaled to a norm of `clip` at most. `precision` is
    that of `st.compile`; without `compiled` steps run op by op. `callbacks` begin in their order, and end in reverse.

    `training_step(batch)` returns the loss, or a dict with "loss", with "predictions" and "target" for metrics, and
    with more numbers, of which the epoch's mean is told. Raises OptionError for names that there are not, ArgumentError
    for what is none of all this, DataError for a state of another trainer.

    >>> x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
    >>> class Doubled(train.Trainer):
    ...     def training_step(self, batch):
    ...         x, y = batch
    ...         return ((self.model(x) - 2 * y) ** 2).mean()
    >>> trainer = Doubled(nn.Linear(1, 1), data.Loader((x, x), 16), optimizer="sgd", lr=0.5, epochs=9)
    >>> trainer.fit()["train_loss"][-1] < 1e-3, trainer.steps, round(trainer.model.weight.item(), 1)
    (True, 36, 2.0)
    """

    held_out = "val"        # what measures on `validation` are called

    if not TYPE_CHECKING:
        __getattr__ = answering("a trainer", TRAINERS)

    @speaks
    def __init__(self, model: nn.Module, data: Any = None, *, loss: Any = None, optimizer: Any = "adam",
                 lr: float | None = None, metrics: Any = (), epochs: int = 1, validation: Any = None,
                 schedule: Any = None, schedule_every: str = "step", accumulate: int = 1, clip: float | None = None,
                 precision: str = "fast", compiled: bool = True, callbacks: Callback | Sequence[Callback] = ()) -> None:
        self.model, self.loss = model_of(model), loss_of(loss)
        takes_a_batch(self, "training_step", "validation_step")
        self.data, self.validation = batches_of(data, "data"), batches_of(validation, "validation")
        if self.data is not None:
            made_whole(model, lambda: self.training_step(first_of(self.data)))
        self.optimizer = optimizer_of(optimizer, model, lr)
        self.schedule = schedule_of(schedule, self.optimizer)
        self.schedule_every = choice(schedule_every, "schedule_every", ("step", "epoch"))
        self.metrics = {"train": metrics_of(metrics), self.held_out: copy.deepcopy(metrics_of(metrics))}
        self.epochs, self.accumulate = positive(epochs, "epochs"), positive(accumulate, "accumulate")
        self.clip, self.compiled = None if clip is None else number(clip, "clip of a Trainer", 0, apart=0), compiled
        self.precision = choice(precision, "precision of a Trainer", get_args(Precision))
        self.callbacks = sorted(callbacks_of(callbacks), key=lambda callback: not callback.is_outermost)
        self.history, self.place, self.programs, self.should_stop = History({}), Place(), Programs(), False

    # What a class of its own writes anew.

    def training_step(self, batch: Batch) -> Any:
        """The loss of a batch, with predictions and target for the metrics."""
        *inputs, target = parts_of(batch)
        if self.loss is None:
            raise ArgumentError("a Trainer needs a loss, or a training_step of its own", hint='Write loss="mse".')
        check_inputs(self.model, inputs)
        predictions = self.model(*inputs)
        return {"loss": self.loss(predictions, target), "predictions": predictions, "target": target}

    def validation_step(self, batch: Batch) -> Any:
        """The same of a batch to validate on."""
        return self.training_step(batch)

    # The loop.

    @speaks
    def fit(self, epochs: int | None = None) -> History:
        """Learns until so many `epochs` are done in all, as many as it was made for unless said; its history."""
        self.epochs, self.should_stop = self.epochs if epochs is None else epochs_of(epochs), False
        if self.data is None:
            raise ArgumentError("fit needs data", hint="Write Trainer(model, data.Loader(...), ...).")
        self.place.length = length_of(self.data)
        with ExitStack() as begun:
            for callback in self.callbacks:
                callback.on_train_begin(self)
                begun.push(partial(ended, callback, self))
            self.history.begin()
            begun.push(self.history.end)
            if not self.model.training:
                self.model.train()
            while self.epoch < self.epochs and not self.should_stop:
                self.train_epoch()
        return self.history

    def train_epoch(self) -> None:
        """Learns from every batch that is left of an epoch, then validates."""
        for callback in self.callbacks:
            callback.on_epoch_begin(self)
        begun = time.perf_counter() - self.place.seconds
        for batch in self.left():
            self.train_on_batch(batch)
            self.place.seconds = time.perf_counter() - begun
            for callback in reversed(self.callbacks):
                callback.on_batch_end(self)
        if self.place.gathered:
            self.move(self.place.gathered)
        self.place.is_trained = True
        row = {"epoch": self.epoch + 1, **prefixed("train", self.results())}
        if self.validation is not None:
            row |= prefixed(self.held_out, self.evaluate())
        row["seconds"] = time.perf_counter() - begun
        self.end_epoch(row)

    def train_on_batch(self, batch: Batch) -> dict[str, float]:
        """Learns from one batch; what its step found, as numbers."""
        if self.programs.learn is None:
            self.programs.learn = self.program(self.learning, batch)
        self.place.batch, waiting = batch, self.place.gathered
        is_first, is_last = waiting == 0, waiting + 1 == self.accumulate
        found = {name: float(x) for name, x in self.programs.learn(batch, is_first, is_last).items()}
        self.place.add(found, size_of(batch))
        if is_last:
            self.moved()
        self.history.curve.add(self.epoch + self.share, found["loss"])
        return found

    def learning(self, batch: Batch, is_first: bool, is_last: bool) -> dict[str, Any]:
        """What is compiled: loss, gradients, metrics, and the optimiser's step behind the last batch of it."""
        if is_first:
            self.optimizer.zero_grad()
        found = outcome(self.training_step(batch))
        found["loss"].backward()
        if is_last:
            self.update(self.accumulate)
            if not any(callback.sees_gradients for callback in self.callbacks):
                self.optimizer.zero_grad()      # which then take no memory between steps
        return self.counted("train", found)

    def update(self, batches: int) -> None:
        """The step of the optimiser, along the mean of so many batches' gradients."""
        for p in self.optimizer.parameters if batches > 1 else ():
            p.grad = None if p.grad is None else p.grad / batches
        if self.clip is not None:
            optim.clip_grad_norm(self.optimizer.parameters, self.clip)
        self.optimizer.step()

    def measuring(self, batch: Batch) -> dict[str, Any]:
        """What is compiled of a batch to validate on."""
        with st.no_grad():
            return self.counted(self.held_out, outcome(self.validation_step(batch)))

    def counted(self, phase: str, found: dict[str, Any]) -> dict[str, Any]:
        """The numbers that a step found; its predictions are counted by the metrics of a phase."""
        if "predictions" in found:
            for metric in self.metrics[phase].values():
                metric(found["predictions"], found["target"])
        return {name: x for name, x in found.items() if name not in ("predictions", "target")}

    @public
    def evaluate(self, data: Iterable[Batch] | None = None) -> dict[str, Any]:
        """The mean loss and the metrics on data, or on the validation data; no layer is training meanwhile."""
        place, modes, given = Place(), modes_of(self.model), given_data(self.validation if data is None else data)
        for metric in self.metrics[self.held_out].values():
            metric.reset()
        with ExitStack() as begun:
            begun.callback(restore, modes)
            self.model.eval()
            for callback in self.callbacks:
                callback.on_validation_begin(self)
                begun.callback(callback.on_validation_end, self)
            for batch in at_epoch(batches_of(given, "data to validate on"), self.epoch):
                for callback in reversed(self.callbacks):
                    callback.on_validation_batch(self)
                if self.programs.measure is None:
                    self.programs.measure = self.program(self.measuring, batch)
                place.add({name: float(x) for name, x in self.programs.measure(batch).items()}, size_of(batch))
        return self.results(self.held_out, place)

    # What the loop is made of.

    @property
    def epoch(self) -> int:
        """How many epochs are finished."""
        return outside("epoch", self.place.epoch)

    @property
    def steps(self) -> int:
        """How many steps the optimiser has taken."""
        return outside("steps", self.place.steps)

    @property
    def batch(self) -> Batch:
        """The batch that is learnt from."""
        return self.place.batch

    @property
    def share(self) -> float:
        """How much of the epoch in progress is done, from 0 to 1."""
        length, done = self.place.length, self.place.batches
        return done / length if length else done / (done + 1)

    @property
    def monitor(self) -> str:
        """The measure that is watched unless another is named: the loss, of validation where there is one."""
        return "train_loss" if self.validation is None else f"{self.held_out}_loss"

    def program(self, f: Callable[..., Any], batch: Batch) -> Callable[..., Any]:
        """A step as one program for batches of every size."""
        return st.compile(f, dims=open_axes(batch), precision=self.precision) if self.compiled else f

    def left(self) -> Iterable[Batch]:
        """The batches that are left of the epoch."""
        if self.place.is_trained:
            return ()
        if not hasattr(self.data, "state_dict"):
            return islice(self.data, self.place.batches, None)
        if self.place.batches:      # an error may have ended the last loop over them
            self.data.load_state_dict(self.data.state_dict())
        return self.data

    def move(self, batches: int) -> None:
        """The step of the optimiser for the last batches of an epoch, which were too few for one."""
        if self.programs.finish is None:
            self.programs.finish = self.program(self.update, batches)
        self.programs.finish(batches)
        self.moved()

    def moved(self) -> None:
        """The optimiser has taken a step."""
        self.place.gathered, self.place.steps = 0, self.place.steps + 1
        if self.schedule is not None and self.schedule_every == "step" and not self.is_plateau:
            self.schedule.step()
        for callback in reversed(self.callbacks):
            callback.on_step_end(self)

    @property
    def is_plateau(self) -> bool:
        """Whether the schedule watches a measure, which there is behind an epoch."""
        return isinstance(self.schedule, optim.ReduceLROnPlateau)

    def end_epoch(self, row: dict[str, Any]) -> None:
        """An epoch is over: the next one begins with nothing counted."""
        if self.is_plateau:
            self.schedule.step(row[self.monitor])
        elif self.schedule is not None and self.schedule_every == "epoch":
            self.schedule.step()
        self.history.epochs.append(row)
        self.place.next_epoch()
        for metric in self.metrics["train"].values():
            metric.reset()
        for callback in reversed(self.callbacks):
            callback.on_epoch_end(self, row)

    def results(self, phase: str = "train", place: Place | None = None) -> dict[str, Any]:
        """The means and metrics of what was counted so far."""
        place, counted = place or self.place, self.metrics[choice(phase, "phase", self.metrics)]
        means = {name: x / place.samples for name, x in place.sums.items()}
        return means | {name: plain(metric.compute()) for name, metric in counted.items()}

    @public
    def log(self, values: Mapping[str, Any], *more: Any) -> None:
        """Tells all callbacks numbers by name, which loggers write with the number of the step."""
        if more or not is_mapping(values):
            raise ArgumentError("log takes numbers by name, a dict", hint="Write trainer.log({name: number}); a "
                                "training_step returns its own: {'loss': loss, name: number}.")
        for callback in self.callbacks:
            callback.on_log(self, values)

    # What goes on to the same bits.

    def parts(self) -> dict[str, Any]:
        """All that moves while a model learns, by name."""
        found = {"model": self.model, "optimizer": self.optimizer, "loader": self.data, "schedule": self.schedule,
                 "random": st.default_generator, "place": self.place, "history": self.history}
        names = [type(callback).__name__ for callback in self.callbacks]
        found |= {f"callback.{name}.{names[:k].count(name)}": callback
                  for k, (name, callback) in enumerate(zip(names, self.callbacks))}
        metric = {f"metric.{name}": metric for name, metric in self.metrics["train"].items()}
        found = {name: x for name, x in (found | metric).items() if hasattr(x, "state_dict")}
        return found | own_parts(vars(self), (*found.values(), *self.model.modules(), self.data, self.validation))

    def state_dict(self) -> dict[str, Any]:
        """The states of the model, the optimiser, the schedule, the data, random numbers, metrics and callbacks.

        And of what a class of one's own keeps in attributes: tensors, and all that has a state, such as a second
        optimiser.
        """
        return {name: dict(part.state_dict()) for name, part in self.parts().items()}

    @public
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where a trainer stood that gave this state. Callbacks that it did not have begin anew.

        Raises DataError for a state that does not fit.
        """
        parts = self.parts()
        missing = [n for n in parts if not is_mapping(state) or (n not in state and not n.startswith("callback."))]
        if missing:
            raise DataError(f"the state is none of this trainer: it lacks {missing[0]!r}")
        for name in (n for n in parts if n in state):
            parts[name].load_state_dict(state[name])


def epochs_of(given: Any) -> int:
    """How many epochs there are in all; ArgumentError for data, which others give to their fit."""
    if is_many(given) and not isinstance(given, str):
        raise ArgumentError(f"fit of a trainer takes how many epochs there are in all, got {kind(given)}",
                            hint="Data are the trainer's: write Trainer(model, data.Loader(...), epochs=3).fit().")
    return whole(given, "epochs", 0)


def given_data(data: Any) -> Any:
    """What is measured on; ArgumentError where there is nothing."""
    if data is None:
        raise ArgumentError("evaluate needs data", hint="Write trainer.evaluate(data.Loader((x, y), 64)), or give the "
                            "trainer validation=.")
    return data


def check_inputs(model: nn.Module, inputs: Sequence[Any]) -> None:
    """Raises ArgumentError where a batch has not as many parts as a model takes, and a target."""
    if not inputs:
        raise ArgumentError("a batch is what the model takes and the target, got one array",
                            hint="Give (x, y), or write a training_step of your own.")
    if said := unfit(form_of(type(model)) if "forward" not in vars(model) else signature(model.forward), inputs, {}):
        raise ArgumentError(f"the model is called with all parts of a batch but the last, the target: of "
                            f"{len(inputs) + 1} parts with {len(inputs)}, {said}",
                            hint="Give as many as its forward takes, and the target, or write a training_step.")


@lru_cache(maxsize=64)
def form_of(model: type[nn.Module]) -> Signature:
    """What the forward of a class takes, without the model itself."""
    form = signature(model.forward)
    return form.replace(parameters=[*form.parameters.values()][1:])


def takes_a_batch(trainer: Trainer, *steps: str) -> None:
    """Raises ArgumentError for steps of a trainer's own class that cannot be called with a batch alone."""
    for name in steps:
        if unfit(signature(getattr(trainer, name)), (None,), {}):
            raise ArgumentError(f"{name} of {type(trainer).__name__} is given a batch alone",
                                hint=f"Write def {name}(self, batch).")


def callbacks_of(given: Any) -> list[Callback]:
    """Callbacks, of one or a list of them."""
    found = [given] if isinstance(given, Callback) else sequence(given, "callbacks", "a list of train.Callback")
    for callback in found:
        if not isinstance(callback, Callback):
            raise ArgumentError(f"callbacks are objects of train.Callback, got {kind(callback)}",
                                hint="Write train.EarlyStopping(), with its brackets." if isinstance(callback, type)
                                else "Write a class of yours of train.Callback, with the moments that it needs.")
    return [*found]


def outside(name: str, x: int) -> int:
    """A number that changes while steps run; TraceError inside of a compiled one, which would hold it fast."""
    if TRACING.get() is not None:
        raise TraceError(f"a compiled step cannot follow the trainer's {name}, a Python number that changes",
                         hint="Keep what should change in a tensor, which a callback assigns.")
    return x


def ended(callback: Callback, trainer: Trainer, _: Any, error: BaseException | None, trace: Any) -> None:
    """Tells a callback that the training is over, and which error ended it."""
    callback.on_train_end(trainer, error)


@public
def fit(model: nn.Module, data: Any, *more: Any, **options: Any) -> History:
    """Trains a `model` on batches `data`, and returns the history: a row of measures for every epoch.

    It is `Trainer(model, data, **options).fit()`, whose `options` are loss, optimizer, lr, metrics, epochs, validation,
    callbacks and more. `history["val_loss"]` is the list of a measure. Raises OptionError for names that there are
    not, ArgumentError for what cannot be trained.

    >>> st.manual_seed(0)
    >>> x = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    >>> y = (x.sum(axis=1) > 0).astype(np.int64)
    >>> history = train.fit(nn.Linear(2, 2), data.Loader((x, y), 16), loss="cross_entropy", optimizer="sgd", lr=1.0,
    ...                     metrics="accuracy", epochs=3, validation=data.Loader((x, y), 32))
    >>> len(history["val_loss"]), history["val_accuracy"][-1] > 0.9
    (3, True)
    """
    if more:
        raise ArgumentError("fit takes a model and its batches by their place, got more",
                            hint="Write train.fit(model, data.Loader((x, y), batch_size=64), ...).")
    return Trainer(model, data, **options).fit()


