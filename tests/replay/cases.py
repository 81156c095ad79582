"""What is emitted: a graph by name, as a compiled function traces it."""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn
from unittest.mock import patch

import numpy as np

import stele as st
from stele import nn
from stele.ir.graph import Graph
from stele.pipeline import Options
from stele.rosetta import rows
from tests.host_ops import ordered, running

Arrays = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Traced:
    """What the compiler is asked for."""

    graph: Graph
    donate: Mapping[int, int]
    steady: tuple[int, ...]
    options: Options


class Taken(BaseException):
    """Carries what the compiler was asked for out of the call that asked."""

    def __init__(self, traced: Traced) -> None:
        super().__init__()
        self.traced = traced


def asked(call: Callable[[], object]) -> Traced:
    """What a call of a compiled function asks the compiler for; it is not compiled."""
    def build(graph: Graph, *, donate: Mapping[int, int], steady: tuple[int, ...], options: Options, **_: object
              ) -> NoReturn:
        raise Taken(Traced(graph, donate, steady, options))

    with patch.object(sys.modules["stele.call.variants"], "build", build):
        try:
            call()
        except Taken as taken:
            return taken.traced
    raise AssertionError("the call compiled nothing")


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


def i64(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.int64)


def gradients(f: Callable[..., Any], *wrt: int) -> Callable[..., Any]:
    """The derivatives of the sum of a function's squares."""
    return st.grad(lambda *x: (f(*x) ** 2).sum(), wrt)


def convolution(**options: Any) -> Callable[..., Any]:
    return lambda x, w: st.conv2d(x, w, **options)


def loop(x: Any, w: Any) -> Any:
    """A recurrence over the first axis: its last state and all of them."""
    return st.scan(lambda h, row: (lambda y: (y, y))(st.tanh(row + h @ w)), x[0] * 0, x)


def sorting(x: Any, w: Any) -> Any:
    """Ops that Python computes, in a loop and beside products."""
    def step(h: Any, row: Any) -> Any:
        y, at = ordered(st.tanh(row + h @ w))
        return y, running(y, axis=1) + at
    return st.scan(step, x[0] * 0, running(x * 2))


def attention(q: Any, k: Any, v: Any) -> Any:
    return st.softmax(q @ k.transpose(0, 1, 3, 2) / 8, axis=-1) @ v


KEPT = st.zeros(512, 512, 3, 3)

