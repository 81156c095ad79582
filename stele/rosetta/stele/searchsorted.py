"""Where numbers would go into a sorted row, in Stele."""
import sys

import numpy as np

import stele as st

MODES = "compile",


def data(size=100_000, count=1_000_000, seed=0):
    """A sorted row of normal numbers, and the numbers to look for."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.standard_normal(size, np.float32)), rng.standard_normal(count, np.float32)


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


def places(x, z):
    return st.searchsorted(x, z)


def initialise(mode="compile"):
    return st.compile(places)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"i": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(5, 3))))
