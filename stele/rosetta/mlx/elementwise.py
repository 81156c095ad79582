"""A chain of 20 elementwise operations, in MLX."""
import sys

import mlx.core as mx
import numpy as np

MODES = "compile",

def data(count=1000, seed=0):
    """Two arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(count, np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(mx.array, arrays))


def chain(x, y):
    g = x * x * x * 0.044715 + x
    g = (mx.tanh(g * 0.7978845608) + 1) * x * 0.5
    s = g * mx.sigmoid(y) + mx.tanh(x * y)
    return (s - mx.exp(-(x * x))) * y + x


def initialise(mode="compile"):
    return mx.compile(chain)


def step(f, *inputs):
    result = f(*inputs)
    mx.eval(result)
    return result


def evaluate(f, x, y):
    return {"z": np.array(step(f, x, y))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data()))["z"][:10])
