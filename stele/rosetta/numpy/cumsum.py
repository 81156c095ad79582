"""The running sums of numbers, in NumPy."""
import sys

import numpy as np

MODES = "numpy",


def data(count=10_000_000, seed=0):
    """Normal numbers."""
    return np.random.default_rng(seed).standard_normal(count, np.float32),


def place(mode, *arrays):
    return arrays


def running(x):
    return np.cumsum(x)


def initialise(mode="numpy"):
    return running


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "numpy"
    print(evaluate(initialise(mode), *place(mode, *data(5))))
