"""A small network that learns from images of 28 x 28 pixels, in PyTensor."""
import sys

import numpy as np
import pytensor
from pytensor import tensor as pt

MODES = "numba",

def data(batch=32, seed=0):
    """Images (batch, 784) in 0..1 with one bright row, and labels 0..9 that say which."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((batch, 28, 28), np.float32), rng.integers(0, 10, batch)
    images[np.arange(batch), 2 * labels] = 1
    return images.reshape(batch, 784), labels


def place(mode, *arrays):
    return arrays


class Mlp:
    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        shapes = {"fc1.weight": (128, 784), "fc1.bias": (128,), "fc2.weight": (10, 128), "fc2.bias": (10,)}
        self.parameters = {name: pytensor.shared(rng.uniform(-1, 1, shape).astype("float32") / shape[-1] ** 0.5)
                           for name, shape in shapes.items()}

    def __call__(self, x):
        w1, b1, w2, b2 = self.parameters.values()
        return pt.maximum(x @ w1.T + b1, 0) @ w2.T + b2


def loss(logits, y):
    return -pt.special.log_softmax(logits, axis=1)[pt.arange(y.shape[0]), y].mean(dtype="float32")


def initialise(mode="numba", weights=None):
    model, x, y = Mlp(), pt.fmatrix("x"), pt.lvector("y")
    for name, w in (weights or {}).items():
        model.parameters[name].set_value(w)
    logits = model(x)
    value, parameters = loss(logits, y), list(model.parameters.values())
    found = pt.grad(value, parameters)
    moved = [(p, p - np.float32(0.1) * g) for p, g in zip(parameters, found)]
    right = pt.eq(logits.argmax(1), y).mean(dtype="float32")
    outputs = {"update": value, "pullback": [value, *found], "measure": [value, right]}
    return model, {name: pytensor.function([x, y], output, updates=moved if name == "update" else None,
                                           mode="NUMBA", trust_input=True) for name, output in outputs.items()}


def gradients(state, x, y):
    model, functions = state
    value, *found = functions["pullback"](x, y)
    return float(value), dict(zip(model.parameters, found))


def step(state, x, y):
    _, functions = state
    return float(functions["update"](x, y))


def train(mode="numba", steps=200):
    state = initialise(mode)
    for k in range(steps):
        loss = step(state, *place(mode, *data(seed=k)))
        if k % 50 == 49:
            print(f"step {k + 1}: loss {loss:.4f}")
    print("test loss {:.4f}, accuracy {:.4f}".format(*evaluate(state, *place(mode, *data(1000, seed=steps)))))


def evaluate(state, x, y):
    _, functions = state
    return tuple(map(float, functions["measure"](x, y)))


if __name__ == "__main__":
    train(*sys.argv[1:])
