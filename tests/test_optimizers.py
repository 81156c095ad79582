"""Every optimiser, mean and schedule beside PyTorch's numbers of 20 steps or its formula in NumPy; groups; states."""
from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from peer import torch_gives, torch_says

import stele as st
from stele import nn, optim
from stele.errors import ArgumentError, DataError, GraphError, OptionError, ShapeError, SteleError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)
START = [RANDOM.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4,), (2, 2, 3))]
SLOPES = [[RANDOM.standard_normal(w.shape).astype(np.float32) for w in START] for _ in range(20)]
IMPERATIVE, COMPILED = (lambda f: f), st.compile

PEERS = {       # what both libraries make of one line
    "SGD": "SGD(p, 0.1, momentum=0.9, dampening=0.3, weight_decay=0.1)", "SGD up": "SGD(p, 0.1, maximize=True)",
    "Adam": "Adam(p, 0.01, amsgrad=True, weight_decay=0.1)",
    "AdamW": "AdamW(p, 0.01, amsgrad=True, weight_decay=0.1, maximize=True)",
    "Adamax": "Adamax(p, 0.02, weight_decay=0.1)", "NAdam": "NAdam(p, 0.02, weight_decay=0.1)",
    "NAdam apart": "NAdam(p, 0.02, weight_decay=0.1, decoupled_weight_decay=True)",
    "RAdam": "RAdam(p, 0.02, weight_decay=0.1)",
    "RAdam apart": "RAdam(p, 0.02, betas=(0.9, 0.9), weight_decay=0.1, decoupled_weight_decay=True)",
    "RMSprop": "RMSprop(p, 0.01)", "RMSprop all": "RMSprop(p, 0.01, centered=True, momentum=0.9, weight_decay=0.1)",
    "Adagrad": "Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)",
    "Adadelta": "Adadelta(p, 0.5, rho=0.8, eps=1e-4, weight_decay=0.1)",
    "ASGD": "ASGD(p, 0.1, lambd=0.1, alpha=0.5, t0=3, weight_decay=0.1)",
    "Rprop": "Rprop(p, 0.1, etas=(0.3, 1.5), step_sizes=(1e-3, 0.2))",
    "Adafactor": "Adafactor(p, 0.5, weight_decay=0.1, d=1.5)",
    "groups": "AdamW([{'params': p[:1], 'lr': 0.1}, {'params': p[1:], 'weight_decay': 0.0}], 0.01, weight_decay=0.1)",
}


def parameters(count: int | None = None, dtype: str = "float32") -> list[st.Tensor]:
    return [st.tensor(w, requires_grad=True, dtype=dtype) for w in START[:count]]


Style = Callable[[Any], Any]


def descended(make: Callable[[list[st.Tensor]], Any], style: Style, count: int | None = None, dtype: str = "float32",
              schedule: Callable[[Any], Any] | None = None) -> list[Array]:
    """The parameters behind the given slopes, after each of which a schedule goes on."""
    own = parameters(count, dtype)
    optimizer = make(own)
    rates = schedule(optimizer) if schedule else None

    def step(*slopes: st.Tensor) -> None:
        optimizer.zero_grad()
        sum((p * g).sum() for p, g in zip(own, slopes, strict=True)).backward()
        optimizer.step()

    step = style(step)
    for slopes in SLOPES:
        step(*(st.tensor(g, dtype=dtype) for g in slopes[:count]))
        if rates is not None:
            rates.step()
    assert style is IMPERATIVE or step.traces == 1
    return [p.numpy() for p in own]


def close(found: list[Array], wanted: list[Array], bound: float = 3e-6) -> None:
    for x, y in zip(found, wanted, strict=True):
        assert x.shape == y.shape and np.abs(x - y).max() <= bound * np.abs(y).max()


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED], ids=["imperative", "compiled"])
@pytest.mark.parametrize("name", PEERS)
def test_twenty_steps_are_those_of_pytorch(name: str, style: Style, monkeypatch: pytest.MonkeyPatch) -> None:
    if style is IMPERATIVE:     # the steps in native code are the compiled ones
        monkeypatch.setenv("STELE_BACKEND", "reference")

    def ask(torch: Any) -> list[Array]:
        own = [torch.tensor(w, requires_grad=True) for w in START]
        optimizer = eval(PEERS[name], vars(torch.optim) | {"p": own})
        for slopes in SLOPES:
            for p, g in zip(own, slopes, strict=True):
                p.grad = torch.tensor(g)
            optimizer.step()
        return [p.detach().numpy().copy() for p in own]

    made = descended(lambda p: eval(PEERS[name], vars(optim) | {"p": p}), style)
    close(made, torch_gives(f"optimizer_{name.replace(' ', '_').lower()}", ask))


def test_twenty_steps_with_rates_that_fall_are_those_of_pytorch() -> None:
    def ask(torch: Any) -> list[Array]:
        ended: list[Array] = []
        for line in PEERS.values():
            own = [torch.tensor(w, requires_grad=True) for w in START]
            optimizer = eval(line, vars(torch.optim) | {"p": own})
            rates = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
            for slopes in SLOPES:
                for p, g in zip(own, slopes, strict=True):
                    p.grad = torch.tensor(g)
                optimizer.step()
                rates.step()
            ended += [p.detach().numpy().copy() for p in own]
        return ended

    wanted = torch_gives("optimizers_with_rates_that_fall", ask)
    for k, (name, line) in enumerate(PEERS.items()):
        made = descended(lambda p, line=line: eval(line, vars(optim) | {"p": p}), COMPILED,
                         schedule=lambda optimizer: optim.ExponentialLR(optimizer, 0.8))
        for x, y in zip(made, wanted[k * len(made):], strict=False):
            assert x.shape == y.shape and np.abs(x - y).max() <= 3e-6 * np.abs(y).max(), name


def lion(w: Array) -> Iterator[Array]:
    m = np.zeros_like(w)
    while True:
        g = yield w
        w, m = w - 0.01 * (np.sign(0.9 * m + 0.1 * g) + 0.1 * w), 0.99 * m + 0.01 * g


def ratio(w: Array, u: Array) -> float:
    a, b = np.linalg.norm(w), np.linalg.norm(u)
    return float(a / b) if a > 0 and b > 0 else 1.0


def lamb(w: Array) -> Iterator[Array]:
    m = v = np.zeros_like(w)
    t = 0
    while True:
        g = yield w
        t, m, v = t + 1, 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        u = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + 0.1 * w
        w = w - 0.01 * ratio(w, u) * u


def lars(w: Array) -> Iterator[Array]:
    v = np.zeros_like(w)
    while True:
        u = (yield w) + 0.1 * w
        step = 0.5 * 1e-3 * ratio(w, u) * u
        v = 0.9 * v + step
        w = w - (step + 0.9 * v)


def muon(w: Array) -> Iterator[Array]:
    v = np.zeros_like(w)
    while True:
        g = yield w
        v = 0.95 * v + 0.05 * g
        x = 0.05 * g + 0.95 * v
        x = x / np.linalg.norm(x)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        w = w * (1 - 0.02 * 0.1) - 0.02 * 0.2 * 2 * x


FORMULAS = {
    "Lion": (lambda p: optim.Lion(p, 0.01, weight_decay=0.1), lion, 3),
    "LAMB": (lambda p: optim.LAMB(p, 0.01, weight_decay=0.1), lamb, 3),
    "LARS": (lambda p: optim.LARS(p, 0.5, weight_decay=0.1, nesterov=True), lars, 3),
    "Muon": (lambda p: optim.Muon(p, 0.02, adjust_lr_fn="match_rms_adamw"), muon, 1),
}


def walked(formula: Any, count: int) -> list[Array]:
    """Where a formula goes in float64 from each of so many beginnings."""
    ends: list[Array] = []
    for k in range(count):
        walk = formula(START[k].astype(np.float64))
        next(walk)
        ends.append([walk.send(slopes[k].astype(np.float64)) for slopes in SLOPES][-1])
    return ends


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED], ids=["imperative", "compiled"])
@pytest.mark.parametrize("name", FORMULAS)
def test_twenty_steps_follow_their_formula(name: str, style: Style) -> None:
    make, formula, count = FORMULAS[name]
    close(descended(make, style, count), walked(formula, count))


