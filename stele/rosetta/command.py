"""`stele bench`: finds the frameworks, runs the benchmark, and shows what was measured."""
from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from stele.config import CPUS
from stele.rosetta.bench import FULL, QUICK, Bench
from stele.rosetta.machine import measure
from stele.rosetta.options import BenchOptions
from stele.rosetta.probe import installed
from stele.rosetta.report import Findings, as_rows, show
from stele.rosetta.rows import FRAMEWORKS, chosen
from stele.train.history import write_atomically


def bench(options: BenchOptions) -> None:
    """Runs what is asked for; interrupted, it shows what was measured so far and raises KeyboardInterrupt again."""
    status = Console(file=sys.stderr)
    say = lambda line: status.print(line, highlight=False, style="dim")
    threads = options.threads or CPUS
    say("looking for frameworks")
    frameworks = installed(options.frameworks or tuple(FRAMEWORKS), options.pythons, 1 if options.quick else 3)
    say("measuring the peaks of this machine, now and at the end")
    machine = measure(threads)
    with tempfile.TemporaryDirectory(prefix="stele-bench-") as folder:
        pythons = {name: about.python for name, about in frameworks.items() if about}
        run = Bench(pythons, threads, QUICK if options.quick else FULL, say, Path(folder))
        try:
            run.run(chosen(options.workloads))
        finally:
            deliver(Findings(machine.at_best(measure(threads)), frameworks, run.entries), options)


def deliver(found: Findings, options: BenchOptions) -> None:
    """The table, and the files that were asked for."""
    show(found, Console(width=None if sys.stdout.isatty() else 200))
    if options.json:
        write_atomically(options.json, json.dumps(as_rows(found), indent=1) + "\n")
