"""A depthwise, grouped, transposed, 1d or 3d convolution, in ONNX Runtime."""
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

MODES = "default",


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
    return tuple(map(ort.OrtValue.ortvalue_from_numpy, arrays))


def convolution(x, w):
    if w[2] % 2 == 0:
        return helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[w[2] // 2 - 1] * 4)
    return helper.make_node("Conv", ["x", "w"], ["y"], pads=[w[2] // 2] * 2 * (len(x) - 2), group=x[1] // w[1])


class Convolution:
    """A session for the shapes of the first call."""

    def __init__(self):
        self.session = None

    def run(self, x, w):
        if self.session is None:
            shapes = {"x": x.shape(), "w": w.shape()}
            arguments = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in shapes]
            results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
            graph = helper.make_graph([convolution(*shapes.values())], "convolution", arguments, results)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
            self.session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return self.session.run_with_ort_values(None, {"x": x, "w": w})[0]


def initialise(mode="default"):
    return Convolution()


def step(state, x, w):
    return state.run(x, w)


def evaluate(state, x, w):
    return {"y": step(state, x, w).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "default"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
