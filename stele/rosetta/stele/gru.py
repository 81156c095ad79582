"""A recurrent network that learns from texts of 150 words, in Stele."""
import sys

import numpy as np

import stele as st
from stele import nn, optim

MODES = "compile",


def data(batch=64, seed=0):
    """Word numbers (batch, 150) below 30000, and labels: texts of label 1 end in frequent words."""
    rng = np.random.default_rng(seed)
    texts, labels = rng.integers(0, 30_000, (batch, 150)), rng.integers(0, 2, batch)
    texts[labels == 1, -10:] %= 100
    return texts, labels


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


class Gru(nn.Module):
    def __init__(self):
        self.embedding = nn.Embedding(30_000, 125)
        self.gru = nn.GRU(125, 100, batch_first=True)
        self.fc = nn.Linear(100, 2)

    def forward(self, x):
        _, last = self.gru(self.embedding(x))
        return self.fc(last[-1])


def initialise(mode="compile", weights=None):
    st.manual_seed(0)
    model = Gru()
    if weights:
        model.load_state_dict(weights)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)

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
    logits = model(x)
    return float(nn.cross_entropy(logits, y)), float((logits.argmax(axis=1) == y).astype("float32").mean())


if __name__ == "__main__":
    train(*sys.argv[1:])
