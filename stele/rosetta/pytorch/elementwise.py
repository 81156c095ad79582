"""A chain of 20 elementwise operations, in PyTorch."""
import sys

import numpy as np
import torch

MODES = "eager", "compile"


def data(count=1000, seed=0):
    """Two arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(count, np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(torch.from_numpy, arrays))


def chain(x, y):
    g = x * x * x * 0.044715 + x
    g = (torch.tanh(g * 0.7978845608) + 1) * x * 0.5
    s = g * torch.sigmoid(y) + torch.tanh(x * y)
    return (s - torch.exp(-(x * x))) * y + x


def initialise(mode="eager"):
    return torch.compile(chain, dynamic=False) if mode == "compile" else chain


@torch.inference_mode()
def step(f, x, y):
    return f(x, y)


def evaluate(f, x, y):
    return {"z": step(f, x, y).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data()))["z"][:10])
