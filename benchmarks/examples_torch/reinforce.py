"""The step of `examples/reinforce.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

EPISODES, PUSHES, DISCOUNT = 32, 500, 0.99


def pushed(carts, right):
    _, speed, angle, turning = carts.unbind(1)
    sin, cos = torch.sin(angle), torch.cos(angle)
    force = (torch.where(right, 10.0, -10.0) + 0.05 * turning ** 2 * sin) / 1.1
    turn = (9.8 * sin - cos * force) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
    move = force - 0.05 * turn * cos / 1.1
    return carts + 0.02 * torch.stack([speed, move, turning, turn], 1)


def stands(carts):
    return (carts[:, 0].abs() < 2.4) & (carts[:, 2].abs() < 0.2095)


def training_step(compiled):
    torch.manual_seed(0)
    rng, policy = np.random.default_rng(0), nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2, fused=True)
    begin = torch.from_numpy(rng.uniform(-0.05, 0.05, (EPISODES, 4)).astype(np.float32))
    lots = torch.from_numpy(rng.random((PUSHES, EPISODES), np.float32))

    def push(carts, standing, lot):
        right = lot < torch.sigmoid(policy(carts)[:, 0])
        after = pushed(carts, right)
        return torch.where(standing[:, None], after, carts), standing & stands(after), right

    def loss_of(carts, right, gain, weight):
        mean = (gain * weight).sum() / weight.sum()
        spread = torch.sqrt(((gain - mean) ** 2 * weight).sum() / weight.sum())
        surprise = F.binary_cross_entropy_with_logits(policy(carts)[:, :, 0], right, reduction="none")
        return (surprise * (gain - mean) / (spread + 1e-6) * weight).sum() / weight.sum()

    if compiled:    # a push, and the loss: all 500 pushes as one graph would take hours to compile
        push, loss_of = torch.compile(push, dynamic=False), torch.compile(loss_of, dynamic=False)

    def step():
        carts, standing, played = begin, torch.ones(EPISODES, dtype=torch.bool), []
        with torch.no_grad():
            for lot in lots:
                after, still, right = push(carts, standing, lot)
                played.append((carts, right, standing))
                carts, standing = after, still
        carts, right, standing = (torch.stack(part) for part in zip(*played))
        weight = standing.float()
        gain, total = torch.empty_like(weight), torch.zeros(EPISODES)
        for k in reversed(range(PUSHES)):
            total = weight[k] + DISCOUNT * total
            gain[k] = total
        optimizer.zero_grad()
        loss_of(carts, right.float(), gain, weight).backward()
        optimizer.step()
        return weight.sum() / EPISODES

    return step
