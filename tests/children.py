"""Many trials by seed in child processes under limits of memory and time; a child that dies is followed by another."""
from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.patience import Late, limited, patience

SECONDS, IDLE = 5, 30   # of the processor for one trial, and by the clock


class Trials(NamedTuple):
    """Trials of the module `module`: what is drawn by a seed, what is wrong with it, and how one is named whose child
    has died; so many in one child, which has `memory` bytes of address space and a minute and `wait` seconds for each.
    What `noted` counts meanwhile is no fault, and said in the end.
    """

    module: str
    name: str
    drawn: Callable[[int], Any]
    wrong: Callable[[Any], str | None]
    named: Callable[[int], str]
    batch: int
    memory: int
    wait: float
    environment: Mapping[str, str] = {}
    noted: Counter[str] = Counter()

    def child(self, start: int, count: int) -> None:
        """Makes trials start..start+count; says each seed before it is tried, and what was wrong."""
        resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))
        for seed in range(start, start + count):
            print("try", seed, flush=True)
            made = None
            try:
                with limited(SECONDS, IDLE):
                    wrong = self.wrong(made := self.drawn(seed))
            except Late as error:
                wrong = str(error)
            if wrong:
                print("bad", seed, f"{made}: {wrong}".replace("\n", " "), flush=True)
        for reason, times in self.noted.items():
            print("note", times, reason.replace("\n", " "), flush=True)

    def tried(self, start: int, count: int) -> list[str]:
        """What was wrong with the trials of a batch."""
        found: list[str] = []
        while count > 0:
            command = [sys.executable, "-m", self.module, "--child", str(start), str(count)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       errors="replace", env={**os.environ, **self.environment})
            with patience(60 + int(count * self.wait), process.kill):
                out, errors = process.communicate()
            seeds = [int(line.split()[1]) for line in out.splitlines() if line.startswith("try ")]
            found += [line[4:] for line in out.splitlines() if line.startswith("bad ")]
            for _, times, reason in (line.split(" ", 2) for line in out.splitlines() if line.startswith("note ")):
                self.noted[reason] += int(times)
            if process.returncode == 0:
                return found
            last = seeds[-1] if seeds else start
            died = f"died of signal {-process.returncode}" if process.returncode < 0 else f"ended: {errors[-300:]}"
            found.append(f"{last} {self.named(last)}: {died}")
            start, count = last + 1, start + count - last - 1
        return found

    def main(self, about: str | None, usual: int, first: str) -> int:
        """The command: tries N from a seed on, prints those that are at fault and returns whether there are any."""
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}", description=about)
        parser.add_argument("n", type=int, nargs="?", default=usual, help=f"how many {self.name}")
        parser.add_argument(first, type=int, default=0, dest="first", help="the first seed")
        parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
        options = parser.parse_args()
        if options.child:
            self.child(*options.child)
            return 0
        begin, faults, end = time.perf_counter(), 0, options.first + options.n
        for start in range(options.first, end, self.batch):
            for line in self.tried(start, min(self.batch, end - start)):
                faults += 1
                print(line, flush=True)
        took = time.perf_counter() - begin
        for reason, times in self.noted.most_common():
            print(f"{times:6}  {reason}")
        print(f"{options.n} {self.name} from seed {options.first}: {faults} at fault, {took:.0f} s, "
              f"{options.n / took:.1f} a second")
        return min(faults, 1)
