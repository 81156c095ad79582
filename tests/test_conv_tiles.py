"""Convolutions in tile registers (AMX) against float64 NumPy, alone and as the algorithm that programs choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from contraction import Bench, Memory, error, guarded, size, strides
from llvmlite import ir
from test_contract import Halved, references

import stele as st
from stele.backend.contract.code import Sink, Site
from stele.backend.contract.conv import algorithms, tile_registers
from stele.backend.contract.conv.engine import convolve
from stele.backend.contract.conv.layer import backward, forward
from stele.backend.contract.conv.stencil import Conv
from stele.backend.cpu.target import detect
from stele.kernel.choice import Choices
from stele.kernel.machine import Machine

HERE: Machine = replace(detect(), amx=True)
FLOAT = ir.FloatType()
pytestmark = pytest.mark.skipif(HERE.vector_bytes < 64, reason="tile registers come with AVX-512, this CPU has none")


class Nth(Choices):
    """Takes candidate `n` of the blockings, counted round."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def choose(self, question: str, candidates: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
        if not question.startswith("tiles "):
            return super().choose(question, candidates)
        return candidates[self.n % len(candidates)]


def shapes(conv: Conv) -> list[tuple[int, ...]]:
    """Of x, w and y."""
    assert isinstance(conv.batch, int)
    (n, c, o), image, target = (conv.batch, conv.channels, conv.outputs), conv.size, conv.target
    return [(n, c, *image), (o, c, *conv.kernel), (n, o, *target)]


def bench(conv: Conv, back: bool = False, candidate: int | None = None, symbolic: bool = False,
          kind: type[Memory] = Memory, threads: int = 2) -> tuple[Bench, np.ndarray]:
    """A convolution, or the gradient of its input, and what it should be."""
    rng = np.random.default_rng(1)
    x, w, g = (rng.standard_normal(shape).astype(np.float32) for shape in shapes(conv))
    y, dx, _ = references(conv, x, w, g)
    machine = HERE if candidate is None else replace(HERE, choices=Nth(candidate))
    shape = replace(conv, batch=size(0)) if symbolic else conv
    layer, (out, source, expected) = (backward(shape), (x, g, dx)) if back else (forward(shape), (g, x, y))
    memory = [kind(i, FLOAT, strides(a.shape)) for i, a in enumerate((out, source, w))]

    def build(module: ir.Module, temp):
        read, weight = (m.operand(kind is Memory) for m in memory[1:])
        cut, sink = tile_registers.schedule(machine, layer, read)[1], Sink(memory[0].flat.write, memory[0].near)
        return convolve(Site(module, "conv", machine, temp), cut, read, weight, sink)

    arrays = [guarded(a) for a in (np.full_like(out, np.nan), source, w)]
    return Bench(machine, build, arrays, (len(x),), threads), expected


def square(n: int, channels: int, outputs: int, edge: int, kernel: int = 1, stride: int = 1, padding: int = 0,
           dilation: int = 1) -> Conv:
    """A convolution that is the same along both axes."""
    around = (padding, padding), (padding, padding)
    return Conv(n, channels, outputs, (edge, edge), (kernel, kernel), FLOAT, (stride, stride), around,
                (dilation, dilation))


