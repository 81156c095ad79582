"""The distinct ones of integers, in order, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "imperative",


def data(count=1_000_000, below=1_000_000, seed=0):
    """Integers below a number, each as likely."""
    return np.random.default_rng(seed).integers(0, below, count),


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def distinct(x):
    return jnp.unique(x)


def initialise(mode="imperative"):
    return distinct


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, *inputs):
    return {"y": np.asarray(step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "imperative"
    print(evaluate(initialise(mode), *place(mode, *data(9, 5))))
