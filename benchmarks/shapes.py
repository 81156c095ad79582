"""One compile for all shapes: what open sizes cost at a call, and what calls of many sizes cost to compile.

    python benchmarks/shapes.py open [ROWS ...]
    python benchmarks/shapes.py many [ROWS ...] --python jax=PATH --python pytorch=PATH

`open` compares a program whose sizes are open with one compiled for the very size it is called at: both run by turns in
one process on one thread, and each round is judged by the faster of a few calls of each. `many` calls a training step
at each size twice, in a fresh process of each framework with an empty cache: what first calls that made a program take
beyond the second ones is compiling. Seconds are those of the processor, processes that a compiler starts among them,
but for the system's, which gives larger sizes their first pages.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FRAMEWORKS = ("stele", "jax", "pytorch", "pytorch-dynamic")


class Row(NamedTuple):
    """A program of `stele/rosetta`, how its data is made at a size, and the sizes: of `many` calls, and of `open` those
    it was opened with before it is called at the last one."""

    program: str
    data: Callable[[Any, int], Sequence[Any]]
    many: Sequence[int]
    open: Sequence[int]
    sides: bool = False


def images(program: Any, side: int) -> Sequence[Any]:
    """16 images of side x side pixels, and their labels."""
    rng = np.random.default_rng(side)
    return rng.random((16, 3, side, side), np.float32), rng.integers(0, 10, 16)


ROWS = {
    "cnn, batches":       Row("cnn", lambda p, n: p.data(n), range(4, 260, 4), (32, 48, 64)),
    "cnn, image sizes":   Row("cnn", images, range(32, 96, 8), (32, 40, 64), sides=True),
    "transformer, words": Row("transformer", lambda p, n: p.data(1, n), range(8, 520, 8), (64, 96, 256)),
    "mlp, batches":       Row("mlp", lambda p, n: p.data(n), range(4, 260, 4), (32, 48, 128)),
    "gru, batches":       Row("gru", lambda p, n: p.data(n), range(4, 68, 4), (8, 16, 64)),
}


# The programs, in the interpreter that has the framework

def loaded(row: Row, framework: str) -> Any:
    """The program of a framework; its network is one for images of any size where `sides` are open."""
    sys.path.insert(0, str(ROOT if framework == "stele" else ROOT / "benchmarks"))
    path = ROOT / "stele" / "rosetta" / framework.split("-")[0] / f"{row.program}.py"
    spec = importlib.util.spec_from_file_location(f"{row.program}_of_{framework.split('-')[0]}", path)
    assert spec and spec.loader
    program: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = program
    spec.loader.exec_module(program)
    if row.sides:
        program.Cnn = {"stele": any_side, "jax": any_side_of_jax}.get(framework, any_side)(program)
    return program


def any_side(program: Any) -> Any:
    """The convolutional network with the mean of each channel before its last layers, in Stele and PyTorch."""
    relu, pool = ((program.F.relu, program.F.max_pool2d) if hasattr(program, "F")
                  else (program.st.relu, program.st.max_pool2d))

    class AnySide(program.Cnn):
        def __init__(self, dropout: bool = True) -> None:
            super().__init__(dropout)
            self.fc1 = program.nn.Linear(100, 512)

        def forward(self, x: Any) -> Any:
            x = self.drop1(relu(pool(self.conv2(relu(self.conv1(x))), 2)))
            x = self.drop1(relu(pool(self.conv4(relu(self.conv3(x))), 2)))
            return self.fc2(self.drop2(relu(self.fc1(x.mean((2, 3))))))

    return AnySide


def any_side_of_jax(program: Any) -> Any:
    """The same in JAX."""
    nn = program.nn

    class AnySide(program.Cnn):
        @nn.compact
        def __call__(self, x: Any, train: bool = True) -> Any:
            x = self.block(x, 50, "conv1", "conv2", train)
            x = self.block(x, 100, "conv3", "conv4", train)
            x = nn.relu(nn.Dense(512, name="fc1")(x.mean((1, 2))))
            return nn.Dense(10, name="fc2")(nn.Dropout(0.5 * self.dropout, deterministic=not train)(x))

    return AnySide


def started(program: Any, framework: str) -> tuple[Any, Callable[[], int]]:
    """The state of a training, and the number of programs that it has compiled so far."""
    if framework == "stele":
        state = program.initialise()
        step = state[1] if isinstance(state, tuple) else state
        return state, lambda: step.compiles
    if framework == "jax":
        state = program.initialise("jit")
        step = state[0] if isinstance(state, tuple) else program.update
        return state, lambda: step._cache_size()
    torch = importlib.import_module("torch")
    counted = importlib.import_module("torch._dynamo.utils").counters
    importlib.import_module("torch._dynamo").config.recompile_limit = 1000
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    state = program.initialise("eager")
    model = state[0] if isinstance(state, tuple) else state
    model.compile(dynamic=True if framework.endswith("dynamic") else None)
    return state, lambda: counted["stats"]["unique_graphs"]


def spent() -> float:
    """Seconds of the processor, of this process and those it has waited for; the system's are left out."""
    now = os.times()
    return now.user + now.children_user


