"""Where numbers would go into a sorted row, in NumPy."""
import sys

import numpy as np

MODES = "numpy",


def data(size=100_000, count=1_000_000, seed=0):
    """A sorted row of normal numbers, and the numbers to look for."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.standard_normal(size, np.float32)), rng.standard_normal(count, np.float32)


def place(mode, *arrays):
    return arrays


def places(x, z):
    return np.searchsorted(x, z)


def initialise(mode="numpy"):
    return places


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"i": step(f, *inputs)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "numpy"
    print(evaluate(initialise(mode), *place(mode, *data(5, 3))))
