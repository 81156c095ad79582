"""Functions of a user's as ops, and prints and callbacks of programs: in every style, in order."""
from __future__ import annotations

import io
import sys
import threading
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import ArgumentError, GraphError, ShapeError, TraceError


@st.op(vjp=lambda g, y, x: g * 3 * x ** 2)
def cube(x: Any) -> Any:
    return x ** 3


@st.op(jvp=lambda dx, y, x: st.cos(x) * dx[0])
def sine(x: Any) -> Any:
    return np.sin(x)


@st.op(shape=lambda x, w: (x.shape[:-1], x.dtype),
       vjp=lambda g, y, x, w: (g.unsqueeze(-1) * w, (g.unsqueeze(-1) * x).sum(0)))
def weighed(x: Any, w: Any) -> Any:
    return (x * w).sum(-1)


@st.op(vjp=lambda g, y, x: g * y)
def grown(x: Any) -> Any:
    return np.exp(x)


@st.op(shape=lambda x: [x, (x.shape[:-1], "int64")])
def ranked(x: Any, times: int = 1) -> Any:
    return np.sort(x) * np.float32(times), x.argmax(-1)


X = np.array([[3.0, 1.0, 2.0], [0.5, -1.0, 4.0]], np.float32)


@pytest.mark.parametrize("style", ["imperative", "compiled", "symbolic", "open", "eager", "reference"])
def test_in_every_style(style: str) -> None:
    def f(x: Any) -> Any:
        y, at = ranked(cube(x) + 1, times=2)
        return y, at, weighed(x, st.ones(3))

    x = st.tensor(X)
    if style == "compiled":
        made = st.compile(f)(x)
    elif style == "reference":
        made = st.compile(f, backend="reference")(x)
    elif style == "open":
        g = st.compile(f, dims={"x": {0: "n"}})
        g(st.ones(5, 3))
        made = g(x)
        assert int(g.compiles) == 1
    elif style == "symbolic":
        p = st.placeholder((2, 3))
        made = st.function([p], list(f(p)))(x)
    elif style == "eager":
        with st.eager():
            made = f(x)
    else:
        made = f(x)
    expected = np.sort(X ** 3 + 1) * 2, (X ** 3).argmax(-1), X.sum(-1)
    for a, b in zip(made, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-6)
        assert a.dtype == b.dtype


def test_derivatives_of_both_modes_and_any_order() -> None:
    for f, first, second in ((cube, 12.0, 12.0), (sine, np.cos(2.0), -np.sin(2.0)), (grown, np.exp(2.0), np.exp(2.0))):
        x = st.tensor(2.0)
        for run in (lambda g: g, st.compile):
            np.testing.assert_allclose(run(st.grad(f))(x).item(), first, rtol=1e-6)
            np.testing.assert_allclose(run(st.grad(st.grad(f)))(x).item(), second, rtol=1e-6)
            moved = run(lambda x, f=f: st.jvp(f, (x,), (st.tensor(1.0),))[1])(x)
            np.testing.assert_allclose(moved.item(), first, rtol=1e-6)
    g = st.compile(st.grad(lambda x, w: weighed(x, w).sum(), argnums=(0, 1)))(st.tensor(X), st.ones(3) * 2)
    np.testing.assert_allclose(g[0].numpy(), np.full((2, 3), 2.0))
    np.testing.assert_allclose(g[1].numpy(), X.sum(0), rtol=1e-6)


def test_rules_get_the_options_that_they_name() -> None:
    @st.op(shape=lambda x, k: ((x.shape[0] * k,), x.dtype), vjp=lambda g, y, x, *, k: g.reshape(-1, k).sum(1))
    def repeated(x: Any, k: int, how: str = "each") -> Any:
        return np.repeat(x, k) if how == "each" else np.tile(x, k)

    @st.op(jvp=lambda dx, y, *x, **how: dx[0] * y * how["by"])
    def power(x: Any, by: float) -> Any:
        return np.exp(x * np.float32(by))

    x = st.tensor([1.0, 2.0])
    for run in (lambda g: g, st.compile):
        assert run(lambda x: repeated(x, k=2, how="all"))(x).tolist() == [1.0, 2.0, 1.0, 2.0]
        assert run(st.grad(lambda x: (repeated(x, k=3) ** 2).sum()))(x).tolist() == [6.0, 12.0]
        for by in (1, 1.5, True):
            np.testing.assert_allclose(run(st.grad(lambda x, by=by: power(x, by=by).sum()))(x),
                                       by * np.exp(by * x.numpy()), rtol=1e-6)
    for given in ([2], x, np.ones(2), st.placeholder(())):
        with pytest.raises(ArgumentError, match=r"by of power is an option.*Give operands by place"):
            power(x, by=given)


