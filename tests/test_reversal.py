"""Derivatives of loops of unknown length, in both modes, to any order, at many places; fixed points."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import ArgumentError, DTypeError, ShapeError, TraceError
from stele.ir.graph import closed
from stele.pipeline import memory, request

f8 = lambda x: st.tensor(np.array(x, "f8"))
close: Any = lambda a, b, rtol=1e-10: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-12)


def step(x: Any, w: Any) -> Any:
    return st.sin(x) * 1.1 + w * 0.3


def many(x: Any, w: Any, n: Any) -> Any:
    """n steps, by a loop with a test."""
    return st.while_loop(lambda s: s[1] < n, lambda s: (step(s[0], w), s[1] + 1), (x, 0))[0]


def written(x: Any, w: Any, n: int) -> Any:
    """The same steps written out."""
    for _ in range(n):
        x = step(x, w)
    return x


@pytest.mark.parametrize("n", [0, 1, 32, 45])
def test_steps_walked_back_are_those_written_out(n: int) -> None:
    x, w = f8([0.7, -0.2]), f8(0.4)
    found = st.grad(lambda x, w: (many(x, w, n) ** 2).sum(), (0, 1))(x, w)
    wanted = st.grad(lambda x, w: (written(x, w, n) ** 2).sum(), (0, 1))(x, w)
    for a, b in zip(found, wanted):
        close(a, b)


def until(x: Any, w: Any) -> Any:
    """Steps until a sum is large, which depends on what is carried; counted by nobody; integers and bools beside it."""
    def body(s: Any) -> Any:
        total, v, odd, k = s
        return total + v * v, st.tanh(v * w) + st.where(odd, f8(0.2), f8(0.1)) * v, ~odd, k * 2

    return st.while_loop(lambda s: s[0].sum() < 5.0, body, (x * 0, x, st.tensor(False), st.tensor(1)))


def until_by_hand(x: Any, w: Any) -> Any:
    total, v, odd = x * 0, x, False
    while float(total.sum()) < 5.0:
        total, v, odd = total + v * v, st.tanh(v * w) + (0.2 if odd else 0.1) * v, not odd
    return total, v


@pytest.mark.parametrize("compiled", [False, True])
def test_exits_that_depend_on_data(compiled: bool) -> None:
    x, w = f8([0.7, -0.2, 0.1]), f8(1.4)
    loss = lambda f: st.grad(lambda x, w: (f(x, w)[0] * f(x, w)[1]).sum(), (0, 1))
    found = (st.compile if compiled else lambda f: f)(loss(until))(x, w)
    for a, b in zip(found, loss(until_by_hand)(x, w)):
        close(a, b)


def test_second_order_and_every_mixture() -> None:
    x, w = f8(0.7), f8(0.4)
    for n in (3, 40):
        own, by_hand = (lambda w, f=f, n=n: f(x, w, n) for f in (many, written))
        second = st.grad(st.grad(by_hand))(w)
        close(st.jvp(st.grad(own), (w,), (f8(1.0),))[1], second)
        close(st.grad(lambda w, f=own: st.jvp(f, (w,), (f8(1.0),))[1])(w), second)
    close(st.grad(st.grad(lambda w: many(x, w, 3)))(w), st.grad(st.grad(lambda w: written(x, w, 3)))(w))


def test_many_places() -> None:
    xs, w, ns = f8([0.7, -0.3, 0.1]), f8(0.4), st.tensor([2, 40, 0])
    wanted = [float(st.grad(lambda x, n=n: written(x, w, n))(x)) for x, n in zip(xs, (2, 40, 0))]
    close(st.vmap(st.grad(many), in_axes=(0, None, 0))(xs, w, ns), wanted)
    close(st.grad(lambda x: st.vmap(many, in_axes=(0, None, 0))(x, w, ns).sum())(xs), wanted)


def test_what_a_loop_begins_with_and_reads_too() -> None:
    """At many places it is an operand several times."""
    xs, w = f8([[0.7, -0.3], [0.1, 0.2]]), f8(1.3)
    grows = lambda x: st.while_loop(lambda s: s.sum() < 20.0, lambda s: s * w + st.abs(x), x)

    def by_hand(x: Any) -> Any:
        s = x
        while float(s.sum()) < 20.0:
            s = s * w + st.abs(x)
        return s

    wanted = st.stack([st.grad(lambda x: (by_hand(x) ** 2).sum())(x) for x in xs])
    close(st.vmap(st.grad(lambda x: (grows(x) ** 2).sum()))(xs), wanted)
    close(st.grad(lambda x: (st.vmap(grows)(x) ** 2).sum())(xs), wanted)


def test_loops_within_loops_walked_back() -> None:
    def nested(x: Any, w: Any) -> Any:
        return st.scan(lambda s, k: (many(s, w, k), None), x, st.tensor([1, 3, 2]))[0]

    x, w = f8(0.7), f8(0.4)
    for a, b in zip(st.grad(nested, (0, 1))(x, w), st.grad(lambda x, w: written(x, w, 6), (0, 1))(x, w)):
        close(a, b)
    outer = lambda x: st.while_loop(lambda s: s[1] < 3, lambda s: (many(s[0], w, s[1]), s[1] + 1), (x, 0))[0]
    close(st.grad(outer)(x), st.grad(lambda x: written(x, w, 3))(x))


def test_memory_and_program_do_not_depend_on_the_number_of_steps() -> None:
    f = st.compile(st.value_and_grad(lambda x, w, n: many(x, w, n).sum()))
    x, w = st.full((100,), 0.7), st.tensor(0.4)
    for n in (10, 2000):
        _, g = f(x, w, st.tensor(n))
        assert np.isfinite(g.numpy()).all()
    assert f.compiles == 1
    v, y = x.numpy().astype("f8"), 1.0
    for _ in range(2000):
        y, v = y * np.cos(v) * 1.1, np.sin(v) * 1.1 + 0.4 * 0.3
    np.testing.assert_allclose(g.numpy(), y, rtol=1e-5, atol=1e-7)


def root(a: Any, x: Any = None) -> Any:
    """The square root, by Newton's iteration."""
    return st.fixed_point(lambda x, a: (x + a / x) / 2, f8(1.0) if x is None else x, a, tol=1e-13)


