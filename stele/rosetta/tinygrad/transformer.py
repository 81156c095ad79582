"""A block of GPT-2 with the gradients of its input and its parameters, in tinygrad."""
import sys

import numpy as np
from tinygrad import Tensor, TinyJit, nn

MODES = "jit",
WIDTH, HEADS = 768, 12


def data(batch=4, words=256, seed=0):
    """Texts (batch, words, 768), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((batch, words, WIDTH), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(Tensor(a).realize() for a in arrays)


class Block:
    def __init__(self):
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def __call__(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.up(self.norm2(x)).gelu())

    def attention(self, x):
        batch, words, _ = x.shape
        qkv = self.qkv(x).reshape(batch, words, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        y = qkv[0].scaled_dot_product_attention(qkv[1], qkv[2], is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, words, WIDTH))


def initialise(mode="jit", weights=None):
    Tensor.manual_seed(0)
    model = Block()
    if weights:
        nn.state.load_state_dict(model, {name: Tensor(w) for name, w in weights.items()}, verbose=False)
    parameters = nn.state.get_state_dict(model)

    @TinyJit
    def pullback(x, g):
        y = model(x)
        found = y.gradient(x, *parameters.values(), gradient=g)
        return y.realize(*found), *found

    return ["x", *parameters], pullback


def step(state, x, g):
    _, pullback = state
    return pullback(x, g)


def evaluate(state, x, g):
    names, _ = state
    y, *found = step(state, x, g)
    return {"y": y.numpy()} | {f"gradient of {name}": d.numpy() for name, d in zip(names, found)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
