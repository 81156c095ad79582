"""The step of `examples/dqn.py` in PyTorch."""
import torch
from torch import nn
from torch.nn import functional as F

CARTS, PUSHES, MEMORY, BATCH, DISCOUNT = 8, 500, 20_000, 128, 0.99


def pushed(carts, right):
    _, speed, angle, turning = carts.unbind(1)
    sin, cos = torch.sin(angle), torch.cos(angle)
    force = (torch.where(right, 10.0, -10.0) + 0.05 * turning ** 2 * sin) / 1.1
    turn = (9.8 * sin - cos * force) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
    move = force - 0.05 * turn * cos / 1.1
    return carts + 0.02 * torch.stack([speed, move, turning, turn], 1)


def stands(carts):
    return (carts[:, 0].abs() < 2.4) & (carts[:, 2].abs() < 0.2095)


def begin(many):
    return torch.rand(many, 4) * 0.1 - 0.05


def network():
    return nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))


def training_step(compiled):
    torch.manual_seed(0)
    worth, slow = network(), network()
    slow.load_state_dict(worth.state_dict())
    optimizer = torch.optim.Adam(worth.parameters(), lr=1e-3, fused=True)
    carts, age, steps = begin(CARTS), torch.zeros(CARTS, dtype=torch.int64), 0
    before, after = torch.zeros(MEMORY, 4), torch.zeros(MEMORY, 4)
    right, stood = torch.zeros(MEMORY, dtype=torch.int64), torch.zeros(MEMORY, dtype=torch.bool)

    def play(carts, age, share):
        best = worth(carts).argmax(1)
        way = torch.where(torch.rand(CARTS) < share, torch.randint(0, 2, (CARTS,)), best)
        then = pushed(carts, way == 1)
        still, age = stands(then), age + 1
        goes_on = still & (age < PUSHES)
        return way, then, still, torch.where(goes_on[:, None], then, begin(CARTS)), torch.where(goes_on, age, 0)

    def loss_of(before, after, right, stood):
        with torch.no_grad():
            best = worth(after).argmax(1, keepdim=True)
            aim = torch.where(stood, DISCOUNT * slow(after).gather(1, best)[:, 0], -1.0)
        return F.smooth_l1_loss(worth(before).gather(1, right[:, None])[:, 0], aim)

    if compiled:
        play, loss_of = torch.compile(play, dynamic=False), torch.compile(loss_of, dynamic=False)

    def step():
        nonlocal carts, age, steps
        with torch.no_grad():
            row = (steps * CARTS + torch.arange(CARTS)) % MEMORY
            before[row] = carts
            right[row], after[row], stood[row], carts, age = play(carts, age, torch.tensor(max(1 - steps / 2000, 0.05)))
            steps += 1
            row = torch.randint(0, min(steps * CARTS, MEMORY), (BATCH,))
        optimizer.zero_grad()
        loss_of(before[row], after[row], right[row], stood[row]).backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(slow.parameters()), list(worth.parameters()), 0.01)
        return age.float().mean()

    return step
