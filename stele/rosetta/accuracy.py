"""The accuracies of full trainings, read from the folders that `stele train` leaves."""
from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from stele.errors import DataError


def run_line(folder: Path) -> tuple[str, ...]:
    """A run as the table of full trainings shows it: workload, data, seed, epochs, accuracy, loss, seconds, megabytes.

    Raises DataError where the folder holds no run with an epoch.
    """
    try:
        history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
        meta, epochs = history["meta"], history["epochs"]
        accuracy, loss = (f"{epochs[-1][name]:.4f}" for name in ("test_accuracy", "test_loss"))
    except (OSError, ValueError, KeyError, IndexError):
        raise DataError(f"{folder} holds no epoch with a test accuracy in a history.json",
                        hint="Give the run folder of a stele train.") from None
    facts = (meta.get("workload"), meta.get("data"), meta.get("seed"), len(epochs), accuracy, loss,
             f"{median(e['seconds'] for e in epochs):.1f}", meta.get("peak_memory_mb"))
    return tuple("" if fact is None else str(fact) for fact in facts)