WIDE = {name: (code, "") for name, code in PEERS.items()} | {
    "one cycle": ("SGD(p, 0.1, momentum=0.9)", "OneCycleLR(o, 0.2, 21)"),
    "waves": ("AdamW(p, 0.1)", "CyclicLR(o, 0.01, 0.2, 3, 4, mode='triangular2')"),
    "cosine": ("SGD(p, 0.1)", "CosineAnnealingLR(o, 8, 0.01)"),
    "chain": ("Adam(p, 0.1)", "ChainedScheduler([LinearLR(o, 0.3, total_iters=4), ExponentialLR(o, 0.9)])")}


def in_float64(torch: Any, optimizer: str, schedule: str) -> list[Array]:
    """20 steps of PyTorch's, which keeps some numbers of its own in the usual dtype."""
    torch.set_default_dtype(torch.float64)
    try:
        own = [torch.tensor(w.astype("f8"), requires_grad=True) for w in START]
        o = eval(optimizer, vars(torch.optim) | {"p": own})
        rates = eval(schedule, vars(torch.optim.lr_scheduler) | {"o": o}) if schedule else None
        for slopes in SLOPES:
            for p, g in zip(own, slopes, strict=True):
                p.grad = torch.tensor(g.astype("f8"))
            o.step()
            if rates is not None:
                rates.step()
        return [p.detach().numpy().copy() for p in own]
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", WIDE)
def test_twenty_steps_in_float64_are_those_of_pytorch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates, betas and counts are no coarser than the parameters."""
    monkeypatch.setenv("STELE_BACKEND", "reference")
    told = torch_gives("optimizers_in_float64", lambda torch: [
        x for optimizer, schedule in WIDE.values() for x in in_float64(torch, optimizer, schedule)])
    optimizer, schedule = WIDE[name]
    made = descended(lambda p: eval(optimizer, vars(optim) | {"p": p}), IMPERATIVE, dtype="float64", schedule=(
        lambda o: eval(schedule, vars(optim) | {"o": o})) if schedule else None)
    at = 3 * [*WIDE].index(name)
    close(made, told[at:at + 3], 1e-14)


@pytest.mark.parametrize("name", [*FORMULAS, "AdamW", "ASGD"])
def test_compiled_steps_in_float64_are_those_of_their_formula(name: str) -> None:
    if name in PEERS:
        def make(p: list[st.Tensor]) -> Any: return eval(PEERS[name], vars(optim) | {"p": p})
        wanted = descended(make, IMPERATIVE, dtype="float64")
        close(descended(make, COMPILED, dtype="float64"), wanted, 1e-13)
        return
    make, formula, count = FORMULAS[name]
    close(descended(make, COMPILED, count, "float64"), walked(formula, count), 1e-12)


def test_parameters_of_two_widths_move_each_in_its_own() -> None:
    """What is beside a float64 makes no float32 wider, and the other way round; a state brings them back."""
    narrow, wide = parameters(1)[0], parameters(1, "float64")[0]
    optimizer = optim.NAdam([narrow, wide], 0.1)
    alone = descended(lambda p: optim.NAdam(p, 0.1), IMPERATIVE, 1)[0], \
        descended(lambda p: optim.NAdam(p, 0.1), IMPERATIVE, 1, "float64")[0]
    for slopes in SLOPES:
        for p in (narrow, wide):
            p.grad = st.tensor(slopes[0], dtype=p.dtype)
        optimizer.step()
    close([narrow.numpy(), wide.numpy()], [*alone], 1e-15)
    assert optimizer.lr.dtype == st.float64
    assert {x.dtype for x in optimizer.states[0].tensors().values()} == {st.float32}
    again = optim.NAdam([*parameters(1), *parameters(1, "float64")], 0.1)
    again.load_state_dict(optimizer.state_dict())
    assert [s.steps.dtype for s in again.states] == [st.float32, st.float64] and float(again.steps) == 20
    assert optim.StepLR(again, 1, 0.5).get_last_lr() == [0.1] and "lr=0.1" in repr(again)


@pytest.mark.parametrize("scale", [1e-5, 300.0])
@pytest.mark.parametrize("name", [*PEERS, "Lion", "LAMB", "LARS"])
def test_parameters_of_16_bits_move_as_those_of_32(name: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares of gradients leave float16 on both sides, and so do the eps beside them."""
    monkeypatch.setenv("STELE_BACKEND", "reference")

    def moved(dtype: str) -> list[Array]:
        own = [st.tensor(w.astype("f2"), requires_grad=True, dtype=dtype) for w in START]
        made = FORMULAS[name][0] if name in FORMULAS else lambda p: eval(PEERS[name], vars(optim) | {"p": p})
        optimizer = made(own)
        for slopes in SLOPES:
            for p, g in zip(own, slopes):
                p.grad = st.tensor((g * scale).astype("f2"), dtype=dtype)
            optimizer.step()
        assert {p.dtype for p in own} == {getattr(st, dtype)}
        return [p.numpy().astype("f4") for p in own]

    found, wanted = moved("float16"), moved("float32")
    if name == "Adafactor":     # its usual eps is that of the dtype
        assert all(np.isfinite(x).all() for x in found)
    else:
        close(found, wanted, 20 * 2.0 ** -11)


def test_a_module_may_become_wider_behind_its_optimizer() -> None:
    layer = nn.Linear(1, 1, bias=False)
    optimizer = optim.SGD(layer.parameters(), 0.5)
    layer.to("float64").weight.assign([[1.0]])
    layer(st.tensor([[1 / 3]], dtype="float64")).sum().backward()
    optimizer.step()
    assert float(layer.weight) == 1 - 1 / 6


def test_gradients_of_16_bits_have_a_norm() -> None:
    x = st.zeros(4, dtype="float16").requires_grad_()
    x.grad = st.tensor([300.0, 400.0, 0.0, 0.0], dtype="float16")
    assert float(optim.clip_grad_norm([x], 5.0)) == 500.0
    assert x.grad.dtype == st.float16 and np.allclose(x.grad.numpy()[:2], [3.0, 4.0], rtol=1e-3)


def test_means_in_float64_are_no_coarser() -> None:
    x, y = st.tensor([0.1], dtype="float64"), st.tensor([0.1])
    ema, swa = optim.EMA([x, y], 0.999, warm=True), optim.SWA([x])
    mean, seen = 0.1, [0.3, 0.7]
    for t, new in enumerate(seen, 1):
        x.assign([new])
        ema.update(), swa.update()
        d = min(0.999, (1 + t) / (10 + t))
        mean = d * mean + (1 - d) * new
    assert float(ema.means[0]) == pytest.approx(mean, rel=1e-15) and ema.means[1].dtype == st.float32
    assert float(swa.means[0]) == pytest.approx(0.5, rel=1e-15)


def by_place(made: Any) -> list[str]:
    """The options that may be given by place, in order."""
    return [name for name, p in inspect.signature(made).parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]


def test_options_stand_where_pytorch_has_them() -> None:
    """SGD(p, 0.1, 0.9, 0.0, 1e-4, True) is what it is there, whatever else a class of ours takes behind."""
    names = sorted(name for name in optim.__all__ if isinstance(x := getattr(optim, name), type)
                   and issubclass(x, optim.Optimizer | optim.Schedule))

    def ask(torch: Any) -> dict[str, list[str]]:
        rooms = torch.optim, torch.optim.lr_scheduler
        return {name: by_place(getattr(room, name)) for name in names for room in rooms if hasattr(room, name)}

    for name, said in torch_says("optimizers", ask).items():
        own = by_place(getattr(optim, name))
        assert [key for key in own if key in said] == [key for key in said if key in own], name


