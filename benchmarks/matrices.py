"""Many small matrices: Stele beside NumPy and, where it is installed, PyTorch, on one thread, by turns.

`python benchmarks/matrices.py [names ...]`: the least and the median time of each, in microseconds of the processor for
one matrix, and how many times as long NumPy takes. `grad` is the gradient of the sum of all results.
"""
from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

import stele as st

SIZES = ((100_000, 3), (10_000, 8), (1_000, 16), (1_000, 32))
TURNS = 9
NAMES = ("cholesky", "solve", "inv", "det", "slogdet", "qr", "eigh", "eigvalsh", "svd", "svdvals")
Run = Callable[[], Any]


def operands(name: str, count: int, n: int, dtype: str) -> list[Any]:
    """Normal numbers; definite matrices where a function wants them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, n, n)).astype(dtype)
    if name in ("cholesky", "eigh", "eigvalsh"):
        x = x @ x.swapaxes(-1, -2) + np.eye(n, dtype=dtype)
    return [x, x[..., :1].copy()] if name == "solve" else [x]


def total(f: Callable[..., Any], sum_: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of all results."""
    def added(*x: Any) -> Any:
        return sum(map(sum_, several(f(*x))))

    return added


def several(y: Any) -> list[Any]:
    """The results of a function, one or several."""
    return [*y] if hasattr(y, "_fields") or type(y).__module__ == "torch.return_types" else [y]


def stele(name: str, x: list[Any]) -> tuple[Run, Run]:
    given = [st.tensor(a) for a in x]
    f = st.compile(lambda *a: several(getattr(st.linalg, name)(*a)))
    slope = st.compile(st.grad(total(getattr(st.linalg, name), st.sum)))
    return lambda: f(*given), lambda: slope(*given)


def numpy(name: str, x: list[Any]) -> Run:
    if name == "svdvals":
        return lambda: np.linalg.svd(x[0], compute_uv=False)
    return lambda: getattr(np.linalg, name)(*x)


def pytorch(name: str, x: list[Any]) -> tuple[Run, Run]:
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    given, f = [torch.from_numpy(a) for a in x], getattr(torch.linalg, name)
    leaf = given[0].clone().requires_grad_()
    return lambda: f(*given), lambda: torch.autograd.grad(total(f, torch.sum)(leaf, *given[1:]), leaf)


def by_turns(runs: list[Run]) -> list[list[float]]:
    """Seconds of the processor of each, by turns."""
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(TURNS):
        for run, seconds in zip(runs, found):
            start = time.thread_time()
            run()
            seconds.append(time.thread_time() - start)
    return [seconds[1:] for seconds in found]


def main() -> None:
    st.set_threads(1)
    has_torch = find_spec("torch") is not None
    labels = ["stele", "numpy", "stele grad", *["pytorch", "pytorch grad"] * has_torch]
    print(f"{'':34}" + "".join(f"{label:>20}" for label in labels) + "    numpy / stele")
    for name in sys.argv[1:] or NAMES:
        for dtype in ("float32", "float64"):
            for count, n in SIZES:
                x = operands(name, count, n, dtype)
                f, slope = stele(name, x)
                found = by_turns([f, numpy(name, x), slope, *(pytorch(name, x) if has_torch else ())])
                cells = "".join(f"{min(s) / count * 1e6:11.3f} ({median(s) / count * 1e6:6.3f})" for s in found)
                ratios = [min(found[1]) / min(found[0]), median(b / a for a, b in zip(*found[:2]))]
                shape = f"{name} {dtype} ({count}, {n}, {n})"
                print(f"{shape:34}{cells}    {ratios[0]:6.1f} ({ratios[1]:.1f})", flush=True)


if __name__ == "__main__":
    main()
