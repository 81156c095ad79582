"""A layer norm and its gradients, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"

def data(count=8192, width=1024, seed=0):
    """Rows (count, width), weight and bias (width), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    shapes = (count, width), (width,), (width,), (count, width)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(map(tf.constant, arrays))


def norm(x, weight, bias):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, bias, weight, 1e-5)


def initialise(mode="graph"):
    @tf.function(jit_compile=mode == "xla")
    def pullback(x, weight, bias, g):
        with tf.GradientTape() as tape:
            tape.watch((x, weight, bias))
            y = norm(x, weight, bias)
        return y, *tape.gradient(y, (x, weight, bias), g)

    return pullback


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    names = "y", "gradient of x", "gradient of weight", "gradient of bias"
    return {name: a.numpy() for name, a in zip(names, step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
