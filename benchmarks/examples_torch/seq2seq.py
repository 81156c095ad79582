"""The step of `examples/seq2seq.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

LETTERS, LENGTH, WRITTEN, HIDDEN, BATCH = 42, 28, 10, 64, 128


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, 32)
        self.encoder = nn.GRU(32, HIDDEN, bidirectional=True, batch_first=True)
        self.query = nn.Linear(2 * HIDDEN, 2 * HIDDEN)
        self.decoder = nn.GRUCell(32 + 2 * HIDDEN, 2 * HIDDEN)
        self.output = nn.Linear(4 * HIDDEN, LETTERS)

    def forward(self, source, target):
        memory, last = self.encoder(self.letters(source))
        is_letter, state = source != 0, torch.cat([last[0], last[1]], 1)
        before = self.letters(torch.cat([torch.zeros_like(target[:, :1]), target[:, :-1]], 1))
        found = []
        for k in range(WRITTEN):
            scores = (memory @ self.query(state)[:, :, None])[:, :, 0] / (2 * HIDDEN) ** 0.5
            look = torch.softmax(torch.where(is_letter, scores, -1e9), 1)
            seen = (look[:, None] @ memory)[:, 0]
            state = self.decoder(torch.cat([before[:, k], seen], 1), state)
            found.append(torch.cat([state, seen], 1))
        return F.cross_entropy(self.output(torch.stack(found, 1)).flatten(0, 1), target.flatten())


def training_step(compiled):
    torch.manual_seed(0)
    rng, model = np.random.default_rng(0), Writer()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, fused=True)
    length = rng.integers(8, LENGTH, (BATCH, 1))
    source = torch.from_numpy(np.where(np.arange(LENGTH) < length, rng.integers(1, LETTERS, (BATCH, LENGTH)), 0))
    target = torch.from_numpy(rng.integers(1, 16, (BATCH, WRITTEN)))
    loss_of = torch.compile(model, dynamic=False) if compiled else model

    def step():
        optimizer.zero_grad()
        loss = loss_of(source, target)
        loss.backward()
        optimizer.step()
        return loss

    return step
