"""A convolutional network that learns from images of 32 x 32 pixels, in MLX."""
import sys
from functools import partial

import mlx.core as mx
import numpy as np
from mlx import nn, optimizers
from mlx.utils import tree_flatten

MODES = "compile",

def data(batch=64, seed=0):
    """Images (batch, 3, 32, 32) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 3, 32, 32), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), :, 3 * labels] = 1
    return images, labels


def place(mode, images, labels):
    return mx.array(images.transpose(0, 2, 3, 1)), mx.array(labels)


class Cnn(nn.Module):
    def __init__(self, dropout=True):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 50, 3, padding=1), nn.Conv2d(50, 50, 3, padding=1)
        self.conv3, self.conv4 = nn.Conv2d(50, 100, 3, padding=1), nn.Conv2d(100, 100, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(6400, 512), nn.Linear(512, 10)
        self.pool = nn.MaxPool2d(2, 2)
        self.drop1, self.drop2 = nn.Dropout(0.25 * dropout), nn.Dropout(0.5 * dropout)

    def __call__(self, x):
        x = self.drop1(nn.relu(self.pool(self.conv2(nn.relu(self.conv1(x))))))
        x = self.drop1(nn.relu(self.pool(self.conv4(nn.relu(self.conv3(x))))))
        return self.fc2(self.drop2(nn.relu(self.fc1(x.flatten(1)))))


def from_torch(name, w):
    """A parameter as MLX lays it out: channels last."""
    if w.ndim == 4:
        return w.transpose(0, 2, 3, 1)
    return w.reshape(512, 100, 8, 8).transpose(0, 2, 3, 1).reshape(512, 6400) if name == "fc1.weight" else w


def to_torch(name, w):
    """The way back."""
    if w.ndim == 4:
        return w.transpose(0, 3, 1, 2)
    return w.reshape(512, 8, 8, 100).transpose(0, 3, 1, 2).reshape(512, 6400) if name == "fc1.weight" else w


def loss(model, x, y):
    return nn.losses.cross_entropy(model(x), y, reduction="mean")


def initialise(mode="compile", weights=None, dropout=True):
    mx.random.seed(0)
    model, optimizer = Cnn(dropout), optimizers.SGD(0.01, momentum=0.9)
    if weights:
        model.load_weights([(name, mx.array(from_torch(name, w))) for name, w in weights.items()])
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
    return value.item(), {name: to_torch(name, np.array(w)) for name, w in tree_flatten(found)}


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
    model.eval()
    logits = model(x)
    model.train()
    right = (logits.argmax(1) == y).astype(mx.float32).mean()
    return nn.losses.cross_entropy(logits, y, reduction="mean").item(), right.item()


if __name__ == "__main__":
    train(*sys.argv[1:])
