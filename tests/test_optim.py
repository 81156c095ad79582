"""Optimisers, clipping and schedules: their formulas in NumPy, and PyTorch where it is installed."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from peer import torch_gives

import stele as st
from stele import nn, optim
from stele.errors import ArgumentError, GraphError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)
START = [RANDOM.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4,))]
SLOPES = [[RANDOM.standard_normal(w.shape).astype(np.float32) for w in START] for _ in range(5)]


def sgd(w: Array, lr: float, momentum: float = 0, nesterov: bool = False, decay: float = 0) -> Iterator[Array]:
    v = np.zeros_like(w)
    while True:
        g = (yield w) + decay * w
        v = momentum * v + g
        w = w - lr * (g + momentum * v if nesterov else v)


def adam(w: Array, lr: float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, decay: float = 0,
         decoupled: bool = False) -> Iterator[Array]:
    m = v = np.zeros_like(w)
    t = 0
    while True:
        g = (yield w) + (0 if decoupled else decay * w)
        t += 1
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        w = w * (1 - lr * decay * decoupled) - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)


class Case(NamedTuple):
    """An optimiser of ours, its formula, and the same optimiser of PyTorch."""

    ours: Callable[[list[st.Tensor]], optim.Optimizer]
    formula: Callable[[Array], Iterator[Array]]
    torch: str


# fmt: off
CASES = {
    "sgd":       Case(lambda p: optim.SGD(p, 0.1), lambda w: sgd(w, 0.1), "SGD(p, 0.1)"),
    "momentum":  Case(lambda p: optim.SGD(p, 0.1, momentum=0.9), lambda w: sgd(w, 0.1, 0.9),
                      "SGD(p, 0.1, momentum=0.9)"),
    "nesterov":  Case(lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True), lambda w: sgd(w, 0.1, 0.9, True),
                      "SGD(p, 0.1, momentum=0.9, nesterov=True)"),
    "sgd_decay": Case(lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
                      lambda w: sgd(w, 0.1, 0.9, decay=0.01),
                      "SGD(p, 0.1, momentum=0.9, weight_decay=0.01)"),
    "adam":      Case(lambda p: optim.Adam(p, 0.01), lambda w: adam(w, 0.01), "Adam(p, 0.01)"),
    "adam_all":  Case(lambda p: optim.Adam(p, 0.01, betas=(0.8, 0.99), eps=1e-3, weight_decay=0.1),
                      lambda w: adam(w, 0.01, 0.8, 0.99, 1e-3, 0.1),
                      "Adam(p, 0.01, betas=(0.8, 0.99), eps=1e-3, weight_decay=0.1)"),
    "adamw":     Case(lambda p: optim.AdamW(p, 0.01, weight_decay=0.1),
                      lambda w: adam(w, 0.01, decay=0.1, decoupled=True),
                      "AdamW(p, 0.01, weight_decay=0.1)"),
}
# fmt: on


def close(a: Array, b: Array, bound: float = 1e-6) -> None:
    assert a.shape == b.shape and np.abs(a - b).max() <= bound * np.abs(b).max()


def parameters() -> list[st.Tensor]:
    return [st.tensor(w, requires_grad=True) for w in START]


def descend(make: Callable[[list[st.Tensor]], optim.Optimizer], style: Callable[[Any], Any]) -> list[list[Array]]:
    """The parameters after each step along given slopes."""
    own = parameters()
    optimizer = make(own)

    def step(*slopes: st.Tensor) -> None:
        optimizer.zero_grad()
        sum((p * g).sum() for p, g in zip(own, slopes, strict=True)).backward()
        optimizer.step()

    step = style(step)
    seen: list[list[Array]] = []
    for slopes in SLOPES:
        step(*map(st.tensor, slopes))
        seen.append([p.numpy() for p in own])
    return seen


@pytest.mark.parametrize("style", [lambda f: f, st.compile], ids=["imperative", "compiled"])
@pytest.mark.parametrize("name", CASES)
def test_steps_follow_their_formulas(name: str, style: Callable[[Any], Any]) -> None:
    formulas = [CASES[name].formula(w.astype(np.float64)) for w in START]
    for f in formulas:
        next(f)
    for got, slopes in zip(descend(CASES[name].ours, style), SLOPES, strict=True):
        for x, f, g in zip(got, formulas, slopes, strict=True):
            close(x, f.send(g.astype(np.float64)))


@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_pytorch(name: str) -> None:
    def ask(torch: Any) -> list[Array]:
        own = [torch.tensor(w, requires_grad=True) for w in START]
        optimizer = eval(CASES[name].torch, vars(torch.optim) | {"p": own})
        seen: list[Array] = []
        for slopes in SLOPES:
            for p, g in zip(own, slopes, strict=True):
                p.grad = torch.tensor(g)
            optimizer.step()
            seen += [p.detach().numpy().copy() for p in own]
        return seen

    found = [x for step in descend(CASES[name].ours, st.compile) for x in step]
    for x, expected in zip(found, torch_gives(f"steps_{name}", ask), strict=True):
        close(x, expected, 2e-6)


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.9, 0.99999), (0.0, 0.0), (0.0, 0.99)])
def test_the_first_step_of_adam_has_the_length_of_its_rate(betas: tuple[float, float]) -> None:
    p = st.tensor([0.0, 0.0, 0.0], requires_grad=True)
    optimizer = optim.Adam([p], 1.0, betas=betas, eps=0.0)
    (p * st.tensor([3.0, -0.01, 1e-8])).sum().backward()
    optimizer.step()
    close(p.numpy(), np.array([-1.0, 1.0, -1.0]), 3e-7)


def test_a_parameter_without_gradient_stays() -> None:
    used, unused = parameters()
    optimizer = optim.Adam([used, unused], 0.1)
    used.sum().backward()
    optimizer.step()
    assert np.array_equal(unused.numpy(), START[1]) and not np.array_equal(used.numpy(), START[0])


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_the_learning_rate_changes_between_steps_without_a_new_trace(style: Callable[[Any], Any]) -> None:
    w = st.tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([w], 1.0)

    def step() -> None:
        optimizer.zero_grad()
        (w * 2).sum().backward()
        optimizer.step()

    step = style(step)
    for lr, expected in ((1.0, -1.0), (0.5, -2.0), (0.0, -2.0), (0.25, -2.5)):
        optimizer.lr = lr
        step()
        assert w.tolist() == [expected]
    assert getattr(step, "traces", 1) == 1


def test_an_optimizer_made_inside_starts_anew_each_time() -> None:
    w = st.tensor([4.0], requires_grad=True)

    @st.compile
    def fit(slope: st.Tensor) -> None:
        optimizer = optim.SGD([w], 0.5, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            (w * slope).sum().backward()
            optimizer.step()

    fit(st.tensor(1.0))
    assert w.tolist() == pytest.approx([4 - 0.5 - 0.95])
    fit(st.tensor(1.0))
    assert w.tolist() == pytest.approx([4 - 2 * (0.5 + 0.95)])


def test_tied_weights_move_once() -> None:
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    model[1].weight = model[0].weight
    w = model[0].weight.numpy().astype(np.float64)
    optimizer = optim.SGD(model.parameters(), 0.1)
    assert len(optimizer.parameters) == 1
    st.compile(lambda x: (model(x).sum().backward(), optimizer.step())[1])(st.ones(1, 3))
    one = np.ones((1, 3))
    expected = w - 0.1 * (one.T @ (one @ w.T) + (w.T @ one.T) @ one)
    close(model[1].weight.numpy(), expected, 1e-5)


def norms(own: list[st.Tensor]) -> float:
    return math.sqrt(sum(float((p.grad.numpy().astype(np.float64) ** 2).sum()) for p in own))


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_clipping_by_norm(style: Callable[[Any], Any]) -> None:
    own = parameters()
    clip = style(lambda limit: optim.clip_grad_norm(own, limit))
    for scale, limit in ((1.0, 0.5), (1.0, 100.0)):
        for p, g in zip(own, SLOPES[0], strict=True):
            p.grad = st.tensor(g * scale)
        before = norms(own)
        assert float(clip(limit)) == pytest.approx(before, rel=1e-6)
        assert norms(own) == pytest.approx(min(before, limit), rel=1e-5)
    own = [*own, st.tensor([1.0], requires_grad=True)]
    optim.clip_grad_norm(own, 1.0)
    assert own[-1].grad is None


@pytest.mark.parametrize("p", [1, 3.5, math.inf])
@pytest.mark.parametrize("style", [lambda f: f, st.compile])
def test_clipping_by_another_norm(p: float, style: Callable[[Any], Any]) -> None:
    own = parameters()
    for x, g in zip(own, SLOPES[0], strict=True):
        x.grad = st.tensor(g)
    flat = np.concatenate([g.reshape(-1) for g in SLOPES[0]]).astype(np.float64)
    wanted = np.linalg.norm(flat, p)
    found = style(lambda: optim.clip_grad_norm(own, 0.5, p))()
    assert float(found) == pytest.approx(wanted, rel=1e-6)
    close(np.concatenate([x.grad.numpy().reshape(-1) for x in own]), flat * 0.5 / wanted, 1e-5)
    with pytest.raises(ArgumentError, match=r"norm_type .* above 0"):
        optim.clip_grad_norm(own, 0.5, norm_type=0)


def test_clipping_by_value() -> None:
    own = parameters()
    for p, g in zip(own, SLOPES[0], strict=True):
        p.grad = st.tensor(g)
    optim.clip_grad_value(own, 0.3)
    for p, g in zip(own, SLOPES[0], strict=True):
        assert np.array_equal(p.grad.numpy(), np.clip(g, np.float32(-0.3), np.float32(0.3)))


SCHEDULES = {
    "step": (lambda o: optim.StepLR(o, 2, gamma=0.5), [0.4, 0.4, 0.2, 0.2, 0.1, 0.1]),
    "exponential": (lambda o: optim.ExponentialLR(o, 0.5), [0.4 * 0.5**k for k in range(6)]),
    "cosine": (lambda o: optim.CosineDecay(o, 4, last=0.1),
               [0.4 * (0.1 + 0.9 * (1 + math.cos(math.pi * min(k, 4) / 4)) / 2) for k in range(6)]),
    "warmup": (lambda o: optim.LinearWarmup(o, 4), [0.1, 0.2, 0.3, 0.4, 0.4, 0.4]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str) -> None:
    make, expected = SCHEDULES[name]
    optimizer = optim.SGD(parameters(), 0.4)
    schedule = make(optimizer)
    rates = []
    for _ in expected:
        rates.append(float(optimizer.lr))
        schedule.step()
    assert rates == pytest.approx(expected, rel=1e-6)


def test_a_schedule_drives_a_compiled_step_of_one_trace() -> None:
    w = st.tensor([0.0], requires_grad=True)
    optimizer = optim.SGD([w], 1.0)
    schedule = optim.ExponentialLR(optimizer, 0.5)

    @st.compile
    def step() -> None:
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()

    for _ in range(4):
        step()
        schedule.step()
    assert w.tolist() == [-1.875] and step.traces == 1


REFUSED = [
    (lambda: optim.SGD([], 0.1), "SGD got no parameters. Pass model.parameters()"),
    (lambda: optim.Adam(parameters(), -1.0), "Adam needs a learning rate >= 0, got -1.0"),
    (lambda: optim.SGD(parameters(), float("nan")), "needs a learning rate >= 0, got nan"),
    (lambda: optim.SGD(parameters(), 0.1, nesterov=True), "needs a momentum for Nesterov's step"),
    (lambda: optim.AdamW(parameters(), 0.1, betas=(0.9, 1.0)), r"AdamW needs betas in \[0, 1\), got \(0.9, 1.0\)"),
    (lambda: optim.clip_grad_norm(parameters(), 1.0), "clip_grad_norm found no gradient. Call it between"),
    (lambda: optim.SGD([st.ones(2)], 0.1), "parameter 0 of SGD, .*, requires no gradients"),
    (lambda: optim.SGD(nn.Linear(2, 2), 0.1), "SGD takes a list of tensors, got a Linear. Pass model.parameters()"),
]


@pytest.mark.parametrize("wrong, message", REFUSED)
def test_bad_optimizers_are_refused(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(GraphError, match=message.replace(". ", r" at .*\. ")):
        wrong()
