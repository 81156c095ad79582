"""A U-Net finds clothes that lie about in the dark: of each pixel it says which of ten kinds lies there, if any.

    python examples/unet.py --figure unet.png

Ronneberger et al., "U-Net: convolutional networks for biomedical image segmentation", 2015. The pictures are made as
they are asked for, of the packaged images of Fashion-MNIST: three of them are thrown onto 64 x 64 pixels, dimmed, and
buried in noise. It learns for two minutes.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import stele as st
from stele import Tensor, data, metrics, nn, optim

RESULT = "mean intersection over union of eleven classes at least 0.40 (of nothing but background: 0.07)"
SIZE, CLASSES, BATCH, WIDTHS = 64, 11, 16, (16, 32, 64)


def twice(inputs: int, outputs: int) -> nn.Sequential:
    """Two convolutions, normalised."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    """Pictures (N, 1, H, W) -> logits of classes (N, CLASSES, H, W); what each size saw is kept for the way back."""

    def __init__(self) -> None:
        first, second, third = WIDTHS
        self.down1, self.down2, self.middle = twice(1, first), twice(first, second), twice(second, third)
        self.larger2, self.up2 = nn.ConvTranspose2d(third, second, 2, stride=2), twice(2 * second, second)
        self.larger1, self.up1 = nn.ConvTranspose2d(second, first, 2, stride=2), twice(2 * first, first)
        self.head = nn.Conv2d(first, CLASSES, 1)

    def forward(self, x: Tensor) -> Tensor:
        fine = self.down1(x)
        coarse = self.down2(st.max_pool2d(fine, 2))
        y = self.larger2(self.middle(st.max_pool2d(coarse, 2)))
        y = self.larger1(self.up2(st.concatenate([y, coarse], axis=1)))
        return self.head(self.up1(st.concatenate([y, fine], axis=1)))


def pictures(part: data.ArrayDataset, many: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pictures (many, 1, SIZE, SIZE) float32, and of each pixel the class, int64: 0 is nothing, clothes follow."""
    x, y = np.zeros((many, 1, SIZE, SIZE), np.float32), np.zeros((many, SIZE, SIZE), np.int64)
    for picture, classes in zip(x[:, 0], y):
        for k in rng.integers(0, len(part), 3):
            top, left = rng.integers(0, SIZE - 27, 2)
            place, image = (slice(top, top + 28), slice(left, left + 28)), data.unit(part.x[k, 0])
            there = image > 0.1     # what comes later lies above
            picture[place] = np.where(there, image * rng.uniform(0.5, 1), picture[place])
            classes[place] = np.where(there, part.y[k] + 1, classes[place])
    return x + rng.normal(0, 0.2, x.shape).astype(np.float32), y


def learner(model: UNet, optimizer: optim.Optimizer) -> Callable[[Tensor, Tensor], Tensor]:
    """A whole step: pictures and classes of their pixels in, their loss out."""

    @st.compile
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training_step() -> Callable[[], Tensor]:
    """One step of a new model on noise, to be timed."""
    st.manual_seed(0)
    model, rng = UNet(), np.random.default_rng(0)
    step = learner(model, optim.Adam(model.parameters(), lr=2e-3))
    x = st.tensor(rng.standard_normal((BATCH, 1, SIZE, SIZE), np.float32))
    y = st.tensor(rng.integers(0, CLASSES, (BATCH, SIZE, SIZE)))
    return lambda: step(x, y)


def colours(classes: np.ndarray) -> np.ndarray:
    """Classes (N, H, W) as colours (N, H, W, 3) from 0 to 1: nothing is black."""
    turns = 2 * np.pi * (classes[..., None] / (CLASSES - 1) + np.array([0, 1 / 3, 2 / 3]))
    return np.where(classes[..., None] > 0, 0.55 + 0.45 * np.cos(turns), 0)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns how much of each class is found on pictures of test images."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=1500, help="of learning; default: %(default)s")
    asked.add_argument("--figure", help="a file for pictures, what lies there, and what is found")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    clothes, rng, model = data.fashion_sample(), np.random.default_rng(0), UNet()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    schedule, step = optim.CosineDecay(optimizer, given.steps), learner(model, optimizer)
    for k in range(given.steps):
        loss = float(step(*map(st.tensor, pictures(clothes.train, BATCH, rng))))
        schedule.step()
        if k % 300 == 299:
            print(f"step {k + 1}: loss {loss:.3f}")
    model.eval()
    iou, accuracy = metrics.IoU(CLASSES), metrics.Accuracy()
    with st.no_grad():
        for _ in range(max(len(clothes.test) // 100, 1)):
            x, y = pictures(clothes.test, BATCH, rng)
            logits = model(st.tensor(x))
            iou(logits, st.tensor(y))
            accuracy(logits, st.tensor(y))
    found = {"IoU": float(iou.compute()), "accuracy": float(accuracy.compute())}
    print(f"mean IoU {found['IoU']:.3f}, {found['accuracy']:.3f} of all pixels; asked was: {RESULT}")
    if given.figure:
        seen, guessed = np.repeat(np.clip(x[:8, 0, ..., None], 0, 1), 3, -1), logits.numpy().argmax(1)
        rows = np.stack([seen, colours(y[:8]), colours(guessed[:8])])
        st.io.imsave(given.figure, rows.transpose(4, 0, 2, 1, 3).reshape(3, 3 * SIZE, -1))
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["IoU"] >= 0.4


if __name__ == "__main__":
    main()
