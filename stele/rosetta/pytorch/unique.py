"""The distinct ones of integers, in order, in PyTorch."""
import sys

import numpy as np
import torch

MODES = "eager",


def data(count=1_000_000, below=1_000_000, seed=0):
    """Integers below a number, each as likely."""
    return np.random.default_rng(seed).integers(0, below, count),


def place(mode, *arrays):
    return tuple(map(torch.from_numpy, arrays))


def distinct(x):
    return torch.unique(x)


def initialise(mode="eager"):
    return distinct


@torch.inference_mode()
def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data(9, 5))))
