"""The two training workloads of the Rosetta benchmark: data, model, optimiser, and the compiled steps."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import stele as st
from stele import nn, optim
from stele.arrays.tensor import Tensor
from stele.data import Loader, Splits, find_images, find_texts
from stele.train.models import Cnn, Sentiment

DIMS = {"x": {0: "batch"}, "y": {0: "batch"}}


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


class Trainer:
    """A model with its compiled steps: `step` learns from a batch, `test` measures a data set."""

    def __init__(self, model: nn.Module, optimizer: optim.Optimizer) -> None:
        self.model, self.optimizer = model, optimizer

        def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            optimizer.zero_grad()
            logits = model(x)
            loss = nn.cross_entropy(logits, y)
            loss.backward()
            optimizer.step()
            return loss, right(logits, y)

        def measure(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            with st.no_grad():
                logits = model(x)
                return nn.cross_entropy(logits, y), right(logits, y)

        self.step, self.measure = st.compile(step, dims=DIMS), st.compile(measure, dims=DIMS)

    def test(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], batch: int,
             between: Callable[[], None] = lambda: None) -> tuple[float, float]:
        """Mean loss and accuracy without dropout; `between` is called between two batches."""
        self.model.eval()
        total, correct = 0.0, 0
        try:
            for part, labels in Loader((x, y), batch):
                between()
                loss, hits = self.measure(part, labels)
                total, correct = total + float(loss) * len(labels), correct + int(hits)
        finally:
            self.model.train()
        return total / len(y), correct / len(y)


def right(logits: Tensor, labels: Tensor) -> Tensor:
    """How many labels are the likeliest class."""
    return (logits.argmax(axis=1) == labels).sum()
