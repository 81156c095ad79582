"""What `benchmarks/compile_time.py` compiles: each row is a function of nothing that gives a step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stele as st
from stele import nn, optim
from stele.rosetta.stele.resnet50 import ResNet50

Step = Callable[[], Any]
WIDTH, STEPS, LAYERS, OPS = 64, 1000, 1000, 20_000


COMPILED: list[Any] = []
"""What the rows have compiled."""


def compiled(f: Callable[..., Any]) -> Any:
    COMPILED.append(st.compile(f))
    return COMPILED[-1]


def numbers(*shape: int, scale: float = 0.1) -> Any:
    return st.tensor(np.random.default_rng(0).normal(0, scale, shape).astype(np.float32))


def chain() -> Step:
    """20,000 elementwise ops, each of the one before."""
    @compiled
    def f(x: Any) -> Any:
        for _ in range(OPS // 4):
            x = st.sin(x * 1.01 + 0.1) - 0.1
        return x

    x = numbers(64, 64)
    return lambda: f(x)


def mlp() -> Step:
    """The gradients of 1,000 layers, 64 wide: 20,000 ops."""
    @compiled
    def f(x: Any, weights: Any, biases: Any) -> Any:
        def loss(weights: Any, biases: Any) -> Any:
            y = x
            for w, b in zip(weights, biases):
                y = y + st.tanh(y @ w + b)
            return (y ** 2).mean()

        return st.value_and_grad(loss, argnums=(0, 1))(weights, biases)

    x = numbers(16, WIDTH)
    weights, biases = ([numbers(*shape, scale=0.01) for _ in range(LAYERS)] for shape in ((WIDTH, WIDTH), (WIDTH,)))
    return lambda: f(x, weights, biases)


def recurrence(cell: Callable[..., Any], gates: int) -> Step:
    @compiled
    def f(x: Any, *parameters: Any) -> Any:
        def loss(*parameters: Any) -> Any:
            h = st.zeros((x.shape[1], WIDTH))
            for k in range(STEPS):
                h = cell(x[k], h, *parameters)
            return (h ** 2).mean()

        return st.value_and_grad(loss, argnums=(0, 1, 2))(*parameters)

    x, w, u, b = numbers(STEPS, 16, WIDTH), *(numbers(*shape) for shape in (
        (WIDTH, gates * WIDTH), (WIDTH, gates * WIDTH), (gates * WIDTH,)))
    return lambda: f(x, w, u, b)


def rnn() -> Step:
    """A tanh recurrence of 1,000 steps, written out, with its gradients."""
    def cell(x: Any, h: Any, w: Any, u: Any, b: Any) -> Any:
        return st.tanh(x @ w + h @ u + b)

    return recurrence(cell, 1)


def gru() -> Step:
    """A GRU of 1,000 steps, written out, with its gradients."""
    def cell(x: Any, h: Any, w: Any, u: Any, b: Any) -> Any:
        n, given, own = WIDTH, x @ w + b, h @ u
        r, z = (st.sigmoid(given[:, k:k + n] + own[:, k:k + n]) for k in (0, n))
        return (1 - z) * st.tanh(given[:, 2 * n:] + r * own[:, 2 * n:]) + z * h

    return recurrence(cell, 3)


class Classifier(nn.Module):
    """ResNet-50 with its last layer."""

    def __init__(self) -> None:
        self.features, self.fc = ResNet50(), nn.Linear(2048, 1000)

    def forward(self, x: Any) -> Any:
        return self.fc(self.features(x))


def drawn(model: nn.Module) -> nn.Module:
    """The model with its weights drawn, which is no part of what a first call compiles."""
    for p in model.parameters():
        p.numpy()
    return model


def training(model: nn.Module, optimizer: Any, *inputs: Any) -> Step:
    drawn(model)

    @compiled
    def step(*inputs: Any) -> Any:
        optimizer.zero_grad()
        *x, y = inputs
        loss = nn.cross_entropy(model(*x), y)
        loss.backward()
        optimizer.step()
        return loss

    return lambda: float(step(*inputs))


def resnet50() -> Step:
    """A training step of ResNet-50, SGD with momentum."""
    model = Classifier()
    x, y = numbers(1, 3, 224, 224), st.tensor(np.arange(1))
    return training(model, optim.SGD(model.parameters(), lr=0.1, momentum=0.9), x, y)


class Block(nn.Module):
    """A layer of GPT-2, 768 wide, 12 heads."""

    def __init__(self, width: int = 768) -> None:
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        batch, words, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, words, 3, 12, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / (width // 12) ** 0.5
        causal = st.tril(st.ones((words, words))) > 0
        y = st.softmax(st.where(causal, scores, -np.inf), axis=-1) @ v
        x = x + self.out(y.swapaxes(1, 2).reshape(batch, words, width))
        return x + self.down(st.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2, 12 layers."""

    def __init__(self, width: int = 768, vocabulary: int = 50_257, layers: int = 12) -> None:
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(1024, width)
        self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(layers))), nn.LayerNorm(width)

    def forward(self, x: Any) -> Any:
        x = self.words(x) + self.places.weight[:x.shape[1]]
        return (self.norm(self.blocks(x)) @ self.words.weight.T).reshape(-1, len(self.words.weight))


def sentence(words: int = 128) -> Any:
    return st.tensor(np.random.default_rng(0).integers(0, 50_257, (1, words)))


def gpt2() -> Step:
    """GPT-2's 12 layers, forward."""
    f, x = compiled(st.no_grad()(drawn(Gpt2().eval()).forward)), sentence()
    return lambda: f(x)


def gpt2_training() -> Step:
    """A training step of GPT-2, Adam."""
    model, x = Gpt2(), sentence()
    return training(model, optim.Adam(model.parameters(), lr=1e-4), x, x.reshape(-1))


ROWS: dict[str, Callable[[], Step]] = {
    "chain": chain, "mlp": mlp, "rnn": rnn, "gru": gru, "resnet50": resnet50, "gpt2": gpt2,
    "gpt2-training": gpt2_training}
