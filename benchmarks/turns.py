"""Two trees of Stele by turns: how long the steps of the benchmark's rows, and their first calls, take in each.

    python benchmarks/turns.py OTHER [--rows mlp,matmul-1024] [--rounds 12] [--first 3]

OTHER is the root of another checkout. Both run in processes of their own with this interpreter, which must have Stele's
dependencies and may have Stele. Of steps: each round runs one tree and then the other for half a second, and is judged
by its fastest call; shown are the medians of the rounds, and the median, least and most of the rounds' ratios
(this tree over the other, so less than 1 is faster). Of first calls, in fresh processes with a warm and an empty
cache, the least of `--first` seconds each; Python's own compiled sources are there in both.
"""
from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))

from stele.rosetta.process import Process  # noqa: E402  (the interpreter need not have Stele)
from stele.rosetta.rows import WORKLOADS, Row, Workload, modes  # noqa: E402


class Tree:
    """A checkout: starts processes that run its programs."""

    def __init__(self, root: Path, threads: int, caches: Path) -> None:
        self.root, self.threads, self.cache = root, threads, caches / root.name

    def start(self, workload: Workload, row: Row, cache: Path) -> Process:
        """A process that has made the model of a row and its inputs, with this tree's Stele, whatever is installed."""
        os.environ["PYTHONPATH"] = str(self.root)
        folder = self.root / "stele" / "rosetta"
        process = Process(Path(sys.executable), folder / "stele" / f"{row.workload}.py", self.threads, cache,
                          worker=folder / "worker.py")
        mode = next(mode for mode in modes(folder / "stele" / f"{row.workload}.py") if mode in ("compile", "eager"))
        process.ask("load", mode=mode, sizes=dict(row.sizes), trains=workload.trains)
        return process

    def first(self, workload: Workload, row: Row, cache: Path) -> float:
        """Seconds of the first call in a fresh process."""
        with self.start(workload, row, cache) as process:
            return process.ask("call")["seconds"]


def steps(trees: Sequence[Tree], workload: Workload, row: Row, rounds: int) -> str:
    """The steps of a row by turns, in words."""
    found: list[list[float]] = [[] for _ in trees]
    processes = [tree.start(workload, row, tree.cache) for tree in trees]
    try:
        for process in processes:
            process.ask("run", seconds=1.0, least=3)
        for k in range(rounds):
            for j in (range(len(trees)), reversed(range(len(trees))))[k % 2]:
                found[j].append(min(processes[j].ask("run", seconds=0.5, least=2)["ms"]))
    finally:
        for process in processes:
            process.end()
    ratios = [mine / other for mine, other in zip(*found)]
    return (f"{median(found[0]):10.4f} {median(found[1]):10.4f}  {median(ratios):6.3f}  "
            f"({min(ratios):.3f}..{max(ratios):.3f})  {min(found[0]) / min(found[1]):6.3f}")


def first_calls(trees: Sequence[Tree], workload: Workload, row: Row, times: int) -> str:
    """The first calls of a row by turns, in words: warm, then with empty caches."""
    warm: list[list[float]] = [[] for _ in trees]
    cold: list[list[float]] = [[] for _ in trees]
    for _ in range(times):
        for k, tree in enumerate(trees):
            warm[k].append(tree.first(workload, row, tree.cache))
            with tempfile.TemporaryDirectory() as folder:
                cold[k].append(tree.first(workload, row, Path(folder)))
    return "  ".join(f"{min(mine):6.3f} {min(other):6.3f} {min(mine) / min(other):6.3f}"
                     for mine, other in (warm, cold))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("other", type=Path, help="the root of another checkout")
    asked.add_argument("--rows", default="", help="names of rows or workloads, with commas; default: all both have")
    asked.add_argument("--rounds", type=int, default=12)
    asked.add_argument("--first", type=int, default=0, help="first calls of each kind to try; default: none")
    asked.add_argument("--threads", type=int, default=2)
    given = asked.parse_args()
    wanted = set(filter(None, given.rows.split(",")))
    with tempfile.TemporaryDirectory() as caches:
        os.environ["PYTHONPYCACHEPREFIX"] = caches     # no tree finds compiled sources that the other lacks
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        trees = [Tree(root.resolve(), given.threads, Path(caches) / name)
                 for name, root in (("this", HERE), ("other", given.other))]
        print(f"{'row':22}       this      other   ratio  (least..most)  of the fastest"
              + "   first calls, warm: this, other, ratio; empty cache" * bool(given.first))
        for name, workload in WORKLOADS.items():
            for row in workload.rows:
                there = all((tree.root / "stele/rosetta/stele" / f"{row.workload}.py").exists() for tree in trees)
                if there and (not wanted or wanted & {name, row.name}):
                    shown = steps(trees, workload, row, given.rounds)
                    if given.first:
                        shown += "   " + first_calls(trees, workload, row, given.first)
                    print(f"{row.name:22} {shown}", flush=True)


if __name__ == "__main__":
    main()
