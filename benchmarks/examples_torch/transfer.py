"""The step of `examples/transfer.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CLASSES, FEATURES, BATCH = 5, 96, 50


def block(inputs, outputs, stride):
    return [nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def trunk():
    return nn.Sequential(*block(3, 24, 1), *block(24, 48, 2), *block(48, FEATURES, 2), *block(FEATURES, FEATURES, 1),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten())


def training_step(compiled):
    torch.manual_seed(0)
    seen, head, rng = trunk().eval(), nn.Linear(FEATURES, CLASSES), np.random.default_rng(0)
    optimizer = torch.optim.Adam(head.parameters(), lr=3e-3, weight_decay=1e-3, fused=True)
    x = torch.from_numpy(rng.random((BATCH, 3, 32, 32), np.float32))
    y = torch.from_numpy(rng.integers(0, CLASSES, BATCH))

    def features_of(x):
        with torch.no_grad():
            return seen(x)

    def loss_of(x, y):
        return F.cross_entropy(head(features_of(x)), y)

    loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step
