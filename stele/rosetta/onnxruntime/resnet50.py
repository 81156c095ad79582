"""The features that ResNet-50 (v1.5) sees in photographs, in ONNX Runtime."""
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MODES = "default",

def data(batch=1, seed=0):
    """Photographs (batch, 3, 224, 224) in 0..1."""
    return np.random.default_rng(seed).random((batch, 3, 224, 224), np.float32),


def place(mode, *arrays):
    return tuple(map(ort.OrtValue.ortvalue_from_numpy, arrays))


class ResNet50:
    """An ONNX graph in the making: every method adds nodes and returns the name of their result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], {}

    def node(self, kind, *inputs, **attributes):
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, name):
        self.constants[name] = numpy_helper.from_array(self.weights[name], name)
        return name

    def normed(self, x, convolution, norm, stride=1):
        w = self.weights[f"{convolution}.weight"]
        x = self.node("Conv", x, self.weight(f"{convolution}.weight"), strides=[stride] * 2,
                      pads=[w.shape[2] // 2] * 4)
        kinds = "weight", "bias", "running_mean", "running_var"
        return self.node("BatchNormalization", x, *(self.weight(f"{norm}.{kind}") for kind in kinds), epsilon=1e-5)

    def bottleneck(self, x, name, stride):
        y = self.node("Relu", self.normed(x, f"{name}.conv1", f"{name}.bn1"))
        y = self.node("Relu", self.normed(y, f"{name}.conv2", f"{name}.bn2", stride))
        y = self.normed(y, f"{name}.conv3", f"{name}.bn3")
        if f"{name}.downsample.0.weight" in self.weights:
            x = self.normed(x, f"{name}.downsample.0", f"{name}.downsample.1", stride)
        return self.node("Relu", self.node("Add", y, x))

    def model(self):
        x = self.node("Relu", self.normed("x", "conv1", "bn1", 2))
        x = self.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        for stage, depth in enumerate((3, 4, 6, 3), 1):
            for k in range(depth):
                x = self.bottleneck(x, f"layer{stage}.{k}", 1 if k or stage == 1 else 2)
        x = self.node("Flatten", self.node("GlobalAveragePool", x))
        arguments = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 224, 224])]
        results = [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", 2048])]
        graph = helper.make_graph(self.nodes, "resnet50", arguments, results, list(self.constants.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


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


def initialise(mode="default", weights=None):
    model = ResNet50(weights or random_weights()).model()
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def step(session, x):
    return session.run_with_ort_values(None, {"x": x})[0]


def evaluate(session, x):
    return {"features": step(session, x).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "default"
    print(evaluate(initialise(mode), *place(mode, *data(4)))["features"][:, :5])
