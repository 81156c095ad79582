"""The first training step of each Rosetta workload in the three styles, and its definition in float64."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

import stele as st
from stele import nn
from stele.backend import reference
from stele.backend.buffers import Buffer
from stele.call.compiled import Compiled
from stele.eager.follow import FOLLOWER, Follower
from stele.ir.graph import Array
from stele.ir.origin import setting
from stele.ir.types import float64
from stele.train.models import Cnn, Sentiment
from stele.transform.retype import bind
from tests.cases import widen

SEED = 5


@dataclass(frozen=True)
class Workload:
    """A network, and a batch of n for it."""

    model: Callable[[], nn.Module]
    batch: Callable[[int], tuple[Array, Array]]


def images(n: int, size: int = 32) -> tuple[Array, Array]:
    """(n, 3, size, size) float32 in 0..1, and labels 0..9."""
    rng = np.random.default_rng(0)
    return rng.random((n, 3, size, size), np.float32), rng.integers(0, 10, n)


def sentences(n: int, words: int = 30_000, length: int = 150) -> tuple[Array, Array]:
    """(n, length) word numbers, and labels 0..1."""
    rng = np.random.default_rng(0)
    return rng.integers(0, words, (n, length)), rng.integers(0, 2, n)


WORKLOADS = {"cnn": Workload(Cnn, images), "gru": Workload(Sentiment, sentences)}


def distance(a: Array, b: Array) -> float:
    """max|a-b| / max|b|."""
    return float(np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 1e-300))


def gradients_of(model: nn.Module) -> Callable[[Any, Any], list[Any]]:
    """The step: loss and the gradient of every parameter."""
    def step(x: Any, y: Any) -> list[Any]:
        model.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        return [loss, *(p.grad for p in model.parameters())]

    return step


def imperative(model: nn.Module, x: Array, y: Array) -> list[Array]:
    """The numbers of the step, evaluated when looked at."""
    st.manual_seed(SEED)
    return [t.numpy() for t in gradients_of(model)(st.tensor(x), st.tensor(y))]


def compiled(model: nn.Module, x: Array, y: Array) -> list[Array]:
    """The numbers of the step as one program."""
    st.manual_seed(SEED)
    return [t.numpy() for t in st.compile(gradients_of(model))(x, y)]


def symbolic(model: nn.Module, x: Array, y: Array) -> list[Array]:
    """The numbers of the step through placeholders."""
    inputs = st.placeholder(x.shape, str(x.dtype), "x"), st.placeholder(y.shape, str(y.dtype), "y")
    loss = nn.cross_entropy(model(inputs[0]), inputs[1])
    f = st.function(inputs, [loss, *st.gradients(loss, model.parameters())])
    st.manual_seed(SEED)
    return [t.numpy() for t in f(x, y)]


def inputs_of(f: Compiled, *args: Any) -> tuple[Any, list[Array]]:
    """The traced graph of a compiled function with its sizes bound, and the arrays it was called with."""
    seen: list[tuple[list[Array], dict[str, int]]] = []
    f(*args)
    plan = next(iter(f.variants.at_hand.values()))[0].plan

    class Spy(Follower):
        def running(self, program: Any, graph: Any) -> Any:
            def run(buffers: list[Buffer], sizes: dict[str, int], *rest: Any) -> Any:
                seen.append(([b.array.copy() for b in buffers], dict(sizes)))
                return program.run(buffers, sizes, *rest)
            return SimpleNamespace(run=run)

    with setting(FOLLOWER, Spy()):
        f(*args)
    arrays, sizes = seen[0]
    return bind(plan.traced.graph, sizes), arrays


def in_float64(f: Compiled, *args: Any) -> list[Array]:
    """What a compiled function means, computed by the reference in float64."""
    graph, arrays = inputs_of(f, *args)
    wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]
    return reference.run(widen(graph, float64), wide)
