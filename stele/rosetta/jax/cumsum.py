"""The running sums of numbers, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",


def data(count=10_000_000, seed=0):
    """Normal numbers."""
    return np.random.default_rng(seed).standard_normal(count, np.float32),


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def running(x):
    return jnp.cumsum(x)


def initialise(mode="jit"):
    return jax.jit(running)


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, *inputs):
    return {"y": np.asarray(step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(5))))
