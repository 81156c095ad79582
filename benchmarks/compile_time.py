"""Compile time: what the first call of large programs takes, with nothing kept on the disk.

    python benchmarks/compile_time.py [ROWS ...] [--rounds 3] [--python jax=PATH --python pytorch=PATH] [--limit 300]

A row is a function of `benchmarks/compile_time_rows.py`, and of the files beside it for other frameworks. Each
measurement is a fresh process on two cores: its first call less its second one, by the clock and in seconds of the
processor, those of all threads and of what they start; the least of all rounds is shown, and of Stele the seconds of
each phase by the clock. What takes longer than the limit is ended. On a machine that others use, seconds of the
processor are what counts.
"""
from __future__ import annotations

import argparse
import importlib
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

CORES = 2
FILES = {"stele": "rows", "jax": "jax", "pytorch": "torch"}
CACHES = "STELE_CACHE", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME"


def spent() -> tuple[float, float]:
    """Seconds by the clock, and of the processor, of this process and those it has waited for."""
    now = os.times()
    return time.perf_counter(), now.user + now.system + now.children_user + now.children_system


def measured(framework: str, row: str) -> dict[str, Any]:
    """What this process takes for the first call of a row, less the second one."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    rows = importlib.import_module(f"benchmarks.compile_time_{FILES[framework]}")
    step = rows.ROWS[row]()
    ends = [spent()]
    for _ in range(2):
        step()
        ends.append(spent())
    first, second = ([b - a for a, b in zip(*pair)] for pair in pairwise(ends))
    reports = [program.report() for f in getattr(rows, "COMPILED", ()) for program in f.programs]
    phases: dict[str, float] = max(reports, key=lambda report: len(report.kernels)).seconds if reports else {}
    return {"clock": first[0] - second[0], "processor": first[1] - second[1], "step": second[0], "phases": phases}


def asked(framework: str, python: str, row: str, limit: float) -> dict[str, Any] | None:
    """The same of a fresh process with empty caches; nothing where it was ended."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, **dict.fromkeys(CACHES, folder), "JAX_PLATFORMS": "cpu",
               "JAX_ENABLE_COMPILATION_CACHE": "false"}
        try:
            done = subprocess.run([python, __file__, "--measure", framework, row], stdout=subprocess.PIPE, text=True,
                                  check=True, env=env, timeout=limit)
        except subprocess.TimeoutExpired:
            return None
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROWS", help="default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PATH",
                        help="an interpreter that has jax or pytorch")
    parser.add_argument("--no-stele", action="store_true", help="measure the others alone")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a process is ended")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(*given.measure)))
        return
    from benchmarks.compile_time_rows import ROWS
    pythons = {} if given.no_stele else {"stele": sys.executable}
    pythons.update(text.split("=", 1) for text in given.python)
    print(f"{'row':14} {'framework':9} {'clock':>8} {'processor':>10} {'a step':>8}")
    for row in given.rows or ROWS:
        for framework, python in pythons.items():
            if framework == "jax" and row == "resnet50":
                continue
            found = [asked(framework, python, row, given.limit) for _ in range(given.rounds)]
            ended = [x for x in found if x is not None]
            if len(ended) < len(found):
                print(f"{row:14} {framework:9} more than {given.limit:.0f} s by the clock", flush=True)
                continue
            clock, processor, step = (min(x[key] for x in ended) for key in ("clock", "processor", "step"))
            phases = ", ".join(f"{name} {seconds:.2f}" for name, seconds in ended[0]["phases"].items())
            print(f"{row:14} {framework:9} {clock:8.2f} {processor:10.2f} {step:8.3f}  {phases}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
