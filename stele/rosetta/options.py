"""What a benchmark is asked to do."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BenchOptions:
    """A run of `stele bench`."""

    workloads: tuple[str, ...]          # names of workloads or rows; empty: all
    frameworks: tuple[str, ...]         # empty: all that are installed
    pythons: Mapping[str, Path]         # interpreters of other environments, by framework
    quick: bool
    threads: int | None
    accuracy: tuple[Path, ...] = ()     # folders of finished training runs
    json: Path | None = None
    markdown: Path | None = None
    html: Path | None = None
    isa: str = "native"                 # what the frameworks may use: a name in `isa.LIMITS`
