"""Activations in bfloat16: what is rounded and what never is, trainings beside float32, bytes, and products of them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import stele as st
from stele import nn, optim, pipeline
from stele.backend.cpu import tuned
from stele.backend.cpu.target import detect
from stele.ir.graph import walk
from stele.ir.types import bfloat16, float32
from stele.ops.linear import Cast
from stele.pipeline import Options, Request
from stele.transform.narrow import is_widened, leading
from tests.replay.cases import asked

RNG = np.random.default_rng(0)
on_such_a_cpu = pytest.mark.skipif(not detect().bf16, reason="this CPU has no AVX512-BF16")


def rounded(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.astype(ml_dtypes.bfloat16).astype(np.float64)


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape, np.float32)


def close(y: Any, expected: np.ndarray[Any, Any], rtol: float = 2e-6) -> None:
    np.testing.assert_allclose(y.numpy(), expected, rtol=0, atol=rtol * np.abs(expected).max())


# Products, where a CPU multiplies bfloat16

@on_such_a_cpu
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 7, 5), (64, 64, 64), (33, 129, 70), (100, 1, 17), (5, 257, 300),
                                   (16, 5001, 24)])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_those_of_rounded_operands(sizes: tuple[int, int, int], transposed: bool) -> None:
    m, k, n = sizes
    x, w = numbers(m, k), numbers(k, n)
    if transposed:
        f = st.compile(lambda x, w: x.T @ w.T, precision="bf16")
        y = f(np.ascontiguousarray(x.T), np.ascontiguousarray(w.T))
    else:
        y = st.compile(lambda x, w: x @ w, precision="bf16")(x, w)
    close(y, rounded(x) @ rounded(w))


@on_such_a_cpu
def test_with_all_that_fuses_and_any_number_of_rows() -> None:
    f = st.compile(lambda x, w, b: st.relu((x * 2) @ w + b), dims={"x": {0: "rows"}}, precision="bf16")
    w, b = numbers(35, 40), numbers(40)
    for rows in (1, 6, 50):
        x = numbers(rows, 35)
        close(f(x, w, b), np.maximum(rounded(x * 2) @ rounded(w) + b, 0))
    assert f.compiles <= 2
    x, w = numbers(3, 9, 11), numbers(3, 11, 13)
    close(st.compile(lambda x, w: x @ w, precision="bf16")(x, w), rounded(x) @ rounded(w))


@on_such_a_cpu
def test_gradients_go_through_products_in_bfloat16_too() -> None:
    x, w, g = numbers(20, 30), numbers(30, 10), numbers(20, 10)
    f = st.compile(st.grad(lambda w, x, g: ((x @ w) * g).sum()), precision="bf16")
    close(f(st.tensor(w), st.tensor(x), st.tensor(g)), rounded(x).T @ rounded(g))


@on_such_a_cpu
def test_products_in_loops_and_beside_a_tuned_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("STELE_CACHE", str(tmp_path))
    x, w = numbers(4, 64, 64), numbers(64, 64)
    f = st.compile(lambda x, w: st.scan(lambda s, row: (s + row @ w, None), x[0] * 0, x)[0], precision="bf16",
                   without="narrow")
    close(f(x, w), np.sum([rounded(row) @ rounded(w) for row in x], axis=0))
    tuned.remember(tuned.here(), {"product 64x64x64 float32 Gemm(left=False, right=False)": 1})
    x = x[0]
    close(st.compile(lambda x, w: x @ w, precision="bf16")(x, w), rounded(x) @ rounded(w))


# What lies in memory

def layers(x: Any, u: Any, w: Any) -> Any:
    return st.relu(x @ u) @ w


@pytest.mark.parametrize("level", ["native", "x86-64-v3"])
def test_what_a_product_leaves_for_another_is_rounded_on_every_cpu(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a CPU has no products of bfloat16, operands that are float32 in memory are taken as they are."""
    if level != "native" and not detect().triple.startswith("x86_64"):
        pytest.skip("levels are of x86-64")
    monkeypatch.setenv("STELE_TARGET", level)
    x, u, w = numbers(48, 40), numbers(40, 64), numbers(64, 30)
    kept = rounded if detect().bf16 else np.asarray
    hidden = rounded(np.maximum(kept(x).astype("f8") @ kept(u), 0).astype("f4"))
    y = st.compile(layers, precision="bf16")(x, u, w)
    assert y.dtype == float32
    close(y, hidden @ kept(w), 2e-4)       # a hidden number that lies between two may be either
    np.testing.assert_allclose(st.compile(layers)(x, u, w).numpy(), np.maximum(x.astype("f8") @ u, 0) @ w, atol=1e-3)


