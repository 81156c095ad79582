"""The product of two square matrices, in PyTorch."""
import sys

import numpy as np
import torch

MODES = "eager", "compile", "bf16"


def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(torch.from_numpy, arrays))


def product(a, b):
    return a @ b


def initialise(mode="eager"):
    if mode == "bf16":
        return torch.autocast("cpu", torch.bfloat16)(product)
    return torch.compile(product, dynamic=False) if mode == "compile" else product


@torch.inference_mode()
def step(f, a, b):
    return f(a, b)


def evaluate(f, a, b):
    return {"y": step(f, a, b).float().numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