CASES: dict[str, tuple[Callable[..., Any], Arrays, dict[str, Any]]] = {
    "product 64":             (lambda x, y: x @ y, (f32(64, 64), f32(64, 64)), {}),
    "product 1024":           (lambda x, y: x @ y, (f32(1024, 1024), f32(1024, 1024)), {}),
    "product 2048":           (lambda x, y: x @ y, (f32(2048, 2048), f32(2048, 2048)), {}),
    "product 1024 bf16":      (lambda x, y: x @ y, (f32(1024, 1024), f32(1024, 1024)), {"precision": "bf16"}),
    "two layers bf16, gradients": (gradients(lambda x, u, w: st.relu(x @ u) @ w, 1, 2),
                                   (f32(64, 96), f32(96, 128), f32(128, 80)), {"precision": "bf16"}),
    "product transposed":     (lambda x, y: x.T @ y.T, (f32(300, 200), f32(100, 300)), {}),
    "product of a batch":     (lambda x, y: x @ y, (f32(8, 40, 56), f32(8, 56, 24)), {}),
    "product of a row":       (lambda x, y: x @ y, (f32(1, 4096), f32(4096, 512)), {}),
    "product of open rows":   (lambda x, y: x @ y, (f32(48, 784), f32(784, 128)), {"dims": {"x": {0: "n"}}}),
    "product float64":        (lambda x, y: x @ y, (np.zeros((128, 96)), np.zeros((96, 80))), {}),
    "product float16":        (lambda x, y: x @ y, (np.zeros((64, 96), "f2"), np.zeros((96, 80), "f2")), {}),
    "product of open depth":  (lambda x, y: x.T @ y, (f32(9000, 16), f32(9000, 24)),
                               {"dims": {"x": {0: "n"}, "y": {0: "n"}}}),
    "linear, relu":           (lambda x, w, b: st.relu(x @ w + b), (f32(64, 784), f32(784, 256), f32(256)), {}),
    "conv 3x3 56":            (convolution(padding=1), (f32(8, 64, 56, 56), f32(64, 64, 3, 3)), {}),
    "conv 3x3 14":            (convolution(padding=1), (f32(8, 256, 14, 14), f32(256, 256, 3, 3)), {}),
    "conv 3x3 strict":        (convolution(padding=1), (f32(8, 64, 28, 28), f32(64, 64, 3, 3)),
                               {"precision": "strict"}),
    "conv 3x3 bf16":          (convolution(padding=1), (f32(8, 64, 28, 28), f32(64, 64, 3, 3)), {"precision": "bf16"}),
    "conv 3x3 stride 2":      (convolution(padding=1, stride=2), (f32(8, 64, 28, 28), f32(96, 64, 3, 3)), {}),
    "conv 3x3 dilated":       (convolution(padding=2, dilation=2), (f32(2, 16, 20, 20), f32(16, 16, 3, 3)), {}),
    "conv 3x3 groups":        (convolution(padding=1, groups=4), (f32(2, 32, 20, 20), f32(32, 8, 3, 3)), {}),
    "conv 3x3 depthwise":     (convolution(padding=1, groups=32), (f32(2, 32, 20, 20), f32(32, 1, 3, 3)), {}),
    "conv 3x3 depthwise, gradients": (gradients(convolution(padding=1, stride=2, groups=32), 0, 1),
                                      (f32(2, 32, 20, 20), f32(32, 1, 3, 3)), {}),
    "conv 1d":                (lambda x, w: st.conv1d(x, w, padding=4), (f32(1, 32, 16000), f32(64, 32, 9)), {}),
    "conv 3d":                (lambda x, w: st.conv3d(x, w, padding=1),
                               (f32(1, 8, 6, 20, 20), f32(16, 8, 3, 3, 3)), {}),
    "conv transposed":        (lambda x, w: st.conv_transpose2d(x, w, stride=2, padding=1),
                               (f32(1, 16, 12, 12), f32(16, 8, 4, 4)), {}),
    "conv 7x7 stride 2":      (convolution(padding=3, stride=2), (f32(2, 3, 64, 64), f32(64, 3, 7, 7)), {}),
    "conv 1x1":               (convolution(), (f32(8, 256, 28, 28), f32(64, 256, 1, 1)), {}),
    "conv 1x1 stride 2":      (convolution(stride=2), (f32(8, 64, 28, 28), f32(128, 64, 1, 1)), {}),
    "conv 3x3, gradients":    (gradients(convolution(padding=1), 0, 1), (f32(8, 50, 32, 32), f32(50, 50, 3, 3)), {}),
    "conv strided, gradients": (gradients(convolution(padding=1, stride=2), 0, 1),
                                (f32(4, 16, 16, 16), f32(24, 16, 3, 3)), {}),
    "conv 5x5, gradients":    (gradients(convolution(padding=2), 0, 1), (f32(2, 6, 13, 13), f32(10, 6, 5, 5)), {}),
    "conv 1x1, gradients":    (gradients(convolution(), 0, 1), (f32(4, 48, 2, 2), f32(64, 48, 1, 1)), {}),
    "conv 1x1 down 14":       (convolution(), (f32(8, 1024, 14, 14), f32(256, 1024, 1, 1)), {}),
    "conv of exp, gradients": (gradients(lambda x, w: st.conv2d(x, st.exp(w), padding=1), 0),
                               (f32(2, 8, 12, 12), f32(16, 8, 3, 3)), {}),
    "conv of open sizes":     (convolution(padding=1), (f32(2, 8, 20, 24), f32(8, 8, 3, 3)),
                               {"dims": {"x": {0: "n", 2: "h", 3: "w"}}}),
    "conv 3x3 of open sizes, gradients": (lambda x, w: gradients(convolution(padding=1), 0, 1)(x, w),
                                          (f32(2, 16, 20, 24), f32(24, 16, 3, 3)),
                                          {"dims": {"x": {0: "n", 2: "h", 3: "w"}}}),
    "conv of open sizes, gradients": (lambda x, w: gradients(convolution(padding=1, stride=2), 0, 1)(x, w),
                                      (f32(2, 3, 20, 24), f32(8, 3, 3, 3)), {"dims": {"x": {0: "n", 2: "h", 3: "w"}}}),
    "max pool, gradient":     (gradients(lambda x: st.max_pool2d(x, 2), 0), (f32(8, 50, 32, 32),), {}),
    "mean pool":              (lambda x: st.avg_pool2d(x, 3, stride=2, padding=1), (f32(4, 16, 31, 31),), {}),
    "elementwise 1000":       (lambda x, y: st.tanh(x * y + 1) / (st.exp(y) + 2), (f32(1000), f32(1000)), {}),
    "elementwise 10M":        (lambda x, y: st.tanh(x * y + 1) / (st.exp(y) + 2), (f32(10**7), f32(10**7)), {}),
    "elementwise bfloat16":   (lambda x: (x.astype("bfloat16") * 3 + 1).astype("float32"), (f32(1000),), {}),
    "integers":               (lambda x, y: (x // (y + 1), x % (y + 1), x << 2, st.maximum(x, y)),
                               (i64(33, 5), i64(33, 5)), {}),
    "broadcast, transpose":   (lambda x, y: (x + y).transpose(1, 0) * 2, (f32(65, 1), f32(257)), {}),
    "pad, slice, join":       (lambda x: st.concatenate([st.pad(x, ((1, 2), (0, 3))), st.repeat(x[::-2, :1], 20, 1)]),
                               (f32(16, 17),), {}),
    "sums":                   (lambda x: (x.sum(0), x.mean(1), x.max(), x.var((0, 1))), (f32(255, 1000),), {}),
    "argmax, roll":           (lambda x: (st.argmax(x, axis=1), st.roll(x, 3, axis=0)), (f32(64, 100),), {}),
    "softmax":                (lambda x: st.softmax(x, axis=1), (f32(256, 1000),), {}),
    "cross-entropy, gradient": (gradients(nn.cross_entropy, 0), (f32(64, 32000), i64(64)), {}),
    "layernorm, gradient":    (gradients(lambda x, w, b: st.layer_norm(x, w, b), 0, 1, 2),
                               (f32(64, 768), f32(768), f32(768)), {}),
    "take, its gradient":     (gradients(lambda x, k: st.take(x, k, axis=0), 0), (f32(1000, 64), i64(500)), {}),
    "random":                 (lambda x: st.where(st.rand(100, 100) < 0.5, x, 0), (f32(100, 100),), {}),
    "scan":                   (loop, (f32(20, 8, 32), f32(32, 32)), {}),
    "scan, gradient":         (gradients(lambda x, w: loop(x, w)[1], 0, 1), (f32(20, 8, 32), f32(32, 32)), {}),
    "scan bf16, gradient":    (gradients(lambda x, w: loop(x, w)[1], 0, 1), (f32(20, 40, 32), f32(32, 32)),
                               {"precision": "bf16"}),
    "host ops":               (sorting, (f32(20, 8, 32), f32(32, 32)), {}),
    "host ops of open sizes": (sorting, (f32(20, 8, 32), f32(32, 32)), {"dims": {"x": {0: "n", 1: "m"}}}),
    "attention":              (attention, (f32(2, 4, 64, 64), f32(2, 4, 64, 64), f32(2, 4, 64, 64)), {}),
    "conv 3x3 7, its weights steady": (lambda x: st.conv2d(x, KEPT, padding=1), (f32(1, 512, 7, 7),), {}),
    "conv 3x3 of colours, gradients": (gradients(convolution(padding=1), 0, 1),
                                       (f32(8, 3, 32, 32), f32(50, 3, 3, 3)), {}),
    "sort":                   (lambda x: (st.sort(x), st.argsort(x, axis=0, descending=True)), (f32(64, 1000),), {}),
    "sort of short rows":     (lambda x: st.sort(x), (i64(1000, 6),), {}),
    "sort of open rows":      (lambda x: st.sort(x), (f32(9, 40),), {"dims": {"x": {0: "n", 1: "m"}}}),
    "largest, their gradient": (gradients(lambda x: st.topk(x, 5)[0], 0), (f32(64, 1000),), {}),
    "search":                 (lambda x, y: st.searchsorted(x, y), (f32(500), f32(9, 40)), {}),
    "running totals":         (lambda x: (st.cumsum(x, axis=0), st.cummax(x, axis=1), st.cumprod(x, axis=1)),
                               (f32(64, 100),), {}),
    "small systems":          (lambda x, y: st.linalg.solve(x, y), (f32(300, 4, 4), f32(300, 4, 2)), {}),
    "small factors":          (lambda x: (st.linalg.cholesky(x), *st.linalg.qr(x), *st.linalg.eigh(x)),
                               (f32(300, 3, 3),), {}),
    "small spectra float64":  (lambda x: st.linalg.svd(x), (np.zeros((60, 5, 4)),), {}),
    "branch, gradient":       (gradients(lambda x, w: st.cond(x.sum() > 0, lambda: st.tanh(x @ w), lambda: x), 0, 1),
                               (f32(8, 32), f32(32, 32)), {}),
    "while":                  (lambda x: st.while_loop(lambda x: st.abs(x).sum() > 1, lambda x: x / 2, x),
                               (f32(40, 8),), {}),
    "scan in little memory, gradient": (gradients(lambda x, w: loop(x, w)[1], 0, 1), (f32(90, 8, 32), f32(32, 32)),
                                        {"memory": 500_000}),
}


def case(name: str) -> Traced:
    """A case as the compiler is asked for it."""
    f, arrays, options = CASES[name]
    st.manual_seed(0)
    compiled: Any = st.compile(f, **options)
    return asked(lambda: compiled(*map(st.tensor, arrays)))


WORKLOADS: dict[str, dict[str, int]] = {"cnn": {"batch": 64}, "gru": {"batch": 64}, "resnet50": {"batch": 1},
                                        "transformer": {"batch": 4}, "mlp": {"batch": 32}, "softmax_xent": {}}


def workload(name: str) -> Traced:
    """The step of a workload of the benchmark."""
    program = import_module(f"stele.rosetta.stele.{name}")
    options = {"dropout": True} if rows.WORKLOADS[name].dropout else {}
    state = program.initialise("compile", **options)
    inputs = program.place("compile", *program.data(**WORKLOADS[name]))
    return asked(lambda: program.step(state, *inputs))