def test_every_optimizer_is_compared() -> None:
    there = {name for name in optim.__all__ if isinstance(x := getattr(optim, name), type)
             and issubclass(x, optim.Optimizer) and x is not optim.Optimizer}
    assert there == {name.split()[0] for name in [*PEERS, *FORMULAS]} - {"groups"} | {"LBFGS", "SparseAdam"}


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED])
def test_rows_that_do_not_occur_stay_as_pytorch_leaves_them(style: Any) -> None:
    """Tables of which each step takes few rows, some of them twice, under optimisers that know sparse gradients."""
    rng = np.random.default_rng(3)
    table, rows = rng.standard_normal((7, 3)).astype("f4"), rng.integers(0, 6, (20, 4))
    slopes = rng.standard_normal((20, 4, 3)).astype("f4")
    named = ("SGD(p, 0.1)", "Adagrad(p, 0.1, lr_decay=0.1)", "SparseAdam(p, 0.05, betas=(0.8, 0.9))")

    def ask(torch: Any) -> list[Array]:
        found: list[Array] = []
        for name in named:
            layer = torch.nn.Embedding.from_pretrained(torch.tensor(table), freeze=False, sparse=True)
            optimizer = eval(name, vars(torch.optim) | {"p": layer.parameters()})
            for index, slope in zip(rows, slopes):
                optimizer.zero_grad()
                (layer(torch.tensor(index)) * torch.tensor(slope)).sum().backward()
                optimizer.step()
            found.append(layer.weight.detach().numpy())
        return found

    made: list[Array] = []
    for name in named:
        layer = nn.Embedding.from_pretrained(table, freeze=False, sparse=True)
        optimizer = eval(name, vars(optim) | {"p": layer.parameters()})

        def step(index: Any, slope: Any, layer: nn.Embedding = layer, optimizer: Any = optimizer) -> None:
            optimizer.zero_grad()
            (layer(index) * slope).sum().backward()
            optimizer.step()

        step = style(step)
        for index, slope in zip(rows, slopes):
            step(st.tensor(index), st.tensor(slope))
        made.append(layer.weight.numpy())
        assert np.array_equal(made[-1][6], table[6])
    close(made, torch_gives("sparse_rows", ask))


A = RANDOM.standard_normal((30, 10)).astype(np.float32)
B = (RANDOM.random(30) < 0.5).astype(np.float32)


@pytest.mark.parametrize("searches", [None, "strong_wolfe"])
def test_lbfgs_makes_the_steps_of_pytorch(searches: str | None) -> None:
    options: dict[str, Any] = {"lr": 0.5 if searches is None else 1.0, "max_iter": 5, "history_size": 3,
                               "line_search_fn": searches}

    def ask(torch: Any) -> list[Array]:
        w = torch.zeros(10, requires_grad=True)
        optimizer, calls = torch.optim.LBFGS([w], **options), [0]

        def closure() -> Any:
            calls[0] += 1
            optimizer.zero_grad()
            z = torch.tensor(A) @ w
            loss = (torch.nn.functional.softplus(z) - z * torch.tensor(B)).mean() + 0.01 * (w * w).sum()
            loss.backward()
            return loss

        losses = [float(optimizer.step(closure).detach()) for _ in range(2)]
        return [w.detach().numpy(), np.array([*losses, calls[0]])]

    w = st.zeros(10).requires_grad_()
    optimizer, calls = optim.LBFGS([w], **options), [0]

    @st.compile
    def loss_of(w: st.Tensor) -> st.Tensor:
        z = st.tensor(A) @ w
        return (st.softplus(z) - z * st.tensor(B)).mean() + 0.01 * (w * w).sum()

    def closure() -> st.Tensor:
        calls[0] += 1
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure)) for _ in range(2)]
    found, counted = torch_gives(f"lbfgs_{searches}", ask)
    close([w.numpy(), np.array(losses)], [found, counted[:2]], 1e-5)
    assert calls[0] == counted[2]


def test_lbfgs_goes_on_from_a_state() -> None:
    def run(stops: bool) -> Array:
        w = st.zeros(10).requires_grad_()
        optimizer = optim.LBFGS([w], max_iter=2, line_search_fn="strong_wolfe")

        def closure() -> st.Tensor:
            optimizer.zero_grad()
            z = st.tensor(A) @ w
            loss = (st.softplus(z) - z * st.tensor(B)).mean() + 0.01 * (w * w).sum()
            loss.backward()
            return loss

        for k in range(3):
            optimizer.step(closure)
            if stops and k == 1:
                state = optimizer.state_dict()
                optimizer = optim.LBFGS([w], max_iter=2, line_search_fn="strong_wolfe")
                optimizer.load_state_dict(state)
        return w.numpy()

    assert np.array_equal(run(True), run(False))


def test_lbfgs_moves_alike_whether_or_not_its_state_is_looked_at() -> None:
    x, y = (np.random.default_rng(k).standard_normal((64, n)).astype("f4") for k, n in enumerate((6, 2)))

    def run(looks: bool) -> list[Array]:
        st.manual_seed(7)
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = optim.LBFGS(model.parameters(), lr=0.1)
        for k in range(0, 32, 8):
            batch = st.tensor(x[k:k + 8]), st.tensor(y[k:k + 8])

            def closure(batch: Any = batch) -> st.Tensor:
                optimizer.zero_grad()
                loss = nn.mse_loss(model(batch[0]), batch[1])
                loss.backward()
                return loss

            optimizer.step(closure)
            if looks:
                assert all(np.isfinite(kept.numpy()).all() for kept in optimizer.state_dict().values()
                           if isinstance(kept, st.Tensor))
        return [w.numpy() for w in model.parameters()]

    for one, other in zip(run(False), run(True), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "RMSprop all", "Adafactor", "Rprop", "ASGD", "groups"])
def test_a_state_goes_on_where_it_stood(name: str) -> None:
    def run(stops: int | None) -> list[Array]:
        own = parameters()
        optimizer = eval(PEERS[name], vars(optim) | {"p": own})
        for k, slopes in enumerate(SLOPES[:6]):
            if k == stops:
                state = optimizer.state_dict()
                optimizer = eval(PEERS[name], vars(optim) | {"p": own})
                optimizer.load_state_dict(state)
            for p, g in zip(own, slopes, strict=True):
                p.grad = st.tensor(g)
            optimizer.step()
            found = [p.numpy() for p in own]    # each step is computed by itself, as where losses are looked at
        return found

    for a, b in zip(run(3), run(None), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED], ids=["imperative", "compiled"])
