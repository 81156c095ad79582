"""A layer norm and its gradients, in JAX."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

MODES = "jit",

def data(count=8192, width=1024, seed=0):
    """Rows (count, width), weight and bias (width), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    shapes = (count, width), (width,), (width,), (count, width)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


def norm(x, weight, bias):
    return jax.nn.standardize(x, epsilon=1e-5) * weight + bias


def initialise(mode="jit"):
    @jax.jit
    def pullback(x, weight, bias, g):
        y, back = jax.vjp(norm, x, weight, bias)
        return y, *back(g)

    return pullback


def step(f, *inputs):
    return jax.block_until_ready(f(*inputs))


def evaluate(f, *inputs):
    names = "y", "gradient of x", "gradient of weight", "gradient of bias"
    return {name: np.asarray(a) for name, a in zip(names, step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
