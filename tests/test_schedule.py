"""Schedules of nests: values that print, that can be given by hand, and none of which changes what is computed."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernels import Compiled

import stele as st
from stele.backend.cpu.target import detect
from stele.backend.reference import run
from stele.inspect.tune.contractions import contractions
from stele.ir.graph import Graph, Value, parameter
from stele.ir.types import Type, float32
from stele.kernel.choice import Choices
from stele.kernel.fuse import fuse
from stele.kernel.kinds import Nest
from stele.kernel.loops import Axis, Block, Load, Store
from stele.kernel.loops import Nest as Loops
from stele.kernel.lower import Raw, lower
from stele.kernel.machine import Machine
from stele.kernel.schedule import candidates, schedule, sums
from stele.ops.composite import Softmax
from stele.ops.elementwise.unary import Exp
from stele.ops.linear import Concatenate, Sum, swap_last
from stele.pipeline import Options, optimise
from stele.transform.expand import expand

MACHINE = Machine(l2=1 << 18, l3=1 << 20)

# What a machine of small caches does with each: golden text.
SCHEDULES: dict[str, tuple[tuple[int, ...], Any, str]] = {
    "small":      ((100,), lambda x: x * 2 + 1, "lanes inside; tasks of 162, 16 lanes x 4"),
    "large":      ((1 << 19,), lambda x: x * 2 + 1,
                   "lanes inside; pieces of 16384, tasks of 1, 16 lanes x 4, stores 0 past the caches, loads 0 ahead"),
    "rows":       ((64, 1000), lambda x: Sum((1,))(x * 2), "lanes inside; tasks of 16, 16 lanes x 4"),
    "columns":    ((64, 4096), lambda x: Sum((0,))(x * 2),
                   "lanes across; pieces of 192, tasks of 1, 16 lanes x 4, loads 0 ahead"),
    "long":       ((1 << 18,), lambda x: Sum((0,))(x * 2),
                   "lanes inside; sums of 32768; tasks of 1, 16 lanes x 4, loads 0 ahead; "
                   "tasks of 1820, 16 lanes x 4"),
    "transposed": ((500, 300), lambda x: swap_last(x) * 2,
                   "lanes inside; tiles of 256x64, tasks of 1, 16 lanes x 4, loads 0 ahead"),
    "softmax":    ((40, 300), lambda x: Softmax(1)(x), "lanes inside; tasks of 18, 16 lanes x 4 and 2 and 2"),
    "joined":     ((8, 40), lambda x: Concatenate(1)(x, Exp()(x)),
                   "lanes inside; outermost 1 as rows, tasks of 399, 16 lanes x 4"),
}


def raws(name: str) -> tuple[Value, Nest, list[Raw]]:
    """The parameter, the kernel and the raw nests of a case."""
    shape, f, _ = SCHEDULES[name]
    x = parameter("x", Type(float32, shape))
    (kernel,) = fuse(expand(Graph((x,), (f(x),)))).kernels
    assert isinstance(kernel, Nest)
    return x, kernel, lower(kernel)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_prints(name: str) -> None:
    assert str(schedule(raws(name)[2][0], MACHINE)) == SCHEDULES[name][2]


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_raw_nest_knows_no_machine(name: str) -> None:
    for raw in raws(name)[2]:
        assert "lanes" not in str(raw) and "%piece" not in str(raw) and "%block" not in str(raw)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_candidate_can_be_given_by_hand_and_computes_the_same(name: str) -> None:
    x, kernel, (raw, *_) = raws(name)
    shape, f, _ = SCHEDULES[name]
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    (expected,), seen = run(Graph((x,), (f(x),)), [a]), set[tuple[str, ...]]()
    for _, candidate in candidates(raw, replace(detect(), l2=1 << 18, l3=1 << 20)):
        target = replace(detect(), l2=1 << 18, l3=1 << 20, choices=Choices({raw.question: str(candidate)}))
        assert schedule(raw, target) == candidate
        compiled = Compiled(kernel, target)
        (y,), _ = compiled.run({x: a}, {}, backwards=True)
        seen.add(tuple(f"{launch.function} {launch.tasks}" for launch in compiled.launches))
        np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-3 if name == "long" else 1e-5)
    assert len(seen) > 1 or name in ("small", "joined")


def test_an_answer_for_a_kernel_alone_counts_in_the_whole_program() -> None:
    x = parameter("x", Type(float32, (1 << 10, 1 << 10)))
    graph = optimise(Graph((x,), (Exp()(x) * 2, Sum((0,))(x * 3))), Options())
    asked = {raw.question for kernel in fuse(graph).kernels if isinstance(kernel, Nest) for raw in lower(kernel)}
    alone = {raw.question for _, one in contractions(graph, {}) for kernel in fuse(one.graph).kernels
             if isinstance(kernel, Nest) for raw in lower(kernel)}
    assert asked == alone and asked


def test_the_report_shows_schedules() -> None:
    f = st.compile(lambda x: st.exp(x) * 2)
    f(st.ones(1000))
    (program,) = f.programs
    (choice,) = program.report().choices.values()
    assert choice.question.startswith("nest Exp") and choice.taken.startswith("lanes inside; tasks of")
    assert program.report().kernels[0].asked == (choice.question,)


def test_sums_over_rows_of_nothing_are_blocks_too() -> None:
    x = parameter("x", Type(float32, ()))
    for lead in 0, 3:
        rows = Axis("i", lead), Axis("j", 5)
        nest = Loops(rows, 1, Block(()), Block((Store(x, 0, Load(float32, frozenset(), x, 0), adds=True),)))
        assert sums(nest, MACHINE) is not None
