"""A layer norm and its gradients, in PyTensor."""
import sys

import numpy as np
import pytensor
from pytensor import tensor as pt

MODES = "numba",

def data(count=8192, width=1024, seed=0):
    """Rows (count, width), weight and bias (width), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    shapes = (count, width), (width,), (width,), (count, width)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return arrays


def norm(x, weight, bias):
    centred = x - x.mean(1, keepdims=True, dtype="float32")
    variance = pt.sqr(centred).mean(1, keepdims=True, dtype="float32")
    return centred / pt.sqrt(variance + np.float32(1e-5)) * weight + bias


def initialise(mode="numba"):
    x, weight, bias, g = pt.fmatrix("x"), pt.fvector("weight"), pt.fvector("bias"), pt.fmatrix("g")
    y = norm(x, weight, bias)
    found = pt.grad(None, [x, weight, bias], known_grads={y: g})
    return pytensor.function([x, weight, bias, g], [y, *found], mode="NUMBA", trust_input=True)


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    names = "y", "gradient of x", "gradient of weight", "gradient of bias"
    return dict(zip(names, step(f, *inputs)))


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "numba"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
