"""A block of GPT-2 with the gradients of its input and its parameters, in JAX with Flax."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

MODES = "jit",
WIDTH, HEADS = 768, 12

def data(batch=4, words=256, seed=0):
    """Texts (batch, words, 768), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((batch, words, WIDTH), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x + self.attention(nn.LayerNorm(1e-5, name="norm1")(x))
        y = nn.Dense(4 * WIDTH, name="up")(nn.LayerNorm(1e-5, name="norm2")(x))
        return x + nn.Dense(WIDTH, name="down")(nn.gelu(y, approximate=True))

    def attention(self, x):
        q, k, v = jnp.split(nn.Dense(3 * WIDTH, name="qkv")(x).reshape(*x.shape[:2], 3 * HEADS, -1), 3, axis=2)
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return nn.Dense(WIDTH, name="out")(y.reshape(x.shape))


def initialise(mode="jit", weights=None):
    model = Block()
    params = model.init(jax.random.key(0), jnp.zeros((1, 1, WIDTH)))["params"]
    for name, w in (weights or {}).items():
        layer, kind = name.split(".")
        kinds = {"weight": "scale" if "norm" in layer else "kernel", "bias": "bias"}
        params[layer][kinds[kind]] = jnp.asarray(w.T)

    @jax.jit
    def pullback(params, x, g):
        y, back = jax.vjp(lambda params, x: model.apply({"params": params}, x), params, x)
        return y, *back(g)

    return pullback, params


def step(state, x, g):
    pullback, params = state
    return jax.block_until_ready(pullback(params, x, g))


def evaluate(state, x, g):
    y, gradient, dx = step(state, x, g)
    names = {"kernel": "weight", "scale": "weight", "bias": "bias"}
    found = {f"gradient of {layer}.{names[kind]}": np.asarray(d).T for layer, kinds in gradient.items()
             for kind, d in kinds.items()}
    return {"y": np.asarray(y), "gradient of x": np.asarray(dx), **found}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
