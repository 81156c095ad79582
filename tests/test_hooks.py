"""Hooks see gradients on their way, in every style, and what they return stands in the place of these."""
from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.eager.hooks import LEAVES
from stele.errors import ArgumentError, GraphError, ShapeError, TraceError
from tests.styles import all_give


def clipped(x: st.Tensor) -> st.Tensor:
    """A function with a hook in its midst."""
    y = x * x
    z = (y * 3).sum()
    y.register_hook(lambda g: g * 10)       # behind its use
    return z


def scanned(x: st.Tensor) -> st.Tensor:
    """Hooks in a loop: twice as much at each of three steps."""
    def step(c: st.Tensor, a: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
        c = c * a
        c.register_hook(lambda g: g * 2)
        return c, c

    return st.scan(step, x, st.ones(3))[0].sum()


WAYS: dict[str, tuple[Callable[..., Any], float]] = {
    "grad": (st.grad(clipped), 60), "compiled": (st.compile(st.grad(clipped)), 60),
    "of compiled": (st.grad(st.compile(clipped)), 60),
    "checkpoint": (st.grad(lambda x: st.checkpoint(clipped)(x)), 60),
    "vmap": (st.grad(lambda x: st.vmap(clipped)(x.reshape(-1, 1)).sum()), 60),
    "vmap of grad": (lambda x: st.vmap(st.grad(clipped))(x.reshape(-1, 1)).flatten(), 60),
    "vjp": (lambda x: st.vjp(clipped, x)[1](st.tensor(1.0))[0], 60),
    "jvp": (lambda x: st.jvp(clipped, (x,), (st.ones_like(x),))[1] * x / x, 0),     # forward mode passes by
    "second": (st.grad(lambda x: st.grad(clipped)(x).sum()), 0),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_stands_in_all_derivatives(way: str) -> None:
    f, factor = WAYS[way]
    x = np.array([1.0, -2.0, 0.5], "f4")
    expected = {"jvp": np.full(3, (6 * x).sum()), "second": np.full(3, 60.0)}.get(way, factor * x)
    np.testing.assert_allclose(f(st.tensor(x)).numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(st.grad(scanned)(st.tensor(x)).numpy(), np.full(3, 8.0))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("shape", [(2,), (), (0, 2)])
def test_hooks_see_the_same_in_every_style(shape: tuple[int, ...], dtype: str) -> None:
    def f(x: st.Tensor) -> st.Tensor:
        y = x * x
        y.register_hook(lambda g: g.clip(-0.25, 0.25))
        return (y * y).sum()

    x = np.full(shape, 0.5, dtype)
    all_give(np.full(shape, 0.25, dtype), st.grad(f), x)


def test_hooks_of_an_expression_see_numbers_and_cost_no_programs() -> None:
    x, seen = st.tensor([1.0, 2.0], requires_grad=True), list[Any]()
    for k in range(4):
        y = x * x
        z = (y * 3).sum()
        if k == 2:
            z.tolist()      # numbers that are there already change nothing
        first = y.register_hook(lambda g: seen.append(("first", g.tolist())))
        second = y.register_hook(lambda g: g * 2)
        y.register_hook(lambda g: seen.append(("last", g.tolist())))
        if k == 3:
            first.remove()
            second.remove()
        z.backward()
    assert seen == [("first", [3, 3]), ("last", [6, 6])] * 3 + [("last", [3, 3])]
    assert x.grad is not None and x.grad.tolist() == [42, 84]


def test_hooks_of_a_leaf_stay_with_it() -> None:
    w, order = st.tensor([1.0, 2.0], requires_grad=True), list[Any]()
    hook = w.register_hook(lambda g: g * 10)
    late = w.register_post_accumulate_grad_hook(lambda w: order.append(w.grad.tolist()))
    for _ in range(2):
        (w * w).sum().backward()
    with st.no_grad():
        w -= 1.0
    (w * w).sum().backward()
    assert order == [[20, 40], [40, 80], [40, 100]]
    assert st.gradients((w * w).sum(), w).tolist() == [0, 20]
    model = nn.Linear(1, 1, bias=False)
    model.weight.register_hook(lambda g: g * 0 + 5)
    assert st.grad(lambda m: m(st.ones(1)).sum())(model)["weight"].tolist() == [[5]]
    late.remove()
    hook.remove()
    (w * w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [40, 102] and len(order) == 3
    n = len(LEAVES.known)
    del w, hook, late
    gc.collect()
    assert len(LEAVES.known) == n - 1


def test_a_compiled_step_knows_of_hooks() -> None:
    model = nn.Linear(2, 1, bias=False)
    model.weight.assign([[0.0, 0.0]])
    optimizer = optim.SGD(model.parameters(), lr=1.0)

    @st.compile
    def step(x: st.Tensor) -> st.Tensor:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    x, norms = st.tensor([[1.0, 2.0]]), dict[str, st.Tensor]()
    step(x)
    hook = model.weight.register_hook(lambda g: g * 10)
    step(x)
    assert model.weight.tolist() == [[-11, -22]]

    def keep(g: st.Tensor) -> None:
        norms["w"] = g.sum()

    model.weight.register_hook(keep)
    step(x)
    step(st.tensor([[1.0, 0.0]]))
    assert norms["w"].tolist() == 10 and step.compiles <= 4
    hook.remove()
    step(x)
    assert norms["w"].tolist() == 3 and model.weight.tolist() == [[-32, -44]]
    before = step.compiles
    step(x)
    assert step.compiles == before


def test_numbers_are_not_there_while_a_function_is_traced() -> None:
    @st.compile
    def f(x: st.Tensor) -> st.Tensor:
        y = x * x
        y.register_hook(lambda g: print(g.tolist()))
        return st.gradients((y * y).sum(), x)

    with pytest.raises(TraceError, match="symbolic"):
        f(st.ones(2))


def test_kept_gradients() -> None:
    x = st.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.retain_grad()
    x.retain_grad()
    (y.sum() * 2).backward(retain_graph=True)
    assert y.grad is not None and y.grad.tolist() == [2, 2] and x.grad is not None and x.grad.tolist() == [4, 8]
    (y.sum() * 2).backward()
    assert y.grad.tolist() == [4, 4]


class Two(nn.Module):
    """Two of each."""

    def forward(self, a: st.Tensor, b: st.Tensor, *, by: float = 1) -> dict[str, st.Tensor]:
        return {"product": a * b * by, "sum": a + b}


def known(m: nn.Module, taken: Any, given: Any) -> tuple[Any, Any]:
    """What a hook was called with."""
    return [None if g is None else g.tolist() for g in taken], [None if g is None else g.tolist() for g in given]


def test_hooks_of_modules_see_what_went_in_and_out() -> None:
    two, seen = Two(), list[Any]()
    two.register_full_backward_hook(lambda *args: seen.append(known(*args)))
    a, b = st.tensor([2.0], requires_grad=True), st.tensor([3.0])
    y = two(a, b, by=2.0)
    (y["product"] * 5).sum().backward()
    assert seen == [([[30], None], [[5], [0]])]
    with two.register_full_backward_hook(lambda m, taken, given: (taken[0] * 10, None), prepend=True):
        y = two(a, b)
    (y["product"] * 5).sum().backward()         # of a call that knew it
    assert seen[1] == ([[150], None], [[5], [0]])
    with two.register_full_backward_pre_hook(lambda m, given: (given[0] + 1, None)), st.no_grad():
        assert not two(a, b)["sum"].requires_grad
    assert len(seen) == 2 and a.grad is not None and a.grad.tolist() == [180]


def test_a_model_whose_input_carries_nothing_is_seen_at_its_results() -> None:
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), list[Any]()
    for layer in (model, model[0]):
        layer.register_full_backward_hook(lambda *args: seen.append((type(args[0]).__name__, known(*args)[0])))
    model[0].weight.assign([[1.0, 0.0], [0.0, -1.0]])
    model[0].bias.assign([0.0, 0.0])
    model(st.ones(1, 2)).sum().backward()
    assert seen == [("Sequential", [None]), ("Linear", [None])]


def test_compiled_steps_have_hooks_of_modules() -> None:
    model, x = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), st.tensor([[1.0, -1.0], [0.5, 2.0]])

    @st.compile
    def gradients(x: st.Tensor) -> Any:
        return st.gradients(model(x).sum(), model)

    plain = gradients(x)
    hook = model[1].register_full_backward_hook(lambda m, taken, given: taken[0] * 2)
    for _ in range(2):
        doubled = gradients(x)
        for name, g in doubled.items():
            np.testing.assert_allclose(g.numpy(), plain[name].numpy() * (2 if name.startswith("0") else 1), rtol=1e-6)
    hook.remove()
    np.testing.assert_allclose(gradients(x)["0.weight"].numpy(), plain["0.weight"].numpy())


def leaf() -> st.Tensor:
    return st.tensor([1.0, 2.0], requires_grad=True)


def pulled(hook: Callable[..., Any]) -> None:
    x = leaf()
    x.register_hook(hook)
    (x * x).sum().backward()


def of_module(hook: Callable[..., Any]) -> None:
    layer = nn.ReLU()
    layer.register_full_backward_hook(hook)
    x = leaf()
    layer(x).sum().backward()


def held(w: st.Tensor) -> st.Tensor:
    def inner(x: st.Tensor) -> st.Tensor:
        y = x * x
        y.register_hook(lambda g: g * w)
        return y.sum()

    return st.grad(lambda x: st.checkpoint(inner)(x))(st.ones(2))


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: st.ones(2).register_hook(print), GraphError, "requires no gradients"),
    (lambda: leaf().register_hook(3), ArgumentError, "a hook"),      # type: ignore[arg-type]
    (lambda: (leaf() * 2).register_post_accumulate_grad_hook(print), GraphError, "no leaf"),
    (lambda: pulled(lambda g: 3), ArgumentError, "returns a tensor"),
    (lambda: pulled(lambda g: g.sum()), ShapeError, r"float32\[\] in the place of float32\[2\]"),
    (lambda: pulled(lambda g: g.double()), ShapeError, "float64"),
    (lambda: of_module(lambda m, a, b: (a[0], a[0])), ArgumentError, "given 1 gradients"),
    (lambda: of_module(lambda m, a, b: (a[0].sum(),)), ShapeError, "in the place"),
    (lambda: nn.ReLU().register_full_backward_hook(None), ArgumentError, "a hook"),     # type: ignore[arg-type]
    (lambda: st.compile(lambda x: x.register_hook(print))(leaf()), TraceError, "from outside"),
    (lambda: held(leaf()), GraphError, "from outside"),
    (lambda: st.placeholder((2,)).register_hook(print), GraphError, "of which nothing"),
]


@pytest.mark.parametrize("k", range(len(WRONG)))
def test_wrong_hooks_say_so(k: int) -> None:
    call, error, words = WRONG[k]
    with pytest.raises(error, match=words):
        call()
