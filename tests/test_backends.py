"""Every op and its gradient, compiled to machine code, against the reference."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from cases import CASES, SMOOTH, Case, like, widen

from stele.backend.buffers import Buffer
from stele.backend.reference import run
from stele.ir.graph import Array, Constant, Graph, Value, parameter
from stele.ir.types import REAL, DType, Type, dtype, float32, float64, int64
from stele.ops.control import scan
from stele.ops.convolution import conv2d
from stele.ops.diagonals import triangle
from stele.ops.elementwise.binary import where
from stele.ops.elementwise.unary import relu, sigmoid, square, tanh
from stele.ops.functional import cross_entropy, gelu, layer_norm, normalize, softmax
from stele.ops.gather import Gather
from stele.ops.joining import split
from stele.ops.linear import Cast, full, reshape
from stele.ops.pooling import max_pool2d
from stele.ops.random import dropout
from stele.ops.selecting import take
from stele.ops.shaping import permute
from stele.ops.statistics import mean
from stele.pipeline import Options, build
from stele.transform.autodiff import gradients, jvp, vjp


def native(graph: Graph, args: Sequence[Array]) -> list[Array]:
    """The results of the compiled program."""
    program = build(graph, options=Options(backend="cpu"))
    return [b.array for b in program.run([Buffer.of(a) for a in args], {})]


def check(graph: Graph, args: Sequence[Array], places: float) -> None:
    """The native results have the reference's types, and its numbers in float64 to `places`."""
    expected = run(graph, args)
    exact = run(widen(graph, float64), [a.astype("f8") if a.dtype == np.float32 else a for a in args])
    for y, e, a in zip(native(graph, args), expected, exact):
        assert y.dtype == e.dtype and y.shape == e.shape
        if y.dtype.kind in "biu":
            np.testing.assert_array_equal(y, e)
        else:
            np.testing.assert_allclose(y.astype("f8"), a.astype("f8"), rtol=places, atol=places)


@pytest.mark.parametrize("case", CASES)
def test_results(case: Case) -> None:
    if case.op.name in ("Cast", "Bitcast"):
        same_bits(case.graph(), case.operands)
    else:
        check(case.graph(), case.operands, 3e-6)


def same_bits(graph: Graph, args: Sequence[Array]) -> None:
    """The native results are the reference's; one NaN is as good as another."""
    for y, e in zip(native(graph, args), run(graph, args), strict=True):
        assert y.dtype == e.dtype and y.shape == e.shape
        nan = np.isnan(e.astype("f8")) if e.dtype.kind in "fV" else np.zeros(e.shape, bool)
        assert np.array_equal(np.isnan(y.astype("f8")), nan) if nan.any() else True
        assert y[~nan].tobytes() == e[~nan].tobytes(), (args[0].reshape(-1), y, e)


EDGES = [0.0, -0.0, 1, -1, 2.5, -2.5, 3.5, 255, 256, 257, 32767, 65504, 65519, 65520, 2.0**24 + 1, 2.0**31, -(2.0**31),
         2.0**53 + 1, 2.0**63, -(2.0**63), 3e38, 3.4e38, -1e39, 1e300, 1e-7, 6e-8, 2.9e-8, float("inf"), -float("inf"),
         float("nan")]
"""Numbers at which some dtype rounds, ends or begins; between two bfloat16 or float16 lie halves and what is beside."""
HALVES = [s * m * (1 + (2 * k + 1 + e) * 2.0**-b) for b in (9, 12) for k in (0, 1, 2, 3) for m in (1, 2.0**-14, 2.0**15)
          for e in (0, 2.0**-12, -(2.0**-12)) for s in (1, -1)]


@pytest.mark.parametrize("to", REAL, ids=str)
@pytest.mark.parametrize("of", REAL, ids=str)
def test_casts_round_once_and_to_even(of: DType, to: DType) -> None:
    """Floats to where integers end are left out: NumPy's answer is the machine's."""
    with np.errstate(all="ignore"):
        numbers = np.array(EDGES + HALVES)
        if of.is_float and not to.is_float:
            top = 2.0 ** min(31, to.bits - 1) if to.kind != "b" else np.inf
            numbers = numbers[(np.abs(numbers) < top) & ((numbers > -1) | (to.kind != "u"))]
        numbers = numbers if of.is_float else numbers[np.abs(numbers) < 2.0**63]
        a = numbers.astype(of.numpy) if of.is_float else numbers.astype("i8").astype(of.numpy)
    if of.is_float and not to.is_float and to.kind != "b":
        a = a[np.abs(a.astype("f8")) < 2.0 ** min(31, to.bits - 1)]
    x = parameter("x", Type(of, a.shape))
    same_bits(Graph((x,), (Cast(to)(x),)), [a])


