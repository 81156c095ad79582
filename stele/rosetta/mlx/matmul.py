"""The product of two square matrices, in MLX."""
import sys

import mlx.core as mx
import numpy as np

MODES = "compile",

def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(mx.array, arrays))


def product(a, b):
    return a @ b


def initialise(mode="compile"):
    return mx.compile(product)


def step(f, *inputs):
    result = f(*inputs)
    mx.eval(result)
    return result


def evaluate(f, a, b):
    return {"y": np.array(step(f, a, b))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
