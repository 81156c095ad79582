"""Rows of a table at computed places, in PyTorch."""
import sys

import numpy as np
import torch

MODES = "eager", "compile"


def data(rows=100_000, width=64, count=100_000, seed=0):
    """A table of normal numbers, and the rows that are asked for."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, width), np.float32), rng.integers(0, rows, count)


def place(mode, *arrays):
    return tuple(map(torch.from_numpy, arrays))


def taken(x, i):
    return torch.index_select(x, 0, i)


def initialise(mode="eager"):
    return torch.compile(taken, dynamic=False) if mode == "compile" else taken


@torch.inference_mode()
def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data(5, 4, 3))))
