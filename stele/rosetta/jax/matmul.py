"""The product of two square matrices, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",

def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def product(a, b):
    return a @ b


def initialise(mode="jit"):
    return jax.jit(product)


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, a, b):
    return {"y": np.asarray(step(f, a, b))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
