"""Branches and loops of unknown length: in every style, of every kind of operand, with what they rebind outside."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError, DeviceError, DTypeError, GraphError, ShapeError, TraceError
from stele.tracing import tree

X = np.array([[2.0, 4.0, -1.0], [1.0, 0.5, 3.0]], "f4")


def styles(f: Callable[..., Any], *arrays: Any) -> list[list[Any]]:
    """What a function makes in each style, as flat lists of arrays."""
    xs = [st.tensor(a) for a in arrays]
    ps = [st.placeholder(x.shape, x.dtype, name=f"p{k}") for k, x in enumerate(xs)]
    ways = f, st.compile(f), st.function(ps, f(*ps)), st.compile(f, backend="reference"), st.eager()(f)
    return [[y.numpy() for y in tree.flatten(way(*xs))[0]] for way in ways]


def collatz(n: Any) -> Any:
    """How many steps a number takes to 1."""
    halve, grow = (lambda k: k // 2), (lambda k: 3 * k + 1)
    return st.while_loop(lambda s: s[0] > 1, lambda s: (st.cond(s[0] % 2 == 0, halve, grow, s[0]), s[1] + 1), (n, 0))[1]


def steps(n: int) -> int:
    count = 0
    while n > 1:
        n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
    return count


def in_scan(x: Any) -> Any:
    """A branch that a loop with a test takes, in each step of a scan."""
    def step(c: Any, row: Any) -> tuple[Any, Any]:
        grown = st.while_loop(lambda r: r.sum() < 10, lambda r: r * 2 + 1, row)
        return st.cond(row.sum() > 4.6, lambda a, b: a + b, lambda a, b: a - b, c, grown), grown[:2]

    return st.scan(step, st.zeros(3), x)


def in_scan_law(x: Any) -> Any:
    c, ys = np.zeros(3, "f4"), []
    for row in x:
        grown = row
        while grown.sum() < 10:
            grown = grown * 2 + 1
        c = c + grown if row.sum() > 4.6 else c - grown
        ys.append(grown[:2])
    return c, np.stack(ys)


TABLE: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "cond":     (lambda p, x: st.cond(p, lambda x: x / 2, lambda x: x, x), lambda p, x: x / 2 if p else x,
                 (np.bool_(True), X)),
    "not":      (lambda p, x: st.cond(p, lambda x: x / 2, lambda x: x, x), lambda p, x: x / 2 if p else x,
                 (np.bool_(False), X)),
    "tree":     (lambda p, x: st.cond(p, lambda a: {"u": a["x"], "v": (1, None)},
                                      lambda a: {"u": -a["x"], "v": (2, None)}, {"x": x})["u"],
                 lambda p, x: x if p else -x, (np.bool_(False), X)),
    "closure":  (lambda p, x: st.cond(p, lambda: x.sum(), lambda: x.prod()), lambda p, x: x.sum() if p else x.prod(),
                 (np.bool_(False), X)),
    "number":   (lambda p, x: st.cond(p, lambda: x.sum(), lambda: 0), lambda p, x: x.sum() if p else np.float32(0),
                 (np.bool_(False), X)),
    **{f"switch {k}": (lambda k, x: st.switch(k, [lambda x: x, lambda x: -x, lambda x: x * x], x),
                       lambda k, x: [x, -x, x * x][min(max(k, 0), 2)], (np.int8(k), X)) for k in (-3, 0, 1, 2, 7)},
    "one":      (lambda k, x: st.switch(k, [lambda x: -x], x), lambda k, x: -x, (np.int64(3), X)),
    "while":    (lambda x: st.while_loop(lambda s: s["x"].sum() < 100, lambda s: {"x": s["x"] * 2, "n": s["n"] + 1},
                                         {"x": x, "n": 0}), lambda x: (x * 16, np.int64(4)), (X,)),
    "never":    (lambda x: st.while_loop(lambda x: x.sum() < 0, lambda x: x * 2, x), lambda x: x, (X,)),
    "swapped":  (lambda a, b: st.while_loop(lambda s: s[0].sum() < 100, lambda s: (s[1], s[0] + s[1]), (a, b)),
                 lambda a, b: (np.float32([34] * 3), np.float32([55] * 3)), (np.ones(3, "f4"), np.ones(3, "f4"))),
    "collatz":  (collatz, steps, (np.int64(27),)),
    "in scan":  (in_scan, in_scan_law, (X,)),
    "complex":  (lambda z: st.while_loop(lambda z: abs(z).sum() < 50, lambda z: z * z, z), lambda z: z ** 16,
                 (np.array([1 + 1j, 1 - 1j], "c8"),)),
    "fori":     (lambda x: st.fori_loop(2, 5, lambda i, s: s * i + x, x),
                 lambda x: ((x * 2 + x) * 3 + x) * 4 + x, (X,)),
    "no fori":  (lambda x: st.fori_loop(5, 2, lambda i, s: s * i + x, x), lambda x: x, (X,)),
    "open fori": (lambda x, n: st.fori_loop(np.int32(2), n, lambda i, s: s * i + x, x),
                  lambda x, n: ((x * 2 + x) * 3 + x) * 4 + x, (X, np.int32(5))),
    "map":      (lambda x: st.map(lambda r: (r.sum() + r, {"m": r.max()}), x),
                 lambda x: (x.sum(1, keepdims=True) + x, x.max(1)), (X,)),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_comes_out_is_what_python_makes(name: str) -> None:
    ours, theirs, arrays = TABLE[name]
    law: Any = theirs(*arrays)
    for made in styles(ours, *arrays):
        for y, z in zip(made, law if isinstance(law, tuple) else (law,), strict=True):
            assert y.shape == np.shape(z)
            np.testing.assert_allclose(y, z, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scans_run_along_any_axis(n: int, reverse: bool) -> None:
    a = np.random.default_rng(n).uniform(0.5, 1.5, (2, n)).astype("f4")
    both: Any = lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])
    f: Any = lambda x: st.associative_scan(both, (x, x), reverse=reverse, axis=1)
    first, second, way = np.ones(2), np.zeros(2), slice(None, None, -1 if reverse else 1)
    law: list[Any] = []
    for x in a.T[way]:
        first, second = first * x, second * x + x
        law.append((first, second))
    for made in styles(f, a):
        for k, y in enumerate(made):
            expected = np.stack([row[k] for row in law][way], 1) if n else a
            np.testing.assert_allclose(y, expected, rtol=1e-5)


def test_loops_run_at_open_sizes() -> None:
    def f(x: st.Tensor) -> Any:
        total = st.fori_loop(0, x.shape[0], lambda i, s: s + x[i] * i, st.zeros(2))
        running = st.associative_scan(st.add, x)
        return total, running, st.while_loop(lambda y: y.sum() < 50, lambda y: y + x, x)

    g = st.compile(f, dims={"x": {0: "n"}})
    for n in (3, 5, 11):
        x = np.random.default_rng(n).uniform(0, 1, (n, 2)).astype("f4")
        total, running, last = g(st.tensor(x))
        np.testing.assert_allclose(total.numpy(), (x * np.arange(n)[:, None]).sum(0), rtol=1e-5)
        np.testing.assert_allclose(running.numpy(), np.cumsum(x, 0), rtol=1e-5)
        y = x
        while y.sum() < 50:
            y = y + x
        np.testing.assert_allclose(last.numpy(), y, rtol=1e-5)
    assert g.compiles == 1


def noisy(x: st.Tensor) -> st.Tensor:
    half = st.cond(x.sum() > 4, lambda: st.rand(2), lambda: st.zeros(2))
    return st.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + st.rand(2)), (0, half))[1] + st.rand(2)


def noisy_law(x: np.ndarray[Any, Any]) -> Any:
    half = st.rand(2) if x.sum() > 4 else st.zeros(2)
    for _ in range(3):
        half = half + st.rand(2)
    return half + st.rand(2)


@pytest.mark.parametrize("style", ["imperative", "compiled", "stepped", "symbolic"])
@pytest.mark.parametrize("x", [3.0, 1.0])
def test_random_numbers_are_those_of_what_ran(style: str, x: float) -> None:
    st.manual_seed(3)
    given = np.full(2, x, "f4")
    law = [noisy_law(given).numpy(), st.rand(3).numpy()]
    st.manual_seed(3)
    if style == "symbolic":
        p = st.placeholder((2,))
        f: Any = st.function([p], noisy(p))
        st.manual_seed(3)       # making it draws, too
    else:
        f = {"imperative": noisy, "compiled": st.compile(noisy), "stepped": st.eager()(noisy)}[style]
    made = [f(st.tensor(given)).numpy(), st.rand(3).numpy()]
    for a, b in zip(made, law):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("style", [lambda f: f, st.compile, st.eager()])
def test_what_the_test_of_a_loop_does_is_done_each_time(style: Any) -> None:
    seen: list[Any] = []
    count = st.tensor(0)

    def test(s: Any) -> Any:
        count.add_(1)
        st.debug.callback(lambda x: seen.append(("test", float(x))), s["x"])
        return s["x"] + st.rand() < 10

    def body(s: Any) -> Any:
        st.debug.callback(lambda x: seen.append(("body", float(x))), s["x"])
        return {"x": s["x"] * 2, "n": s["n"] + 1}

    st.manual_seed(0)
    run = style(lambda x: st.while_loop(test, body, {"x": x, "n": 0}))
    for x, times in ((3.0, 2), (20.0, 0)):
        seen.clear()
        made = run(st.tensor(x))
        assert (float(made["x"]), int(made["n"])) == (x * 2 ** times, times)
        assert seen == [(name, x * 2 ** k) for k in range(times + 1) for name in ("test", "body")][:-1]
    assert int(count) == 4
    loop = lambda x: st.while_loop(lambda s: (st.debug.callback(seen.append, s), s < 10)[1], lambda s: s * 2, x)
    seen.clear()
    assert float(style(st.grad(loop))(st.tensor(3.0))) == 4 and [float(x) for x in seen] == [3.0, 6.0, 12.0]


@pytest.mark.parametrize("style", [lambda f: f, st.compile, st.eager()])
def test_what_is_rebound_outside_is_rebound_where_it_ran(style: Any) -> None:
    seen, total = st.tensor(0), st.zeros(2)

    def f(x: st.Tensor) -> st.Tensor:
        def much() -> st.Tensor:
            seen.assign(seen + 1)
            return st.while_loop(lambda y: y.sum() < 50, count, x)

        def count(y: st.Tensor) -> st.Tensor:
            total.assign(total + y)
            return y * 2

        return st.cond(x.sum() > 4, much, lambda: x)

    g = style(f)
    assert g(st.tensor([1.0, 2.0])).tolist() == [1.0, 2.0] and (seen.tolist(), total.tolist()) == (0, [0.0, 0.0])
    assert g(st.tensor([5.0, 5.0])).tolist() == [40.0, 40.0] and (seen.tolist(), total.tolist()) == (1, [35.0, 35.0])
    assert g(st.tensor([9.0, 1.0])).tolist() == [72.0, 8.0] and seen.tolist() == 2


def branching(x: st.Tensor) -> st.Tensor:
    a = st.cond(x.sum() > 0, lambda x: (x.sin() * x.exp()).tanh(), lambda x: x * x, x)
    ways: Any = [lambda a, x: a, lambda a, x: a.cos() * x, lambda a, x: a * a * x]
    b = st.switch((x.sum() > 0).astype("int32") + 1, ways, a, x)
    return (st.fori_loop(0, 3, lambda i, s: s * (x + i), b) ** 2).sum()


def branching_law(x: st.Tensor) -> st.Tensor:
    is_positive = float(x.sum()) > 0
    a = (x.sin() * x.exp()).tanh() if is_positive else x * x
    b = a * a * x if is_positive else a.cos() * x
    for i in range(3):
        b = b * (x + i)
    return (b ** 2).sum()


@pytest.mark.parametrize("style", [lambda f: f, st.compile, st.eager()])
@pytest.mark.parametrize("sign", [1, -1])
def test_derivatives_are_those_of_the_branch_that_ran(style: Any, sign: int) -> None:
    x = st.tensor(np.array([0.3, 0.5, 0.2]) * sign)
    np.testing.assert_allclose(style(st.grad(branching))(x).numpy(), st.grad(branching_law)(x).numpy(), rtol=1e-9)
    for a, b in zip(style(lambda x: st.jvp(branching, (x,), (x * 2,)))(x), st.jvp(branching_law, (x,), (x * 2,))):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9)
    np.testing.assert_allclose(style(st.hessian(branching))(x).numpy(), st.hessian(branching_law)(x).numpy(), rtol=1e-8)


@pytest.mark.parametrize("style", [lambda f: f, st.eager()])
def test_backward_passes_through_branches_and_loops(style: Any) -> None:
    w, x = st.tensor([0.5, 2.0], requires_grad=True), st.tensor([1.0, 3.0])
    style(lambda: st.cond(x.sum() > 0, lambda: (w * x).sum(), lambda: w.sum()).backward())()
    assert w.grad is not None and w.grad.tolist() == [1.0, 3.0]


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a float decides": (lambda: st.cond(1.0, lambda: 1, lambda: 2), DTypeError, "one bool, got float32"),
    "two decide":      (lambda: st.cond(st.tensor([True, False]), lambda: 1, lambda: 2), ShapeError, r"x\.any\(\)"),
    "other trees":     (lambda: st.cond(True, lambda: 1, lambda: (2,)), TraceError, "true_fun of cond returns 1 and"),
    "other shapes":    (lambda: st.cond(True, lambda: st.zeros(2), lambda: st.zeros(3)), TraceError,
                        r"true_fun of cond returns the result as float32\[2\] and false_fun of cond as float32\[3\]"),
    "other dtypes":    (lambda: st.cond(True, lambda: {"a": st.zeros(2)}, lambda: {"a": st.zeros(2, dtype="int32")}),
                        TraceError, r"the result\.a as float32\[2\] and .* int32\[2\]"),
    "no test":         (lambda: st.while_loop(lambda s: s, lambda s: s, 1.0), DTypeError, "cond_fun .* Compare"),
    "another carry":   (lambda: st.while_loop(lambda s: s < 3, lambda s: s * 1.5, 1), ShapeError,
                        r"given state as int64\[\] and returns it as float32\[\]"),
    "another tree":    (lambda: st.while_loop(lambda s: s[0] < 3, lambda s: [s[0]], (1.0,)), TraceError,
                        r"returns \[float32\[\]\] where it was given \(float32\[\],\)"),
    "endless":         (lambda: st.while_loop(lambda s: st.tensor(2) < 3, lambda s: s * 2, 1.0), TraceError,
                        "never end"),
    "endless prints":  (lambda: st.while_loop(lambda s: (st.debug.print(s), st.tensor(2) < 3)[1], lambda s: s, 1.0),
                        TraceError, "never end"),
    "a float index":   (lambda: st.switch(1.5, [lambda: 1]), DTypeError, "one whole number, got float32"),
    "no branches":     (lambda: st.switch(1, []), ArgumentError, "at least one branch"),
    "a float bound":   (lambda: st.fori_loop(0, 2.5, lambda i, s: s, 1), ArgumentError, "upper of fori_loop"),
    "no function":     (lambda: st.cond(True, 1, lambda: 2), ArgumentError, "true_fun of cond must be a function"),
    "no operand":      (lambda: st.cond(True, lambda x: x, lambda: 2, 1.0), ArgumentError,
                        r"false_fun of cond is called with \(x0\), and takes \(\) at .*Give it 1 parameter\."),
    "an operand":      (lambda: st.switch(0, [lambda: 1, lambda x: x]), ArgumentError,
                        r"branch 1 of switch is called with \(\), and takes \(x\) at .*Give it no parameters"),
    "two states":      (lambda: st.while_loop(lambda s: s < 1, lambda i, s: s, 1), ArgumentError,
                        r"body_fun of while_loop is called with \(state\), and takes \(i, s\)"),
    "a test of none":  (lambda: st.while_loop(lambda: True, lambda s: s, 1), ArgumentError, "cond_fun of while_loop"),
    "no number":       (lambda: st.fori_loop(0, 3, lambda s: s, 1), ArgumentError,
                        r"body_fun of fori_loop is called with \(i, state\), and takes \(s\)"),
    "another state":   (lambda: st.fori_loop(0, 3, lambda i, s: s * 1.5, 1), ShapeError,
                        "body_fun of fori_loop is given state as int64"),
    "to a tensor":     (lambda: st.fori_loop(0, st.tensor(3), lambda i, s: (s,), 1), TraceError,
                        "body_fun of fori_loop returns"),
    "no x":            (lambda: st.scan(lambda s: (s, s), 1, st.ones(3)), ArgumentError,
                        r"the step of scan is called with \(state, x\), and takes \(s\)"),
    "a step of none":  (lambda: st.scan(lambda s, x: s, 1, st.ones(3)), TraceError, r"scan returns \(state, output\)"),
    "two xs":          (lambda: st.map(lambda a, b: a, (st.ones(3), st.ones(3))), ArgumentError,
                        r"the function of map is called with \(x\), and takes \(a, b\)"),
    "no axis":         (lambda: st.map(lambda x: x, st.ones(())), ShapeError, "map walks along the first axis"),
    "one of two":      (lambda: st.associative_scan(lambda a: a, st.ones(3)), ArgumentError,
                        r"the function of associative_scan is called with \(x, y\)"),
    "lengths differ":  (lambda: st.associative_scan(lambda a, b: a, (st.zeros(2), st.zeros(3))), ShapeError,
                        "one length"),
    "no axes":         (lambda: st.associative_scan(st.add, (2, -1)), ShapeError, "along an axis of elems, got int"),
    "other results":   (lambda: st.associative_scan(lambda a, b: a.sum(), st.ones(4)), ShapeError, "for two float"),
    "two devices":     (lambda: st.cond(True, lambda x: x.to("cpu:1"), lambda x: x, st.zeros(2)), DeviceError,
                        "Move what"),
}


KEPT: list[Any] = []


def kept(x: Any) -> Any:
    KEPT[:] = [x * 2]
    return x + 1


LEAKS: dict[str, Callable[[Any], Any]] = {
    "a step":   lambda x: st.scan(lambda c, r: (kept(c), None), x[0], x),
    "a branch": lambda x: st.cond(x.sum() > 0, kept, lambda x: x, x),
    "a test":   lambda x: st.while_loop(lambda x: kept(x).sum() < 9, lambda x: x + 1, x),
    "a body":   lambda x: st.while_loop(lambda x: x.sum() < 9, kept, x),
}


@pytest.mark.parametrize("name", LEAKS)
def test_what_leaves_a_body_by_another_way_is_told(name: str) -> None:
    def f(x: Any) -> Any:
        LEAKS[name](x)
        return KEPT[0] + 1

    def symbolic(x: st.Tensor) -> Any:
        p = st.placeholder(x.shape)
        return st.function([p], f(p))(x)

    x = st.ones(3, 2)
    for call in (lambda: f(x).numpy(), lambda: st.compile(f)(x), lambda: symbolic(x)):
        with pytest.raises(TraceError, match=r"no numbers.* at test_control.py:\d+. Return it"):
            call()


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 3), (3, 1)])
def test_tangents_have_the_shape_of_what_they_are_of(style: Any, shape: tuple[int, ...]) -> None:
    """Others that broadcast gave the derivative along something else."""
    with pytest.raises(GraphError, match=r"the tangent of .*must have its shape \(3,\), got .*test_control"):
        style(lambda x, t: st.jvp(lambda x: (x * x).sum(), (x,), (t,)))(st.ones(3), st.ones(shape))


def test_whole_numbers_have_no_gradient() -> None:
    with pytest.raises(DTypeError, match="whole numbers have none"):
        st.grad(lambda n: st.fori_loop(0, 3, lambda i, s: s * 2, n))(st.tensor(3))
    with pytest.raises(DTypeError, match="whole numbers have none"):
        st.jvp(lambda n: st.fori_loop(0, 3, lambda i, s: s * 2, n * 2.0), (st.tensor(3),), (st.tensor(1),))
    with pytest.raises(DTypeError, match="whole numbers have none"):
        st.grad(lambda x: st.while_loop(lambda n: n < 9, lambda n: n * 2, x.astype("int32")))(st.tensor(3.0))


@pytest.mark.parametrize("loss", [None, "loss", 2.0, (st.ones(()), st.ones(2))], ids=str)
def test_a_loss_that_is_no_tensor_is_told(loss: Any) -> None:
    x, told = st.ones(2), r"tensors?, got .*(NoneType|None|str|float|tuple).* at test_control.py:\d+"
    ways = [st.grad, st.value_and_grad, st.jacobian, lambda f: lambda x: st.vjp(f, x),
            lambda f: lambda x: st.jvp(f, (x,), (x,))]
    for way in ways[:2] if isinstance(loss, tuple) else ways:   # the others take several results
        for style in (lambda f: f, st.compile):
            with pytest.raises((GraphError, ArgumentError), match=told):
                style(way(lambda x: loss))(x)
    with pytest.raises(ArgumentError, match=r"must be \(loss, more\), got Tensor"):
        st.grad(lambda x: x.sum(), has_aux=True)(x)


def test_changes_along_tangents_require_no_gradients_of_their_own() -> None:
    x, w = st.ones(2), st.ones(2, requires_grad=True)
    for f, carries in ((st.sin, False), (lambda x: x * w, True)):
        assert [y.requires_grad for y in (*st.jvp(f, (x,), (x,)), st.vjp(f, x)[0])] == [carries] * 3


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_statistics_of_batch_norm_are_those_of_what_ran(style: Any) -> None:
    x = st.tensor(np.random.default_rng(0).normal(size=(4, 2)).astype("f4"))
    a, b = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    f = style(lambda p, x: st.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, st.cond(p, a, lambda x: x, s[1]) + 1),
                                         (0, x))[1])
    for p in (False, True):
        f(st.tensor(p), x).numpy()
        assert a.num_batches_tracked.item() == 3 * p
    y = x
    for _ in range(3):
        y = b(y) + 1
    np.testing.assert_allclose(a.running_mean.numpy(), b.running_mean.numpy(), rtol=1e-5)
    np.testing.assert_allclose(a.running_var.numpy(), b.running_var.numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", BAD)
def test_a_fault_is_told_with_what_to_write(name: str) -> None:
    call, kind, words = BAD[name]
    for way in (lambda f: f, st.compile):
        with pytest.raises(kind, match=words):
            way(call)()
