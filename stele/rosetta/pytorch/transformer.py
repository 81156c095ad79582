"""A block of GPT-2 with the gradients of its input and its parameters, in PyTorch."""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

MODES = "eager", "compile", "bf16"
WIDTH, HEADS = 768, 12


def data(batch=4, words=256, seed=0):
    """Texts (batch, words, 768), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((batch, words, WIDTH), np.float32) for _ in range(2))


def place(mode, texts, gradient):
    return torch.from_numpy(texts).requires_grad_(), torch.from_numpy(gradient)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    def attention(self, x):
        batch, words, _ = x.shape
        q, k, v = self.qkv(x).view(batch, words, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, words, WIDTH))


def initialise(mode="eager", weights=None):
    torch.manual_seed(0)
    model = Block()
    if weights:
        model.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    if mode == "compile":
        model.compile(dynamic=False)
    if mode == "bf16":
        model.forward = torch.autocast("cpu", torch.bfloat16)(model.forward)
    return model


def step(model, x, g):
    y = model(x)
    return y, torch.autograd.grad(y, (x, *model.parameters()), g.to(y.dtype))


def evaluate(model, x, g):
    y, found = step(model, x, g)
    names = ["x", *(name for name, _ in model.named_parameters())]
    return {"y": y.detach().float().numpy()} | {f"gradient of {n}": d.numpy() for n, d in zip(names, found)}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "eager"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
