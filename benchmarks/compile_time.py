"""Compile time: what the first call of large programs takes, with nothing kept on the disk.

    python benchmarks/compile_time.py [ROWS ...] [--rounds 3]

A row is a function of `benchmarks/compile_time_rows.py`. Each measurement is a fresh process on two cores: its first
call less its second one, by the clock and in seconds of the processor, those of all threads; the least of all rounds is
shown, and the seconds of each phase by the clock. On a machine that others use, seconds of the processor are what
counts.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.compile_time_rows import COMPILED, ROWS

CORES = 2


def measured(row: str) -> dict[str, Any]:
    """What this process takes for the first call of a row, less the second one."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    step = ROWS[row]()
    ends = [(time.perf_counter(), time.process_time())]
    for _ in range(2):
        step()
        ends.append((time.perf_counter(), time.process_time()))
    first, second = ([b - a for a, b in zip(*pair)] for pair in pairwise(ends))
    reports = [program.report() for f in COMPILED for program in f.programs]
    return {"clock": first[0] - second[0], "processor": first[1] - second[1], "step": second[0],
            "phases": max(reports, key=lambda report: len(report.kernels)).seconds}


def asked(row: str) -> dict[str, Any]:
    """The same of a fresh process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, __file__, "--measure", row], stdout=subprocess.PIPE, text=True,
                              check=True, env={**os.environ, "STELE_CACHE": folder})
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROWS", help=f"of {', '.join(ROWS)}; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", choices=ROWS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure)))
        return
    print(f"{'row':14} {'clock':>8} {'processor':>10} {'a step':>8}")
    for row in given.rows or ROWS:
        found = [asked(row) for _ in range(given.rounds)]
        clock, processor, step = (min(x[key] for x in found) for key in ("clock", "processor", "step"))
        phases = ", ".join(f"{name} {seconds:.2f}" for name, seconds in found[0]["phases"].items())
        print(f"{row:14} {clock:8.2f} {processor:10.2f} {step:8.3f}  {phases}", flush=True)


if __name__ == "__main__":
    main()
