"""The running sums of numbers, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"


def data(count=10_000_000, seed=0):
    """Normal numbers."""
    return np.random.default_rng(seed).standard_normal(count, np.float32),


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def running(x):
    return tf.cumsum(x)


def initialise(mode="graph"):
    return tf.function(running, jit_compile=mode == "xla")


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data(5))))
