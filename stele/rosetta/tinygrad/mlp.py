"""A small network that learns from images of 28 x 28 pixels, in tinygrad."""
import sys

import numpy as np
from tinygrad import Context, Tensor, TinyJit, nn

MODES = "jit",

def data(batch=32, seed=0):
    """Images (batch, 784) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 28, 28), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), 2 * labels] = 1
    return images.reshape(batch, 784), labels


def place(mode, images, labels):
    return Tensor(images).realize(), Tensor(labels.astype(np.int32)).realize()


class Mlp:
    def __init__(self):
        self.fc1, self.fc2 = nn.Linear(784, 128), nn.Linear(128, 10)

    def __call__(self, x):
        return self.fc2(self.fc1(x).relu())


def initialise(mode="jit", weights=None):
    Tensor.manual_seed(0)
    model = Mlp()
    if weights:
        nn.state.load_state_dict(model, {name: Tensor(w) for name, w in weights.items()}, verbose=False)
    optimizer = nn.optim.SGD(nn.state.get_parameters(model), lr=0.1)

    @TinyJit
    @Context(TRAINING=1)
    def update(x, y):
        optimizer.zero_grad()
        loss = model(x).sparse_categorical_crossentropy(y).backward()
        return loss.realize(*optimizer.schedule_step())

    return model, update


@Context(TRAINING=1)
def gradients(state, x, y):
    model, _ = state
    parameters = nn.state.get_state_dict(model)
    loss = model(x).sparse_categorical_crossentropy(y)
    found = loss.gradient(*parameters.values())
    return loss.item(), {name: g.numpy() for name, g in zip(parameters, found)}


def step(state, x, y):
    _, update = state
    return update(x, y).item()


def train(mode="jit", steps=200):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 50 == 49:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    model, _ = state
    logits = model(x)
    return logits.sparse_categorical_crossentropy(y).item(), (logits.argmax(1) == y).mean().item()


if __name__ == "__main__":
    train(*sys.argv[1:])
