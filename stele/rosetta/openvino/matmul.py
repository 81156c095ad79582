"""The product of two square matrices, in OpenVINO."""
import sys

import numpy as np
import openvino as ov
from openvino import opset15 as ops

MODES = "latency", "throughput"

def data(size=1024, seed=0):
    """Two matrices of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((size, size), np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(ov.Tensor, arrays))


def product(x, y):
    return ops.matmul(x, y, False, False)


def initialise(mode="latency"):
    arguments = [ops.parameter([-1, -1], np.float32) for _ in range(2)]
    options = {"PERFORMANCE_HINT": mode.upper(), "INFERENCE_PRECISION_HINT": "f32"}
    return ov.compile_model(ov.Model([product(*arguments)], arguments), "CPU", options).create_infer_request()


def step(request, *inputs):
    request.infer(dict(enumerate(inputs)), share_inputs=True)
    return request.get_output_tensor(0)


def evaluate(request, x, y):
    return {"y": step(request, x, y).data.copy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "latency"
    print(evaluate(initialise(mode), *place(mode, *data()))["y"][:3, :5])
