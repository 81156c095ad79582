"""Times the Rosetta workloads in Stele and in other frameworks side by side, in one run.

    python benchmarks/workloads.py --python torch=/path/to/python [--workloads cnn,gru] [--rounds 7] [--json FILE]

Each framework runs in a process of its own with the same number of threads. Rounds are interleaved: every round
times each framework once (a few steps, each waited for), so a slow spell of the machine hits all of them alike.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKLOADS = ("cnn", "gru", "resnet50-b1", "resnet50-b32")
MODES = {"stele": ("compiled",), "torch": ("eager", "channels_last")}


@dataclass
class Row:
    """What a framework took for a workload: ms per step, seconds of the first call, megabytes of the process."""

    workload: str
    framework: str
    mode: str
    ms: float = 0.0
    ms_min: float = 0.0
    ms_max: float = 0.0
    first_call_s: float = 0.0
    peak_rss_mb: float = 0.0


@dataclass
class Peer:
    """A worker process that runs steps when asked."""

    row: Row
    process: subprocess.Popen[str]
    samples: list[float] = field(default_factory=list)

    def ask(self, command: str) -> dict[str, float]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            row = self.row
            raise SystemExit(f"{row.framework} {row.mode} died during {row.workload}; its error is above")
        return json.loads(line)


def begin(row: Row, command: list[str], threads: int) -> Peer:
    """A worker process that has made its first call."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), STELE_THREADS=str(threads))
    peer = Peer(row, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env))
    peer.row.first_call_s = round(peer.ask("first")["seconds"], 3)
    return peer


def measured(peers: list[Peer], rounds: int, steps: int) -> list[Row]:
    """Each peer's row, from rounds in which all of them take their steps in turn."""
    for peer in peers:
        peer.ask("run 3")
    for _ in range(rounds):
        for peer in peers:
            peer.samples += peer.ask(f"run {steps}")["ms"]  # type: ignore[arg-type]
    for peer in peers:
        ms = sorted(peer.samples)
        peer.row.ms, peer.row.ms_min, peer.row.ms_max = (round(x, 3) for x in (statistics.median(ms), ms[0], ms[-1]))
        peer.row.peak_rss_mb = round(peer.ask("memory")["mb"], 1)
        peer.process.stdin.close()  # type: ignore[union-attr]
        peer.process.wait()
    return [peer.row for peer in peers]


def measure(workload: str, pythons: dict[str, str], threads: int, rounds: int) -> list[Row]:
    """One row per framework and mode."""
    def command(framework: str, python: str, mode: str) -> list[str]:
        return [python, str(HERE / "peers" / f"{framework}_workloads.py"), workload, mode, str(threads)]

    peers = [begin(Row(workload, f, mode), command(f, python, mode), threads)
             for f, python in pythons.items() for mode in MODES[f]]
    return measured(peers, rounds, 1 if workload == "resnet50-b32" else 5)


def show(rows: list[Row]) -> None:
    """The table, with each peer's time as a multiple of Stele's."""
    print("| workload | framework | mode | ms | min..max | first call s | peak MB | x Stele |")
    print("|---|---|---|---|---|---|---|---|")
    ours = {row.workload: row.ms for row in rows if row.framework == "stele"}
    for row in rows:
        ratio = f"{row.ms / ours[row.workload]:.2f}" if row.workload in ours else "-"
        print(f"| {row.workload} | {row.framework} | {row.mode} | {row.ms:.2f} | {row.ms_min:.2f}..{row.ms_max:.2f} "
              f"| {row.first_call_s:.2f} | {row.peak_rss_mb:.0f} | {ratio} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PATH",
                        help="an interpreter that has the framework, e.g. torch=/path/to/python")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    pythons = {"stele": sys.executable} | dict(p.split("=", 1) for p in args.python)
    if unknown := (set(pythons) - set(MODES)) | (set(args.workloads.split(",")) - set(WORKLOADS)):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; frameworks {', '.join(MODES)}, "
                     f"workloads {', '.join(WORKLOADS)}")
    rows = [row for w in args.workloads.split(",") for row in measure(w, pythons, args.threads, args.rounds)]
    show(rows)
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