def test_float64_stays_and_results_do_not_depend_on_threads() -> None:
    f, threads = st.compile(layers, precision="bf16"), st.get_threads()
    x, u, w = numbers(200, 300), numbers(300, 100), numbers(100, 70)
    try:
        found: list[Any] = []
        for count in (1, 2, 4):
            st.set_threads(count)
            found.append(f(x, u, w).numpy().copy())
    finally:
        st.set_threads(threads)
    assert all(y.tobytes() == found[0].tobytes() for y in found)
    x, u, w = (a.astype(np.float64) for a in (x, u, w))
    np.testing.assert_allclose(f(x, u, w).numpy(), np.maximum(x @ u, 0) @ w, rtol=1e-10, atol=1e-10)


class Mlp(nn.Module):
    def __init__(self) -> None:
        self.a, self.b, self.c = nn.Linear(24, 64), nn.Linear(64, 64), nn.Linear(64, 10)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Any) -> Any:
        return self.c(st.relu(self.b(self.drop(st.gelu(self.a(x.reshape(-1, 24)))))))


class Cnn(nn.Module):
    def __init__(self) -> None:
        self.a, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.b, self.c = nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.Linear(16 * 2 * 2, 10)

    def forward(self, x: Any) -> Any:
        x = st.max_pool2d(st.relu(self.norm(self.a(x.reshape(-1, 3, 8, 8)))), 2)
        return self.c(st.relu(self.b(x)).flatten(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        self.gru, self.c = nn.GRU(24, 32, batch_first=True), nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        return self.c(self.gru(x.reshape(-1, 8, 24))[1][-1])


class Transformer(nn.Module):
    def __init__(self) -> None:
        self.words, self.c = nn.Embedding(50, 32), nn.Linear(32, 10)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.c(self.layer(self.words((abs(x[:, :12]) * 20).astype("int64") % 50)).mean(1))


INPUTS: dict[type[nn.Module], int] = {Mlp: 24, Cnn: 192, Recurrent: 192, Transformer: 24}


def training(kind: type[nn.Module], **options: Any) -> tuple[nn.Module, Callable[[Any, Any], Any]]:
    """A network of known weights, and its step."""
    st.manual_seed(0)
    model = kind()
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)

    @st.compile(**options)
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, step


def losses(kind: type[nn.Module], steps: int, **options: Any) -> np.ndarray[Any, Any]:
    """The losses of a training on one batch, whose weights stay float32."""
    model, step = training(kind, **options)
    x, y = batch(kind)
    found = np.array([float(step(x, y)) for _ in range(steps)])
    assert all(p.dtype == float32 for p in model.state_dict().values() if p.dtype.is_float)
    return found


def batch(kind: type[nn.Module]) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return st.tensor(rng.standard_normal((64, INPUTS[kind]), np.float32)), st.tensor(rng.integers(0, 10, 64))


@pytest.mark.parametrize("kind", INPUTS)
def test_trainings_go_as_in_float32(kind: type[nn.Module]) -> None:
    """Twenty steps on one batch: each loss within one hundredth of float32's first."""
    exact, found = losses(kind, 20), losses(kind, 20, precision="bf16")
    assert exact[-1] < 0.8 * exact[0]
    np.testing.assert_allclose(found, exact, rtol=0, atol=0.01 * exact[0])
    assert (found != exact).any()


@pytest.mark.parametrize("kind", [Mlp, Transformer])
def test_the_reference_rounds_what_kernels_round(kind: type[nn.Module]) -> None:
    np.testing.assert_allclose(losses(kind, 3, precision="bf16", backend="reference"),
                               losses(kind, 3, precision="bf16"), rtol=2e-3)


def request(kind: type[nn.Module], precision: Any) -> Request:
    traced = asked(lambda: training(kind)[1](*batch(kind)))
    return Request(traced.graph, traced.donate, traced.steady, Options(precision=precision), tuned.this_machine())


@pytest.mark.parametrize("kind", INPUTS)
def test_what_leads_to_a_result_is_never_rounded(kind: type[nn.Module]) -> None:
    """Weights, their gradients and optimisers' states, sums, and what loops carry; types stay, and all is said."""
    traced, report = request(kind, "bf16"), pipeline.Report()
    after = pipeline.optimised(traced, report)
    assert [v.type for v in after.parameters] == [v.type for v in traced.graph.parameters]
    assert [v.type for v in after.results] == [v.type for v in traced.graph.results]
    assert not any(map(is_widened, leading(after.results, walk(after.results))))
    narrow = [v for v in after.everything if isinstance(v.op, Cast) and v.dtype == bfloat16]
    assert narrow and not any(v.args[0].op.family == "reduction" and v.args[0].op.name != "Max" for v in narrow)
    said = [d for d in report.decisions if f"as {bfloat16}" in d.what]
    assert len(said) >= 3 and all("waits in memory for" in d.reason for d in said)


def test_activations_take_half_the_memory() -> None:
    """The arena of a step, whose weights are few."""
    whole, half = (pipeline.memory(request(Cnn, precision)).arena.bytes for precision in ("fast", "bf16"))
    assert half < 0.6 * whole


def test_open_sizes_and_graphs_stay_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CHECK", "1")
    f = st.compile(layers, dims={"x": {0: "rows"}}, precision="bf16")
    u, w = numbers(40, 64), numbers(64, 30)
    for rows in (1, 70):
        x = numbers(rows, 40)
        close(f(x, u, w), np.maximum(x @ u, 0) @ w, 0.02)


def test_loops_keep_stacks_in_halves_and_carry_whole_numbers() -> None:
    def f(w: Any, x: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            return (y := st.tanh(row + h @ w)), y

        ys: Any = st.scan(step, x[0] * 0, x)[1]
        return st.tanh(ys @ w).sum()

    gradient = st.compile(st.grad(f), precision="bf16")
    traced = asked(lambda: gradient(st.tensor(numbers(32, 32)), st.tensor(numbers(6, 40, 32))))
    graph = pipeline.optimise(traced.graph, traced.options)
    loops = [v for v in walk(graph.results) if v.op.name == "Scan"]
    assert loops and all(t.dtype == (bfloat16 if k >= v.op.carries else float32)     # type: ignore[attr-defined]
                         for v in loops for k, t in enumerate(v.type.items))         # type: ignore[attr-defined]


def mixed(x: Any, u: Any, w: Any, n: Any) -> Any:
    """A branch, a loop of n steps, and a branch in the steps of a loop, each with something that waits in memory."""
    y = st.cond(x.sum() > 0, lambda x: layers(x, u, w), lambda x: layers(x, w.T, u.T), x)
    y = st.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, layers(s[1], u, w) * 0.1 + s[1]), (0, y))[1]
    return st.scan(lambda s, _: (st.cond(s[0, 0] > 0, lambda s: layers(s, u, w), st.tanh, s), None), y, length=2)[0]


