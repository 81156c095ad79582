"""What a model of an ONNX file gives, in ONNX Runtime."""
import sys

import numpy as np
import onnxruntime as ort

MODES = "default",


def data(file, inputs, seed=0):
    """The file, and numbers for inputs such as "float32 1x3x224x224, int64 1x16": in 0..1, whole ones 0 and 1."""
    rng, arrays = np.random.default_rng(seed), []
    for text in inputs.split(", "):
        kind, sizes = text.split()
        shape = tuple(int(n) for n in sizes.split("x") if n)
        arrays.append((rng.random(shape) if kind.startswith("float") else rng.integers(0, 2, shape)).astype(kind))
    return file, *arrays


def place(mode, file, *arrays):
    return file, *map(ort.OrtValue.ortvalue_from_numpy, arrays)


def initialise(mode="default"):
    return {}       # sessions and names of inputs by file: the first step reads it


def step(sessions, file, *inputs):
    if file not in sessions:
        session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
        sessions[file] = session, [argument.name for argument in session.get_inputs()]
    session, names = sessions[file]
    return session.run_with_ort_values(None, dict(zip(names, inputs)))


def evaluate(sessions, file, *inputs):
    return {f"output {k}": y.numpy() for k, y in enumerate(step(sessions, file, *inputs))}


if __name__ == "__main__":
    file, inputs = sys.argv[1:3]
    for name, y in evaluate(initialise(), *place("default", *data(file, inputs))).items():
        print(name, y.ravel()[:5])
