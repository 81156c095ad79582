"""One convolution of 32 images, in MLX."""
import sys

import mlx.core as mx
import numpy as np

MODES = "compile",

def data(batch=32, inputs=64, outputs=64, edge=56, window=3, seed=0):
    """Images (batch, inputs, edge, edge), and weights (outputs, inputs, window, window)."""
    rng = np.random.default_rng(seed)
    shapes = (batch, inputs, edge, edge), (outputs, inputs, window, window)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, x, w):
    return mx.array(x.transpose(0, 2, 3, 1)), mx.array(w.transpose(0, 2, 3, 1))


def convolution(x, w):
    return mx.conv2d(x, w, padding=w.shape[1] // 2)


def initialise(mode="compile"):
    return mx.compile(convolution)


def step(f, *inputs):
    result = f(*inputs)
    mx.eval(result)
    return result


def evaluate(f, x, w):
    return {"y": np.array(step(f, x, w)).transpose(0, 3, 1, 2)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
