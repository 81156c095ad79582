"""The rows of `benchmarks/compile_time_rows.py` in PyTorch, by `torch.compile`."""
import importlib

import numpy as np
import torch
from torch import nn

WIDTH, STEPS, LAYERS, OPS = 64, 1000, 1000, 20_000


def rosetta(name):
    return importlib.import_module(f"stele.rosetta.pytorch.{name}")


def numbers(*shape, scale=0.1):
    return torch.from_numpy(np.random.default_rng(0).normal(0, scale, shape).astype(np.float32))


def gradients(loss, *parameters):
    """A step that gives the gradients of a compiled loss."""
    loss = torch.compile(loss, dynamic=False)
    leaves = [p.requires_grad_() for p in parameters]
    return lambda: torch.autograd.grad(loss(leaves), leaves)


def chain():
    @torch.compile(dynamic=False)
    def f(x):
        for _ in range(OPS // 4):
            x = torch.sin(x * 1.01 + 0.1) - 0.1
        return x

    x = numbers(64, 64)
    return lambda: f(x)


def mlp():
    x = numbers(16, WIDTH)

    def loss(parameters):
        y = x
        for w, b in zip(parameters[::2], parameters[1::2]):
            y = y + torch.tanh(y @ w + b)
        return (y ** 2).mean()

    return gradients(loss, *(numbers(*s, scale=0.01) for _ in range(LAYERS) for s in ((WIDTH, WIDTH), (WIDTH,))))


def recurrence(cell, gates):
    x = numbers(STEPS, 16, WIDTH)

    def loss(parameters):
        h = torch.zeros(16, WIDTH)
        for k in range(STEPS):
            h = cell(x[k], h, *parameters)
        return (h ** 2).mean()

    return gradients(loss, *(numbers(*s) for s in ((WIDTH, gates * WIDTH), (WIDTH, gates * WIDTH), (gates * WIDTH,))))


def rnn():
    return recurrence(lambda x, h, w, u, b: torch.tanh(x @ w + h @ u + b), 1)


def gru():
    def cell(x, h, w, u, b):
        given, own = (x @ w + b).chunk(3, 1), (h @ u).chunk(3, 1)
        r, z = (torch.sigmoid(given[k] + own[k]) for k in (0, 1))
        return (1 - z) * torch.tanh(given[2] + r * own[2]) + z * h

    return recurrence(cell, 3)


def training(model, optimizer, *x, y):
    model.compile(dynamic=False)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(*x), y)
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


def resnet50():
    model = nn.Sequential(rosetta("resnet50").ResNet50(), nn.Linear(2048, 1000))
    return training(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
                    numbers(1, 3, 224, 224), y=torch.arange(1))


class Gpt2(nn.Module):
    def __init__(self, width=768, vocabulary=50_257, layers=12):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(1024, width)
        self.blocks = nn.Sequential(*(rosetta("transformer").Block() for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = self.words(x) + self.places.weight[:x.shape[1]]
        return (self.norm(self.blocks(y)) @ self.words.weight.T).reshape(-1, len(self.words.weight))


def sentence(words=128):
    return torch.from_numpy(np.random.default_rng(0).integers(0, 50_257, (1, words)))


def gpt2():
    model, x = Gpt2().eval().requires_grad_(False), sentence()
    model.compile(dynamic=False)
    return lambda: model(x)


def gpt2_training():
    model, x = Gpt2(), sentence()
    return training(model, torch.optim.Adam(model.parameters(), lr=1e-4), x, y=x.reshape(-1))


ROWS = {"chain": chain, "mlp": mlp, "rnn": rnn, "gru": gru, "resnet50": resnet50, "gpt2": gpt2,
        "gpt2-training": gpt2_training}
