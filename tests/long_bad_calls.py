"""Many bad calls in child processes under limits of memory and time: `python -m tests.long_bad_calls 100000`."""
from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # as the unit tests see their neighbours

from bad_calls import call, fault
from patience import Late, limited, patience

MEMORY = 8 << 30        # bytes of address space of a child
SECONDS, IDLE = 5, 30   # of the processor for one call, and by the clock
BATCH = 2500


def child(start: int, count: int) -> None:
    """Makes calls start..start+count; says each seed before it is tried, and what was wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    for seed in range(start, start + count):
        made = call(seed)
        print("try", seed, flush=True)
        try:
            with limited(SECONDS, IDLE):
                wrong = fault(made)
        except Late as error:
            wrong = str(error)
        if wrong:
            print("bad", seed, f"{made}: {wrong}".replace("\n", " "), flush=True)


def batch(start: int, count: int) -> list[str]:
    """What was wrong with the calls of a batch; a child that dies is followed by one for the calls behind."""
    found: list[str] = []
    while count > 0:
        command = [sys.executable, "-m", "tests.long_bad_calls", "--child", str(start), str(count)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        with patience(60 + count * SECONDS // 10, process.kill):
            out, errors = process.communicate()
        died = f"died of signal {-process.returncode}" if process.returncode < 0 else f"ended: {errors[-300:]}"
        tried = [int(line.split()[1]) for line in out.splitlines() if line.startswith("try ")]
        found += [line[4:] for line in out.splitlines() if line.startswith("bad ")]
        last = tried[-1] if tried else start
        if process.returncode != 0:
            found.append(f"{last} {call(last)}: {died}")
            start, count = last + 1, start + count - last - 1
        else:
            count = 0
    return found


def main() -> int:
    """Tries N calls from a seed on, prints those that are at fault and returns how many they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=100_000, help="how many calls")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return 0
    begin, faults = time.perf_counter(), 0
    end = options.start + options.n
    for start in range(options.start, end, BATCH):
        for line in batch(start, min(BATCH, end - start)):
            faults += 1
            print(line, flush=True)
    print(f"{options.n} calls from seed {options.start}: {faults} at fault, {time.perf_counter() - begin:.0f} s")
    return faults


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
