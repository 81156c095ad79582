"""Where numbers would go into a sorted row, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph",


def data(size=100_000, count=1_000_000, seed=0):
    """A sorted row of normal numbers, and the numbers to look for."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.standard_normal(size, np.float32)), rng.standard_normal(count, np.float32)


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def places(x, z):
    return tf.searchsorted(x, z, out_type=tf.int64)


def initialise(mode="graph"):
    return tf.function(places)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"i": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data(5, 3))))
