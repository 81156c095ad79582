"""A small residual network tells CIFAR-10's things apart; what it sees is cropped, mirrored and erased at random.

    python examples/resnet.py --data FOLDER --figure resnet.png

FOLDER is where `stele.data.download("cifar10", FOLDER)` puts 50,000 images of 32 x 32. It learns for four minutes.
He et al., "Deep residual learning for image recognition", 2016; the rate rises and falls once (Smith, 2018). A worker
of the loader changes the images, each by random numbers of its own, the same for any number of workers.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import stele as st
from stele import Tensor, data, nn, optim, train
from stele.data import transforms as T

RESULT = "test accuracy at least 0.72 after four epochs"
WIDTHS, BATCH = (16, 32, 64), 64
MEAN, DEVIATION = (0.491, 0.482, 0.447), (0.247, 0.243, 0.262)


class Residual(nn.Module):
    """Two convolutions beside what they are given: (N, C, H, W) -> (N, D, H / stride, W / stride)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.beside = nn.Sequential() if inputs == outputs else \
            nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = st.relu(self.norm1(self.conv1(x)))
        return st.relu(self.norm2(self.conv2(y)) + self.beside(x))


class ResNet(nn.Module):
    """Images (N, 3, 32, 32) -> logits of ten classes."""

    def __init__(self) -> None:
        first, second, third = WIDTHS
        self.stem = nn.Sequential(nn.Conv2d(3, first, 3, padding=1, bias=False), nn.BatchNorm2d(first), nn.ReLU())
        self.stages = nn.Sequential(Residual(first, first, 1), Residual(first, second, 2), Residual(second, third, 2))
        self.head = nn.Linear(third, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.stem(x)).mean(axis=(2, 3)))


def optimizer_of(model: nn.Module) -> optim.Optimizer:
    return optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)


def training_step() -> Callable[[], Tensor]:
    """One step of a new model on images of noise, to be timed."""
    st.manual_seed(0)
    model, rng = ResNet(), np.random.default_rng(0)
    optimizer = optimizer_of(model)
    x, y = st.tensor(rng.standard_normal((BATCH, 3, 32, 32), np.float32)), st.tensor(rng.integers(0, 10, BATCH))

    @st.compile
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return lambda: step(x, y)


def draw(path: str, loader: Any, history: train.History) -> None:
    """Images as the network sees them, and the losses of all steps."""
    import matplotlib.pyplot as plt

    images = next(iter(loader))[0][:32] * np.reshape(DEVIATION, (3, 1, 1)) + np.reshape(MEAN, (3, 1, 1))
    grid = images[:len(images) // 4 * 4].reshape(4, -1, 3, 32, 32).transpose(0, 3, 1, 4, 2)
    _, (left, right) = plt.subplots(1, 2, figsize=(7, 2.4), layout="constrained")
    left.imshow(np.clip(grid.reshape(4 * 32, -1, 3), 0, 1))
    left.axis("off")
    right.plot(history.curve.x, history.curve.loss)
    right.set(xlabel="epoch", ylabel="loss")
    plt.savefig(path, dpi=72)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns the accuracy on the test images."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--epochs", type=int, default=4, help="how often to see every image; default: %(default)s")
    asked.add_argument("--data", default="data", help="the folder with cifar-10-batches-bin/; default: %(default)s")
    asked.add_argument("--figure", help="a file for changed images and the curve of losses")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    images = data.cifar10(Path(given.data) / "cifar-10-batches-bin")
    numbers = T.Compose([T.ToFloat(), T.Normalize(MEAN, DEVIATION)])
    changed = T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), numbers, T.RandomErasing(p=0.25)])
    loader = data.Loader(images.train, BATCH, shuffle=True, transform=changed)
    test = data.Loader(images.test, 200, transform=numbers)
    model, steps = ResNet(), given.epochs * len(loader)
    history = train.fit(model, loader, loss="cross_entropy", optimizer=optimizer_of(model), metrics="accuracy",
                        schedule=lambda optimizer: optim.OneCycleLR(optimizer, 0.1, steps + 1, cycle_momentum=False),
                        epochs=given.epochs, validation=test, callbacks=[train.Progress()])
    found = {"accuracy": history["val_accuracy"][-1], "train accuracy": history["train_accuracy"][-1]}
    print(f"test accuracy {found['accuracy']:.3f}; asked was: {RESULT}")
    if given.figure:
        draw(given.figure, loader, history)
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["accuracy"] >= 0.72


if __name__ == "__main__":
    main()
