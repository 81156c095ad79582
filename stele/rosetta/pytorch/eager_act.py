"""A policy of two small layers looks at one observation, uncompiled, in PyTorch."""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

MODES = "eager",


def data(batch=1, seed=0):
    """Observations (batch, 4) of normal numbers."""
    return np.random.default_rng(seed).standard_normal((batch, 4), np.float32),


def place(mode, x):
    return torch.from_numpy(x),


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 64), nn.Linear(64, 2)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def initialise(mode="eager", weights=None):
    torch.manual_seed(0)
    model = Policy()
    if weights:
        model.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    return model


@torch.no_grad()
def step(model, x):
    return model(x).numpy()


def evaluate(model, x):
    return {"y": step(model, x)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"])
