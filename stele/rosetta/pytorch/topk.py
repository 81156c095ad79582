"""The largest numbers of rows and where they stand, in PyTorch."""
import sys

import numpy as np
import torch

MODES = "eager",
K = 50


def data(rows=64, count=32_000, seed=0):
    """Rows of normal numbers."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, count), np.float32),


def place(mode, *arrays):
    return tuple(map(torch.from_numpy, arrays))


def largest(x):
    return torch.topk(x, K)


def initialise(mode="eager"):
    return largest


@torch.inference_mode()
def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    values, positions = step(f, *inputs)
    return {"values": values.numpy(), "positions": positions.numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data(rows=2, count=60))))
