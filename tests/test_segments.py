"""Loops in segments: gradients compute what they read of them again, from the states between, in few bytes."""
from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn
from stele.backend import reference
from stele.errors import OutOfMemory
from stele.ir.graph import Graph, Value
from stele.ir.verify import verify
from stele.ops.control import Scan
from stele.pipeline import optimised, request

WIDTH, ROWS = 16, 32


def loss(x: st.Tensor, w: st.Tensor, u: st.Tensor, reverse: bool = False) -> st.Tensor:
    """Two loops over time, one over what the other gives."""
    def step(h: st.Tensor, x: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
        h = st.tanh(x @ w + st.sin(h @ u) * h)
        return h, h * h

    h, y = st.scan(step, x[0] * 0, x, reverse=reverse)
    last, y = st.scan(step, h, y * 0.5, reverse=reverse)
    return st.square(y).mean() + st.square(last).sum()


def gradients(x: st.Tensor, w: st.Tensor, u: st.Tensor) -> Any:
    return st.grad(loss, argnums=(0, 1, 2))(x, w, u)


def given(steps: int, dtype: str = "float32", rows: int = ROWS, width: int = WIDTH) -> list[st.Tensor]:
    rng = np.random.default_rng(steps)
    shapes = (steps, rows, width), (width, width), (width, width)
    return [st.tensor(rng.standard_normal(shape) * 0.3, dtype=dtype) for shape in shapes]


def loops(graph: Graph) -> list[Value]:
    return [v for v in graph.everything if isinstance(v.op, Scan)]


def peak(f: Any) -> int:
    return f.programs[-1].peak_bytes


def close(a: Any, b: Any, rtol: float = 2e-5) -> bool:
    pairs = [(x.numpy(), y.numpy()) for x, y in zip(a, b, strict=True)]
    return all(np.abs(x - y).max() <= rtol * np.abs(y).max() for x, y in pairs)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("steps", "levels"), [(4, 1), (7, 1), (11, 2), (16, 3)])
