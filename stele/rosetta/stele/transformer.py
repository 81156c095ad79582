"""A block of GPT-2 with the gradients of its input and its parameters, in Stele."""
import sys

import numpy as np

import stele as st
from stele import nn

MODES = "compile",
WIDTH, HEADS = 768, 12


def data(batch=4, words=256, seed=0):
    """Texts (batch, words, 768), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((batch, words, WIDTH), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


class Block(nn.Module):
    def __init__(self):
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(st.gelu(self.up(self.norm2(x)), approximate="tanh"))

    def attention(self, x):
        batch, words, _ = x.shape
        q, k, v = self.qkv(x).reshape(batch, words, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / (WIDTH // HEADS) ** 0.5
        causal = st.tril(st.ones((words, words))) > 0
        y = st.softmax(st.where(causal, scores, -np.inf), axis=-1) @ v
        return self.out(y.swapaxes(1, 2).reshape(batch, words, WIDTH))


def initialise(mode="compile", weights=None):
    st.manual_seed(0)
    model = Block()
    if weights:
        model.load_state_dict(weights)

    def score(x, model, g):
        y = model(x)
        return (y * g).sum(), y

    @st.compile
    def pullback(x, g):
        (_, y), (dx, gradients) = st.value_and_grad(score, argnums=(0, 1), has_aux=True)(x, model, g)
        return y, dx, gradients

    return pullback


def step(f, x, g):
    return f(x, g)


def evaluate(f, x, g):
    y, dx, gradients = step(f, x, g)
    found = {"x": dx, **gradients}
    return {"y": y.numpy()} | {f"gradient of {name}": d.numpy() for name, d in found.items()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
