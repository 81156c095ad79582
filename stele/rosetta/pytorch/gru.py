"""A recurrent network that learns from texts of 150 words, in PyTorch."""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

MODES = "eager", "compile"


def data(batch=64, seed=0):
    """Word numbers (batch, 150) below 30000, and labels: texts of label 1 end in frequent words."""
    rng = np.random.default_rng(seed)
    texts, labels = rng.integers(0, 30_000, (batch, 150)), rng.integers(0, 2, batch)
    texts[labels == 1, -10:] %= 100
    return texts, labels


def place(mode, texts, labels):
    return torch.from_numpy(texts), torch.from_numpy(labels)


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30_000, 125)
        self.gru = nn.GRU(125, 100, batch_first=True)
        self.fc = nn.Linear(100, 2)

    def forward(self, x):
        _, last = self.gru(self.embedding(x))
        return self.fc(last[-1])


def initialise(mode="eager", weights=None):
    torch.manual_seed(0)
    model = Gru()
    if weights:
        model.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    if mode == "compile":
        model.compile(dynamic=False)
    return model, torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)


def gradients(state, x, y):
    model, optimizer = state
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss.item(), {name: p.grad.numpy() for name, p in model.named_parameters()}


def step(state, x, y):
    model, optimizer = state
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def train(mode="eager", steps=60):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 10 == 9:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


@torch.inference_mode()
def evaluate(state, x, y):
    model, _ = state
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    train(*sys.argv[1:])
