"""What two devices do beside each other: programs on both, and copies beside programs, against one after the other.

    python benchmarks/devices.py [--rounds 9]

Each round runs both ways by turns, on one thread each; shown are the medians, then the median, least and most of the
rounds' ratios (overlapped over serial, so 0.5 is perfect), then what each stream did in the last overlapped round, a
column for each hundredth of its time.
"""
from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

import stele as st
from stele.backend.queued import Span

COLUMNS = 100
Run = Callable[[bool], list[tuple[str, Sequence[Span]]]]


def programs() -> Run:
    """A program on the host beside one on the second device."""
    f = st.compile(lambda x: st.tanh(x @ x).sum())
    x = st.eval(st.rand(900, 900) * 0.01)
    y = st.eval(x.to("cpu:1"))
    device = st.device("cpu:1")

    def run(overlap: bool) -> list[tuple[str, Sequence[Span]]]:
        device.first.log.clear()
        away = f(y)
        if not overlap:
            device.synchronize()
        begin = time.perf_counter()
        f(x)
        host = Span("f of the host", begin, time.perf_counter())
        away.numpy()
        return [("cpu", [host]), ("cpu:1", [s for s in device.first.log if s.what.startswith("Sum")])]

    return run


def copies() -> Run:
    """Six batches to the second device and through a program there: copies on one stream, programs on another."""
    device = st.device("cpu:1")
    one, two = device.stream(), device.stream()
    f = st.compile(lambda x: st.tanh(x).sum())
    batches = [st.eval(st.rand(1 << 23)) for _ in range(6)]

    def run(overlap: bool) -> list[tuple[str, Sequence[Span]]]:
        for stream in (one, two):
            stream.log.clear()
        made: list[Any] = []
        for batch in batches:
            with one:
                x = st.eval(batch.to(device))
            with two if overlap else one:
                made.append(f(x))
        for y in made:
            y.numpy()
        return [("copies", [s for s in one.log if s.what.startswith("copy")]),
                ("programs", [s for s in two.log if s.what.startswith("Sum")])]

    return run


def timeline(rows: Sequence[tuple[str, Sequence[Span]]]) -> str:
    """What streams did, one row each: pieces of work as runs of their number, a dot where nothing was done."""
    spans = [s for _, row in rows for s in row]
    begin, end = min(s.begin for s in spans), max(s.end for s in spans)
    lines = [f"{(end - begin) * 1e3:.1f} ms"]
    for name, row in rows:
        columns = np.full(COLUMNS, ".")
        for k, s in enumerate(row):
            a, b = ((t - begin) / (end - begin) * COLUMNS for t in (s.begin, s.end))
            columns[int(a):max(int(a) + 1, round(b))] = str((k + 1) % 10)
        lines.append(f"{name:>9} {''.join(columns)}")
    return "\n".join(lines)


def main() -> None:
    """Measures and prints both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    st.set_threads(1)
    for name, make in (("programs", programs), ("copies", copies)):
        run, times = make(), {True: list[float](), False: list[float]()}
        run(True), run(False)
        rows: Sequence[tuple[str, Sequence[Span]]] = []
        for _ in range(rounds):
            for overlap in (False, True):
                begin = time.perf_counter()
                rows = run(overlap)
                times[overlap].append(time.perf_counter() - begin)
        ratios = [a / b for a, b in zip(times[True], times[False])]
        print(f"{name}: serial {median(times[False]) * 1e3:.1f} ms, overlapped {median(times[True]) * 1e3:.1f} ms, "
              f"ratio {median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})")
        print(timeline(rows), end="\n\n")


if __name__ == "__main__":
    main()
