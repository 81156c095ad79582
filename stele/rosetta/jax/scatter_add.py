"""Sums of the numbers that go to each place, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",


def data(count=1_000_000, places=100_000, seed=0):
    """Normal numbers, and the place each of them goes to."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(count, np.float32), rng.integers(0, places, count), np.zeros(places, np.float32)


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def summed(x, i, y):
    return y.at[i].add(x)


def initialise(mode="jit"):
    return jax.jit(summed)


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, *inputs):
    return {"y": np.asarray(step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(9, 5))))
