"""The mean cross-entropy of logits and its gradient, in PyTorch."""
import sys

import numpy as np
import torch
from torch.nn import functional as F

MODES = "eager", "compile"


def data(count=4096, classes=32_000, seed=0):
    """Logits (count, classes), and a label for each row."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, classes), np.float32), rng.integers(0, classes, count)


def place(mode, logits, labels):
    return torch.from_numpy(logits).requires_grad_(), torch.from_numpy(labels)


def loss(x, y):
    return F.cross_entropy(x, y)


def initialise(mode="eager"):
    return torch.compile(loss, dynamic=False) if mode == "compile" else loss


def step(f, x, y):
    value = f(x, y)
    return value, *torch.autograd.grad(value, x)


def evaluate(f, x, y):
    value, gradient = step(f, x, y)
    return {"loss": value.detach().numpy(), "gradient of x": gradient.numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data(16)))["loss"])
