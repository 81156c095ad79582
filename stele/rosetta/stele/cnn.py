"""A convolutional network that learns from images of 32 x 32 pixels, in Stele."""
import sys

import numpy as np

import stele as st
from stele import nn, optim
from stele.nn import init

MODES = "compile",


def data(batch=64, seed=0):
    """Images (batch, 3, 32, 32) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 3, 32, 32), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), :, 3 * labels] = 1
    return images, labels


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


class Cnn(nn.Module):
    def __init__(self, dropout=True):
        self.conv1, self.conv2 = nn.Conv2d(3, 50, 3, padding=1), nn.Conv2d(50, 50, 3, padding=1)
        self.conv3, self.conv4 = nn.Conv2d(50, 100, 3, padding=1), nn.Conv2d(100, 100, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(6400, 512), nn.Linear(512, 10)
        self.drop1, self.drop2 = nn.Dropout(0.25 * dropout), nn.Dropout(0.5 * dropout)

    def forward(self, x):
        x = self.drop1(st.relu(st.max_pool2d(self.conv2(st.relu(self.conv1(x))), 2)))
        x = self.drop1(st.relu(st.max_pool2d(self.conv4(st.relu(self.conv3(x))), 2)))
        return self.fc2(self.drop2(st.relu(self.fc1(x.flatten(1)))))


def initialise(mode="compile", weights=None, dropout=True):
    st.manual_seed(0)
    model = Cnn(dropout)
    for p in model.parameters():
        p.assign(init.xavier_uniform(p.shape) if p.ndim > 1 else st.zeros(p.shape))
    if weights:
        model.load_state_dict(weights)
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    @st.compile
    def update(x, y):
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, update


def gradients(state, x, y):
    model, _ = state
    model.zero_grad()
    loss = nn.cross_entropy(model(x), y)
    loss.backward()
    return float(loss), {name: p.grad.numpy() for name, p in model.named_parameters()}


def step(state, x, y):
    _, update = state
    return update(x, y)


def train(mode="compile", steps=60):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 10 == 9:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


@st.no_grad()
def evaluate(state, x, y):
    model, _ = state
    model.eval()
    logits = model(x)
    model.train()
    return float(nn.cross_entropy(logits, y)), float((logits.argmax(axis=1) == y).astype("float32").mean())


if __name__ == "__main__":
    train(*sys.argv[1:])
