"""The step of `examples/diffusion.py` in PyTorch."""
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

WIDTH, TIMES, BATCH = 48, 64, 64


class Residual(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time, self.beside = nn.Linear(TIMES, outputs), nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.beside(x) + self.conv2(F.silu(self.norm2(y)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(TIMES, TIMES), nn.SiLU())
        self.into = nn.Conv2d(1, WIDTH, 4, stride=2, padding=1)
        self.down, self.up = Residual(WIDTH, WIDTH), Residual(2 * WIDTH, WIDTH)
        self.smaller = nn.Conv2d(WIDTH, 2 * WIDTH, 3, stride=2, padding=1)
        self.middle, self.larger = Residual(2 * WIDTH, 2 * WIDTH), nn.ConvTranspose2d(2 * WIDTH, WIDTH, 2, stride=2)
        self.out = nn.ConvTranspose2d(WIDTH, 1, 4, stride=2, padding=1)

    def forward(self, x, t):
        waves = t[:, None] * torch.exp(torch.arange(TIMES // 2) * (math.log(100) / (TIMES // 2)))
        time = self.time(torch.cat([torch.sin(waves), torch.cos(waves)], 1))
        fine = self.down(self.into(x), time)
        y = self.larger(self.middle(self.smaller(fine), time))
        return self.out(self.up(torch.cat([y, fine], 1), time))


def training_step(compiled):
    torch.manual_seed(0)
    model, rng = UNet(), np.random.default_rng(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, fused=True)
    x = torch.from_numpy(rng.uniform(-1, 1, (BATCH, 1, 28, 28)).astype(np.float32))

    def loss_of(x):
        t, noise = torch.rand(x.shape[0]), torch.randn_like(x)
        angle = t[:, None, None, None] * (math.pi / 2)
        a, b = torch.cos(angle), torch.sin(angle)
        return F.mse_loss(model(a * x + b * noise, t), x)

    loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        optimizer.zero_grad()
        loss = loss_of(x)
        loss.backward()
        optimizer.step()
        return loss

    return step
