"""The running sums of numbers, in Stele."""
import sys

import numpy as np

import stele as st

MODES = "compile",


def data(count=10_000_000, seed=0):
    """Normal numbers."""
    return np.random.default_rng(seed).standard_normal(count, np.float32),


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


def running(x):
    return st.cumulative_sum(x)


def initialise(mode="compile"):
    return st.compile(running)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(5))))