def test_at_many_places() -> None:
    calls: list[tuple[int, ...]] = []

    def plainly(x: Any) -> Any:
        calls.append(x.shape)
        return np.sort(x)

    np.testing.assert_array_equal(st.vmap(st.op(plainly))(st.tensor(X)).numpy(), np.sort(X))
    assert calls == [(3,), (3,)]
    calls.clear()
    np.testing.assert_array_equal(st.vmap(st.op(vectorized=True)(plainly))(st.tensor(X)).numpy(), np.sort(X))
    assert calls == [(2, 3)]
    _, at = st.vmap(ranked)(st.tensor(X))
    np.testing.assert_array_equal(at.numpy(), X.argmax(-1))
    assert st.vmap(ranked)(st.zeros(0, 3))[1].shape == (0,)
    np.testing.assert_allclose(st.vmap(st.grad(cube))(st.tensor(X[0])).numpy(), 3 * X[0] ** 2)


def test_in_loops_and_branches() -> None:
    @st.compile
    def f(x: Any) -> Any:
        last, _ = st.scan(lambda s, r: (st.cond(r.sum() > 5, lambda: cube(s), lambda: s + r), None), st.ones(3), x)
        return last

    s = np.ones(3, np.float32)
    for r in X:
        s = s ** 3 if r.sum() > 5 else s + r
    np.testing.assert_allclose(f(st.tensor(X)).numpy(), s)


def test_options_are_told_apart_by_types_and_signs_of_zeros() -> None:
    @st.op
    def signed(x: Any, *, k: Any) -> Any:
        return np.copysign(x, np.float32(k[0] if isinstance(k, tuple) else k))

    @st.op
    def typed(x: Any, *, k: Any) -> Any:
        return x * (2 if type(k[0]) is float else 3)

    x = st.tensor([1.0, 2.0])
    for run in (lambda f: f, st.compile):
        for zeros in ((0.0, -0.0), ((0.0,), (-0.0,))):
            found = [run(lambda x, k=k: signed(x, k=k))(x).tolist() for k in zeros]
            assert found == [[1, 2], [-1, -2]]
        assert [run(lambda x, k=k: typed(x, k=k))(x).tolist() for k in ((1,), (1.0,))] == [[3, 6], [2, 4]]


def test_functions_of_one_name_are_told_apart() -> None:
    ops = [st.op(lambda x, k=k: x * k) for k in range(3)]
    assert [float(st.compile(f)(st.tensor(2.0))) for f in ops] == [0.0, 2.0, 4.0]
    assert [float(f(st.tensor(2.0))) for f in ops] == [0.0, 2.0, 4.0]


def test_faults_teach() -> None:
    wide = st.op(lambda x: x.astype("f8"))
    for run in (lambda: wide(st.ones(2)).numpy(), lambda: st.compile(wide)(st.ones(2))):
        with pytest.raises(GraphError, match=r"returns float64\[2\] where its shape rule says float32\[2\]"):
            run()
    with pytest.raises(GraphError, match="returns a str"):
        st.op(lambda x: "text")(st.ones(2)).numpy()
    with pytest.raises(GraphError, match=r"has no derivative.*@st\.op\(vjp"):
        st.grad(lambda x: wide(x).sum())(st.ones(2))
    with pytest.raises(ArgumentError, match="vjp or jvp, got both"):
        st.op(vjp=cube, jvp=cube)
    with pytest.raises(ArgumentError, match="must be a function"):
        st.op(3)    # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="a spec or a pair"):
        st.op(shape=lambda x: 3)(cube)(st.ones(2))

    def fails(x: Any) -> Any:
        raise KeyError("own")

    for run in (lambda: st.op(fails)(st.ones(2)).numpy(), lambda: st.compile(st.op(fails))(st.ones(2))):
        with pytest.raises(KeyError, match="own"):
            run()


