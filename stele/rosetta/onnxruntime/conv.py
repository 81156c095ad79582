"""One convolution of 32 images, in ONNX Runtime."""
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

MODES = "default",

def data(batch=32, inputs=64, outputs=64, edge=56, window=3, seed=0):
    """Images (batch, inputs, edge, edge), and weights (outputs, inputs, window, window)."""
    rng = np.random.default_rng(seed)
    shapes = (batch, inputs, edge, edge), (outputs, inputs, window, window)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(map(ort.OrtValue.ortvalue_from_numpy, arrays))


def convolution():
    return [helper.make_node("Conv", ["x", "y"], ["z"], auto_pad="SAME_UPPER")]


def initialise(mode="default"):
    arguments = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    results = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    graph = helper.make_graph(convolution(), "convolution", arguments, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def step(session, *inputs):
    return session.run_with_ort_values(None, dict(zip(("x", "y"), inputs)))[0]


def evaluate(session, x, w):
    return {"y": step(session, x, w).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "default"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][0, 0, :3, :5])
