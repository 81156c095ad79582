"""The step of `examples/neural_ode.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

DT, TIMES, MANY = 0.1, 25, 64


def runge_kutta(f, x):
    a = f(x)
    b = f(x + DT / 2 * a)
    c = f(x + DT / 2 * b)
    d = f(x + DT * c)
    return x + DT / 6 * (a + 2 * b + 2 * c + d)


def solve(later, x, times):
    found = []
    for _ in range(times):
        x = later(x)
        found.append(x)
    return torch.stack(found)


def pendulum(x):
    return torch.stack([x[:, 1], -2 * torch.sin(x[:, 0]) - 0.2 * x[:, 1]], 1)


def training_step(compiled):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    rng = np.random.default_rng(0)
    begin = torch.from_numpy(rng.uniform(-1.5, 1.5, (MANY, 2)).astype(np.float32))
    seen = solve(lambda x: runge_kutta(pendulum, x), begin, TIMES)
    seen = seen + 0.05 * torch.randn_like(seen)

    def later(x):
        return runge_kutta(model, x)

    if compiled:    # one step of the method: all 25 as one graph took more than ten minutes to compile
        later = torch.compile(later, dynamic=False)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(solve(later, begin, TIMES), seen)
        loss.backward()
        optimizer.step()
        return loss

    return step
