"""Functions of one example at many examples: st.vmap in every style, and all that it is composed with."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError, GraphError, ShapeError, SteleError, TraceError

rng = np.random.default_rng(0)
X, W, V = (rng.normal(size=s) for s in ((4, 3), (3, 2), (4, 3)))


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-9)


def symbolic(f: Callable[..., Any], *args: Any) -> Any:
    """f written over placeholders of open sizes."""
    inputs = [st.placeholder(tuple(f"n{k}" if k < 10 else k for k in a.shape), "float64") for a in args]
    return st.function(inputs, f(*inputs))(*args)


STYLES: dict[str, Callable[..., Any]] = {
    "imperative": lambda f, *args: f(*args),
    "compiled": lambda f, *args: st.compile(f)(*args),
    "symbolic": symbolic,
}


def outer(x: st.Tensor, w: st.Tensor) -> Any:
    return st.tanh(x @ w) * x.sum()


# A function of one x and of w, which is the same for all; what is mapped are the rows of X.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "product":  outer,
    "grad":     st.grad(lambda x, w: (outer(x, w) ** 2).sum(), argnums=1),
    "jvp":      lambda x, w: st.jvp(lambda x: outer(x, w), (x,), (x * 2,))[1],
    "hessian":  st.hessian(lambda x, w: outer(x, w).sum()),
    "jacobian": st.jacobian(outer, argnums=1),
    "scan":     lambda x, w: st.scan(lambda s, v: (s * v + w.sum(), s @ w), x, x)[1],
    "while":    lambda x, w: st.while_loop(lambda s: (s * s).sum() < 1e3, lambda s: s * 2 + w.sum(), x),
    "cond":     lambda x, w: st.cond(x.sum() > 0, lambda x: x @ w, lambda x: (x * x) @ w, x),
    "constant": lambda x, w: w * 2,
    "nested":   lambda x, w: st.vmap(lambda a, b: a * b + x.sum(), in_axes=(None, 0))(x, w.T),
    "compiled": st.compile(outer),
    "checkpoint": st.checkpoint(outer),
    "take":     lambda x, w: x[(x > 0).astype("int64")] + w[0, 0],
    "solve":    lambda x, w: st.linalg.solve(w @ w.T + st.outer(x, x) + st.eye(3, dtype="float64"), x),
    "sort":     lambda x, w: st.sort(x) * w.sum(),
    "conv":     lambda x, w: st.conv1d(x.reshape(1, 1, 3), w.T[:, None]),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_mapped_is_stacked(name: str, style: str) -> None:
    f = FUNCTIONS[name]
    if style == "symbolic" and name in ("hessian", "jacobian", "conv", "solve", "take"):
        pytest.skip("of known sizes alone")
    found = STYLES[style](st.vmap(f, in_axes=(0, None)), st.tensor(X), st.tensor(W))
    close(found, np.stack([np.asarray(f(st.tensor(x), st.tensor(W))) for x in X]))


@pytest.mark.parametrize("name", ["product", "scan", "cond", "constant", "nested", "take", "checkpoint"])
def test_gradients_through_what_is_mapped(name: str) -> None:
    f = FUNCTIONS[name]
    mapped = st.grad(lambda x, w: (st.vmap(f, in_axes=(0, None))(x, w) ** 2).sum(), argnums=(0, 1))
    by_hand = st.grad(lambda x, w: sum((f(x[k], w) ** 2).sum() for k in range(len(X))), argnums=(0, 1))
    for a, b in zip(mapped(st.tensor(X), st.tensor(W)), by_hand(st.tensor(X), st.tensor(W))):
        close(a, b)


def test_axes_go_in_and_out_where_they_are_wanted() -> None:
    x, v = st.tensor(X), st.tensor(V)
    close(st.vmap(st.multiply, in_axes=(0, 1))(x, v.T), X * V)
    close(st.vmap(st.multiply, in_axes=(-1, -1), out_axes=-1)(x, v), X * V)
    close(st.vmap(lambda d: {"a": d["x"][0], "b": d["x"][1]}, in_axes=({"x": (0, None)},),
                  out_axes={"a": 1, "b": None})({"x": (x, v)})["a"], X.T)
    close(st.vmap(lambda x, y: x + y)(x, y=v), X + V)
    close(st.vmap(lambda: st.ones(2), axis_size=3)(), np.ones((3, 2)))
    close(st.vmap(lambda x: x)(st.zeros((0, 3))), np.zeros((0, 3)))
    close(st.vmap(lambda x, k: x * k if k else x, in_axes=(0, None))(x, None), X)
    close(st.vmap(lambda x: x * 2)(X), X * 2)


def test_gradients_of_each_example() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    loss = lambda m, x, y: ((m(x) - y) ** 2).sum()
    x, y = st.tensor(X.astype("f4")), st.tensor(V[:, :1].astype("f4"))
    found = st.vmap(st.grad(loss), in_axes=(None, 0, 0))(model, x, y)
    for k in range(len(X)):
        one = st.grad(loss)(model, x[k], y[k])
        for name, g in one.items():
            np.testing.assert_allclose(found[name][k].numpy(), g.numpy(), rtol=2e-5, atol=1e-6)


def test_places_draw_numbers_of_their_own() -> None:
    draw = st.vmap(lambda x: x + st.rand(2))
    st.manual_seed(3)
    first, second = draw(st.zeros(4)).numpy(), draw(st.zeros(4)).numpy()
    assert len({*first.ravel(), *second.ravel()}) == 16 and (first < 1).all() and (first >= 0).all()
    st.manual_seed(3)
    compiled = st.compile(draw)
    np.testing.assert_array_equal(compiled(st.zeros(4)).numpy(), first)
    np.testing.assert_array_equal(compiled(st.zeros(4)).numpy(), second)
    f = st.function([x := st.placeholder(("n",))], draw(x))
    st.manual_seed(3)
    np.testing.assert_array_equal(f(st.zeros(4)).numpy(), first)
    np.testing.assert_array_equal(f(st.zeros(4)).numpy(), second)
    many = st.vmap(lambda x: x + st.randn(1000))(st.zeros(50)).numpy()
    assert abs(np.corrcoef(many) - np.eye(50)).max() < 0.2 and abs(many.std() - 1) < 0.02
    nested = st.vmap(st.vmap(lambda x: st.dropout(x, p=0.5) + st.rand()))(st.zeros(3, 5)).numpy()
    assert len({*nested.ravel()}) == 15
    waited = st.vmap(lambda x: st.while_loop(lambda s: s < 1, lambda s: s + st.rand(), x))(st.zeros(8)).numpy()
    assert (waited >= 1).all() and len({*waited}) == 8


def test_collectives() -> None:
    x = st.tensor(X)
    close(st.vmap(lambda x: x / st.psum(x, "i"), axis_name="i")(x), X / X.sum(0))
    close(st.vmap(lambda x: st.pmean(x, "i"), axis_name="i", out_axes=None)(x), X.mean(0))
    close(st.vmap(lambda x: st.pmax(x, "i") - st.pmin({"a": x}, "i")["a"], axis_name="i")(x), X * 0 + np.ptp(X, axis=0))
    close(st.vmap(lambda x: st.all_gather(x, "i")[st.axis_index("i") - 1], axis_name="i")(x), np.roll(X, 1, 0))
    close(st.vmap(lambda x: st.psum(1, "i") * st.axis_size("i"), axis_name="i")(x), [16] * 4)
    both = st.vmap(st.vmap(lambda a: st.psum(a, "i") * st.psum(a, ("j")) + st.axis_index("i"), axis_name="i"),
                   axis_name="j")
    close(both(x), X.sum(1, keepdims=True) * X.sum(0) + np.arange(3))
    inside = st.vmap(lambda x: st.scan(lambda s, v: (s + st.psum(v, "i"), None), 0.0, x)[0], axis_name="i")
    np.testing.assert_allclose(inside(st.tensor(X.astype("f4"))).numpy(), [X.sum()] * 4, rtol=1e-5)
    close(STYLES["symbolic"](st.vmap(lambda x: x - st.pmean(x, "i"), axis_name="i"), x), X - X.mean(0))


def test_gradients_of_collectives() -> None:
    x = st.tensor(X)
    share = st.vmap(lambda x: (st.all_gather(x, "i") * x).sum() + (st.pmax(x, "i") * x).sum(), axis_name="i")
    f = lambda x: (share(x) * st.arange(1.0, 5.0)).sum()
    plain = lambda x: (((x[None] * x[:, None]).sum(axis=(1, 2)) + (x.max(axis=0) * x).sum(axis=1))
                       * st.arange(1.0, 5.0)).sum()
    close(st.grad(f)(x), st.grad(plain)(x))
    close(st.jvp(f, (x,), (x * 3,))[1], st.jvp(plain, (x,), (x * 3,))[1])
    close(st.vmap(st.grad(lambda x: st.psum((x * x).sum(), "i")), axis_name="i")(x), 2 * 4 * X)


LEAF = st.ones((), requires_grad=True)
WRONG: dict[str, tuple[Callable[[], Any], type[SteleError], str]] = {
    "number":    (lambda: st.vmap(lambda x: x)(1.0), ShapeError, "axis 0 .* a float.*in_axes"),
    "sizes":     (lambda: st.vmap(st.add)(st.ones(2), st.ones(3)), ShapeError, r"differ in size: \(2, 3\)"),
    "axis":      (lambda: st.vmap(lambda x: x, in_axes=3)(st.ones(2)), ShapeError, "axis 3 is out of range"),
    "out":       (lambda: st.vmap(lambda x: x, out_axes=None)(st.ones(2)), GraphError, "differs from place to place"),
    "structure": (lambda: st.vmap(lambda x: x, in_axes=(0, 0))(st.ones(2)), ArgumentError, "a tuple of 2 .* a tuple"),
    "name":      (lambda: st.psum(st.ones(2), "i"), GraphError, r"no vmap around it.*axis_name='i'"),
    "no name":   (lambda: st.pmean(st.ones(2), ["i"]), ArgumentError, r"axis_name must be the name of an"),
    "other":     (lambda: st.vmap(lambda x: st.psum(x, "j"), axis_name="i")(st.ones(2)), GraphError, "are named 'i'"),
    "module":    (lambda: st.vmap(lambda m: m)(nn.Linear(1, 1)), ShapeError, "got a Linear"),
    "rebinding": (lambda: st.vmap(nn.BatchNorm1d(3))(st.ones(2, 4, 3)), TraceError, "from place to place.*eval"),
    "looking":   (lambda: st.vmap(float)(st.ones(2)), TraceError, "symbolic"),
    "nothing":   (lambda: st.vmap(lambda: 1)(), ShapeError, "axis_size"),
    "backward":  (lambda: st.vmap(lambda x: (x * LEAF).backward())(st.ones(2)), TraceError, "backward.*st.gradients"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_teach(name: str) -> None:
    call, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        call()


def test_what_is_the_same_for_all_is_rebound() -> None:
    count = st.tensor(0)

    def f(x: st.Tensor) -> st.Tensor:
        nonlocal count
        count += 1
        return x

    st.vmap(f)(st.ones(3))
    assert int(count) == 1
