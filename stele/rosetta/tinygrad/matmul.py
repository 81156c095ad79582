"""The product of two square matrices, in tinygrad."""
import sys

import numpy as np
from tinygrad import Tensor, TinyJit

MODES = "jit",

def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(Tensor(a).realize() for a in arrays)


def product(a, b):
    return a @ b


def initialise(mode="jit"):
    return TinyJit(lambda a, b: product(a, b).realize())


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, a, b):
    return {"y": step(f, a, b).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
