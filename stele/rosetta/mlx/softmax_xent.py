"""The mean cross-entropy of logits and its gradient, in MLX."""
import sys

import mlx.core as mx
import numpy as np
from mlx import nn

MODES = "compile",

def data(count=4096, classes=32_000, seed=0):
    """Logits (count, classes), and a label for each row."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, classes), np.float32), rng.integers(0, classes, count)


def place(mode, *arrays):
    return tuple(map(mx.array, arrays))


def loss(x, y):
    return nn.losses.cross_entropy(x, y, reduction="mean")


def initialise(mode="compile"):
    return mx.compile(mx.value_and_grad(loss))


def step(f, *inputs):
    result = f(*inputs)
    mx.eval(result)
    return result


def evaluate(f, x, y):
    value, gradient = step(f, x, y)
    return {"loss": np.array(value), "gradient of x": np.array(gradient)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(16)))["loss"])
