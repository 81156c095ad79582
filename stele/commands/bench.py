"""`stele bench`: finds the frameworks, runs the benchmark, and shows what was measured."""
from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from rich.console import Console

from stele import files
from stele.commands.models import KINDS
from stele.commands.options import BenchOptions
from stele.config import CPUS
from stele.rosetta.accuracy import run_line
from stele.rosetta.bench import FULL, QUICK, Bench
from stele.rosetta.isa import LIMITS, OBEYING, left_out
from stele.rosetta.machine import measure
from stele.rosetta.markdown import markdown
from stele.rosetta.page import page
from stele.rosetta.probe import installed
from stele.rosetta.report import Findings, as_rows
from stele.rosetta.rows import FRAMEWORKS, Row, chosen
from stele.rosetta.terminal import show


def bench(options: BenchOptions) -> None:
    """Runs what is asked for; interrupted, it shows what was measured so far and raises KeyboardInterrupt again."""
    status, start = Console(file=sys.stderr), time.monotonic()
    threads, runs = options.threads or CPUS, [run_line(folder) for folder in options.accuracy]
    names, why = options.frameworks or tuple(FRAMEWORKS), left_out(options.isa)
    out = {name: why for name in names if why and name not in OBEYING}

    def say(line: str) -> None:
        status.print(f"{time.monotonic() - start:5.0f} s  {line}", highlight=False, style="dim")

    rows = asked(options)
    os.environ |= LIMITS[options.isa]
    say("looking for frameworks")
    frameworks = installed([name for name in names if name not in out], options.pythons, 1 if options.quick else 3)
    versions = [f"{name} {about.version}".rstrip() for name, about in frameworks.items() if about]
    say(f"found {', '.join(versions) or 'none of them'}")
    say("measuring the peaks of this machine, now and at the end")
    machine = measure(threads)
    with tempfile.TemporaryDirectory(prefix="stele-bench-") as folder:
        pythons = {name: about.python for name, about in frameworks.items() if about}
        run = Bench(pythons, threads, QUICK if options.quick else FULL, say, Path(folder))
        try:
            run.run(rows)
        finally:
            peaks = machine.at_best(measure(threads))
            deliver(Findings(peaks, frameworks, run.entries, runs, command(sys.argv[1:]), f"{date.today():%-d %B %Y}",
                             out), options)


FILES = "--accuracy", "--json", "--markdown", "--html", "--onnx"


def asked(options: BenchOptions) -> dict[str, Sequence[Row]]:
    """The rows that are asked for, by workload. Raises DataError for files that are no models."""
    rows: dict[str, Sequence[Row]] = {**chosen(options.workloads)} if options.workloads or not options.models else {}
    if options.models:
        rows_of = KINDS[0].loaded("stele.rosetta.models").rows_of
        rows["onnx_file"] = [row for file in options.models for row in rows_of(file)]
    return rows


def command(arguments: Sequence[str]) -> str:
    """What was asked, without the paths of this machine.

    >>> command(["bench", "--quick", "--python", "jax=env/bin/python", "--json", "results/bench.json"])
    'stele bench --quick --python jax=PATH --json bench.json'
    """
    named, option = list[str](), ""
    for word in arguments:
        option = word if word.startswith("--") else option
        named.append(f"{word.partition('=')[0]}=PATH" if option == "--python" != word
                     else Path(word).name if option in FILES and option != word else word)
    return shlex.join(["stele", *named])


def deliver(found: Findings, options: BenchOptions) -> None:
    """The tables, and the files that were asked for."""
    show(found, Console(width=None if sys.stdout.isatty() else 240))
    if options.json:
        files.write(options.json, (json.dumps(as_rows(found), indent=1) + "\n").encode())
    if options.markdown:
        files.write(options.markdown, markdown(found).encode())
    if options.html:
        files.write(options.html, page(found).encode())
