"""What gradients compute again instead of keeping it: the numbers are the same, and memory is less."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.errors import ArgumentError
from stele.ir.graph import closed
from stele.kernel import order
from stele.nn import functional as F
from stele.nn.functional import attention
from stele.pipeline import memory, request
from stele.tracing import tree

WIDTH = 8
MODES: dict[str, Callable[..., Any]] = {"imperative": lambda f: f, "compiled": st.compile}
LAYERS = [nn.Linear(WIDTH, WIDTH) for _ in range(2)]


def block(x: st.Tensor) -> st.Tensor:
    for layer in LAYERS:
        x = x + st.tanh(layer(x))
    return x


def numbers(*shape: int) -> st.Tensor:
    return st.tensor(np.random.default_rng(len(shape)).standard_normal(shape, np.float32))


def twice(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the squared gradient."""
    return st.grad(lambda x: st.square(st.grad(lambda x: f(x).sum())(x)).sum())


ASKED: dict[str, Callable[..., Any]] = {
    "gradient": lambda f: st.grad(lambda x: f(x).sum()),
    "gradient of a gradient": twice,
    "forward": lambda f: lambda x: st.jvp(f, (x,), (x,))[1],
    "in a loop": lambda f: st.grad(lambda x: st.scan(lambda c, r: (f(c * r), c), x, st.stack([x, x]))[0].sum()),
    "within another": lambda f: st.grad(lambda x: st.checkpoint(lambda x: f(f(x)))(x).sum()),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ASKED)
def test_derivatives_are_the_same(name: str, mode: str) -> None:
    x = numbers(3, WIDTH)
    plain, held = (MODES[mode](ASKED[name](f))(x).numpy() for f in (block, st.checkpoint(block)))
    np.testing.assert_allclose(held, plain, rtol=1e-5, atol=1e-6)


def test_parameters_that_are_read_get_gradients() -> None:
    found = []
    for f in (block, st.checkpoint(block)):
        for layer in LAYERS:
            layer.weight.grad = None
        f(numbers(3, WIDTH)).sum().backward()
        found.append([layer.weight.grad.numpy() for layer in LAYERS])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_random_numbers_and_statistics_are_those_of_the_function(mode: str) -> None:
    def run(f: Callable[[st.Tensor], st.Tensor]) -> tuple[np.ndarray[Any, Any], ...]:
        st.manual_seed(1)
        norm.running_mean = st.zeros(WIDTH)
        step = MODES[mode](st.grad(lambda x: st.square(f(x)).sum()))
        return *(step(numbers(3, WIDTH)).numpy() for _ in range(2)), norm.running_mean.numpy()

    norm = nn.BatchNorm1d(WIDTH)
    noisy: Callable[[st.Tensor], st.Tensor] = lambda x: F.dropout(norm(block(x)), 0.5)
    for a, b in zip(run(noisy), run(st.checkpoint(noisy)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_arguments_and_results_may_be_anything() -> None:
    f = st.checkpoint(lambda x, how, *, by: {"y": x * by if how == "up" else x, "none": None, "z": (1, x.sum())})
    found = f(st.ones(2), "up", by=st.tensor(3.0))
    assert found["y"].tolist() == [3, 3] and found["none"] is None and found["z"][1].item() == 2
    for sizes in (2, 5):        # of an open axis too
        assert st.compile(f)(st.ones(sizes), "down", by=1.0)["y"].shape == (sizes,)
    z = st.tensor([1 + 2j, 3j])
    np.testing.assert_allclose(st.compile(st.checkpoint(st.exp))(z).numpy(), np.exp(z.numpy()), rtol=1e-6)
    wrong: Any = 3
    with pytest.raises(ArgumentError, match="what checkpoint holds"):
        st.checkpoint(wrong)


def test_nan_inside_is_found_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CHECK", "nan")
    with pytest.raises(st.errors.NotANumber, match="Log made NaN"):
        st.compile(st.checkpoint(lambda x: st.exp(st.log(x))))(-st.ones(2)).numpy()


def arena(f: Callable[..., Any], *shapes: tuple[int, ...]) -> int:
    """The bytes of temporaries of a program, which nobody compiles."""
    x = [st.placeholder(shape) for shape in shapes]
    results, _ = tree.flatten(f(*x))
    return memory(request(closed([v.value for v in x], [y.value for y in results]))).arena.bytes


def deep(held: Callable[..., Any]) -> Callable[..., Any]:
    """The loss of a residual network of many blocks, of its input and weights."""
    def loss(x: st.Tensor, *weights: st.Tensor) -> st.Tensor:
        f = held(lambda x, w: x + st.gelu(x @ w) @ w.T)
        for w in weights:
            x = f(x, w)
        return st.square(x).sum()

    return st.grad(loss, argnums=tuple(range(1, 17)))


BLOCKS = (256, WIDTH), *((WIDTH, 4 * WIDTH) for _ in range(16))


def test_a_deep_network_keeps_the_arguments_of_its_blocks_alone() -> None:
    assert 3 * arena(deep(st.checkpoint), *BLOCKS) < arena(deep(lambda f: f), *BLOCKS)


def test_what_gives_memory_back_runs_before_what_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weight's gradient frees a layer's cotangent, and so does not wait for those of all layers."""
    def loss(x: st.Tensor, *weights: st.Tensor) -> st.Tensor:
        for w in weights:
            x = st.tanh(x @ w)
        return st.square(x).sum()

    step, sizes = st.grad(loss, argnums=tuple(range(1, 13))), ((256, WIDTH), *12 * [(WIDTH, WIDTH)])
    saved = arena(step, *sizes)
    monkeypatch.setattr(order.Memory, "saved", lambda self, units: units)
    assert 3 * saved < 2 * arena(step, *sizes)


SHAPES = {"plain": {}, "causal": {"is_causal": True}, "window": {"window_size": (5, 3)},
          "groups": {"enable_gqa": True, "is_causal": True}, "bools": {"attn_mask": (20, 20)},
          "added": {"attn_mask": (4, 20, 20), "is_causal": True}, "of keys": {"attn_mask": (2, 1, 1, 20)}}


@pytest.mark.parametrize("name", SHAPES)
def test_attention_takes_queries_in_turns_where_their_weights_are_large(name: str, monkeypatch: pytest.MonkeyPatch
                                                                        ) -> None:
    how = dict(SHAPES[name])
    heads = 2 if "enable_gqa" in how else 4
    x = [numbers(2, n, 20, 4) for n in (4, heads, heads)]
    if shape := how.pop("attn_mask", None):
        mask = numbers(*shape)
        x.append(mask if name == "added" else mask > 0)

    def all_of(*x: st.Tensor) -> tuple[st.Tensor, ...]:
        loss = lambda *x: st.sin(F.scaled_dot_product_attention(*x, **how)).sum()
        wrt = range(4 if name == "added" else 3)
        y, found = st.value_and_grad(loss, argnums=tuple(wrt))(*x)
        return y, *found

    whole = [y.numpy() for y in st.compile(all_of, backend="reference")(*x)]
    for limit, bound in {"LARGE": 1 << 9, "AT_A_TIME": 1 << 11, "LEAST": 1}.items():
        monkeypatch.setattr(attention, limit, bound)
    parts = [y.numpy() for y in st.compile(lambda *x: all_of(*x), backend="reference")(*x)]
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_weights_of_long_sequences_are_not_in_memory() -> None:
    """Of one head, forward and backward: some queries at a time have theirs."""
    n = 4096
    assert arena(st.grad(lambda x: st.square(F.scaled_dot_product_attention(x, x, x)).sum()), (n, 4)) < 2 * n * n
