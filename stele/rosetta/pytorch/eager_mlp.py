"""A network that learns from images of 28 x 28 pixels without being compiled, in PyTorch."""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

MODES = "eager",


def data(batch=64, seed=0):
    """Images (batch, 784) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 28, 28), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), 2 * labels] = 1
    return images.reshape(batch, 784), labels


def place(mode, images, labels):
    return torch.from_numpy(images), torch.from_numpy(labels)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(784, 256), nn.Linear(256, 10)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def initialise(mode="eager", weights=None):
    torch.manual_seed(0)
    model = Mlp()
    if weights:
        model.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    return model, torch.optim.SGD(model.parameters(), lr=0.1, fused=True)


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


def train(mode="eager", steps=200):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 50 == 49:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


@torch.inference_mode()
def evaluate(state, x, y):
    model, _ = state
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    train(*sys.argv[1:])
