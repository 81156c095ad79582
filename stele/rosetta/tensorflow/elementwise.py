"""A chain of 20 elementwise operations, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"

def data(count=1000, seed=0):
    """Two arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(count, np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def chain(x, y):
    g = x * x * x * 0.044715 + x
    g = (tf.tanh(g * 0.7978845608) + 1) * x * 0.5
    s = g * tf.sigmoid(y) + tf.tanh(x * y)
    return (s - tf.exp(-(x * x))) * y + x


def initialise(mode="graph"):
    return tf.function(chain, jit_compile=mode == "xla")


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, y):
    return {"z": step(f, x, y).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data()))["z"][:10])
