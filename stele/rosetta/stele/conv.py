"""One convolution of 32 images, in Stele."""
import sys

import numpy as np

import stele as st

MODES = "compile",


def data(batch=32, inputs=64, outputs=64, edge=56, window=3, seed=0):
    """Images (batch, inputs, edge, edge), and weights (outputs, inputs, window, window)."""
    rng = np.random.default_rng(seed)
    shapes = (batch, inputs, edge, edge), (outputs, inputs, window, window)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


def convolution(x, w):
    return st.conv2d(x, w, padding=w.shape[2] // 2)


def initialise(mode="compile"):
    return st.compile(convolution)


def step(f, x, w):
    return f(x, w)


def evaluate(f, x, w):
    return {"y": step(f, x, w).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
