"""What less memory costs elsewhere: PyTorch's `activation_memory_budget` and JAX's `checkpoint` policies.

    PATH benchmarks/memory_others.py pytorch cnn transformer resnet50 --budgets 1 0.8 0.6 0.4 0.2 0
    PATH benchmarks/memory_others.py jax cnn transformer

PATH is an interpreter that has the framework. A line is one budget or policy, in a process of its own: bytes of a
training step, and its time of the processor on one thread. Bytes of PyTorch are those of the pages that a step touches
beside what there is before it, and what it is given (parameters, state, data); those of JAX what XLA plans: arguments,
results that are not written over these, and what lies in between. PyTorch's budgets are shares of what a step keeps for
its gradients.
"""
from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PR_SET_THP_DISABLE = 41
GIVES_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_TOP_PAD_": "0"}
"""The C allocator takes pages for what is large, and gives them back."""
POLICIES = ("none", "everything_saveable", "dots_saveable", "nothing_saveable")


def loaded(framework: str, name: str) -> Any:
    """The benchmark's program of a network."""
    spec = importlib.util.spec_from_file_location(f"{name}_of_{framework}",
                                                  ROOT / "stele" / "rosetta" / framework / f"{name}.py")
    assert spec and spec.loader
    program: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = program
    spec.loader.exec_module(program)
    return program


def pytorch(name: str, budget: float) -> tuple[Callable[[], Any], Callable[[], int]]:
    """A step of PyTorch, compiled, that keeps this share for its gradients, and the bytes that it is given."""
    torch = importlib.import_module("torch")
    importlib.import_module("torch._functorch.config").activation_memory_budget = budget
    torch.set_num_threads(1)
    program = loaded("pytorch", name)
    if name == "resnet50":
        net = torch.nn.Sequential(program.ResNet50(), torch.nn.Linear(2048, 10))
        x, y = torch.rand(2, 3, 224, 224), torch.arange(2)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
        state: Any = net, optimizer
        net.compile(dynamic=False)

        def trained() -> None:
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return trained, lambda: held(net, optimizer, x, y)
    state, given = program.initialise("compile"), program.place("compile", *program.data())

    def step() -> None:
        program.step(state, *given)
        if isinstance(state, tuple):
            state[1].zero_grad(set_to_none=True)

    return step, lambda: held(*(state if isinstance(state, tuple) else (state, None)), *given)


def held(net: Any, optimizer: Any, *given: Any) -> int:
    """Bytes of parameters, of what an optimiser keeps for each of them, and of what a step is given besides."""
    states = [x for state in optimizer.state.values() for x in state.values()] if optimizer else []
    return sum(getattr(x, "nbytes", 0) for x in [*net.parameters(), *net.buffers(), *given, *states])


def jax(name: str, policy: str) -> tuple[Callable[[], Any], Callable[[], int]]:
    """A step of JAX that keeps what a policy says, and the bytes that XLA plans for it."""
    jax = importlib.import_module("jax")
    program = loaded("jax", name)

    def kept(f: Callable[..., Any]) -> Callable[..., Any]:
        return f if policy == "none" else jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, policy))

    if name == "transformer":
        state = program.initialise("jit")
        applied, given = kept(lambda params, x: program.Block().apply({"params": params}, x)), program.place(
            "jit", *program.data())

        @jax.jit
        def pullback(params: Any, x: Any, g: Any) -> Any:
            y, back = jax.vjp(applied, params, x)
            return y, *back(g)

        return (lambda: jax.block_until_ready(pullback(state[1], *given)),
                lambda: planned(pullback.lower(state[1], *given)))
    loss = program.loss
    program.loss = lambda params, model, *rest: kept(lambda params, *rest: loss(params, model, *rest))(params, *rest)
    state, given = program.initialise("jit"), program.place("jit", *program.data())
    key = (state.key,) if hasattr(state, "key") else ()
    return (lambda: program.step(state, *given),
            lambda: planned(program.update.lower(state.params, state.moments, state.model, *given, *key)))


def planned(lowered: Any) -> int:
    """The most bytes that XLA plans for a function."""
    found = lowered.compile().memory_analysis()
    return (found.argument_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes
            + found.temp_size_in_bytes)


def resident(what: str) -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(what))


def timed(step: Callable[[], Any], steps: int) -> str:
    """Milliseconds of a step."""
    for _ in range(3):
        step()
    times: list[float] = []
    for _ in range(steps):
        begun = time.process_time()
        step()
        times.append((time.process_time() - begun) * 1e3)
    return f"{median(times):.1f} ms ({min(times):.1f}..{max(times):.1f})"


def touched(step: Callable[[], Any]) -> int:
    """Bytes that a step touches beside what there is before it, the least of three."""
    found: list[int] = []
    for _ in range(3):
        ctypes.CDLL(None).malloc_trim(0)
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        step()
        found.append(resident("VmHWM") - before)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=("pytorch", "jax"))
    parser.add_argument("names", nargs="+")
    parser.add_argument("--budgets", type=float, nargs="*", default=[1.0, 0.8, 0.6, 0.4, 0.2, 0.0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        np.random.seed(0)
        ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
        is_torch = given.framework == "pytorch"
        step, size = pytorch(given.names[0], float(given.one)) if is_torch else jax(given.names[0], given.one)
        times = timed(step, given.steps)
        print(f"{(size() + (touched(step) if is_torch else 0)) / 1e6:.1f} MB, {times}")
        return
    own = {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
           "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", **GIVES_BACK}
    for name in given.names:
        for one in given.budgets if given.framework == "pytorch" else POLICIES:
            done = subprocess.run([sys.executable, __file__, given.framework, name, f"--one={one}",
                                   f"--steps={given.steps}"], capture_output=True, text=True, env={**os.environ, **own})
            print(f"{given.framework} {name} {one}: {done.stdout.strip() or done.stderr[-600:]}", flush=True)


if __name__ == "__main__":
    main()
