"""Times the contraction kernels against a peak measured in the same run: `python benchmarks/kernels.py [name ...]`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from llvmlite import ir

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from contraction import Bench, Memory, machine_here, size, strides  # noqa: E402

from stele.backend.contract.conv.algorithms import (  # noqa: E402
    convolution,
    input_gradient,
    weight_gradient,
)
from stele.backend.contract.conv.stencil import Conv  # noqa: E402
from stele.backend.contract.product.gemm import gemm  # noqa: E402
from stele.backend.contract.product.schedule import Gemm  # noqa: E402
from stele.rosetta.machine import multiply_adds  # noqa: E402

THREADS = 2
SECONDS = 0.2
FLOAT = ir.FloatType()
MACHINE = machine_here()

PRODUCTS = {         # m, n, k, transposed operands, whether m is symbolic, threads
    "64":        (64, 64, 64, (False, False), False, 1),
    "mlp in":    (32, 128, 784, (False, False), True, 1),
    "mlp out":   (32, 10, 128, (False, False), True, 1),
    "mlp dx":    (32, 784, 128, (False, True), True, 1),
    "1024":      (1024, 1024, 1024, (False, False), False, 2),
    "1024 a'":   (1024, 1024, 1024, (True, False), False, 2),
    "1024 b'":   (1024, 1024, 1024, (False, True), False, 2),
    "1024 rows": (1024, 1024, 1024, (False, False), True, 2),
    "2048":      (2048, 2048, 2048, (False, False), False, 2),
}

CONVOLUTIONS = {     # n, c, o, size, kernel, stride
    "50-50 32":       (64, 50, 50, 32, 3, 1),
    "50-100 16":      (64, 50, 100, 16, 3, 1),
    "100-100 16":     (64, 100, 100, 16, 3, 1),
    "3-50 32":        (64, 3, 50, 32, 3, 1),
    "stem 224":       (8, 3, 64, 224, 7, 2),
    "3x3 56":         (8, 64, 64, 56, 3, 1),
    "3x3 28":         (8, 128, 128, 28, 3, 1),
    "3x3 14":         (8, 256, 256, 14, 3, 1),
    "3x3 7":          (8, 512, 512, 7, 3, 1),
    "3x3 56 s2":      (8, 128, 128, 56, 3, 2),
    "3x3 14 s2":      (8, 512, 512, 14, 3, 2),
    "1x1 56 up":      (8, 64, 256, 56, 1, 1),
    "1x1 56 down":    (8, 256, 64, 56, 1, 1),
    "1x1 28 up":      (8, 128, 512, 28, 1, 1),
    "1x1 28 down":    (8, 512, 128, 28, 1, 1),
    "1x1 14 up":      (8, 256, 1024, 14, 1, 1),
    "1x1 14 down":    (8, 1024, 256, 14, 1, 1),
    "1x1 7 up":       (8, 512, 2048, 7, 1, 1),
    "1x1 7 down":     (8, 2048, 512, 7, 1, 1),
    "1x1 56 s2":      (8, 256, 512, 56, 1, 2),
    "1x1 14 s2":      (8, 1024, 2048, 14, 1, 2),
}


def timed(run: Callable[[], None]) -> tuple[float, float]:
    """The least and the median seconds of a call."""
    run()
    times, stop = [], time.perf_counter() + SECONDS
    while time.perf_counter() < stop:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times), sorted(times)[len(times) // 2]


def products(wanted: Callable[[str], bool]) -> Iterator[tuple[str, Bench, int, int]]:
    """Each matrix product that is wanted, with its work and threads."""
    rng = np.random.default_rng(0)
    for name, (m, n, k, transposed, symbolic, threads) in PRODUCTS.items():
        if not wanted(name):
            continue
        shapes = ((1, m, n), (1, m, k), (1, k, n))
        orders = (None, *((0, 2, 1) if t else None for t in transposed))
        memory = [Memory(i, FLOAT, strides(s, order)) for i, (s, order) in enumerate(zip(shapes, orders))]
        spec = Gemm(1, size(0) if symbolic else m, n, k, FLOAT)
        yield name, Bench(
            MACHINE,
            lambda module, temp, spec=spec, memory=memory: gemm(
                module, "gemm", MACHINE, spec, memory[1].operand(), memory[2].operand(), memory[0].write,
                memory[0].near, temp),
            [rng.standard_normal(s, np.float32) for s in shapes], (m,)), 2 * m * n * k, threads


def convolutions(wanted: Callable[[str], bool]) -> Iterator[tuple[str, Bench, int, int]]:
    """Each convolution that is wanted, in its three directions."""
    rng = np.random.default_rng(0)
    for name, (n, c, o, edge, window, stride) in CONVOLUTIONS.items():
        if not wanted(name):
            continue
        pad = (window - 1) // 2
        conv = Conv(size(0), c, o, (edge, edge), (window, window), FLOAT, (stride, stride), ((pad, pad), (pad, pad)))
        x, w, g = (rng.standard_normal(s, np.float32)
                   for s in ((n, c, edge, edge), (o, c, window, window), (n, o, *conv.target)))
        work = 2 * g.size * c * window * window
        for label, make, arrays in (("y", convolution, (g, x, w)), ("dx", input_gradient, (x, g, w)),
                                    ("dw", weight_gradient, (w, x, g))):
            memory = [Memory(i, FLOAT, strides(a.shape)) for i, a in enumerate(arrays)]
            yield f"{name} {label}", Bench(
                MACHINE,
                lambda module, temp, make=make, conv=conv, memory=memory: make(
                    module, "conv", MACHINE, conv, memory[1].operand(), memory[2].operand(),
                    *memory[0].stores(make is weight_gradient), temp),
                [a.copy() for a in arrays], (n,)), work, THREADS


def main(names: list[str]) -> None:
    peaks = {threads: multiply_adds(threads) / 1e9 for threads in (1, THREADS)}
    print(", ".join(f"peak of {threads} threads {value:.0f} GFLOP/s" for threads, value in peaks.items()))
    print(f"{'kernel':<18}{'ms':>9}{'median':>9}{'GFLOP/s':>9}{'of peak':>9}   build, optimise, emit (ms)")
    for source in (products, convolutions):
        for name, bench, work, threads in source(lambda name: not names or any(map(name.startswith, names))):
            least, median = timed(partial(bench.run, threads))
            rate = work / least / 1e9
            print(f"{name:<18}{least * 1e3:9.3f}{median * 1e3:9.3f}{rate:9.0f}{rate / peaks[threads]:9.0%}"
                  f"{bench.emit_ms:11.0f}{bench.optimise_ms:6.0f}{bench.codegen_ms:6.0f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
