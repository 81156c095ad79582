"""Rows of numbers in ascending order, in Stele."""
import sys

import numpy as np

import stele as st

MODES = "compile",


def data(rows=4096, count=256, seed=0):
    """Rows of normal numbers; one row has one axis."""
    shape = (rows, count) if rows > 1 else (count,)
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape, np.float32),


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


def ordered(x):
    return st.sort(x)


def initialise(mode="compile"):
    return st.compile(ordered)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(rows=2, count=5))))
