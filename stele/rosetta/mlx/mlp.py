"""A small network that learns from images of 28 x 28 pixels, in MLX."""
import sys
from functools import partial

import mlx.core as mx
import numpy as np
from mlx import nn, optimizers
from mlx.utils import tree_flatten

MODES = "compile",

def data(batch=32, seed=0):
    """Images (batch, 784) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 28, 28), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), 2 * labels] = 1
    return images.reshape(batch, 784), labels


def place(mode, *arrays):
    return tuple(map(mx.array, arrays))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(784, 128), nn.Linear(128, 10)

    def __call__(self, x):
        return self.fc2(nn.relu(self.fc1(x)))


def loss(model, x, y):
    return nn.losses.cross_entropy(model(x), y, reduction="mean")


def initialise(mode="compile", weights=None):
    mx.random.seed(0)
    model, optimizer = Mlp(), optimizers.SGD(0.1)
    if weights:
        model.load_weights([(name, mx.array(w)) for name, w in weights.items()])
    state = [model.state, optimizer.state, mx.random.state]

    @partial(mx.compile, inputs=state, outputs=state)
    def update(x, y):
        value, found = nn.value_and_grad(model, loss)(model, x, y)
        optimizer.update(model, found)
        return value

    return model, update, state


def gradients(state, x, y):
    model, *_ = state
    value, found = nn.value_and_grad(model, loss)(model, x, y)
    return value.item(), {name: np.array(w) for name, w in tree_flatten(found)}


def step(state, x, y):
    _, update, arrays = state
    value = update(x, y)
    mx.eval(value, arrays)
    return value.item()


def train(mode="compile", steps=200):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 50 == 49:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    model, *_ = state
    logits = model(x)
    right = (logits.argmax(1) == y).astype(mx.float32).mean()
    return nn.losses.cross_entropy(logits, y, reduction="mean").item(), right.item()


if __name__ == "__main__":
    train(*sys.argv[1:])
