"""A policy of two small layers looks at one observation, uncompiled, in Stele."""
import sys

import numpy as np

import stele as st
from stele import nn

MODES = "eager",


def data(batch=1, seed=0):
    """Observations (batch, 4) of normal numbers."""
    return np.random.default_rng(seed).standard_normal((batch, 4), np.float32),


def place(mode, x):
    return st.tensor(x),


class Policy(nn.Module):
    def __init__(self):
        self.fc1, self.fc2 = nn.Linear(4, 64), nn.Linear(64, 2)

    def forward(self, x):
        return self.fc2(st.relu(self.fc1(x)))


def initialise(mode="eager", weights=None):
    st.manual_seed(0)
    model = Policy()
    if weights:
        model.load_state_dict(weights)
    return model


@st.no_grad()
def step(model, x):
    return model(x).numpy()


def evaluate(model, x):
    return {"y": step(model, x)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"])
