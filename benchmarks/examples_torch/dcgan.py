"""The step of `examples/dcgan.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CODE, WIDTH, BATCH = 64, 32, 64


def generator():
    return nn.Sequential(nn.Linear(CODE, 2 * WIDTH * 49, bias=False), nn.Unflatten(1, (2 * WIDTH, 7, 7)),
                         nn.BatchNorm2d(2 * WIDTH), nn.ReLU(),
                         nn.ConvTranspose2d(2 * WIDTH, WIDTH, 4, stride=2, padding=1, bias=False),
                         nn.BatchNorm2d(WIDTH), nn.ReLU(),
                         nn.ConvTranspose2d(WIDTH, 1, 4, stride=2, padding=1), nn.Tanh())


def critic():
    return nn.Sequential(nn.Conv2d(1, WIDTH, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
                         nn.Conv2d(WIDTH, 2 * WIDTH, 4, stride=2, padding=1, bias=False),
                         nn.BatchNorm2d(2 * WIDTH), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(2 * WIDTH * 49, 1))


def training_step(compiled):
    torch.manual_seed(0)
    draw, judge, rng = generator(), critic(), np.random.default_rng(0)
    judging = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
    drawing = torch.optim.Adam(draw.parameters(), lr=5e-4, betas=(0.5, 0.999), fused=True)
    x = torch.from_numpy(rng.uniform(-1, 1, (BATCH, 1, 28, 28)).astype(np.float32))
    if compiled:        # an nn.Sequential that has .compile() called runs as it is: its own code is PyTorch's
        draw, judge = torch.compile(draw, dynamic=False), torch.compile(judge, dynamic=False)

    def step():
        drawn = draw(torch.randn(BATCH, CODE))
        is_real, is_drawn = judge(x), judge(drawn.detach())
        judged = F.binary_cross_entropy_with_logits(is_real, torch.full_like(is_real, 0.9)) \
            + F.binary_cross_entropy_with_logits(is_drawn, torch.zeros_like(is_drawn))
        judged.backward()
        judging.step()
        believed = judge(drawn)
        missed = F.binary_cross_entropy_with_logits(believed, torch.ones_like(believed))
        drawing.zero_grad()
        missed.backward()
        drawing.step()
        judging.zero_grad()
        return judged

    return step
