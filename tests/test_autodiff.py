"""Both derivative modes of every op against differences and each other, to second order; and what walks do."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import SMOOTH, Case, difference, dot, like, widen
from peer import torch_gives

from stele.backend.reference import run
from stele.ir.graph import Graph, Value, parameter, walk
from stele.ir.origin import Origin, inherit, lines
from stele.ir.sizes import size
from stele.ir.types import SIZES, Sizes, Type, dtype, float32, float64, int64
from stele.ops.control import Scan, scan
from stele.ops.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from stele.ops.cumulative import cummax
from stele.ops.elementwise.binary import maximum
from stele.ops.elementwise.unary import erfc, exp, log, relu, sigmoid, tanh
from stele.ops.functional import cross_entropy, gelu, layer_norm, log_softmax, logsumexp, silu, softmax
from stele.ops.linalg import solve
from stele.ops.linear import Sum, full, ones_like
from stele.ops.pooling import avg_pool2d, max_pool2d
from stele.ops.selecting import take
from stele.ops.statistics import max as max_of
from stele.ops.statistics import mean, prod, std
from stele.ops.statistics import sum as total_of
from stele.transform.autodiff import gradients, jvp, tangents, vjp


def x(*shape: Any, dtype: Any = float32, name: str = "x") -> Value:
    return parameter(name, Type(dtype, shape))


def check_derivatives(graph: Graph, args: list[Any]) -> None:
    """jvp against differences; vjp as the adjoint of jvp."""
    results = [a for a in run(graph, args) if a.dtype == np.float64]
    dx, g = like(args, 1), like(results, 2)
    forward = run(jvp(graph), [*args, *dx])
    backward = run(vjp(graph), [*args, *g])
    for a, b in zip(difference(graph, args, dx), forward):
        np.testing.assert_allclose(b, a, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(dot(g, forward), dot(backward, dx), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", SMOOTH)
def test_first_derivatives(case: Case) -> None:
    check_derivatives(*case.wide())


@pytest.mark.parametrize("case", SMOOTH)
def test_second_derivatives(case: Case) -> None:
    graph, args = case.wide()
    g = like(run(graph, args), 3)
    check_derivatives(vjp(graph), [*args, *g])


def test_rules_run_only_between_wrt_and_results() -> None:
    a, b = x(3), x(3, name="b")
    y = exp(a) * tanh(log(b))
    (db,) = gradients([y], [ones_like(y)], [b])
    assert not any(v.op.name == "Exp" and v is not y.args[0] for v in walk([db]))  # type: ignore[list-item]
    assert gradients([exp(a)], [ones_like(a)], [b]) == [None]
    assert tangents([exp(a), b], [b], [b])[0] is None


def test_an_intermediate_value_and_its_source_both_get_their_gradient() -> None:
    a = x(3)
    h = exp(a)
    y = total_of(h * a)
    da, dh = gradients([y], [full((), 1, float32)], [a, h])
    numbers = np.array([0.5, 1, 2], "f4")
    got = run(Graph((a,), (da, dh)), [numbers])  # type: ignore[arg-type]
    np.testing.assert_allclose(got[0], np.exp(numbers) * (1 + numbers), rtol=1e-6)
    np.testing.assert_allclose(got[1], numbers)


def test_integers_have_no_cotangent() -> None:
    logits, labels = x(4, 3), x(4, dtype=int64, name="t")
    graph = Graph((logits, labels), (cross_entropy(logits, labels),))
    assert [v.shape for v in vjp(graph).results] == [(4, 3)]
    assert len(jvp(graph).parameters) == 3


def test_gradient_values_have_the_forward_lines_and_the_caller_s() -> None:
    with inherit(frozenset({Origin("model.py:12", 0, "fc1")})):
        a = x(3)
        y = sigmoid(a * 2)
    with inherit(frozenset({Origin("train.py:3")})):
        seed = ones_like(y)
        (da,) = gradients([y], [seed], [a])
    old = {*walk([y, seed])}
    made = [v for v in walk([da]) if v not in old]  # type: ignore[list-item]
    assert made and {lines(v.where) for v in made} == {("model.py:12 (fc1)", "train.py:3")}


def test_a_chain_of_thousands_does_not_overflow_the_stack() -> None:
    y = a = x(2)
    for _ in range(5000):
        y = y * 1.0001
    (da,) = gradients([y], [ones_like(y)], [a])
    assert da is not None and tangents([y], [a], [a])[0] is not None


def test_an_operand_used_twice_counts_twice() -> None:
    a = x(3)
    g = Graph((a,), (total_of(softmax(a) * softmax(a)),))
    check_derivatives(widen(g, float64), [np.array([0.1, 0.5, -1])])


def test_max_pooling_sends_the_gradient_to_the_first_maximum() -> None:
    a = x(1, 1, 2, 4)
    y = max_pool2d(a, size=2)
    (da,) = gradients([y], [ones_like(y)], [a])
    image = np.array([[[[1, 3, 5, 5], [3, 2, 5, 5]]]], "f4")
    assert da is not None
    np.testing.assert_array_equal(run(Graph((a,), (da,)), [image])[0], [[[[0, 1, 1, 0], [0, 0, 0, 0]]]])


def test_relu_is_flat_at_zero() -> None:
    a = x(3)
    (da,) = gradients([relu(a)], [ones_like(a)], [a])
    assert da is not None
    np.testing.assert_array_equal(run(Graph((a,), (da,)), [np.array([-1, 0, 2], "f4")])[0], [0, 0, 1])


def recurrent(steps: int = 6) -> tuple[Graph, list[Any]]:
    """A small recurrent network: last state and all outputs from start, inputs and three weights."""
    h, xs, u, w, b = (x(*s, name=n) for n, s in (("h", (2, 3)), ("xs", (steps, 2, 4)), ("u", (4, 3)),
                                                 ("w", (3, 3)), ("b", (3,))))

    def step(c: Any, s: Any) -> Any:
        new = tanh(s[0] @ u + c[0] @ w + b)
        return (new,), (softmax(new),)

    (last,), (ys,) = scan(step, [h], [xs])
    rng = np.random.default_rng(5)
    parameters = (h, xs, u, w, b)
    return widen(Graph(parameters, (last, ys)), float64), [rng.normal(size=v.shape) for v in parameters]


def test_a_recurrent_network_to_second_order() -> None:
    graph, args = recurrent()
    check_derivatives(graph, args)
    check_derivatives(vjp(graph), [*args, *like(run(graph, args), 3)])
    check_derivatives(jvp(graph), [*args, *like(args, 4)])


def test_a_loop_equals_its_unrolled_form() -> None:
    h, xs, w = x(2, 3), x(4, 2, 3, name="xs"), x(3, 3, name="w")
    step = lambda c, v: tanh(c @ w * v)
    (looped,), _ = scan(lambda c, s: ((step(c[0], s[0]),), ()), [h], [xs], reverse=True)
    unrolled = h
    for k in reversed(range(4)):
        unrolled = step(unrolled, xs[k])  # type: ignore[index]
    args = [np.random.default_rng(6).normal(size=v.shape) for v in (h, xs, w)]
    g = np.ones((2, 3))
    a, b = (run(vjp(widen(Graph((h, xs, w), (y,)), float64)), [*args, g]) for y in (looped, unrolled))
    for one, other in zip(a, b):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_derivatives_hold_for_every_size() -> None:
    t, n = size("t"), size("n")
    h, xs, w = x(n, 3, name="h"), x(t, n, 3, name="xs"), x(3, 3, name="w")
    SIZES.set(Sizes({"t": 4, "n": 5}, []))
    try:
        (last,), (ys,) = scan(lambda c, s: ((tanh(c[0] @ w + s[0]),), (c[0] * s[0],)), [h], [xs])
        parts = [ys[1:], ys[:-1], ys[::-1], ys[::2], ys[-1], ys[:, 1:3], mean(ys, axis=0), softmax(ys, axis=0)]
        total = total_of(last)
        for part in parts:
            total = total + total_of(part * part)
        graph = widen(Graph((h, xs, w), (total,)), float64)
        derived = vjp(graph), jvp(graph), vjp(vjp(graph))
    finally:
        SIZES.set(None)
    for t_now, n_now in ((4, 5), (3, 4), (7, 3)):
        shapes = (n_now, 3), (t_now, n_now, 3), (3, 3)
        args = [np.random.default_rng(8).normal(size=s) for s in shapes]
        dx, g = like(args, 1), [np.ones(())]
        forward, backward = run(derived[1], [*args, *dx]), run(derived[0], [*args, *g])
        np.testing.assert_allclose(forward, difference(graph, args, dx), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(dot(g, forward), dot(backward, dx), rtol=1e-9)
        second = run(derived[2], [*args, *g, *dx])
        numeric = difference(derived[0], [*args, *g], [*dx, np.zeros(())])
        np.testing.assert_allclose(dot(second[:3], dx), dot(numeric, dx), rtol=1e-5)


def loops(values: list[Value]) -> list[Scan]:
    return [v.op for v in walk(values) if isinstance(v.op, Scan)]


def test_the_backward_loop_reads_what_the_forward_loop_emits_and_nothing_it_has() -> None:
    h, xs, w = x(2, 3), x(5, 2, 3, name="xs"), x(3, 3, name="w")

    def step(c: Any, s: Any) -> Any:
        new = tanh(c[0] @ w + s[0])
        return (new,), (new,)

    (last,), (ys,) = scan(step, [h], [xs])
    found = gradients([total_of(ys) + total_of(last)], [full((), 1, float32)], [h, xs, w])
    original, forward, backward = loops([last, *found])  # type: ignore[list-item]
    assert Graph(forward.body.parameters, forward.body.results[:2]) == original.body, "the same loop with more results"
    assert forward.body.results[2:] == (forward.body.parameters[0],), "only the state before each step is new"
    graphs = [walk([last]), *([*loop.body, *loop.body.parameters] for loop in (original, forward, backward))]
    assert len({v for g in graphs for v in g}) == sum(len({*g}) for g in graphs), "no value stands in two graphs"
    assert (backward.carries, backward.slices, backward.reverse) == (2, 3, True)
    (xs_only,) = gradients([total_of(last)], [full((), 1, float32)], [xs])
    assert loops([xs_only])[-1].carries == 1, "no cotangent is carried for what nobody asked for"  # type: ignore[list-item]


def test_loops_inside_loops() -> None:
    h, xs, w = x(3), x(3, 4, 3, name="xs"), x(3, name="w")
    inner = lambda c, row: scan(lambda d, s: ((tanh(d[0] * w + s[0]),), ()), [c], [row])[0][0]
    (last,), (ys,) = scan(lambda c, s: ((inner(c[0], s[0]),), (Sum((0,))(c[0] * c[0]),)), [h], [xs])
    graph = widen(Graph((h, xs, w), (last, ys)), float64)
    args = [np.random.default_rng(7).normal(size=v.shape) for v in graph.parameters]
    check_derivatives(graph, args)
    check_derivatives(vjp(graph), [*args, *like(run(graph, args), 3)])


def test_a_counter_is_carried_without_a_cotangent() -> None:
    xs = x(4, 3, name="xs")
    (total, _), _ = scan(lambda c, s: ((c[0] + s[0] * c[1], c[1] + 1.0), ()), [full((3,), 0, float32), 0.0], [xs])
    (dxs,) = gradients([total], [ones_like(total)], [xs])
    assert dxs is not None
    made = run(Graph((xs,), (dxs,)), [np.ones((4, 3), "f4")])[0]
    np.testing.assert_array_equal(made, np.arange(4)[:, None] * np.ones(3))


IMAGE, KERNEL, ROWS = (np.random.default_rng(9).normal(size=shape) for shape in ((2, 4, 9, 8), (6, 2, 3, 2), (5, 7)))
LABELS = np.arange(5) * 3 % 7
VOLUME, DEEP, BACK = (np.random.default_rng(8).normal(size=shape) for shape in (
    (2, 4, 5, 6, 4), (6, 2, 3, 2, 3), (4, 3, 3, 2)))
# fmt: off
PAIRS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "conv2d":        (lambda v, w: conv2d(v, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
                      lambda f, v, w: f.conv2d(v, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
                      (IMAGE, KERNEL)),
    "conv1d":        (lambda v, w: conv1d(v, w, stride=2, padding=3, dilation=2, groups=2),
                      lambda f, v, w: f.conv1d(v, w, stride=2, padding=3, dilation=2, groups=2),
                      (IMAGE[..., 0], KERNEL[..., 0])),
    "conv3d":        (lambda v, w: conv3d(v, w, stride=(2, 1, 3), padding=(1, 0, 2), dilation=(2, 1, 1), groups=2),
                      lambda f, v, w: f.conv3d(v, w, stride=(2, 1, 3), padding=(1, 0, 2), dilation=(2, 1, 1), groups=2),
                      (VOLUME, DEEP)),
    "conv3d_plain":  (lambda v, w: conv3d(v, w, padding=1), lambda f, v, w: f.conv3d(v, w, padding=1),
                      (VOLUME[:, :2], DEEP)),
    "conv_transpose1d": (lambda v, w: conv_transpose1d(v, w, stride=3, padding=2, output_padding=1, dilation=2),
                         lambda f, v, w: f.conv_transpose1d(v, w, stride=3, padding=2, output_padding=1, dilation=2),
                         (IMAGE[..., 0], BACK[..., 0])),
    "conv_transpose2d": (lambda v, w: conv_transpose2d(v, w, stride=(2, 1), padding=(1, 0), output_padding=(1, 2),
                                                       groups=2, dilation=(1, 3)),
                         lambda f, v, w: f.conv_transpose2d(v, w, stride=(2, 1), padding=(1, 0), output_padding=(1, 2),
                                                            groups=2, dilation=(1, 3)),
                         (IMAGE, BACK)),
    "conv_transpose3d": (lambda v, w: conv_transpose3d(v, w, stride=(2, 1, 2), padding=(1, 1, 0)),
                         lambda f, v, w: f.conv_transpose3d(v, w, stride=(2, 1, 2), padding=(1, 1, 0)),
                         (VOLUME, DEEP[:4])),
    "max_pool2d":    (lambda v: max_pool2d(v, size=3, stride=2, padding=1),
                      lambda f, v: f.max_pool2d(v, 3, 2, 1),                               (IMAGE,)),
    "max_of_relu":   (lambda v: max_pool2d(relu(v), size=2), lambda f, v: f.max_pool2d(f.relu(v), 2), (IMAGE,)),
    "avg_pool2d":    (lambda v: avg_pool2d(v, size=3, stride=2, padding=1),
                      lambda f, v: f.avg_pool2d(v, 3, 2, 1),                               (IMAGE,)),
    "gelu":          (gelu,                             lambda f, v: f.gelu(v),            (ROWS,)),
    "silu":          (silu,                             lambda f, v: f.silu(v),            (ROWS,)),
    "log_softmax":   (log_softmax,                      lambda f, v: f.log_softmax(v, -1), (ROWS,)),
    "logsumexp":     (lambda v: logsumexp(v, axis=0),   lambda f, v: v.logsumexp(0),       (ROWS,)),
    "layer_norm":    (lambda v: layer_norm(v, axes=2),  lambda f, v: f.layer_norm(v, (9, 8)), (IMAGE,)),
    "std":           (lambda v: std(v, axis=1, correction=1), lambda f, v: v.std(1),       (ROWS,)),
    "maximum":       (lambda v: maximum(v, 0.1) ** 3,   lambda f, v: v.clamp(min=0.1) ** 3, (ROWS,)),
    "max":           (lambda v: max_of(v, axis=1),      lambda f, v: v.amax(1),            (ROWS.round(),)),
    "erfc":          (erfc,                             lambda f, v: v.erfc(),             (ROWS * 2,)),
    "cummax":        (lambda v: cummax(v, axis=1),      lambda f, v: v.cummax(1).values,   (ROWS.round(),)),
    "solve":         (solve,                            lambda f, v, b: v.inverse() @ b,
                      (IMAGE[0, :, :4, :4], IMAGE[1, :, :4, :3])),
    "prod":          (lambda v: prod(v, axis=1),        lambda f, v: v.prod(1),            (ROWS.round(),)),
    "cross_entropy": (lambda v, t: cross_entropy(v, t), lambda f, v, t: f.cross_entropy(v, t), (ROWS, LABELS)),
    "take":          (lambda v, t: take(v, t, axis=1),  lambda f, v, t: v[:, t],           (ROWS, LABELS)),
}
# fmt: on


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_are_those_of_pytorch(name: str) -> None:
    ours, theirs, arrays = PAIRS[name]
    values = tuple(parameter(f"x{k}", Type(dtype(a.dtype), a.shape)) for k, a in enumerate(arrays))
    y = ours(*values)
    g = np.random.default_rng(1).normal(size=y.shape)

    def ask(torch: Any) -> list[Any]:
        given = [torch.tensor(a, requires_grad=a.dtype == np.float64) for a in arrays]
        theirs(torch.nn.functional, *given).backward(torch.tensor(g))
        return [x.grad.numpy() for x in given if x.requires_grad]

    made = run(vjp(Graph(values, (y,))), [*arrays, g])
    for slope, expected in zip(made, torch_gives(f"gradient_{name}", ask), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-9)
