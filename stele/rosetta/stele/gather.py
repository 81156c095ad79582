"""Rows of a table at computed places, in Stele."""
import sys

import numpy as np

import stele as st

MODES = "compile",


def data(rows=100_000, width=64, count=100_000, seed=0):
    """A table of normal numbers, and the rows that are asked for."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, width), np.float32), rng.integers(0, rows, count)


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


def taken(x, i):
    return st.take(x, i, axis=0)


def initialise(mode="compile"):
    return st.compile(taken)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(5, 4, 3))))
