"""What a budget of memory costs: peaks and steps, beside those without one.

    python benchmarks/memory.py mlp --layers 1000
    python benchmarks/memory.py cnn gru transformer resnet50 --budgets 12

Budgets go from a hundredth less than what a step needs to the least that is known, unless --least says a share. What is
measured are the pages that a call touches of an arena, scratch and kept places that are all new, in pages of 4 KiB, and
what it is given.
"""
from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
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


def measure(name: str, layers: int, memory: int | None, steps: int) -> str:
    """One line: budget, peak as planned, what a call touched beside what it is given, seconds of compiling and of a
    step."""
    step, given = step_of(name, layers, memory)
    start = time.perf_counter()
    try:
        for _ in range(2):
            out = step(*given)
            [y.numpy() for y in tree.flatten(out)[0]]
    except OutOfMemory as error:
        return f"{name} budget {memory} refused: {error}"
    compiled, program = time.perf_counter() - start, step.programs[-1]
    peak, given_bytes = max(p.peak_bytes for p in step.programs), program.memory({}).given
    times = []
    for _ in range(steps):
        begun = time.process_time()
        [y.numpy() for y in tree.flatten(step(*given))[0]]
        times.append(time.process_time() - begun)
    times.sort()
    high = given_bytes + touched(step, given)
    again = [d.what for d in program.report().decisions if d.outcome == "again"][:1]
    return (f"{name} budget {memory} peak {peak} given {given_bytes} "
            f"measured {high} compile_s {compiled:.1f} step_ms {times[len(times) // 2] * 1e3:.2f} "
            f"({times[0] * 1e3:.2f}..{times[-1] * 1e3:.2f}) digest {digest(out)} {again}")


def digest(out: Any) -> str:
    """Of the first result, whose bits are to be the same for every budget."""
    return hashlib.sha256(tree.flatten(out)[0][0].numpy().tobytes()).hexdigest()[:8]


def alone(*args: object) -> str:
    """A measurement in a process of its own."""
    made = subprocess.run([sys.executable, __file__, "--one", *map(str, args)], capture_output=True, text=True,
                          env=dict(os.environ))
    return made.stdout.strip() or made.stderr[-400:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--budgets", type=int, default=12)
    parser.add_argument("--least", type=float, help="the smallest budget, as a share of what is needed")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--one", nargs=4)
    asked = parser.parse_args()
    if asked.one:
        name, layers, memory, steps = asked.one
        print(measure(name, int(layers), None if memory == "None" else int(memory), int(steps)))
        return
    for name in asked.names:
        free = alone(name, asked.layers, None, asked.steps)
        print(free, flush=True)
        whole = int(free.split(" peak ")[1].split()[0])
        refused = alone(name, asked.layers, 1000, asked.steps) if asked.least is None else ""
        print(refused, flush=True)
        least = int(re.findall(r"less than ([\d,]+):", refused)[0].replace(",", "")) if refused else whole * asked.least
        for k in range(asked.budgets):
            budget = int(whole * 0.99 + (least - whole * 0.99) * k / max(asked.budgets - 1, 1))
            print(f"{budget / whole:.3f}", alone(name, asked.layers, budget, asked.steps), flush=True)


if __name__ == "__main__":
    main()
