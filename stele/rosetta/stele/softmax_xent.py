"""The mean cross-entropy of logits and its gradient, in Stele."""
import sys

import numpy as np

import stele as st
from stele import nn

MODES = "compile",


def data(count=4096, classes=32_000, seed=0):
    """Logits (count, classes), and a label for each row."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, classes), np.float32), rng.integers(0, classes, count)


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


def loss(x, y):
    return nn.cross_entropy(x, y)


def initialise(mode="compile"):
    return st.compile(st.value_and_grad(loss))


def step(f, x, y):
    return f(x, y)


def evaluate(f, x, y):
    value, gradient = step(f, x, y)
    return {"loss": value.numpy(), "gradient of x": gradient.numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(16)))["loss"])