@pytest.mark.parametrize("run", [lambda f: f, st.compile, lambda f: st.compile(f, dims={"x": {0: "n"}})])
@pytest.mark.parametrize(("rule", "says"), [
    (lambda x: ((x.shape[0] / 2,), x.dtype), "be a whole number, got float: 3.0"),
    (lambda x: [x, ((2.5,), x.dtype)], "be a whole number, got float: 2.5"),
    (lambda x: (("a",), x.dtype), "be a whole number, got str: 'a'"),
    (lambda x: ("3", x.dtype), "be a whole number or a sequence of them, got str: '3'"),
    (lambda x: (None, x.dtype), "be a whole number, got NoneType"),
    (lambda x: ((-1,), x.dtype), "be at least 0, got -1")])
def test_sizes_of_a_shape_rule_are_whole_numbers(rule: Any, says: str, run: Any) -> None:
    halves = st.op(shape=rule)(cube)
    with pytest.raises((ArgumentError, ShapeError), match=f"every size of .* the rule of cube returns must {says}"):
        run(lambda x: halves(x))(st.ones(6))


def test_a_shape_of_one_axis_is_its_size() -> None:
    for size in (2, np.int64(2), [2]):
        assert st.op(shape=lambda x, size=size: (size, "float32"))(lambda x: x[:2])(st.ones(6)).shape == (2,)


@pytest.mark.parametrize(("f", "says"), [
    (lambda x: x[:1], r"float32\[1\] where its shape rule says float32\[2\].*Return an array of \[2\], or give @st.op"),
    (lambda x: x.astype("f8"), r"float64\[2\] where .*Return y.astype\('float32'\), or give @st.op the shape rule"),
    (lambda x: [1.0, 2.0], r"a list where .*Return an array of NumPy: np.asarray\(y, 'float32'\)"),
    (lambda x: None, r"None where .*Return an array of NumPy"),
    (lambda x: st.ones(2), r"a Tensor where .*Return an array of NumPy"),
    (lambda x: (x, x), r"a tuple where .*Several results need a shape rule that returns a list")])
def test_results_that_the_rule_does_not_say_are_told_what_to_return(f: Any, says: str) -> None:
    for run in (st.op(f), st.compile(st.op(f))):
        with pytest.raises(GraphError, match=f"returns {says}"):
            run(st.ones(2)).numpy()


def test_methods_are_no_ops() -> None:
    with pytest.raises(ArgumentError, match=r"A.f is a method, and its self is no array.* outside of the class"):
        class A:
            @st.op
            def f(self, x: Any) -> Any:
                return x

    class B:
        @staticmethod
        @st.op
        def f(x: Any) -> Any:
            return x + 1

    assert B.f(st.ones(2)).tolist() == [2.0, 2.0]


def test_prints_come_in_order_with_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    @st.compile
    def f(x: Any) -> Any:
        st.debug.print("begin", x)
        def step(s: Any, r: Any) -> Any:
            st.debug.print("step {} {r}", s, r=r, where=False)
            return s + r, None
        s, _ = st.scan(step, st.tensor(0.0), x)
        y = st.cond(s > 3, lambda: (st.debug.print("large", where=False), s * 2)[1], lambda: s)
        st.debug.print(y, sep="-", where=False)
        return y

    f(st.tensor([1.0, 3.0]))
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("begin [1. 3.]    # test_user_ops.py:")
    assert others == ["step 0.0 1.0", "step 1.0 3.0", "large", "8.0"]
    f(st.tensor([1.0, 1.0]))
    assert capsys.readouterr().out.splitlines()[1:] == ["step 0.0 1.0", "step 1.0 1.0", "2.0"]
    st.compile(st.grad(lambda x: (st.debug.print("once", where=False), (x * x).sum())[1]))(st.ones(2))
    assert capsys.readouterr().out == "once\n"
    st.debug.print("now", st.ones(2), where=False)
    assert capsys.readouterr().out == "now [1. 1.]\n"


