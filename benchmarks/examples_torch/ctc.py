"""The step of `examples/ctc.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HIGH, WIDE, DIGITS, NOTHING, BATCH = 16, 96, 8, 10, 32


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1)))
        self.read = nn.GRU(32 * HIGH // 4, 64, bidirectional=True)
        self.score = nn.Linear(128, 11)

    def forward(self, images):
        columns = self.see(images).permute(3, 0, 1, 2).reshape(WIDE // 2, images.shape[0], 32 * HIGH // 4)
        return F.log_softmax(self.score(self.read(columns)[0]), 2)


def training_step(compiled):
    torch.manual_seed(0)
    rng, model = np.random.default_rng(0), Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, fused=True)
    count, digits = rng.integers(3, DIGITS + 1, BATCH), rng.integers(10, size=(BATCH, DIGITS))
    images = (rng.random((BATCH, 1, HIGH, WIDE)) < 0.1) + 0.15 * rng.standard_normal((BATCH, 1, HIGH, WIDE))
    images, digits, count = (torch.from_numpy(x) for x in (images.astype(np.float32), digits, count))
    wide = torch.full((BATCH,), WIDE // 2)

    def loss_of(images, digits, count):
        return F.ctc_loss(model(images), digits, wide, count, blank=NOTHING)

    loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        optimizer.zero_grad()
        loss = loss_of(images, digits, count)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss

    return step
