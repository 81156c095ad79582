"""A chain of 20 elementwise operations, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",

def data(count=1000, seed=0):
    """Two arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(count, np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def chain(x, y):
    g = x * x * x * 0.044715 + x
    g = (jnp.tanh(g * 0.7978845608) + 1) * x * 0.5
    s = g * jax.nn.sigmoid(y) + jnp.tanh(x * y)
    return (s - jnp.exp(-(x * x))) * y + x


def initialise(mode="jit"):
    return jax.jit(chain)


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, x, y):
    return {"z": np.asarray(step(f, x, y))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data()))["z"][:10])