@pytest.mark.parametrize("compiled", [False, True])
def test_prints_under_vmap_come_for_one_example_after_the_other(capsys: pytest.CaptureFixture[str], compiled: bool
                                                                ) -> None:
    def printed(f: Any, *x: Any) -> list[str]:
        (st.compile(f, dims={"x": {0: "n"}}) if compiled else f)(*x)
        return capsys.readouterr().out.splitlines()

    def shows(x: Any) -> Any:
        st.debug.print("x {}", x, where=False)
        st.debug.print("same", where=False)
        return x * 2

    def steps(x: Any) -> Any:
        return st.scan(lambda c, r: ((st.debug.print(c, r, where=False), c + r)[1], None), st.tensor(0.0), x)[0]

    x = st.tensor([1.0, 2.0])
    assert printed(st.vmap(shows), x) == ["x 1.0", "x 2.0", "same", "same"]
    assert printed(st.vmap(shows), st.ones((0,))) == []
    many = st.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert printed(st.vmap(st.vmap(shows)), many) == [*(f"x {k}.0" for k in range(1, 5)), *["same"] * 4]
    assert printed(st.vmap(steps), many) == ["0.0 1.0", "0.0 3.0", "1.0 2.0", "3.0 4.0"]
    assert printed(st.vmap(st.grad(lambda x: shows(x) * x)), x) == ["x 1.0", "x 2.0", "same", "same"]
    loop = lambda x: st.fori_loop(0, 2, lambda k, y: st.vmap(shows)(y), x)
    assert printed(loop, x)[::2] == ["x 1.0", "same", "x 2.0", "same"]
    chosen = lambda x: st.cond(x > 1, lambda: shows(x), lambda: x)
    ended = lambda x: st.while_loop(lambda c: c < 4, shows, x)
    for f, where in ((chosen, "a branch that each example chooses"), (ended, "a loop that each example ends")):
        with pytest.raises(TraceError, match=f"st.debug.print stands in {where} under st.vmap"):
            printed(st.vmap(f), x)
    assert printed(st.vmap(lambda x: x * 2), x) == []


def test_prints_in_loops_that_are_not_compiled_come_where_they_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        y = st.fori_loop(0, 2, lambda k, y: (st.debug.print(y, where=False), y * 2)[1], x)
        st.debug.print("behind", where=False)
        y = st.cond(y > 3, lambda: (st.debug.print("large", y, where=False), y)[1], lambda: -y)
        return st.checkpoint(lambda y: (st.debug.print("kept", where=False), y + 1)[1])(y)

    assert float(f(st.tensor(1.0))) == 5
    assert capsys.readouterr().out.splitlines() == ["1.0", "2.0", "behind", "large 4.0", "kept"]
    for wrong, shape in ((f, ()), (st.vmap(lambda x: (st.debug.print(x), x)[1]), (2,))):
        with pytest.raises(TraceError, match="have no order"):
            wrong(st.placeholder(shape))

    def fails(x: Any) -> None:
        raise ValueError(f"no {x}")

    with pytest.raises(ValueError, match=r"no 1\.0"):
        st.fori_loop(0, 2, lambda k, y: (st.debug.callback(fails, y), y)[1], st.tensor(1.0))
    assert float(f(st.tensor(1.0))) == 5 and capsys.readouterr().out.startswith("1.0")


@pytest.mark.parametrize("inner", [
    lambda x, seen: st.while_loop(lambda s: s < 10, lambda s: (st.debug.callback(seen.append, s), s * 2)[1], x),
    lambda x, seen: st.cond(x > 0, lambda: (st.debug.callback(seen.append, x), x * 2)[1], lambda: x)])
def test_callbacks_of_loops_within_loops_come_once_though_results_are_read_later(inner: Any) -> None:
    seen = list[Any]()
    y, stacked = st.scan(lambda s, k: (inner(s, seen) - 10, s), st.tensor(3.0), st.arange(2))
    count = len(seen)
    assert count and y.item() == inner(stacked[-1], []).item() - 10 and len(seen) == count



@pytest.mark.parametrize("text", ["{} {}", "{y}", "{:.2f}", "{"])
def test_braces_that_a_print_cannot_fill_are_told_with_the_line(text: str) -> None:
    for f in (lambda x: (st.debug.print(text, x), x)[1], st.compile(lambda x: (st.debug.print(text, x), x)[1])):
        with pytest.raises(ArgumentError, match=r"print cannot fill '.*test_user_ops.py:.*each of its braces"):
            f(st.ones(2))


