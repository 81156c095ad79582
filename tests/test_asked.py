"""Numbers of Stele's own objects count for a trace where it asks for them, whatever the code around names."""
from __future__ import annotations

import pytest

import stele as st
from stele import nn, optim

SCHEDULES = {
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


@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_a_schedule_beside_what_a_step_uses_does_not_retrace_it(make):
    expected, _ = training(make, "imperative")
    found, traces = training(make, "compiled")
    assert traces == 1
    for (loss, rate), (eager, its) in zip(found, expected, strict=True):
        assert loss == pytest.approx(eager, rel=1e-5) and rate == its


def test_a_step_that_reads_how_far_a_schedule_is_sees_it_at_each_call():
    losses, traces = training(SCHEDULES["cosine"], "read")
    plain, _ = training(SCHEDULES["cosine"], "imperative")
    assert traces == 6
    assert [loss for loss, _ in losses] == pytest.approx([loss * k for k, (loss, _) in enumerate(plain)], rel=1e-5)


def test_a_schedule_that_moves_inside_of_a_step_moves_at_each_call():
    optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    schedule = optim.ExponentialLR(optimizer, 0.5)

    @st.compile
    def step():
        schedule.step()
        return optimizer.lr * 1

    assert [step().item() for _ in range(4)] == [0.5, 0.25, 0.125, 0.0625]
    assert schedule.count == 4


def test_code_that_looks_through_all_attributes_sees_these_too():
    optimizer = optim.SGD([st.zeros(1).requires_grad_()], lr=1.0)
    schedule = optim.ExponentialLR(optimizer, 0.5)
    step = st.compile(lambda x: x * vars(schedule)["count"])
    first = step(st.ones(1)).item()
    schedule.step()
    assert (first, step(st.ones(1)).item()) == (0.0, 1.0)
