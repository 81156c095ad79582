"""One convolution of 32 images, in JAX."""
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit NHWC", "jit NCHW"

def data(batch=32, inputs=64, outputs=64, edge=56, window=3, seed=0):
    """Images (batch, inputs, edge, edge), and weights (outputs, inputs, window, window)."""
    rng = np.random.default_rng(seed)
    shapes = (batch, inputs, edge, edge), (outputs, inputs, window, window)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, x, w):
    if mode == "jit NHWC":
        x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    return jnp.asarray(x), jnp.asarray(w)


def convolution(layouts, x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layouts)


def initialise(mode="jit NHWC"):
    layouts = ("NHWC", "HWIO", "NHWC") if mode == "jit NHWC" else ("NCHW", "OIHW", "NCHW")
    return jax.jit(partial(convolution, layouts)), mode


def step(state, x, w):
    f, _ = state
    return f(x, w).block_until_ready()


def evaluate(state, x, w):
    _, mode = state
    y = np.asarray(step(state, x, w))
    return {"y": y.transpose(0, 3, 1, 2) if mode == "jit NHWC" else y}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit NHWC"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
