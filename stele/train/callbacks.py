"""What happens beside a training loop: callbacks that stop, average, watch and try."""
from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from inspect import signature
from itertools import chain, islice, repeat
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import stele as st
from stele import config, files, optim
from stele.arrays.tensor import Tensor
from stele.errors import ArgumentError, NotANumber, nearest
from stele.interop.keywords import speaks
from stele.interop.names import MOMENTS
from stele.ir.door import unfit
from stele.ops.arguments import choice, function, number, positive, whole
from stele.tracing.state import Opaque
from stele.train.parts import modes_of, restore

Trainer = Any       # a stele.train.Trainer, which is made of callbacks

# Words of a measure's name that say whether it should fall or rise.
FALLING = {"loss", "error", "perplexity", "mae", "mse", "rmse", "mape", "smape", "msle", "rmsle", "nll", "ce", "bce",
           "kl", "entropy", "divergence", "distance", "deviance", "wer", "cer", "ece", "brier", "fid", "ppl", "bpc",
           "bpb"}
RISING = {"accuracy", "acc", "auc", "auroc", "ap", "map", "precision", "recall", "f1", "fbeta", "iou", "miou", "dice",
          "specificity", "sensitivity", "kappa", "mcc", "corr", "r2", "explained", "signal", "psnr", "ssim", "bleu",
          "rouge", "score", "reward", "return", "coef", "top1", "top5"}


class Callback(Opaque):
    """The base of callbacks: a class of its own writes the methods whose moments it needs; all get the trainer.

    The trainer has `model`, `optimizer`, `epoch` and `steps` (how many are done), `batch`, `history`, `results()` so
    far, `log({name: number})` for the loggers, and `should_stop`, which ends the training behind the epoch if it is
    set. What `state_dict` returns is in checkpoints. A class with `sees_gradients = False` never looks at `p.grad`: if
    all are such, steps leave no gradients behind, which takes less memory. Callbacks raise what they like; nothing is
    caught.

    >>> class Lines(train.Callback):
    ...     def on_epoch_end(self, trainer, row):
    ...         print(row["epoch"], trainer.steps)
    >>> x = np.ones((8, 1), np.float32)
    >>> _ = train.fit(nn.Linear(1, 1), data.Loader((x, x), 4), loss="mse", epochs=2, callbacks=[Lines()])
    1 2
    2 4
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Raises ArgumentError for a method on_ of a moment that there is not, or of other arguments than it gives."""
        super().__init_subclass__(**options)
        for name in vars(cls):
            if not name.startswith("on_"):
                continue
            if not hasattr(Callback, name):
                near = nearest(name, [own for own in vars(Callback) if own.startswith("on_")], 0.6)
                raise ArgumentError(f"{cls.__name__} has {name}, a moment that callbacks do not have",
                                    hint=f"Write {MOMENTS.get(name, near or 'on_batch_end(self, trainer)')}.")
            takes = [*signature(getattr(Callback, name)).parameters]
            if isinstance(x := vars(cls)[name], FunctionType) and unfit(signature(x), takes, {}):
                raise ArgumentError(f"{name} of {cls.__name__} is called with {', '.join(takes[1:])}",
                                    hint=f"Write def {name}({', '.join(takes)}).")

    is_outermost = False        # begins before all others, and ends behind them
    sees_gradients = True       # `p.grad` is kept behind a step

    def inside(self) -> tuple[Any, ...]:
        """Nothing of a callback is state that a compiled step could read."""
        return ()

    def on_train_begin(self, trainer: Trainer) -> None:
        """The first epoch is about to begin, or the one that a checkpoint stands in."""

    def on_epoch_begin(self, trainer: Trainer) -> None:
        """An epoch begins, or is gone on with."""

    def on_step_end(self, trainer: Trainer) -> None:
        """The optimizer has taken a step, for one batch or the gradients of several."""

    def on_batch_end(self, trainer: Trainer) -> None:
        """`trainer.batch` was learnt from, and all that it changes is changed."""

    def on_validation_begin(self, trainer: Trainer) -> None:
        """No layer is training any more, and nothing was measured yet."""

    def on_validation_batch(self, trainer: Trainer) -> None:
        """A batch is about to be measured."""

    def on_validation_end(self, trainer: Trainer) -> None:
        """All is measured, or an error ended it."""

    def on_epoch_end(self, trainer: Trainer, row: dict[str, Any]) -> None:
        """An epoch is over, and these are its measures."""

    def on_train_end(self, trainer: Trainer, error: BaseException | None) -> None:
        """The training is over, by this error if there was one."""

    def on_log(self, trainer: Trainer, values: Mapping[str, Any]) -> None:
        """Somebody told the trainer numbers, or samples, by name."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of this callback."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the callback stood that gave this state."""