@pytest.mark.parametrize("name", ["Adam", "Adamax", "NAdam", "RAdam", "Adagrad", "ASGD", "Adafactor"])
def test_a_parameter_that_joins_later_begins_with_its_own_first_step(name: str, style: Style,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was frozen, and one of a group that is added; their counts are in the state."""
    monkeypatch.setenv("STELE_BACKEND", "reference")

    def made(own: list[st.Tensor]) -> Any: return eval(PEERS[name], vars(optim) | {"p": own})

    def stepped(optimizer: Any, own: list[st.Tensor]) -> Any:
        def step(*slopes: st.Tensor) -> None:
            optimizer.zero_grad()
            sum((p * g).sum() for p, g in zip(own, slopes, strict=True) if p.requires_grad).backward()
            optimizer.step()
        return style(step)

    own, alone = parameters(), parameters()[1:]
    own[1].requires_grad = own[2].requires_grad = False
    optimizer = made(own[:2])
    step = stepped(optimizer, own)
    for k, slopes in enumerate(SLOPES[:6]):
        if k == 3:
            own[1].requires_grad = own[2].requires_grad = True
            optimizer.add_group({"params": own[2:]})
        if k == 4:
            state, optimizer = optimizer.state_dict(), made(own[:2])
            optimizer.add_group({"params": own[2:]})
            optimizer.load_state_dict(state)
            step = stepped(optimizer, own)
        step(*map(st.tensor, slopes))
    step = stepped(made(alone), alone)
    for slopes in SLOPES[3:6]:
        step(*map(st.tensor, slopes[1:]))
    close([p.numpy() for p in own[1:]], [p.numpy() for p in alone])


def test_parameters_that_move_together_are_counted_once_and_a_state_of_one_count_is_read() -> None:
    own = parameters()
    optimizer = optim.Adam(own)
    own[0].grad = st.ones_like(own[0])
    optimizer.step()
    assert [float(s.steps) for s in optimizer.states] == [1, 0, 0] and float(optimizer.steps) == 1
    assert optimizer.states[0].steps is not optimizer.states[1].steps is optimizer.states[2].steps
    state = {name: x for name, x in optimizer.state_dict().items() if not name.startswith("steps")}
    optimizer.load_state_dict(state | {"steps": st.tensor(5.0)})
    assert [float(s.steps) for s in optimizer.states] == [5, 5, 5]


@pytest.mark.parametrize("is_first", (False, True))
@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.1), lambda p: optim.Adagrad(p, 0.1, lr_decay=0.1),
                                  lambda p: optim.SparseAdam(p, 0.1)])
def test_a_compiled_step_touches_the_rows_of_a_table_that_occur(make: Any, is_first: bool) -> None:
    """Rows that occur twice, and with gradients of zero: as uncompiled, where gradients are tables. Then a table of 4
    MB, of which a step needs less than 256 KB of memory, and stays where it is. Gradients are forgotten behind the
    step, or in front of it: then those that are left behind are the same too, whenever somebody looks.
    """
    rng = np.random.default_rng(0)
    steps = [(rng.integers(0, 40, (3, 4)), rng.normal(size=(3, 4)).astype("f4") * (k != 2)) for k in range(6)]

    def trained(rows: int, width: int, compiled: bool) -> tuple[Array, Any, list[int]]:
        st.manual_seed(0)
        layer, places = nn.Embedding(rows, width, padding_idx=3), list[int]()
        optimizer = make(layer.parameters())

        def step(i: Any, w: Any) -> Any:
            if is_first:
                optimizer.zero_grad()
            loss = (layer(i).square().sum(axis=-1) * w).sum()
            loss.backward()
            optimizer.step()
            if not is_first:
                optimizer.zero_grad()
            return loss

        run = st.compile(step) if compiled else step
        for i, w in steps:
            run(st.tensor(i), st.tensor(w))
            places.append(layer.weight.numpy().ctypes.data)
        left = layer.weight.grad
        return np.stack([layer.weight.numpy(), *([] if left is None else [left.numpy()])]), run, places

    np.testing.assert_allclose(trained(40, 5, True)[0], trained(40, 5, False)[0], rtol=1e-6, atol=1e-6)
    _, run, places = trained(8192, 128, True)
    memory = run.programs[0].memory({})
    assert memory.arena.bytes + memory.results < 256 << 10 and len(set(places[1:])) == 1


def test_gradients_of_tables_are_sums_over_rows_until_somebody_looks() -> None:
    """Two calls that add up, one that forgets; an index that changes behind the call; a gradient that is returned too,
    read by the next call, saved, and of an index whose length is open.
    """
    table = st.tensor(np.arange(12, dtype=np.float32).reshape(6, 2), requires_grad=True)
    other = st.tensor(table.numpy(), requires_grad=True)

    def forward(x: Any, i: Any) -> Any:
        loss = x[i].square().sum()
        loss.backward()
        return loss

    run, index = st.compile(forward, dims={"i": {0: "n"}}), np.array([1, 4, 1])
    for k in range(3):
        run(table, index)
        forward(other, index)
        index[k] = 0                    # what is left behind is of the call
    assert table.grad is not None and other.grad is not None
    assert np.array_equal(table.grad.numpy(), other.grad.numpy())
    table.grad = None
    for i in ([2], [5, 5]):             # one program for both
        table.grad = None
        run(table, np.array(i))
    found = np.zeros((6, 2))
    found[5] = 2 * 2 * table.numpy()[5]
    assert table.grad is not None and np.array_equal(table.grad.numpy(), found)

    @st.compile
    def returned(i: Any) -> Any:
        table.grad = None
        table[i].sum().backward()
        return table.grad

    assert returned(np.array([3])) is table.grad and table.grad[3].tolist() == [1.0, 1.0]


RATES = {       # what both libraries make of one line; o is SGD at a rate of 0.5
    "LambdaLR": "LambdaLR(o, lambda step: 0.9 ** step)", "StepLR": "StepLR(o, 3, 0.5)",
    "MultiStepLR": "MultiStepLR(o, [2, 5, 5], 0.5)", "ExponentialLR": "ExponentialLR(o, 0.9)",
    "ConstantLR": "ConstantLR(o, 0.25, 3)", "LinearLR": "LinearLR(o, 0.25, 0.75, 4)",
    "PolynomialLR": "PolynomialLR(o, 7, 2.0)", "CosineAnnealingLR": "CosineAnnealingLR(o, 5, 0.1)",
    "CosineAnnealingWarmRestarts": "CosineAnnealingWarmRestarts(o, 3, 2, 0.1)",
    "OneCycleLR": "OneCycleLR(o, 2.0, epochs=1, steps_per_epoch=13, pct_start=0.4, cycle_momentum=False)",
    "OneCycleLR linear": "OneCycleLR(o, 2.0, 13, anneal_strategy='linear', div_factor=10.0, cycle_momentum=False)",
    "OneCycleLR of three": "OneCycleLR(o, 2.0, 13, pct_start=0.35, three_phase=True, cycle_momentum=False)",
    "MultiplicativeLR": "MultiplicativeLR(o, lambda step: 1 - 0.05 * step)",
    "CyclicLR": "CyclicLR(o, 0.1, 1.0, 3, 2, cycle_momentum=False)",
    "CyclicLR halved": "CyclicLR(o, 0.1, 1.0, 2, mode='triangular2', cycle_momentum=False)",
    "CyclicLR shrunk": "CyclicLR(o, 0.1, 1.0, 2, mode='exp_range', gamma=0.9, cycle_momentum=False)",
    "SequentialLR":
        "SequentialLR(o, [LinearLR(o, 0.1, total_iters=4), CosineAnnealingLR(o, 6), StepLR(o, 1, 0.5)], [4, 10])",
    "ChainedScheduler": "ChainedScheduler([ConstantLR(o, 0.25, 3), ExponentialLR(o, 0.9)])",
}


@pytest.mark.parametrize("name", RATES)
def test_rates_are_those_of_pytorch(name: str) -> None:
    def ask(torch: Any) -> list[Array]:
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.5)
        schedule = eval(RATES[name], vars(torch.optim.lr_scheduler) | {"o": optimizer})
        rates = [optimizer.param_groups[0]["lr"]]
        for _ in range(12):
            optimizer.step()
            schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
        return [np.array(rates)]

    optimizer = optim.SGD([st.zeros(1).requires_grad_()], 0.5)
    schedule = eval(RATES[name].replace(", cycle_momentum=False", ""), vars(optim) | {"o": optimizer})
    rates = [float(optimizer.lr)]
    for _ in range(12):
        schedule.step()
        rates += schedule.get_last_lr()
    close([np.array(rates)], torch_gives(f"rates_{name.replace(' ', '_').lower()}", ask), 1e-6)


OF_GROUPS = {       # schedules with an option for each of two groups
    "LambdaLR": "LambdaLR(o, [lambda step: 0.9 ** step, lambda step: 1 / (step + 1)])",
    "MultiplicativeLR": "MultiplicativeLR(o, [lambda step: 1 - 0.05 * step, lambda step: 0.5])",
    "OneCycleLR": "OneCycleLR(o, [2.0, 0.5], 13, cycle_momentum=False)",
    "CyclicLR": "CyclicLR(o, [0.1, 0.2], [1.0, 0.5], 3, 2, cycle_momentum=False)",
    "SequentialLR": "SequentialLR(o, [LambdaLR(o, [lambda k: 0.5, lambda k: 0.25]), "
                    "LambdaLR(o, [lambda k: 0.75 ** k, lambda k: 0.5 ** k])], [4])",
    "ReduceLROnPlateau": "ReduceLROnPlateau(o, patience=1, factor=0.5, min_lr=[0.2, 0.0])",
}


@pytest.mark.parametrize("name", OF_GROUPS)
def test_rates_of_groups_are_those_of_pytorch(name: str) -> None:
    measures = [1.0] if name == "ReduceLROnPlateau" else []

    def ask(torch: Any) -> list[Array]:
        groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": lr} for lr in (0.5, 2.0)]
        optimizer = torch.optim.SGD(groups, 0.5)
        schedule = eval(OF_GROUPS[name], vars(torch.optim.lr_scheduler) | {"o": optimizer})
        rates = []
        for _ in range(12):
            optimizer.step()
            schedule.step(*measures)
            rates.append([group["lr"] for group in optimizer.param_groups])
        return [np.array(rates)]

    def made() -> tuple[optim.SGD, optim.Schedule]:
        groups = [{"params": [st.zeros(1).requires_grad_()], "lr": lr} for lr in (0.5, 2.0)]
        optimizer = optim.SGD(groups, 0.5)
        return optimizer, eval(OF_GROUPS[name].replace(", cycle_momentum=False", ""), vars(optim) | {"o": optimizer})

    (optimizer, schedule), rates = made(), []
    for k in range(12):
        if k == 5:      # gone on with from its state
            (again, other), states = made(), (optimizer.state_dict(), schedule.state_dict())
            again.load_state_dict(states[0])
            other.load_state_dict(json.loads(json.dumps(states[1])))
            optimizer, schedule = again, other
        schedule.step(*measures)
        rates.append(schedule.get_last_lr())
    close([np.array(rates)], torch_gives(f"rates_of_groups_{name.lower()}", ask), 1e-6)


@pytest.mark.parametrize(("make", "says"), [
    (lambda o: optim.LambdaLR(o, [lambda step: 1.0]), "lr_lambda of LambdaLR has one for each group.*, 2, got 1"),
    (lambda o: optim.LambdaLR(o, 3), "a function of the step, or a list of one for each group, got an int"),
    (lambda o: optim.OneCycleLR(o, [1.0, 2.0, 3.0], 5), "max_lr of OneCycleLR has one for each group.*, 2, got 3"),
    (lambda o: optim.OneCycleLR(o, ["a", 2.0], 5), "max_lr of OneCycleLR"),
    (lambda o: optim.CyclicLR(o, 0.1, [1.0]), "max_lr of CyclicLR has one for each group"),
])
def test_options_of_groups_are_as_many(make: Any, says: str) -> None:
    optimizer = optim.SGD([{"params": [st.zeros(1).requires_grad_()]} for _ in range(2)], 0.5)
    with pytest.raises(ArgumentError, match=says):
        make(optimizer)


def test_a_group_that_is_added_behind_options_of_groups_is_told() -> None:
    optimizer = optim.SGD([{"params": [st.zeros(1).requires_grad_()]} for _ in range(2)], 0.5)
    schedule = optim.CyclicLR(optimizer, [0.1, 0.2], [1.0, 0.5])
    optimizer.add_param_group({"params": [st.zeros(2).requires_grad_()]})
    with pytest.raises(ArgumentError, match="has 2 for the groups of the optimizer, which has more by now"):
        schedule.step()


def test_entries_of_groups_are_the_numbers_of_now() -> None:
    """As those that code of PyTorch collects, multiplies and writes to a file."""
    optimizer = optim.SGD([st.zeros(1).requires_grad_()], 0.1, momentum=0.9)
    schedule, rates = optim.OneCycleLR(optimizer, 0.2, 6, cycle_momentum=True), list[tuple[float, float]]()
    for _ in range(5):
        group = optimizer.param_groups[0]
        rates.append((group["lr"], group["momentum"]))
        schedule.step()
    assert json.loads(json.dumps(rates)) == [[*pair] for pair in rates] and len(set(rates)) == 5
    optimizer = optim.Adam([st.zeros(1).requires_grad_()], 0.1)
    optimizer.param_groups[0]["lr"] *= 0.5
    assert optimizer.param_groups[0]["lr"] == 0.05 and optimizer.param_groups[0]["betas"] == (0.9, 0.999)
    step = st.compile(lambda: optimizer.param_groups[0]["lr"] * 2)
    assert step().item() == np.float32(0.1)
    optimizer.lr = 1.5
    assert step().item() == 3 and step.compiles == 1 and optim.StepLR(optimizer, 3).get_last_lr() == [1.5]


CYCLES = {
    "one": "OneCycleLR(o, 0.2, 20)",
    "three": "OneCycleLR(o, 0.2, 20, pct_start=0.35, anneal_strategy='linear', three_phase=True, cycle_momentum=True, "
             "base_momentum=0.7, max_momentum=0.9)",
    "waves": "CyclicLR(o, 0.01, 0.2, 3, 4, mode='triangular2')",
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
@pytest.mark.parametrize("name", CYCLES)
def test_momentum_is_cycled_as_by_pytorch(name: str, kind: str, compiled: bool) -> None:
    """The momentum of each step, and where 20 of them lead."""
    options: dict[str, Any] = {"momentum": 0.9} if kind == "SGD" else {}
    slopes = np.random.default_rng(0).normal(size=(20, 3)).astype("f4")

    def ask(torch: Any) -> list[Array]:
        x, found = torch.zeros(3, requires_grad=True), list[Any]()
        optimizer = getattr(torch.optim, kind)([x], 0.5, **options)
        schedule = eval(CYCLES[name], vars(torch.optim.lr_scheduler) | {"o": optimizer})
        for k in range(20):
            group = optimizer.param_groups[0]
            x.grad = torch.tensor(slopes[k])
            found.append([group["momentum"] if "momentum" in group else group["betas"][0], group["lr"]])
            optimizer.step()
            if k < 19:
                schedule.step()
        return [np.array(found), x.detach().numpy()]

    x, found = st.zeros(3).requires_grad_(), list[Any]()
    optimizer: Any = getattr(optim, kind)([x], 0.5, **options)
    schedule = eval(CYCLES[name], vars(optim) | {"o": optimizer})

    def step(slope: Any) -> None:
        optimizer.zero_grad()
        (x * slope).sum().backward()
        optimizer.step()

    run: Any = st.compile(step) if compiled else step
    for k in range(20):
        group = optimizer.groups[0]
        run(st.tensor(slopes[k]))
        found.append([float(group.momentum if kind == "SGD" else group.betas[0]), float(group.lr)])
        if k < 19:
            schedule.step()
    close([np.array(found), x.numpy()], torch_gives(f"cycle_{name}_{kind.lower()}", ask), 1e-5)
    assert not compiled or len(run.programs) == 1
    again: Any = getattr(optim, kind)([st.zeros(3).requires_grad_()], 0.5, **options)
    again.load_state_dict(optimizer.state_dict())
    assert again.state_dict()["options.0"] == optimizer.state_dict()["options.0"]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_momentum_that_moves_goes_on_to_the_same_bits(kind: str) -> None:
    x = st.tensor(np.float32([0.3, -0.7, 1.1]), requires_grad=True)
    optimizer = getattr(optim, kind)([x], 0.1, **({"momentum": 0.9} if kind == "SGD" else {}))
    schedule = optim.OneCycleLR(optimizer, 0.1, 10, cycle_momentum=True, max_momentum=0.93)

    @st.compile
    def step() -> None:
        optimizer.zero_grad()
        (x ** 3).sum().backward()
        optimizer.step()

    def found() -> list[bytes]:
        for _ in range(3):
            step()
        return [x.numpy().tobytes(), *(t.numpy().tobytes() for t in optimizer.states[0].tensors().values())]

    step()
    schedule.step()
    state, x_was = optimizer.state_dict(), x.detach().clone()
    state = {name: t.detach().clone() if isinstance(t, st.Tensor) else t for name, t in state.items()}
    first = found()
    optimizer.load_state_dict(state)
    with st.no_grad():
        x.assign(x_was)
    assert found() == first and len(step.programs) == 1


def test_what_has_no_momentum_is_not_cycled() -> None:
    for made in (optim.RMSprop, optim.SGD):
        with pytest.raises(ArgumentError, match="cycle_momentum of CyclicLR"):
            optim.CyclicLR(made([st.zeros(1).requires_grad_()], 0.1), 0.1, 1.0, cycle_momentum=True)


def test_a_plateau_is_seen_as_by_pytorch() -> None:
    losses = [3.0, 2.0, 2.0, 1.9999, 2.1, 2.0, 2.0, 2.0, 1.5, 1.6, 1.6, 1.6, 1.6, 1.6, 1.6]
    options: dict[str, Any] = {"factor": 0.5, "patience": 2, "cooldown": 1, "min_lr": 0.2}

    def ask(torch: Any) -> list[Array]:
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 1.0)
        schedule, rates = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options), list[float]()
        for loss in losses:
            schedule.step(loss)
            rates.append(optimizer.param_groups[0]["lr"])
        return [np.array(rates)]

    optimizer = optim.SGD([st.zeros(1).requires_grad_()], 1.0)
    schedule, rates = optim.ReduceLROnPlateau(optimizer, **options), list[float]()
    for loss in losses:
        schedule.step(st.tensor(loss))
        rates.append(float(optimizer.lr))
    close([np.array(rates)], torch_gives("rates_plateau", ask), 1e-6)
    with pytest.raises(ArgumentError, match="needs the measure"):
        schedule.step()


def test_every_schedule_is_compared() -> None:
    own = {"CosineDecay", "InverseSqrt", "LinearWarmup", "ReduceLROnPlateau"}       # elsewhere
    there = {name for name in optim.__all__ if isinstance(x := getattr(optim, name), type)
             and issubclass(x, optim.Schedule) and x is not optim.Schedule}
    assert there == {name.split()[0] for name in RATES} | own


@pytest.mark.parametrize("name", ["CosineAnnealingLR", "OneCycleLR", "CyclicLR", "SequentialLR"])
def test_a_schedule_goes_on_where_it_stood(name: str) -> None:
    text = RATES[name].replace(", cycle_momentum=False", "")
    optimizer = optim.SGD([st.zeros(1).requires_grad_()], 0.5)
    schedule = eval(text, vars(optim) | {"o": optimizer})
    for _ in range(5):
        schedule.step()
    again = optim.SGD([st.zeros(1).requires_grad_()], 0.5)
    later = eval(text, vars(optim) | {"o": again})
    later.load_state_dict(schedule.state_dict())
    schedule.step(), later.step()
    assert float(optimizer.lr) == float(again.lr) and later.state_dict() == schedule.state_dict()
    with pytest.raises(DataError):
        later.load_state_dict({"kind": "another"})


def test_groups_have_rates_and_options_of_their_own() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    groups = optim.grouped(model.named_parameters(), {"*.bias": {"weight_decay": 0.0}, "1.*": {"lr": 0.5}})
    optimizer = optim.AdamW(groups, lr=0.1)
    assert [len(g.params) for g in optimizer.groups] == [2, 1, 1] == [len(g["params"]) for g in optimizer.param_groups]
    assert [float(g.lr) for g in optimizer.groups] == pytest.approx([0.1, 0.5, 0.1])
    assert [g.weight_decay for g in optimizer.groups] == [0.0, 0.01, 0.01] and optimizer.groups[0]["weight_decay"] == 0
    schedule = optim.StepLR(optimizer, 1, 0.5)
    schedule.step()
    assert schedule.get_last_lr() == pytest.approx([0.05, 0.25, 0.05])
    optimizer.groups[1]["lr"] = 0.3
    assert [float(g["lr"]) for g in optimizer.groups] == pytest.approx([0.05, 0.3, 0.05])
    optimizer.lr = 0.2
    assert {float(g.lr) for g in optimizer.groups} == {float(np.float32(0.2))}
    optimizer.add_group({"params": st.zeros(2).requires_grad_(), "betas": (0.5, 0.5)})
    assert len(optimizer.states) == 5 and optimizer.states[-1].betas == (0.5, 0.5)
    assert "4 groups; 5 tensors" in repr(optimizer) and "weight_decay=0.0" in repr(optimizer.groups[0])


def slower(LRScheduler: Any) -> Any:
    """A class as PyTorch's users write it."""
    class Slower(LRScheduler):
        def __init__(self, optimizer: Any, by: float = 0.5, last_epoch: int = -1) -> None:
            self.by = by
            super().__init__(optimizer, last_epoch)

        def get_lr(self) -> list[float]:
            if self.last_epoch < 2:
                return [group["lr"] * self.by for group in self.optimizer.param_groups]
            return [first / (1 + self.last_epoch) for first in self.base_lrs]

    return Slower


Slower = slower(optim.lr_scheduler.LRScheduler)


class Short(optim.lr_scheduler.LRScheduler):
    """One of no rates."""

    def get_lr(self) -> list[float]:
        return []


def test_classes_of_schedules_are_written_as_in_pytorch() -> None:
    def rates(schedule: Any) -> list[list[float]]:
        found = [[float(rate) for rate in schedule.get_last_lr()]]
        for _ in range(4):
            schedule.optimizer.step()
            schedule.step()
            found.append([float(rate) for rate in schedule.get_last_lr()])
        return found

    def ask(torch: Any) -> list[list[float]]:
        a, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
        optimizer = torch.optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b]}], 0.25)
        return rates(slower(torch.optim.lr_scheduler.LRScheduler)(optimizer, 0.75))

    a, b = (st.zeros(1).requires_grad_() for _ in range(2))
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b]}], 0.25)
    schedule = Slower(optimizer, 0.75)
    np.testing.assert_allclose(rates(schedule), torch_says("schedule_class", ask), rtol=1e-6)
    assert schedule.state_dict()["by"] == 0.75 and schedule.last_epoch == 4 and schedule.base_lrs == [0.5, 0.25]
    optimizer.add_group({"params": [st.zeros(1).requires_grad_()]})
    schedule.step()
    assert schedule.get_last_lr()[2] == pytest.approx(0.25 / 6)
    for kind in vars(optim).values():
        assert not (isinstance(kind, type) and kind.__name__.endswith("LR")) or issubclass(
            kind, optim.lr_scheduler.LRScheduler)


