"""The product of two square matrices, in ONNX Runtime."""
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

MODES = "default",

def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(ort.OrtValue.ortvalue_from_numpy, arrays))


def product():
    return [helper.make_node("MatMul", ["x", "y"], ["z"])]


def initialise(mode="default"):
    arguments = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    results = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    graph = helper.make_graph(product(), "product", arguments, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def step(session, *inputs):
    return session.run_with_ort_values(None, dict(zip(("x", "y"), inputs)))[0]


def evaluate(session, x, y):
    return {"y": step(session, x, y).numpy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "default"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
