"""The features that ResNet-50 (v1.5) sees in photographs, in OpenVINO."""
import sys

import numpy as np
import openvino as ov
from openvino import opset15 as ops

MODES = "latency", "throughput"

def data(batch=1, seed=0):
    """Photographs (batch, 3, 224, 224) in 0..1."""
    return np.random.default_rng(seed).random((batch, 3, 224, 224), np.float32),


def place(mode, *arrays):
    return tuple(map(ov.Tensor, arrays))


class ResNet50:
    """The graph of a model on weights."""

    def __init__(self, weights):
        self.weights = weights

    def normed(self, x, convolution, norm, stride=1):
        w = self.weights[f"{convolution}.weight"]
        pads = [w.shape[2] // 2] * 2
        x = ops.convolution(x, ops.constant(w), [stride] * 2, pads, pads, [1, 1])
        kinds = "weight", "bias", "running_mean", "running_var"
        return ops.batch_norm_inference(x, *(ops.constant(self.weights[f"{norm}.{kind}"]) for kind in kinds), 1e-5)

    def bottleneck(self, x, name, stride):
        y = ops.relu(self.normed(x, f"{name}.conv1", f"{name}.bn1"))
        y = ops.relu(self.normed(y, f"{name}.conv2", f"{name}.bn2", stride))
        y = self.normed(y, f"{name}.conv3", f"{name}.bn3")
        if f"{name}.downsample.0.weight" in self.weights:
            x = self.normed(x, f"{name}.downsample.0", f"{name}.downsample.1", stride)
        return ops.relu(ops.add(y, x))

    def model(self, shape):
        argument = ops.parameter(shape, np.float32)
        x = ops.relu(self.normed(argument, "conv1", "bn1", 2))
        x = ops.max_pool(x, [2, 2], [1, 1], [1, 1], [1, 1], [3, 3]).output(0)
        for stage, depth in enumerate((3, 4, 6, 3), 1):
            for k in range(depth):
                x = self.bottleneck(x, f"layer{stage}.{k}", 1 if k or stage == 1 else 2)
        return ov.Model([ops.reduce_mean(x, [2, 3])], [argument])


def random_weights(seed=0):
    """He-normal convolutions, and batch norms that change nothing, under PyTorch's names."""
    rng, weights = np.random.default_rng(seed), {}

    def add(convolution, norm, outputs, inputs, window):
        w = rng.standard_normal((outputs, inputs, window, window), np.float32)
        weights[f"{convolution}.weight"] = w * np.float32(2 / (inputs * window ** 2)) ** 0.5
        for kind, fill in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            weights[f"{norm}.{kind}"] = np.full(outputs, fill, np.float32)

    add("conv1", "bn1", 64, 3, 7)
    inputs = 64
    for stage, (width, depth) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
        for k in range(depth):
            name = f"layer{stage}.{k}"
            add(f"{name}.conv1", f"{name}.bn1", width, inputs, 1)
            add(f"{name}.conv2", f"{name}.bn2", width, width, 3)
            add(f"{name}.conv3", f"{name}.bn3", 4 * width, width, 1)
            if k == 0:
                add(f"{name}.downsample.0", f"{name}.downsample.1", 4 * width, inputs, 1)
            inputs = 4 * width
    return weights


class Features:
    """A request for the shape that it is first asked of."""

    def __init__(self, mode, weights):
        self.options, self.weights = {"PERFORMANCE_HINT": mode.upper(), "INFERENCE_PRECISION_HINT": "f32"}, weights
        self.request = None

    def infer(self, x):
        if self.request is None:
            model = ResNet50(self.weights).model(list(x.shape))
            self.request = ov.compile_model(model, "CPU", self.options).create_infer_request()
        self.request.infer({0: x}, share_inputs=True)
        return self.request.get_output_tensor(0)


def initialise(mode="latency", weights=None):
    return Features(mode, weights or random_weights())


def step(request, x):
    return request.infer(x)


def evaluate(request, x):
    return {"features": step(request, x).data.copy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "latency"
    print(evaluate(initialise(mode), *place(mode, *data(4)))["features"][:, :5])