REFUSED = [
    (lambda p: optim.SGD([{"params": p, "speed": 1}], 0.1), GraphError, "an option of SGD"),
    (lambda p: optim.SGD([{"lr": 1}], 0.1), GraphError, 'a dict with "params"'),
    (lambda p: optim.SGD([{"params": p}, {"params": p[:1]}], 0.1), GraphError, "stands in two groups"),
    (lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True, dampening=0.1), GraphError, "dampening=0"),
    (lambda p: optim.RMSprop(p, momentum=-1), GraphError, "momentum >= 0"),
    (lambda p: optim.Rprop(p, etas=(1.2, 0.5)), GraphError, "etas below and above 1"),
    (lambda p: optim.Adafactor(p, beta2_decay=0.8), GraphError, "beta2_decay <= 0"),
    (lambda p: optim.RMSprop(p, alpha=-0.1), GraphError, "alpha >= 0"),
    (lambda p: optim.Adagrad(p, initial_accumulator_value=-0.1), GraphError, "initial_accumulator_value >= 0"),
    (lambda p: optim.Adadelta(p, rho=-0.1), GraphError, "rho >= 0"),
    (lambda p: optim.Adadelta(p, rho=1.1), GraphError, "rho <= 1"),
    (lambda p: optim.NAdam(p, momentum_decay=-0.1), GraphError, "momentum_decay >= 0"),
    (lambda p: optim.Adafactor(p, eps=(-1.0, 1e-3)), GraphError, "both eps >= 0"),
    (lambda p: optim.Adafactor(p, eps=(None, -1.0)), GraphError, "both eps >= 0"),
    (lambda p: optim.Adafactor(p, d=0.5), GraphError, "d >= 1"),
    (lambda p: optim.ConstantLR(optim.SGD(p), 1.5), ShapeError, "factor of ConstantLR must be from 0 to 1"),
    (lambda p: optim.LinearLR(optim.SGD(p), 0.0), ShapeError, "start_factor of LinearLR may not be 0"),
    (lambda p: optim.LinearLR(optim.SGD(p), 1.5), ShapeError, "start_factor of LinearLR must be from 0 to 1"),
    (lambda p: optim.LinearLR(optim.SGD(p), end_factor=-0.5), ShapeError, "end_factor of LinearLR must be from 0 to 1"),
    (lambda p: optim.ReduceLROnPlateau(optim.SGD(p), factor=1.0), ShapeError, "ReduceLROnPlateau may not be 1"),
    (lambda p: Slower(optim.SGD(p), last_epoch=3), ArgumentError, "begins at its first step.*load_state_dict"),
    (lambda p: optim.SequentialLR(o := optim.SGD(p), [Slower(o)], []), ArgumentError, "Write factor.self, step"),
    (lambda p: Short(optim.SGD(p)), ArgumentError, "get_lr of Short gives a rate for each group"),
    (lambda p: optim.lr_scheduler._LRScheduler, AttributeError, "Write optim.lr_scheduler.LRScheduler"),
    (lambda p: optim.lr_scheduler.StepLr, AttributeError, "Did you mean 'StepLR'"),
    (lambda p: optim.Muon(p), ShapeError, "Muon moves matrices"),
    (lambda p: optim.LBFGS(p, line_search_fn="wolfe"), OptionError, "strong_wolfe"),
    (lambda p: optim.LBFGS(p).step(), GraphError, "optimizer.step\\(closure\\)"),
    (lambda p: optim.LBFGS([{"params": p[:1]}, {"params": p[1:]}]), GraphError, "got 2 groups"),
    (lambda p: optim.grouped([("a", p[0])], {"b.*": {}}), ArgumentError, "no parameter is named"),
    (lambda p: optim.StepLR(p, 3), ArgumentError, "takes an optimizer"),
    (lambda p: optim.StepLR(optim.SGD(p), 0), SteleError, "step_size of StepLR"),
    (lambda p: optim.SequentialLR(o := optim.SGD(p), [optim.StepLR(o, 1)], [1]), ArgumentError, "0 rising milestones"),
    (lambda p: optim.ChainedScheduler([]), ArgumentError, "takes an optimizer"),
    (lambda p: optim.EMA([3]), ArgumentError, "a list of tensors"),
    (lambda p: optim.EMA(100), ArgumentError, "parameters of EMA must be a list of tensors"),
    (lambda p: optim.EMA(p[0]), ArgumentError, r"Pass \[x\]"),
    (lambda p: optim.clip_grad_norm(p[0], 1.0), ArgumentError, "parameters of clip_grad_norm"),
    (lambda p: optim.clip_grad_value(p, "a"), ArgumentError, "limit of clip_grad_value must be a number"),
    (lambda p: optim.Lookahead(p), ArgumentError, "Lookahead takes an optimizer, got a list"),
    (lambda p: optim.LossScaler([1.0]), ArgumentError, "factor of LossScaler must be a number"),
    (lambda p: optim.Adam(p, betas=0.9), ArgumentError, "betas of Adam must be 2 numbers"),
    (lambda p: optim.Adam(p, betas=(0.9, 0.9, 0.9)), ShapeError, "betas of Adam must be 2 numbers, got 3"),
    (lambda p: optim.AdamW(p, amsgrad="yes"), ArgumentError, "amsgrad of AdamW must be True or False"),
    (lambda p: optim.Adafactor(p, eps=0.1), ArgumentError, "eps of Adafactor must be 2 numbers"),
    (lambda p: optim.Adafactor(p, eps=(None, None)), ArgumentError, "every number of eps of Adafactor"),
    (lambda p: optim.Muon(p, ns_coefficients=2), ArgumentError, "ns_coefficients of Muon must be 3 numbers"),
    (lambda p: optim.LBFGS(p, max_iter="a"), ArgumentError, "max_iter of LBFGS must be a whole number"),
    (lambda p: optim.LBFGS(p, line_search_fn=np.ones(2)), OptionError, "strong_wolfe"),
    (lambda p: optim.SGD([{"params": p, "momentum": "a"}], 0.1), ArgumentError, "momentum of SGD must be a number"),
    (lambda p: optim.SGD([{"params": 3}], 0.1), ArgumentError, "params of SGD must be a list of tensors"),
    (lambda p: optim.SGD(p).add_group(3), ArgumentError, "group of add_group must be a dict"),
    (lambda p: optim.SGD(p).load_state_dict([1]), ArgumentError, "state of load_state_dict must be a dict"),
    (lambda p: optim.EMA(p).load_state_dict(3), ArgumentError, "state of load_state_dict must be a dict"),
    (lambda p: optim.StepLR(optim.SGD(p), 3).load_state_dict(3), ArgumentError, "state of load_state_dict"),
    (lambda p: optim.grouped([1.5], {}), ArgumentError, "pairs of a name and a tensor"),
    (lambda p: optim.grouped([("a", p[0])], {"a": 3}), ArgumentError, "every entry of options of grouped"),
    (lambda p: optim.MultiStepLR(optim.SGD(p), 0.5), ArgumentError, "milestones of MultiStepLR must be"),
    (lambda p: optim.ExponentialLR(optim.SGD(p), (1, 1)), ArgumentError, "gamma of ExponentialLR must be a number"),
    (lambda p: optim.OneCycleLR(optim.SGD(p), 1.0, 5, div_factor=0), ArgumentError, "OneCycleLR.* is no number"),
    (lambda p: optim.LambdaLR(optim.SGD(p), lambda step: "a"), ArgumentError, "what lr_lambda of LambdaLR gives"),
    (lambda p: steps(optim.ExponentialLR(optim.SGD(p), 1e300), 2), ArgumentError, "ExponentialLR.* is no number"),
    (lambda p: optim.SGD(p).groups[0].speed, AttributeError, "has no 'speed'"),
]


