"""Schedules beside compiled steps and inside of them: one trace, and the bits of uncompiled ones."""
from __future__ import annotations

import gc
import threading
from typing import Any
from weakref import ref

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.eager.live import is_there
from stele.errors import ArgumentError, TraceError

CYCLED = "OneCycleLR(o, 0.2, 30)", "CyclicLR(o, 0.01, [0.2, 0.4], 2, 3, mode='exp_range', gamma=0.9)"


class Written(optim.lr_scheduler.LRScheduler):
    """One as PyTorch's users write it: of the rates that there are, and of the first ones."""

    def get_lr(self) -> list[float]:
        if self.last_epoch % 3 == 0:
            return [first / (1 + self.last_epoch) for first in self.base_lrs]
        return [group["lr"] * 0.7 for group in self.optimizer.param_groups]


class Halved(optim.Schedule):
    """One that says its factor."""

    def factor(self, step: int) -> float:
        return 0.5 ** (step // 2)


MADE = {
    "LambdaLR": "LambdaLR(o, lambda step: (0.9, 0.7, 0.3)[step % 3])",
    "LambdaLR of groups": "LambdaLR(o, [lambda step: 0.9 ** step, lambda step: 1 / (step + 1)])",
    "MultiplicativeLR": "MultiplicativeLR(o, lambda step: 1 - 0.05 * step)",
    "StepLR": "StepLR(o, 2, 0.3)", "MultiStepLR": "MultiStepLR(o, [2, 5, 5], 0.3)",
    "ExponentialLR": "ExponentialLR(o, 0.9)", "ConstantLR": "ConstantLR(o, 0.3, 3)",
    "LinearLR": "LinearLR(o, 0.25, 0.75, 4)", "LinearWarmup": "LinearWarmup(o, 5)", "InverseSqrt": "InverseSqrt(o, 3)",
    "PolynomialLR": "PolynomialLR(o, 7, 1.7)", "CosineDecay": "CosineDecay(o, 6, 0.1)",
    "CosineAnnealingLR": "CosineAnnealingLR(o, 5, 0.1)",
    "CosineAnnealingWarmRestarts": "CosineAnnealingWarmRestarts(o, 3, 2, 0.1)",
    "OneCycleLR": CYCLED[0], "CyclicLR": CYCLED[1],
    "SequentialLR": "SequentialLR(o, [LinearLR(o, 0.1, total_iters=4), CosineAnnealingLR(o, 6), StepLR(o, 1)], [3, 6])",
    "ChainedScheduler": "ChainedScheduler([MultiplicativeLR(o, lambda k: 1 / k), ExponentialLR(o, 0.9)])",
    "ReduceLROnPlateau": "ReduceLROnPlateau(o, patience=1, factor=0.5, threshold=0.2, cooldown=1, min_lr=[0.1, 0.0])",
    "a class with get_lr": "Written(o)", "a class with a factor": "Halved(o)",
}


class Run:
    """A training of two groups, and all that is to be the same whether its step is compiled or not."""

    def __init__(self, schedule: str, optimizer: str = "SGD", dtype: str = "float32", **options: Any) -> None:
        self.x, self.y = (st.tensor([0.5, -0.25, 2.0], dtype=dtype, requires_grad=True) for _ in range(2))
        groups = [{"params": [self.x], "lr": 0.5}, {"params": [self.y]}]
        self.optimizer: Any = getattr(optim, optimizer)(groups, 0.3, **options)
        self.schedule: Any = eval(schedule, vars(optim) | globals() | {"o": self.optimizer})
        self.takes = isinstance(self.schedule, optim.ReduceLROnPlateau)

    def step(self, k: Any) -> Any:
        """One step on the numbers of a batch."""
        loss = (self.x * k).square().sum() + (self.y - k).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.schedule.step(*[k.max()][:self.takes])
        return loss

    def found(self) -> Any:
        """Where the run is, to the last bit: rates, options that move, and the schedule."""
        rates = [group["lr"] for group in self.optimizer.param_groups]
        assert rates == self.schedule.get_last_lr() and all(type(rate) is float for rate in rates)
        assert type(self.schedule.last_epoch) is int
        options = [self.optimizer.state_dict()[f"options.{k}"] for k in range(2)]
        return [float(group.lr) for group in self.optimizer.groups], options, self.schedule.state_dict()


def batches(n: int = 9) -> list[Any]:
    """Numbers that fall at first and then do not."""
    return [st.tensor([0.1, 0.2, 0.3]) / (1 + min(k, 4)) for k in range(n)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
@pytest.mark.parametrize("name", MADE)
def test_a_step_with_its_schedule_is_traced_once_and_has_the_bits_of_an_uncompiled_one(name, kind, dtype):
    options = {"momentum": 0.9} if kind == "SGD" else {}
    eager, compiled = (Run(MADE[name], kind, dtype, **options) for _ in range(2))
    step = st.compile(compiled.step)
    for k in batches():
        losses = [f(k).item() for f in (eager.step, step)]
        assert losses[1] == pytest.approx(losses[0], rel=1e-5) and eager.found() == compiled.found()
    assert step.traces == 1 and compiled.schedule.count == 9


def test_every_schedule_is_in_the_table():
    there = {name for name in optim.__all__ if isinstance(x := getattr(optim, name), type)
             and issubclass(x, optim.Schedule) and x is not optim.Schedule}
    assert there <= MADE.keys()


def made(schedule: Any = lambda o: optim.CosineDecay(o, 20), **options: Any) -> tuple[Any, Any, Any]:
    """A parameter with its gradient, an optimiser of it and its schedule."""
    x = st.tensor([1.0, 2.0], requires_grad=True)
    x.grad = st.ones(2)
    optimizer = optim.SGD([x], 0.5, **options)
    return x, optimizer, schedule(optimizer)


def rate_behind(n: int, schedule: Any = lambda o: optim.CosineDecay(o, 20)) -> float:
    """The rate behind so many steps without a compiler."""
    _, optimizer, own = made(schedule)
    for _ in range(n):
        own.step()
    return optimizer.param_groups[0]["lr"]


def test_steps_in_loops_and_branches_count_as_often_as_these_run():
    _, optimizer, schedule = made()

    @st.compile(control="python")
    def step(xs, n):
        for _ in range(2):
            schedule.step()
        for _ in xs:
            schedule.step()
        while n > 0:
            n = n - 1
            if n % 2 == 0:
                schedule.step()
        return st.fori_loop(0, 3, lambda k, y: (schedule.step(), y)[1], n)

    step(st.ones(4), st.tensor(5))
    assert (schedule.count, optimizer.param_groups[0]["lr"]) == (12, rate_behind(12))
    step(st.ones(4), st.tensor(0))
    assert (schedule.count, optimizer.param_groups[0]["lr"], step.traces) == (21, rate_behind(21), 1)
    st.fori_loop(0, 3, lambda k, y: (schedule.step(), y)[1], st.ones(1))        # without a compiler, too
    assert schedule.count == 24
    step = schedule = None      # whose rate was not looked at
    gc.collect()
    assert optimizer.param_groups[0]["lr"] == rate_behind(24)


def test_gradients_of_several_batches_make_one_step():
    def found(form):
        x, optimizer, schedule = made(momentum=0.9)
        seen = st.tensor(0)

        def step(y):
            (x * y).sum().backward()
            seen.assign(seen + 1)
            if seen % 3 == 0:
                optimizer.step()
                schedule.step()
            x.grad.assign(st.where(seen % 3 == 0, 0.0, x.grad))

        run = form(step)
        for k in range(6):
            run(st.tensor(1.0 + k))
        return x.tolist(), schedule.count, optimizer.param_groups[0]["lr"], getattr(run, "traces", 1)

    assert found(lambda f: f) == (last := found(lambda f: st.compile(f, control="python"))) and last[1] == 2


def test_steps_inside_and_outside_go_on_from_each_other_and_from_states():
    _, optimizer, schedule = made()
    step = st.compile(lambda y: (schedule.step(), y * 1)[1])
    for k in range(6):
        step(st.ones(1)) if k % 2 else schedule.step()
    assert (schedule.count, optimizer.param_groups[0]["lr"]) == (6, rate_behind(6))
    state = schedule.state_dict()
    assert state == {"kind": "CosineDecay", "bases": [0.5], "count": 6, "steps": 20, "last": 0.0}
    step(st.ones(1))
    schedule.load_state_dict(state)
    step(st.ones(1))
    assert (schedule.count, optimizer.param_groups[0]["lr"]) == (7, rate_behind(7))
    schedule.last_epoch = 2
    step(st.ones(1))
    assert (schedule.count, optimizer.param_groups[0]["lr"], step.traces) == (3, rate_behind(3), 1)


def test_of_two_schedules_each_has_its_count():
    def found(form):
        _, optimizer, first = made()
        second = optim.MultiplicativeLR(optimizer, lambda step: 0.9)

        def step(y):
            first.step()
            rate = optimizer.lr * y
            second.step(), second.step()
            return rate, optimizer.lr * y

        run = form(step)
        return [[x.item() for x in run(st.tensor(2.0))] for _ in range(4)] + [[first.count, second.count]]

    assert found(lambda f: f) == (last := found(st.compile)) and last[-1] == [4, 8]


def test_what_a_step_reads_behind_the_schedule_are_tensors():
    _, _, schedule = made()

    @st.compile(control="python")
    def step(y):
        schedule.step()
        assert "step traced" in repr(schedule)
        if schedule.last_epoch % 2 == 0:
            y = y * 10
        return y, schedule.count * 1, schedule.get_last_lr()[0] * 1

    found = [[x.item() for x in step(st.tensor(1.0))] for _ in range(4)]
    assert [row[:2] for row in found] == [[1.0, 1], [10.0, 2], [1.0, 3], [10.0, 4]] and step.traces == 1
    assert found[3][2] == pytest.approx(rate_behind(4))


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_function_of_the_step_that_raises_leaves_all_as_it_was(kind):
    fails = st.zeros(1)     # no Python number, for which the step would be traced anew

    def factor(step):
        if float(fails):
            raise kind("no rate")
        return 1 / (step + 1)

    x, optimizer, schedule = made(lambda o: optim.LambdaLR(o, factor))

    @st.compile
    def step():
        optimizer.step()
        schedule.step()

    def where():
        return schedule.count, optimizer.param_groups[0]["lr"], x.tolist()

    step()
    before = where()
    fails.assign(1)
    with pytest.raises(kind, match="no rate") as caught:
        step()
    assert where() == before
    said = " ".join(getattr(caught.value, "__notes__", []))
    assert ("This was raised by LambdaLR.step at test_schedules.py:" in said) is (kind is ValueError)
    fails.assign(0)
    step()
    assert schedule.count == 2 and optimizer.param_groups[0]["lr"] == float(np.float32(0.5 / 3).astype(str))


def test_errors_of_schedules_come_through_programs():
    _, _, schedule = made(lambda o: optim.OneCycleLR(o, 0.1, 2))
    step = st.compile(lambda y: (schedule.step(), y)[1])
    step(st.ones(1)), step(st.ones(1))
    with pytest.raises(ArgumentError, match="ends at step 2, asked for step 3"):
        step(st.ones(1))
    assert schedule.count == 2


def test_numbers_set_outside_are_there_at_once():
    _, optimizer, schedule = made(lambda o: optim.ExponentialLR(o, 0.5))
    before = optimizer.lr.value
    schedule.step()
    optimizer.lr = st.tensor(0.25) * 2
    assert not is_there(optimizer.lr.value)
    for new in (0.125, 3, np.float64(0.75), True):
        optimizer.param_groups[0]["lr"] = new
        assert is_there(optimizer.lr.value) and float(optimizer.lr) == new
    assert float(st.Tensor(before)) == 0.5 and optimizer.lr.dtype == st.float32
    with pytest.raises(TypeError, match="Cannot cast"):
        schedule.last_epoch = 1.5
    assert schedule.last_epoch == 1


def test_a_group_that_is_added_goes_on_from_its_own_rate():
    def found(form):
        _, optimizer, schedule = made(lambda o: optim.OneCycleLR(o, 0.2, 30), momentum=0.9)
        step, rows = form(lambda y: (schedule.step(), y)[1]), []
        for k in range(5):
            if k == 2:
                optimizer.add_param_group({"params": [st.ones(2).requires_grad_()], "lr": 0.05})
            step(st.ones(1))
            rows.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
        return rows, schedule.bases

    assert found(lambda f: f) == found(st.compile)


MEASURES = {
    "a tensor": lambda x: x, "of one axis": lambda x: x.reshape(1), "NaN": lambda x: float("nan"),
    "a number": lambda x: 3, "of NumPy": lambda x: np.float32(0.1), "half": lambda x: x.astype("float16"),
    "brain": lambda x: x.astype("bfloat16"), "wide": lambda x: x.astype("float64"),
    "a flag": lambda x: x > 0, "elsewhere": lambda x: x.to("cpu:1"),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_a_plateau_takes_any_measure(measure):
    def found(form):
        _, _, schedule = made(lambda o: optim.ReduceLROnPlateau(o, patience=0, factor=0.5))
        step = form(lambda x: schedule.step(measure(x)))
        for _ in range(3):
            step(st.tensor(0.1))
        return str(schedule.best), schedule.bad, schedule.count, schedule.get_last_lr()

    assert found(lambda f: f) == (last := found(st.compile)) and last[2] == 3


@pytest.mark.parametrize("measure", [lambda x: st.ones(2), lambda x: "x", lambda x: x.astype("complex64")])
def test_what_is_no_measure_is_refused_in_compiled_steps_too(measure):
    _, _, schedule = made(lambda o: optim.ReduceLROnPlateau(o))
    step = st.compile(lambda x: schedule.step(measure(x)))
    with pytest.raises(ArgumentError, match="the measure of ReduceLROnPlateau must be a number"):
        step(st.tensor(0.1))
    with pytest.raises(TraceError, match="symbolic"):
        schedule.step(st.placeholder((), "float32"))


def test_threads_count_each_of_their_steps():
    _, optimizer, schedule = made(lambda o: optim.ExponentialLR(o, 0.999))
    step = st.compile(lambda y: (schedule.step(), y)[1])
    step(st.ones(1))
    threads = [threading.Thread(target=lambda: [step(st.ones(1)) for _ in range(50)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (schedule.count, step.traces) == (201, 1)
    assert optimizer.param_groups[0]["lr"] == rate_behind(201, lambda o: optim.ExponentialLR(o, 0.999))


def test_a_size_may_be_asked_for_beside_a_schedule():
    _, _, schedule = made()
    step = st.compile(lambda y: (schedule.step(), y.sum() / float(len(y)))[1])
    assert [step(st.ones(n)).item() for n in (3, 4, 5, 6)] == [1.0] * 4
    assert schedule.count == 4 and step.compiles == 2


def test_a_schedule_is_let_go_with_its_step():
    _, _, schedule = made()
    step, known = st.compile(lambda y, schedule=schedule: (schedule.step(), y)[1]), ref(schedule)
    step(st.ones(1))
    del step, schedule, _
    gc.collect()
    assert known() is None


BESIDE = {
    "cosine": lambda o: optim.CosineAnnealingLR(o, 20),
    "multiplied": lambda o: optim.MultiplicativeLR(o, lambda step: 0.9),
    "plateau": lambda o: optim.ReduceLROnPlateau(o, patience=1),
    "in turn": lambda o: optim.SequentialLR(o, [optim.StepLR(o, 2), optim.ExponentialLR(o, 0.9)], [3]),
    "chained": lambda o: optim.ChainedScheduler([optim.StepLR(o, 2), optim.ExponentialLR(o, 0.9)]),
}


def training(make, form):
    """Losses and rates of six steps whose parts lie in one dict, and how often the step was traced."""
    st.manual_seed(0)
    net = nn.Linear(4, 2)
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    parts = {"net": net, "optimizer": optimizer, "schedule": make(optimizer)}

    def step(x):
        parts["optimizer"].zero_grad()
        loss = parts["net"](x).square().mean()
        loss.backward()
        parts["optimizer"].step()
        return loss * parts["schedule"].count if form == "read" else loss

    call = step if form == "imperative" else st.compile(step)
    seen = []
    for k in range(6):
        loss = float(call(st.arange(8.0).reshape(2, 4) * 0.1 + k))
        parts["schedule"].step(*[1.0][:isinstance(parts["schedule"], optim.ReduceLROnPlateau)])
        seen.append((loss, float(optimizer.lr)))
    return seen, getattr(call, "traces", None)


@pytest.mark.parametrize("make", BESIDE.values(), ids=BESIDE)
def test_a_schedule_beside_what_a_step_uses_does_not_retrace_it(make):
    expected, _ = training(make, "imperative")
    found, traces = training(make, "compiled")
    assert traces == 1
    for (loss, rate), (eager, its) in zip(found, expected, strict=True):
        assert loss == pytest.approx(eager, rel=1e-5) and rate == its


def test_a_step_that_reads_how_far_a_schedule_is_sees_it_at_each_call():
    losses, traces = training(BESIDE["cosine"], "read")
    plain, _ = training(BESIDE["cosine"], "imperative")
    assert traces == 1
    assert [loss for loss, _ in losses] == pytest.approx([loss * k for k, (loss, _) in enumerate(plain)], rel=1e-5)


def test_code_that_looks_through_all_attributes_sees_these_too():
    _, _, schedule = made()
    step = st.compile(lambda x: x * vars(schedule)["count"])
    first = step(st.ones(1)).item()
    schedule.step()
    assert (first, step(st.ones(1)).item()) == (0.0, 1.0)
