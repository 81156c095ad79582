"""The step of `examples/vae.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CODE, BATCH = 16, 128


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 2 * CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, 1)
        drawn = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        return self.decoder(drawn), mean, log_variance


def training_step(compiled):
    torch.manual_seed(0)
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    x = torch.from_numpy(np.random.default_rng(0).random((BATCH, 784), np.float32))

    def bound(x):
        logits, mean, log_variance = model(x)
        pixels = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
        codes = 0.5 * (torch.exp(log_variance) + mean ** 2 - 1 - log_variance).sum()
        return (pixels + codes) / x.shape[0]

    bound = torch.compile(bound, dynamic=False) if compiled else bound

    def step():
        optimizer.zero_grad()
        loss = bound(x)
        loss.backward()
        optimizer.step()
        return loss

    return step
