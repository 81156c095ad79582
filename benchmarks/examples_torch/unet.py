"""The step of `examples/unet.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SIZE, CLASSES, BATCH, WIDTHS = 64, 11, 16, (16, 32, 64)


def twice(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        first, second, third = WIDTHS
        self.down1, self.down2, self.middle = twice(1, first), twice(first, second), twice(second, third)
        self.larger2, self.up2 = nn.ConvTranspose2d(third, second, 2, stride=2), twice(2 * second, second)
        self.larger1, self.up1 = nn.ConvTranspose2d(second, first, 2, stride=2), twice(2 * first, first)
        self.head = nn.Conv2d(first, CLASSES, 1)

    def forward(self, x):
        fine = self.down1(x)
        coarse = self.down2(F.max_pool2d(fine, 2))
        y = self.larger2(self.middle(F.max_pool2d(coarse, 2)))
        y = self.larger1(self.up2(torch.cat([y, coarse], 1)))
        return self.head(self.up1(torch.cat([y, fine], 1)))


def training_step(compiled):
    torch.manual_seed(0)
    model, rng = UNet(), np.random.default_rng(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, fused=True)
    x = torch.from_numpy(rng.standard_normal((BATCH, 1, SIZE, SIZE), np.float32))
    y = torch.from_numpy(rng.integers(0, CLASSES, (BATCH, SIZE, SIZE)))

    def loss_of(x, y):
        return F.cross_entropy(model(x), y)

    loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step
