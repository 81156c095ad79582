"""A convolutional network that learns from images of 32 x 32 pixels, in tinygrad."""
import sys

import numpy as np
from tinygrad import Context, Tensor, TinyJit, nn

MODES = "jit",

def data(batch=64, seed=0):
    """Images (batch, 3, 32, 32) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 3, 32, 32), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), :, 3 * labels] = 1
    return images, labels


def place(mode, images, labels):
    return Tensor(images).realize(), Tensor(labels.astype(np.int32)).realize()


class Cnn:
    def __init__(self, dropout=True):
        self.conv1, self.conv2 = nn.Conv2d(3, 50, 3, padding=1), nn.Conv2d(50, 50, 3, padding=1)
        self.conv3, self.conv4 = nn.Conv2d(50, 100, 3, padding=1), nn.Conv2d(100, 100, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(6400, 512), nn.Linear(512, 10)
        self.dropout = dropout

    def __call__(self, x):
        x = self.conv2(self.conv1(x).relu()).max_pool2d(2).relu().dropout(0.25 * self.dropout)
        x = self.conv4(self.conv3(x).relu()).max_pool2d(2).relu().dropout(0.25 * self.dropout)
        return self.fc2(self.fc1(x.flatten(1)).relu().dropout(0.5 * self.dropout))


def initialise(mode="jit", weights=None, dropout=True):
    Tensor.manual_seed(0)
    model = Cnn(dropout)
    if weights:
        nn.state.load_state_dict(model, {name: Tensor(w) for name, w in weights.items()}, verbose=False)
    optimizer = nn.optim.SGD(nn.state.get_parameters(model), lr=0.01, momentum=0.9)

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


def train(mode="jit", steps=60):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 10 == 9:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    model, _ = state
    logits = model(x)
    return logits.sparse_categorical_crossentropy(y).item(), (logits.argmax(1) == y).mean().item()


if __name__ == "__main__":
    train(*sys.argv[1:])