def test_callbacks_keep_what_they_get_and_end_the_program_with_their_errors() -> None:
    seen: list[Any] = []
    step = lambda c: (st.debug.callback(seen.append, c), c * 2)[1]
    f = st.compile(lambda x: st.while_loop(lambda c: c < 10, step, x))
    assert int(f(st.tensor(1))) == 16 and [int(x) for x in seen] == [1, 2, 4, 8]
    later: list[Any] = []
    g = st.compile(lambda x: st.while_loop(lambda c: c < 10, lambda c: (st.debug.callback(later.append, c), c * 2)[1],
                                           x))
    threads = [threading.Thread(target=lambda: g(st.tensor(3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, later)) == [3] * 4 + [6] * 4 and g.traces == 1

    def fails(x: Any) -> None:
        raise ValueError(f"no {x}")

    with pytest.raises(ValueError, match=r"no 1\.0"):
        st.compile(lambda x: (st.debug.callback(fails, x), x)[1])(st.tensor(1.0))
    with pytest.raises(TraceError, match="have no order"):
        st.debug.print(st.placeholder((2,)))


SIZED: dict[str, Any] = {
    "alone": lambda say, x: say(x.shape[0], x.shape, x.size),
    "beside tensors": lambda say, x: say(x.sum(), n=x.shape[0] + 1),
    "in containers": lambda say, x: say({"a": [x.shape, (x.shape[0] // 2, "text")]}),
    "in a loop": lambda say, x: st.fori_loop(0, 2, lambda k, y: (say(k, x.shape), y + 1)[1], x.sum()),
    "in a branch": lambda say, x: st.cond(x.sum() > 0, lambda: (say(x.shape), x)[1], lambda: x),
    "under vmap": lambda say, x: st.vmap(lambda r: (say(r, x.shape), r)[1])(x[:2])}


@pytest.mark.parametrize("place", SIZED)
def test_sizes_arrive_as_numbers_at_every_size(place: str) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        SIZED[place](lambda *what, **named: st.debug.callback(lambda *a, **b: seen.append((a, b)), *what, **named), x)
        return x * 2

    compiled, sizes = st.compile(f), (4, 5, 7)
    for n in sizes:
        compiled(st.ones(n))
    found, seen[:] = list(seen), []
    for n in sizes:
        f(st.ones(n))
    assert repr(found) == repr(seen) and seen and compiled.traces == 2


def test_sizes_are_printed_and_stopped_at_as_numbers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
                                                     ) -> None:
    stops: list[Any] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(sys._getframe(1).f_locals["what"]))

    @st.compile
    def f(x: Any) -> Any:
        st.debug.print("{:4d} {s}", x.shape[0], s=x.shape, where=False)
        st.debug.breakpoint(x.shape)
        return x * 2

    for n in (4, 5, 6):
        f(st.ones(n))
    assert capsys.readouterr().out.splitlines() == [f"{n:4d} ({n},)" for n in (4, 5, 6)]
    assert stops == [((n,),) for n in (4, 5, 6)] and f.traces == 2


def test_prints_go_to_a_file_as_those_of_python_do(capsys: pytest.CaptureFixture[str]) -> None:
    class Flushed(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    to = Flushed()
    f = st.compile(lambda x: (st.debug.print(x, file=to, flush=True, end="!", where=False), x)[1])
    f(st.ones(2)), f(st.ones(2))
    st.debug.print("now", file=to, where=False)
    st.compile(lambda x: (st.debug.print(x, file=sys.stderr, where=False), x)[1])(st.ones(1))
    assert to.getvalue() == "[1. 1.]![1. 1.]!now\n" and to.flushed == 2
    assert tuple(capsys.readouterr()) == ("", "[1.]\n")
    with pytest.raises(ArgumentError, match="flush of print"):
        st.debug.print("x", **{"flush": "yes"})


def test_a_breakpoint_stops_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[dict[str, Any]] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(sys._getframe(1).f_locals["named"]))
    st.compile(lambda x: (st.debug.breakpoint(y=x * 2), x)[1])(st.tensor(3.0))
    assert [float(stop["y"]) for stop in stops] == [6.0]