class Watching(Callback):
    """The base of callbacks that compare a measure of each epoch with the best one so far."""

    sees_gradients = False

    def __init__(self, monitor: str | None, mode: str | None, least: float = 0.0) -> None:
        self.monitor, self.least = monitor, number(least, "least", 0)
        self.mode = None if mode is None else choice(mode, "mode", ("min", "max"))
        if monitor is not None and mode is None and not words(monitor) & (FALLING | RISING):
            raise ArgumentError(f"nobody knows whether {monitor!r} should fall or rise",
                                hint="Write mode='min' or mode='max'.")
        self.best: float | None = None

    def is_better(self, trainer: Trainer, row: Mapping[str, Any]) -> bool:
        """Whether the measure of an epoch is the best so far, which it is then."""
        name = self.monitor or trainer.monitor
        x = row[choice(name, "monitor", [key for key in row if key not in ("epoch", "seconds")])]
        gain = 0.0 if self.best is None else x - self.best
        is_min = falls(name) if self.mode is None else self.mode == "min"
        if math.isnan(x) or not (self.best is None or (-gain if is_min else gain) > self.least):
            return False
        self.best = x
        return True

    def as_measured(self, trainer: Trainer) -> ExitStack:
        """The model as it was validated, inside of a `with`: means of its parameters, where a callback keeps them."""
        held, is_validated = ExitStack(), (self.monitor or trainer.monitor).startswith(f"{trainer.held_out}_")
        for callback in trainer.callbacks if is_validated else ():
            if isinstance(callback, EMA):
                held.enter_context(callback.means.applied())
        return held


def falls(name: str) -> bool:
    """Whether a measure of this name should fall; one that nobody knows is taken to rise.

    >>> falls("val_loss"), falls("val_mae"), falls("val_accuracy")
    (True, True, False)
    """
    return bool(words(name) & FALLING)


def words(name: str) -> set[str]:
    """The words of a measure's name.

    >>> sorted(words("val_mean_absolute_error"))
    ['absolute', 'error', 'mean', 'val']
    """
    return set(name.lower().replace("-", "_").replace("/", "_").split("_"))


class EarlyStopping(Watching):
    """Stops when a measure has not become better for `patience` epochs, as Keras and Lightning do.

    `monitor` is its name, such as "val_accuracy"; the loss of the validation, or of the training where there is none,
    unless given. `mode` says whether it should fall ("min") or rise ("max"), where its name does not: losses, errors
    and perplexity fall, accuracies and scores rise. Better is by more than `least`. With `restore` the model is at the
    end what it was at its best. Raises OptionError for another mode, and where no epoch has the measure, ArgumentError
    for a measure of another name without a mode.

    >>> x = np.ones((8, 1), np.float32)
    >>> stop = train.EarlyStopping(patience=1, least=1e9)
    >>> history = train.fit(nn.Linear(1, 1), data.Loader((x, x), 8), loss="mse", epochs=50, callbacks=[stop])
    >>> len(history.epochs)
    2
    """

    @speaks
    def __init__(self, patience: int = 3, monitor: str | None = None, *, mode: str | None = None, least: float = 0.0,
                 restore: bool = False) -> None:
        super().__init__(monitor, mode, least)
        self.patience, self.restore, self.bad = whole(patience, "patience of EarlyStopping", 0), restore, 0
        self.kept: dict[str, Tensor] = {}

    @property
    def is_over(self) -> bool:
        """Whether it has waited long enough; without patience for the first epoch that is no better."""
        return self.bad >= max(self.patience, 1)

    def on_train_begin(self, trainer: Trainer) -> None:
        trainer.should_stop |= self.is_over

    def on_epoch_end(self, trainer: Trainer, row: dict[str, Any]) -> None:
        self.bad = 0 if (is_better := self.is_better(trainer, row)) else self.bad + 1
        if is_better and self.restore:
            with self.as_measured(trainer):
                self.kept = {name: x.detach().clone() for name, x in trainer.model.state_dict().items()}
        trainer.should_stop |= self.is_over

    def on_train_end(self, trainer: Trainer, error: BaseException | None) -> None:
        if error is None and self.kept:
            trainer.model.load_state_dict(self.kept)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "bad": self.bad, "kept": self.kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.best, self.bad, self.kept = state["best"], state["bad"], dict(state["kept"])


