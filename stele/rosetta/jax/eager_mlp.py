"""A network that learns from images of 28 x 28 pixels without being compiled, in JAX with Flax and Optax."""
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

MODES = "eager",

def data(batch=64, seed=0):
    """Images (batch, 784) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 28, 28), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), 2 * labels] = 1
    return images.reshape(batch, 784), labels


def place(mode, *arrays):
    return tuple(map(jnp.asarray, arrays))


class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(10, name="fc2")(nn.relu(nn.Dense(256, name="fc1")(x)))


optimizer = optax.sgd(0.1)


def initialise(mode="eager", weights=None):
    model = Mlp()
    params = model.init(jax.random.key(0), jnp.zeros((1, 784)))["params"]
    for name, w in (weights or {}).items():
        layer, kind = name.split(".")
        params[layer]["kernel" if kind == "weight" else "bias"] = jnp.asarray(w.T)
    return SimpleNamespace(model=model, params=params, moments=optimizer.init(params))


def loss(params, model, x, y):
    logits = model.apply({"params": params}, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def update(params, moments, model, x, y):
    value, gradient = jax.value_and_grad(loss)(params, model, x, y)
    change, moments = optimizer.update(gradient, moments, params)
    return optax.apply_updates(params, change), moments, value


def gradients(state, x, y):
    value, gradient = jax.value_and_grad(loss)(state.params, state.model, x, y)
    names = {"kernel": "weight", "bias": "bias"}
    return float(value), {f"{layer}.{names[kind]}": np.asarray(g).T for layer, kinds in gradient.items()
                          for kind, g in kinds.items()}


def step(state, x, y):
    state.params, state.moments, value = update(state.params, state.moments, state.model, x, y)
    return float(value)


def train(mode="eager", steps=200):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 50 == 49:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    logits = state.model.apply({"params": state.params}, x)
    return (float(optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()),
            float((logits.argmax(1) == y).mean()))


if __name__ == "__main__":
    train(*sys.argv[1:])
