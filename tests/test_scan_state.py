"""What the step of a loop rebinds outside, such as the counter of random numbers, is that of the steps written out."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import TraceError

STEPS = 5
X = np.random.default_rng(0).normal(size=(STEPS, 2, 3)).astype(np.float32)


def unrolled(step: Callable[[Any, Any], tuple[Any, Any]], state: Any, xs: st.Tensor) -> tuple[Any, Any]:
    ys = []
    for k in range(xs.shape[0]):
        state, y = step(state, xs[k])
        ys.append(y)
    return state, st.stack(ys)


def noisy(c: st.Tensor, x: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
    a = st.randn(2, 3)
    return c * 0.5 + st.dropout(x, 0.4) + a, st.rand(2) + st.randint(0, 9, (2,)) * 1.0


def nested(c: st.Tensor, x: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
    inner = lambda d, r: (d * 0.5 + st.rand(3), r * st.bernoulli(0.5, (3,)))
    last, ys = st.scan(inner, st.rand(3), x)
    return c + last + st.rand(2, 3), ys


def run(loop: Any, step: Any, style: str, differentiate: bool = False) -> list[Any]:
    """Results of a loop, and the numbers drawn behind it."""
    def whole(x: st.Tensor) -> Any:
        last, ys = loop(step, st.zeros(2, 3), x)
        return (last * last).sum() + ys.sum() if differentiate else (last, ys)

    f = st.grad(whole) if differentiate else whole
    st.manual_seed(3)
    if style == "symbolic":
        x = st.placeholder((STEPS, 2, 3), name="x")
        made = st.function([x], f(x))
        st.manual_seed(3)       # making it draws, too
        made = made(X)
    else:
        made = {"imperative": f, "compiled": st.compile(f), "stepped": st.eager()(f)}[style](st.tensor(X))
    results = [y.numpy() for y in (made if isinstance(made, tuple | list) else [made])]
    return [*results, st.rand(4).numpy(), st.rand(4).numpy()]


@pytest.mark.parametrize("step", [noisy, nested])
@pytest.mark.parametrize("style", ["imperative", "compiled", "stepped", "symbolic"])
@pytest.mark.parametrize("differentiate", [False, True])
def test_random_numbers_are_those_of_the_steps_written_out(step: Any, style: str, differentiate: bool) -> None:
    expected = run(unrolled, step, style if style == "compiled" else "imperative", differentiate)
    for y, z in zip(run(st.scan, step, style, differentiate), expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)


def test_steps_draw_other_numbers_at_every_call() -> None:
    st.manual_seed(0)
    f = st.compile(lambda: st.scan(lambda c, _: (c, st.rand(2)), st.zeros(()), length=3)[1])
    seen = np.concatenate([f().numpy().ravel(), f().numpy().ravel(), st.rand(6).numpy()])
    assert f.traces == 1 and len(np.unique(seen)) == 18


@pytest.mark.parametrize("style", ["imperative", "compiled"])
def test_layers_with_dropout_and_batch_norm_train_in_a_step(style: str) -> None:
    images = np.random.default_rng(1).normal(size=(3, 4, 2, 5, 5)).astype(np.float32)

    def train(loop: Any) -> list[Any]:
        st.manual_seed(5)
        net = nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2), nn.Dropout(0.3))

        def loss(x: st.Tensor) -> st.Tensor:
            last, ys = loop(lambda c, x: (c + net(x).sum(), (net(x) ** 2).mean()), st.tensor(0.0), x)
            total = last * 0.01 + ys.sum()
            total.backward()
            return total

        x = st.tensor(images)
        value = (st.compile(loss) if style == "compiled" else loss)(x)
        return [value, *(p.grad for p in net.parameters()), *net.state_dict().values(), st.rand(3)]

    for y, expected in zip(train(st.scan), train(unrolled), strict=True):
        np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=2e-4, atol=2e-5)


def test_any_tensor_from_outside_may_be_rebound() -> None:
    total, seen = st.zeros(()), st.zeros(2)

    def step(c: st.Tensor, x: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
        total.assign(total + x.sum())
        seen.assign(seen * 2 + 1)
        return c + total, total * 1

    last, ys = st.scan(step, st.zeros(()), st.tensor([[1.0], [2.0], [3.0]]))
    assert (last.item(), ys.tolist(), total.item(), seen.tolist()) == (10.0, [1.0, 3.0, 6.0], 6.0, [7.0, 7.0])
    st.scan(step, st.zeros(()), st.zeros(0, 1))
    assert total.item() == 6.0


def test_what_is_rebound_keeps_its_type() -> None:
    x = st.zeros(2)

    def step(c: st.Tensor, _: None) -> tuple[st.Tensor, None]:
        x.value = st.zeros(3).value
        return c, None

    with pytest.raises(TraceError, match=r"float32\[2\] from outside to one of float32\[3\].* What is carried"):
        st.scan(step, st.zeros(()), length=2)


def test_functions_of_placeholders_draw_anew_at_every_call() -> None:
    step = lambda c, x: (c + st.rand(2), st.dropout(x, 0.5))

    def twice(x: st.Tensor) -> tuple[st.Tensor, ...]:
        last, ys = st.scan(step, st.zeros(2), st.dropout(x, 0.5))
        return last, ys, *st.scan(step, last, ys), st.dropout(x, 0.5)

    x = st.placeholder((3, 2), name="x")
    f = st.function([x], twice(x))
    st.manual_seed(1)
    seen = [[y.tolist() for y in f(np.ones((3, 2), np.float32))] for _ in range(2)]
    st.manual_seed(1)
    assert seen == [[y.tolist() for y in twice(st.ones(3, 2))] for _ in range(2)] and seen[0] != seen[1]


def test_random_numbers_that_are_outputs_of_their_own_are_drawn_anew() -> None:
    x = st.placeholder((2,))
    noise, w = st.rand(2), st.tensor([1.0, 2.0], requires_grad=True)
    f = st.function([x], [x + noise, noise, st.randn(2), w])
    st.manual_seed(3)
    calls = [[y.tolist() for y in f(st.zeros(2))] for _ in range(3)]
    st.manual_seed(3)
    for seen, drawn, normal, weight in calls:
        assert seen == drawn == st.rand(2).tolist() and normal == st.randn(2).tolist() and weight == [1.0, 2.0]
    with st.no_grad():
        w -= 1
    assert f(st.zeros(2))[3].tolist() == [0.0, 1.0]


def test_drawing_goes_on_behind_a_loop_of_open_length_that_draws() -> None:
    xs = st.placeholder(("n", 2))
    last, _ = st.scan(lambda s, x: (s + x * st.rand(2), s), st.zeros(2), xs)
    after = st.rand(2).tolist()
    f = st.function([xs], [last, st.rand(2)])
    for n in (3, 5, 3):
        st.manual_seed(9)
        summed, drawn = f(st.ones(n, 2))
        st.manual_seed(9)
        total = st.zeros(2)
        for _ in range(n):
            total = total + st.rand(2)
        assert np.allclose(summed.numpy(), total.numpy()) and drawn.tolist() == st.rand(2).tolist() != after