@pytest.mark.parametrize("case", SMOOTH)
def test_gradients(case: Case) -> None:
    graph, wide = case.wide()
    g = [a.astype("f4") for a in like(run(graph, wide), 2)]
    check(vjp(case.graph()), [*case.operands, *g], 3e-5)


@pytest.mark.parametrize("case", SMOOTH)
def test_tangents(case: Case) -> None:
    _, wide = case.wide()
    check(jvp(case.graph()), [*case.operands, *(a.astype("f4") for a in like(wide, 1))], 3e-5)


def scaled(*shapes: tuple[int, ...]) -> list[Array]:
    """Random weights, small enough for sums over their first axes."""
    rng = np.random.default_rng(4)
    return [np.asarray(rng.normal(size=s) / np.sqrt(max(1, np.prod(s[1:]))), np.float32) for s in shapes]


def check_training(loss: Callable[..., Value], data: Sequence[Array], weights: Sequence[Array]) -> None:
    """A loss and its gradients with respect to the weights, compiled as one program."""
    values = [parameter(f"x{k}", Type(dtype(a.dtype), a.shape)) for k, a in enumerate((*data, *weights))]
    y = loss(*values)
    found = gradients([y], [full((), 1, float32)], values[len(data):])
    graph = Graph(tuple(values), (y, *(g for g in found if g is not None)))
    assert len(graph.results) == len(weights) + 1
    args = [*data, *weights]
    exact = run(widen(graph, float64), [a.astype("f8") if a.dtype == np.float32 else a for a in args])
    for y, a in zip(native(graph, args), exact):
        assert np.abs(y - a).max() <= 2e-5 * max(1e-2, np.abs(a).max())


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_an_array_of_one_element_is_read_at_an_index(backend: str) -> None:
    taken = Gather(0)(Constant(np.array([4]))(), full((1,), 0, int64))
    program = build(Graph((), (full((1,), 6, int64) - taken,)), options=Options(backend=backend))
    assert [buffer.array.tolist() for buffer in program.run([], {})] == [[2]]


def test_a_convolutional_network() -> None:
    def loss(x: Value, t: Value, w1: Value, b1: Value, scale: Value, w2: Value, w3: Value) -> Value:
        h = conv2d(x, w1, padding=1) + reshape(b1, (1, -1, 1, 1))
        h = relu(normalize(h, axis=(0, 2, 3)) * reshape(scale, (1, -1, 1, 1)))
        h = max_pool2d(h, size=3, stride=2, padding=1)
        h = relu(conv2d(h, w2, stride=2, groups=2)) + 0.1
        return cross_entropy(mean(h, axis=(2, 3)) @ w3, t)

    rng = np.random.default_rng(5)
    data = [rng.normal(size=(9, 3, 14, 13)).astype("f4"), rng.integers(0, 10, 9)]
    check_training(loss, data, scaled((20, 3, 3, 3), (20,), (20,), (22, 10, 3, 3), (22, 10)))


def test_a_recurrent_network() -> None:
    def loss(words: Value, t: Value, table: Value, u: Value, w: Value, b: Value, out: Value) -> Value:
        inputs = take(table, words, axis=0) @ u + b

        def step(c: tuple[Value, ...], s: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
            (h,), (x,) = c, s
            hw = h @ w
            r, z = (sigmoid(x[:, k: k + 17] + hw[:, k: k + 17]) for k in (0, 17))
            new = tanh(x[:, 34:] + r * hw[:, 34:])
            h = (1 - z) * new + z * h
            return [h], [h]

        (_,), (hs,) = scan(step, [full((5, 17), 0, float32)], [inputs])
        return cross_entropy(hs @ out, t)

    rng = np.random.default_rng(6)
    data = [rng.integers(0, 30, (12, 5)), rng.integers(0, 30, (12, 5))]
    check_training(loss, data, scaled((30, 11), (11, 51), (17, 51), (51,), (17, 30)))


def test_a_transformer_block() -> None:
    def loss(x: Value, key: Value, wq: Value, wo: Value, w1: Value, w2: Value, scale: Value) -> Value:
        h = layer_norm(x, scale)
        q, k, v = (permute(reshape(part, (3, 10, 4, 8)), 0, 2, 1, 3) for part in split(h @ wq, 32, axis=-1))
        scores = (q @ permute(k, 0, 1, 3, 2)) * 8**-0.5
        scores = where(triangle(10, 10), scores, -1e9)
        mixed = reshape(permute(softmax(scores) @ v, 0, 2, 1, 3), (3, 10, 32))
        x = x + dropout(mixed @ wo, key, p=0.1)
        return mean(square(x + gelu(layer_norm(x, scale) @ w1) @ w2))

    data = [*scaled((3, 10, 32)), np.array([1, 2, 3, 4], np.uint32)]
    check_training(loss, data, scaled((32, 96), (32, 32), (32, 128), (128, 32), (32,)))