def steps(schedule: Any, n: int) -> None:
    """So many steps of a schedule."""
    for _ in range(n):
        schedule.step()


@pytest.mark.parametrize("wrong, error, message", REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_what_does_not_fit_is_refused(wrong: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(parameters())


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED], ids=["imperative", "compiled"])
def test_means_follow_their_formulas(style: Style) -> None:
    x = st.tensor(START[0])
    ema, warm, swa = optim.EMA([x], 0.9), optim.EMA([x], 0.9, warm=True), optim.SWA([x])

    def update(new: st.Tensor) -> None:
        x.assign(new)
        for mean in (ema, warm, swa):
            mean.update()

    update = style(update)
    seen, a, b = [], START[0].astype(np.float64), START[0].astype(np.float64)
    for t, slopes in enumerate(SLOPES[:5], 1):
        update(st.tensor(slopes[0]))
        seen.append(slopes[0])
        a = 0.9 * a + 0.1 * slopes[0]
        d = min(0.9, (1 + t) / (10 + t))
        b = d * b + (1 - d) * slopes[0]
    close([ema.means[0].numpy(), warm.means[0].numpy(), swa.means[0].numpy()], [a, b, np.mean(seen, 0)])
    with pytest.raises(RuntimeError, match="inside"), ema.applied():
        close([x.numpy()], [a])
        raise RuntimeError("inside")
    assert np.array_equal(x.numpy(), SLOPES[4][0])
    again = optim.EMA([x], 0.9)
    again.load_state_dict(ema.state_dict())
    assert np.array_equal(again.means[0].numpy(), ema.means[0].numpy()) and float(again.count) == 5
    with pytest.raises(DataError):
        again.load_state_dict(swa.state_dict())


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED], ids=["imperative", "compiled"])
def test_lookahead_goes_back_to_the_slow_parameters(style: Style) -> None:
    found = descended(lambda p: optim.Lookahead(optim.SGD(p, 0.1), k=3, alpha=0.4), style, 1)
    fast = slow = START[0].astype(np.float64)
    for t, slopes in enumerate(SLOPES, 1):
        fast = fast - 0.1 * slopes[0]
        if t % 3 == 0:
            slow = slow + 0.4 * (fast - slow)
            fast = slow
    close(found, [fast])
    optimizer = optim.Lookahead(optim.Adam(parameters(1)), k=2)
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.lr = 0.5
    assert float(optimizer.lr) == float(optimizer.optimizer.lr) == 0.5
    with pytest.raises(DataError):
        optimizer.load_state_dict({})


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED], ids=["imperative", "compiled"])
def test_a_scaler_leaves_steps_out_whose_gradients_are_not_finite(style: Style) -> None:
    own, plain = parameters(1), parameters(1)
    optimizer, beside = optim.Adam(own, 0.1), optim.Adam(plain, 0.1)
    scaler = optim.LossScaler(8.0, interval=2)

    def step(slope: st.Tensor) -> None:
        optimizer.zero_grad()
        scaler.scale((own[0] * slope).sum()).backward()
        scaler.unscale(optimizer)
        optim.clip_grad_norm(own, 1e9)
        scaler.step(optimizer)
        scaler.update()

    step = style(step)
    factors = []
    for k, slopes in enumerate(SLOPES[:5]):
        slope = slopes[0].copy()
        if k == 1:
            slope[0, 0] = np.inf
        else:
            plain[0].grad = st.tensor(slope)
            beside.step()
        step(st.tensor(slope))
        factors.append(float(scaler.factor))
    assert factors == [8, 4, 4, 8, 8]
    close([own[0].numpy()], [plain[0].numpy()], 1e-6)
    again = optim.LossScaler()
    again.load_state_dict(scaler.state_dict())
    assert float(again.factor) == 8 and again.interval == 2 and float(again.taken) == 1


