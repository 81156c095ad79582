"""Sums of the numbers that go to each place, in Stele."""
import sys

import numpy as np

import stele as st

MODES = "compile",


def data(count=1_000_000, places=100_000, seed=0):
    """Normal numbers, and the place each of them goes to."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(count, np.float32), rng.integers(0, places, count), np.zeros(places, np.float32)


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


def summed(x, i, y):
    return st.index_add(y, i, x)


def initialise(mode="compile"):
    return st.compile(summed)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(9, 5))))
