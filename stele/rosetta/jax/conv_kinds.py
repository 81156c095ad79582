"""A depthwise, grouped, transposed, 1d or 3d convolution, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",


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
    return jnp.asarray(x), jnp.asarray(w)


def convolution(x, w):
    axes, window = x.ndim - 2, w.shape[2]
    if window % 2:
        return jax.lax.conv_general_dilated(x, w, (1,) * axes, "SAME", feature_group_count=x.shape[1] // w.shape[1])
    turned = jnp.flip(w.swapaxes(0, 1), (2, 3))
    return jax.lax.conv_general_dilated(x, turned, (1, 1), [(window // 2, window // 2)] * 2, lhs_dilation=(2, 2))


def initialise(mode="jit"):
    return jax.jit(convolution)


def step(f, x, w):
    return f(x, w).block_until_ready()


def evaluate(f, x, w):
    return {"y": np.asarray(step(f, x, w))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
