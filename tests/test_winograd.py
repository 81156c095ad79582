"""Winograd's convolutions against float64 NumPy, alone and as the algorithm that programs choose."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from contraction import AVX2, AVX512, SSE4, Bench, Memory, error, guarded, machine_here, size, strides
from llvmlite import ir
from test_contract import Halved, references

import stele as st
from stele.backend.contract.code import Sink, Site
from stele.backend.contract.conv import algorithms, winograd, winograd_weight
from stele.backend.contract.conv.engine import convolve
from stele.backend.contract.conv.gradient import gradient
from stele.backend.contract.conv.layer import backward, forward, small
from stele.backend.contract.conv.points import F2, F4, Points
from stele.backend.contract.conv.stencil import Conv
from stele.kernel.machine import Machine

HERE = machine_here()
MACHINES = [m for m in (AVX512, AVX2, SSE4) if m.vector_bytes <= HERE.vector_bytes]
FLOAT = ir.FloatType()
TOLERANCE = {F2: 1e-6, F4: 6e-6}

SAME = ((1, 1), (1, 1))
CASES = (            # n, c, o, (h, w), padding
    (1, 1, 1, (4, 4), SAME),
    (2, 3, 5, (9, 11), SAME),
    (5, 20, 33, (14, 14), ((0, 0), (0, 0))),
    (9, 8, 40, (7, 7), ((2, 2), (2, 1))),
    (2, 17, 30, (61, 40), ((0, 1), (2, 0))),
    (3, 4, 2, (3, 3), ((0, 0), (1, 1))),
    (3, 50, 50, (32, 32), SAME),
)


def weight_bench(case: tuple, points: Points, machine: Machine = HERE, symbolic: bool = True,
                 kind: type[Memory] = Memory) -> tuple[Bench, np.ndarray]:
    """The gradient of a weight, and what it should be."""
    n, c, o, image, padding = case
    shape = Conv(size(0) if symbolic else n, c, o, image, (3, 3), FLOAT, padding=padding)
    rng = np.random.default_rng(1)
    x, w, g = (rng.standard_normal(s).astype(np.float32) for s in ((n, c, *image), (o, c, 3, 3), (n, o, *shape.target)))
    memory = [kind(i, FLOAT, strides(a.shape)) for i, a in enumerate((w, x, g))]
    operands = memory[1].operand(kind is Memory), memory[2].operand(kind is Memory)

    def build(module: ir.Module, temp):
        cut = winograd_weight.schedule(machine, small(forward(shape)), points)[1]
        site = Site(module, "conv", machine, temp)
        return gradient(site, cut, *operands, Sink(memory[0].write))

    arrays = [guarded(a) for a in (np.full_like(w, np.nan), x, g)]
    return Bench(machine, build, arrays, (n,)), references(shape, x, w, g)[2]


def bench(case: tuple, points: Points, back: bool, machine: Machine = HERE, symbolic: bool = True,
          kind: type[Memory] = Memory) -> tuple[Bench, np.ndarray]:
    """A convolution, or the gradient of its input, and what it should be."""
    n, c, o, image, padding = case
    shape = Conv(size(0) if symbolic else n, c, o, image, (3, 3), FLOAT, padding=padding)
    rng = np.random.default_rng(1)
    x, w, g = (rng.standard_normal(s).astype(np.float32) for s in ((n, c, *image), (o, c, 3, 3), (n, o, *shape.target)))
    y, dx, _ = references(shape, x, w, g)
    layer, (out, source, expected) = (backward(shape), (x, g, dx)) if back else (forward(shape), (g, x, y))
    memory = [kind(i, FLOAT, strides(a.shape)) for i, a in enumerate((out, source, w))]
    plain = kind is Memory

    def build(module: ir.Module, temp):
        read = memory[1].operand(plain)
        cut = winograd.schedule(machine, small(layer), points)[1]
        site, sink = Site(module, "conv", machine, temp), Sink(memory[0].flat.write)
        return convolve(site, cut, read, memory[2].operand(plain), sink)

    return Bench(machine, build, [guarded(a) for a in (np.full_like(out, np.nan), source, w)], (n,)), expected


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("points", [F2, F4], ids=lambda p: f"{p.side}")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_directions(case: tuple, points: Points, back: bool) -> None:
    for symbolic in (False, True):
        made, expected = bench(case, points, back, symbolic=symbolic)
        assert error(made.check(), expected) < TOLERANCE[points]


@pytest.mark.parametrize("points", [F2, F4], ids=lambda p: f"{p.side}")
@pytest.mark.parametrize("case", [*CASES, (19, 3, 4, (8, 8), SAME)], ids=str)
def test_gradient_of_the_weight(case: tuple, points: Points) -> None:
    for symbolic in (False, True):
        made, expected = weight_bench(case, points, symbolic=symbolic)
        assert error(made.check(), expected) < TOLERANCE[points]


@pytest.mark.parametrize("machine", MACHINES[1:], ids=lambda m: f"{m.vector_bytes}")
@pytest.mark.parametrize("points", [F2, F4], ids=lambda p: f"{p.side}")
def test_other_machines(machine: Machine, points: Points) -> None:
    for made, expected in (bench(CASES[1], points, False, machine), weight_bench(CASES[1], points, machine)):
        assert error(made.check(), expected) < TOLERANCE[points]


@pytest.mark.parametrize("back", [False, True])
def test_fused(back: bool) -> None:
    made, expected = bench(CASES[2], F4, back, kind=Halved)
    assert error(made.check(), np.maximum(expected / 4, 0)) < TOLERANCE[F4]


def test_an_image_does_not_depend_on_the_others() -> None:
    few, _ = bench((1, 30, 20, (14, 14), SAME), F4, False)
    many, _ = bench((7, 30, 20, (14, 14), SAME), F4, False)
    for k in (0, 6):
        many.arrays[1][k], many.arrays[2][...] = few.arrays[1][0], few.arrays[2]
        assert np.array_equal(few.check()[0], many.check()[k])


def launches(machine: Machine, shape: Conv, precision: str) -> list[str]:
    """The kernels that the chosen algorithm has, by name and size of scratch."""
    memory = [Memory(i, FLOAT, strides((1, c, *shape.size))) for i, c in enumerate((shape.outputs, shape.channels))]
    weight = Memory(2, FLOAT, strides((shape.outputs, shape.channels, 3, 3)))
    made = algorithms.convolution(ir.Module(), "conv", machine, shape, memory[1].operand(), weight.operand(),
                                  *memory[0].stores(False), lambda b, ctx, k: ctx, precision)
    return [str(launch) for launch in made[0]]


def test_the_choice() -> None:
    shape = Conv(8, 64, 64, (56, 56), (3, 3), FLOAT, padding=SAME)
    alike = partial(launches, shape=shape)
    assert all(alike(m, precision="fast") != alike(m, precision="strict") for m in (AVX512, AVX2, SSE4))
    for change in ({"stride": (2, 2)}, {"dilation": (2, 2)}, {"groups": 2}, {"dtype": ir.DoubleType()}):
        other = replace(shape, **change)
        assert not algorithms.is_small(other)


def test_programs() -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((6, 50, 32, 32), (50, 50, 3, 3)))

    def loss(x: st.Tensor, w: st.Tensor) -> st.Tensor:
        return (st.relu(st.conv2d(x * 2, w, padding=1)) ** 2).sum()

    def run(n: int, precision: str) -> list[np.ndarray]:
        step = st.compile(st.grad(loss, (0, 1)), dims={"x": {0: "batch"}}, precision=precision)
        return [g.numpy() for g in step(st.tensor(x[:n]), st.tensor(w))]

    strict, fast, few = run(6, "strict"), run(6, "fast"), run(2, "fast")
    for a, b in zip(fast, strict):
        assert error(a, b.astype(np.float64)) < 1e-5
    assert not np.array_equal(fast[0], strict[0])
    assert np.array_equal(few[0], fast[0][:2])
    st.set_threads(1)
    alone = run(6, "fast")
    st.set_threads(2)
    assert all(np.array_equal(a, b) for a, b in zip(alone, fast))