CHANGES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "SGD": (lambda p, **o: optim.SGD(p, 0.1, **o), {"momentum": 0.9, "nesterov": True}),
    "RMSprop": (lambda p, **o: optim.RMSprop(p, 0.1, alpha=0.0, **o), {"momentum": 0.9}),
    "Adam": (lambda p, **o: optim.Adam(p, 0.1, betas=(0.0, 0.0), **o), {"amsgrad": True}),
}


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED], ids=["imperative", "compiled"])
@pytest.mark.parametrize("kind", CHANGES)
def test_an_option_that_changes_later_has_what_it_needs(kind: str, style: Style, monkeypatch: Any) -> None:
    """It goes on as an optimiser that is made with the option, at that place."""
    monkeypatch.setenv("STELE_BACKEND", "reference")
    make, options = CHANGES[kind]

    def stepped(p: st.Tensor, optimizer: Any) -> Any:
        def step(slope: st.Tensor) -> None:
            optimizer.zero_grad()
            (p * slope).sum().backward()
            optimizer.step()
        return style(step)

    (own,), (other,) = parameters(1), parameters(1)
    optimizer = make([own])
    step = stepped(own, optimizer)
    for slopes in SLOPES[:2]:
        step(st.tensor(slopes[0]))
    for name, x in options.items():
        optimizer.param_groups[0][name] = x
    other.assign(own)
    beside = stepped(other, make([other], **options))
    for slopes in SLOPES[2:5]:
        step(st.tensor(slopes[0]))
        beside(st.tensor(slopes[0]))
    close([own.numpy()], [other.numpy()])
    make([other], **options).load_state_dict(optimizer.state_dict())


