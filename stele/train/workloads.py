"""`stele train`: the two training workloads of the Rosetta benchmark, from files to a run folder."""
from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import stele as st
from stele import nn, optim
from stele.data import Dataset, Loader, find_images, find_texts
from stele.tensor import Tensor
from stele.train.history import Epoch
from stele.train.models import Cnn, Sentiment
from stele.train.options import TrainOptions
from stele.train.report import Report, table
from stele.train.run import Run, default_folder

DIMS = {"x": {0: "batch"}, "y": {0: "batch"}}


@dataclass(frozen=True)
class Workload:
    """How one network is trained: where data is found, the model for it, the optimiser, and the default epochs."""

    find: Callable[[Any], Dataset]
    model: Callable[[Dataset], nn.Module]
    optimizer: Callable[[list[Tensor]], optim.Optimizer]
    epochs: int
    sample_epochs: int


WORKLOADS = {
    "cnn": Workload(find_images,
                    lambda data: Cnn(data.train.x.shape[1], data.train.x.shape[2], len(data.classes)),
                    lambda parameters: optim.SGD(parameters, lr=0.01, momentum=0.9), epochs=10, sample_epochs=4),
    "gru": Workload(find_texts,
                    lambda data: Sentiment(),
                    lambda parameters: optim.Adam(parameters, lr=1e-3), epochs=3, sample_epochs=3),
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

    def test(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], batch: int) -> tuple[float, float]:
        """Mean loss and accuracy without dropout."""
        self.model.eval()
        total, correct = 0.0, 0
        for part, labels in Loader((x, y), batch):
            loss, hits = self.measure(part, labels)
            total, correct = total + float(loss) * len(labels), correct + int(hits)
        self.model.train()
        return total / len(y), correct / len(y)


def right(logits: Tensor, labels: Tensor) -> Tensor:
    """How many labels are the likeliest class."""
    return (logits.argmax(axis=1) == labels).sum()


def train(options: TrainOptions) -> None:
    """Trains a workload and leaves a run folder: history, curves and the model."""
    workload = WORKLOADS[options.workload]
    if options.threads:
        st.set_threads(options.threads)
    st.manual_seed(options.seed)
    data = workload.find(options.data)
    epochs = options.epochs or (workload.epochs if options.data else workload.sample_epochs)
    model = workload.model(data)
    trainer = Trainer(model, workload.optimizer(model.parameters()))
    loader = Loader((data.train.x, data.train.y), options.batch, shuffle=True, seed=options.seed)
    done: list[Epoch] = []
    meta = {"workload": options.workload, "data": data.name, "epochs": epochs, "batch": options.batch,
            "seed": options.seed, "threads": st.get_threads()}
    with Run(options.out or default_folder(options.workload), meta) as run, Report(epochs) as report:
        try:
            for number in range(1, epochs + 1):
                done.append(one_epoch(number, trainer, loader, data, report, run))
                model.save(run.folder / "model.safetensors")
        except KeyboardInterrupt:
            model.save(run.folder / "model.safetensors")
            raise
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        run.finish(parameters=sum(p.size for p in model.parameters()), peak_memory_mb=peak)
    print(f"run folder {run.folder}")
    print(table(done))


def one_epoch(number: int, trainer: Trainer, loader: Loader, data: Dataset, report: Report, run: Run) -> Epoch:
    """Learns from every batch once, then measures on the test set."""
    report.begin(number, len(data.train))
    start = time.perf_counter()
    total, correct, count = 0.0, 0, 0
    for x, y in loader:
        loss, hits = trainer.step(x, y)
        n, value, k = len(y), float(loss), int(hits)
        total, correct, count = total + value * n, correct + k, count + n
        report.step(n, value, k)
        run.step(number - 1 + count / len(data.train), value)
    test_loss, test_accuracy = trainer.test(data.test.x, data.test.y, 200)
    epoch = Epoch(number, total / count, correct / count, test_loss, test_accuracy, time.perf_counter() - start)
    run.epoch(epoch)
    report.end(epoch)
    return epoch