class EMA(Callback):
    """Keeps the exponential moving average of the parameters, with which is validated.

    `decay` and `warm` are those of `optim.EMA`, which stands in `means` from the beginning of the training on; `with
    ema.means.applied():` runs the model with the averages. The best model by a measure of the validation, of
    `Checkpoint` or `EarlyStopping`, is the one that was measured, with the averages. Raises ShapeError for a decay
    outside of 0 to 1.

    >>> x = np.ones((8, 1), np.float32)
    >>> ema = train.EMA(decay=0.5)
    >>> history = train.fit(nn.Linear(1, 1), data.Loader((x, x), 4), loss="mse", callbacks=[ema])
    >>> int(ema.means.count), len(ema.means.means)
    (2, 2)
    """

    sees_gradients = False

    @speaks
    def __init__(self, decay: float = 0.999, warm: bool = False) -> None:
        self.decay, self.warm = number(decay, "decay of EMA", 0, 1), warm
        self.means: Any = None
        self.update: Any = None
        self.loaded: dict[str, Any] = {}
        self.applied: AbstractContextManager[None] | None = None

    def on_train_begin(self, trainer: Trainer) -> None:
        if self.means is None:
            self.means = optim.EMA(trainer.model.parameters(), self.decay, self.warm)
            self.update = st.compile(self.means.update) if trainer.compiled else self.means.update
        if self.loaded:
            self.means.load_state_dict(self.loaded)
            self.loaded = {}

    def on_step_end(self, trainer: Trainer) -> None:
        self.update()

    def on_validation_begin(self, trainer: Trainer) -> None:
        if self.means is not None:
            applied = self.applied = self.means.applied()
            applied.__enter__()

    def on_validation_end(self, trainer: Trainer) -> None:
        if self.applied is not None:
            self.applied.__exit__(None, None, None)
            self.applied = None

    def state_dict(self) -> dict[str, Any]:
        return self.loaded if self.means is None else self.means.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.loaded = dict(state)
        if self.means is not None:
            self.means.load_state_dict(state)


class GradientStatistics(Callback):
    """Tells the loggers norms of the gradients and of the parameters, every so many steps.

    Every `every` steps it logs "gradient_norm", the norm of all gradients together, and for each parameter
    "gradient/NAME", the norm of its gradient, and "change/NAME", that norm times the rate over the parameter's own; the
    last ones stand in `found`. Raises ShapeError for less than one step.

    >>> x = np.ones((8, 1), np.float32)
    >>> statistics = train.GradientStatistics(every=2)
    >>> _ = train.fit(nn.Linear(1, 1), data.Loader((x, x), 4), loss="mse", callbacks=[statistics])
    >>> list(statistics.found)
    ['gradient_norm', 'gradient/weight', 'gradient/bias', 'change/weight', 'change/bias']
    """

    @speaks
    def __init__(self, every: int = 100) -> None:
        self.every = positive(every, "every of GradientStatistics")
        self.found: dict[str, float] = {}
        self.norms: Callable[[list[Any]], Any] = st.compile(norms)

    def on_step_end(self, trainer: Trainer) -> None:
        if trainer.steps % self.every:
            return
        named = {name: p for name, p in trainer.model.named_parameters() if p.grad is not None}
        of_gradients = self.norms([p.grad for p in named.values()]).tolist()
        of_parameters = self.norms([p.detach() for p in named.values()]).tolist()
        rate = float(trainer.optimizer.lr)
        self.found = {"gradient_norm": math.hypot(*of_gradients)}
        self.found |= {f"gradient/{name}": g for name, g in zip(named, of_gradients)}
        self.found |= {f"change/{name}": rate * g / p if p else math.inf
                       for name, g, p in zip(named, of_gradients, of_parameters)}
        trainer.log(self.found)


