"""What a model of an ONNX file gives, in Stele."""
import sys

import numpy as np

import stele as st
from stele.interop import onnx

MODES = "compile",


def data(file, inputs, seed=0):
    """The file, and numbers for inputs such as "float32 1x3x224x224, int64 1x16": in 0..1, whole ones 0 and 1."""
    rng, arrays = np.random.default_rng(seed), []
    for text in inputs.split(", "):
        kind, sizes = text.split()
        shape = tuple(int(n) for n in sizes.split("x") if n)
        arrays.append((rng.random(shape) if kind.startswith("float") else rng.integers(0, 2, shape)).astype(kind))
    return file, *arrays


def place(mode, file, *arrays):
    return file, *map(st.tensor, arrays)


def initialise(mode="compile"):
    return {}       # models by file: the first step reads it


def step(models, file, *inputs):
    if file not in models:
        models[file] = onnx.prepare(file)
    return models[file].run(inputs)


def evaluate(models, file, *inputs):
    return {f"output {k}": y for k, y in enumerate(step(models, file, *inputs))}


if __name__ == "__main__":
    file, inputs = sys.argv[1:3]
    for name, y in evaluate(initialise(), *place("compile", *data(file, inputs))).items():
        print(name, y.ravel()[:5])