def inner_halves(graph: Any, kind: str) -> int:
    """Roundings in the graphs that ops of a kind hold."""
    return sum(isinstance(v.op, Cast) and v.dtype == bfloat16 for holder in graph.everything if holder.op.name == kind
               for inner in holder.op.graphs for v in inner.everything)


@pytest.mark.parametrize("positive", [True, False])
def test_activations_of_branches_and_of_loops_with_a_test_are_halves(positive: bool) -> None:
    x, u, w = abs(numbers(48, 40)) * (1 if positive else -1), numbers(40, 64) * 0.1, numbers(64, 40) * 0.1
    given = (*map(st.tensor, (x, u, w)), st.tensor(3))
    half, whole = (st.compile(mixed, precision=precision) for precision in ("bf16", "fast"))
    found, exact = half(*given), whole(*given)
    assert found.dtype == float32
    close(found, exact.numpy(), 0.02)
    assert (found.numpy() != exact.numpy()).any()
    reference = st.compile(mixed, precision="bf16", backend="reference")(*given)
    close(found, reference.numpy(), 2e-2)
    traced = asked(lambda: st.compile(mixed, precision="bf16")(*given))
    graph = pipeline.optimise(traced.graph, traced.options)
    assert all(inner_halves(graph, kind) for kind in ("Cond", "While", "Scan"))
    assert [v.dtype for v in graph.results] == [float32]
    loop = next(v for v in graph.values if v.op.name == "While")
    assert bfloat16 not in [t.dtype for t in loop.type.items[:1]]        # type: ignore[attr-defined]


def test_what_branches_keep_for_gradients_are_halves_and_gradients_are_not() -> None:
    def f(w: Any, x: Any) -> Any:
        y = st.cond(x.sum() > 0, lambda x: st.tanh(st.tanh(x @ w) @ w), lambda x: st.tanh(x @ w), x)
        return (st.tanh(y @ w) ** 2).mean()

    given = st.tensor(numbers(64, 64) * 0.2), st.tensor(numbers(96, 64))
    half, whole = (st.compile(st.grad(f), precision=precision) for precision in ("bf16", "fast"))
    exact = whole(*given).numpy()
    close(half(*given), exact, 0.03)
    traced = asked(lambda: st.compile(st.grad(f), precision="bf16")(*given))
    graph = pipeline.optimise(traced.graph, traced.options)
    branches = [v for v in graph.values if v.op.name == "Cond"]
    kept = [t.dtype for v in branches for t in v.type.items if t.size == 96 * 64]       # type: ignore[attr-defined]
    assert len(branches) == 2 and kept.count(bfloat16) >= 1
    assert [v.dtype for v in graph.results] == [float32]