def test_fixed_points_have_the_derivatives_of_their_equation() -> None:
    a = f8(9.0)
    close(root(a), 3)
    for style in (st.compile, lambda f: f):
        close(style(st.grad(root))(a), 1 / 6)
        close(style(st.grad(st.grad(root)))(a), -0.25 * 9 ** -1.5)
        close(style(lambda a: st.jvp(root, (a,), (a,))[1])(a), 1.5)
        close(style(lambda a: st.jvp(st.grad(root), (a,), (a,))[1])(a), -2.25 * 9 ** -1.5)
        close(style(st.vmap(st.grad(root)))(f8([4, 9])), [1 / 4, 1 / 6])
        close(style(st.grad(lambda a: st.vmap(root)(a).sum()))(f8([4, 9])), [1 / 4, 1 / 6])
    assert float(st.grad(lambda x: root(a, x))(f8(2.0))) == 0       # the first guess does not matter
    place = st.placeholder((), "float64")
    close(st.function([place], st.grad(root)(place))(a), 1 / 6)


def test_fixed_points_of_containers_and_of_what_is_read_outside() -> None:
    w = st.tensor(np.array([[0.1, 0.2], [0.3, -0.1]]), requires_grad=True)
    solve = lambda w: st.fixed_point(lambda p: {"x": st.tanh(w @ p["x"] + 1)}, {"x": st.zeros(2, dtype="float64")},
                                     tol=1e-13)["x"].sum()
    solve(w).backward()
    assert w.grad is not None
    numbers, e = w.numpy(), 1e-6
    for k in np.ndindex(2, 2):
        up, down = numbers.copy(), numbers.copy()
        up[k] += e
        down[k] -= e
        close(w.grad.numpy()[k], (float(solve(st.tensor(up))) - float(solve(st.tensor(down)))) / (2 * e), 1e-8)
    stopped = st.fixed_point(lambda x: x + 1, st.tensor(0.0), max_steps=7)
    assert float(stopped) == 7


@pytest.mark.parametrize(("error", "message", "call"), [
    (ArgumentError, "fixed_point", lambda: st.fixed_point(3, st.ones(2))),
    (ShapeError, r"float32\[2\]", lambda: st.fixed_point(lambda x: x[0], st.ones(2))),
    (DTypeError, "real floats, got int64", lambda: st.fixed_point(lambda x: x, st.tensor([1]))),
    (TraceError, "random", lambda: st.fixed_point(lambda x: x + st.rand(), st.tensor(1.0))),
    (ShapeError, "max_steps", lambda: st.fixed_point(lambda x: x, st.tensor(1.0), max_steps=0)),
])
def test_wrong_fixed_points_teach(error: Any, message: str, call: Any) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_hundred_thousand_steps_with_an_exit_that_depends_on_data() -> None:
    """In memory for some hundred states, whatever the number of steps."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 2)) / 2, rng.normal(size=2)

    def loss(a: Any, b: Any, tol: Any) -> Any:
        def body(s: Any) -> Any:
            new = s[0] - 1e-4 * (st.tanh(a @ s[0]) + s[0] - b)
            return new, st.abs(new - s[0]).sum(), s[2] + 1

        x, _, n = st.while_loop(lambda s: s[1] > tol, body, (b * 0, tol + 1, 0))
        return (x * x).sum(), n

    def by_hand(a: Any, b: Any, tol: float) -> Any:
        x, change, states = b * 0, 1.0, []
        while change > tol:
            states.append(x)
            new = x - 1e-4 * (np.tanh(a @ x) + x - b)
            x, change = new, np.abs(new - x).sum()
        g, da, db = 2 * x, a * 0, b * 0
        for x in reversed(states):
            u = g * (1 - np.tanh(a @ x) ** 2)
            da, db, g = da - 1e-4 * np.outer(u, x), db + 1e-4 * g, g - 1e-4 * (a.T @ u + g)
        return len(states), da, db

    slope = st.grad(loss, (0, 1), has_aux=True)
    f = st.compile(slope)
    (da, db), n = f(f8(a), f8(b), f8(1e-9))
    steps, *wanted = by_hand(a, b, 1e-9)
    assert int(n) == steps > 100_000
    close(da, wanted[0]), close(db, wanted[1])
    places = [st.placeholder(s, "float64") for s in ((2, 2), (2,), ())]
    (da, db), n = slope(*places)
    inputs, results = [p.value for p in places], [y.value for y in (da, db, n)]
    assert memory(request(closed(inputs, results))).arena.bytes < 200 * 8 * (2 + 2 + 1 + 4)
