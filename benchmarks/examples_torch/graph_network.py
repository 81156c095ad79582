"""The step of `examples/graph_network.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

PLACES, NEAREST, ROUNDS, HIDDEN, BATCH = 20, 3, 8, 64, 32


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))


class Messages(nn.Module):
    def __init__(self):
        super().__init__()
        self.begin, self.change, self.end = network(2, HIDDEN), network(2 * HIDDEN, HIDDEN), network(HIDDEN, 1)
        self.source, self.target = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.length = nn.Linear(1, HIDDEN, bias=False)
        self.sum, self.norm = nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN)

    def forward(self, marks, source, target, length):
        mind = self.begin(marks)
        for _ in range(ROUNDS):
            said = torch.relu(self.source(mind)[source] + self.target(mind)[target] + self.length(length))
            heard = self.sum(torch.zeros_like(mind).index_add(0, target, said))
            mind = self.norm(mind + self.change(torch.cat([mind, heard], 1)))
        return self.end(mind)[:, 0]


def links(rng):
    """Places, each linked to those next to it; both ends and the length of each link."""
    at = rng.random((BATCH, PLACES, 2)).astype(np.float32)
    gap = np.linalg.norm(at[:, :, None] - at[:, None], axis=3) + 9 * np.eye(PLACES, dtype=np.float32)
    near = np.argsort(gap, axis=2)[:, :, :NEAREST].reshape(BATCH, -1)
    own, graph = np.broadcast_to(np.repeat(np.arange(PLACES), NEAREST), near.shape), np.arange(BATCH)[:, None]
    length = np.take_along_axis(gap.reshape(BATCH, -1), own * PLACES + near, axis=1)
    ends = own + PLACES * graph, near + PLACES * graph
    source, target = (torch.from_numpy(np.concatenate(pair, axis=1).ravel()) for pair in (ends, ends[::-1]))
    return source, target, torch.from_numpy(np.concatenate([length, length], axis=1).reshape(-1, 1))


def training_step(compiled):
    torch.manual_seed(0)
    rng, model = np.random.default_rng(0), Messages()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    source, target, length = links(rng)
    marks = torch.zeros(BATCH, PLACES, 2)
    marks[:, 0, 0] = marks[:, 1, 1] = 1
    is_on = torch.from_numpy((rng.random(BATCH * PLACES) < 0.2).astype(np.float32))
    batch = marks.reshape(-1, 2), source, target, length

    def loss_of(*batch):
        return F.binary_cross_entropy_with_logits(model(*batch), is_on)

    loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step
