"""Caches that somebody planted, and entries that changed places: no program runs code of another.

`python -m tests.long_planted [SWAPS]`: five planted caches, then so many swapped entries (60), each in a process of its
own that has to compute the right numbers without reading the planted code, and to leave the modes of all folders alone.
"""
from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from stele.backend.cpu import cache

ROOT = Path(__file__).resolve().parents[1]
STRANGER = 54321
PROGRAMS = 12

# Programs of one form and different numbers: taken for each other they would run, and be wrong.
PROGRAM = """
import sys
import numpy as np, stele as st
x = np.arange(40, dtype=np.float32)
for k in map(int, sys.argv[1:]):
    y = st.compile(lambda x: x * float(k + 2) - float(k * k))(x).numpy()
    assert np.array_equal(y, x * (k + 2) - k * k), ("wrong numbers", k, y[:4])
"""


def run(folder: Path, *programs: int) -> tuple[list[str], str]:
    """Runs these programs in a process of their own: what happened to each in the cache, as `read KEY` or `built KEY`,
    and what it warned of.
    """
    environment = {**os.environ, "STELE_CACHE": str(folder), "STELE_SHOW": "cache", "PYTHONPATH": str(ROOT),
                   "STELE_MACHINE": "common"}   # what was measured is kept in the cache too, and is part of every key
    done = subprocess.run([sys.executable, "-W", "always", "-c", PROGRAM, *map(str, programs)], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    return re.findall(r"(?:read|built) [0-9a-f]{64}", done.stdout + done.stderr), done.stderr


def keys(folder: Path, *programs: int) -> list[str]:
    """Fills a cache, and tells under which keys."""
    return [line.split()[1] for line in run(folder, *programs)[0]]


def forge(objects: Path, key: str, other: str) -> None:
    """Puts the code of another program under a key, sealed as if it belonged there: whoever may write can do that."""
    content = (objects / other).read_bytes()[cache._HEADER:]
    (objects / key).write_bytes(cache._head(key, content) + content)


def left_open(folder: Path) -> Path:
    (folder / "objects").chmod(0o777)
    return folder / "objects"


def linked(folder: Path) -> Path:
    target = folder.with_name("shared")
    (folder / "objects").rename(target)
    target.chmod(0o1777)
    (folder / "objects").symlink_to(target)
    return target


def in_an_open_folder(folder: Path) -> Path:
    folder.chmod(0o777)
    return folder


def foreign_entry(folder: Path) -> Path:
    for entry in (folder / "objects").iterdir():
        os.chown(entry, STRANGER, STRANGER)
    return folder / "objects"


def foreign_folder(folder: Path) -> Path:
    os.chown(folder / "objects", STRANGER, STRANGER)
    return folder / "objects"


PLANTED: tuple[Callable[[Path], Path], ...] = left_open, linked, in_an_open_folder, foreign_entry, foreign_folder


def planted(plant: Callable[[Path], Path], scratch: Path) -> None:
    """Program 0 finds a planted cache in which its key has the code of program 1."""
    folder = scratch / "cache"
    first, second = keys(folder, 0, 1)
    forge(folder / "objects", first, second)
    place = plant(folder)
    before = stat.S_IMODE(place.stat().st_mode)
    said, warned = run(folder, 0)
    assert said == [f"built {first}"] and "Stele" in warned, (said, warned)
    assert stat.S_IMODE(place.stat().st_mode) == before, "the mode was changed"


def swapped(folder: Path, names: Mapping[int, str], program: int, other: int) -> None:
    """A program finds the entry of another one in place of its own."""
    objects = folder / "objects"
    shutil.copyfile(objects / names[other], objects / names[program])
    said, warned = run(folder, program)
    assert said == [f"built {names[program]}"] and "another entry" in warned, (said, warned)
    assert run(folder, program)[0] == [f"read {names[program]}"], "it was not put right"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("swaps", type=int, nargs="?", default=60, help="entries put in the place of others")
    parser.add_argument("--seed", type=int, default=0, help="of the entries")
    options = parser.parse_args()
    draw, seen = random.Random(options.seed), 0
    for plant in PLANTED:
        if os.geteuid() and plant in (foreign_entry, foreign_folder):
            print(f"{plant.__name__}: skipped, only root can give files away")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            planted(plant, Path(scratch))
        seen += 1
    print(f"{seen} planted caches: none was used, no mode was changed")
    with tempfile.TemporaryDirectory() as scratch:
        names = dict(enumerate(keys(Path(scratch) / "cache", *range(PROGRAMS))))
        for k in range(options.swaps):
            swapped(Path(scratch) / "cache", names, *draw.sample(range(PROGRAMS), 2))
            if k % 10 == 9:
                print(f"{k + 1} swapped entries found", flush=True)


if __name__ == "__main__":
    main()
