"""The step of `examples/mixture.py` in PyTorch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

KINDS, INPUTS, OUTPUTS, EXPERTS, TOP, HIDDEN, BATCH = 16, 16, 8, 8, 2, 64, 512
PLACES = 3 * TOP * BATCH // (2 * EXPERTS)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(INPUTS, EXPERTS)
        self.w1, self.b1 = (nn.Parameter(torch.zeros(EXPERTS, n, HIDDEN)) for n in (INPUTS, 1))
        self.w2, self.b2 = (nn.Parameter(torch.zeros(EXPERTS, n, OUTPUTS)) for n in (HIDDEN, 1))

    def forward(self, x):
        trust = torch.softmax(self.router(x), 1)
        most, expert = torch.topk(trust, TOP, 1)
        weight, expert = most / most.sum(1, keepdim=True), expert.reshape(-1)
        asked = F.one_hot(expert, EXPERTS)
        before = (torch.cumsum(asked, 0) * asked).sum(1) - 1
        place = torch.where(before < PLACES, expert * PLACES + before, EXPERTS * PLACES)
        taken = x.new_zeros(EXPERTS * PLACES + 1, INPUTS).index_add(0, place, x.repeat_interleave(TOP, 0))[:-1]
        hidden = torch.relu(torch.baddbmm(self.b1, taken.view(EXPERTS, PLACES, INPUTS), self.w1))
        said = torch.baddbmm(self.b2, hidden, self.w2).view(-1, OUTPUTS)
        heard = F.pad(said, (0, 0, 0, 1))[place].view(-1, TOP, OUTPUTS)
        return (heard * weight[:, :, None]).sum(1), EXPERTS * (asked.float().mean(0) * trust.mean(0)).sum()


def training_step(compiled):
    torch.manual_seed(0)
    rng, model = np.random.default_rng(0), Mixture()
    own = [*model.router.parameters(), model.w1, model.w2, model.b1, model.b2]
    optimizer = torch.optim.Adam(own, lr=3e-3, fused=True)
    middles = 2 * rng.standard_normal((KINDS, INPUTS))
    a = rng.standard_normal((KINDS, INPUTS, OUTPUTS)) / INPUTS ** 0.5
    rng = np.random.default_rng(0)
    kind, apart = rng.integers(KINDS, size=BATCH), rng.standard_normal((BATCH, INPUTS))
    x = torch.from_numpy((middles[kind] + apart).astype(np.float32))
    y = torch.from_numpy(np.tanh(2 * np.einsum("ni,nio->no", apart, a[kind])).astype(np.float32))

    def losses(x, y):
        said, busy = model(x)
        error = F.mse_loss(said, y)
        return error, error + 0.01 * busy

    losses = torch.compile(losses, dynamic=False) if compiled else losses

    def step():
        optimizer.zero_grad()
        error, loss = losses(x, y)
        loss.backward()
        optimizer.step()
        return error

    return step
