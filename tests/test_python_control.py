"""`compile(control="python")`: the same function in Python, on numbers, is the law of what was rewritten."""
from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError, DTypeError, OptionError, ShapeError, TraceError
from stele.staged.convert import converted

F = Callable[..., Any]
CASES: list[tuple[F, list[tuple[Any, ...]]]] = []


def case(*calls: tuple[Any, ...]) -> Callable[[F], F]:
    """A function that is called with each of these, on numbers and in one program."""
    def entered(f: F) -> F:
        CASES.append((f, list(calls)))
        return f
    return entered


SIGNS = ([1.0, 2.0],), ([-1.0, -2.0],), ([0.0, 0.0],)
COUNTS = (0,), (1,), (5,), (9,)


@case(*SIGNS)
def both_sides(x: Any) -> Any:
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@case(*SIGNS)
def one_side(x: Any) -> Any:
    if x.sum() < 0:
        x = -x
    return x + 1


@case(*SIGNS)
def elif_chain(x: Any) -> Any:
    s = x.sum()
    if s > 0:
        y = 1
    elif s < 0:
        y = -1
    else:
        y = 0
    return x * y


@case(*SIGNS)
def early_return(x: Any) -> Any:
    if x.sum() > 0:
        return x
    if x.sum() < 0:
        return -x
    y = x + 7
    return y


@case(*SIGNS)
def return_in_both(x: Any) -> Any:
    if x.sum() > 0:
        return x, 1
    else:
        return x * 0, 2.5


@case(*SIGNS)
def nested_ifs(x: Any) -> Any:
    y = x
    if x[0] >= 0:
        z = y + 1
        if x[1] > 1:
            y = z * 10
        else:
            y = z * 100
        y = y + 1
    return y


@case(*SIGNS)
def boolean_words(x: Any) -> Any:
    s = x.sum()
    if (s > 0 and not s > 5) or (s < -2 and x[0] < 0):
        return s
    return s * 100


@case(*SIGNS)
def chained(x: Any) -> Any:
    return x if -1 < x[0] <= 0 < 1 else x * 3


@case(*SIGNS)
def conditional_expression(x: Any) -> Any:
    return (x + 1 if x.sum() > 0 else x - 1) * 2


@case((20.0,), (0.5,), (1.0,))
def while_halves(x: Any) -> Any:
    n = 0
    while x > 1:
        x = x / 2
        n += 1
    return x, n


@case((100.0,), (3.0,), (0.0,))
def while_true_with_break(x: Any) -> Any:
    k = 0
    while True:
        k = k + 1
        x = x * 0.7
        if x < 2:
            break
    return x, k


@case((100.0,), (3.0,))
def newton_in_range(a: Any) -> Any:
    x = a
    for _ in range(50):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-3:
            break
        x = new
    return x


@case((100.0,), (3.0,), (1e9,))
def return_in_range(a: Any) -> Any:
    for k in range(20):
        a = a / 3
        if a < 1:
            return a, k
    return a, 99


@case(*COUNTS)
def range_of_a_tensor(n: Any) -> Any:
    s = 0.0
    for k in range(n):
        s = s + k * 0.5
    return s


@case((0, 7, 2), (7, 0, -3), (3, 3, 1), (5, 1, 1))
def range_with_steps(a: Any, b: Any, step: Any) -> Any:
    s, last = 0, -1
    for k in range(a, b, step):
        s, last = s + k * k, k
    return s, last


@case(([1.0, 2.0, 3.0],), ([4.0, -5.0, 6.0],))
def rows_of_a_tensor(x: Any) -> Any:
    s = 0.0
    for row in x:
        s = s * 0.5 + row
    return s


@case(([1.0, 2.0, 3.0],), ([4.0, -5.0, 6.0],), ([-4.0, -5.0, 6.0],))
def rows_until_negative(x: Any) -> Any:
    s = 0.0
    for row in x:
        if row < 0:
            break
        s = s + row
    return s


@case(([1.0, 2.0, 3.0],), ([4.0, -5.0, 6.0],))
def skip_negative(x: Any) -> Any:
    s = 0.0
    for row in x:
        if row < 0:
            continue
        s = s + row
    return s


@case(*COUNTS)
def collatz_like(n: Any) -> Any:
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case(*COUNTS)
def nested_loops(n: Any) -> Any:
    s = 0
    for i in range(n):
        for j in range(i):
            if j == 3:
                continue
            s += i * j
            if s > 40:
                break
    return s


