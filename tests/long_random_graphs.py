"""Many random programs in every style, in child processes: `python -m tests.long_random_graphs 50000 --seed 0`.

What fails is shrunk and written to `tests/counterexamples/`, where `tests/test_random_graphs.py` runs it from then on.
"""
from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.programs.check import Failure
from tests.programs.grammar import FEATURES, random_program
from tests.programs.program import Program, show
from tests.programs.shrink import shrink
from tests.programs.styles import STYLES
from tests.programs.worker import Worker, checked, styles_of

COUNTEREXAMPLES = Path(__file__).resolve().parent / "counterexamples"


def main() -> int:
    """Checks programs of seeds seed..seed+n; says which fail, writes them down, and returns how many did."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_random_graphs", description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=50_000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--styles", nargs="*", choices=[*STYLES, "passes"], help="all of these")
    parser.add_argument("--every", type=int, default=4, help="one of so many is compiled, where no styles are named")
    parser.add_argument("--without", nargs="*", default=[], choices=sorted(FEATURES), help="features left out")
    parser.add_argument("--keep", type=int, default=2, help="counterexamples written down for each sort of failure")
    parser.add_argument("--into", type=Path, default=COUNTEREXAMPLES, help="the folder they are written to")
    options = parser.parse_args()
    features = sorted(FEATURES - set(options.without))
    tasks = ({"seed": s, "features": features, "styles": options.styles or styles_of(s, options.every)}
             for s in range(options.seed, options.seed + options.n))
    failed, sorts = 0, Counter[str]()
    for count, (task, failure) in enumerate(checked(tasks, options.workers), 1):
        if failure is not None:
            failed += 1
            sorts[failure.sort] += 1
            print(f"seed {task['seed']}: {failure.style}: {failure.sort}: {failure.text[:300]}", flush=True)
            if sorts[failure.sort] <= options.keep:
                written(random_program(task["seed"], frozenset(features)), failure, task["seed"], options.into)
        if sys.stderr.isatty() or count % 500 == 0:
            print(f"{count} of {options.n} programs, {failed} failed", end="\r" if sys.stderr.isatty() else "\n",
                  file=sys.stderr)
    print(f"{options.n} programs from seed {options.seed}: {failed} failed")
    for sort, count in sorts.most_common():
        print(f"{count:6}  {sort}")
    return failed


def written(program: Program, failure: Failure, seed: int, folder: Path) -> Path:
    """Shrinks a program that fails and writes it down."""
    worker = Worker({})

    def fails(smaller: Program) -> bool:
        found = worker.check(text=show(smaller), styles=failure.style.split(","))
        return found is not None and found.sort == failure.sort

    small = shrink(program, fails)
    again = worker.check(text=show(small), styles=failure.style.split(",")) or failure
    worker.close()
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", f"{failure.style}_{failure.sort}")[:60].lower()
    path = folder / f"{name}_{seed}.txt"
    path.write_text(show(replace(small, note=f"seed {seed}, {failure.style}: {failure.sort}\n{again.text[:400]}")))
    return path


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