def norms(xs: list[Tensor]) -> Tensor:
    """The Euclidean norm of each tensor."""
    return st.stack([st.sqrt(st.square(x.float()).sum()) for x in xs])


class NanGuard(Callback):
    """Ends the training at the first NaN, says which op of which layer and line made it, and keeps the batch.

    Every step is looked at before it changes anything, as under STELE_CHECK=nan, which costs memory and some time. The
    error, NotANumber, names op, layer, line and call, and the file at `path`, in which `st.load` finds the "batch" and
    the "model" as they were: what is needed to see it again. Raises NotANumber.

    >>> guard = train.NanGuard("nan.safetensors")
    >>> x = np.float32([[1.0], [np.nan]])
    >>> try:
    ...     train.fit(nn.Linear(1, 1), [(x, x)], loss="mse", callbacks=[guard])
    ... except FloatingPointError as error:
    ...     print(str(error).rpartition(". ")[2])
    The batch and the model are in nan.safetensors.
    >>> st.load("nan.safetensors")["batch"][0].tolist()
    [[1.0], [nan]]
    """

    @speaks
    def __init__(self, path: str | Path = "nan.safetensors") -> None:
        self.path = files.located(path)
        self.before: str | None = None

    def on_train_begin(self, trainer: Trainer) -> None:
        self.before, flag = os.environ.get(config.CHECK.name), config.CHECK.name
        os.environ[flag] = ",".join({"nan", *config.CHECK()})
        trainer.programs = type(trainer.programs)()      # or they would stay as they were made

    def on_train_end(self, trainer: Trainer, error: BaseException | None) -> None:
        trainer.programs = type(trainer.programs)()
        if self.before is None:
            del os.environ[config.CHECK.name]
        else:
            os.environ[config.CHECK.name] = self.before
        if isinstance(error, NotANumber):
            st.save({"batch": trainer.batch, "model": trainer.model}, self.path)
            error.hint = " ".join(filter(None, (error.hint, f"The batch and the model are in {self.path}.")))


