"""STELE_CHECK=nan: the first call that makes NaN names op, layer, line, call and step, and changes nothing."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import config, nn, optim
from stele.errors import NotANumber


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CHECK", "nan")


class Logs(nn.Module):
    def forward(self, x: Any) -> Any:
        return st.log(x)


class Net(nn.Module):
    def __init__(self) -> None:
        self.fc, self.head = nn.Linear(4, 3), [nn.ReLU(), Logs()]

    def forward(self, x: Any) -> Any:
        return self.head[1](self.fc(x))


def line_of(f: Any, after: int = 1) -> str:
    return f"test_nan.py:{f.__code__.co_firstlineno + after}"


def test_a_training_step_says_where_nan_came_from_and_keeps_its_parameters() -> None:
    model = Net()
    bias: Any = model.fc.bias
    bias.assign([5.0, 5.0, 5.0])
    model.fc.weight.assign(st.zeros(3, 4))
    optimizer = optim.SGD(model.parameters(), 0.1)

    @st.compile
    def step(x: Any) -> Any:
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    assert np.isfinite(float(step(st.zeros(2, 4))))
    bias.assign([1.0, -1.0, 1.0])
    before = {name: x.numpy().copy() for name, x in model.state_dict().items()}
    with pytest.raises(FloatingPointError) as caught:
        step(st.zeros(2, 4))
    said = str(caught.value)
    assert said.startswith("call 2 of step: Log made NaN of float32[2,3] in -1.0 .. 1.0, in call 2 of this program at ")
    assert f"{line_of(Logs.forward)} (head.1)" in said
    for name, x in model.state_dict().items():
        np.testing.assert_array_equal(x.numpy(), before[name])


def test_a_step_is_counted_over_all_programs_of_a_function() -> None:
    """A last batch that is smaller is computed by another program, which has calls of its own."""
    step = st.compile(lambda x: st.log(x).sum())
    for rows in (4, 4, 3, 4, 4):
        step(st.ones(rows))
    with pytest.raises(NotANumber, match=r"call 6 of <lambda>: Log made NaN of float32\[2\] .* in call 2 of"):
        step(st.full(2, -1.0))


def explode(state: Any, x: Any) -> tuple[Any, Any]:
    state = state * x
    return state, state - state


def masked(x: Any) -> Any:
    return st.grad(lambda x: st.where(x > 0, st.sqrt(x), 0.0).sum())(x)


def rooted(x: Any) -> Any:
    y = x ** 2
    return (y ** 0.25).sum()


def backwards(x: Any) -> Any:
    return st.grad(rooted)(x)


def walked(x: Any) -> Any:
    return st.grad(lambda x: st.scan(lambda c, q: (c * abs(q - 1) ** 0.5 * (q - 1), c), x.sum(), x)[1].sum())(x)


SOURCES: dict[str, tuple[Callable[[Any], Any], Any, list[str]]] = {
    "loop": (lambda x: st.scan(explode, st.tensor(1e30), x)[1], [1e3] * 7, [
        "Sub made NaN of float32[] inf and float32[] inf, in step 3 of its loop", f"at {line_of(explode, 2)}",
        f"first inf among what it was made of was made by Mul at {line_of(explode)}"]),
    "loop with a test": (lambda x: st.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, *explode(s[1], x)),
                                                 (0, st.tensor(1e30), st.tensor(0.0)))[2], 1e4, [
        "Sub made NaN of float32[] inf and float32[] inf, in step 3 of its loop", f"at {line_of(explode, 2)}"]),
    "branch": (lambda x: st.cond(x.sum() < 0, st.log, lambda x: x, x), [-1.0, -2.0], [
        "Log made NaN of float32[2] in -2.0 .. -1.0"]),
    "gradient": (masked, [1.0, 0.0, 3.0], ["in the gradient of", "made NaN", line_of(masked), "first inf"]),
    "gradient of a line before what is infinite": (backwards, [1.0, 0.0, 3.0], [
        f"in the gradient of {line_of(rooted)} made NaN", f"at {line_of(backwards)}. ",
        f"was made by Pow in the gradient of {line_of(rooted, 2)}."]),
    "gradient of a step": (walked, [1.0, 3.0, 2.0, 2.0], ["in step 1 of its loop", "in the gradient of"]),
    "input": (lambda x: x * 2, [1.0, float("nan")], ["input 'x', float32[2], held NaN already in call 1"]),
    "infinite input": (lambda x: x - x, [float("inf")] * 3, ["Sub made NaN", "was held by the input 'x'"]),
}


@pytest.mark.parametrize("case", SOURCES)
def test_the_first_op_that_makes_nan_is_named(case: str) -> None:
    f, x, words = SOURCES[case]
    with pytest.raises(NotANumber) as caught:
        st.compile(f)(st.tensor(x))
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_expressions_are_looked_at_too() -> None:
    with pytest.raises(NotANumber, match=r"Sqrt made NaN of float32\[17\] in -8.0 .. 8.0.* at test_nan.py"):
        st.sqrt(st.arange(-8, 9).float()).numpy()


def test_nan_that_nothing_takes_over_is_none() -> None:
    f = st.compile(lambda x: st.where(x > 0, st.log(x), 0.0))
    np.testing.assert_allclose(f(st.tensor([-1.0, 1.0, np.e])).numpy(), [0, 0, 1], rtol=1e-6)


def test_nothing_is_looked_at_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.CHECK() == {"nan"}
    for text, checks in (("1", {"graph"}), ("0", set()), ("graph,nan", {"graph", "nan"}), ("all", {"graph", "nan"})):
        monkeypatch.setenv("STELE_CHECK", text)
        assert config.CHECK() == checks
    monkeypatch.setenv("STELE_CHECK", "0")
    f = st.compile(lambda x: st.log(x))
    assert np.isnan(f(st.tensor([-1.0])).numpy())
    assert type(f.programs[0]).__module__ != "stele.backend.finite"
