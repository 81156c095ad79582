"""What a core carries: measured once in coarse steps, kept, stated by hand, and not measured where it is not kept."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from math import log2
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from stele.backend.cpu import measure, tuned
from stele.backend.cpu.target import detect
from stele.errors import ConfigError

FOUND = {"pace": 0.5, "far": 0.1, "shared": 16.0, "memory": 32.0}
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A cache of its own, and the targets that were measured for it."""
    seen: list[str] = []

    def found(target: Any) -> dict[str, float]:
        seen.append(target.name)
        return FOUND

    monkeypatch.setenv("STELE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STELE_MACHINE", raising=False)
    monkeypatch.setattr(measure, "measure", found)
    return seen


def test_numbers_are_coarse_and_positive() -> None:
    found = measure.measure(detect())
    assert found.keys() == FOUND.keys()
    for name, x in found.items():
        power = log2(10 * x if name == "far" else x) * (2 if name == "pace" else 1)
        assert abs(power - round(power)) < 1e-2, (name, x)
    assert found["shared"] <= found["memory"]


@pytest.mark.parametrize("x, power", [(0.58, 0.5), (0.65, 0.707), (0.8, 0.707), (1.1, 1.0), (1.3, 1.414)])
def test_steps_are_roots_of_two(x: float, power: float) -> None:
    assert measure.coarse(x, 2) == power
    assert measure.coarse(x * x) == pytest.approx(power * power, rel=1e-2)


@pytest.mark.parametrize("disturbed", [0, 20])
def test_a_neighbour_is_waited_for(disturbed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose work makes a loop of one kind slower, and not every time by as much."""
    loops, calls = measure.Loops(detect()), list[str]()

    def once(name: str, steps: int) -> float:
        calls.append(name)
        number = (calls.count("multiply") - 1) // (2 * measure.TIMES)
        return steps * 1e-9 * (1 + (name == "tall" and number < disturbed) * (0.5 + number % 3 / 5))

    monkeypatch.setattr(loops, "once", once)
    monkeypatch.setattr(measure, "sleep", lambda seconds: None)
    assert loops.steps(("multiply", 64), ("tall", 64)) == pytest.approx([1e-9, 1e-9])
    rounds = len(calls) // (4 * measure.TIMES)
    assert rounds == measure.FEW if not disturbed else disturbed < rounds <= measure.ROUNDS


@pytest.mark.parametrize("clock", [lambda: 0.0, iter(range(10**6)).__next__, iter(range(10**6, 0, -1)).__next__])
def test_a_clock_that_lies_does_no_harm(clock: Callable[[], float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "perf_counter", clock)
    assert all(0 < x < 1000 for x in measure.measure(detect()).values())


def test_a_machine_is_measured_once_whoever_asks(measured: list[str]) -> None:
    barrier, found = Barrier(8), list[Any]()

    def ask() -> None:
        barrier.wait()
        found.append(tuned.here())

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [replace(detect(), **FOUND)] * 8 and measured == [detect().name]
    tuned._measured.cache_clear()       # as in another process
    assert tuned.here() == found[0] and len(measured) == 1


def test_what_is_measured_is_part_of_every_key(measured: list[str]) -> None:
    assert tuned.here().key != detect().key


def test_each_target_is_measured_on_its_own(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if not detect().triple.startswith("x86_64"):
        pytest.skip("levels are of x86-64")
    tuned.here()
    monkeypatch.setenv("STELE_TARGET", "x86-64-v2" if detect().name != "x86-64-v2" else "native")
    tuned.here()
    assert len(measured) == 2


def kept_nowhere(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_CACHE_SIZE", "0")


def open_to_all(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "measured").mkdir(parents=True)
    (cache / "measured").chmod(0o777)


def not_writable(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "measured").mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "access", lambda path, mode: False)


@pytest.mark.parametrize("spoil", [kept_nowhere, open_to_all, not_writable])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_cannot_be_kept_is_not_measured(spoil: Callable[..., None], measured: list[str], tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(tmp_path / "cache", monkeypatch)
    assert tuned.here() == detect() and not measured


def test_numbers_by_hand_count(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_MACHINE", "common")
    assert tuned.here() == detect()
    monkeypatch.setenv("STELE_MACHINE", " far=0.25, memory=12")
    assert tuned.here() == replace(detect(), far=0.25, memory=12.0)
    assert not measured


@pytest.mark.parametrize("text", ["fast", "pace=", "pace=0", "pace=-1", "pace=nan", "pace=inf", "speed=1", "pace"])
def test_bad_numbers_teach(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_MACHINE", text)
    with pytest.raises(ConfigError, match="STELE_MACHINE must be measured, common, or numbers for pace, far"):
        tuned.here()


SECOND = """
import sys, stele as st
print(st.compile(lambda x: x @ x)(st.ones(8, 8)).sum().item(), "stele.backend.cpu.measure" in sys.modules,
      "llvmlite.binding" in sys.modules)
"""


def test_programs_from_the_disk_measure_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "STELE_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("STELE_MACHINE", None)
    found = [subprocess.run([sys.executable, "-c", SECOND], env=environment, capture_output=True, text=True, check=True
                            ).stdout.split() for _ in range(2)]
    assert found == [["512.0", "True", "True"], ["512.0", "False", "False"]]


def test_a_child_knows_what_its_parent_knew(measured: list[str]) -> None:
    parent = tuned.here()
    if child := os.fork():
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    else:
        os._exit(not (tuned.here() == parent and len(measured) == 1))
