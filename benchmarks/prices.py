"""Algorithms in the order of their prices beside the order measured: `python benchmarks/prices.py [name ...]`.

Each layer is one contraction with each algorithm that its chooser may take, by turns in one process; STELE_TARGET
limits the machine. The last line says how often the choice takes at most 5% longer than the fastest.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from stele.backend.cpu.tuned import here  # noqa: E402
from stele.inspect.tune.contractions import Contraction, contractions  # noqa: E402
from stele.inspect.tune.measure import NEAR, SWEPT, Build, Question, build, operands  # noqa: E402
from stele.ir.graph import Graph, Value, parameter  # noqa: E402
from stele.ir.types import Type, float32  # noqa: E402
from stele.ops.contraction import matmul  # noqa: E402
from stele.ops.convolution import conv2d  # noqa: E402
from stele.pipeline import Options, optimise  # noqa: E402
from stele.transform.autodiff import gradients  # noqa: E402

SECONDS, MOST, CLOSE = 2.0, 200, 1.05
LIBRARY = ("gemm", "blas")      # own code or a library: no prices of one kind

LAYERS: dict[str, tuple[int, int, int, int, int, int]] = {      # n, c, o, size, kernel, stride
    "cnn 2":       (64, 50, 50, 32, 3, 1),
    "cnn 3":       (64, 50, 100, 16, 3, 1),
    "cnn 4":       (64, 100, 100, 16, 3, 1),
    "3x3 56":      (8, 64, 64, 56, 3, 1),
    "3x3 28":      (8, 128, 128, 28, 3, 1),
    "3x3 14":      (8, 256, 256, 14, 3, 1),
    "3x3 7":       (8, 512, 512, 7, 3, 1),
    "3x3 56 of 1": (1, 64, 64, 56, 3, 1),
    "3x3 28 of 1": (1, 128, 128, 28, 3, 1),
    "3x3 14 of 1": (1, 256, 256, 14, 3, 1),
    "3x3 7 of 1":  (1, 512, 512, 7, 3, 1),
    "1x1 56":      (8, 256, 64, 56, 1, 1),
    "1x1 28":      (8, 512, 128, 28, 1, 1),
    "1x1 14":      (8, 256, 1024, 14, 1, 1),
    "1x1 7":       (8, 2048, 512, 7, 1, 1),
    "1x1 56 of 1": (1, 64, 256, 56, 1, 1),
    "1x1 28 of 1": (1, 512, 128, 28, 1, 1),
    "1x1 14 of 1": (1, 1024, 256, 14, 1, 1),
    "1x1 7 of 1":  (1, 512, 2048, 7, 1, 1),
}


PRODUCTS = {"product 512": 512, "product 1024": 1024, "product 1536": 1536, "product 2048": 2048, "product 3072": 3072}


def layer(n: int, c: int, o: int, size: int, kernel: int, stride: int) -> tuple[list[Value], Value]:
    """The parameters of a convolution, and what it computes."""
    x, w = (parameter(name, Type(float32, shape)) for name, shape in (
        ("x", (n, c, size, size)), ("w", (o, c, kernel, kernel))))
    return [x, w], conv2d(x, w, padding=kernel // 2, stride=stride)


def slopes(y: Value, g: Value, *wrt: Value) -> tuple[Value, ...]:
    """The gradients of a layer."""
    return tuple(x for x in gradients((y,), (g,), wrt) if x is not None)


def cases() -> Iterator[tuple[str, Contraction]]:
    """Each product; each layer forward with weights that stay and that change, and its gradients."""
    for name, n in PRODUCTS.items():
        x, y = (parameter(side, Type(float32, (n, n))) for side in "xy")
        for _, one in contractions(optimise(Graph((x, y), (matmul(x, y),)), Options()), {}, ()):
            yield name, one
    for name, shape in LAYERS.items():
        (x, w), y = layer(*shape)
        g = parameter("g", y.type)
        for how, results, steady in (("steady", (y,), (w,)), ("changing", (y,), ()),
                                     ("gradients", slopes(y, g, x, w) if shape[0] > 1 else (), ())):
            graph = optimise(Graph((x, w, g), results), Options())
            for _, one in contractions(graph, {}, steady) if results else ():
                yield f"{name}, {how if how != 'gradients' else one.anchor.op.name}", one


def compared(one: Contraction) -> dict[str, tuple[float, float]]:
    """The price and the least seconds of each algorithm, the chosen one first."""
    first = build(one, {})
    asked = {q: rivals(asked) for q, asked in first.trial.asked.items()}
    question, prices = max(asked.items(), key=lambda found: len(found[1]), default=("", {}))
    if len(prices) < 2:
        return {}
    chosen = first.trial.asked[question].name
    builds = {chosen: first} | {name: build(one, {question: name}) for name in prices if name != chosen}
    times = least(builds, one)
    return {name: (prices[name], times[name]) for name in builds}


def rivals(asked: Question) -> dict[str, float]:
    """What may be chosen, with prices: algorithms; of the tiles of a product the cheapest alone and in a scheme."""
    prices = dict(zip(asked.names, asked.prices))
    if asked.is_algorithm:
        return prices if asked.name not in LIBRARY else {}
    schemes: dict[str, list[str]] = {}
    for name in prices:
        schemes.setdefault(name.partition(" ")[0] if " " in name else "", []).append(name)
    return {name: prices[name] for name in (min(names, key=prices.__getitem__) for names in schemes.values())}


def least(builds: Mapping[str, Build], one: Contraction) -> dict[str, float]:
    """The least seconds of a call of each, by turns; what stays from call to call comes from memory, as in a whole
    program."""
    buffers, times = operands(one), dict.fromkeys(builds, float("inf"))
    sweep = np.zeros(SWEPT // 4, np.float32)
    end = perf_counter() + SECONDS
    for turn in range(MOST):
        for name, each in builds.items():
            np.add(sweep, 1, out=sweep)
            for x in (b.array for k, b in enumerate(buffers) if k not in one.steady and b.array.nbytes <= NEAR):
                x.max(initial=0)
            start = perf_counter()
            each.program.run(buffers, one.sizes)
            times[name] = min(times[name], perf_counter() - start) if turn else times[name]
        if perf_counter() > end and turn > 4:
            break
    return times


def main() -> None:
    asked, close, all_ = sys.argv[1:], 0, 0
    machine = here()
    print(f"{machine.name}: pace {machine.pace}, far {machine.far}, shared {machine.shared}, memory {machine.memory}")
    for name, one in cases():
        if asked and not any(word in name for word in asked):
            continue
        if not (found := compared(one)):
            continue
        (_, taken), *_ = found.values()
        best = min(seconds for _, seconds in found.values())
        close, all_ = close + (taken <= CLOSE * best), all_ + 1
        row = "  ".join(f"{algorithm} {price / 1e3:8.1f}k {seconds * 1e3:8.3f} ms"
                        for algorithm, (price, seconds) in found.items())
        print(f"{name:32} {taken / best:5.2f}  {row}", flush=True)
    print(f"{close} of {all_} within {CLOSE - 1:.0%} of the fastest")


if __name__ == "__main__":
    main()
