"""The step of `examples/char_gpt.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

LETTERS, WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 65, 128, 4, 3, 128, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, mask):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False, attn_mask=mask, is_causal=True)[0]
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.letter, self.place = nn.Embedding(LETTERS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, LETTERS)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(CONTEXT), persistent=False)

    def forward(self, x):
        y = self.letter(x) + self.place(torch.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y, self.mask)
        return self.head(self.norm(y))


def training_step(compiled):
    torch.manual_seed(0)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    x, y = torch.from_numpy(np.random.default_rng(0).integers(0, LETTERS, (2, BATCH, CONTEXT)))

    def loss_of(x, y):
        return F.cross_entropy(model(x).reshape(-1, LETTERS), y.reshape(-1))

    loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step
