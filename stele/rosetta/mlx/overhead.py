"""What uncompiled code costs around the arithmetic: small operations by the thousand, in MLX."""
import sys

import mlx.core as mx
import numpy as np

MODES = "eager",


def data(case="record", seed=0):
    """What to do, and normal numbers: two vectors (16,), a table (10, 16), and weights and biases of two layers."""
    rng = np.random.default_rng(seed)
    shapes = (16,), (16,), (10, 16), (16, 32), (32,), (32, 4), (4,)
    return case, *(rng.standard_normal(shape, np.float32) for shape in shapes)


def place(mode, case, *arrays):
    return CASES[case], *map(mx.array, arrays)


def record(x, z, *_):
    """1,000 sums that nobody looks at."""
    for _ in range(1000):
        y = x + z
    return y


def replay(x, z, *_):
    """100 chains of ten operations, each looked at."""
    for _ in range(100):
        y = x
        for _ in range(5):
            y = y * z + x
        seen = np.asarray(y)
    return seen


def index(x, z, table, *_):
    """1,000 rows of a table that nobody looks at."""
    for _ in range(100):
        for k in range(10):
            y = table[k]
    return y


def mlp(x, z, table, w1, b1, w2, b2):
    """200 times two layers, each looked at."""
    for _ in range(200):
        y = mx.maximum(table @ w1 + b1, 0) @ w2 + b2
        seen = np.asarray(y)
    return seen


CASES = {"record": record, "replay": replay, "index": index, "mlp": mlp}


def initialise(mode="eager"):
    return mode


def step(state, f, *arrays):
    return f(*arrays)


def evaluate(state, f, *arrays):
    return {"y": np.asarray(step(state, f, *arrays))}


if __name__ == "__main__":
    case = sys.argv[1] if sys.argv[1:] else "record"
    print(evaluate(initialise(), *place("eager", *data(case)))["y"])
