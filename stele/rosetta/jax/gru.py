"""A recurrent network that learns from texts of 150 words, in JAX with Flax and Optax."""
import sys
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

MODES = "jit", "jit unroll"

def data(batch=64, seed=0):
    """Word numbers (batch, 150) below 30000, and labels: texts of label 1 end in frequent words."""
    rng = np.random.default_rng(seed)
    texts, labels = rng.integers(0, 30_000, (batch, 150)), rng.integers(0, 2, batch)
    texts[labels == 1, -10:] %= 100
    return texts, labels


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


class Recurrent(nn.Module):
    """PyTorch's GRU: two biases, gates in the order r, z, n; the last state."""

    hidden: int
    unroll: int

    @nn.compact
    def __call__(self, x):
        draw, inputs, n = partial(jax.random.uniform, minval=-0.1, maxval=0.1), x.shape[-1], self.hidden
        w_ih, w_hh = self.param("weight_ih_l0", draw, (3 * n, inputs)), self.param("weight_hh_l0", draw, (3 * n, n))
        b_ih, b_hh = self.param("bias_ih_l0", draw, (3 * n,)), self.param("bias_hh_l0", draw, (3 * n,))

        def advance(h, gates):
            (a_r, a_z, a_n), (c_r, c_z, c_n) = jnp.split(gates, 3, -1), jnp.split(h @ w_hh.T + b_hh, 3, -1)
            r, z = nn.sigmoid(a_r + c_r), nn.sigmoid(a_z + c_z)
            return (1 - z) * nn.tanh(a_n + r * c_n) + z * h, None

        gates = x.swapaxes(0, 1) @ w_ih.T + b_ih
        return jax.lax.scan(advance, jnp.zeros((len(x), n)), gates, unroll=self.unroll)[0]


class Dense(nn.Module):
    """PyTorch's Linear."""

    outputs: int

    @nn.compact
    def __call__(self, x):
        w = self.param("weight", nn.initializers.lecun_uniform(1, 0), (self.outputs, x.shape[-1]))
        return x @ w.T + self.param("bias", nn.initializers.zeros, (self.outputs,))


class Embedding(nn.Module):
    """PyTorch's Embedding."""

    @nn.compact
    def __call__(self, x):
        return self.param("weight", nn.initializers.normal(1.0), (30_000, 125))[x]


class Gru(nn.Module):
    unroll: int = 1

    @nn.compact
    def __call__(self, x):
        last = Recurrent(100, self.unroll, name="gru")(Embedding(name="embedding")(x))
        return Dense(2, name="fc")(last)


optimizer = optax.adam(1e-3)


def initialise(mode="jit", weights=None):
    model = Gru(unroll=10 if mode == "jit unroll" else 1)
    params = model.init(jax.random.key(0), jnp.zeros((1, 150), int))["params"]
    for name, w in (weights or {}).items():
        layer, kind = name.split(".")
        params[layer][kind] = jnp.asarray(w)
    return SimpleNamespace(model=model, params=params, moments=optimizer.init(params))


def loss(params, model, x, y):
    logits = model.apply({"params": params}, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@partial(jax.jit, static_argnums=2, donate_argnums=(0, 1))
def update(params, moments, model, x, y):
    value, gradient = jax.value_and_grad(loss)(params, model, x, y)
    change, moments = optimizer.update(gradient, moments, params)
    return optax.apply_updates(params, change), moments, value


def gradients(state, x, y):
    value, gradient = jax.jit(jax.value_and_grad(loss), static_argnums=1)(state.params, state.model, x, y)
    return float(value), {f"{layer}.{kind}": np.asarray(g) for layer, kinds in gradient.items()
                          for kind, g in kinds.items()}


def step(state, x, y):
    state.params, state.moments, value = update(state.params, state.moments, state.model, x, y)
    return float(value)


def train(mode="jit", steps=60):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 10 == 9:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    logits = state.model.apply({"params": state.params}, x)
    return (float(optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()),
            float((logits.argmax(1) == y).mean()))


if __name__ == "__main__":
    train(*sys.argv[1:])
