"""One convolution of 32 images, in tinygrad."""
import sys

import numpy as np
from tinygrad import Tensor, TinyJit

MODES = "jit",

def data(batch=32, inputs=64, outputs=64, edge=56, window=3, seed=0):
    """Images (batch, inputs, edge, edge), and weights (outputs, inputs, window, window)."""
    rng = np.random.default_rng(seed)
    shapes = (batch, inputs, edge, edge), (outputs, inputs, window, window)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(Tensor(a).realize() for a in arrays)


def convolution(x, w):
    return x.conv2d(w, padding=w.shape[2] // 2)


def initialise(mode="jit"):
    return TinyJit(lambda x, w: convolution(x, w).realize())


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, x, w):
    return {"y": step(f, x, w).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