@case(*COUNTS)
def loop_with_else(n: Any) -> Any:
    k = 0
    while k < n:
        if k == 4:
            break
        k += 1
    else:
        k = k + 100
    return k


@case(*COUNTS)
def python_list_with_break(n: Any) -> Any:
    s = 0
    for k in [3, 4, 5]:
        if s > n:
            break
        s = s + k
    return s


@case(*COUNTS)
def python_stays_python(n: Any) -> Any:
    rows = []
    for k in range(3):
        if k == 1:
            continue
        rows.append(n + k)
    names = {"a": 1} if len(rows) == 2 else None
    return rows, names and names["a"], not rows


@case((5.0,), (-5.0,))
def containers(x: Any) -> Any:
    state = {"x": x, "parts": (x * 2, [x])}
    if x > 0:
        state = {"x": x + 1, "parts": (x, [x * 3])}
    return state


@case((5.0,), (-5.0,))
def attribute_of_an_object(x: Any) -> Any:
    class Box:
        def __init__(self, v: Any) -> None:
            self.v = v

    box = Box(x)
    if x > 0:
        box.v = box.v * 2
    else:
        box.v = box.v - 1
    return box.v


@case((5.0,), (-5.0,))
def entry_of_a_dict(x: Any) -> Any:
    d = {"k": x}
    if x > 0:
        d["k"] = d["k"] * 2
    return d["k"]


@case(([5.0, 1.0],), ([-5.0, 1.0],))
def element_of_a_tensor(x: Any) -> Any:
    y = x * 1
    if x[0] > 0:
        y[1] = 9
    return y


@case((5.0,), (-5.0,))
def closures(x: Any) -> Any:
    def twice(v: Any) -> Any:
        if v > 0:
            return v * 2
        return v

    return twice(x) + (lambda v: v if v < 0 else v * 10)(x)


@case((5.0,), (-5.0,))
def with_and_try(x: Any) -> Any:
    with st.no_grad():
        if x > 0:
            return x
    try:
        y = x * 2
    finally:
        z = 1
    return y + z


@case((5,), (-5,), (0,))
def mixed_numbers(x: Any) -> Any:
    y = 0
    if x > 0:
        y = 1.5
    return y + x


@case((7,), (0,))
def walrus(n: Any) -> Any:
    s = 0
    while (left := n - s) > 2:
        s += 1
    return s, left


def numbers(x: Any) -> Any:
    """What a function returned, as NumPy says it."""
    leaves, spec = st.tracing.tree.flatten(x)
    return [np.asarray(leaf.numpy() if isinstance(leaf, st.Tensor) else leaf) for leaf in leaves], spec


@case((3, 4), (4, 3), (2, 2))
def larger_and_smaller(a: Any, b: Any) -> Any:
    return max(a, b), min(a, b, 3), max([a, b, 0]), max(2, 1)


@case((3.75,), (-3.75,), (0.0,))
def converted_numbers(x: Any) -> Any:
    return int(x), bool(x), float(x) / 2, float(int(x))


@case((2, 3), (0, 0))
def several_conditions(a: Any, b: Any) -> Any:
    return all([a > 1, b > 2]), any(x > 2 for x in (a, b)), all([]), any([True, a > 9]), all(v > 0 for v in (a, 1))


@case(([1.0, 5.0, 3.0],), ([-1.0, -5.0, 3.0],))
def of_elements(x: Any) -> Any:
    return max(x) + min(x) * 10 + int(any(x > 4)) + int(all(v > 0 for v in x))


@case(*COUNTS)
def highest_of_a_path(n: Any) -> Any:
    n, most = n + 1, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        most = max(most, n)
    return most


@case((3,), (8,))
def names_of_ones_own(n: Any) -> Any:
    def max(a: Any, b: Any) -> Any:
        return a - b
    return max(n, 2)


@case(*COUNTS)
def an_else_behind_a_loop(n: Any) -> Any:
    for i in range(7):
        if i * i > n:
            break
    else:
        return -1
    return i


@case((1.0,), (3.0,), (9.0,))
def halved(t: Any) -> Any:
    low, high = 0.0, 4.0
    for _ in range(20):
        middle = (low + high) / 2
        if middle * middle < t:
            low = middle
        else:
            high = middle
    return low


@case(([1.0, 2.0, 4.0, 7.0],), ([5.0, 6.0, 7.0, 8.0],))
def place_of(x: Any) -> Any:
    low, high = 0, 4
    while low < high:
        middle = (low + high) // 2
        if x[middle] < 4:
            low = middle + 1
        else:
            high = middle
    return low


