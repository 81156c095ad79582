"""A chain of 20 elementwise operations, in tinygrad."""
import sys

import numpy as np
from tinygrad import Tensor, TinyJit

MODES = "jit",

def data(count=1000, seed=0):
    """Two arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(count, np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(Tensor(a).realize() for a in arrays)


def chain(x, y):
    g = x * x * x * 0.044715 + x
    g = ((g * 0.7978845608).tanh() + 1) * x * 0.5
    s = g * y.sigmoid() + (x * y).tanh()
    return (s - (-(x * x)).exp()) * y + x


def initialise(mode="jit"):
    return TinyJit(lambda x, y: chain(x, y).realize())


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, y):
    return {"z": step(f, x, y).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data()))["z"][:10])
