"""Times a chain of 20 elementwise ops on 10 million elements in Stele and in other frameworks, side by side.

    python benchmarks/elementwise.py --python jax=/path/to/python [--python torch=/path/to/python] [--rounds 9]

Each framework runs in a process of its own with the same number of threads; rounds are interleaved.
"""
from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from workloads import Peer, Row, begin, measured

HERE = Path(__file__).resolve().parent
MODES = {"stele": "compiled", "jax": "jit", "torch": "eager"}


def start(framework: str, python: str, threads: int) -> Peer:
    """A worker that has made its first call."""
    command = [python, str(HERE / "peers" / "elementwise.py"), framework, MODES[framework], str(threads)]
    return begin(Row("chain", framework, MODES[framework]), command, threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PATH")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    pythons = {"stele": sys.executable} | dict(p.split("=", 1) for p in args.python)
    if unknown := set(pythons) - set(MODES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; frameworks {', '.join(MODES)}")
    rows = measured([start(f, python, args.threads) for f, python in pythons.items()], args.rounds, 3)
    print("| framework | mode | ms | min..max | x Stele |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row.framework} | {row.mode} | {row.ms:.2f} | {row.ms_min:.2f}..{row.ms_max:.2f} "
              f"| {row.ms / rows[0].ms:.2f} |")


if __name__ == "__main__":
    main()
