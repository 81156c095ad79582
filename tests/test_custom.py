"""Derivatives that authors say, Jacobians, Hessians and their products, in every style."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError, DTypeError, GraphError, OptionError, ShapeError, SteleError, TraceError


@st.custom_gradient
def cubed(x: Any, *k: Any) -> Any:
    """k x ** 3, whose gradient is said to be 5 k x ** 2."""
    y = x * x * (k[0] if k else 1.0)
    return y * x, lambda g: (g * y * 5, *(None for _ in k))


@st.custom_jvp
def mixed(x: Any, y: Any) -> Any:
    """sin(x) * y, and y: whose derivatives are said to be 7 cos(x) y dx, and 3 dy."""
    return st.sin(x) * y, y


@mixed.defjvp
def mixed_rule(x: Any, dx: Any) -> Any:
    a, b = x
    return mixed(*x), (st.cos(a) * b * dx[0] * 7, dx[1] * 3)


f8 = lambda *x: st.tensor(np.array(x if len(x) > 1 else x[0], "f8"))
close: Any = lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_gradient_of_ones_own_in_both_modes_and_to_any_order(compiled: bool) -> None:
    style: Any = st.compile if compiled else lambda f: f
    x = f8(2.0)
    close(style(cubed)(x), 8)
    close(style(st.grad(cubed))(x), 20)
    close(style(st.grad(st.grad(cubed)))(x), 20)
    close(style(lambda x: st.jvp(cubed, (x,), (x,))[1])(x), 40)
    close(style(lambda x: st.jvp(st.grad(cubed), (x,), (x,))[1])(x), 40)
    close(style(st.grad(lambda x: st.jvp(cubed, (x,), (x * 0 + 1,))[1]))(x), 20)
    close(style(st.hessian(lambda x: cubed(x).sum()))(f8(1, 2)), np.diag([10, 20]))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_rule_for_tangents_in_both_modes_and_to_any_order(compiled: bool) -> None:
    style: Any = st.compile if compiled else lambda f: f
    x, y = f8(0.5), f8(3.0)
    first = lambda x, y: mixed(x, y)[0]
    for g, wanted in zip(style(st.grad(first, (0, 1)))(x, y), (7 * np.cos(0.5) * 3, 0)):
        close(g, wanted)
    close(style(st.grad(lambda x, y: mixed(x, y)[1], 1))(x, y), 3)
    close(style(st.grad(st.grad(first)))(x, y), -7 * np.sin(0.5) * 3)       # the rule's own derivative
    close(style(lambda x, y: st.jvp(mixed, (x, y), (x, y))[1][0])(x, y), 7 * np.cos(0.5) * 3 * 0.5)
    close(style(st.hessian(first))(x, y), -7 * np.sin(0.5) * 3)


def test_rules_at_many_places() -> None:
    xs, y = f8(0.5, 1.0, 2.0), f8(3.0)
    close(st.vmap(st.grad(cubed))(xs), 5 * np.array([0.5, 1, 2]) ** 2)
    close(st.grad(lambda x: st.vmap(cubed)(x).sum())(xs), 5 * np.array([0.5, 1, 2]) ** 2)
    close(st.jvp(st.vmap(cubed), (xs,), (xs,))[1], 5 * np.array([0.5, 1, 2]) ** 3)
    first = st.vmap(lambda x, y: mixed(x, y)[0], in_axes=(0, None))
    close(st.grad(lambda x, y: first(x, y).sum())(xs, y), 21 * np.cos(np.asarray(xs)))
    second = st.vmap(lambda x, y: mixed(x, y)[1], in_axes=(0, None))
    close(st.grad(lambda x, y: second(x, y).sum(), 1)(xs, y), 9)
    close(st.jvp(first, (xs, y), (xs, y))[1], 21 * np.cos(np.asarray(xs)) * np.asarray(xs))
    twice = st.vmap(st.vmap(st.grad(cubed)))(xs[None])
    close(twice, 5 * np.array([[0.5, 1, 2]]) ** 2)


def test_rules_inside_of_loops_and_branches() -> None:
    scanned = lambda x: st.scan(lambda s, _: (cubed(s), None), x, length=2)[0]
    close(st.grad(scanned)(f8(1.1)), 25 * 1.1 ** 2 * 1.1 ** 6)
    close(st.grad(lambda x: st.cond(x > 0, cubed, lambda x: x, x))(f8(1.1)), 5 * 1.1 ** 2)
    close(st.jvp(lambda x: st.while_loop(lambda s: s < 5, cubed, x), (f8(1.5),), (f8(1.0),))[1],
          5 * 1.5 ** 2 * 5 * 1.5 ** 6)
    close(st.grad(st.checkpoint(cubed))(f8(2.0)), 20)


def test_arguments_of_every_kind() -> None:
    close(st.grad(cubed)(f8(2.0), 2.0), 40)                     # a Python number
    close(st.grad(cubed)(f8(2.0), st.tensor(2.0)), 40)          # a tensor without a derivative
    x = st.tensor(2.0, requires_grad=True)
    cubed(x).backward()
    assert x.grad is not None and float(x.grad) == 20

    @st.custom_gradient
    def swap(pair: Any, k: Any) -> Any:
        return {"y": pair["a"] * k, "n": k}, lambda g: ({"a": g["y"] * 7}, None)

    g = st.grad(lambda d: swap(d, st.tensor(2))["y"])({"a": st.tensor(1.0), "b": st.tensor(1.0)})
    assert [float(v) for v in g.values()] == [7, 0]

    clipped = st.custom_gradient(lambda x: (x, lambda g: st.clip(g, -1, 1)))
    assert st.grad(lambda x: (clipped(x) * st.tensor([5.0, -0.5])).sum())(st.ones(2)).tolist() == [1, -0.5]

    complex_ = st.custom_gradient(lambda z: (z * z, lambda g: g * 2 * st.conj(z)))      # as st.vjp of z * z
    z = st.tensor(1 + 2j)
    for own in (complex_, st.square):
        y, pull = st.vjp(own, z)
        assert (y.tolist(), pull(st.tensor(1j))[0].tolist()) == ((-3 + 4j), (4 + 2j))
    x = st.placeholder(("n",))
    assert st.function([x], st.grad(lambda x: cubed(x).sum())(x))(st.tensor([1.0, 2.0])).tolist() == [5, 20]


w = st.tensor(2.0, requires_grad=True)
own: Any = st.custom_gradient
WRONG: dict[str, tuple[Callable[[], Any], type[SteleError], str]] = {
    "outside":   (lambda: own(lambda x: (x * w, lambda g: g))(st.ones(2)), GraphError, "requires gradients.*argument"),
    "pair":      (lambda: own(st.sin)(st.ones(2)), GraphError, "a result and its derivative, got a Tensor"),
    "shape":     (lambda: st.grad(lambda x: own(lambda x: (x, lambda g: g.sum()))(x).sum())(st.ones(2)), ShapeError,
                  r"a cotangent float32\[\] for float32\[2\]"),
    "count":     (lambda: st.grad(lambda x: own(lambda x, y: (x, lambda g: g))(x, x).sum())(st.ones(2)), GraphError,
                  "for 2 arguments.*None where it is zero"),
    "random":    (lambda: own(lambda x: (x * st.rand(2), lambda g: g))(st.ones(2)), TraceError, "random numbers"),
    "no rule":   (lambda: st.custom_jvp(st.sin)(st.ones(2)), GraphError, "without a rule.*defjvp"),
    "kind":      (lambda: own("f"), ArgumentError, "custom_gradient"),
    "kind_jvp":  (lambda: st.custom_jvp("f"), ArgumentError, "custom_jvp"),     # type: ignore[arg-type]
    "mode":      (lambda: st.jacobian(st.sin, mode="backward"), OptionError, "reverse"),
    "integers":  (lambda: st.jacobian(st.sin)(st.tensor([1, 2])), DTypeError, "int64.*float32"),
    "result":    (lambda: st.jacobian(lambda x: x > 0)(st.ones(2)), DTypeError, "a result .* bool"),
    "argnums":   (lambda: st.jacobian(st.sin, argnums=1)(st.ones(2)), GraphError, "needs 2 positional"),
    "hvp":       (lambda: st.hvp(st.sin, st.ones(2), st.ones(2)), ShapeError, "one float number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_teach(name: str) -> None:
    call, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        call()


A = np.random.default_rng(0).normal(size=(3, 4))


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("compiled", [False, True])
def test_jacobians_of_containers(mode: str, compiled: bool) -> None:
    f = lambda p: [st.tanh(p["w"] @ p["x"]), (p["x"] ** 2).sum()]
    p = {"w": f8(A), "x": f8(A[0])}
    found = (st.compile if compiled else lambda f: f)(st.jacobian(f, mode=mode))(p)
    slope = 1 - np.tanh(A @ A[0]) ** 2
    close(found[0]["x"], slope[:, None] * A)
    close(found[0]["w"], slope[:, None, None] * np.eye(3)[:, :, None] * A[0])
    close(found[1]["x"], 2 * A[0])
    close(found[1]["w"], A * 0)


def test_second_derivatives() -> None:
    f = lambda p: (st.tanh(p["w"] @ p["x"]) ** 2).sum()
    p, v = {"w": f8(A), "x": f8(A[0])}, {"w": f8(A[::-1]), "x": f8(A[1])}
    h, product = st.hessian(f)(p), st.hvp(f, p, v)
    for a in p:
        whole = sum(np.tensordot(np.asarray(h[a][b]), np.asarray(v[b]), v[b].ndim) for b in p)
        close(product[a], whole)
    close(st.jacobian(st.jacobian(lambda x: x ** 3))(f8(1, 2))[1, 1, 1], 12)
    model = nn.Linear(3, 2)
    shapes = {a: {b: x.shape for b, x in row.items()} for a, row in
              st.hessian(lambda m, x: (m(x) ** 2).sum())(model, st.ones(4, 3)).items()}
    assert shapes == {"weight": {"weight": (2, 3, 2, 3), "bias": (2, 3, 2)},
                      "bias": {"weight": (2, 2, 3), "bias": (2, 2)}}
    assert st.jacobian(lambda x: x)(st.zeros(0)).shape == (0, 0) and st.hessian(lambda x: x)(st.tensor(1.0)).shape == ()
    first, second = st.jacobian(lambda x, y: x * y, argnums=(0, 1))(f8(1, 2), f8(3, 4))
    close(first, np.diag([3, 4])), close(second, np.diag([1, 2]))
    leaf = st.tensor([1.0, 2.0], requires_grad=True)
    st.jacobian(lambda x: x ** 3)(leaf).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [6, 12]
    f = st.compile(st.hessian(lambda x: (x ** 3).sum()), dims={"x": {0: "n"}})
    close(f(f8(1, 2)), np.diag([6, 12])), close(f(f8(1, 2, 3)), np.diag([6, 12, 18]))
    assert f.compiles == 1