def test_an_option_that_changes_later_is_checked() -> None:
    group = optim.SGD(parameters(1), 0.1).groups[0]
    assert "momentum" in group and "lr" in group and "amsgrad" not in group
    for name, x in {"momentum": -1, "nesterov": True, "weight_decay": -0.1}.items():
        with pytest.raises(GraphError, match="SGD needs"):
            group[name] = x
    assert group["momentum"] == 0 and not group["nesterov"]


@pytest.mark.parametrize("make", [
    lambda o: optim.StepLR(o, 2, 0.5), lambda o: optim.ExponentialLR(o, 0.5),
    lambda o: optim.CosineAnnealingLR(o, 8, 0.01),
    lambda o: optim.ChainedScheduler([optim.StepLR(o, 2, 0.5), optim.ExponentialLR(o, 0.9)])])
def test_a_group_that_is_added_later_goes_on_from_its_own_rate(make: Any) -> None:
    """As one that was there from the beginning, with the same rate at that step: PyTorch's recursive forms do so."""
    first, second, beside = parameters()
    optimizer, other = optim.SGD([first], 0.1), optim.SGD([beside], 0.4)
    schedule, reference = make(optimizer), make(other)
    for k in range(6):
        if k == 3:
            optimizer.add_group({"params": [second], "lr": float(other.lr)})
        schedule.step(), reference.step()
    assert [*map(float, schedule.get_last_lr())][1] == pytest.approx(float(other.lr), rel=1e-5)
    assert schedule.bases == pytest.approx([0.1, 0.4]) and make(optimizer).bases == pytest.approx([0.1, 0.4])


@pytest.mark.parametrize("style", [IMPERATIVE, COMPILED], ids=["imperative", "compiled"])
def test_a_scaler_serves_several_optimizers(style: Style, monkeypatch: pytest.MonkeyPatch) -> None:
    """All divide by the factor that the loss was multiplied with, each once; one alone may leave its step out."""
    monkeypatch.setenv("STELE_BACKEND", "reference")
    (one, other, frozen), alone = parameters(), parameters(2)
    frozen.requires_grad = False
    makers = [lambda p: optim.Adam(p, 0.1), lambda p: optim.SGD(p, 0.1, momentum=0.9)]
    first, second = makers[0]([one, frozen]), makers[1]([other])
    scaler = optim.LossScaler(8.0, interval=1)

    def step(a: st.Tensor, b: st.Tensor) -> None:
        first.zero_grad(), second.zero_grad()
        scaler.scale((one * a).sum() + (other * b).sum()).backward()
        scaler.unscale(first)
        scaler.unscale(second)
        scaler.step(first)
        scaler.step(second)
        scaler.update()

    step, factors = style(step), []
    optimizers = [make([p]) for make, p in zip(makers, alone, strict=True)]
    for k, slopes in enumerate(SLOPES[:4]):
        given = [slopes[0].copy(), slopes[1]]
        given[0][0, 0] = np.nan if k == 0 else given[0][0, 0]
        for p, optimizer, g in zip(alone, optimizers, given, strict=True):
            p.grad = st.tensor(g)
            if np.isfinite(g).all():
                optimizer.step()
        step(*map(st.tensor, given))
        factors.append(float(scaler.factor))
    assert factors == [4, 8, 16, 32] and [float(s.steps) for s in first.states] == [3, 0]
    close([one.numpy(), other.numpy()], [p.numpy() for p in alone], 1e-6)


@pytest.mark.parametrize("wrong", [lambda s, o: (s.unscale(o), s.unscale(o)), lambda s, o: (s.step(o), s.step(o)),
                                   lambda s, o: (s.step(o), s.unscale(o)), lambda s, o: s.update()])
def test_a_scaler_refuses_what_would_divide_twice(wrong: Callable[[Any, Any], Any]) -> None:
    own = parameters(1)
    own[0].grad = st.ones_like(own[0])
    with pytest.raises(GraphError, match=r"divided by the factor already.*update|found no step"):
        wrong(optim.LossScaler(8.0), optim.SGD(own, 0.1))