@pytest.mark.parametrize("f, calls", CASES, ids=[f.__name__ for f, _ in CASES])
def test_as_python(f: F, calls: list[tuple[Any, ...]]) -> None:
    compiled = st.compile(f, control="python")
    for call in calls:
        expected, spec = numbers(f(*map(st.tensor, call)))
        found, same = numbers(compiled(*map(st.tensor, call)))
        assert same == spec
        for a, b in zip(found, expected, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert compiled.compiles == 1, compiled


def test_imperative_code_is_as_it_was() -> None:
    """Outside of a trace the rewritten function is Python: its values decide."""
    for f, calls in CASES:
        for call in calls:
            expected, spec = numbers(f(*map(st.tensor, call)))
            found, same = numbers(converted(f)(*map(st.tensor, call)))
            assert same == spec
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)


def test_gradients() -> None:
    def f(x: Any) -> Any:
        for _ in range(6):
            if x > 2:
                x = x * 0.5
            else:
                x = st.sin(x) * 3
        return x

    compiled = st.compile(st.grad(converted(f)))
    for x in (0.3, 1.0, 2.5, 9.0, 0.01):
        np.testing.assert_allclose(compiled(st.tensor(x)).numpy(), st.grad(f)(st.tensor(x)).numpy(), rtol=1e-5)


def test_a_loop_over_a_tensor_has_gradients_of_its_steps() -> None:
    @st.compile(control="python")
    def f(x: Any, w: Any) -> Any:
        h = 0.0
        for row in x:
            h = st.tanh(h * w + row)
        return h

    x, w = st.tensor([0.1, -0.4, 0.7]), st.tensor(0.5)
    expected = st.grad(lambda w: st.scan(lambda h, r: (st.tanh(h * w + r), None), st.tensor(0.0), x)[0])(w)
    np.testing.assert_allclose(st.compile(st.grad(lambda w: f(x, w)))(w).numpy(), expected.numpy(), rtol=1e-6)


def test_open_sizes_need_one_program() -> None:
    @st.compile(control="python", dims={"x": {0: "n"}})
    def f(x: Any) -> Any:
        s = 0.0
        for row in x:
            if row.sum() > 0:
                s = s + row.sum()
        return s

    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 0, 30):
        x = rng.standard_normal((n, 3)).astype("f4")
        np.testing.assert_allclose(f(st.tensor(x)).numpy(), x.sum(1).clip(0).sum(), rtol=1e-5)
    assert f.compiles == 1


def test_a_module_with_a_branch() -> None:
    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.__hidden = nn.Linear(3, 3), nn.Linear(3, 3), 2.0
            self.last = st.zeros(3)

        @st.compile(control="python")
        def forward(self, x: Any) -> Any:
            if x.sum() > 0:
                y = self.a(x)
            else:
                y = self.b(x) * self.__hidden
            self.last = y
            return super().__class__.__name__, y

    st.manual_seed(0)
    model = Gated()
    for x in (st.ones(3), -st.ones(3)):
        _, y = model(x)
        expected = model.a(x) if x.sum() > 0 else model.b(x) * 2.0
        np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-6)
        np.testing.assert_array_equal(model.last.numpy(), y.numpy())


def test_random_numbers_go_on_in_the_branch_that_runs() -> None:
    @st.compile(control="python")
    def f(x: Any) -> Any:
        while st.rand(()) < x:
            x = x - st.rand(()) * 0.1
        return x

    st.manual_seed(3)
    first = [float(f(st.tensor(0.9))) for _ in range(5)]
    st.manual_seed(3)
    assert [float(f(st.tensor(0.9))) for _ in range(5)] == first
    assert len(set(first)) > 1


WRONG: list[tuple[F, type[Exception], str]] = []


def wrong(error: type[Exception], text: str) -> Callable[[F], F]:
    """A function that no graph can hold, and what is said of it."""
    def entered(f: F) -> F:
        WRONG.append((f, error, text))
        return f
    return entered


@wrong(TraceError, "y is used, which only one side sets of the choice in line")
def used_but_set_on_one_side(x: Any) -> Any:
    if x > 0:
        y = x * 2
    return y + 1


@wrong(TraceError, "y is used, which only steps set of the loop")
def used_but_set_in_a_loop(x: Any) -> Any:
    while x > 1:
        x = x / 2
        y = x
    return -y


