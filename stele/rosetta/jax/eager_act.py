"""A policy of two small layers looks at one observation, uncompiled, in JAX with Flax."""
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

MODES = "eager",


def data(batch=1, seed=0):
    """Observations (batch, 4) of normal numbers."""
    return np.random.default_rng(seed).standard_normal((batch, 4), np.float32),


def place(mode, x):
    return jnp.asarray(x),


class Policy(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2, name="fc2")(nn.relu(nn.Dense(64, name="fc1")(x)))


def initialise(mode="eager", weights=None):
    model = Policy()
    params = model.init(jax.random.key(0), jnp.zeros((1, 4)))["params"]
    for name, w in (weights or {}).items():
        layer, kind = name.split(".")
        params[layer]["kernel" if kind == "weight" else "bias"] = jnp.asarray(w.T)
    return SimpleNamespace(model=model, params=params)


def step(state, x):
    return np.asarray(state.model.apply({"params": state.params}, x))


def evaluate(state, x):
    return {"y": step(state, x)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"])