def test_a_loop_that_its_own_numbers_end_stays_float32() -> None:
    def f(x: Any, w: Any) -> Any:
        last, _, steps = st.while_loop(lambda s: ((s[0] - s[1]).abs().max() > 1e-6) & (s[2] < 100),
                                       lambda s: (st.tanh(st.tanh(s[0] @ w) @ w) + x, s[0], s[2] + 1), (x, x + 1, 0))
        return last, steps

    drawn = np.random.default_rng(0).standard_normal((2, 48, 48), np.float32)       # rounded, these go on for ever
    x, w = st.tensor(drawn[0]), st.tensor(drawn[1] * 0.05)
    (last, steps), (expected, known) = st.compile(f, precision="bf16")(x, w), st.compile(f)(x, w)
    close(last, expected.numpy(), 1e-6)
    assert int(steps) == int(known) < 20
    traced, report = asked(lambda: st.compile(f, precision="bf16")(x, w)), pipeline.Report()
    graph = pipeline.optimise(traced.graph, traced.options, report=report)
    assert inner_halves(graph, "While") == 0
    assert any(d.what == f"While, as {float32}" and d.reason == "its own numbers end it" for d in report.decisions)


@pytest.mark.parametrize("best", [
    lambda h: h.max(axis=-1, keepdims=True), lambda h: st.cummax(h, axis=-1), lambda h: st.cummin(h[:, ::-1], axis=0),
    lambda h: nn.functional.max_pool1d(h, 5, 1, 2), lambda h: st.median(h, axis=-1, keepdims=True)],
    ids=["max", "cummax", "cummin", "pool", "median"])
@pytest.mark.parametrize("ends", [False, True])
def test_what_is_the_largest_in_a_step_is_still_one_of_its_numbers_on_the_way_back(best: Any, ends: bool) -> None:
    def f(x: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            h = st.tanh(h + row)
            return h * 0.5 + (y := best(h)) * 0.1, st.sin(y) * h

        if ends:    # what no step changes is whole beside what each step keeps
            more = st.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + best(x[0])), (0, x[0] * 0))[1]
            return (more * more).sum()
        last, ys = st.scan(step, x[0] * 0, x)
        return (ys * ys).sum() + last.sum()

    x = st.tensor(numbers(4, 48, 64))
    slope, exact = (st.compile(st.grad(f), precision=p)(x).numpy() for p in ("bf16", "fast"))
    assert np.abs(slope - exact).mean() < 0.01 * np.abs(exact).mean()


@pytest.mark.parametrize("before", [
    nn.Identity, nn.ReLU, lambda: nn.BatchNorm2d(64), nn.Tanh, lambda: nn.Threshold(0.1, 0.1)],
    ids=["bias", "relu", "norm", "tanh", "threshold"])
@pytest.mark.parametrize("pool", [nn.MaxPool2d(2, 1), nn.MaxPool2d(3, 2, 1), nn.AdaptiveMaxPool2d(3)],
                         ids=["side by side", "padded", "adaptive"])
def test_gradients_go_to_the_largest_of_what_a_kernel_pools(before: Any, pool: nn.Module) -> None:
    """Of numbers that never lie in memory a rounded maximum would be none."""
    st.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 64, 3, padding=1), before(), pool)
    x, ways = st.tensor(numbers(24, 2, 8, 8)), st.tensor(numbers(64))

    def slopes(x: Any) -> list[Any]:
        model.zero_grad()
        (model(x).mean(axis=(2, 3)) * ways).square().sum().backward()
        return [p.grad for p in model[0].parameters()]

    exact, found = (st.compile(slopes, precision=p)(x)[0].numpy() for p in ("fast", "bf16"))
    assert np.linalg.norm(found - exact) < 0.1 * np.linalg.norm(exact)


def test_the_pass_can_be_left_out() -> None:
    operands = map(st.tensor, (numbers(48, 40), numbers(40, 64), numbers(64, 30)))
    graph = asked(lambda: st.compile(layers)(*operands)).graph
    left_out = Options(precision="bf16", without=frozenset({"narrow"}))
    plain, off = pipeline.optimise(graph, Options()), pipeline.optimise(graph, left_out)
    assert plain.digest == off.digest and not any(v.dtype == bfloat16 for v in off)
