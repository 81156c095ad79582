"""One convolution of 32 images, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"

def data(batch=32, inputs=64, outputs=64, edge=56, window=3, seed=0):
    """Images (batch, inputs, edge, edge), and weights (outputs, inputs, window, window)."""
    rng = np.random.default_rng(seed)
    shapes = (batch, inputs, edge, edge), (outputs, inputs, window, window)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, x, w):
    return tf.constant(x.transpose(0, 2, 3, 1)), tf.constant(w.transpose(2, 3, 1, 0))


def convolution(x, w):
    return tf.nn.conv2d(x, w, 1, "SAME")


def initialise(mode="graph"):
    return tf.function(convolution, jit_compile=mode == "xla")


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, w):
    return {"y": step(f, x, w).numpy().transpose(0, 3, 1, 2)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
