"""The rows of `benchmarks/compile_time_rows.py` in JAX, by `jax.jit`; of ResNet-50 there is no training in JAX."""
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

WIDTH, STEPS, LAYERS, OPS = 64, 1000, 1000, 20_000


def numbers(*shape, scale=0.1):
    return jnp.asarray(np.random.default_rng(0).normal(0, scale, shape).astype(np.float32))


def called(f, *args):
    f = jax.jit(f)
    return lambda: jax.block_until_ready(f(*args))


def chain():
    def f(x):
        for _ in range(OPS // 4):
            x = jnp.sin(x * 1.01 + 0.1) - 0.1
        return x

    return called(f, numbers(64, 64))


def mlp():
    def loss(parameters, x):
        for w, b in parameters:
            x = x + jnp.tanh(x @ w + b)
        return (x ** 2).mean()

    parameters = [(numbers(WIDTH, WIDTH, scale=0.01), numbers(WIDTH, scale=0.01)) for _ in range(LAYERS)]
    return called(jax.value_and_grad(loss), parameters, numbers(16, WIDTH))


def recurrence(cell, gates):
    def loss(parameters, x):
        h = jnp.zeros((16, WIDTH))
        for k in range(STEPS):
            h = cell(x[k], h, *parameters)
        return (h ** 2).mean()

    shapes = (WIDTH, gates * WIDTH), (WIDTH, gates * WIDTH), (gates * WIDTH,)
    return called(jax.value_and_grad(loss), [numbers(*s) for s in shapes], numbers(STEPS, 16, WIDTH))


def rnn():
    return recurrence(lambda x, h, w, u, b: jnp.tanh(x @ w + h @ u + b), 1)


def gru():
    def cell(x, h, w, u, b):
        given, own = jnp.split(x @ w + b, 3, axis=1), jnp.split(h @ u, 3, axis=1)
        r, z = (jax.nn.sigmoid(given[k] + own[k]) for k in (0, 1))
        return (1 - z) * jnp.tanh(given[2] + r * own[2]) + z * h

    return recurrence(cell, 3)


class Gpt2(nn.Module):
    @nn.compact
    def __call__(self, x):
        words, places = nn.Embed(50_257, 768), nn.Embed(1024, 768)
        y = words(x) + places(jnp.arange(x.shape[1]))
        for _ in range(12):
            y = importlib.import_module("stele.rosetta.jax.transformer").Block()(y)
        return words.attend(nn.LayerNorm(1e-5)(y)).reshape(-1, 50_257)


def sentence(words=128):
    return jnp.asarray(np.random.default_rng(0).integers(0, 50_257, (1, words)))


def gpt2():
    model, x = Gpt2(), sentence()
    return called(model.apply, jax.jit(model.init)(jax.random.key(0), x), x)


def gpt2_training():
    model, x, optimizer = Gpt2(), sentence(), optax.adam(1e-4)
    weights = jax.jit(model.init)(jax.random.key(0), x)
    state = weights, jax.jit(optimizer.init)(weights)

    @jax.jit
    def step(weights, moments):
        def loss(weights):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(weights, x), x.reshape(-1)).mean()
        value, gradient = jax.value_and_grad(loss)(weights)
        change, moments = optimizer.update(gradient, moments)
        return value, optax.apply_updates(weights, change), moments

    return lambda: jax.block_until_ready(step(*state))


ROWS = {"chain": chain, "mlp": mlp, "rnn": rnn, "gru": gru, "gpt2": gpt2, "gpt2-training": gpt2_training}
