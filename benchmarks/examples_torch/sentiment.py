"""The step of `examples/sentiment.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

WORDS, HIDDEN, BATCH = 10_000, 64, 64


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, HIDDEN)
        self.read = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.score = nn.Linear(HIDDEN, 1)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.words(words), lengths, batch_first=True, enforce_sorted=False)
        return self.score(self.read(packed)[1][0])[:, 0]


def training_step(compiled):
    torch.manual_seed(0)
    rng, model = np.random.default_rng(0), Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, fused=True)
    lengths = rng.integers(120, 151, BATCH)
    words = pad_sequence([torch.from_numpy(rng.integers(1, WORDS, length)) for length in lengths], batch_first=True)
    good = torch.from_numpy((lengths % 2).astype(np.float32))
    lengths = torch.from_numpy(lengths)

    def loss_of(words, lengths, good):
        return F.binary_cross_entropy_with_logits(model(words, lengths), good)

    loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        optimizer.zero_grad()
        loss = loss_of(words, lengths, good)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step
