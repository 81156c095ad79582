"""A layer norm and its gradients, in PyTorch."""
import sys

import numpy as np
import torch
from torch.nn import functional as F

MODES = "eager", "compile"


def data(count=8192, width=1024, seed=0):
    """Rows (count, width), weight and bias (width), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    shapes = (count, width), (width,), (width,), (count, width)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, x, weight, bias, gradient):
    return *(torch.from_numpy(a).requires_grad_() for a in (x, weight, bias)), torch.from_numpy(gradient)


def norm(x, weight, bias):
    return F.layer_norm(x, weight.shape, weight, bias)


def initialise(mode="eager"):
    return torch.compile(norm, dynamic=False) if mode == "compile" else norm


def step(f, x, weight, bias, g):
    y = f(x, weight, bias)
    return y, *torch.autograd.grad(y, (x, weight, bias), g)


def evaluate(f, *inputs):
    names = "y", "gradient of x", "gradient of weight", "gradient of bias"
    return {name: a.detach().numpy() for name, a in zip(names, step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
