"""A chain of 20 elementwise operations, in OpenVINO."""
import sys

import numpy as np
import openvino as ov
from openvino import opset15 as ops

MODES = "latency", "throughput"


def data(count=1000, seed=0):
    """Two arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(count, np.float32) for _ in range(2))


def place(mode, *arrays):
    return tuple(map(ov.Tensor, arrays))


def chain(x, y):
    number = lambda value: ops.constant(value, np.float32)
    g = x * x * x * number(0.044715) + x
    g = (ops.tanh(g * number(0.7978845608)) + number(1.0)) * x * number(0.5)
    s = g * ops.sigmoid(y) + ops.tanh(x * y)
    return (s - ops.exp(ops.negative(x * x))) * y + x


def initialise(mode="latency"):
    arguments = [ops.parameter([-1], np.float32) for _ in range(2)]
    options = {"PERFORMANCE_HINT": mode.upper(), "INFERENCE_PRECISION_HINT": "f32"}
    return ov.compile_model(ov.Model([chain(*arguments)], arguments), "CPU", options).create_infer_request()


def step(request, x, y):
    request.infer({0: x, 1: y}, share_inputs=True)
    return request.get_output_tensor(0)


def evaluate(request, x, y):
    return {"z": step(request, x, y).data.copy()}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "latency"
    print(evaluate(initialise(mode), *place(mode, *data()))["z"][:10])
