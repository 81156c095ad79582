"""What a budget of memory costs: peaks and steps, beside those without one.

    python benchmarks/memory.py mlp --layers 1000
    python benchmarks/memory.py cnn gru transformer resnet50 --budgets 12

Budgets go from a hundredth less than what a step needs to the least that is known, unless --least says a share. What is
measured are the pages that a call touches of an arena, scratch and kept places that are all new, in pages of 4 KiB, and
what it is given. Steps of all budgets run by turns, a process for each, and their times of the processor are divided by
that of the step without one.
"""
from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import stele as st
from stele import nn, optim
from stele.backend.buffers import MEMORY
from stele.errors import OutOfMemory
from stele.tracing import tree

PR_SET_THP_DISABLE = 41


class Residual(nn.Module):
    def __init__(self, layers: int, width: int) -> None:
        self.layers = [nn.Linear(width, width) for _ in range(layers)]

    def forward(self, x: st.Tensor) -> st.Tensor:
        for layer in self.layers:
            x = x + st.tanh(layer(x)) * 0.1
        return x


def step_of(name: str, layers: int, memory: int | None) -> tuple[Any, tuple[st.Tensor, ...]]:
    """A training step in so many bytes, and its arguments."""
    st.manual_seed(0)
    rng, options = np.random.default_rng(0), {} if memory is None else {"memory": memory}
    if name in ("mlp", "resnet50"):
        if name == "mlp":
            net: Any = Residual(layers, 64)
            x, y = (st.tensor(rng.standard_normal((1024, 64), np.float32)) for _ in range(2))
        else:
            net = nn.Sequential(importlib.import_module("stele.rosetta.stele.resnet50").ResNet50(), nn.Linear(2048, 10))
            x, y = st.tensor(rng.random((2, 3, 224, 224), np.float32)), st.tensor(np.arange(2))
        optimizer = optim.SGD(net.parameters(), lr=1e-3)

        @st.compile(**options)
        def step(x: st.Tensor, y: st.Tensor) -> st.Tensor:
            optimizer.zero_grad(set_to_none=True)
            loss = st.square(net(x) - y).mean() if name == "mlp" else nn.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            return loss

        return step, (x, y)
    module, compile_ = importlib.import_module(f"stele.rosetta.stele.{name}"), st.compile
    st.compile = lambda f: compile_(f, **options)     # type: ignore[assignment]
    try:
        state = module.initialise()
    finally:
        st.compile = compile_
    return (state[1] if isinstance(state, tuple) else state), module.place("compile", *module.data())


def resident(what: str) -> int:
    """Bytes of this process that are in memory now (VmRSS), or were at most since it was last asked (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(what))


def touched(step: Any, given: tuple[st.Tensor, ...]) -> int:
    """The most bytes that a call takes of the system beside what there is before it, in small pages: of large ones it
    would have whole ones. What the program has kept is made anew."""
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    for program in step.programs:
        program.kept = None
        program.frames.clear()
    MEMORY.idle.clear()
    while MEMORY.dead:
        MEMORY.take_back(MEMORY.dead.popleft())
    MEMORY.release()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    [y.numpy() for y in tree.flatten(step(*given))[0]]
    return resident("VmHWM") - before


def measure(name: str, layers: int, memory: int | None) -> None:
    """Prints one line: budget, peak as planned, what a call touched beside what it is given, seconds of compiling; then
    the milliseconds of a step for each line that it reads."""
    step, given = step_of(name, layers, memory)
    start = time.process_time()
    try:
        for _ in range(2):
            out = step(*given)
            [y.numpy() for y in tree.flatten(out)[0]]
    except OutOfMemory as error:
        print(f"refused: {error}", flush=True)
        return
    compiled, program = time.process_time() - start, step.programs[-1]
    peak, given_bytes = max(p.peak_bytes for p in step.programs), program.memory({}).given
    high, again = given_bytes + touched(step, given), [d for d in program.report().decisions if d.outcome == "again"]
    print(json.dumps({"peak": peak, "given": given_bytes, "measured": high, "compile_s": round(compiled, 1),
                      "digest": digest(out), "again": again[0].what if again else "",
                      "price": (re.findall(r"([\d.]+) times the price", again[0].reason) if again else ["1.000"])[0]}),
          flush=True)
    for _ in sys.stdin:
        begun = time.process_time()
        [y.numpy() for y in tree.flatten(step(*given))[0]]
        print((time.process_time() - begun) * 1e3, flush=True)


def digest(out: Any) -> str:
    """Of the first result, whose bits are to be the same for every budget."""
    return hashlib.sha256(tree.flatten(out)[0][0].numpy().tobytes()).hexdigest()[:8]


class Alone:
    """A step in a process of its own."""

    def __init__(self, name: str, layers: int, memory: int | None) -> None:
        self.memory = memory
        self.process = subprocess.Popen([sys.executable, __file__, "--one", name, str(layers), str(memory)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = self.read()
        self.found: dict[str, Any] = {} if self.said.startswith("refused") else json.loads(self.said)

    def read(self) -> str:
        assert self.process.stdout
        if line := self.process.stdout.readline():
            return line.strip()
        raise SystemExit(f"the process for {self.memory} bytes ended")

    def step(self) -> float:
        """Milliseconds of this step."""
        assert self.process.stdin
        print(file=self.process.stdin, flush=True)
        return float(self.read())

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def rows(name: str, layers: int, count: int, least: float | None, rounds: int) -> None:
    """Prints a row for each budget; the steps of all of them run by turns."""
    free = Alone(name, layers, None)
    whole = free.found["peak"]
    refused = Alone(name, layers, 1000) if least is None else None
    low = whole * (least or 0)
    if refused is not None:
        low = int(re.findall(r"less than ([\d,]+):", refused.said)[0].replace(",", ""))
    budgets = [int(whole * 0.99 + (low - whole * 0.99) * k / max(count - 1, 1)) for k in range(count)]
    all_ = [free, *(Alone(name, layers, budget) for budget in budgets)]
    there = [each for each in all_ if each.found]
    times = [[each.step() for each in there] for _ in range(rounds)]
    ratios = [[now / each[0] for now in each] for each in times]
    print(f"{name}: {median(each[0] for each in times):.1f} ms without a budget")
    for each in all_:
        if each.found:
            own, f = [r[there.index(each)] for r in ratios], each.found
            asked = "none" if each.memory is None else f"{each.memory / 1e6:.1f} ({each.memory / whole:.1%})"
            print(f"| {asked} | {f['peak'] / 1e6:.1f} | {f['measured'] / 1e6:.1f} | {f['price']} | {median(own):.3f} "
                  f"({min(own):.3f}..{max(own):.3f}) | {f['compile_s']} | {f['digest']} | {f['again']} |", flush=True)
        else:
            print(f"| {each.memory} | {each.said[:120]} |")
        each.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--budgets", type=int, default=12)
    parser.add_argument("--least", type=float, help="the smallest budget, as a share of what is needed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", nargs=3)
    asked = parser.parse_args()
    if asked.one:
        name, layers, memory = asked.one
        measure(name, int(layers), None if memory == "None" else int(memory))
        return
    for name in asked.names:
        rows(name, asked.layers, asked.budgets, asked.least, asked.rounds)


if __name__ == "__main__":
    main()
