"""A convolutional network that learns from images of 32 x 32 pixels, in PyTorch."""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

MODES = "eager", "channels_last", "compile", "compile channels_last", "channels_last bf16"


def data(batch=64, seed=0):
    """Images (batch, 3, 32, 32) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 3, 32, 32), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), :, 3 * labels] = 1
    return images, labels


def place(mode, images, labels):
    x = torch.from_numpy(images)
    return x.to(memory_format=torch.channels_last) if "channels_last" in mode else x, torch.from_numpy(labels)


class Cnn(nn.Module):
    def __init__(self, dropout=True):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 50, 3, padding=1), nn.Conv2d(50, 50, 3, padding=1)
        self.conv3, self.conv4 = nn.Conv2d(50, 100, 3, padding=1), nn.Conv2d(100, 100, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(6400, 512), nn.Linear(512, 10)
        self.drop1, self.drop2 = nn.Dropout(0.25 * dropout), nn.Dropout(0.5 * dropout)

    def forward(self, x):
        x = self.drop1(F.relu(F.max_pool2d(self.conv2(F.relu(self.conv1(x))), 2)))
        x = self.drop1(F.relu(F.max_pool2d(self.conv4(F.relu(self.conv3(x))), 2)))
        return self.fc2(self.drop2(F.relu(self.fc1(x.flatten(1)))))


def initialise(mode="eager", weights=None, dropout=True):
    torch.manual_seed(0)
    model = Cnn(dropout)
    for p in model.parameters():
        nn.init.xavier_uniform_(p) if p.ndim > 1 else nn.init.zeros_(p)
    if weights:
        model.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    if "channels_last" in mode:
        model = model.to(memory_format=torch.channels_last)
    if "compile" in mode:
        model.compile(dynamic=False)
    if "bf16" in mode:
        model.forward = torch.autocast("cpu", torch.bfloat16)(model.forward)
    return model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)


def gradients(state, x, y):
    model, optimizer = state
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss.item(), {name: p.grad.numpy() for name, p in model.named_parameters()}


def step(state, x, y):
    model, optimizer = state
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def train(mode="eager", steps=60):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 10 == 9:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


@torch.inference_mode()
def evaluate(state, x, y):
    model, _ = state
    model.eval()
    logits = model(x)
    model.train()
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    train(*sys.argv[1:])
