"""What a budget of memory costs: peaks and steps, beside those without one.

    python benchmarks/memory.py mlp --layers 1000
    python benchmarks/memory.py cnn gru transformer resnet50 --budgets 12
"""
from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import stele as st
from stele import nn, optim
from stele.errors import OutOfMemory
from stele.tracing import tree


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
            x, y = st.tensor(rng.random((4, 3, 224, 224), np.float32)), st.tensor(np.arange(4))
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


def measure(name: str, layers: int, memory: int | None, steps: int) -> str:
    """One line: budget, peak as planned, the most that was resident in the process, seconds of compiling and of a step.
    """
    step, given = step_of(name, layers, memory)
    start = time.perf_counter()
    try:
        for _ in range(2):
            out = step(*given)
            [y.numpy() for y in tree.flatten(out)[0]]
    except OutOfMemory as error:
        return f"{name} budget {memory} refused: {str(error)[:160]}"
    compiled, program = time.perf_counter() - start, step.programs[-1]
    peak, given_bytes = max(p.peak_bytes for p in step.programs), program.memory({}).given
    times = []
    for _ in range(steps):
        begun = time.process_time()
        [y.numpy() for y in tree.flatten(step(*given))[0]]
        times.append(time.process_time() - begun)
    times.sort()
    status = Path("/proc/self/status").read_text()
    high = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    again = [d.what for d in program.report().decisions if d.outcome == "again"][:1]
    return (f"{name} budget {memory} peak {peak} given {given_bytes} "
            f"VmHWM {high} compile_s {compiled:.1f} step_ms {times[len(times) // 2] * 1e3:.2f} "
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
    parser.add_argument("--least", type=float, default=0.9, help="the smallest budget, as a share of what is needed")
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
        for k in range(asked.budgets):
            share = 1 - (1 - asked.least) * (k + 1) / asked.budgets
            print(f"{share:.3f}", alone(name, asked.layers, int(whole * share), asked.steps), flush=True)


if __name__ == "__main__":
    main()
