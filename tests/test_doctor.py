"""What `stele doctor` prints."""

import pytest

from stele.commands.doctor import doctor


def test_doctor_names_what_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_THREAD", "3")
    rows = dict(line.split(maxsplit=1) for line in doctor().splitlines())
    assert {"stele", "numpy", "llvmlite", "python", "cpu", "vectors", "threads", "cache", "blas"} <= set(rows)
    assert rows["STELE_THREAD"] == "is not known; did you mean STELE_THREADS?"


def test_doctor_says_what_cannot_be_had_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_BLAS", "/none/libblas.so")
    monkeypatch.setenv("STELE_TARGET", "x86-64-v9")
    rows = dict(line.split(maxsplit=1) for line in doctor().splitlines())
    assert rows["cpu"].startswith("ConfigError: STELE_TARGET must be")
    assert rows["blas"].startswith("DeviceError") and "cache" in rows
