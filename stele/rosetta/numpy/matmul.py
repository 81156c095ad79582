"""The product of two square matrices, in NumPy."""
import sys

import numpy as np

MODES = "blas",

def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return arrays


def product(a, b):
    return a @ b


def initialise(mode="blas"):
    return product


def step(f, a, b):
    return f(a, b)


def evaluate(f, a, b):
    return {"y": step(f, a, b)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "blas"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
