"""A recurrent network that learns from texts of 150 words, in MLX."""
import sys
from functools import partial

import mlx.core as mx
import numpy as np
from mlx import nn, optimizers
from mlx.utils import tree_flatten

MODES = "compile",


def data(batch=64, seed=0):
    """Word numbers (batch, 150) below 30000, and labels: texts of label 1 end in frequent words."""
    rng = np.random.default_rng(seed)
    texts, labels = rng.integers(0, 30_000, (batch, 150)), rng.integers(0, 2, batch)
    texts[labels == 1, -10:] %= 100
    return texts, labels


def place(mode, *arrays):
    return tuple(map(mx.array, arrays))


class Recurrent(nn.Module):
    """PyTorch's GRU: two biases, gates in the order r, z, n; the last state."""

    def __init__(self, inputs, hidden):
        super().__init__()
        draw = partial(mx.random.uniform, -0.1, 0.1)
        self.weight_ih_l0, self.weight_hh_l0 = draw((3 * hidden, inputs)), draw((3 * hidden, hidden))
        self.bias_ih_l0, self.bias_hh_l0 = draw((3 * hidden,)), draw((3 * hidden,))

    def __call__(self, x):
        gates = x @ self.weight_ih_l0.T + self.bias_ih_l0
        h = mx.zeros((len(x), self.weight_hh_l0.shape[1]))
        for t in range(x.shape[1]):
            a_r, a_z, a_n = gates[:, t].split(3, -1)
            c_r, c_z, c_n = (h @ self.weight_hh_l0.T + self.bias_hh_l0).split(3, -1)
            r, z = mx.sigmoid(a_r + c_r), mx.sigmoid(a_z + c_z)
            h = (1 - z) * mx.tanh(a_n + r * c_n) + z * h
        return h


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30_000, 125)
        self.gru = Recurrent(125, 100)
        self.fc = nn.Linear(100, 2)

    def __call__(self, x):
        return self.fc(self.gru(self.embedding(x)))


def loss(model, x, y):
    return nn.losses.cross_entropy(model(x), y, reduction="mean")


def initialise(mode="compile", weights=None):
    mx.random.seed(0)
    model, optimizer = Gru(), optimizers.Adam(1e-3, bias_correction=True)
    if weights:
        model.load_weights([(name, mx.array(w)) for name, w in weights.items()])
    state = [model.state, optimizer.state]

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


def train(mode="compile", steps=60):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 10 == 9:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    model, *_ = state
    logits = model(x)
    right = (logits.argmax(1) == y).astype(mx.float32).mean()
    return nn.losses.cross_entropy(logits, y, reduction="mean").item(), right.item()


if __name__ == "__main__":
    train(*sys.argv[1:])
