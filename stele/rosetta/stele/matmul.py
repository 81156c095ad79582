"""The product of two square matrices, in Stele."""
import sys

import numpy as np

import stele as st

MODES = "compile",


def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


def product(a, b):
    return a @ b


def initialise(mode="compile"):
    return st.compile(product)


def step(f, a, b):
    return f(a, b)


def evaluate(f, a, b):
    return {"y": step(f, a, b).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
