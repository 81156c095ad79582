"""The features that ResNet-50 (v1.5) sees in photographs, in MLX."""
import sys

import mlx.core as mx
import numpy as np
from mlx import nn

MODES = "compile",


def data(batch=1, seed=0):
    """Photographs (batch, 3, 224, 224) in 0..1."""
    return np.random.default_rng(seed).random((batch, 3, 224, 224), np.float32),


def place(mode, photos):
    return mx.array(photos.transpose(0, 2, 3, 1)),


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm(outputs)
        self.downsample = [] if inputs == outputs else [
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm(outputs)]

    def __call__(self, x):
        y = nn.relu(self.bn1(self.conv1(x)))
        y = nn.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        for layer in self.downsample:
            x = layer(x)
        return nn.relu(y + x)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm(64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self.stage(64, 64, 3, 1)
        self.layer2 = self.stage(256, 128, 4, 2)
        self.layer3 = self.stage(512, 256, 6, 2)
        self.layer4 = self.stage(1024, 512, 3, 2)

    def stage(self, inputs, width, depth, stride):
        return [Bottleneck(inputs, width, stride), *(Bottleneck(4 * width, width, 1) for _ in range(depth - 1))]

    def __call__(self, x):
        x = self.pool(nn.relu(self.bn1(self.conv1(x))))
        for block in (*self.layer1, *self.layer2, *self.layer3, *self.layer4):
            x = block(x)
        return x.mean((1, 2))


def from_torch(w):
    """A parameter as MLX lays it out: channels last."""
    return w.transpose(0, 2, 3, 1) if w.ndim == 4 else w


def initialise(mode="compile", weights=None):
    mx.random.seed(0)
    model = ResNet50()
    model.eval()
    if weights:
        model.load_weights([(name, mx.array(from_torch(w))) for name, w in weights.items()
                            if not name.endswith("num_batches_tracked")])
    return mx.compile(model)


def step(features, x):
    result = features(x)
    mx.eval(result)
    return result


def evaluate(features, x):
    return {"features": np.array(step(features, x))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    print(evaluate(initialise(mode), *place(mode, *data(1)))["features"][:, :5])
