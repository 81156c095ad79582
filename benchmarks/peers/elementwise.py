"""A chain of 20 elementwise ops on 10 million elements, in the framework that is named first on the command line."""
from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
from worker import Step, serve

COUNT = 10_000_000


def chain(m: Any, x: Any, y: Any) -> Any:
    """20 ops, four of them transcendental; `m` holds the framework's functions."""
    a = x * y + 0.5
    b = m.tanh(a) - x * 0.25
    c = m.exp(b * -0.5) + y
    d = m.maximum(c, x) * 0.125 - a
    e = m.sqrt(m.abs(d) + 1.0) * b
    return m.sin(e) * 0.75 + m.minimum(c, e) - d


def make(framework: str, mode: str, threads: int) -> Step:
    draw = np.random.default_rng(0)
    x, y = draw.random(COUNT, np.float32), draw.random(COUNT, np.float32)
    if framework == "stele":
        m = importlib.import_module("stele")
        f, xs = m.compile(lambda x, y: chain(m, x, y)), (m.tensor(x), m.tensor(y))
        return lambda: f(*xs).numpy()
    if framework == "jax":
        jax, m = importlib.import_module("jax"), importlib.import_module("jax.numpy")
        f, xs = jax.jit(lambda x, y: chain(m, x, y)), (m.asarray(x), m.asarray(y))
        return lambda: f(*xs).block_until_ready()
    m = importlib.import_module("torch")
    m.set_num_threads(threads)
    xs = m.from_numpy(x), m.from_numpy(y)
    return lambda: chain(m, *xs)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    serve(make)
