"""The training steps of `examples/` beside the same ones in PyTorch, eager and compiled, as a Markdown table.

    python benchmarks/examples.py [NAME ...] --python pytorch=PATH [--laps 6] [--seconds 0.5] [--threads 2 | --alone]
    python benchmarks/examples.py [NAME ...] --python pytorch=PATH --first [ROUNDS] [--alone]

The same step stands in `benchmarks/examples_torch/`. All three run in processes of their own, by turns, on the weights
with which Stele's began; the first losses have to agree, up to numbers that a step draws. Times are of whole steps, of
the better of two C allocators: as installed, or one that keeps its memory. With `--alone` each has one thread, of which
the processor's time counts: what others do on the machine matters less then. torch.compile needs a C++ compiler.

With `--first` it is the first step that is timed, compilation among it, each in a fresh process whose imports and
weights are there: with nothing kept from earlier, and with what an earlier process kept on the disk. The compilers that
it starts count too; "none" is what gave no answer in time.
"""
from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from math import isnan
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from stele.rosetta.process import Died, Process  # noqa: E402  (the interpreter need not have Stele)

MODES = "stele", "eager", "compile"
ALIKE = 0.1        # how far the first losses may be from each other: what a step draws differs
FIRST = "example", "Stele s", "kept", "PyTorch eager s", "torch.compile s", "kept"
HEADS = ("example", "Stele ms", "min..max", "PyTorch eager ms", "min..max", "torch.compile ms", "min..max",
         "x faster than the better")


@dataclass
class Side:
    """One way to run an example: its process, the first loss, and the milliseconds of steps with either allocator."""

    mode: str
    process: Process
    loss: float = float("nan")
    installed: list[float] = field(default_factory=list)
    keeping: list[float] = field(default_factory=list)

    @property
    def samples(self) -> list[float]:
        """Those of the faster allocator."""
        return min((part for part in (self.installed, self.keeping) if part), key=median)

    @property
    def ms(self) -> float:
        return median(self.samples)


def names(asked: Sequence[str]) -> list[str]:
    """The examples that have a twin, or those of them that are asked for."""
    there = [path.stem for path in sorted((HERE / "examples_torch").glob("*.py"))]
    if unknown := sorted(set(asked) - set(there)):
        raise SystemExit(f"no examples to time: {', '.join(unknown)}; there are {', '.join(there)}")
    return list(asked) or there


def sides(name: str, python: Path, threads: int, folder: Path, stack: ExitStack) -> Iterator[Side]:
    """The three ways to run an example, each behind its first step."""
    weights = folder / f"{name}.npz"
    for mode in MODES:
        interpreter = Path(sys.executable) if mode == "stele" else python
        process = stack.enter_context(Process(interpreter, HERE / "examples_step.py", threads, folder / mode))
        given = {"keep": str(weights)} if mode == "stele" else {"weights": str(weights)}
        process.ask("load", mode=mode, sizes={}, trains=True, name=name, **given)
        side = Side(mode, process)
        try:
            side.loss = process.ask("call")["loss"]
            process.ask("call")
        except Died as death:
            print(f"{name}: {mode} died: {death}", file=sys.stderr)
            continue
        yield side


def timed(name: str, python: Path, given: argparse.Namespace) -> dict[str, Side]:
    """The sides of an example with their times, taken by turns."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        found = {side.mode: side for side in sides(name, python, given.threads, Path(folder), stack)}
        for k in range(2 * given.laps):
            for side in found.values():
                if k == given.laps:
                    side.process.ask("keep")
                times = side.process.ask("run", seconds=given.seconds, least=2, worked=given.alone)["ms"]
                (side.installed if k < given.laps else side.keeping).extend(times)
        return found


def row(name: str, found: dict[str, Side]) -> str:
    """A line of the table; raises SystemExit where the losses of the first steps differ."""
    ours, losses = found["stele"], {mode: side.loss for mode, side in found.items()}
    if any(abs(loss - ours.loss) > ALIKE * abs(ours.loss) for loss in losses.values()):
        raise SystemExit(f"{name}: the first losses differ: {losses}")
    cells = [name]
    for mode in MODES:
        side = found.get(mode)
        cells += [f"{side.ms:.3g}", f"{min(side.samples):.3g}..{max(side.samples):.3g}"] if side else ["none", ""]
    best = min(side.ms for mode, side in found.items() if mode != "stele")
    return f"| {' | '.join(cells)} | {best / ours.ms:.2f} |"


def first(name: str, python: Path, given: argparse.Namespace) -> str:
    """A line of the table of first steps: the medians of some rounds, each with folders of its own."""
    rounds: list[list[float]] = []
    nothing = float("nan")
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights.npz"
        for k in range(given.first):
            rounds.append([])
            for mode, times in (("stele", 2), ("eager", 1), ("compile", 2)):
                if mode not in given.modes:
                    rounds[-1] += [nothing] * times
                    continue
                for _ in range(times):
                    side = Process(Path(sys.executable) if mode == "stele" else python, HERE / "examples_step.py",
                                   given.threads, Path(folder) / f"{k}")
                    kept = {"keep": str(weights)} if mode == "stele" else {"weights": str(weights)}
                    with side as process:
                        process.ask("load", mode=mode, sizes={}, trains=True, name=name, **kept)
                        try:
                            found = process.ask("call")
                        except Died:
                            found = {}
                            process.process.kill()
                        rounds[-1].append(found.get("worked" if given.alone else "seconds", nothing))
    cells = [median(times) for times in zip(*rounds)]
    return f"| {' | '.join([name, *('none' if isnan(s) else f'{s:.2g}' for s in cells)])} |"


def processor() -> str:
    """The model of this machine's processor, as Linux says it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("names", nargs="*", metavar="NAME")
    asked.add_argument("--python", default=f"pytorch={sys.executable}", help="pytorch=PATH of an interpreter with it")
    asked.add_argument("--laps", type=int, default=6, help="turns of each, for either allocator; default: %(default)s")
    asked.add_argument("--seconds", type=float, default=0.5, help="of a turn; default: %(default)s")
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--alone", action="store_true", help="one thread each, and the processor's time")
    asked.add_argument("--modes", nargs="*", choices=MODES, default=MODES, help="of the first steps; default: all")
    asked.add_argument("--first", type=int, nargs="?", const=1, metavar="ROUNDS", help="the first step of each")
    given = asked.parse_args()
    given.threads = 1 if given.alone else given.threads
    python, chosen = Path(given.python.removeprefix("pytorch=")), names(given.names)
    version = subprocess.run([str(python), "-c", "import torch; print(torch.__version__)"], capture_output=True,
                             text=True, check=True).stdout.strip()
    compiler = "" if shutil.which("g++") or shutil.which("clang++") else "; no C++ compiler here, so no torch.compile"
    threads = "the processor's time of one thread" if given.alone else f"{given.threads} threads"
    print(f"{date.today():%-d %B %Y}, {processor()}, {threads}, PyTorch {version}{compiler}\n")
    heads = FIRST if given.first else HEADS
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    for name in chosen:
        print(first(name, python, given) if given.first else row(name, timed(name, python, given)), flush=True)


if __name__ == "__main__":
    main()
