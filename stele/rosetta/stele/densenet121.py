"""DenseNet-121 on chest X-rays, fourteen findings each: its loss and all gradients, in Stele."""
import sys

import numpy as np

import stele as st
from stele import nn
from stele.nn import functional as F

MODES = "compile",
FINDINGS, GROWTH, DEPTHS = 14, 32, (6, 12, 24, 16)


def data(batch=8, edge=224, seed=0):
    """X-rays (batch, 3, edge, edge) in 0..1, smooth between points 16 pixels apart, and which findings each shows."""
    rng = np.random.default_rng(seed)
    points, at = rng.random((batch, 3, edge // 16 + 1, edge // 16 + 1), np.float32), np.arange(edge) // 16
    near = (np.arange(edge, dtype=np.float32) % 16 + 0.5) / 16
    rows = points[:, :, at] * (1 - near)[:, None] + points[:, :, at + 1] * near[:, None]
    images = rows[..., at] * (1 - near) + rows[..., at + 1] * near
    return images, (rng.random((batch, FINDINGS)) < 0.2).astype(np.float32)


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


class Layer(nn.Module):
    """What is known of an image, and 32 channels more."""

    def __init__(self, inputs):
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * GROWTH, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * GROWTH), nn.Conv2d(4 * GROWTH, GROWTH, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(st.relu(self.norm1(x)))
        return st.concatenate([x, self.conv2(st.relu(self.norm2(y)))], axis=1)


class Transition(nn.Module):
    """Half of the channels, at half the size."""

    def __init__(self, inputs):
        self.norm, self.conv = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, inputs // 2, 1, bias=False)

    def forward(self, x):
        return F.avg_pool2d(self.conv(st.relu(self.norm(x))), 2)


class DenseNet121(nn.Module):
    def __init__(self):
        self.conv0, self.norm0 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.pool, self.blocks, width = nn.MaxPool2d(3, 2, 1), nn.Sequential(), 64
        for number, depth in enumerate(DEPTHS):
            for _ in range(depth):
                self.blocks.append(Layer(width))
                width += GROWTH
            if number < len(DEPTHS) - 1:
                self.blocks.append(Transition(width))
                width //= 2
        self.norm5, self.classifier = nn.BatchNorm2d(width), nn.Linear(width, FINDINGS)

    def forward(self, x):
        x = self.blocks(st.relu(self.pool(self.norm0(self.conv0(x)))))
        return self.classifier(st.relu(self.norm5(x)).mean(axis=(2, 3)))


def initialise(mode="compile", weights=None):
    st.manual_seed(0)
    model = DenseNet121()
    if weights:
        model.load_state_dict(weights)

    def score(model, x, y):
        return F.binary_cross_entropy_with_logits(model(x), y)

    @st.compile
    def pullback(x, y):
        return st.value_and_grad(score)(model, x, y)

    return pullback


def step(f, x, y):
    return f(x, y)


def evaluate(f, x, y):
    loss, gradients = step(f, x, y)
    # Of norm0.weight it is nothing but rounding: each layer behind normalises what it scales.
    return {"loss": loss.numpy()} | {
        f"gradient of {name}": d.numpy() for name, d in gradients.items() if name != "norm0.weight"}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