@wrong(ShapeError, r"y is float32\[3\] or float32\[2\]")
def shapes_differ(x: Any) -> Any:
    if x > 0:
        y = st.zeros(3)
    else:
        y = st.zeros(2)
    return y


@wrong(ShapeError, r"x is float32\[\] or float32\[2\]")
def a_loop_that_grows(x: Any) -> Any:
    while x.sum() > 0:
        x = st.stack([x, x])
    return x


@wrong(TraceError, "is changed in place in line")
def appends(x: Any) -> Any:
    rows: list[Any] = []
    while x > 1:
        x = x / 2
        rows.append(x)
    return rows


@wrong(TraceError, "returns a tensor on some ways through it and nothing on others")
def returns_nothing_at_the_end(x: Any) -> Any:
    if x > 0:
        return x


@wrong(DTypeError, "range takes whole numbers")
def range_of_a_fraction(x: Any) -> Any:
    s = 0
    for k in range(x):
        s += k
    return s


@wrong(ShapeError, "must be one bool|one bool")
def many_truths(x: Any) -> Any:
    y = x * st.ones(3)
    if y > 0:
        return y
    return -y


@pytest.mark.parametrize("f, error, text", WRONG, ids=[f.__name__ for f, _, _ in WRONG])
def test_what_no_graph_holds_is_refused(f: F, error: type[Exception], text: str) -> None:
    compiled = st.compile(f, control="python")
    with pytest.raises(error, match=text) as caught:
        compiled(st.tensor(3.0))
    assert any(frame.filename == __file__ for frame in traceback.extract_tb(caught.tb))


def test_lines_stay_where_they_are() -> None:
    @st.compile(control="python")
    def f(x: Any) -> Any:
        if x > 0:
            y = x @ st.ones(3, 4)       # this line
        else:
            y = x
        return y

    with pytest.raises(ShapeError) as caught:
        f(st.tensor(1.0))
    frames = [frame for frame in traceback.extract_tb(caught.tb) if frame.filename == __file__]
    assert "# this line" in linecache.getline(__file__, frames[-1].lineno or 0)


def test_what_cannot_be_rewritten_is_refused() -> None:
    def generator() -> Any:
        yield 1

    with pytest.raises(ArgumentError, match="no generator"):
        st.compile(generator, control="python")
    with pytest.raises(ArgumentError, match="needs the source of <lambda>"):
        st.compile(eval("lambda x: x"), control="python")
    with pytest.raises(ArgumentError, match="rewrites a function written in Python"):
        st.compile(abs, control="python")
    with pytest.raises(OptionError, match="python"):
        st.compile(generator, control="pyhton")     # type: ignore[arg-type]


def test_lambdas_and_methods() -> None:
    f = st.compile(lambda x: x if x > 0 else -x, control="python")
    assert [f(st.tensor(v)).item() for v in (2.0, -3.0)] == [2.0, 3.0]

    class Model:
        scale = 2.0

        def run(self, x: Any) -> Any:
            return x * self.scale if x > 0 else x

    g = st.compile(Model().run, control="python")
    assert [g(st.tensor(v)).item() for v in (2.0, -3.0)] == [4.0, -3.0]


def test_gradients_through_loops_that_end_by_themselves() -> None:
    """A loop that is left, and one of unknown length, walked back."""
    def left(x: Any) -> Any:
        for _ in range(6):
            x = x * 0.5 if x > 2 else st.sin(x) * 3
            if x < 0.4:
                break
        return x

    def halved(x: Any) -> Any:
        while x > 1:
            x = st.sin(x) * x * 0.5
        return x * x

    for f in (left, halved):
        compiled = st.compile(st.grad(converted(f)))
        for x in (0.3, 1.0, 2.5, 9.0, 0.01):
            np.testing.assert_allclose(compiled(st.tensor(x)).numpy(), st.grad(f)(st.tensor(x)).numpy(), rtol=1e-5)
        assert int(compiled.compiles) == 1


def test_zeros_of_two_signs_on_two_ways_are_two_numbers() -> None:
    @st.compile(control="python")
    def f(x: Any) -> Any:
        if x.sum() > 0:
            zero = 0.0
        else:
            zero = -0.0
        return 1 / (st.abs(x) * zero)

    assert f(st.ones(2)).tolist() == [np.inf, np.inf] and f(-st.ones(2)).tolist() == [-np.inf, -np.inf]
