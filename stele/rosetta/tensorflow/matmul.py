"""The product of two square matrices, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"

def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def product(a, b):
    return a @ b


def initialise(mode="graph"):
    return tf.function(product, jit_compile=mode == "xla")


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, a, b):
    return {"y": step(f, a, b).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
