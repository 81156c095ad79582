"""Processes end well, and the same code runs on other instruction sets, other numbers of threads, no BLAS, no PATH.

The whole suite under one of them: `STELE_TARGET=x86-64-v2 python -m pytest`. A hundred endings:
`python -m tests.long_processes`.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stele.backend.cpu.target import detect
from tests.long_processes import ROOT, STEP, run

PROOFS = ("tests/test_equivalence.py::test_training_is_the_same_bits_for_all_threads[small_gru]",
          "tests/test_backends.py::test_a_convolutional_network", "tests/test_backends.py::test_a_transformer_block")
LAYERS = "tests/test_nn.py"     # whose code is another on another instruction set
PLACES = {"STELE_TARGET=x86-64-v2": PROOFS, "STELE_TARGET=x86-64-v3": (*PROOFS, LAYERS),
          "STELE_THREADS=1": PROOFS, "STELE_THREADS=4": PROOFS, "STELE_BLAS=none": PROOFS}


def test_processes_that_trained_end_well() -> None:
    assert run(12) == []


@pytest.mark.parametrize("place", PLACES)
def test_the_proofs_hold_elsewhere(place: str) -> None:
    name, _, value = place.partition("=")
    if value.startswith("x86") and not detect().triple.startswith("x86_64"):
        pytest.skip("levels are of x86-64")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *PLACES[place]]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, name: value, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_training_needs_no_compiler(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": "", "STELE_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", STEP + "print(int(count))"], env=environment, capture_output=True,
                          text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
