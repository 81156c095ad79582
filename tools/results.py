"""Prints finished runs of `stele train` as Markdown: `python tools/results.py RUN [RUN ...]`, their folders."""
from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any


def table(runs: list[dict[str, Any]]) -> str:
    """Accuracy per epoch of the runs of one workload, a row each, and the median of the last ones."""
    epochs = max(len(run["epochs"]) for run in runs)
    heads = ["seed", *(f"epoch {k + 1}" for k in range(epochs)), "test loss", "seconds per epoch", "peak MB"]
    rows = [[str(run["meta"]["seed"]), *(f"{e['test_accuracy']:.4f}" for e in run["epochs"]),
             f"{run['epochs'][-1]['test_loss']:.4f}", f"{statistics.median(e['seconds'] for e in run['epochs']):.1f}",
             str(run["meta"].get("peak_memory_mb", "-"))] for run in runs]
    last = statistics.median(run["epochs"][-1]["test_accuracy"] for run in runs)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\nMedian test accuracy {last:.4f}."


def main(folders: list[str]) -> None:
    """Prints one section per workload."""
    if not folders:
        sys.exit(__doc__)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for folder in folders:
        run = json.loads((Path(folder) / "history.json").read_text())
        if run["state"] != "finished":
            sys.exit(f"{folder}: the run is {run['state']}; only finished runs are results")
        found[run["meta"]["workload"]].append(run)
    for workload, runs in found.items():
        print(f"## {workload}\n\n{table(runs)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
