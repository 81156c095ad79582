"""The largest numbers of rows and where they stand, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"
K = 50


def data(rows=64, count=32_000, seed=0):
    """Rows of normal numbers."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, count), np.float32),


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def largest(x):
    return tf.math.top_k(x, K)


def initialise(mode="graph"):
    return tf.function(largest, jit_compile=mode == "xla")


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    values, positions = step(f, *inputs)
    return {"values": values.numpy(), "positions": positions.numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data(rows=2, count=60))))
