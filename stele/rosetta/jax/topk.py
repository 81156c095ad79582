"""The largest numbers of rows and where they stand, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",
K = 50


def data(rows=64, count=32_000, seed=0):
    """Rows of normal numbers."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, count), np.float32),


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def largest(x):
    return jax.lax.top_k(x, K)


def initialise(mode="jit"):
    return jax.jit(largest)


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, *inputs):
    values, positions = step(f, *inputs)
    return {"values": np.asarray(values), "positions": np.asarray(positions)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(rows=2, count=60))))
