"""What a model of an ONNX file gives, in OpenVINO."""
import sys

import numpy as np
import openvino as ov

MODES = "latency", "throughput"


def data(file, inputs, seed=0):
    """The file, and numbers for inputs such as "float32 1x3x224x224, int64 1x16": in 0..1, whole ones 0 and 1."""
    rng, arrays = np.random.default_rng(seed), []
    for text in inputs.split(", "):
        kind, sizes = text.split()
        shape = tuple(int(n) for n in sizes.split("x") if n)
        arrays.append((rng.random(shape) if kind.startswith("float") else rng.integers(0, 2, shape)).astype(kind))
    return file, *arrays


def place(mode, file, *arrays):
    return file, *map(ov.Tensor, arrays)


def initialise(mode="latency"):
    return {"options": {"PERFORMANCE_HINT": mode.upper(), "INFERENCE_PRECISION_HINT": "f32"}}   # and requests by file


def step(requests, file, *inputs):
    if file not in requests:
        requests[file] = ov.compile_model(file, "CPU", requests["options"]).create_infer_request()
    request = requests[file]
    request.infer(dict(enumerate(inputs)), share_inputs=True)
    return request.output_tensors


def evaluate(requests, file, *inputs):
    return {f"output {k}": y.data.copy() for k, y in enumerate(step(requests, file, *inputs))}


if __name__ == "__main__":
    file, inputs = sys.argv[1:3]
    for name, y in evaluate(initialise(), *place("latency", *data(file, inputs))).items():
        print(name, y.ravel()[:5])
