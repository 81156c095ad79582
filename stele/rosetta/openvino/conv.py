"""One convolution of 32 images, in OpenVINO."""
import sys

import numpy as np
import openvino as ov
from openvino import opset15 as ops

MODES = "latency", "throughput"

def data(batch=32, inputs=64, outputs=64, edge=56, window=3, seed=0):
    """Images (batch, inputs, edge, edge), and weights (outputs, inputs, window, window)."""
    rng = np.random.default_rng(seed)
    shapes = (batch, inputs, edge, edge), (outputs, inputs, window, window)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(map(ov.Tensor, arrays))


def convolution(x, w):
    return ops.convolution(x, w, [1, 1], [0, 0], [0, 0], [1, 1], "same_upper")


class Convolution:
    """A request for shapes and weights that are known when it is first asked: weights are constants of its graph."""

    def __init__(self, mode):
        self.options = {"PERFORMANCE_HINT": mode.upper(), "INFERENCE_PRECISION_HINT": "f32"}
        self.request = None

    def infer(self, x, w):
        if self.request is None:
            argument = ops.parameter(list(x.shape), np.float32)
            model = ov.Model([convolution(argument, ops.constant(w.data))], [argument])
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
