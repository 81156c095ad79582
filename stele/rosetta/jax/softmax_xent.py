"""The mean cross-entropy of logits and its gradient, in JAX with Optax."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

MODES = "jit",

def data(count=4096, classes=32_000, seed=0):
    """Logits (count, classes), and a label for each row."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, classes), np.float32), rng.integers(0, classes, count)


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def loss(x, y):
    return optax.softmax_cross_entropy_with_integer_labels(x, y).mean()


def initialise(mode="jit"):
    return jax.jit(jax.value_and_grad(loss))


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, x, y):
    value, gradient = step(f, x, y)
    return {"loss": np.asarray(value), "gradient of x": np.asarray(gradient)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(16)))["loss"])