class LearningRateFinder(Callback):
    """Sets the rate to one that is found by trying: steps at rates from `low` to `high`, then all is as it was before.

    Up to `steps` steps are taken, at rates that grow by a factor, until the smoothed loss is four times the smallest
    one (Smith, 2017). `rates` and `losses` are what was seen, `found` is the rate at which the loss fell steepest,
    which the optimizer and its schedule then begin with. A training that goes on is left alone. Raises ArgumentError
    for rates that do not rise, and for a schedule with rates of its own.

    >>> x = np.linspace(-1, 1, 32, dtype=np.float32)[:, None]
    >>> finder = train.LearningRateFinder(1e-4, 10.0, steps=30)
    >>> history = train.fit(nn.Linear(1, 1), data.Loader((x, 3 * x), 8), loss="mse", optimizer="sgd",
    ...                     callbacks=[finder], epochs=3)
    >>> 1e-4 < finder.found < 10, history["train_loss"][-1] < history["train_loss"][0]
    (True, True)
    """

    @speaks
    def __init__(self, low: float = 1e-6, high: float = 1.0, steps: int = 100) -> None:
        if not 0 < number(low, "low") < number(high, "high"):
            raise ArgumentError(f"rates to try rise from low to high, above 0, got {low} and {high}")
        self.low, self.high, self.tries = low, high, positive(steps, "steps of LearningRateFinder")
        self.rates, self.losses = list[float](), list[float]()
        self.found: float | None = None

    def on_train_begin(self, trainer: Trainer) -> None:
        if trainer.steps or self.found is not None:
            return
        if isinstance(trainer.schedule, optim.OneCycleLR | optim.CyclicLR):
            name = type(trainer.schedule).__name__
            raise ArgumentError(f"LearningRateFinder sets the rate of an optimizer, and {name} has rates of its own",
                                hint="Find the rate without the schedule, and give it to that as max_lr.")
        before, modes = copied(trainer.state_dict()), modes_of(trainer.model)
        trainer.model.train()
        first = [group.first or float(group.lr) for group in trainer.optimizer.groups]   # a warm-up begins at zero
        schedule, others = trainer.schedule, trainer.callbacks
        trainer.schedule, trainer.callbacks = None, []
        try:
            self.search(trainer)
        finally:
            trainer.schedule, trainer.callbacks = schedule, others
            trainer.load_state_dict(before)
            restore(modes)
        self.found = self.steepest()
        for group, rate in zip(trainer.optimizer.groups, first):
            group.lr = group.first = self.found * (rate / first[0] if first[0] else 1.0)
        if schedule is not None:
            schedule.bases = [group.first for group in trainer.optimizer.groups]
            schedule.set() if not trainer.is_plateau else None

    def state_dict(self) -> dict[str, Any]:
        return {"found": self.found}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.found = state["found"]

    def search(self, trainer: Trainer) -> None:
        """Learns at one rate after the other, until the loss is far away."""
        mean, best, growth = 0.0, math.inf, self.high / self.low
        for k, batch in enumerate(islice(chain.from_iterable(repeat(trainer.data)), self.tries)):
            rate = self.low * growth ** (k / max(self.tries - 1, 1))
            trainer.optimizer.lr = rate
            mean = 0.9 * mean + 0.1 * trainer.train_on_batch(batch)["loss"]
            smooth = mean / (1 - 0.9 ** (k + 1))
            if not smooth < 4 * best:
                return
            best = min(best, smooth)
            self.rates.append(rate)
            self.losses.append(smooth)

    def steepest(self) -> float:
        """The rate at which the loss fell most for a growth of it."""
        early = len(self.rates) // 5        # which are means of too few
        x, losses = [math.log(rate) for rate in self.rates[early:]], self.losses[early:]
        w = max(1, len(x) // 10)
        slopes = [(b - a) / (q - p) for a, b, p, q in zip(losses, losses[2 * w:], x, x[2 * w:])]
        return self.rates[early + w + slopes.index(min(slopes))] if slopes else self.low


def copied(x: Any) -> Any:
    """A state whose tensors are copies."""
    match x:
        case Tensor():  return x.detach().clone()
        case dict():    return {name: copied(part) for name, part in x.items()}     # pyright: ignore
        case list():    return [copied(part) for part in x]                         # pyright: ignore
        case tuple():   return tuple(copied(part) for part in x)                    # pyright: ignore
        case _:         return x


class Samples(Callback):
    """Shows what a model makes: `make(model)` every so many epochs, kept as files and told to the loggers.

    `make` returns a string or an array; it runs without gradients and while no layer is training. Behind every `every`
    epochs the folder gets `epoch-003.txt` or `.npy`, and the loggers "sample". Raises ArgumentError for a `make` that
    cannot be called.

    >>> x = np.ones((8, 1), np.float32)
    >>> samples = train.Samples(lambda model: f"weight {model.weight.shape}", "samples")
    >>> _ = train.fit(nn.Linear(1, 1), data.Loader((x, x), 8), loss="mse", callbacks=[samples])
    >>> open("samples/epoch-001.txt").read()
    'weight (1, 1)'
    """

    sees_gradients = False

    @speaks
    def __init__(self, make: Callable[[Any], Any], folder: str | Path = "samples", every: int = 1) -> None:
        self.make, self.folder = function(make, "make of Samples"), files.located(folder)
        self.every = positive(every, "every of Samples")

    def on_epoch_end(self, trainer: Trainer, row: dict[str, Any]) -> None:
        if row["epoch"] % self.every:
            return
        modes = modes_of(trainer.model)
        trainer.model.eval()
        try:
            with st.no_grad():
                made = self.make(trainer.model)
        finally:
            restore(modes)
        stem = files.usable_folder(self.folder) / f"epoch-{row['epoch']:03}"
        if isinstance(made, str):
            files.write(stem.with_suffix(".txt"), made.encode())
        else:
            made = np.asarray(made)
            with files.replacing(stem.with_suffix(".npy")) as out:
                np.save(out, made)
        trainer.log({"sample": made})
