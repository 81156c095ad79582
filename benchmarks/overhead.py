"""What Stele costs around the arithmetic: microseconds per call, and the seconds a first call is made of.

    python benchmarks/overhead.py
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

import stele as st
from stele import optim
from stele.arrays.tensor import lift
from stele.ir.graph import Array, Op, Value
from stele.ir.types import Type
from stele.train import Trainer
from stele.train.models import Cnn

STARTS = {"an interpreter": ("-c", "pass"), "import numpy": ("-c", "import numpy"),
          "import stele": ("-c", "import stele"), "stele --version": ("-m", "stele.cli", "--version")}


def microseconds(f: Callable[..., Any], *args: Any, calls: int = 2000, rounds: int = 15) -> str:
    """Median, minimum and maximum over rounds of calls in a row, each round's mean."""
    found: list[float] = []
    for _ in range(calls):
        f(*args)
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            f(*args)
        found.append((time.perf_counter() - start) / calls * 1e6)
    return f"{median(found):8.2f} us  ({min(found):.2f}..{max(found):.2f})"


def processor_seconds(words: Sequence[str]) -> float:
    """What a process took of the processors, which other work on the machine stretches less than the clock."""
    with open(os.devnull, "w") as nowhere:
        started = subprocess.Popen([sys.executable, *words], stdout=nowhere)
        used = os.wait4(started.pid, 0)[2]
    return used.ru_utime + used.ru_stime


def starts(rounds: int = 31) -> None:
    """What a process takes to start, by turns; and as a multiple of NumPy's import, the interpreter subtracted."""
    found: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(rounds):
        for name, words in STARTS.items():
            found[name].append(processor_seconds(words))
    bare, numpy = (median(found[name]) for name in ("an interpreter", "import numpy"))
    for name, seconds in found.items():
        took = median(seconds)
        print(f"{name:34} {took:8.3f} s   {(took - bare) / (numpy - bare):.2f} of NumPy's import")


def first_call(state: str) -> None:
    """The cnn's training step for the first time in this process."""
    rng = np.random.default_rng(0)
    x, y = rng.random((64, 3, 32, 32), dtype=np.float32), rng.integers(0, 10, 64)
    model = Cnn()
    trainer = Trainer(model, loss="cross_entropy", optimizer=optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
    start = time.perf_counter()
    trainer.train_on_batch((x, y))
    whole = time.perf_counter() - start
    print(f"{f'first call of cnn, {state} cache':34} {whole:8.2f} s")
    if state == "empty":
        program = trainer.programs.learn.programs[0]
        report = program.report()
        seconds, kernels = report.seconds, len(report.kernels)
        for name, took in [("trace, and other programs", whole - sum(seconds.values())), *seconds.items()]:
            print(f"{'  ' + name:34} {took:8.2f} s")
        print(f"{'  kernels':34} {kernels:8}    {sum(seconds.values()) / kernels * 1e3:.1f} ms each")


class Same(Op):
    """Its operand, which Python hands back."""

    def type(self, *x: Type) -> Type: return x[0]
    def reference(self, *x: Array, **_: Any) -> Array: return x[0]


def loop(f: Callable[..., Value], steps: int) -> Callable[..., Any]:
    """A loop that applies f in each step."""
    return st.compile(lambda x: st.scan(lambda c, _: (lift(f)(c) * 0.5 + 1, None), x, length=steps)[0])


def same(x: Value) -> Value: return Same()(x)
def plain(x: Value) -> Value: return x


def crossings(steps: int = 10_000, rounds: int = 31) -> None:
    """What a call of Python in the midst of a program takes: a loop with one in each step, less one without, by turns;
    of the processor, as it happens on one thread."""
    x, loops = st.ones(4, 4), (loop(same, steps), loop(plain, steps))
    found: list[float] = []
    for _ in range(rounds):
        ends = [time.thread_time()]
        for f in loops:
            f(x)
            ends.append(time.thread_time())
        found.append((2 * ends[1] - ends[0] - ends[2]) / steps * 1e6)
    name = "a call of Python by a program"
    print(f"{name:34} {median(found[1:]):8.2f} us  ({min(found[1:]):.2f}..{max(found[1:]):.2f})")


def main() -> None:
    one, thousand = st.tensor(np.float32(1)), st.tensor(np.ones(1000, np.float32))
    square, large = st.tensor(np.ones((64, 64), np.float32)), st.tensor(np.ones(1 << 18, np.float32))
    add, product = st.compile(lambda x: x + 1), st.compile(lambda x, y: x @ y)
    starts()
    for name, f, args in (("x + 1, one element", add, (one,)), ("x + 1, 1,000 elements", add, (thousand,)),
                          ("x + 1, 262,144 elements", add, (large,)), ("x @ y, 64 x 64", product, (square, square))):
        print(f"{name:34} {microseconds(f, *args)}")
    crossings()
    with tempfile.TemporaryDirectory() as folder:
        for state in ("empty", "warm"):
            subprocess.run([sys.executable, __file__, state], check=True, env={**os.environ, "STELE_CACHE": folder})


if __name__ == "__main__":
    first_call(sys.argv[1]) if len(sys.argv) > 1 else main()
