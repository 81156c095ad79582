"""Errors of convolutions and products against float64, with their speed: `python benchmarks/accuracy.py [name ...]`.

The tables of docs/convolution.md. An error is divided by the root mean square of the exact result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests")]

from contraction import Bench, Memory, machine_here, size, strides  # noqa: E402
from kernels import THREADS, timed  # noqa: E402

from stele.backend.base import Precision  # noqa: E402
from stele.backend.contract.bilinear import ONE, STRASSEN  # noqa: E402
from stele.backend.contract.code import Sink, Site  # noqa: E402
from stele.backend.contract.conv import (  # noqa: E402
    direct,
    direct_weight,
    pointwise,
    tile_registers,
    winograd,
    winograd_weight,
)
from stele.backend.contract.conv.engine import convolve  # noqa: E402
from stele.backend.contract.conv.gradient import gradient  # noqa: E402
from stele.backend.contract.conv.layer import Layer, backward, forward, small  # noqa: E402
from stele.backend.contract.conv.points import F2, F4, Points  # noqa: E402
from stele.backend.contract.conv.stencil import Conv  # noqa: E402
from stele.backend.contract.product.gemm import gemm  # noqa: E402
from stele.backend.contract.product.schedule import Gemm, schedule  # noqa: E402
from stele.backend.cpu.target import detect  # noqa: E402
from stele.backend.llvm.access import Operand, Temp  # noqa: E402
from stele.backend.llvm.launch import Launch  # noqa: E402
from stele.kernel.choice import Choices  # noqa: E402
from stele.kernel.machine import Machine  # noqa: E402
from stele.rosetta.machine import multiply_adds  # noqa: E402

FLOAT = ir.FloatType()
MACHINE = machine_here()
TILES = replace(MACHINE, amx=detect().amx)


class InParts(Choices):
    """Takes the cheapest schedule by parts."""

    def choose(self, question: str, candidates: Sequence[tuple[float, Any]]) -> tuple[float, Any]:
        return super().choose(question, [c for c in candidates if c[1].scheme is STRASSEN])


IN_PARTS = replace(MACHINE, choices=InParts())
CHOICES: tuple[tuple[str, Precision, Machine], ...] = (
    ("product", "strict", MACHINE), ("Strassen, one level", "fast", MACHINE), ("tile registers", "fast", TILES))
PLAIN = Memory(0, FLOAT, (1, 1, 1)).operand()
BATCH = 16
SHAPES = {"50 at 32x32": (50, 32), "128 at 28x28": (128, 28), "512 at 7x7": (512, 7)}
ALGORITHMS: dict[str, Points | Machine | None] = {
    "direct": None, "F(2,3)": F2, "F(4,3), points 1 2": Points((1.0, 2.0)), "F(4,3), points 5/8 3/2": F4,
    **({"tile registers": TILES} if TILES.amx else {})}
POINTWISE = {"256 to 64 at 56x56": (256, 64, 56), "256 to 1024 at 14x14": (256, 1024, 14),
             "1024 to 256 at 14x14": (1024, 256, 14)}
PRODUCTS = {"1024 x 1024, depth 1024": (1024, 1024, 1024), "1024 x 3072, depth 768": (1024, 3072, 768),
            "768 x 3072, depth 1024": (768, 3072, 1024), "300 x 125, depth 9600": (300, 125, 9600),
            "64 x 512, depth 6400": (64, 512, 6400)}

Made = tuple[list[Launch], list[Temp]]
Arrays = tuple[np.ndarray, ...]


def exact(x: np.ndarray, w: np.ndarray, g: np.ndarray) -> Arrays:
    """A 3x3 convolution with padding 1 and its two gradients, in float64."""
    x, w, g = (a.astype(np.float64) for a in (x, w, g))
    edge, pad = x.shape[2], ((0, 0), (0, 0), (1, 1), (1, 1))
    places = [(i, j) for i in range(3) for j in range(3)]
    seen = lambda a, i, j: np.pad(a, pad)[:, :, i:i + edge, j:j + edge]
    y = sum(np.tensordot(seen(x, i, j), w[:, :, i, j], (1, 1)) for i, j in places)
    dx = sum(np.tensordot(seen(g, 2 - i, 2 - j), w[:, :, i, j], (1, 0)) for i, j in places)
    dw = [np.tensordot(g, seen(x, i, j), ((0, 2, 3), (0, 2, 3))) for i, j in places]
    return y.transpose(0, 3, 1, 2), dx.transpose(0, 3, 1, 2), np.stack(dw, -1).reshape(w.shape)


def in_tiles(module: ir.Module, layer: Layer, left: Operand, right: Operand, write, temp) -> Made:
    """A layer in tile registers."""
    cut = tile_registers.schedule(TILES, layer, left)[1]
    return convolve(Site(module, "conv", TILES, temp), cut, left, right, Sink(write))


def kernels(points: Points | Machine | None, conv: Conv, which: str) -> Callable[..., Made]:
    """What appends one direction of a convolution by one algorithm."""
    def build(module: ir.Module, left: Operand, right: Operand, write, temp) -> Made:
        site, layer = Site(module, "conv", MACHINE, temp), (forward if which == "y" else backward)(conv)
        if isinstance(points, Machine):
            return in_tiles(module, layer, left, right, write, temp)
        if which == "dw":
            both = left, right
            if points is None:
                return gradient(site, direct_weight.schedule(MACHINE, conv, both)[1], *both, Sink(write))
            cut = winograd_weight.schedule(MACHINE, small(forward(conv)), points)[1]
            return gradient(site, cut, *both, Sink(write))
        if points is None:
            return convolve(site, direct.schedule(MACHINE, layer, left)[1], left, right, Sink(write))
        cut = winograd.schedule(MACHINE, small(layer), points)[1]
        return convolve(site, cut, left, right, Sink(write))

    return build


def made(build: Callable[..., Made], arrays: Arrays, sizes: tuple[int, ...], flat: bool = False,
         machine: Machine = MACHINE) -> Bench:
    """Kernels on (result, left operand, right operand)."""
    memory = [Memory(i, FLOAT, strides(a.shape)) for i, a in enumerate(arrays)]
    out = memory[0].flat if flat else memory[0]
    return Bench(machine, lambda module, temp: build(module, memory[1].operand(), memory[2].operand(), out.write, temp),
                 [a.copy() for a in arrays], sizes, THREADS)


def convolutions(wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, Bench, np.ndarray, int]]:
    """Each algorithm in each direction on each shape: (shape and direction, algorithm, kernels, exact, work)."""
    rng = np.random.default_rng(0)
    for name, (channels, edge) in SHAPES.items():
        if not wanted(name):
            continue
        conv = Conv(size(0), channels, channels, (edge, edge), (3, 3), FLOAT, padding=((1, 1), (1, 1)))
        x, g = (rng.standard_normal((BATCH, channels, edge, edge), np.float32) for _ in range(2))
        w = rng.standard_normal((channels, channels, 3, 3), np.float32)
        y, dx, dw = exact(x, w, g)
        work = 2 * x.size * channels * 9
        for which, arrays, expected in (("y", (g, x, w), y), ("dx", (x, g, w), dx), ("dw", (w, x, g), dw)):
            for algorithm, points in ALGORITHMS.items():
                if which != "dw" or points is not TILES:
                    yield f"{name} {which}", algorithm, made(kernels(points, conv, which), arrays, (BATCH,),
                                                             which != "dw", TILES), expected, work


def pointwise_convolutions(wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, Bench, np.ndarray, int]]:
    """Each scheme on each 1x1 convolution."""
    rng = np.random.default_rng(0)
    for name, (channels, outputs, edge) in POINTWISE.items():
        if not wanted(name):
            continue
        layer = forward(Conv(BATCH, channels, outputs, (edge, edge), (1, 1), FLOAT))
        x, w = (rng.standard_normal(s, np.float32) for s in ((BATCH, channels, edge, edge), (outputs, channels, 1, 1)))
        y = np.einsum("oc,nchw->nohw", w[:, :, 0, 0].astype(np.float64), x.astype(np.float64), optimize=True)
        for algorithm, precision in (("direct", "strict"), ("Strassen, one level", "fast")):
            cut = pointwise.schedule(MACHINE if precision == "strict" else IN_PARTS, layer, precision)[1]
            memory = [Memory(i, FLOAT, strides(a.shape)) for i, a in enumerate((y, x, w))]
            build = lambda module, temp, cut=cut, memory=memory: convolve(
                Site(module, "conv", MACHINE, temp), cut, *(m.operand() for m in memory[1:]),
                Sink(*memory[0].stores(False)))
            arrays = [np.zeros(y.shape, np.float32), x.copy(), w.copy()]
            yield f"{name} y", algorithm, Bench(MACHINE, build, arrays, (), THREADS), y, 2 * y.size * channels
        if TILES.amx:
            build = lambda module, *others, layer=layer: in_tiles(module, layer, *others)
            bench = made(build, (np.zeros(y.shape, np.float32), x, w), (), True, TILES)
            yield f"{name} y", "tile registers", bench, y, 2 * y.size * channels


def products(wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, Bench, np.ndarray, int]]:
    """Each matrix product."""
    rng = np.random.default_rng(0)
    for name, (m, n, k) in PRODUCTS.items():
        if wanted(name):
            a, b = rng.standard_normal((1, m, k), np.float32), rng.standard_normal((1, k, n), np.float32)
            spec = Gemm(1, m, n, k, FLOAT)
            for algorithm, precision, machine in CHOICES:
                chosen = schedule(machine, spec, PLAIN, PLAIN, precision)
                plain = "product" if chosen.scheme is ONE else "Strassen, one level"
                if algorithm != ("tile registers" if chosen.tile.pieces else plain):
                    continue

                def build(module: ir.Module, x, y, write, temp, spec=spec, precision: Precision = precision,
                          machine=machine) -> Made:
                    near = lambda b, ctx, index: None
                    return gemm(module, "gemm", machine, spec, x, y, write, near, temp, precision)

                yield name, algorithm, made(build, (np.zeros((1, m, n), np.float32), a, b), (), machine=machine), \
                    a.astype(np.float64) @ b.astype(np.float64), 2 * m * n * k


def main(names: list[str]) -> None:
    print(f"{THREADS} threads, measured peak {multiply_adds(THREADS) / 1e9:.0f} GFLOP/s; batch {BATCH}\n")
    print("| shape | algorithm | mean error | of direct | largest error | of direct | GFLOP/s of direct |")
    print("|---|---|---:|---:|---:|---:|---:|")
    base = 1.0, 1.0
    for source in (convolutions, pointwise_convolutions, products):
        for shape, algorithm, bench, expected, work in source(lambda name: not names or name in names):
            bench.run(THREADS)
            off = np.abs(bench.arrays[0] - expected) / np.sqrt(np.mean(expected ** 2))
            mean, largest = float(off.mean()), float(off.max())
            base = (mean, largest) if algorithm in ("direct", "product") else base
            rate = work / timed(partial(bench.run, THREADS))[1] / 1e9
            print(f"| {shape} | {algorithm} | {mean:.2e} | {mean / base[0]:.2f} | {largest:.2e} "
                  f"| {largest / base[1]:.2f} | {rate:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
