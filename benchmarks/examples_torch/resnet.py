"""The step of `examples/resnet.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

WIDTHS, BATCH = (16, 32, 64), 64


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.beside = nn.Sequential() if inputs == outputs else \
            nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.beside(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        first, second, third = WIDTHS
        self.stem = nn.Sequential(nn.Conv2d(3, first, 3, padding=1, bias=False), nn.BatchNorm2d(first), nn.ReLU())
        self.stages = nn.Sequential(Residual(first, first, 1), Residual(first, second, 2), Residual(second, third, 2))
        self.head = nn.Linear(third, 10)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


def training_step(compiled):
    torch.manual_seed(0)
    model, rng = ResNet(), np.random.default_rng(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True, fused=True)
    x = torch.from_numpy(rng.standard_normal((BATCH, 3, 32, 32), np.float32))
    y = torch.from_numpy(rng.integers(0, 10, BATCH))

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
