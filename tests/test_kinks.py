"""What derivatives are at kinks, in both modes, on every backend: what docs/guide/derivatives.md says."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from peer import torch_gives

import stele as st
from stele import nn, optim
from stele.errors import GraphError
from stele.nn import functional as F

inf = np.inf
# What, a function of operands, the operands, and the derivative by each of them.
ROWS: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "relu":        (st.relu, [[0, -0.0]], [[0, 0]]),
    "leaky_relu":  (lambda x: F.leaky_relu(x, 0.1), [[0]], [[0.1]]),
    "elu":         (st.elu, [[0]], [[1]]),
    "abs":         (st.abs, [[0]], [[0]]),
    "sign":        (st.sign, [[0]], [[0]]),
    "maximum":     (st.maximum, [[1], [1]], [[0.5], [0.5]]),
    "minimum":     (st.minimum, [[1], [1]], [[0.5], [0.5]]),
    "max":         (st.max, [[2, 1, 2, 2]], [[1 / 3, 0, 1 / 3, 1 / 3]]),
    "min":         (lambda x: st.min(x, axis=0), [[1, 2, 1]], [[0.5, 0, 0.5]]),
    "max_pool2d":  (lambda x: st.max_pool2d(x.reshape(1, 1, 2, 2), size=2), [[3, 3, 3, 1]], [[1, 0, 0, 0]]),
    "clip":        (lambda x: st.clip(x, 0, 1), [[0, 1, 2]], [[1, 1, 0]]),
    "relu6":       (F.relu6, [[0, 6]], [[0, 0]]),
    "hardtanh":    (F.hardtanh, [[-1, 1]], [[0, 0]]),
    "hardsigmoid": (F.hardsigmoid, [[-3, 3]], [[0, 0]]),
    "floor":       (st.floor, [[1, 1.5]], [[0, 0]]),
    "round":       (st.round, [[0.5, 1]], [[0, 0]]),
    "norm":        (st.norm, [[0, 0, 0]], [[0, 0, 0]]),
    "norm_3":      (lambda x: st.norm(x, p=3), [[0, 0]], [[0, 0]]),
    "norm_1":      (lambda x: st.norm(x, p=1), [[0, 2]], [[0, 1]]),
    "norm_inf":    (lambda x: st.norm(x, p=inf), [[-2, 2]], [[-0.5, 0.5]]),
    "frobenius":   (st.linalg.matrix_norm, [[[0, 0], [0, 0]]], [[[0, 0], [0, 0]]]),
    "hypot":       (st.hypot, [[0], [0]], [[0], [0]]),
    "std":         (st.std, [[3, 3]], [[0, 0]]),
    "nanstd":      (st.nanstd, [[3, 3]], [[0, 0]]),
    "atan2":       (st.atan2, [[0], [0]], [[0], [0]]),
    "xlogy":       (st.xlogy, [[0], [0]], [[0], [0]]),
    "xlog1py":     (st.xlog1py, [[0], [-1]], [[0], [0]]),
    "prod":        (st.prod, [[0, 2, 3]], [[6, 0, 0]]),
    "prod_twice":  (st.prod, [[0, 0, 3]], [[0, 0, 0]]),
    "cumprod":     (st.cumulative_prod, [[2, 0, 3]], [[1, 8, 0]]),
    "square":      (lambda x: x ** 2, [[0]], [[0]]),
    "pow_0":       (lambda x: x ** 0, [[0]], [[0]]),
    "pow":         (st.pow, [[0], [2]], [[0], [0]]),
    "sqrt":        (st.sqrt, [[0]], [[inf]]),
    "log":         (st.log, [[0]], [[inf]]),
    "rsqrt":       (st.rsqrt, [[0]], [[-inf]]),
    "complex_abs": (lambda x: st.abs(st.complex(x, x)), [[0]], [[0]]),
    "safe_root":   (lambda x: st.where(x > 0, st.sqrt(st.where(x > 0, x, 1)), 0), [[0, 4]], [[0, 0.25]]),
    "sort":        (st.sort, [[1, 1, 0]], [[1, 1, 1]]),
    "median":      (st.median, [[1, 1, 1]], [[0, 1, 0]]),
    "cosine":      (lambda x, y: F.cosine_similarity(x, y, dim=0), [[0, 0], [0, 0]], [[0, 0], [0, 0]]),
    "pdist":       (F.pdist, [[[1, 1], [1, 1]]], [[[0, 0], [0, 0]]]),
    "scatter_max": (lambda x: st.segment_max(x, st.tensor([0, 0, 1]), 2), [[1, 1, 1]], [[0.5, 0.5, 1]]),
}


def test_a_product_of_zeros_has_derivatives_of_any_order() -> None:
    f = lambda x: st.prod(x, axis=0)
    for style in (lambda f: f, st.compile):
        second = style(st.hessian(f))
        third = style(st.jacobian(st.hessian(f), mode="forward"))
        for zeros, pairs, triples in (((), {(0, 1): 4, (0, 2): 3, (1, 2): 2}, 1), ((1,), {(0, 1): 4, (1, 2): 2}, 1),
                                      ((0, 1), {(0, 1): 4}, 1), ((0, 1, 2), {}, 1)):
            x = np.array([2.0, 3.0, 4.0])
            x[[*zeros]] = 0
            expected = np.zeros((3, 3))
            for (i, j), v in pairs.items():
                expected[i, j] = expected[j, i] = v
            np.testing.assert_array_equal(second(st.tensor(x)).numpy(), expected)
            assert third(st.tensor(x)).numpy()[0, 1, 2] == triples


@pytest.mark.parametrize("backend", ["cpu", "reference", "imperative"])
@pytest.mark.parametrize("name", ROWS)
def test_derivatives_at_kinks(name: str, backend: str) -> None:
    f, given, wanted = ROWS[name]
    x = [st.tensor(np.array(a, "f4")) for a in given]
    style: Any = (lambda g: g) if backend == "imperative" else lambda g: st.compile(g, backend=backend)
    total = lambda *x: f(*x).sum()
    found = style(st.grad(total, tuple(range(len(x)))))(*x)
    for g, w in zip(found, wanted):
        np.testing.assert_allclose(g.numpy(), w, rtol=1e-6)
    for k, w in enumerate(wanted):
        for place in np.ndindex(np.shape(w)):
            dx = [np.zeros(np.shape(a), "f4") for a in given]
            dx[k][place] = 1
            pushed = style(lambda *t: st.jvp(total, tuple(t[:len(x)]), tuple(t[len(x):]))[1])(*x, *map(st.tensor, dx))
            np.testing.assert_allclose(pushed.numpy(), np.asarray(w)[place], rtol=1e-6)


SLOPELESS: dict[str, Callable[[Any], Any]] = {
    "sign": st.sign, "floor": st.floor, "round": lambda x: st.round(x) * 2, "trunc": st.trunc,
    "zeroth power": lambda x: x ** 0,
}
CUT: dict[str, Callable[[Any], Any]] = {
    "detach": lambda x: x.detach() * 2, "whole numbers": lambda x: x.astype("int64").astype("float32"),
    "comparison": lambda x: (x > 0).astype("float32"),
}


@pytest.mark.parametrize("shape", [(3,), (0,), ()], ids=str)
@pytest.mark.parametrize("name", SLOPELESS)
def test_gradients_of_what_has_no_slope_are_zeros(name: str, shape: tuple[int, ...]) -> None:
    f, x = SLOPELESS[name], st.tensor(np.full(shape, 1.5, "f4"), requires_grad=True)
    symbol = st.placeholder(("n",) * bool(shape) + shape[1:])
    of = st.function([symbol], st.gradients(f(symbol).sum(), symbol))
    for g in (st.gradients(f(x).sum(), x), st.compile(lambda x: st.gradients(f(x).sum(), x))(x), of(x)):
        assert g.shape == shape and not g.numpy().any()
    f(x).sum().backward()
    (f(x).sum() + x.sum()).backward()
    assert x.grad is not None and (x.grad.numpy() == 1).all()


def test_gradients_of_no_elements_have_none() -> None:
    x, i = st.zeros((0, 2, 2, 2), requires_grad=True), st.zeros((0, 2, 2, 2), "int64")
    assert st.gradients(F.max_unpool2d(x, i, 2).sum(), x).shape == x.shape


@pytest.mark.parametrize("name", CUT)
def test_gradients_of_what_is_cut_off_are_refused(name: str) -> None:
    x = st.tensor([1.5], requires_grad=True)
    with pytest.raises(GraphError, match="does not depend on tensor 0 of wrt"):
        st.gradients(CUT[name](x).sum(), x)


def test_an_optimiser_decays_what_has_no_slope() -> None:
    x = st.tensor([1.5], requires_grad=True)
    optimizer = optim.SGD([x], lr=0.1, weight_decay=0.5)
    st.sign(x).sum().backward()
    optimizer.step()
    assert x.tolist() == [np.float32(1.5) - np.float32(0.1) * np.float32(0.75)]


SMOOTH = ("norm", "hypot", "std", "prod", "square", "pow_0", "xlogy", "atan2", "complex_abs", "safe_root", "relu")


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_at_kinks_are_finite(name: str) -> None:
    f, given, _ = ROWS[name]
    x = [st.tensor(np.array(a, "f4")) for a in given]
    for row in st.hessian(lambda *x: f(*x).sum(), tuple(range(len(x))))(*x):
        for h in row:
            assert np.isfinite(h.numpy()).all()


def weights(seed: int, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s) * 0.5 for s in shapes]


def network(m: Any, w: list[Any], x: Any) -> Any:
    return m.tanh(x @ w[0] + w[1]) @ w[2]


SHAPES = ((3, 8), (8,), (8, 1))
W, REAL, FAKE = weights(0, *SHAPES), *weights(1, (4, 3), (4, 3))


def penalty(w: list[Any], real: Any, fake: Any) -> Any:
    """The critic's loss of WGAN-GP, halfway between real and fake."""
    between = (real + fake) / 2
    slopes = st.grad(lambda x: network(st, w, x).sum())(between)
    size = st.norm(slopes, axis=1)
    return network(st, w, fake).mean() - network(st, w, real).mean() + 10 * ((size - 1) ** 2).mean()