CASES = (
    square(1, 1, 1, 1),
    square(2, 33, 40, 13),
    square(5, 64, 64, 7),
    square(1, 70, 31, 30),
    square(3, 48, 65, 15, stride=2),
    square(2, 17, 20, 9, padding=2),
    square(2, 31, 33, 12, kernel=2, stride=3),
    square(5, 40, 50, 14, kernel=3, stride=2, padding=1),
    square(1, 65, 70, 8, kernel=3, padding=1),
    square(2, 16, 9, 17, kernel=3, padding=2, dilation=2),
    square(2, 70, 30, 20, kernel=5, stride=2, padding=2),
    square(1, 1000, 70, 6),
    Conv(2, 20, 36, (6, 29), (1, 3), FLOAT, (2, 1), ((0, 0), (2, 1))),
)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("conv", CASES, ids=str)
def test_both_directions(conv: Conv, back: bool) -> None:
    others = (False, 3), (False, 7), (True, 10), (False, 29)
    for symbolic, candidate in ((False, None), (True, None), others[(CASES.index(conv) + back) % len(others)]):
        made, expected = bench(conv, back, candidate, symbolic)
        assert error(made.check(), expected) < 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_any_shape(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, stride, dilation = (int(rng.choice(some)) for some in ((1, 1, 2, 3, 5), (1, 1, 2, 3), (1, 1, 2)))
    least = dilation * (kernel - 1) + 1
    sizes = [int(n) for n in rng.integers(least, least + 30, 2)]
    padding = [(int(a), int(b)) for a, b in rng.integers(0, kernel, (2, 2))]
    conv = Conv(int(rng.choice([1, 2, 5])), int(rng.integers(1, 71)), int(rng.integers(1, 71)), (sizes[0], sizes[1]),
                (kernel, kernel), FLOAT, (stride, stride), (padding[0], padding[1]), (dilation, dilation))
    for back in (False, True):
        made, expected = bench(conv, back, int(rng.integers(100)))
        assert error(made.check(), expected) < 1e-6


def test_all_blockings_agree() -> None:
    conv, memory = square(3, 40, 100, 12), Memory(1, FLOAT, strides((3, 40, 12, 12)))
    first, seen = bench(conv)[0].check(), list[tile_registers.Tiles]()
    for number in range(12):
        machine = replace(HERE, choices=Nth(number))
        seen.append(tile_registers.schedule(machine, forward(conv), memory.operand())[1])
        assert np.array_equal(first, bench(conv, candidate=number)[0].check())
    assert {(b.early, b.blocks, b.planes.images) for b in seen} >= {(True, 4, 1), (False, 1, 1), (False, 2, 3)}


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("conv", [CASES[1], CASES[7]], ids=str)
def test_fused(conv: Conv, back: bool) -> None:
    made, expected = bench(conv, back, kind=Halved)
    assert error(made.check(), np.maximum(expected / 4, 0)) < 1e-6


@pytest.mark.parametrize("conv", [square(1, 40, 70, 12), square(1, 33, 20, 14, 3, 2, 1)], ids=str)
def test_an_image_does_not_depend_on_the_others(conv: Conv) -> None:
    for candidate in (0, 2, 5, 8):
        few, _ = bench(conv, candidate=candidate, symbolic=True)
        many, _ = bench(replace(conv, batch=7), candidate=candidate, symbolic=True)
        many.arrays[1][...], many.arrays[2][...] = np.nan, few.arrays[2]
        for k in (0, 3, 6):
            many.arrays[1][k] = few.arrays[1][0]
            assert np.array_equal(few.check()[0], many.check()[k])


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads(threads: int) -> None:
    for conv in (CASES[2], CASES[7], square(2, 64, 300, 14)):
        for candidate in (1, 4, 6):
            made, _ = bench(conv, candidate=candidate, threads=threads)
            alone = made.check()
            made.run(threads)
            assert np.array_equal(alone, made.arrays[0])


def test_errors_are_those_of_strict_sums() -> None:
    for conv in (square(2, 256, 64, 14), square(2, 1024, 40, 7), square(2, 256, 256, 28, 3, 2, 1)):
        made, expected = bench(conv)
        direct = strict(conv)
        for a, b in zip(made.arrays[1:], direct.arrays[1:]):
            b[...] = a
        mean = [np.abs(one.check() - expected).mean() for one in (made, direct)]
        assert mean[0] <= mean[1]


def strict(conv: Conv) -> Bench:
    """A convolution whose sums are those of its definition."""
    x, w, g = (np.zeros(shape, np.float32) for shape in shapes(conv))
    arrays = [g, x, w]
    memory = [Memory(i, FLOAT, strides(a.shape)) for i, a in enumerate(arrays)]
    make = partial(algorithms.convolution, precision="strict")
    read, weight = (m.operand() for m in memory[1:])
    return Bench(HERE, lambda module, temp: make(module, "conv", HERE, conv, read, weight, memory[0].flat.write,
                                                 memory[0].near, temp), arrays)


def test_the_choice() -> None:
    fits = partial(tile_registers.fits, HERE)
    layer = forward(square(8, 64, 64, 28))
    assert fits(layer, "fast") and not fits(layer, "strict") and not fits(layer, "bf16")
    assert not fits(replace(layer, groups=2), "fast") and not fits(replace(layer, dtype=ir.DoubleType()), "fast")
    assert not tile_registers.fits(replace(HERE, amx=False), layer, "fast")


@pytest.mark.skipif(not detect().amx, reason="this CPU has no tile registers")
def test_programs() -> None:
    rng = np.random.default_rng(0)
    sizes = (6, 64, 28, 28), (96, 64, 1, 1), (96, 1, 1), (6, 96, 28, 28)
    x, w, bias, more = (rng.standard_normal(s).astype(np.float32) for s in sizes)

    def f(x: st.Tensor, w: st.Tensor, bias: st.Tensor, more: st.Tensor) -> st.Tensor:
        return st.relu(st.conv2d(st.relu(x), w) + bias + more)

    got = np.asarray(st.compile(f)(x, w, bias, more))
    y = np.einsum("oc,nchw->nohw", w[:, :, 0, 0].astype(np.float64), np.maximum(x, 0)) + bias + more
    assert error(got, np.maximum(y, 0)) < 1e-6
