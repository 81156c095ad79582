"""Rows of a table at computed places, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",


def data(rows=100_000, width=64, count=100_000, seed=0):
    """A table of normal numbers, and the rows that are asked for."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, width), np.float32), rng.integers(0, rows, count)


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def taken(x, i):
    return jnp.take(x, i, axis=0)


def initialise(mode="jit"):
    return jax.jit(taken)


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, *inputs):
    return {"y": np.asarray(step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(5, 4, 3))))
