"""A layer norm and its gradients, in tinygrad."""
import sys

import numpy as np
from tinygrad import Tensor, TinyJit

MODES = "jit",

def data(count=8192, width=1024, seed=0):
    """Rows (count, width), weight and bias (width), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    shapes = (count, width), (width,), (width,), (count, width)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(Tensor(a).realize() for a in arrays)


def norm(x, weight, bias):
    return x.layernorm(eps=1e-5) * weight + bias


def initialise(mode="jit"):
    @TinyJit
    def pullback(x, weight, bias, g):
        y = norm(x, weight, bias)
        found = y.gradient(x, weight, bias, gradient=g)
        return y.realize(*found), *found

    return pullback


def step(f, *inputs):
    return f(*inputs)


def evaluate(f, *inputs):
    names = "y", "gradient of x", "gradient of weight", "gradient of bias"
    return {name: a.numpy() for name, a in zip(names, step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "jit"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
