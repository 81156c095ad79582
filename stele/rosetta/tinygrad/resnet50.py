"""The features that ResNet-50 (v1.5) sees in photographs, in tinygrad."""
import sys

import numpy as np
from tinygrad import Tensor, TinyJit, nn

MODES = "jit",


def data(batch=1, seed=0):
    """Photographs (batch, 3, 224, 224) in 0..1."""
    return np.random.default_rng(seed).random((batch, 3, 224, 224), np.float32),


def place(mode, photos):
    return Tensor(photos).realize(),


class Bottleneck:
    def __init__(self, inputs, width, stride):
        outputs = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = [] if inputs == outputs else [
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)]

    def __call__(self, x):
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        return (self.bn3(self.conv3(y)) + x.sequential(self.downsample)).relu()


class ResNet50:
    def __init__(self):
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64)
        self.layer1 = self.stage(64, 64, 3, 1)
        self.layer2 = self.stage(256, 128, 4, 2)
        self.layer3 = self.stage(512, 256, 6, 2)
        self.layer4 = self.stage(1024, 512, 3, 2)

    def stage(self, inputs, width, depth, stride):
        return [Bottleneck(inputs, width, stride), *(Bottleneck(4 * width, width, 1) for _ in range(depth - 1))]

    def __call__(self, x):
        x = self.bn1(self.conv1(x)).relu().max_pool2d(3, 2, padding=1)
        return x.sequential(self.layer1 + self.layer2 + self.layer3 + self.layer4).mean((2, 3))


def initialise(mode="jit", weights=None):
    Tensor.manual_seed(0)
    model = ResNet50()
    if weights:
        arrays = {name: Tensor(w) for name, w in weights.items() if not name.endswith("num_batches_tracked")}
        nn.state.load_state_dict(model, arrays, strict=False, verbose=False)
    return TinyJit(lambda x: model(x).realize())


def step(features, x):
    return features(x)


def evaluate(features, x):
    return {"features": step(features, x).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    print(evaluate(initialise(mode), *place(mode, *data(1)))["features"][:, :5])