def forces(w: list[Any], positions: Any, wanted: Any) -> Any:
    """How far forces, the slopes of an energy, are from what is wanted."""
    found = -st.grad(lambda r: network(st, w, r).sum())(positions)
    return ((found - wanted) ** 2).mean()


def with_torch(torch: Any, is_penalty: bool) -> list[Any]:
    w = [torch.tensor(a, requires_grad=True) for a in W]
    real, fake = torch.tensor(REAL), torch.tensor(FAKE)
    x = ((real + fake) / 2 if is_penalty else real).requires_grad_()
    (slopes,) = torch.autograd.grad(network(torch, w, x).sum(), x, create_graph=True)
    if is_penalty:
        loss = network(torch, w, fake).mean() - network(torch, w, real).mean() \
            + 10 * ((slopes.norm(dim=1) - 1) ** 2).mean()
    else:
        loss = ((-slopes - fake) ** 2).mean()
    loss.backward()
    return [loss.detach().numpy(), *(a.grad.numpy() if a.grad is not None else np.zeros(a.shape) for a in w)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("loss", [penalty, forces])
def test_losses_of_gradients_are_those_of_pytorch(loss: Any, compiled: bool) -> None:
    f = st.value_and_grad(loss)
    value, found = (st.compile(f) if compiled else f)([st.tensor(a) for a in W], st.tensor(REAL), st.tensor(FAKE))
    expected = torch_gives(f"loss_of_{loss.__name__}", lambda torch: with_torch(torch, loss is penalty))
    for a, b in zip([value, *found], expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-9, atol=1e-12)


def test_several_losses_and_intermediates() -> None:
    model = nn.Linear(2, 2)
    x = st.ones(1, 2)
    h = model(x)
    first, second = (h ** 2).sum(), h.sum()
    by_h = [st.gradients(loss, h).tolist() for loss in (first, second)]
    np.testing.assert_allclose(by_h, [(2 * h).tolist(), [[1, 1]]])
    by_w = st.gradients(first + second, model.weight)
    parts = [st.gradients(loss, model.weight).numpy() for loss in (first, second)]
    np.testing.assert_allclose(by_w.numpy(), sum(parts), rtol=1e-6)
    cut = st.grad(lambda x: (st.stop_gradient(x) * x).sum())(st.tensor([3.0]))
    assert cut.tolist() == [3.0]
