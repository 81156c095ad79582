"""A layer norm and its gradients, in MLX."""
import sys

import mlx.core as mx
import numpy as np

MODES = "compile",

def data(count=8192, width=1024, seed=0):
    """Rows (count, width), weight and bias (width), and the gradient of the result."""
    rng = np.random.default_rng(seed)
    shapes = (count, width), (width,), (width,), (count, width)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, *arrays):
    return tuple(map(mx.array, arrays))


def norm(x, weight, bias):
    return mx.fast.layer_norm(x, weight, bias, 1e-5)


def initialise(mode="compile"):
    @mx.compile
    def pullback(x, weight, bias, g):
        (y,), found = mx.vjp(norm, [x, weight, bias], [g])
        return y, *found

    return pullback


def step(f, *inputs):
    result = f(*inputs)
    mx.eval(result)
    return result


def evaluate(f, *inputs):
    names = "y", "gradient of x", "gradient of weight", "gradient of bias"
    return {name: np.array(a) for name, a in zip(names, step(f, *inputs))}


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:] else "compile"
    for name, a in evaluate(initialise(mode), *place(mode, *data())).items():
        print(f"{name}: shape {a.shape}, mean square {np.mean(a ** 2):.6f}")
