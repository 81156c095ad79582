"""A convolutional network that learns from images of 32 x 32 pixels, in JAX with Flax and Optax."""
import sys
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

MODES = "jit",

def data(batch=64, seed=0):
    """Images (batch, 3, 32, 32) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 3, 32, 32), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), :, 3 * labels] = 1
    return images, labels


def place(mode, images, labels):
    return jnp.asarray(images.transpose(0, 2, 3, 1)), jnp.asarray(labels)


class Cnn(nn.Module):
    dropout: bool = True

    @nn.compact
    def __call__(self, x, train=True):
        x = self.block(x, 50, "conv1", "conv2", train)
        x = self.block(x, 100, "conv3", "conv4", train)
        x = nn.relu(nn.Dense(512, name="fc1")(x.reshape(len(x), -1)))
        return nn.Dense(10, name="fc2")(nn.Dropout(0.5 * self.dropout, deterministic=not train)(x))

    def block(self, x, channels, first, second, train):
        x = nn.relu(nn.Conv(channels, (3, 3), name=first)(x))
        x = nn.relu(nn.max_pool(nn.Conv(channels, (3, 3), name=second)(x), (2, 2), (2, 2)))
        return nn.Dropout(0.25 * self.dropout, deterministic=not train)(x)


def from_torch(name, w):
    """A parameter as Flax lays it out: channels last, inputs before outputs."""
    if w.ndim == 4:
        return w.transpose(2, 3, 1, 0)
    if name == "fc1.weight":
        return w.reshape(512, 100, 8, 8).transpose(2, 3, 1, 0).reshape(6400, 512)
    return w.T


def to_torch(name, w):
    """The way back."""
    if w.ndim == 4:
        return w.transpose(3, 2, 0, 1)
    if name == "fc1.weight":
        return w.reshape(8, 8, 100, 512).transpose(3, 2, 0, 1).reshape(512, 6400)
    return w.T


optimizer = optax.sgd(0.01, momentum=0.9)


def initialise(mode="jit", weights=None, dropout=True):
    model, key = Cnn(dropout), jax.random.key(0)
    params = model.init(key, jnp.zeros((1, 32, 32, 3)), train=False)["params"]
    for name, w in (weights or {}).items():
        layer, kind = name.split(".")
        params[layer]["kernel" if kind == "weight" else "bias"] = jnp.asarray(from_torch(name, w))
    return SimpleNamespace(model=model, params=params, moments=optimizer.init(params), key=key)


def loss(params, model, x, y, key):
    logits = model.apply({"params": params}, x, rngs={"dropout": key})
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@partial(jax.jit, static_argnums=2, donate_argnums=(0, 1, 5))
def update(params, moments, model, x, y, key):
    key, drop = jax.random.split(key)
    value, gradient = jax.value_and_grad(loss)(params, model, x, y, drop)
    change, moments = optimizer.update(gradient, moments, params)
    return optax.apply_updates(params, change), moments, key, value


def gradients(state, x, y):
    value, gradient = jax.jit(jax.value_and_grad(loss), static_argnums=1)(state.params, state.model, x, y, state.key)
    names = {"kernel": "weight", "bias": "bias"}
    found = {f"{layer}.{names[kind]}": g for layer, kinds in gradient.items() for kind, g in kinds.items()}
    return float(value), {name: to_torch(name, np.asarray(g)) for name, g in found.items()}


def step(state, x, y):
    state.params, state.moments, state.key, value = update(state.params, state.moments, state.model, x, y, state.key)
    return float(value)


def train(mode="jit", steps=60):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 10 == 9:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    logits = state.model.apply({"params": state.params}, x, train=False)
    return (float(optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()),
            float((logits.argmax(1) == y).mean()))


if __name__ == "__main__":
    train(*sys.argv[1:])
