"""Random trainings by `stele.train`, and the laws that each obeys: `python -m tests.random_trainings 300 --seed 0`.

A seed draws data, a network, a loss, an optimiser with groups, a schedule, callbacks, and the moments at which the
training is stopped. What is never stopped, on two threads, has the bits of what is gone on with from its checkpoint
again and again, on one; no step is traced anew behind the first epoch; in float64 the trainer, compiled and not, finds
what the same loop finds that is written by hand with public parts; in bfloat16 it goes where it goes in float32, as
near as a rounding of its weights leaves it.
"""
from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from signal import SIGHUP
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import stele as st
from stele import data, metrics, nn, optim, train
from stele.call.variants import Variants
from stele.ir.graph import Array
from stele.ir.types import float32
from stele.stop import Stopped
from stele.tracing import tree

Said = dict[str, Any]
LAWS = "bits", "compiled", "uncompiled", "bf16"
EVERY = {"bits": 1, "compiled": 4, "uncompiled": 8, "bf16": 2}      # how many trainings one is tried with
ROUNDING = 2.0 ** -9        # of a number in bfloat16, relative to it
CLASSES, OUTPUTS = 3, 2

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU, "silu": nn.SiLU}
SHAPES = {"vectors": (6,), "images": (2, 8, 8), "sequences": (5, 6), "tokens": (5,)}
LAYERS: Mapping[str, Mapping[str, Callable[[int, int], nn.Module]]] = {
    "vectors": {
        "linear": nn.Linear,
        "spectral": lambda n, m: nn.utils.parametrizations.spectral_norm(nn.Linear(n, m)),
        "batchnorm": lambda n, m: nn.Sequential(nn.Linear(n, m), nn.BatchNorm1d(m)),
        "layernorm": lambda n, m: nn.Sequential(nn.LayerNorm(n), nn.Linear(n, m)),
        "dropout": lambda n, m: nn.Sequential(nn.Dropout(0.3), nn.Linear(n, m))},
    "images": {
        "conv": lambda n, m: nn.Conv2d(n, m, 3, padding=1),
        "strided": lambda n, m: nn.Conv2d(n, m, 3, stride=2, padding=1, bias=False),
        "grouped": lambda n, m: nn.Conv2d(n, m, 3, padding="same", groups=2),
        "batchnorm": lambda n, m: nn.Sequential(nn.Conv2d(n, m, 1), nn.BatchNorm2d(m)),
        "groupnorm": lambda n, m: nn.Sequential(nn.Conv2d(n, m, 3), nn.GroupNorm(2, m)),
        "maxpool": lambda n, m: nn.Sequential(nn.Conv2d(n, m, 3, padding=1), nn.MaxPool2d(2, 1)),
        "dropout": lambda n, m: nn.Sequential(nn.Dropout2d(0.3), nn.Conv2d(n, m, 1))},
    "sequences": {
        "gru": lambda n, m: nn.GRU(n, m, batch_first=True),
        "lstm": lambda n, m: nn.LSTM(n, m, num_layers=2, dropout=0.3, batch_first=True),
        "both": lambda n, m: nn.GRU(n, m // 2, bidirectional=True, batch_first=True),
        "linear": nn.Linear,
        "encoder": lambda n, m: nn.Sequential(nn.Linear(n, m), nn.TransformerEncoderLayer(m, 2, 8, batch_first=True)),
        "dropout": lambda n, m: nn.Sequential(nn.Dropout(0.3), nn.Linear(n, m))}}

# What each takes beside its parameters, and what else is drawn.
OPTIMIZERS: Mapping[str, tuple[Any, float, tuple[Mapping[str, Any], ...]]] = {
    "sgd": (optim.SGD, 0.05, ({}, {"momentum": 0.9}, {"momentum": 0.8, "nesterov": True, "weight_decay": 0.01},
                              {"momentum": 0.5, "dampening": 0.1})),
    "adam": (optim.Adam, 0.01, ({}, {"amsgrad": True}, {"betas": (0.8, 0.9), "weight_decay": 0.01})),
    "adamw": (optim.AdamW, 0.01, ({}, {"amsgrad": True, "weight_decay": 0.1})),
    "rmsprop": (optim.RMSprop, 0.01, ({}, {"momentum": 0.5, "centered": True})),
    "adagrad": (optim.Adagrad, 0.05, ({}, {"lr_decay": 0.1})),
    "adadelta": (optim.Adadelta, 0.5, ({},)),
    "adamax": (optim.Adamax, 0.01, ({},)),
    "nadam": (optim.NAdam, 0.01, ({}, {"decoupled_weight_decay": True, "weight_decay": 0.01})),
    "radam": (optim.RAdam, 0.01, ({},)),
    "asgd": (optim.ASGD, 0.05, ({}, {"t0": 2.0})),
    "rprop": (optim.Rprop, 0.005, ({},)),
    "lamb": (optim.LAMB, 0.01, ({},)),
    "lars": (optim.LARS, 0.5, ({}, {"nesterov": True, "weight_decay": 0.01})),
    "lion": (optim.Lion, 0.002, ({}, {"weight_decay": 0.1})),
    "adafactor": (optim.Adafactor, 0.02, ({},))}
BY_SIGN = "rprop", "lion", "lamb", "lars", "adafactor"    # move along what is only rounding, as far as along all else

SCHEDULES: Mapping[str, Callable[[Any, float], Any]] = {
    "step": lambda o, lr: optim.StepLR(o, 2, 0.5),
    "steps": lambda o, lr: optim.MultiStepLR(o, [1, 3], 0.3),
    "cosine": lambda o, lr: optim.CosineDecay(o, 8),
    "restarts": lambda o, lr: optim.CosineAnnealingWarmRestarts(o, 2, 2),
    "warm": lambda o, lr: optim.LinearWarmup(o, 3),
    "inverse": lambda o, lr: optim.InverseSqrt(o, 2),
    "exponential": lambda o, lr: optim.ExponentialLR(o, 0.8),
    "polynomial": lambda o, lr: optim.PolynomialLR(o, 6, 2.0),
    "lambda": lambda o, lr: optim.LambdaLR(o, lambda k: 1 / (1 + k)),
    "product": lambda o, lr: optim.MultiplicativeLR(o, lambda k: 0.9),
    "cyclic": lambda o, lr: optim.CyclicLR(o, lr / 4, lr, 2, mode="triangular2"),
    "once": lambda o, lr: optim.OneCycleLR(o, lr, 60),
    "chained": lambda o, lr: optim.ChainedScheduler([optim.LinearLR(o, 0.2, 1.0, 3), optim.ExponentialLR(o, 0.9)]),
    "sequence": lambda o, lr: optim.SequentialLR(o, [optim.LinearWarmup(o, 2), optim.CosineDecay(o, 5)], [2]),
    "plateau": lambda o, lr: optim.ReduceLROnPlateau(o, factor=0.5, patience=0, threshold=0.05)}

LOSSES: Mapping[str, tuple[str, Any]] = {
    "cross_entropy": ("classes", "cross_entropy"),
    "smoothed": ("classes", nn.CrossEntropyLoss(label_smoothing=0.1)),
    "mse": ("numbers", "mse"),
    "huber": ("numbers", "huber"),
    "own": ("numbers", lambda predictions, target: (predictions - target).square().mean()),
    "bce": ("bits", "bce_with_logits")}
METRICS: Mapping[str, Callable[[], Any]] = {
    "classes": lambda: {"accuracy": "accuracy", "f1": metrics.F1(CLASSES)},
    "numbers": lambda: ["mae", "r2"],
    "bits": lambda: metrics.Mean(lambda predictions, target: ((predictions > 0) == (target > 0.5)).float())}
CALLBACKS = "ema", "warm ema", "swa", "early", "best", "gradients", "samples", "lines", "guard", "finder"


def drawn(seed: int) -> Said:
    """A training in plain words."""
    said = any_drawn(seed)
    has_rates = said["schedule"] in ("once", "cyclic")      # of its own, which nobody finds
    alone = said["samples"] % said["batch"] == 1            # in the last batch, which batch norm refuses
    return said | {"callbacks": [x for x in said["callbacks"] if x != "finder" or not has_rates],
                   "samples": said["samples"] + alone}


def any_drawn(seed: int) -> Said:
    """What may be a training in plain words."""
    rng = np.random.default_rng(seed)
    def one(options: Any) -> Any: return [*options][int(rng.integers(len(options)))]
    def maybe(share: float) -> bool: return bool(rng.random() < share)
    inputs, loss, name = one(SHAPES), one(LOSSES), one(OPTIMIZERS)
    kinds = [*LAYERS["sequences" if inputs == "tokens" else inputs]]
    form = one(("loader", "loader", "dict", "list", "samples", "augmented", "stream"))
    return {
        "seed": seed, "inputs": inputs, "layers": [one(kinds) for _ in range(one((1, 1, 2)))],
        "activation": one(ACTIVATIONS), "width": one((4, 8, 8, 64)), "lazy": maybe(0.15), "frozen": maybe(0.15),
        "loss": loss, "penalty": maybe(0.2), "metrics": maybe(0.6),
        "optimizer": name, "options": one(OPTIMIZERS[name][2]), "groups": one((None, None, "names", "halves")),
        "lookahead": maybe(0.15), "schedule": one((None, *SCHEDULES)) if maybe(0.8) else None,
        "schedule_every": one(("step", "epoch")), "accumulate": one((1, 1, 1, 2, 3)),
        "clip": one((None, None, 0.1, 1.0)),
        "precision": "bf16" if maybe(0.15) else "fast",
        "form": form, "samples": one((13, 24, 30)), "batch": one((5, 8, 12)),
        "shuffle": maybe(0.6) and form != "stream", "drop_last": maybe(0.3), "num_workers": one((0, 0, 1, 2, 3)),
        "processes": maybe(0.04), "validation": one((None, "loader", "shuffled", "list")),
        "epochs": one((1, 2, 2, 3, 4)),
        "callbacks": [x for x in CALLBACKS if maybe(0.12 if x in ("guard", "finder") else 0.25)],
        "stops": [int(k) for k in rng.integers(1, 8, one((1, 2, 3)))], "how": one(("asked", "error")),
        "every": one((0.0, 0.0, 60.0))}


class Net(nn.Module):
    """The layers that are said, then a mean over what is left of the axes, and a head."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        inputs, width = said["inputs"], said["width"]
        made = LAYERS["sequences" if inputs == "tokens" else inputs]
        size = 6 if inputs in ("vectors", "sequences") else width if inputs == "tokens" else 2
        self.table = nn.Embedding(7, width, padding_idx=0) if inputs == "tokens" else nn.Identity()
        self.layers = nn.ModuleList()
        for name in said["layers"]:
            self.layers.append(made[name](size, width))
            size = width
        self.activation = ACTIVATIONS[said["activation"]]()
        outputs = CLASSES if LOSSES[said["loss"]][0] == "classes" else OUTPUTS
        self.head = nn.LazyLinear(outputs) if said["lazy"] else nn.Linear(size, outputs)
        if said["frozen"]:
            self.layers[0].requires_grad_(False)

    def forward(self, x: st.Tensor) -> st.Tensor:
        x = self.table(x)
        for layer in self.layers:
            y: Any = layer(x)
            x = self.activation(y[0] if isinstance(y, tuple) else y)
        if x.ndim == 4:
            x = x.mean(axis=(2, 3))
        return self.head(x.mean(axis=1) if x.ndim == 3 else x)


class Penalised(train.Trainer):
    """A step of one's own that tells one more number."""

    def training_step(self, batch: Any) -> Any:
        found = super().training_step(batch)
        penalty = found["predictions"].square().mean()
        return found | {"loss": found["loss"] + 0.1 * penalty, "penalty": penalty}


class Averaged(train.Callback):
    """Stochastic weight averaging over the epochs, as a user writes it."""

    sees_gradients = False
    means: optim.SWA | None = None
    loaded: Mapping[str, Any] | None = None

    def on_train_begin(self, trainer: train.Trainer) -> None:
        self.means = optim.SWA(trainer.model.parameters())
        if self.loaded:
            self.means.load_state_dict(self.loaded)

    def on_epoch_end(self, trainer: train.Trainer, row: dict[str, Any]) -> None:
        assert self.means is not None
        self.means.update()

    def state_dict(self) -> dict[str, Any]:
        return {} if self.means is None else self.means.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.loaded = state


class StopAt(train.Callback):
    """Ends the training at batch k, counted over epochs and validations: as a signal does, or by an error."""

    sees_gradients = False

    def __init__(self, keep: train.Checkpoint, k: int, how: str) -> None:
        self.keep, self.left, self.how = keep, k, how

    def on_batch_end(self, trainer: train.Trainer) -> None:
        self.left -= 1
        if self.left <= 0 and self.how == "asked":
            self.keep.stop.number = SIGHUP
        if self.left == 0 and self.how == "error":
            raise InterruptedError

    on_validation_batch = on_batch_end


class Traces(train.Callback):
    """Counts how often anything was traced, behind each epoch."""

    sees_gradients = False

    def __init__(self) -> None:
        self.behind, self.count = list[int](), 0

    @contextmanager
    def counting(self) -> Generator[None]:
        traced = Variants.trace

        def trace(variants: Variants, *what: Any) -> Any:
            self.count += 1
            return traced(variants, *what)

        with patch.object(Variants, "trace", trace):
            yield

    def on_epoch_end(self, trainer: train.Trainer, row: dict[str, Any]) -> None:
        self.behind.append(self.count)


# What a training is made of, anew each time, in float32 or in float64.

def arrays(said: Said, dtype: str, count: int, seed: int) -> tuple[Array, Array]:
    """Samples and what is to be learnt of them."""
    rng = np.random.default_rng(seed)
    shape = (count, *SHAPES[said["inputs"]])
    x = rng.integers(0, 7, shape) if said["inputs"] == "tokens" else rng.normal(size=shape).astype(dtype)
    kind = LOSSES[said["loss"]][0]
    if kind == "classes":
        return x, rng.integers(0, CLASSES, count)
    y = rng.normal(size=(count, OUTPUTS)) if kind == "numbers" else rng.integers(0, 2, (count, OUTPUTS))
    return x, y.astype(dtype)


def noisy(sample: Any, rng: Any) -> Any:
    """A sample with noise, or with another token."""
    x, y = sample
    return (x + rng.normal(size=x.shape) * 0.1).astype(x.dtype) if x.dtype.kind == "f" else rng.permutation(x), y


def batches(said: Said, dtype: str) -> Any:
    """What is learnt from."""
    x, y = arrays(said, dtype, said["samples"], said["seed"])
    form, size = said["form"], said["batch"]
    if form == "list":
        return [(x[k:k + size], y[k:k + size]) for k in range(0, len(x), size)]
    given: Any = (x, y) if form in ("loader", "augmented") else {"x": x, "y": y} if form == "dict" \
        else [*zip(x, y)] if form == "samples" else data.IterableDataset(lambda: iter([*zip(x, y)]))
    workers = max(1, said["num_workers"]) if said["processes"] else said["num_workers"]
    return data.Loader(given, size, said["shuffle"], seed=said["seed"], drop_last=said["drop_last"] and size < len(x),
                       transform=noisy if form == "augmented" else None, num_workers=workers,
                       processes=said["processes"], scale=None if form in ("loader", "dict") else False)


def held_out(said: Said, dtype: str) -> Any:
    """What is validated on."""
    x, y = arrays(said, dtype, 11, said["seed"] + 1)
    if said["validation"] in (None, "list"):
        return said["validation"] and [(x[:6], y[:6]), (x[6:], y[6:])]
    return data.Loader((x, y), 4, said["validation"] == "shuffled", seed=5, num_workers=said["num_workers"])


def model_of(said: Said, dtype: str) -> nn.Module:
    model = Net(said)
    return model.double() if dtype == "float64" else model


def optimizer_of(said: Said, model: nn.Module) -> Any:
    """The optimiser, with its groups, or one around it."""
    made, lr, _ = OPTIMIZERS[said["optimizer"]]
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad or said["groups"] is None]
    groups: Any = [p for _, p in named]
    if said["groups"] == "names":
        groups = optim.grouped(named, {"*.bias": {"lr": lr / 2}})
    elif said["groups"] == "halves":
        half = max(1, len(groups) // 2)
        groups = [{"params": groups[:half], "lr": lr / 4}, {"params": groups[half:]}]
    optimizer = made(groups, lr=lr, **said["options"])
    return optim.Lookahead(optimizer, k=2) if said["lookahead"] else optimizer


def schedule_of(said: Said, optimizer: Any) -> Any:
    if said["schedule"] is None:
        return None
    inner = optimizer.optimizer if said["lookahead"] else optimizer
    return SCHEDULES[said["schedule"]](inner, OPTIMIZERS[said["optimizer"]][1])


def callbacks_of(said: Said, folder: Path) -> list[train.Callback]:
    made: Mapping[str, Callable[[], train.Callback]] = {
        "ema": lambda: train.EMA(0.6), "warm ema": lambda: train.EMA(0.9, warm=True), "swa": Averaged,
        "early": lambda: train.EarlyStopping(0, least=0.01, restore=True), "best": lambda: train.EarlyStopping(9),
        "gradients": lambda: train.GradientStatistics(1),
        "samples": lambda: train.Samples(lambda model: model.head.weight.detach(), folder / "samples"),
        "lines": lambda: train.JSONLines(folder / "log.jsonl", every=1),
        "guard": lambda: train.NanGuard(folder / "nan.safetensors"),
        "finder": lambda: train.LearningRateFinder(1e-4, 0.1, 5)}
    return [made[name]() for name in said["callbacks"]]


def trainer_of(said: Said, folder: Path, *more: train.Callback, dtype: str = "float32", seed: int = 3,
               **options: Any) -> train.Trainer:
    """A trainer whose parameters follow from a seed."""
    st.manual_seed(seed)
    model = model_of(said, dtype)
    made = Penalised if said["penalty"] else train.Trainer
    kind, loss = LOSSES[said["loss"]]
    return made(model, batches(said, dtype), loss=loss, optimizer=lambda _: optimizer_of(said, model),
                metrics=METRICS[kind]() if said["metrics"] else (), epochs=said["epochs"],
                validation=held_out(said, dtype), schedule=partial(schedule_of, said),
                schedule_every=said["schedule_every"], accumulate=said["accumulate"], clip=said["clip"],
                callbacks=[*callbacks_of(said, folder), *more], **options)


# The laws.

def bits(x: Any) -> Any:
    """A state as what compares to the bit, without the seconds that it took."""
    if isinstance(x, Mapping):
        return {name: bits(part) for name, part in x.items() if name not in ("seconds", "meta", "bytes")}
    if isinstance(x, list | tuple):
        return [bits(part) for part in x]
    if isinstance(x, st.Tensor | np.ndarray | np.generic):
        a = np.asarray(x.detach() if isinstance(x, st.Tensor) else x)
        return f"{a.dtype}{list(a.shape)} {a.tobytes().hex()}"
    return repr(x)


def left_by(trainer: train.Trainer, folder: Path) -> dict[str, Any]:
    """All that a training leaves behind, in memory and in its folder."""
    lines = folder / "log.jsonl"
    state = {name: part for name, part in trainer.state_dict().items() if not name.startswith("callback.Traces")}
    return {**bits(state), "history": bits(trainer.history.epochs), "curve": repr(trainer.history.curve),
            "log": [bits(json.loads(line)) for line in lines.read_text().splitlines()] if lines.exists() else None,
            "files": {path.name: path.read_bytes() for path in (folder / "samples").glob("*")},
            "best": bits(st.load(folder / "best.safetensors"))}


def differing(a: Any, b: Any, path: str = "") -> Iterator[str]:
    """The paths at which two states differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted({*a, *b}):
            yield from differing(a.get(name), b.get(name), f"{path}/{name}")
    elif a != b:
        yield f"{path}: {str(a)[:60]} and {str(b)[:60]}"


def never_stopped(said: Said, folder: Path) -> train.Trainer:
    """The whole training, on two threads; raises AssertionError where a step is traced anew behind the first epoch."""
    traces = Traces()
    trainer = trainer_of(said, folder, train.Checkpoint(folder, best=True), traces, precision=said["precision"])
    with traces.counting():
        trainer.fit()
    assert len({*traces.behind}) == 1, f"traced anew behind the first epoch: {traces.behind}"
    return trainer


def gone_on_with(said: Said, folder: Path) -> train.Trainer:
    """The training in parts, on one thread, each gone on with from the checkpoint by a trainer that began elsewhere."""
    def begun(seed: int, *stop: int) -> train.Trainer:
        keep = train.Checkpoint(folder, best=True, resume=True, every=said["every"])
        return trainer_of(said, folder, keep, *(StopAt(keep, k, said["how"]) for k in stop), seed=seed,
                          precision=said["precision"])

    for k, stop in enumerate(said["stops"]):
        try:
            begun(3 + k, stop).fit()
        except (Stopped, InterruptedError) as error:
            if getattr(error, "signal", SIGHUP) != SIGHUP:      # somebody ends all of it
                raise
    trainer = begun(99)
    trainer.fit()
    return trainer


class ByHand:
    """The same training as a loop that is written with public parts, step by step and uncompiled."""

    def __init__(self, said: Said) -> None:
        st.manual_seed(3)
        self.said, self.rows = said, list[dict[str, Any]]()
        self.model = model_of(said, "float64")
        self.loss = train.Trainer(self.model, loss=LOSSES[said["loss"]][1]).loss
        self.optimizer = optimizer_of(said, self.model)
        self.schedule = schedule_of(said, self.optimizer)
        self.means = [optim.EMA(self.model.parameters(), decay, warm) for name, decay, warm in (
            ("ema", 0.6, False), ("warm ema", 0.9, True)) if name in said["callbacks"]]

    def found(self, batch: Any) -> tuple[dict[str, Any], int]:
        """The loss of a batch, and more numbers."""
        x, y = batch.values() if isinstance(batch, dict) else batch
        predictions = self.model(x if isinstance(x, st.Tensor) else st.tensor(x))
        loss = self.loss(predictions, st.tensor(y))     # type: ignore[misc]
        if not self.said["penalty"]:
            return {"loss": loss}, len(y)
        penalty = (predictions ** 2).mean()
        return {"loss": loss + 0.1 * penalty, "penalty": penalty}, len(y)

    def move(self, batches: int) -> None:
        """A step along the mean of so many gradients."""
        for p in self.optimizer.parameters:
            p.grad = None if p.grad is None else p.grad / batches
        if self.said["clip"]:
            optim.clip_grad_norm(self.optimizer.parameters, self.said["clip"])
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.schedule is not None and self.said["schedule_every"] == "step" and self.said["schedule"] != "plateau":
            self.schedule.step()
        for means in self.means:
            means.update()

    def learn(self, batches: Any) -> dict[str, float]:
        """An epoch; its means."""
        self.model.train()
        found, gathered = list[tuple[dict[str, float], int]](), 0
        for batch in batches:
            numbers, size = self.found(batch)
            numbers["loss"].backward()
            found.append(({name: x.item() for name, x in numbers.items()}, size))
            gathered += 1
            if gathered == self.said["accumulate"]:
                self.move(gathered)
                gathered = 0
        if gathered:
            self.move(gathered)
        return means_of(found, "train")

    def validate(self, batches: Any) -> dict[str, float]:
        """The means over what is validated on, with the averages of the last callback that keeps any."""
        self.model.eval()
        with st.no_grad(), ExitStack() as held:
            for means in self.means:
                held.enter_context(means.applied())
            found = [({name: x.item() for name, x in numbers.items()}, size)
                     for numbers, size in map(self.found, batches)]
        return means_of(found, "val")

    def run(self) -> list[dict[str, float]]:
        """The means of every epoch, until it is over or the loss does not fall any more."""
        data, others = batches(self.said, "float64"), held_out(self.said, "float64")
        monitor, best = "train_loss" if others is None else "val_loss", math.inf
        for epoch in range(self.said["epochs"]):
            row = self.learn(data)
            if others is not None:
                row |= self.validate(others if isinstance(others, list) else others.batches(epoch))
            self.rows.append(row)
            if self.said["schedule"] == "plateau":
                self.schedule.step(row[monitor])
            elif self.schedule is not None and self.said["schedule_every"] == "epoch":
                self.schedule.step()
            if "early" in self.said["callbacks"] and not row[monitor] < best - 0.01:
                break
            best = min(best, row[monitor])
        return self.rows


def means_of(found: list[tuple[dict[str, float], int]], prefix: str) -> dict[str, float]:
    """The means of numbers of batches, by how many samples each has."""
    whole = sum(size for _, size in found)
    return {f"{prefix}_{name}": sum(numbers[name] * size for numbers, size in found) / whole for name in found[0][0]}


def alike(said: Said, what: str, rows: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Raises AssertionError where the means of two trainings are apart.

    What moves along signs, in front of a norm that takes it out again, moves by what is rounded: only losses of the
    training, whose norms are of the batch, are then the same.
    """
    assert len(rows) == len(wanted), f"{what}: {len(rows)} epochs, and {len(wanted)}"
    for k, (row, other) in enumerate(zip(rows, wanted)):
        for name in other:
            if said["optimizer"] in BY_SIGN and not name.startswith("train_loss"):
                continue
            assert abs(row[name] - other[name]) <= 1e-7 * (1 + abs(other[name])), \
                f"{what}: {name} of epoch {k + 1} is {row[name]!r} and {other[name]!r}"


def near_float32(said: Said) -> None:
    """Raises AssertionError where a training in bfloat16 goes elsewhere than in float32.

    Each activation is rounded once, by 2^-9 of itself at most. What that does to a training is asked of the training:
    in float32, from weights that are all moved by as much, and by four times as much, since a centred RMSprop leaps
    where its variance is nearly none. The losses of its epochs may be apart by four roundings, and by four times what
    the first moved them by, or twice what the second did; the way that all weights went by an eighth of its length,
    and by three times or twice what these turned it by. Parameters and what optimisers remember are float32 all the
    time.
    """
    said = said | {
        "width": 64, "samples": 60, "batch": 24, "lazy": False, "processes": False, "validation": None, "callbacks": [],
        "metrics": False, "schedule": None if said["schedule"] == "plateau" else said["schedule"]}
    exact, rounded = gone(said, "fast", 0.0), gone(said, "bf16", 0.0)
    moved, further = gone(said, "fast", ROUNDING), gone(said, "fast", 4 * ROUNDING)
    for k, (what, share, times) in enumerate((("losses", 4 * ROUNDING, 4.0), ("ways of weights", 1 / 8, 3.0))):
        x, y, one, four = (found[k] for found in (exact, rounded, moved, further))
        apart, most = length(y - x), share * length(x) + max(times * length(one - x), 2.0 * length(four - x))
        assert apart <= most, f"{what} in bfloat16 and in float32 are {apart:.2g} apart, of {most:.2g}"


class Gone(NamedTuple):
    """The losses of a training's epochs, and the way that its weights went, as one vector."""

    losses: Array
    way: Array


def gone(said: Said, precision: Any, moved: float) -> Gone:
    """Where a training goes, from weights of which each is first moved by a share of itself, up or down."""
    with tempfile.TemporaryDirectory() as place:
        trainer, rng = trainer_of(said, Path(place), precision=precision), np.random.default_rng(said["seed"])
        for p in trainer.model.parameters():
            p.assign(p.detach() * (1 + moved * rng.choice([-1, 1], p.shape)).astype("f4"))
        found = [p for name, p in trainer.model.named_parameters() if not is_taken_out(said, name)]
        begin = flat(found)
        losses = [row["train_loss"] for row in trainer.fit().epochs]
    kinds = {x.dtype for x in tree.flatten(trainer.state_dict())[0] if isinstance(x, st.Tensor) and x.dtype.is_float}
    assert kinds == {float32}, f"the state of a training in {precision} has {kinds}"
    return Gone(np.array(losses), flat(found) - begin)


def is_taken_out(said: Said, name: str) -> bool:
    """Whether a parameter is the bias that a norm behind it takes out again: its gradient is what is rounded."""
    match name.split("."):
        case ["layers", k, "0", "bias"]:    return said["layers"][int(k)] in ("batchnorm", "groupnorm")
        case _:                             return False


def length(x: Array) -> float:
    return float(np.linalg.norm(x))


def flat(parameters: Sequence[st.Tensor]) -> Array:
    return np.concatenate([p.detach().numpy().astype(np.float64).reshape(-1) for p in parameters])


def check(said: Said, laws: Collection[str] = LAWS) -> None:
    """Raises AssertionError, or what the training raises, where a training breaks a law."""
    before = st.get_threads()
    with tempfile.TemporaryDirectory() as place:
        try:
            if "bits" in laws:
                same_bits(said, Path(place) / "whole", Path(place) / "parts")
            if "bf16" in laws:
                near_float32(said)
            if "finder" in said["callbacks"]:     # whose rate is where one of many losses is the least
                return
            exact = said | {"lazy": False, "callbacks": [x for x in said["callbacks"] if x != "guard"]}
            wanted = ByHand(exact).run() if {"compiled", "uncompiled"} & {*laws} else []
            for law in ("compiled", "uncompiled"):
                if law in laws:
                    made = trainer_of(exact, Path(place) / law, dtype="float64", compiled=law == "compiled")
                    alike(said, f"{law} and by hand", made.fit().epochs, wanted)
        finally:
            st.set_threads(before)


def same_bits(said: Said, whole: Path, parts: Path) -> None:
    """Raises AssertionError where a training in parts, on one thread, leaves other bits than all of it, on two."""
    st.set_threads(2)
    first = left_by(never_stopped(said, whole), whole)
    st.set_threads(1)
    apart = list(differing(first, left_by(gone_on_with(said, parts), parts)))
    assert not apart, f"never stopped, on two threads, and in parts: {'; '.join(apart[:4])[:600]}"


def main() -> int:
    """Tries trainings of seeds seed..seed+n; says what fails, and returns how many did.

    What is written by hand compiles an expression for each of its lines, which takes as long as all the rest: every
    fourth training is compared with it, and every eighth uncompiled too; every other one goes its way in bfloat16.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.random_trainings", description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=300, help="how many trainings")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    failed, begun = list[int](), time.perf_counter()
    for seed in range(options.seed, options.seed + options.n):
        said = drawn(seed)
        try:
            check(said, [law for law, every in EVERY.items() if seed % every == 0])
        except Exception as error:
            failed.append(seed)
            where = "" if isinstance(error, AssertionError) else traceback.format_exc(limit=-2)
            print(f"seed {seed}: {type(error).__name__}: {error}\n    {said}\n{where}", flush=True)
        if (seed - options.seed) % 10 == 9:
            print(f"{seed - options.seed + 1} trainings in {time.perf_counter() - begun:.0f} s, {len(failed)} failed",
                  flush=True)
    print(f"{options.n} trainings from seed {options.seed}: {len(failed)} failed {failed or ''}")
    return len(failed)


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
