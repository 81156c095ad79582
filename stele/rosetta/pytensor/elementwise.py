"""A chain of 20 elementwise operations, in PyTensor."""
import sys

import numpy as np
import pytensor
from pytensor import tensor as pt

MODES = "numba",

def data(count=1000, seed=0):
    """Two arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(count, np.float32) for _ in range(2))


def place(mode, *arrays):
    return arrays


def chain(x, y):
    g = x * x * x * np.float32(0.044715) + x
    g = (pt.tanh(g * np.float32(0.7978845608)) + 1) * x * np.float32(0.5)
    s = g * pt.sigmoid(y) + pt.tanh(x * y)
    return (s - pt.exp(-(x * x))) * y + x


def initialise(mode="numba"):
    x, y = pt.fvector("x"), pt.fvector("y")
    return pytensor.function([x, y], chain(x, y), mode="NUMBA", trust_input=True)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, y):
    return {"z": step(f, x, y)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "numba"
    print(evaluate(initialise(mode), *place(mode, *data()))["z"][:10])
