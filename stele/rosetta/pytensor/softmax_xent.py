"""The mean cross-entropy of logits and its gradient, in PyTensor."""
import sys

import numpy as np
import pytensor
from pytensor import tensor as pt

MODES = "numba",

def data(count=4096, classes=32_000, seed=0):
    """Logits (count, classes), and a label for each row."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, classes), np.float32), rng.integers(0, classes, count)


def place(mode, *arrays):
    return arrays


def loss(x, y):
    return -pt.special.log_softmax(x, axis=1)[pt.arange(y.shape[0]), y].mean(dtype="float32")


def initialise(mode="numba"):
    x, y = pt.fmatrix("x"), pt.lvector("y")
    value = loss(x, y)
    return pytensor.function([x, y], [value, pt.grad(value, x)], mode="NUMBA", trust_input=True)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, y):
    value, gradient = step(f, x, y)
    return {"loss": value, "gradient of x": gradient}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "numba"
    print(evaluate(initialise(mode), *place(mode, *data(16)))["loss"])
