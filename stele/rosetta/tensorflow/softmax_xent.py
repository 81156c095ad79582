"""The mean cross-entropy of logits and its gradient, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"

def data(count=4096, classes=32_000, seed=0):
    """Logits (count, classes), and a label for each row."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, classes), np.float32), rng.integers(0, classes, count)


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def loss(x, y):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, x))


def initialise(mode="graph"):
    @tf.function(jit_compile=mode == "xla")
    def value_and_gradient(x, y):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(x, y)
        return value, tape.gradient(value, x)

    return value_and_gradient


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, y):
    value, gradient = step(f, x, y)
    return {"loss": value.numpy(), "gradient of x": gradient.numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data(16)))["loss"])
