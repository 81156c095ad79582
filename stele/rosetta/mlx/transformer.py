"""A block of GPT-2 with the gradients of its input and its parameters, in MLX."""
import sys

import mlx.core as mx
import numpy as np
from mlx import nn
from mlx.utils import tree_flatten

MODES = "compile",
WIDTH, HEADS = 768, 12


def data(batch=4, words=256, seed=0):
    """Texts (batch, words, 768), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((batch, words, WIDTH), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(mx.array, arrays))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def __call__(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.gelu_approx(self.up(self.norm2(x))))

    def attention(self, x):
        batch, words, _ = x.shape
        q, k, v = self.qkv(x).reshape(batch, words, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=(WIDTH // HEADS) ** -0.5, mask="causal")
        return self.out(y.swapaxes(1, 2).reshape(batch, words, WIDTH))


def initialise(mode="compile", weights=None):
    mx.random.seed(0)
    model = Block()
    if weights:
        model.load_weights([(name, mx.array(w)) for name, w in weights.items()])
    parameters = model.parameters()

    def score(parameters, x, g):
        model.update(parameters)
        y = model(x)
        return (y * g).sum(), y

    @mx.compile
    def pullback(parameters, x, g):
        (_, y), (found, dx) = mx.value_and_grad(score, argnums=(0, 1))(parameters, x, g)
        return y, dx, found

    return parameters, pullback


def step(state, x, g):
    parameters, pullback = state
    result = pullback(parameters, x, g)
    mx.eval(result)
    return result


def evaluate(state, x, g):
    y, dx, gradients = step(state, x, g)
    found = {"x": dx, **dict(tree_flatten(gradients))}
    return {"y": np.array(y)} | {f"gradient of {name}": np.array(d) for name, d in found.items()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
