"""A depthwise, grouped, transposed, 1d or 3d convolution, in OpenVINO."""
import sys

import numpy as np
import openvino as ov
from openvino import opset15 as ops

MODES = "latency", "throughput"


def data(batch=8, inputs=128, outputs=128, groups=1, axes=2, edge=56, depth=16, window=3, seed=0):
    """Signals (batch, inputs, edge), images or volumes (batch, inputs, depth, edge, edge), and weights (outputs, inputs
    / groups, window, ...); of an even window those (inputs, outputs, ...) of a transposed one in steps of 2.
    """
    rng = np.random.default_rng(seed)
    space = {1: (edge,), 2: (edge, edge), 3: (depth, edge, edge)}[axes]
    channels = (outputs, inputs // groups) if window % 2 else (inputs, outputs)
    shapes = (batch, inputs, *space), (*channels, *[window] * axes)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(map(ov.Tensor, arrays))


def convolution(x, w, groups):
    axes, window = len(w.shape) - 2, w.shape[2]
    ones, pads = [1] * axes, [window // 2] * axes
    if window % 2 == 0:
        pads = [window // 2 - 1] * axes
        return ops.convolution_backprop_data(x, ops.constant(w), [2] * axes, None, pads, pads, ones)
    if groups == 1:
        return ops.convolution(x, ops.constant(w), ones, pads, pads, ones)
    apart = w.reshape(groups, len(w) // groups, *w.shape[1:])
    return ops.group_convolution(x, ops.constant(apart), ones, pads, pads, ones)


class Convolution:
    """A request for shapes and weights that are known when it is first asked: weights are constants of its graph."""

    def __init__(self, mode):
        self.options = {"PERFORMANCE_HINT": mode.upper(), "INFERENCE_PRECISION_HINT": "f32"}
        self.request = None

    def infer(self, x, w):
        if self.request is None:
            argument = ops.parameter(list(x.shape), np.float32)
            result = convolution(argument, w.data, x.shape[1] // w.shape[1])
            model = ov.Model([result], [argument])
            self.request = ov.compile_model(model, "CPU", self.options).create_infer_request()
        self.request.infer({0: x}, share_inputs=True)
        return self.request.get_output_tensor(0)


def initialise(mode="latency"):
    return Convolution(mode)


def step(request, *inputs):
    return request.infer(*inputs)


def evaluate(request, x, w):
    return {"y": step(request, x, w).data.copy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "latency"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
