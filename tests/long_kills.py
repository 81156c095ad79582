"""Runs killed at random moments and gone on with end in the bits of one never stopped: `python -m tests.long_kills`.

Nothing but the files of a run is left behind.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from formats import fashion  # noqa: E402

FILES = {"checkpoint.safetensors", "curves.html", "history.json", "model.safetensors"}


def begin(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "stele", "train", *words], cwd=folder,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env={**os.environ, "PYTHONPATH": str(ROOT)})


def outcome(run: Path) -> tuple[dict[str, bytes], object]:
    """The bits of a model, and the losses of its history."""
    history = json.loads((run / "history.json").read_text())
    return ({name: x.tobytes() for name, x in load_file(run / "model.safetensors").items()},
            (history["state"], history["steps"], [{**e, "seconds": 0} for e in history["epochs"]]))


def kill_and_go_on(folder: Path, new: tuple[str, ...], wanted: object, seconds: float, chance: random.Random
                   ) -> tuple[int, float]:
    """One run, killed again and again until it ends by itself: how often, and the seconds that the last part took.

    Moments are drawn from what a part took last, since other work on the machine comes and goes, and from more with
    every kill, so that a run gets on.
    """
    kills = 0
    while True:
        has_begun = (folder / "run" / "checkpoint.safetensors").exists()
        if not has_begun and (folder / "run").exists():
            for path in (folder / "run").iterdir():
                path.unlink()
        start = time.perf_counter()
        process = begin(folder, *(("--resume", "run") if has_begun else new), *(() if has_begun else ("--out", "run")))
        try:
            process.wait(timeout=seconds * chance.uniform(0.05, 1.2))
        except subprocess.TimeoutExpired:
            process.send_signal(chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
            process.wait()
            kills, seconds = kills + 1, seconds * 1.1
            print(f"{kills} kills", flush=True)
            continue
        assert process.returncode == 0, process.returncode
        took = time.perf_counter() - start
        break
    assert outcome(folder / "run") == wanted, "the bits differ"
    assert {path.name for path in (folder / "run").iterdir()} == FILES
    for path in (folder / "run").iterdir():
        path.unlink()
    return kills, took


def main() -> None:
    """Kills as often as asked; prints what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_kills", description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=100, help="how many kills")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    chance, kills, runs = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        new = ("cnn", "--data", str(fashion(folder / "fashion", packed=False, count=1280)), "--epochs", "3")
        for name in ("cold", "whole"):      # the second one finds its programs on the disk
            start = time.perf_counter()
            assert begin(folder, *new, "--out", name).wait() == 0
            seconds = time.perf_counter() - start
        while kills < options.n:
            more, seconds = kill_and_go_on(folder, new, outcome(folder / "whole"), seconds, chance)
            kills, runs = kills + more, runs + 1
            print(f"{kills} kills, {runs} runs gone on with to the same bits", flush=True)


if __name__ == "__main__":
    main()