def numbers(result: Any) -> None:
    """Waits for the numbers of a step of Stele, whose results may be pending."""
    parts: list[Any] = [result]
    while parts:
        part = parts.pop()
        if isinstance(part, tuple | list | dict):
            parts += part.values() if isinstance(part, dict) else part
        elif hasattr(part, "numpy") and not hasattr(part, "grad_fn"):
            part.numpy()


def called(program: Any, state: Any, framework: str, given: Sequence[Any]) -> float:
    """Seconds of the processor of one step."""
    mode = {"stele": "compile", "jax": "jit"}.get(framework, "eager")
    placed, start = program.place(mode, *given), spent()
    result = program.step(state, *placed)
    if framework == "stele":
        numbers(result)
    return spent() - start


def many(name: str, framework: str, limit: float) -> dict[str, Any]:
    """What calls at all sizes take: programs and seconds of compiling, those of the first call apart, and the sizes
    that were called before so many seconds had passed."""
    row = ROWS[name]
    program = loaded(row, framework)
    state, compiles = started(program, framework)
    start, seconds, programs = time.perf_counter(), [], [0]
    for size in row.many:
        given = row.data(program, size)
        first, second = (called(program, state, framework, given) for _ in range(2))
        programs.append(compiles())
        seconds.append(first - second if programs[-1] > programs[-2] else 0.0)
        if time.perf_counter() - start > limit:
            break
    return {"sizes": len(seconds), "all": len(row.many), "programs": programs[-1], "first": seconds[0],
            "rest": sum(seconds[1:]), "clock": time.perf_counter() - start}


def opened(name: str, rounds: int, calls: int) -> dict[str, Any]:
    """Milliseconds of a step at the last of some sizes, of an open program and of one for that size alone."""
    row = ROWS[name]
    program = loaded(row, "stele")
    given = [row.data(program, size) for size in row.open]
    states = [started(program, "stele") for _ in range(2)]
    for (state, _), sizes in zip(states, (given, given[-1:])):
        for each in sizes:
            called(program, state, "stele", each)
    found: list[list[float]] = [[], []]
    for k in range(rounds):
        for j in ((0, 1), (1, 0))[k % 2]:
            found[j].append(min(timed(program, states[j][0], given[-1]) for _ in range(calls)))
    ratios = [a / b for a, b in zip(*found)]
    return {"size": row.open[-1], "open": median(found[0]), "exact": median(found[1]), "ratio": median(ratios),
            "least": min(ratios), "most": max(ratios), "programs": [compiles() for _, compiles in states]}


def timed(program: Any, state: Any, given: Sequence[Any]) -> float:
    """Milliseconds of this thread in one step of Stele."""
    placed, start = program.place("compile", *given), time.process_time()
    numbers(program.step(state, *placed))
    return (time.process_time() - start) * 1e3


# The parent

def asked(python: str, what: Sequence[str], threads: int) -> dict[str, Any]:
    """The answer of a fresh process with empty caches; what it wrote of where it ended without one."""
    with tempfile.TemporaryDirectory() as folder:
        caches = dict.fromkeys(("STELE_CACHE", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME"), folder)
        own = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false",
               "STELE_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run([python, __file__, "measure", *what], capture_output=True, text=True,
                              env={**os.environ, **caches, **own})
    if done.returncode:
        raise SystemExit(f"{' '.join(what)}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("open", "many", "measure"))
    parser.add_argument("rows", nargs="*", metavar="ROWS", help=f"of {', '.join(map(repr, ROWS))}; default: all")
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PATH",
                        help="an interpreter that has jax or pytorch")
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which no further size is called")
    given = parser.parse_args()
    if given.what == "measure":
        name, framework = given.rows
        print(json.dumps(opened(name, given.rounds, given.calls) if framework == "open"
                         else many(name, framework, given.limit)))
        return
    pythons = {"stele": sys.executable, **dict(text.split("=", 1) for text in given.python)}
    for name in given.rows or ROWS:
        if given.what == "open":
            found = asked(sys.executable, [name, "open", f"--rounds={given.rounds}", f"--calls={given.calls}"], 1)
            print(f"| {name} | {found['size']} | {found['open']:.2f} | {found['exact']:.2f} | {found['ratio']:.3f} "
                  f"({found['least']:.3f}..{found['most']:.3f}) | {found['programs']} |", flush=True)
            continue
        for framework in given.frameworks:
            if (python := pythons.get(framework.split("-")[0])) is not None:
                found = asked(python, [name, framework, f"--limit={given.limit}"], 2)
                print(f"| {name} | {framework} | {found['sizes']} of {found['all']} | {found['programs']} | "
                      f"{found['first']:.2f} | {found['rest']:.2f} | {found['clock']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
