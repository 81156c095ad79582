"""The networks of the Rosetta benchmark, and two residual networks; names and layouts of parameters are PyTorch's."""
from __future__ import annotations

from stele import nn
from stele.arrays import functions as F
from stele.arrays.tensor import Tensor
from stele.nn import init


def xavier(model: nn.Module) -> None:
    """Xavier-uniform weights and zero biases in every convolution and linear layer."""
    for _, module in model.named_modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            module.weight = init.xavier_uniform(module.weight.shape)
            if module.bias is not None:
                module.bias = init.zeros(module.bias.shape)


class Cnn(nn.Module):
    """The benchmark's convolutional network: (N, channels, size, size) in 0..1 -> logits (N, classes)."""

    def __init__(self, channels: int = 3, size: int = 32, classes: int = 10) -> None:
        self.conv1, self.conv2 = nn.Conv2d(channels, 50, 3, padding=1), nn.Conv2d(50, 50, 3, padding=1)
        self.conv3, self.conv4 = nn.Conv2d(50, 100, 3, padding=1), nn.Conv2d(100, 100, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(100 * (size // 4) ** 2, 512), nn.Linear(512, classes)
        self.pool, self.quarter, self.dropout = nn.MaxPool2d(2), nn.Dropout(0.25), nn.Dropout(0.5)
        xavier(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.block(x, self.conv1, self.conv2)
        x = self.block(x, self.conv3, self.conv4)
        return self.fc2(self.dropout(F.relu(self.fc1(x.flatten(1)))))

    def block(self, x: Tensor, first: nn.Conv2d, second: nn.Conv2d) -> Tensor:
        return self.quarter(F.relu(self.pool(second(F.relu(first(x))))))


class Sentiment(nn.Module):
    """The benchmark's recurrent network: word numbers (N, T) -> logits (N, 2)."""

    def __init__(self, words: int = 30_000, features: int = 125, hidden: int = 100, classes: int = 2) -> None:
        self.embedding = nn.Embedding(words, features)
        self.gru = nn.GRU(features, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        _, last = self.gru(self.embedding(x))
        return self.fc(last[-1])


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut; the stride is in the 3x3 (v1.5)."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        outputs = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = [nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)] \
            if stride > 1 or inputs != outputs else []

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        for layer in self.downsample:
            x = layer(x)
        return F.relu(y + x)


class ResNet50(nn.Module):
    """ResNet-50 v1.5 (He et al., 2016): images (N, 3, 224, 224) -> logits (N, 1000), or 2048 features."""

    def __init__(self) -> None:
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = stage(64, 64, 3, 1)
        self.layer2 = stage(256, 128, 4, 2)
        self.layer3 = stage(512, 256, 6, 2)
        self.layer4 = stage(1024, 512, 3, 2)
        self.fc = nn.Linear(2048, 1000)

    def features(self, x: Tensor) -> Tensor:
        """(N, 2048): what the average pool gives."""
        x = F.relu(self.pool(self.bn1(self.conv1(x))))
        for blocks in (self.layer1, self.layer2, self.layer3, self.layer4):
            for block in blocks:
                x = block(x)
        return x.mean(axis=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.features(x))


def stage(inputs: int, width: int, depth: int, stride: int) -> list[Bottleneck]:
    """Bottlenecks at one resolution; the first one changes it."""
    return [Bottleneck(inputs if k == 0 else 4 * width, width, stride if k == 0 else 1) for k in range(depth)]


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut without weights: every second pixel, new channels zero (option A)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.stride, self.extra = stride, (outputs - inputs) // 2

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride > 1:
            x = F.pad(x[:, :, ::2, ::2], ((0, 0), (self.extra, self.extra), (0, 0), (0, 0)))
        return F.relu(y + x)


class ResNet20(nn.Module):
    """The CIFAR-10 ResNet-20 (He et al., 2016): normalised images (N, 3, 32, 32) -> logits (N, 10)."""

    def __init__(self, classes: int = 10) -> None:
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.layer1 = [BasicBlock(16, 16, 1) for _ in range(3)]
        self.layer2 = [BasicBlock(16 if k == 0 else 32, 32, 2 if k == 0 else 1) for k in range(3)]
        self.layer3 = [BasicBlock(32 if k == 0 else 64, 64, 2 if k == 0 else 1) for k in range(3)]
        self.linear = nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        for blocks in (self.layer1, self.layer2, self.layer3):
            for block in blocks:
                x = block(x)
        return self.linear(x.mean(axis=(2, 3)))