def test_loops_in_segments_are_the_same_loops(steps: int, levels: int, reverse: bool) -> None:
    x = given(steps, "float64", 2, 3)
    f = st.compile(lambda x, w, u: st.grad(lambda *a: loss(*a, reverse), argnums=(0, 1, 2))(x, w, u))
    f(*x)
    graph, args = f.programs[0].request.graph, [v.numpy() for v in x]
    cut = optimised(replace(request(graph), levels=levels))
    verify(cut)
    assert len(loops(cut)) > len(loops(optimised(request(graph))))
    for a, b in zip(reference.run(cut, args), reference.run(graph, args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_second_derivatives_in_segments() -> None:
    x = given(6, "float64", 2, 3)
    f = st.compile(lambda *x: st.grad(lambda *y: sum(st.square(g).sum() for g in gradients(*y)), argnums=(0, 1))(*x))
    f(*x)
    graph, args = f.programs[0].request.graph, [v.numpy() for v in x]
    for a, b in zip(reference.run(optimised(replace(request(graph), levels=1)), args), reference.run(graph, args)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("style", ["compile", "function", "imperative"])
def test_a_loop_takes_the_square_root_of_its_memory(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, free = given(144), st.compile(gradients)
    want = free(*x)
    budget = int(0.6 * peak(free))
    if style == "compile":
        held = st.compile(gradients, memory=budget)
        found, took = held(*x), peak(held)
        said = [str(d) for d in held.programs[0].report().decisions if d.outcome == "again"]
        assert any("segments of a loop: their steps at" in d and "test_segments.py:" in d for d in said)
    elif style == "function":
        places = [st.placeholder(v.shape) for v in x]
        symbolic = st.function(places, gradients(*places), memory=budget)
        assert symbolic.program.peak_bytes <= budget    # type: ignore[operator]
        found, took = symbolic(*x), symbolic.program.peak_bytes
    else:
        from stele.eager.evaluate import EVALUATOR
        monkeypatch.setenv("STELE_MEMORY", str(budget))
        parameters = [v.detach().requires_grad_() for v in x]
        loss(*parameters).backward()
        found = [st.tensor(p.grad) for p in parameters]
        assert all(v.numpy().any() for v in found)
        took = EVALUATOR.last.peak_bytes    # type: ignore[union-attr]
    assert took <= budget and close(found, want)    # type: ignore[operator]


def test_less_memory_never_takes_less_time_and_too_little_is_refused() -> None:
    x, free = given(144), st.compile(gradients)
    want, whole = free(*x), peak(free)
    with pytest.raises(OutOfMemory, match=r"largest arrays .*test_segments\.py:") as error:
        st.compile(gradients, memory=1000)(*x)
    least = int(re.findall(r"less than ([\d,]+):", str(error.value))[0].replace(",", ""))
    prices: list[float] = []
    assert least < whole / 2
    for k in range(3):
        budget = whole - 1 - (whole - 1 - least) * k // 2
        held = st.compile(gradients, memory=budget)
        assert close(held(*x), want) and peak(held) <= budget
        prices += [float(re.findall(r"([\d.]+) times the price", str(d))[0])
                   for d in held.programs[0].report().decisions if "times the price" in str(d)]
    assert prices == sorted(prices) and len(prices) == 3 and prices[-1] < 3


def test_open_lengths_are_cut_for_those_of_each_call() -> None:
    def last(x: st.Tensor, w: st.Tensor) -> st.Tensor:
        def step(h: st.Tensor, x: st.Tensor) -> tuple[st.Tensor, None]:
            for _ in range(6):
                h = st.tanh(h @ w + x.sum())
            return h, None
        return st.square(st.scan(step, st.zeros(ROWS, WIDTH), x)[0]).sum()

    def f(x: st.Tensor, w: st.Tensor) -> Any:
        return st.grad(last, argnums=1)(x, w)

    held, free = st.compile(f, dims={"x": {0: "n"}}, memory="300KB"), st.compile(f)
    for steps in (60, 131):
        x, w, _ = given(steps, rows=1)
        assert close([held(x, w)], [free(x, w)])
        assert held.programs[0].at({"n": steps}).peak_bytes.at({"n": steps}) <= 300_000
    assert held.compiles == 1


def test_python_is_called_once_for_each_step() -> None:
    seen: list[int] = []

    def f(x: st.Tensor, w: st.Tensor, u: st.Tensor) -> Any:
        def step(h: st.Tensor, x: st.Tensor) -> tuple[st.Tensor, st.Tensor]:
            h = st.tanh(x @ w + h @ u)
            st.debug.callback(lambda h: seen.append(1), h.sum())
            return h, h
        return st.grad(lambda x: st.square(st.scan(step, x[0] * 0, x)[1]).sum())(x)

    held = st.compile(f, memory="4MB")
    held(*given(16))
    graph = held.programs[0].request.graph
    assert len(seen) == 16
    assert optimised(replace(request(graph), levels=1)).digest == optimised(request(graph)).digest


@pytest.mark.parametrize("layer", [nn.GRU, nn.LSTM])
def test_recurrent_layers_keep_neither_gates_nor_products_of_all_steps(layer: Any) -> None:
    st.manual_seed(0)
    net, x = layer(WIDTH, WIDTH), given(100)[0]

    def f(x: st.Tensor) -> Any:
        return st.grad(lambda x: st.square(net(x)[0]).sum())(x)

    free = st.compile(f)
    want = free(x)
    with pytest.raises(OutOfMemory) as error:
        st.compile(f, memory=1000)(x)
    least = int(re.findall(r"less than ([\d,]+):", str(error.value))[0].replace(",", ""))
    held = st.compile(f, memory=least)
    assert close([held(x)], [want]) and peak(held) <= least < 0.6 * peak(free)
