"""Sums of the numbers that go to each place, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"


def data(count=1_000_000, places=100_000, seed=0):
    """Normal numbers, and the place each of them goes to."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(count, np.float32), rng.integers(0, places, count), np.zeros(places, np.float32)


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def summed(x, i, y):
    return tf.tensor_scatter_nd_add(y, i[:, None], x)


def initialise(mode="graph"):
    return tf.function(summed, jit_compile=mode == "xla")


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data(9, 5))))
