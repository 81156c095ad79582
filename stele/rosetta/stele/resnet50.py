"""The features that ResNet-50 (v1.5) sees in photographs, in Stele."""
import sys

import numpy as np

import stele as st
from stele import nn

MODES = "compile",


def data(batch=1, seed=0):
    """Photographs (batch, 3, 224, 224) in 0..1."""
    return np.random.default_rng(seed).random((batch, 3, 224, 224), np.float32),


def place(mode, *arrays):
    return tuple(map(st.tensor, arrays))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        outputs = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = nn.Sequential() if inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = st.relu(self.bn1(self.conv1(x)))
        y = st.relu(self.bn2(self.conv2(y)))
        return st.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet50(nn.Module):
    def __init__(self):
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.layer1 = self.stage(64, 64, 3, 1)
        self.layer2 = self.stage(256, 128, 4, 2)
        self.layer3 = self.stage(512, 256, 6, 2)
        self.layer4 = self.stage(1024, 512, 3, 2)
        self.pool = nn.MaxPool2d(3, 2, 1)

    def stage(self, inputs, width, depth, stride):
        rest = [Bottleneck(4 * width, width, 1) for _ in range(depth - 1)]
        return nn.Sequential(Bottleneck(inputs, width, stride), *rest)

    def forward(self, x):
        x = st.relu(self.pool(self.bn1(self.conv1(x))))
        return self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean(axis=(2, 3))


def initialise(mode="compile", weights=None):
    st.manual_seed(0)
    model = ResNet50().eval()
    if weights:
        model.load_state_dict(weights)
    return st.compile(st.no_grad()(model.forward))


def step(model, x):
    return model(x)


def evaluate(model, x):
    return {"features": step(model, x).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(4)))["features"][:, :5])
