"""Many examples with other arguments, in child processes under limits: `python -m tests.long_exchanged 20000`."""
from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time

from tests.exchanged import exchange
from tests.patience import Late, limited, patience

MEMORY = 10 << 30       # bytes of address space of a child
SECONDS, IDLE = 5, 30   # of the processor for one exchange, and by the clock
BATCH = 320


def child(start: int, count: int) -> None:
    """Makes exchanges start..start+count; says each seed before it is tried, and what was wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for seed in range(start, start + count):
        print("try", seed, flush=True)
        wrong, made = None, None
        try:
            with limited(SECONDS, IDLE):
                made = exchange(seed)
                wrong = made and made.fault()
        except Late as error:
            wrong = str(error)
        if wrong:
            print("bad", seed, f"{made}: {wrong}".replace("\n", " "), flush=True)


def batch(start: int, count: int) -> list[str]:
    """What was wrong with the exchanges of a batch; a child that dies is followed by one for those behind."""
    found: list[str] = []
    environment = {**os.environ, "STELE_TRACEBACK": "full", "STELE_THREADS": "1"}
    while count > 0:
        process = subprocess.Popen([sys.executable, "-m", "tests.long_exchanged", "--child", str(start), str(count)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   env=environment)
        with patience(60 + count * SECONDS // 5, process.kill):
            out, errors = process.communicate()
        tried = [int(line.split()[1]) for line in out.splitlines() if line.startswith("try ")]
        found += [line[4:] for line in out.splitlines() if line.startswith("bad ")]
        if process.returncode == 0:
            return found
        last = tried[-1] if tried else start
        died = f"died of signal {-process.returncode}" if process.returncode < 0 else f"ended: {errors[-300:]}"
        found.append(f"{last} {died}")
        start, count = last + 1, start + count - last - 1
    return found


def main() -> int:
    """Tries N exchanges from a seed on, prints those that are at fault and returns how many they are."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_exchanged", description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=20_000, help="how many exchanges")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return 0
    begin, faults, end = time.perf_counter(), 0, options.seed + options.n
    for start in range(options.seed, end, BATCH):
        for line in batch(start, min(BATCH, end - start)):
            faults += 1
            print(line, flush=True)
    print(f"{options.n} exchanges from seed {options.seed}: {faults} at fault, {time.perf_counter() - begin:.0f} s")
    return faults


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
