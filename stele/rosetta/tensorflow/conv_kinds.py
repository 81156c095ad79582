"""A depthwise, grouped, transposed, 1d or 3d convolution, in TensorFlow."""
import sys

import numpy as np
import tensorflow as tf

MODES = "graph", "xla"


def data(batch=8, inputs=128, outputs=128, groups=1, axes=2, edge=56, depth=16, window=3, seed=0):
    """Signals (batch, inputs, edge), images or volumes (batch, inputs, depth, edge, edge), and weights (outputs, inputs
    / groups, window, ...); of an even window those (inputs, outputs, ...) of a transposed one in steps of 2.
    """
    rng = np.random.default_rng(seed)
    space = {1: (edge,), 2: (edge, edge), 3: (depth, edge, edge)}[axes]
    channels = (outputs, inputs // groups) if window % 2 else (inputs, outputs)
    shapes = (batch, inputs, *space), (*channels, *[window] * axes)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, x, w):
    axes = x.ndim - 2
    turned = w.transpose(*range(2, axes + 2), 1, 0)     # (window, ..., inputs / groups, outputs)
    if w.shape[1] == 1:
        turned = turned.swapaxes(-1, -2)                # of one channel each: (window, window, inputs, 1)
    return tf.constant(np.moveaxis(x, 1, -1)), tf.constant(turned)


def convolution(x, w):
    axes, window = len(x.shape) - 2, w.shape[0]
    if window % 2 == 0:
        batch, edge, _, _ = x.shape
        return tf.nn.conv2d_transpose(x, w, (batch, 2 * edge, 2 * edge, w.shape[2]), 2, "SAME")
    if w.shape[-1] == 1:
        return tf.nn.depthwise_conv2d(x, w, (1, 1, 1, 1), "SAME")
    return tf.nn.convolution(x, w, (1,) * axes, "SAME")


def initialise(mode="graph"):
    return tf.function(convolution, jit_compile=mode == "xla")


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, w):
    return {"y": np.moveaxis(step(f, x, w).numpy(), -1, 1)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "graph"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
