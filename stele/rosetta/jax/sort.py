"""Rows of numbers in ascending order, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",


def data(rows=4096, count=256, seed=0):
    """Rows of normal numbers; one row has one axis."""
    shape = (rows, count) if rows > 1 else (count,)
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape, np.float32),


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def ordered(x):
    return jnp.sort(x)


def initialise(mode="jit"):
    return jax.jit(ordered)


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, *inputs):
    return {"y": np.asarray(step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(rows=2, count=5))))
