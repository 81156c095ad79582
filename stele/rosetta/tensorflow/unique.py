"""The distinct ones of integers, in order, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph",


def data(count=1_000_000, below=1_000_000, seed=0):
    """Integers below a number, each as likely."""
    return np.random.default_rng(seed).integers(0, below, count),


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def distinct(x):
    return tf.sort(tf.unique(x).y)


def initialise(mode="graph"):
    return tf.function(distinct)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    return {"y": step(f, *inputs).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data(9, 5))))
