"""The Rosetta workloads in PyTorch."""
from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F
from worker import Step, serve


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 50, 3, padding=1), nn.Conv2d(50, 50, 3, padding=1)
        self.conv3, self.conv4 = nn.Conv2d(50, 100, 3, padding=1), nn.Conv2d(100, 100, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(6400, 512), nn.Linear(512, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.block(x, self.conv1, self.conv2)
        x = self.block(x, self.conv3, self.conv4)
        return self.fc2(F.dropout(F.relu(self.fc1(x.flatten(1))), 0.5, self.training))

    def block(self, x: torch.Tensor, a: nn.Conv2d, b: nn.Conv2d) -> torch.Tensor:
        return F.dropout(F.relu(F.max_pool2d(b(F.relu(a(x))), 2)), 0.25, self.training)


class Gru(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.gru = nn.Embedding(30000, 125), nn.GRU(125, 100, batch_first=True)
        self.fc = nn.Linear(100, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.gru(self.embedding(x))[0][:, -1])


class Bottleneck(nn.Module):
    def __init__(self, inner: int, width: int, stride: int) -> None:
        super().__init__()
        out = width * 4
        self.conv1, self.bn1 = nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.downsample = nn.Sequential(nn.Conv2d(inner, out, 1, stride, bias=False), nn.BatchNorm2d(out)) \
            if stride > 1 or inner != out else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(y)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        inner, stages = 64, []
        for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            blocks = [Bottleneck(inner if k == 0 else width * 4, width, stride if k == 0 else 1) for k in range(depth)]
            stages.append(nn.Sequential(*blocks))
            inner = width * 4
        self.layer1, self.layer2, self.layer3, self.layer4 = stages

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean((2, 3))


def make(workload: str, mode: str, threads: int) -> Step:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    layout = torch.channels_last if mode == "channels_last" else torch.contiguous_format
    if workload.startswith("resnet50"):
        model = ResNet50().eval().to(memory_format=layout)
        x = torch.rand(int(workload.rpartition("-b")[2]), 3, 224, 224).to(memory_format=layout)
        return torch.inference_mode()(lambda: model(x).numpy())
    if workload == "cnn":
        model, x, classes = Cnn().to(memory_format=layout), torch.rand(64, 3, 32, 32).to(memory_format=layout), 10
        optimizer: torch.optim.Optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9)
    else:
        model, x, classes = Gru(), torch.randint(0, 30000, (64, 150)), 2
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    y = torch.randint(0, classes, (64,))

    def step() -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


if __name__ == "__main__":
    serve(make)
