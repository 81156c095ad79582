"""The two training workloads of the Rosetta benchmark: data, model, optimiser and epochs, made into a trainer."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stele import nn, optim
from stele.arrays.tensor import Tensor
from stele.commands.options import BATCH
from stele.data import Loader, Splits, find_images, find_texts
from stele.ops.arguments import choice
from stele.train.models import Cnn, Sentiment
from stele.train.trainer import Trainer


@dataclass(frozen=True)
class Workload:
    """How one network is trained: where data is found, the model for it, the optimiser, and the default epochs."""

    find: Callable[[Any], Splits]
    model: Callable[[Splits], nn.Module]
    optimizer: str
    epochs: int
    sample_epochs: int


OPTIMIZERS: dict[str, Callable[[list[Tensor], float | None], optim.Optimizer]] = {
    "sgd":   lambda parameters, lr: optim.SGD(parameters, 0.01 if lr is None else lr, momentum=0.9),
    "adam":  lambda parameters, lr: optim.Adam(parameters, 1e-3 if lr is None else lr),
    "adamw": lambda parameters, lr: optim.AdamW(parameters, 1e-3 if lr is None else lr),
}
WORKLOADS = {
    "cnn": Workload(find_images,
                    lambda data: Cnn(data.train.x.shape[1], data.train.x.shape[2], len(data.classes)),
                    "sgd", epochs=10, sample_epochs=4),
    "gru": Workload(find_texts,
                    lambda data: Sentiment(),
                    "adam", epochs=3, sample_epochs=3),
}


class Classifier(Trainer):
    """A trainer of logits and labels, whose held-out data is a test set."""

    held_out = "test"

    def __init__(self, model: nn.Module, data: Any = None, **options: Any) -> None:
        super().__init__(model, data, loss="cross_entropy", metrics="accuracy", **options)


def trainer_of(name: str) -> Callable[..., Trainer]:
    """The function of options that makes the trainer of a workload."""
    workload = WORKLOADS[name]

    def trainer(data: Path | None = None, batch_size: int = BATCH, optimizer: str = workload.optimizer,
                lr: float | None = None, epochs: int | None = None, seed: int = 0) -> Trainer:
        found, make = workload.find(data), OPTIMIZERS[choice(optimizer, "optimizer", OPTIMIZERS)]
        made = Classifier(workload.model(found),
                          Loader((found.train.x, found.train.y), batch_size, shuffle=True, seed=seed),
                          validation=Loader((found.test.x, found.test.y), 200),
                          optimizer=lambda parameters: make(parameters, lr),     # pyright: ignore
                          epochs=epochs or (workload.epochs if data else workload.sample_epochs))
        made.history.meta = {"data": found.name, "batch": batch_size}
        return made

    return trainer
