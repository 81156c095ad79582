"""The mean cross-entropy of logits and its gradient, in tinygrad."""
import sys

import numpy as np
from tinygrad import Tensor, TinyJit

MODES = "jit",

def data(count=4096, classes=32_000, seed=0):
    """Logits (count, classes), and a label for each row."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, classes), np.float32), rng.integers(0, classes, count)


def place(mode, logits, labels):
    return Tensor(logits).realize(), Tensor(labels.astype(np.int32)).realize()


def loss(x, y):
    return x.sparse_categorical_crossentropy(y)


def initialise(mode="jit"):
    @TinyJit
    def value_and_gradient(x, y):
        value = loss(x, y)
        gradient, = value.gradient(x)
        return value.realize(gradient), gradient

    return value_and_gradient


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, y):
    value, gradient = step(f, x, y)
    return {"loss": value.numpy(), "gradient of x": gradient.numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(16)))["loss"])
