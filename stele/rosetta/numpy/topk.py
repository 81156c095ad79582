"""The largest numbers of rows and where they stand, in NumPy."""
import sys

import numpy as np

MODES = "numpy",
K = 50


def data(rows=64, count=32_000, seed=0):
    """Rows of normal numbers."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, count), np.float32),


def place(mode, *arrays):
    return arrays


def largest(x):
    i = np.argpartition(x, -K, axis=-1)[:, -K:]
    order = np.argsort(-np.take_along_axis(x, i, -1), axis=-1)
    i = np.take_along_axis(i, order, -1)
    return np.take_along_axis(x, i, -1), i


def initialise(mode="numpy"):
    return largest


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    values, positions = step(f, *inputs)
    return {"values": values, "positions": positions}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "numpy"
    print(evaluate(initialise(mode), *place(mode, *data(rows=2, count=60))))
